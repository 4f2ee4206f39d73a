"""Gheibi & Ghazizadeh 2026, arXiv 2605.20642: hard and soft delivery of the same annotator distributions."""

from votewise.papers.same_target.compare import Line as Line
from votewise.papers.same_target.compare import compare_with_paper as compare_with_paper
from votewise.papers.same_target.published import PUBLISHED as PUBLISHED
from votewise.papers.same_target.published import Published as Published
from votewise.papers.same_target.suites import SUITES as SUITES
from votewise.papers.same_target.suites import Suite as Suite
from votewise.papers.same_target.suites import paper_recipe as paper_recipe
from votewise.papers.same_target.suites import suite_names as suite_names
from votewise.papers.same_target.suites import suite_runs as suite_runs
from votewise.papers.same_target.suites import tiny_material as tiny_material
