"""Beyond the paper: what else helps with few votes."""

from __future__ import annotations

from votewise.papers.same_target.cells import Cell, Table, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import COLUMNS, METHODS
from votewise.papers.same_target.suites import BEYOND
from votewise.papers.same_target.tables import number_of, paired_test

_COLUMNS = ("soft_nll", "scaled", "accuracy", "ece", "entropy_correlation")

# Compared with multipass in every column but accuracy.
_SMOOTHED = ("soft-smoothed", "dirichlet-fitted")


def sparse(evidence: Evidence) -> Table:
    """Smoothed shares beside soft labels, SLS and multipass; each against soft labels and against multipass."""
    suite = BEYOND["sparse"]
    cells = [
        Cell(
            f"{METHODS[method]}, {votes} votes", COLUMNS[column],
            spread(evidence.values(Group(method, votes), number_of(column)).values()), None,
        )
        for votes in suite.votes
        for method in suite.methods
        for column in _COLUMNS
    ]  # fmt: skip
    compared = [
        (method, other, column)
        for column in _COLUMNS
        for other in ("soft", "multipass")
        for method in suite.methods
        if method not in ("soft", other)
        and (column == "soft_nll" or (column != "accuracy" and other == "multipass" and method in _SMOOTHED))
    ]
    tests = [
        paired_test(evidence, Group(method, votes), Group(other, votes), column, number_of(column), "two-sided")
        for votes in suite.votes
        for method, other, column in compared
    ]
    return Table(
        "sparse", "beyond the paper, smoothed vote shares with few votes", tuple(cells), tuple(tests),
        ("Smoothed: 0.9 of the share and 0.1 spread evenly. Dirichlet: one more vote, spread over all classes, or as "
         "many as fit the votes of all items. p is raw.",),
    )  # fmt: skip
