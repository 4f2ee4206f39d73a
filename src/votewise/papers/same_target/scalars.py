"""Numbers that the paper quotes in its text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from votewise.papers.same_target.cells import Cell, Table, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import METHODS
from votewise.papers.same_target.published import QUOTED
from votewise.report.content import Spread

HOLDS = (1, 5, 10, 50)

_BOTH = ("sls", "soft")

# How "95 % of its best" can be read, the most likely first.
_NEARNESS = {
    "quotient": "loss at most best / 0.95",
    "excess": "loss at most 1.05 best",
    "descent": "95 % of the way down",
}
_GRADIENTS = {
    "spearman": "closed form",
    "spearman_sampled": "100 drawn labels",
    "spearman_disputed": "images with H > 0",
}
_IMAGES = {"shared": "images all runs share", "held_out": "images both held out"}


def scalars(evidence: Evidence) -> Table:
    """All of them, ours beside theirs; where the paper leaves a definition open, each reading of it."""
    cells = (
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
            "The paper prints no SD of these: apart is in units of ours. Likeness of maps and features is the mean "
            "over pairs of seeds; its SD is over pairs, its n the seeds.",
        ),
    )  # fmt: skip


def earlier(evidence: Evidence, name: str) -> dict[int, float]:
    """By how many epochs SLS is earlier than soft labels of the same seed."""
    sls, soft = (evidence.values(Group(method), name) for method in _BOTH)
    return {seed: soft[seed] - sls[seed] for seed in sls if seed in soft}


def likeness(evidence: Evidence, method: str, where: str, what: str) -> Spread | None:
    """Mean and SD over pairs of seeds; n is the number of seeds."""
    matrix = evidence.across.get(f"{method}.{where}.{what}")
    if matrix is None:
        return None
    over_pairs = spread(matrix[np.triu_indices(len(matrix), k=1)])
    return None if over_pairs is None else Spread(over_pairs.mean, over_pairs.sd, len(matrix))


def _smooth_ece(evidence: Evidence) -> Iterator[Cell]:
    for method in ("sls", "soft", "majority"):
        ours = spread(evidence.values(Group(method), "smooth_ece_best").values())
        yield Cell("smooth ECE", METHODS[method], ours, QUOTED["smooth_ece", method])


def _resampling(evidence: Evidence) -> Iterator[Cell]:
    for hold in HOLDS:
        ours = spread(evidence.values(Group("sls", hold=hold, first=5), "soft_nll_best").values())
        yield Cell("soft NLL of SLS by period", f"{hold} epochs", ours, QUOTED["resampling", str(hold)])


def _gradients(evidence: Evidence) -> Iterator[Cell]:
    for name, words in _GRADIENTS.items():
        ours = spread(evidence.values(Group("sls"), f"gradient/{name}").values())
        yield Cell("Spearman of entropy and gradient variance", words, ours, QUOTED["gradient_spearman", "sls"])


def _earlier(evidence: Evidence) -> Iterator[Cell]:
    for name, words in _NEARNESS.items():
        ours = spread(earlier(evidence, f"near_best/{name}").values())
        yield Cell("epochs SLS is earlier near its best", words, ours, QUOTED["near_best_earlier", "sls"])
    ours = spread(earlier(evidence, "best_epoch").values())
    yield Cell("epochs SLS is earlier at its best", "best epoch", ours, QUOTED["best_earlier", "sls"])


def _maps(evidence: Evidence) -> Iterator[Cell]:
    for high, words in (("", "all images"), ("_high", "the fifth of highest entropy")):
        for size, pixels in (("maps", "32 x 32"), ("maps_raw", "4 x 4")):
            for where, images in _IMAGES.items():
                for method in _BOTH:
                    ours = likeness(evidence, method, where, f"{size}{high}")
                    column = f"{METHODS[method]}, {images}, {pixels}"
                    yield Cell(f"Grad-CAM between seeds, {words}", column, ours, QUOTED[f"maps{high}", method])


def _barrier(evidence: Evidence) -> Iterator[Cell]:
    for name, words in (("plain", "as it is"), ("recalibrated", "norms recalibrated")):
        heights = evidence.across.get(f"barrier.{name}.heights", np.zeros(0))
        printed = QUOTED["barrier", "sls"] if name == "plain" else None
        yield Cell("barrier between SLS and soft labels", words, spread(heights), printed)


def _features(evidence: Evidence) -> Iterator[Cell]:
    for where, images in _IMAGES.items():
        for method in _BOTH:
            ours = likeness(evidence, method, where, "cka")
            yield Cell("CKA between seeds", f"{METHODS[method]}, {images}", ours, QUOTED["cka", method])
