"""Figures 1 to 12 from evidence, as finished curves; `votewise.report.draw_panels` draws them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray
from votewise.papers.same_target import interpretations
from votewise.papers.same_target.cells import Cell, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import BOTH, COLUMNS, HARD, METHODS
from votewise.papers.same_target.published import SWEEP
from votewise.papers.same_target.scalars import HOLDS, scalars, similarity
from votewise.report.content import Curve, Panel, Spread

_BINS = ("none", "1", "2", "3", "4", "5")

# Curves by confidence are drawn where every seed has enough items.
_LEAST_DENSITY = 0.1


@dataclass(frozen=True, eq=False)
class Figure:
    """Our version of one of the paper's figures.

    Attributes:
        name: such as "figure-4".
        title: what it shows.
        said: what the paper says of its own, in words.
        panels: what to draw; none where no run has it.
        cells: the numbers that belong to it, ours beside theirs.
    """

    name: str
    title: str
    said: str
    panels: tuple[Panel, ...]
    cells: tuple[Cell, ...] = ()


def figure_1(evidence: Evidence) -> Figure:
    """Scores by the number of votes per item."""
    panels = [
        Panel(
            COLUMNS[metric], "votes per item", COLUMNS[metric],
            _conditions(
                {METHODS[method]: [_spread(evidence, Group(method, votes), f"{metric}_best") for votes in SWEEP]
                 for method in ("soft", *HARD)}
            ),
            tuple(map(str, SWEEP)),
        )
        for metric in ("soft_nll", "accuracy", "entropy_correlation")
    ]  # fmt: skip
    said = "At each number of votes every hard delivery has a lower soft NLL than soft labels."
    return Figure("figure-1", "scores by the number of votes per item", said, _drawn(panels))


def figure_2(evidence: Evidence) -> Figure:
    """Improvement by how far the redrawn votes are from all votes, in JS distance."""
    said = "Hard deliveries improve a little more where the redraw is further off: Spearman about 0.05 to 0.16."
    return _improvement(evidence, "figure-2", "js", "JS distance", said)


def figure_3(evidence: Evidence) -> Figure:
    """Accuracy by confidence."""
    curves = [_reliability(evidence, method) for method in ("majority", "soft", "sls")]
    panel = Panel("", "confidence", "accuracy", tuple(curve for curve in curves if curve is not None), diagonal=True)
    said = "Majority vote is over-confident; soft labels and SLS lie near the diagonal."
    return Figure("figure-3", "smooth reliability diagrams", said, _drawn([panel]), _quoted(evidence, "Figure 3"))


def figure_4(evidence: Evidence) -> Figure:
    """Soft NLL by how long a drawn label is kept."""
    found = [_spread(evidence, Group("sls", hold=hold, first=5), "soft_nll_best") for hold in HOLDS]
    panel = Panel("", "epochs a label is kept", "soft NLL", _conditions({"SLS": found}), tuple(map(str, HOLDS)))
    said = "The longer labels are kept, the worse, on every seed."
    return Figure("figure-4", "stale labels", said, _drawn([panel]), _quoted(evidence, "Figure 4"))


def figure_5(evidence: Evidence) -> Figure:
    """Improvement by how far the redrawn votes are from all votes, in L1 distance."""
    return _improvement(evidence, "figure-5", "l1", "L1 distance", "As in Figure 2.")


def figure_6(evidence: Evidence) -> Figure:
    """The same on the images people disagree on most."""
    return _improvement(evidence, "figure-6", "js-high", "JS distance", "As in Figure 2.", ", fifth of highest entropy")


def figure_7(evidence: Evidence) -> Figure:
    """Gradient variance by people's entropy, images with some disagreement."""
    parts = [evidence.lines(Group("sls"), f"gradient_{part}") for part in ("entropy", "middle", "low", "high")]
    curves = (Curve("SLS", *(np.mean(list(part.values()), axis=0) for part in parts)),) if all(parts) else ()
    panel = Panel("", "entropy of votes (nats)", "variance of the last layer's gradient", curves)
    said = "The two go together: Spearman 0.939 on average, 0.919 to 0.953 over seeds."
    return Figure(
        "figure-7", "label-sampling variance by disagreement: middle and outer tenths", said,
        _drawn([panel]), _quoted(evidence, "Figure 7"),
    )  # fmt: skip


def figure_8(evidence: Evidence) -> Figure:
    """Held-out soft NLL by epoch."""
    panels = [
        Panel(title, "epoch", "soft NLL", _epochs(evidence, "curve_soft_nll", since))
        for title, since in (("all epochs", 0.0), ("the last two fifths", 0.6))
    ]
    said = "SLS comes near its best 35.7 epochs before soft labels, and is best 47.2 epochs before them."
    return Figure("figure-8", "soft NLL by epoch", said, _drawn(panels), _quoted(evidence, "Figure 8"))


_MAPS = (interpretations.MAPS, f"{interpretations.MAPS}_high")


def figure_9(evidence: Evidence) -> Figure:
    """How similar the Grad-CAM maps of different seeds are."""
    panels = [
        Panel(
            title, "", "correlation of Grad-CAM maps",
            _conditions(
                {METHODS[method]: [similarity(evidence, method, where, what) for what in _MAPS] for method in BOTH}
            ),
            ("all images", "fifth of highest entropy"), joined=False, same_scale=True,
        )
        for where, title in (("shared", "images all runs share"), ("held_out", "images both held out"))
    ]  # fmt: skip
    said = "Maps of SLS are more similar between seeds: 0.901 to 0.804, on images of high entropy 0.861 to 0.756."
    return Figure("figure-9", "Grad-CAM between seeds", said, _drawn(panels), _quoted(evidence, "Figure 9"))


def figure_10(evidence: Evidence) -> Figure:
    """Parts of the Brier score."""
    parts = ("reliability", "resolution")
    of = {"correctness": "of the top class's correctness", "shares": "of people's shares"}
    panels = [
        Panel(
            title, "", "part of the Brier score",
            _conditions(
                {METHODS[method]: [_spread(evidence, Group(method), f"brier/{name}/{part}") for part in parts]
                 for method in BOTH}
            ),
            parts, joined=False,
        )
        for name, title in of.items()
    ]  # fmt: skip
    cells = [
        Cell(f"{part} {title}", METHODS[method], _spread(evidence, Group(method), f"brier/{name}/{part}"), None)
        for name, title in of.items()
        for part in parts
        for method in BOTH
    ]
    said = "Reliability is similar; the resolution of SLS is slightly higher."
    return Figure("figure-10", "Brier score in parts", said, _drawn(panels), tuple(cells))


def figure_11(evidence: Evidence) -> Figure:
    """Loss along the straight line between two models."""
    across = evidence.across
    curves = [
        _band(words, across["barrier.positions"], across[f"barrier.{name}.losses"])
        for name, words in (("plain", "as it is"), ("recalibrated", "norms recalibrated"))
        if f"barrier.{name}.losses" in across
    ]
    panel = Panel("", "from SLS (0) to soft labels (1)", "soft NLL", tuple(curves))
    said = "A barrier of 2.05 nats on average lies between SLS and soft labels of one seed."
    return Figure(
        "figure-11", "loss between SLS and soft labels of one seed", said, _drawn([panel]),
        _quoted(evidence, "Figure 11"),
    )  # fmt: skip


def figure_12(evidence: Evidence) -> Figure:
    """How similar the features of different seeds are."""
    found = {
        METHODS[method]: [similarity(evidence, method, where, "cka") for where in ("shared", "held_out")]
        for method in BOTH
    }
    ticks = ("images all runs share", "images both held out")
    panel = Panel("", "", "linear CKA between seeds", _conditions(found), ticks, joined=False)
    said = "Features of SLS are more similar between seeds: 0.920 to 0.887."
    return Figure("figure-12", "CKA between seeds", said, _drawn([panel]), _quoted(evidence, "Figure 12"))


FIGURES: dict[str, Callable[[Evidence], Figure]] = {
    "figure-1": figure_1,
    "figure-2": figure_2,
    "figure-3": figure_3,
    "figure-4": figure_4,
    "figure-5": figure_5,
    "figure-6": figure_6,
    "figure-7": figure_7,
    "figure-8": figure_8,
    "figure-9": figure_9,
    "figure-10": figure_10,
    "figure-11": figure_11,
    "figure-12": figure_12,
}


def _improvement(evidence: Evidence, figure: str, name: str, distance: str, said: str, images: str = "") -> Figure:
    """Gain in bins of distance, on held-out images; their votes are redrawn too, though no run was trained on them."""
    panels = [
        Panel(
            f"{votes} votes", f"bin of {distance}", "soft NLL: soft labels less hard",
            _conditions(
                {METHODS[method]: [_spread(evidence, Group(method, votes), f"{name}/gain/{place}")
                                   for place in range(len(_BINS))]
                 for method in HARD}
            ),
            _BINS, zero=True, same_scale=True,
        )
        for votes in SWEEP
    ]  # fmt: skip
    kinds = {"spearman": "Spearman"} | ({"spearman_given_entropy": "Spearman given entropy"} if name == "js" else {})
    cells = [
        Cell(
            f"{words}, {votes} votes", METHODS[method], _spread(evidence, Group(method, votes), f"{name}/{kind}"), None
        )
        for kind, words in kinds.items()
        for votes in SWEEP
        for method in HARD
    ]
    return Figure(
        figure, f"improvement on soft labels by {distance} of the redraw{images}", said, _drawn(panels), tuple(cells)
    )


def _quoted(evidence: Evidence, place: str) -> tuple[Cell, ...]:
    """The quoted numbers of a figure."""
    return tuple(cell for cell in scalars(evidence).cells if cell.published and cell.published.place == place)


def _spread(evidence: Evidence, group: Group, name: str) -> Spread | None:
    return spread(evidence.values(group, name).values())


def _conditions(rows: Mapping[str, Sequence[Spread | None]]) -> tuple[Curve, ...]:
    """One curve per row over conditions 0, 1, ..., mean and SD over seeds; without those not run."""
    curves = []
    for name, found in rows.items():
        there = [(place, one.mean, np.nan_to_num(one.sd)) for place, one in enumerate(found) if one is not None]
        if there:
            x, mean, sd = np.array(there, dtype=np.float64).T
            curves.append(Curve(name, x, mean, mean - sd, mean + sd))
    return tuple(curves)


def _epochs(evidence: Evidence, name: str, since: float) -> tuple[Curve, ...]:
    """One curve per method, starting after a share of the epochs."""
    curves = []
    for method in BOTH:
        lines = list(evidence.lines(Group(method), name).values())
        if lines:
            first = round(since * len(lines[0]))
            epochs = np.arange(first + 1, len(lines[0]) + 1)
            curves.append(_band(METHODS[method], epochs, [line[first:] for line in lines]))
    return tuple(curves)


def _reliability(evidence: Evidence, method: str) -> Curve | None:
    accuracy, density = (
        evidence.lines(Group(method), f"reliability_{part}").values() for part in ("accuracy", "density")
    )
    if not accuracy:
        return None
    table = np.stack(list(accuracy))
    common = (np.isfinite(table) & (np.stack(list(density)) > _LEAST_DENSITY)).all(axis=0)
    return _band(METHODS[method], evidence.across["confidence"][common], table[:, common])


def _band(name: str, x: npt.ArrayLike, lines: Iterable[FloatArray]) -> Curve:
    """Mean and SD over seeds; no band for one."""
    table = np.stack(list(lines)).astype(np.float64)
    mean = table.mean(axis=0)
    sd = table.std(axis=0, ddof=1) if len(table) > 1 else np.zeros_like(mean)
    return Curve(name, np.asarray(x, dtype=np.float64), mean, mean - sd, mean + sd)


def _drawn(panels: Iterable[Panel]) -> tuple[Panel, ...]:
    """The panels that have something to draw."""
    return tuple(panel for panel in panels if panel.curves)
