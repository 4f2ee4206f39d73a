"""Votes from the exports of annotation tools, one file per tool."""

from votewise.votes.exports.asked import Asked as Asked
from votewise.votes.exports.catalog import FORMATS as FORMATS
from votewise.votes.exports.catalog import read_table as read_table
from votewise.votes.exports.catalog import read_tree as read_tree
