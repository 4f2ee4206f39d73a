"""What people said: reading votes, and measuring how far people agree."""

from votewise.votes.agreement import Reliability as Reliability
from votewise.votes.agreement import entropy_per_item as entropy_per_item
from votewise.votes.agreement import entropy_reliability as entropy_reliability
from votewise.votes.agreement import fleiss_kappa as fleiss_kappa
from votewise.votes.agreement import krippendorff_alpha as krippendorff_alpha
from votewise.votes.agreement import tied as tied
from votewise.votes.agreement import unanimous as unanimous
from votewise.votes.columns import find_column as find_column
from votewise.votes.exports import FORMATS as FORMATS
from votewise.votes.numbers import NumberTable as NumberTable
from votewise.votes.numbers import number_table as number_table
from votewise.votes.question import UnclearError as UnclearError
from votewise.votes.read import read_votes as read_votes
from votewise.votes.reading import FORMS as FORMS
from votewise.votes.reading import Reading as Reading
from votewise.votes.reading import names_in as names_in
from votewise.votes.sampling import shuffled_votes as shuffled_votes
from votewise.votes.sources import column_names as column_names
from votewise.votes.sources import open_source as open_source
from votewise.votes.table import Ballots as Ballots
from votewise.votes.table import Votes as Votes
from votewise.votes.table import check_votes as check_votes
from votewise.votes.write import check_table_path as check_table_path
from votewise.votes.write import long_table as long_table
from votewise.votes.write import write_votes as write_votes
