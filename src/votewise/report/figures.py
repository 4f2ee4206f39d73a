"""Figures to SVG."""

from __future__ import annotations

import io
import re
from typing import Any

from votewise._errors import MissingExtraError
from votewise.report.document import Figure, Panel
from votewise.report.look import Look, looks_of

# For classes: Paul Tol's muted colours, distinct for the colour-blind and unlike the page's own. The first five run
# from warm to cool, which suits ordered classes.
_ORDERED = 5
CLASS_COLOURS = (
    "#882255", "#CC6677", "#DDCC77", "#88CCEE", "#332288", "#44AA99", "#117733", "#999933", "#AA4499", "#661100",
)  # fmt: skip

# Inches: a panel that stands alone, one of several, and a row of the legend.
_ALONE, _ONE_OF_MANY, _LEGEND_ROW = (5.2, 3.2), (4.0, 3.0), 0.2
_IN_A_ROW = 3

# Inches that a name takes in the legend, for each character and for its line and margins.
_CHARACTER, _HANDLE = 0.075, 0.75

# Horizontal offset between the points of different curves, in ticks.
_APART = 0.12

# Where more bands than these overlap, each is lighter, so that lines stay visible.
_MOST_SHADED = 4

# Names are no formulas, whatever they hold.
_STYLE = {"text.parse_math": False, "svg.fonttype": "none", "font.size": 10, "font.family": "sans-serif"}


def draw_figure(figure: Figure, *, transparent: bool = False) -> str:
    """A figure as an SVG element: panels in rows under one legend. Equal numbers give equal bytes.

    A method looks the same in every panel and every figure (`looks_of`).

    Args:
        figure: what to draw; at least one panel.
        transparent: whether the page shows through; otherwise the figure is drawn on white.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise MissingExtraError("drawing figures", "matplotlib", "report") from None

    panels = figure.panels
    names = tuple(dict.fromkeys(curve.name for panel in panels for curve in panel.curves))
    looks = looks_of(names)
    beyond = {
        curve.name
        for panel in panels
        for curve in panel.curves
        if panel.y_top is not None and (curve.y > panel.y_top).any()
    }
    labels = {name: f"{name} (leaves the panel)" if name in beyond else name for name in names}
    down = -(-len(panels) // _IN_A_ROW)
    across = -(-len(panels) // down)  # rows filled as evenly as possible
    width, height = _ALONE if len(panels) == 1 else (_ONE_OF_MANY[0] * across, _ONE_OF_MANY[1] * down)
    longest = max(map(len, labels.values()), default=0)
    columns = min(max(int(width / (_CHARACTER * longest + _HANDLE)), 1), max(len(names), 1))
    height += _LEGEND_ROW * -(-len(names) // columns)

    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": figure.name}):
        canvas: Any = Canvas(figsize=(width, height), layout="constrained")
        if len(panels) > 1:  # inches; with less, labels touch the edge and each other
            canvas.get_layout_engine().set(w_pad=0.12, h_pad=0.12)
        grid = canvas.subplots(down, across, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for panel, axes in zip(panels, grid, strict=False):
            handles = {**_draw_panel(panel, axes, looks), **handles}
        alike = [axes for panel, axes in zip(panels, grid, strict=False) if panel.same_scale]
        limits = [axes.get_ylim() for axes in alike]
        for axes in alike:
            axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
        for unused in grid[len(panels) :]:
            unused.set_visible(False)
        canvas.legend(
            handles.values(), [labels[name] for name in handles], loc="outside upper left", ncols=columns,
            frameon=False, fontsize=9, columnspacing=1.2, handlelength=2.8,
        )  # fmt: skip
        out = io.StringIO()
        canvas.savefig(out, format="svg", transparent=transparent, metadata={"Date": None, "Title": figure.title})
    svg = out.getvalue()[out.getvalue().index("<svg") :]
    # Several figures may stand in one page, where ids must differ; ids are found in tags alone, not in text.
    return re.sub(r"<[^>]*>", lambda tag: re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{figure.name}-", tag.group()), svg)


def class_colours(number: int) -> list[str]:
    """One colour per class; a few classes are spread far apart between warm and cool."""
    if 1 < number < _ORDERED:
        return [CLASS_COLOURS[round(place * (_ORDERED - 1) / (number - 1))] for place in range(number)]
    return [CLASS_COLOURS[place % len(CLASS_COLOURS)] for place in range(number)]


def _draw_panel(panel: Panel, axes: Any, looks: dict[str, Look]) -> dict[str, Any]:
    """Draw a panel; the line of each curve, by name, for the legend."""
    lines: dict[str, Any] = {}
    if panel.diagonal:
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, linestyle=":")
    if panel.zero:
        axes.axhline(0, color="0.6", linewidth=0.8, zorder=0)
    for place, curve in enumerate(panel.curves):
        look = looks[curve.name]
        dash = (0, look.dash) if look.dash else "-"
        if panel.ticks:
            shift = _APART * (place - (len(panel.curves) - 1) / 2)
            lines[curve.name] = axes.errorbar(
                curve.x + shift, curve.y, (curve.y - curve.low, curve.high - curve.y), color=look.colour,
                marker=look.marker, markersize=5, linestyle=dash if panel.joined else "none",
            )  # fmt: skip
        else:
            shade = 0.18 if len(panel.curves) <= _MOST_SHADED else 0.08
            axes.fill_between(curve.x, curve.low, curve.high, color=look.colour, alpha=shade, linewidth=0)
            (lines[curve.name],) = axes.plot(curve.x, curve.y, color=look.colour, linestyle=dash, linewidth=1.8)
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.title:
        axes.set_title(panel.title)
    if panel.ticks:
        axes.set_xticks(range(len(panel.ticks)), panel.ticks)
        axes.set_xlim(-0.5, len(panel.ticks) - 0.5)
    elif all((curve.x % 1 == 0).all() for curve in panel.curves):
        axes.xaxis.get_major_locator().set_params(integer=True)
    if panel.y_top is not None:
        axes.set_ylim(top=panel.y_top)
    axes.spines[["top", "right"]].set_visible(False)
    return lines
