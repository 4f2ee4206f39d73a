"""Curves to SVG."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from votewise._errors import MissingExtraError
from votewise.report.content import Curve, Panel

# Distinct for the colour-blind, and by lightness in print (Okabe and Ito 2008).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#8B8B8B", "#CC79A7", "#E69F00", "#56B4E9")

# For classes: Paul Tol's muted colours, distinct for the colour-blind and unlike the page's own. The first five run
# from warm to cool, which suits ordered classes.
_ORDERED = 5
CLASS_COLOURS = (
    "#882255", "#CC6677", "#DDCC77", "#88CCEE", "#332288", "#44AA99", "#117733", "#999933", "#AA4499", "#661100",
)  # fmt: skip

# Characters of curve names that fit above a panel in one row.
_ONE_ROW = 48

# Size of a panel in inches, panels per row, and the horizontal offset between points of different curves.
_PANEL, _IN_A_ROW, _APART = (4.0, 3.0), 3, 0.12


def draw_curves(
    curves: Sequence[Curve], *, x_label: str, y_label: str, diagonal: bool = False, y_top: float | None = None
) -> str:
    """Curves with bands in one panel, as an SVG element that inherits the page's text colour.

    Args:
        curves: lines in legend order.
        x_label: under the panel.
        y_label: beside it.
        diagonal: draw y = x, the line of perfect calibration.
        y_top: top of the y axis; the legend marks curves that leave the panel.
    """
    with _drawing((5.2, 3.4)) as figure:
        from matplotlib.ticker import MaxNLocator

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
        return _as_svg(figure)


def draw_panels(panels: Sequence[Panel], *, known: Sequence[str] = ()) -> str:
    """Panels in rows under one legend, as an SVG on white; a curve has the same colour in all of them.

    Args:
        panels: at least one, each with at least one curve.
        known: names that always get the first colours, so that colours agree between figures.
    """
    names = list(dict.fromkeys(curve.name for panel in panels for curve in panel.curves))
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(dict.fromkeys([*known, *names]))}
    down = -(-len(panels) // _IN_A_ROW)
    across = -(-len(panels) // down)  # rows filled as evenly as possible
    with _drawing((_PANEL[0] * across, _PANEL[1] * down + 0.4)) as figure:
        figure.get_layout_engine().set(
            w_pad=0.12, h_pad=0.12
        )  # inches; with less, labels touch the edge and each other
        grid = figure.subplots(down, across, squeeze=False).ravel()
        for panel, axes in zip(panels, grid, strict=False):
            _draw_panel(panel, axes, colours)
        _share_scale([axes for panel, axes in zip(panels, grid, strict=False) if panel.same_scale])
        for unused in grid[len(panels) :]:
            unused.set_visible(False)
        handles = dict(zip(*_legend(grid[: len(panels)]), strict=True))
        figure.legend(handles.values(), handles, loc="outside upper left", ncols=len(names), frameon=False, fontsize=9)
        return _as_svg(figure, transparent=False)


def class_colours(number: int) -> list[str]:
    """One colour per class; a few classes are spread far apart between warm and cool."""
    if 1 < number < _ORDERED:
        return [CLASS_COLOURS[round(place * (_ORDERED - 1) / (number - 1))] for place in range(number)]
    return [CLASS_COLOURS[place % len(CLASS_COLOURS)] for place in range(number)]


def _share_scale(plots: Sequence[Any]) -> None:
    """Give some plots the same y range."""
    limits = [axes.get_ylim() for axes in plots]
    for axes in plots:
        axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _draw_panel(panel: Panel, axes: Any, colours: dict[str, str]) -> None:
    if panel.diagonal:
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle=":")
    for place, curve in enumerate(panel.curves):
        if panel.ticks:
            shift = _APART * (place - (len(panel.curves) - 1) / 2)
            bars = (curve.y - curve.low, curve.high - curve.y)
            mark = "o-" if panel.joined else "o"
            axes.errorbar(curve.x + shift, curve.y, bars, fmt=mark, color=colours[curve.name], label=curve.name)
        else:
            axes.fill_between(curve.x, curve.low, curve.high, color=colours[curve.name], alpha=0.18, linewidth=0)
            axes.plot(curve.x, curve.y, color=colours[curve.name], linewidth=1.8, label=curve.name)
    if panel.zero:
        axes.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.ticks:
        axes.set_xticks(range(len(panel.ticks)), panel.ticks)
        axes.set_xlim(-0.5, len(panel.ticks) - 0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _legend(axes: Sequence[Any]) -> tuple[list[str], list[Any]]:
    pairs = [pair for each in axes for pair in zip(*each.get_legend_handles_labels(), strict=True)]
    return [name for _, name in pairs], [handle for handle, _ in pairs]


@contextmanager
def _drawing(inches: tuple[float, float]) -> Iterator[Any]:
    """An empty figure in the common style; equal numbers give equal bytes."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("drawing figures", "matplotlib", "report") from None
    style = {"svg.hashsalt": "votewise", "svg.fonttype": "none", "font.size": 10, "font.family": "sans-serif"}
    with matplotlib.rc_context(style):
        yield Figure(figsize=inches, layout="constrained")


def _as_svg(figure: Any, *, transparent: bool = True) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", transparent=transparent, metadata={"Date": None})
    return out.getvalue()[out.getvalue().index("<svg") :]


def _label(curve: Curve, y_top: float | None) -> str:
    beyond = y_top is not None and bool((curve.y > y_top).any())
    return curve.name + (" (leaves the panel)" if beyond else "")
