"""Papers whose results votewise repeats: their runs, their tables, figures and claims, their published numbers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from votewise._checks import check_choice

if TYPE_CHECKING:
    from votewise.papers.paper import Paper

# Every paper by its name on the command line, and the module whose PAPER it is.
PAPERS: dict[str, str] = {
    "same-target": "votewise.papers.same_target",
    "soft-labels": "votewise.papers.soft_labels",
}


def find_paper(name: str) -> Paper:
    """A paper by name."""
    check_choice("the paper", name, tuple(PAPERS))
    paper: Paper = import_module(PAPERS[name]).PAPER
    return paper
