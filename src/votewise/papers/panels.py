"""The panels of figures as data: each function here gives one that draws numbers or series of any paper's results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray
from votewise.papers.claims import Contrast
from votewise.papers.suites import Where
from votewise.records import POSITIONS, Results
from votewise.report.document import Curve, Panel

# What a figure consists of.
Draw = Callable[[Results], Panel]

# Accuracy by confidence is drawn where every seed has enough items.
LEAST_DENSITY = 0.1


def paper_panel_by_condition(
    title: str,
    y_label: str,
    rows: Mapping[str, Sequence[Contrast]],
    ticks: Sequence[str],
    x_label: str = "",
    **look: Any,
) -> Draw:
    """Mean and SD over seeds of a number under several conditions; conditions not run are left out.

    Args:
        title: line above the panel.
        y_label: the number in words.
        rows: the number under each condition, by the curve's name.
        ticks: the conditions in words.
        x_label: what the conditions differ in.
        look: further settings of the panel.
    """

    def draw(results: Results) -> Panel:
        curves = []
        for name, contrasts in rows.items():
            samples = {place: contrast.sample(results) for place, contrast in enumerate(contrasts)}
            known = [(place, one.mean, np.nan_to_num(one.sd)) for place, one in samples.items() if one.n]
            if known:
                x, mean, sd = np.array(known, dtype=np.float64).T
                curves.append(Curve(name, x, mean, mean - sd, mean + sd))
        return Panel(title, x_label, y_label, tuple(curves), tuple(ticks), **look)

    return draw


def paper_panel_by_epoch(title: str, y_label: str, series: str, rows: Mapping[str, Where], since: float = 0.0) -> Draw:
    """A curve over epochs, mean and SD over seeds.

    Args:
        title: line above the panel.
        y_label: the series in words.
        series: its name.
        rows: the runs of each curve by its name.
        since: share of the epochs to leave out at the beginning.
    """

    def draw(results: Results) -> Panel:
        curves = []
        for name, where in rows.items():
            if lines := list(results.lines(series, where).values()):
                first = round(since * len(lines[0]))
                curves.append(
                    paper_curve_over_seeds(name, np.arange(first, len(lines[0])) + 1, [line[first:] for line in lines])
                )
        return Panel(title, "epoch", y_label, tuple(curves))

    return draw


def paper_reliability_panel(rows: Mapping[str, Where]) -> Draw:
    """Accuracy by confidence, where every seed has enough items; a curve for each selection of runs, by its name."""

    def draw(results: Results) -> Panel:
        curves = []
        for name, where in rows.items():
            parts = [results.lines(f"reliability_{part}", where).values() for part in ("accuracy", "density")]
            accuracy, density = map(list, parts)
            if accuracy:
                common = (np.isfinite(accuracy) & (np.stack(density) > LEAST_DENSITY)).all(axis=0)
                x = results.shared["confidence"][common]
                curves.append(paper_curve_over_seeds(name, x, [line[common] for line in accuracy]))
        return Panel("", "confidence", "accuracy", tuple(curves), diagonal=True)

    return draw


def paper_gradient_variance_panel(name: str, where: Where) -> Draw:
    """Variance of the last layer's gradient over drawn labels, mean over seeds; images with some disagreement."""

    def draw(results: Results) -> Panel:
        names = (f"gradient_{part}" for part in ("entropy", "middle", "low", "high"))
        parts = [list(results.lines(series, where).values()) for series in names]
        curves = (Curve(name, *(np.mean(part, axis=0) for part in parts)),) if all(parts) else ()
        return Panel("", "entropy of votes (nats)", "variance of the last layer's gradient", curves)

    return draw


def paper_barrier_panel(x_label: str, measurement: str) -> Draw:
    """Loss along the straight line between two models of one seed, mean and SD over seeds."""

    def draw(results: Results) -> Panel:
        arrays = results.between[measurement].arrays if measurement in results.between else {}
        curves = tuple(
            paper_curve_over_seeds(words, arrays[POSITIONS], arrays[f"{name}.losses"])
            for name, words in (("plain", "as it is"), ("recalibrated", "norms recalibrated"))
            if f"{name}.losses" in arrays
        )
        return Panel("", x_label, "soft NLL", curves)

    return draw


def paper_curve_over_seeds(name: str, x: npt.ArrayLike, lines: Iterable[npt.ArrayLike]) -> Curve:
    """Mean and SD over seeds, at each of P places x; the lines are the P values of each seed. No band for one seed."""
    table = np.stack([np.asarray(line, dtype=np.float64) for line in lines])
    mean = table.mean(axis=0)
    sd: FloatArray = table.std(axis=0, ddof=1) if len(table) > 1 else np.zeros_like(mean)
    return Curve(name, np.asarray(x, dtype=np.float64), mean, mean - sd, mean + sd)
