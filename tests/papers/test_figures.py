"""Figures as data, then drawn."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from paper_runs import results_with
from votewise.papers.same_target.figures import FIGURES
from votewise.papers.same_target.tables import runs
from votewise.records import Results
from votewise.report import Curve, Figure, Panel, draw_figure
from votewise.statistics import Sample, pair_sample

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


BY_NAME = {figure.name: figure for figure in FIGURES}


@pytest.fixture(scope="module")
def results(reduced: Results) -> Results:
    return reduced


def drawn(name: str, results: Results) -> list[Panel]:
    return [panel for draw in BY_NAME[name].panels if (panel := draw(results)).curves]


def test_all_figures_of_the_paper_are_there() -> None:
    assert list(BY_NAME) == list(CONTENT)


@pytest.mark.parametrize("name", CONTENT)
def test_what_each_figure_shows(name: str, results: Results) -> None:
    panels, curves = CONTENT[name]
    assert len(drawn(name, results)) == panels
    for panel in drawn(name, results):
        assert [curve.name for curve in panel.curves] == curves
        for curve in panel.curves:
            assert np.isfinite([curve.x, curve.y, curve.low, curve.high]).all()
            assert (curve.low <= curve.y).all()
            assert (curve.y <= curve.high).all()


@pytest.mark.parametrize("name", CONTENT)
def test_without_runs_there_is_nothing_to_draw(name: str) -> None:
    assert drawn(name, Results({})) == []


@pytest.mark.parametrize("name", ["figure-2", "figure-5", "figure-6", "figure-10"])
def test_numbers_that_belong_to_a_figure_are_found(name: str, results: Results) -> None:
    entries = [entry for entry in BY_NAME[name].entries if not entry.number.startswith("train/")]
    assert len(entries) == {"figure-2": 24, "figure-10": 8}.get(name, 12)
    assert {results.sample(entry.number, entry.where).n for entry in entries} == {3}


def test_points_are_means_with_deviations() -> None:
    results = results_with(
        {("sls", 5, 1): {"soft_nll_best": [0.4, 0.5, 0.9]}, ("sls", 50, 1): {"soft_nll_best": [0.3]}}
    )
    (panel,) = drawn("figure-1", results)
    (curve,) = panel.curves
    ours = Sample(dict(enumerate([0.4, 0.5, 0.9])))
    assert (panel.ticks, curve.x.tolist()) == (("5", "10", "25", "50"), [0.0, 3.0])
    assert curve.y == pytest.approx([ours.mean, 0.3])
    assert curve.low == pytest.approx([ours.mean - ours.sd, 0.3]), "one seed has no bar"


def test_curves_are_means_over_seeds(results: Results) -> None:
    panel, later = drawn("figure-8", results)
    lines = np.stack(list(results.lines("curve_soft_nll", runs("soft")).values())).astype(np.float64)
    soft = panel.curves[1]
    assert soft.x.tolist() == list(range(1, lines.shape[1] + 1))
    assert soft.y == pytest.approx(lines.mean(axis=0))
    assert soft.high - soft.y == pytest.approx(lines.std(axis=0, ddof=1))
    assert later.curves[1].x.tolist() == [8, 9, 10, 11, 12]
    assert later.curves[1].y.tolist() == soft.y[7:].tolist()


def test_barriers_and_likeness(results: Results) -> None:
    (panel,) = drawn("figure-11", results)
    assert panel.curves[0].y == pytest.approx(results.between["barrier"].arrays["plain.losses"].mean(axis=0))
    shared = drawn("figure-9", results)[0].curves[0]
    group = results.between["sls.shared"]
    maps = group.arrays["maps_raw"]
    assert shared.y[0] == pytest.approx((maps.sum() - 3) / 6)
    assert shared.high[0] - shared.y[0] == pytest.approx(pair_sample(group.seeds, maps).sd)


def test_reliability_is_drawn_where_all_seeds_have_items(results: Results) -> None:
    thin = [None if line is None else np.where(np.arange(len(line)) < 40, 0, line) for line in results.series["reliability_density"]]  # fmt: skip
    sparse = replace(results, series={**results.series, "reliability_density": tuple(thin)})
    (panel,) = drawn("figure-3", sparse)
    assert panel.curves[0].x.min() >= results.shared["confidence"][40]


def test_drawn_figures_are_whole_and_repeatable(results: Results) -> None:
    figure = Figure("figure-2", "", tuple(drawn("figure-2", results)))
    svg = draw_figure(figure)
    assert svg == draw_figure(figure)
    texts = [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    named = {f"{votes} votes, held-out images" for votes in (5, 50)}
    assert {*named, "SLS", "multipass", "bin of JS distance", "gain over soft labels (soft NLL)"} <= set(texts)
    assert texts.count("SLS") == 1, "one legend for all panels"


def test_a_method_has_one_colour_in_all_figures() -> None:
    line = np.arange(3.0)
    colours = [
        "#d55e00" in draw_figure(Figure("f", "", (Panel("", "x", "y", curves),)))
        for curves in ((Curve("SLS", line, line, line, line),), (Curve("soft labels", line, line, line, line),))
    ]
    assert colours == [True, False]
