"""What a report shows: finished numbers, no computation. One shape for the terminal, the page and JSON."""

from __future__ import annotations

from dataclasses import dataclass

from votewise._checks import FloatArray


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (n - 1) over n seeds; the deviation is NaN for one."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class MethodRow:
    """One method in a comparison.

    Attributes:
        method: its name.
        metrics: name of a metric to its spread over seeds.
        per_seed: soft NLL of each seed, in seed order.
        pairs: seeds that both it and the baseline have; 0 for the baseline.
        difference: mean soft NLL less the baseline's, over these seeds; None where there are none.
        wins: how many of these seeds it is below the baseline on; None where there are none.
        p_value: exact two-sided paired Wilcoxon; None for the baseline, and where one seed allows no test.
        p_holm: the same, adjusted by Holm over the methods of the table.
    """

    method: str
    metrics: dict[str, Spread]
    per_seed: tuple[float, ...]
    pairs: int = 0
    difference: float | None = None
    wins: int | None = None
    p_value: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """A line with a band: y over x, between low and high."""

    name: str
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Panel:
    """One of several plots in a figure.

    Attributes:
        title: above it.
        x_label: under it.
        y_label: beside it.
        curves: lines with bands; where `ticks` are named, points with bars.
        ticks: names of the places 0, 1, ... on the x axis.
        joined: whether points are joined, the ticks being in an order.
        diagonal: whether to draw y = x, the line of perfect calibration.
        zero: whether to draw y = 0, where two things compared are equal.
        same_scale: whether its y axis reaches as far as those of the others of the figure that ask for it.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    ticks: tuple[str, ...] = ()
    joined: bool = True
    diagonal: bool = False
    zero: bool = False
    same_scale: bool = False


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared under one condition.

    Attributes:
        title: the condition, e.g. "10 votes an item".
        rows: a row a method, the baseline first.
        learning: held-out soft NLL by epoch, a curve a method.
        reliability: accuracy by confidence, a curve a method; empty where predictions are not at hand.
    """

    title: str
    rows: tuple[MethodRow, ...]
    learning: tuple[Curve, ...]
    reliability: tuple[Curve, ...]


@dataclass(frozen=True)
class Example:
    """One item: what people said and what each model says, as shares over the classes.

    Attributes:
        item: its id.
        people: shares of the votes.
        models: method to predicted shares.
        caption: the item itself, where it is a text.
        picture: the item itself as a data URI, where it is an image.
    """

    item: str
    people: tuple[float, ...]
    models: dict[str, tuple[float, ...]]
    caption: str = ""
    picture: str = ""


@dataclass(frozen=True, eq=False)
class Content:
    """A whole report.

    Attributes:
        title: heading.
        summary: sentences a reader takes away.
        data: sentences on data and protocol.
        classes: names.
        comparisons: one for each condition.
        version: of votewise.
        examples_title: which items are shown, and under which condition.
        examples: items; there may be none.
        notes: sentences on how the data came together, of which a terminal was told before.
    """

    title: str
    summary: tuple[str, ...]
    data: tuple[str, ...]
    classes: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    version: str
    examples_title: str = ""
    examples: tuple[Example, ...] = ()
    notes: tuple[str, ...] = ()
