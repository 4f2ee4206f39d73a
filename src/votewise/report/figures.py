"""Finished curves to SVG."""

from __future__ import annotations

import io
from collections.abc import Sequence

from votewise._errors import MissingExtraError
from votewise.report.content import Curve

# Told apart by the colour-blind, and by lightness when printed (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#8B8B8B", "#CC79A7", "#E69F00", "#56B4E9")

# Of classes: Paul Tol's muted colours, which the colour-blind tell apart; none is near the page's own. The first five
# run from warm to cool, which suits ordered classes.
_ORDERED = 5
CLASS_COLOURS = (
    "#882255", "#CC6677", "#DDCC77", "#88CCEE", "#332288", "#44AA99", "#117733", "#999933", "#AA4499", "#661100",
)  # fmt: skip

# Names that fit above a panel in one row, in characters.
_ONE_ROW = 48


def draw_curves(
    curves: Sequence[Curve], *, x_label: str, y_label: str, diagonal: bool = False, y_top: float | None = None
) -> str:
    """Curves with bands in one panel, as an SVG element that inherits the page's text colour.

    Args:
        curves: lines in legend order.
        x_label: under the panel.
        y_label: beside it.
        diagonal: draw y = x, the line of perfect calibration.
        y_top: cut the panel here; a curve that leaves it is said so in the legend.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise MissingExtraError("drawing figures", "matplotlib", "report") from None
    import matplotlib

    with matplotlib.rc_context(
        {"svg.hashsalt": "votewise", "svg.fonttype": "none", "font.size": 10, "font.family": "sans-serif"}
    ):
        figure = Figure(figsize=(5.2, 3.4), layout="constrained")
        axes = figure.subplots()
        if diagonal:
            axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle=":")
        for curve, colour in zip(curves, COLOURS, strict=False):
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
            axes.plot(curve.x, curve.y, color=colour, linewidth=1.8, label=_label(curve, y_top))
        axes.set(xlabel=x_label, ylabel=y_label)
        if y_top is not None:
            axes.set_ylim(top=y_top)
        if all((curve.x % 1 == 0).all() for curve in curves):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.spines[["top", "right"]].set_visible(False)
        names = [_label(curve, y_top) for curve in curves]
        columns = len(names) if sum(map(len, names)) <= _ONE_ROW else 2
        figure.legend(loc="outside upper left", ncols=columns, frameon=False, fontsize=9, columnspacing=1.2)
        out = io.StringIO()
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    return out.getvalue()[out.getvalue().index("<svg") :]


def class_colours(number: int) -> list[str]:
    """A colour for each of a number of classes; few classes lie far apart between warm and cool."""
    if 1 < number < _ORDERED:
        return [CLASS_COLOURS[round(place * (_ORDERED - 1) / (number - 1))] for place in range(number)]
    return [CLASS_COLOURS[place % len(CLASS_COLOURS)] for place in range(number)]


def _label(curve: Curve, y_top: float | None) -> str:
    beyond = y_top is not None and bool((curve.y > y_top).any())
    return curve.name + (" (leaves the panel)" if beyond else "")
