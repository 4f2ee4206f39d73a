"""Figures as SVG: whole, repeatable, and one look for every method."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from votewise.delivery import METHODS
from votewise.report import LOOKS, Curve, Figure, Panel, draw_figure
from votewise.report.figures import CLASS_COLOURS, class_colours

SVG = "{http://www.w3.org/2000/svg}"


def curve(name: str, level: float = 0.0) -> Curve:
    x = np.arange(1.0, 5.0)
    return Curve(name, x, x + level, x + level - 0.1, x + level + 0.1)


def figure(*names: str, **changes: object) -> Figure:
    panel = Panel("", "epoch", "soft NLL", tuple(curve(name, place) for place, name in enumerate(names)))
    return Figure("learning-1", "Learning", (replace(panel, **changes),))  # type: ignore[arg-type]


def words(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def lines(svg: str) -> list[tuple[str, str]]:
    """Colour and dashes of each line drawn in colour in the first panel."""
    axes = ElementTree.fromstring(svg).find(".//*[@id='learning-1-axes_1']")
    assert axes is not None
    styles = [path.get("style", "") for group in axes for path in group.findall(f"./{SVG}path")]
    strokes = [re.search(r"stroke: (#\w{6})", style) for style in styles]
    dashes = [re.search(r"stroke-dasharray: ([\d.,]+)", style) for style in styles]
    return [
        (stroke[1], dash[1] if dash else "")
        for style, stroke, dash in zip(styles, strokes, dashes, strict=True)
        if stroke and style.startswith("fill: none") and "stroke-width: 1.8" in style
    ]


def test_fourteen_methods_have_fourteen_curves_and_legend_entries() -> None:
    names = (*METHODS, "mixup", "my-own")
    assert len(names) == 14
    svg = draw_figure(figure(*names))
    assert len(set(lines(svg))) == len(lines(svg)) == 14
    assert sorted(text for text in words(svg) if text in names) == sorted(names)
    assert lines(svg)[0] == (LOOKS["soft"].colour.lower(), "")


def test_equal_numbers_give_equal_bytes() -> None:
    assert draw_figure(figure("soft", "sls")) == draw_figure(figure("soft", "sls"))
    assert draw_figure(figure("soft", "sls")) != draw_figure(figure("soft"))


def test_a_method_looks_the_same_in_every_figure() -> None:
    alone, together = (lines(draw_figure(figure(*names))) for names in (("sls",), ("majority", "soft", "sls")))
    assert together[2] == alone[0]


@pytest.mark.parametrize("names", [("soft", "sls"), ("deterministic-control", "shuffled-sls", "label-smoothing")])
def test_the_legend_lies_outside_the_panel(names: tuple[str, ...]) -> None:
    svg = ElementTree.fromstring(draw_figure(figure(*names)))
    assert svg.find(".//*[@id='learning-1-legend_1']") is not None
    assert svg.find(".//*[@id='learning-1-axes_1']//*[@id='learning-1-legend_1']") is None


def test_ids_of_two_figures_differ_and_references_lead_somewhere() -> None:
    first = draw_figure(figure("soft"))
    other = draw_figure(replace(figure("soft"), name="reliability-1"))
    ids = [set(re.findall(r'\bid="([^"]+)"', svg)) for svg in (first, other)]
    assert not ids[0] & ids[1]
    assert set(re.findall(r'(?:url\(#|href="#)([^)"]+)', first)) <= ids[0]


def test_names_are_shown_as_they_are() -> None:
    evil = ('<script>alert("x")</script>', "$\\frac$", 'id="a" url(#b)')
    svg = draw_figure(figure(*evil))
    assert "<script" not in svg
    assert [text for text in words(svg) if text in evil] == list(evil)


def test_it_has_a_title_for_those_who_cannot_see_it() -> None:
    svg = ElementTree.fromstring(draw_figure(replace(figure("soft"), title="Learning < all")))
    assert svg.findtext(f"{SVG}title") == "Learning < all"


def test_a_curve_that_leaves_the_panel_is_marked() -> None:
    svg = draw_figure(figure("soft", "sls", y_top=4.5))
    assert "sls (leaves the panel)" in words(svg)
    assert "soft" in words(svg)
    assert "soft (leaves the panel)" not in words(svg)


def test_several_panels_share_a_legend_and_a_scale() -> None:
    panels = tuple(
        Panel(f"panel {level}", "x", "y", (curve("soft", level), curve("sls", level)), same_scale=True)
        for level in (0.0, 50.0)
    )
    texts = words(draw_figure(Figure("figure-1", "Two panels", panels)))
    assert texts.count("soft") == texts.count("sls") == 1
    assert {"panel 0.0", "panel 50.0"} <= set(texts)
    assert texts.count("50") == 2, "a tick of either panel"


def test_points_have_ticks_and_markers() -> None:
    x = np.array([0.0, 1.0])
    points = tuple(Curve(name, x, x, x - 0.1, x + 0.1) for name in ("soft", "sls"))
    panel = Panel("", "votes", "y", points, ticks=("five", "fifty"), joined=False, zero=True)
    svg = draw_figure(Figure("figure-1", "Points", (panel,)))
    assert {"five", "fifty"} <= set(words(svg))
    assert all(LOOKS[name].colour.lower() in svg for name in ("soft", "sls"))


def test_epochs_are_whole_numbers() -> None:
    x = np.array([1.0, 2.0])
    svg = draw_figure(Figure("f", "", (Panel("", "epoch", "y", (Curve("soft", x, x, x, x),)),)))
    assert "1.5" not in words(svg)[:3]


def test_a_curve_without_points_is_drawn_nonetheless() -> None:
    none = np.zeros(0)
    panel = Panel("", "confidence", "accuracy", (Curve("soft", none, none, none, none),), diagonal=True)
    assert "soft" in words(draw_figure(Figure("f", "", (panel,))))


def test_no_class_looks_like_the_unfilled_rest_of_a_bar() -> None:
    channels = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in CLASS_COLOURS])
    assert len(np.unique(channels, axis=0)) == len(CLASS_COLOURS) == 10
    assert (np.ptp(channels, axis=1) > 50).all()  # no grey


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 10, 23])
def test_every_class_has_a_colour_and_few_have_ones_far_apart(number: int) -> None:
    colours = class_colours(number)
    assert len(colours) == number
    assert len(set(colours)) == min(number, 10)
    if 1 < number <= 5:
        assert (colours[0], colours[-1]) == (CLASS_COLOURS[0], CLASS_COLOURS[4])
