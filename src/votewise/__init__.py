"""votewise: train on votes, not verdicts.

>>> import votewise as vw
>>> votes = vw.Votes.from_counts([[7, 3], [1, 9]], classes=["cat", "dog"])
>>> delivery = vw.Multipass(votes, seed=0)
>>> delivery.targets(epoch=0, items=[0, 1]).shape
(2, 2)
"""

from importlib.metadata import PackageNotFoundError as _PackageNotFoundError
from importlib.metadata import version as _version

from votewise import metrics as metrics
from votewise import statistics as statistics
from votewise._errors import InputError as InputError
from votewise._errors import MissingExtraError as MissingExtraError
from votewise._errors import VotewiseError as VotewiseError
from votewise._overview import Overview as Overview
from votewise._overview import overview as overview
from votewise.delivery import SLS as SLS
from votewise.delivery import Delivery as Delivery
from votewise.delivery import HardDelivery as HardDelivery
from votewise.delivery import LabelSmoothing as LabelSmoothing
from votewise.delivery import Majority as Majority
from votewise.delivery import Mixup as Mixup
from votewise.delivery import Multipass as Multipass
from votewise.delivery import Soft as Soft
from votewise.delivery import deterministic_control as deterministic_control
from votewise.delivery import shuffled_sls as shuffled_sls
from votewise.predictions import read_predictions as read_predictions
from votewise.scoring import Scores as Scores
from votewise.scoring import score as score
from votewise.targets import Targets as Targets
from votewise.targets import dawid_skene as dawid_skene
from votewise.targets import dirichlet_smoothed as dirichlet_smoothed
from votewise.targets import fit_dirichlet_prior as fit_dirichlet_prior
from votewise.targets import majority_labels as majority_labels
from votewise.targets import smoothed_share as smoothed_share
from votewise.targets import vote_share as vote_share
from votewise.votes import Ballots as Ballots
from votewise.votes import Votes as Votes
from votewise.votes import read_votes as read_votes

try:
    __version__ = _version("votewise")
except _PackageNotFoundError:  # run from the source tree, without an installation
    __version__ = "0+source"
