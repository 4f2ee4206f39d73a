"""Gheibi & Ghazizadeh 2026, arXiv 2605.20642: hard and soft delivery of the same annotator distributions."""

from votewise.papers.same_target.compare import Line as Line
from votewise.papers.same_target.compare import compare_with_paper as compare_with_paper
from votewise.papers.same_target.evidence import Evidence as Evidence
from votewise.papers.same_target.evidence import Group as Group
from votewise.papers.same_target.parts import PARTS as PARTS
from votewise.papers.same_target.parts import find_parts as find_parts
from votewise.papers.same_target.published import PUBLISHED as PUBLISHED
from votewise.papers.same_target.published import Published as Published
from votewise.papers.same_target.reduce import reduce_runs as reduce_runs
from votewise.papers.same_target.results import read_results as read_results
from votewise.papers.same_target.results import write_results as write_results
from votewise.papers.same_target.suites import SUITES as SUITES
from votewise.papers.same_target.suites import Suite as Suite
from votewise.papers.same_target.suites import paper_recipe as paper_recipe
from votewise.papers.same_target.suites import suite_names as suite_names
from votewise.papers.same_target.suites import suite_runs as suite_runs
from votewise.papers.same_target.suites import tiny_material as tiny_material
