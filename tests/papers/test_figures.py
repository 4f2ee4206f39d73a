"""Figures as data, then drawn."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from paper_runs import evidence_of
from votewise.papers.same_target.cells import spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.figures import FIGURES, figure_1, figure_3, figure_8, figure_9, figure_11
from votewise.report import Curve, Panel, draw_panels

# Panels, and curves in each.
CONTENT = {
    "figure-1": (3, ["soft labels", "SLS", "multipass", "deterministic control"]),
    "figure-2": (4, ["SLS", "multipass", "deterministic control"]),
    "figure-3": (1, ["majority vote", "soft labels", "SLS"]),
    "figure-4": (1, ["SLS"]),
    "figure-5": (4, ["SLS", "multipass", "deterministic control"]),
    "figure-6": (4, ["SLS", "multipass", "deterministic control"]),
    "figure-7": (1, ["SLS"]),
    "figure-8": (2, ["SLS", "soft labels"]),
    "figure-9": (2, ["SLS", "soft labels"]),
    "figure-10": (2, ["SLS", "soft labels"]),
    "figure-11": (1, ["as it is", "norms recalibrated"]),
    "figure-12": (1, ["SLS", "soft labels"]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_what_each_figure_shows(name: str, evidence: Evidence) -> None:
    figure = FIGURES[name](evidence)
    panels, curves = CONTENT[name]
    assert (figure.name, len(figure.panels)) == (name, panels)
    for panel in figure.panels:
        assert [curve.name for curve in panel.curves] == curves
        for curve in panel.curves:
            assert np.isfinite([curve.x, curve.y, curve.low, curve.high]).all()
            assert (curve.low <= curve.y).all()
            assert (curve.y <= curve.high).all()


@pytest.mark.parametrize("name", FIGURES)
def test_without_runs_there_is_nothing_to_draw(name: str) -> None:
    figure = FIGURES[name](evidence_of({}))
    assert figure.panels == ()
    assert {cell.verdict for cell in figure.cells} <= {"not run"}


def test_points_are_means_with_deviations() -> None:
    evidence = evidence_of(
        {("sls", 5, 1): {"soft_nll_best": [0.4, 0.5, 0.9]}, ("sls", 50, 1): {"soft_nll_best": [0.3]}}
    )
    (panel,) = figure_1(evidence).panels
    (curve,) = panel.curves
    ours = spread([0.4, 0.5, 0.9])
    assert ours is not None
    assert (panel.ticks, curve.x.tolist()) == (("5", "10", "25", "50"), [0.0, 3.0])
    assert curve.y == pytest.approx([ours.mean, 0.3])
    assert curve.low == pytest.approx([ours.mean - ours.sd, 0.3]), "one seed has no bar"


def test_curves_are_means_over_seeds(evidence: Evidence) -> None:
    panel, later = figure_8(evidence).panels
    lines = np.stack(list(evidence.lines(Group("soft"), "curve_soft_nll").values())).astype(np.float64)
    soft = panel.curves[1]
    assert soft.x.tolist() == list(range(1, lines.shape[1] + 1))
    assert soft.y == pytest.approx(lines.mean(axis=0))
    assert soft.high - soft.y == pytest.approx(lines.std(axis=0, ddof=1))
    assert later.curves[1].x.tolist() == [8, 9, 10, 11, 12]
    assert later.curves[1].y.tolist() == soft.y[7:].tolist()


def test_barriers_and_likeness(evidence: Evidence) -> None:
    (panel,) = figure_11(evidence).panels
    assert panel.curves[0].y == pytest.approx(evidence.across["barrier.plain.losses"].mean(axis=0))
    shared = figure_9(evidence).panels[0].curves[0]
    matrix = evidence.across["sls.shared.maps_raw"]
    assert shared.y[0] == pytest.approx((matrix.sum() - 3) / 6)
    assert {cell.row for cell in figure_11(evidence).cells} == {"barrier"}


def test_reliability_is_drawn_where_all_seeds_have_items(evidence: Evidence) -> None:
    density = dict(evidence.series)
    thin = density["reliability_density"].copy()
    thin[:, :40] = 0
    curve = figure_3(replace(evidence, series={**density, "reliability_density": thin})).panels[0].curves[0]
    assert curve.x.min() >= evidence.across["confidence"][40]


def test_drawn_figures_are_whole_and_repeatable(evidence: Evidence) -> None:
    figure = FIGURES["figure-2"](evidence)
    svg = draw_panels(figure.panels, known=("soft labels", "SLS"))
    assert svg == draw_panels(figure.panels, known=("soft labels", "SLS"))
    texts = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert {"5 votes", "50 votes", "SLS", "multipass", "bin of JS distance"} <= set(texts)
    assert texts.count("SLS") == 1, "one legend for all panels"


def test_a_method_has_one_colour_in_all_figures() -> None:
    line = np.arange(3.0)
    known = ("soft labels", "SLS")
    colours = [
        "#d55e00" in draw_panels([Panel("", "x", "y", curves)], known=known)
        for curves in ((Curve("SLS", line, line, line, line),), (Curve("soft labels", line, line, line, line),))
    ]
    assert colours == [True, False]
