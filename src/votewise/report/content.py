"""The content of a report: computed numbers in one form for the terminal, the page and JSON."""

from __future__ import annotations

from dataclasses import dataclass

from votewise._checks import FloatArray


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (n - 1) over n seeds; the deviation is NaN for one seed."""

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
        pairs: number of seeds that it shares with the baseline; 0 for the baseline.
        difference: mean soft NLL minus the baseline's, over these seeds; None if there are none.
        wins: number of these seeds on which it is below the baseline; None if there are none.
        p_value: exact two-sided paired Wilcoxon test; None for the baseline and for a single seed.
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
        curves: lines with bands, or points with error bars if there are `ticks`.
        ticks: labels of the positions 0, 1, ... on the x axis.
        joined: whether to join points, where ticks are ordered.
        diagonal: whether to draw y = x, the line of perfect calibration.
        zero: whether to draw y = 0, the line of no difference.
        same_scale: whether to share the y range with the other panels of the figure that set this.
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
        title: the condition, e.g. "10 votes per item".
        rows: one row per method, the baseline first.
        learning: held-out soft NLL by epoch, one curve per method.
        reliability: accuracy by confidence, one curve per method; empty without predictions.
        no_model: soft NLL of predicting the mean vote shares of the other items for every held-out one, over seeds: a
            model that is not below it has learnt nothing; None where it is unknown or infinite.
    """

    title: str
    rows: tuple[MethodRow, ...]
    learning: tuple[Curve, ...]
    reliability: tuple[Curve, ...]
    no_model: Spread | None = None


@dataclass(frozen=True)
class Example:
    """One item with its votes and the models' predictions, as shares over the classes.

    Attributes:
        item: its id.
        people: shares of the votes.
        models: method to predicted shares.
        caption: the item itself, if it is a text.
        picture: the item itself as a data URI, if it is an image.
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
        summary: the main results, in sentences.
        data: data and protocol, in sentences.
        classes: names of the classes.
        comparisons: one for each condition.
        version: of votewise.
        examples_title: which items are shown, and under which condition.
        examples: items; may be empty.
        notes: how the data were put together, in sentences; the terminal has shown them before.
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
