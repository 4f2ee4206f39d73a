"""Beyond the paper: what else helps where votes are few."""

from __future__ import annotations

from votewise.papers.same_target.cells import Cell, Table, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import METHODS
from votewise.papers.same_target.suites import BEYOND
from votewise.papers.same_target.tables import adjusted, paired_test

_SCORES = {"soft_nll_best": "soft NLL", "scaled/soft_nll": "soft NLL, temperature fitted", "accuracy_best": "accuracy"}


def sparse(evidence: Evidence) -> Table:
    """Smoothed shares beside soft labels, SLS and multipass; each against soft labels and against multipass."""
    suite = BEYOND["sparse"]
    cells = [
        Cell(
            f"{METHODS[method]}, {votes} votes", words,
            spread(evidence.values(Group(method, votes), name).values()), None,
        )
        for votes in suite.votes
        for method in suite.methods
        for name, words in _SCORES.items()
    ]  # fmt: skip
    tests = [
        paired_test(evidence, Group(method, votes), Group(other, votes), "soft_nll", "soft_nll_best", "two-sided")
        for votes in suite.votes
        for other in ("soft", "multipass")
        for method in suite.methods
        if method not in ("soft", other)
    ]
    return Table(
        "sparse", "beyond the paper: smoothed shares where votes are few", tuple(cells),
        adjusted(tests),
        ("Smoothed: 0.9 of the share and 0.1 spread evenly. Dirichlet: one vote more, spread over all classes, or as "
         "many as fit the votes of all items.",),
    )  # fmt: skip
