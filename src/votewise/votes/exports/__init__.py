"""Votes from the exports of annotation tools, one file per tool."""

from votewise.votes.exports.asked import Asked as Asked
from votewise.votes.exports.catalog import FORMATS as FORMATS
from votewise.votes.exports.catalog import read_table as read_table
from votewise.votes.exports.catalog import read_tree as read_tree
from votewise.votes.exports.platforms import PLATFORMS as PLATFORMS
from votewise.votes.exports.platforms import TASK_ANSWERS as TASK_ANSWERS
from votewise.votes.exports.platforms import fill as fill
from votewise.votes.exports.platforms import find_platform as find_platform
from votewise.votes.exports.platforms import unfold as unfold
