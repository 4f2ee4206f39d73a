"""Numbers that the paper quotes in its text."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from votewise._checks import FloatArray
from votewise.papers.same_target import interpretations
from votewise.papers.same_target.cells import Cell, Table, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import BOTH, METHODS
from votewise.papers.same_target.published import QUOTED
from votewise.report import counted
from votewise.report.content import Spread

EARLIER = "epochs SLS is earlier than soft labels"
HOLDS = (1, 5, 10, 50)


def scalars(evidence: Evidence) -> Table:
    """All of them, ours beside theirs; open definitions as in `interpretations`."""
    cells = (
        _entropy(evidence),
        *_smooth_ece(evidence),
        *_resampling(evidence),
        *_gradients(evidence),
        *_earlier(evidence),
        *_maps(evidence),
        *_barrier(evidence),
        *_features(evidence),
    )
    return Table(
        "scalars", "numbers quoted in the text", cells,
        notes=(
            "The paper prints no SD of these: distances are in units of ours. Similarity of maps and features is the "
            "mean over pairs of seeds; n counts seeds, and SD is √n times the jackknife's standard error over seeds.",
        ),
    )  # fmt: skip


def soft_less_sls(evidence: Evidence, name: str, votes: int | None = None) -> dict[int, float]:
    """A number of soft labels less that of SLS, on each seed that both have; of epochs, SLS's lead."""
    sls, soft = (evidence.values(Group(method, votes), name) for method in BOTH)
    return {seed: soft[seed] - sls[seed] for seed in sls if seed in soft}


def similarity(evidence: Evidence, method: str, where: str, what: str) -> Spread | None:
    """Mean over pairs of seeds; n is the number of seeds, and SD / sqrt(n) its standard error.

    Pairs that share a seed are not independent, so the error is the jackknife's, which leaves out one seed at a time.
    """
    matrix = evidence.across.get(f"{method}.{where}.{what}")
    if matrix is None:
        return None
    n = len(matrix)
    without = [_mean_of_pairs(np.delete(np.delete(matrix, seed, 0), seed, 1)) for seed in range(n) if n > 2]
    return Spread(_mean_of_pairs(matrix), math.sqrt(n * (n - 1)) * float(np.std(without or math.nan)), n)


def _mean_of_pairs(matrix: FloatArray) -> float:
    return float(matrix[np.triu_indices(len(matrix), k=1)].mean())


def _entropy(evidence: Evidence) -> Cell:
    """Of the votes on the held-out images, which are the same for all methods."""
    nll, kl = (evidence.values(Group("soft"), f"{name}_best") for name in ("soft_nll", "kl"))
    ours = spread(nll[seed] - kl[seed] for seed in nll if seed in kl)
    return Cell("entropy of the votes", "held-out images", ours, QUOTED["entropy", "votes"])


def _smooth_ece(evidence: Evidence) -> Iterator[Cell]:
    for method in ("sls", "soft", "majority"):
        ours = spread(evidence.values(Group(method), "smooth_ece_best").values())
        yield Cell("smooth ECE", METHODS[method], ours, QUOTED["smooth_ece", method])


def _resampling(evidence: Evidence) -> Iterator[Cell]:
    for hold in HOLDS:
        ours = spread(evidence.values(Group("sls", hold=hold, first=5), "soft_nll_best").values())
        yield Cell("soft NLL of SLS by period", counted(hold, "epoch"), ours, QUOTED["resampling", str(hold)])


def _gradients(evidence: Evidence) -> Iterator[Cell]:
    ours = spread(evidence.values(Group("sls"), f"gradient/{interpretations.GRADIENT}").values())
    yield Cell("Spearman of entropy and gradient variance", METHODS["sls"], ours, QUOTED["gradient_spearman", "sls"])


def _earlier(evidence: Evidence) -> Iterator[Cell]:
    for name, words, printed in (
        (f"near_best/{interpretations.NEARNESS}", "near its best", "near_best_earlier"),
        ("best_epoch", "at its best", "best_earlier"),
    ):
        ours = spread(soft_less_sls(evidence, name).values())
        yield Cell(EARLIER, words, ours, QUOTED[printed, "sls"])


def _maps(evidence: Evidence) -> Iterator[Cell]:
    for high, words in (("", "all images"), ("_high", "the fifth of highest entropy")):
        for method in BOTH:
            ours = similarity(evidence, method, interpretations.MAP_IMAGES, f"{interpretations.MAPS}{high}")
            yield Cell(f"Grad-CAM between seeds, {words}", METHODS[method], ours, QUOTED[f"maps{high}", method])


def _barrier(evidence: Evidence) -> Iterator[Cell]:
    heights = evidence.across.get("barrier.plain.heights", np.zeros(0))
    yield Cell("barrier", "SLS to soft labels", spread(heights), QUOTED["barrier", "sls"])


def _features(evidence: Evidence) -> Iterator[Cell]:
    for method in BOTH:
        ours = similarity(evidence, method, interpretations.FEATURE_IMAGES, "cka")
        yield Cell("CKA between seeds", METHODS[method], ours, QUOTED["cka", method])
