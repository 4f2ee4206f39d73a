"""The demo end to end: embedded votes, real training, a page that needs no network."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from votewise.datasets import load_vader
from votewise.experiments.demo import DemoRun, train_demo_run
from votewise.report import Comparison, Content, Curve, Example, MethodRow, Spread, format_difference, render
from votewise.report.figures import CLASS_COLOURS, class_colours, draw_curves
from votewise.votes import unanimous


def test_embedded_votes() -> None:
    votes = load_vader()
    assert (votes.n_items, votes.n_classes) == (7506, 5)
    assert (votes.counts.sum(axis=1) == 10).all()
    assert 0.05 < unanimous(votes).mean() < 0.25
    row = dict(zip(votes.classes, votes.counts[votes.item_ids.tolist().index("inhibitor")].tolist(), strict=True))
    assert row == {"very negative": 0, "negative": 5, "neutral": 2, "positive": 3, "very positive": 0}


class Page(HTMLParser):
    """What a browser would fetch, and the text it would show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.fetched += [
            value
            for name, value in attrs
            if name in ("src", "href", "xlink:href") and value and not value.startswith("#")
        ]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_demo(tmp_path: Path) -> None:
    out = subprocess.run(
        [sys.executable, "-m", "votewise", "demo", "--seeds", "2", "-o", "report.html", "--json"],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert (out.returncode, out.stderr) == (0, "")
    told = json.loads(out.stdout)
    assert [comparison["title"] for comparison in told["comparisons"]] == ["10 votes per item", "3 votes per item"]
    nll = [
        {row["method"]: np.mean(row["per_seed"]) for row in comparison["rows"]} for comparison in told["comparisons"]
    ]
    for regime in nll:
        assert max(regime["soft"], regime["multipass"], regime["sls"]) < regime["majority"] - 0.3
    gain = [regime["soft"] - min(regime["multipass"], regime["sls"]) for regime in nll]
    assert gain[1] > gain[0] + 0.01  # with few votes hard deliveries gain on soft labels
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.fetched == []
    assert "script" not in page.tags
    assert page.tags.count("svg") == 4
    assert page.tags.count("table") == 2
    text = " ".join(page.words)
    assert "url(http" not in text
    assert all(name in text for name in ("multipass", "very negative", "people"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html"]


def test_a_run_is_the_same_in_this_process_and_in_another() -> None:
    run = DemoRun(3, "sls", 1)
    here = train_demo_run(run)
    script = (
        "import torch; torch.set_num_threads(1); from votewise.experiments.demo import *; "
        "o = train_demo_run(DemoRun(3, 'sls', 1)); print(o.probs.sum(axis=0).tolist(), o.curve.tolist())"
    )
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    here = train_demo_run(run)
    torch.set_num_threads(threads)
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == f"{here.probs.sum(axis=0).tolist()} {here.curve.tolist()}"


def test_what_users_typed_is_escaped() -> None:
    evil = "<script>alert('x')</script>"
    curve = Curve(evil, np.array([0.0, 1.0]), np.array([0.5, 0.6]), np.array([0.4, 0.5]), np.array([0.6, 0.7]))
    row = MethodRow(evil, {evil: Spread(1.0, math.nan, 1)}, (1.0,))
    content = Content(
        evil, (evil,), (evil,), (evil, "b"), (Comparison(evil, (row,), (curve,), (curve,)),), evil, evil, (Example(evil, (0.5, 0.5), {evil: (1.0, 0.0)}),), (evil,)
    )  # fmt: skip
    page = render(content)
    assert evil not in page
    assert "script" not in Page(page).tags


def content_of(row: MethodRow, *names: str) -> Content:
    """A report of one row, and of a curve for each name."""
    x = np.array([0.0, 1.0])
    curves = tuple(Curve(name, x, x + 0.5, x + 0.4, x + 0.6) for name in names)
    return Content("A title", ("s",), ("d",), ("a", "b"), (Comparison("c", (row,), curves, curves),), "0", "e", (Example("i", (0.5, 0.5), {"soft": (1.0, 0.0)}),), ("a note",))  # fmt: skip


def test_minus_signs_are_all_of_one_kind() -> None:
    metrics = {"soft NLL": Spread(1.0, 0.1, 3), "entropy correlation": Spread(-0.2, 0.1, 3)}
    page = render(content_of(MethodRow("sls", metrics, (1.0,) * 3, 3, -0.25, 3, 0.25, 0.25), "sls"))
    text = " ".join(Page(page[page.index("<body>") : page.index("<svg")] + page[page.rindex("</svg>") :]).words)
    assert "−0.200" in text
    assert "−0.250" in text
    assert "a note" in text
    assert not re.search(r"-\d", text)


def test_a_difference_that_vanishes_has_no_sign() -> None:
    assert [format_difference(value) for value in (-0.0004, 0.0, 0.25, -0.25, None, math.nan)] == [
        "0.000",
        "0.000",
        "+0.250",
        "-0.250",
        "–",
        "–",
    ]


@pytest.mark.parametrize("names", [("soft", "sls"), ("deterministic-control", "shuffled-sls", "label-smoothing")])
def test_the_legend_lies_outside_the_panel(names: tuple[str, ...]) -> None:
    x = np.array([0.0, 1.0])
    svg = ElementTree.fromstring(draw_curves([Curve(name, x, x, x, x) for name in names], x_label="x", y_label="y"))
    assert svg.find(".//*[@id='legend_1']") is not None
    assert svg.find(".//*[@id='axes_1']//*[@id='legend_1']") is None


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


def test_an_unwritable_report_fails_before_the_work(tmp_path: Path) -> None:
    out = subprocess.run(
        [sys.executable, "-m", "votewise", "demo", "-o", str(tmp_path / "no" / "r.html")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert out.returncode == 2
    assert re.match(
        r"votewise: the output folder must exist, but '.*' does not\. Create it, or write elsewhere\.\n", out.stderr
    )


@pytest.mark.skipif(
    not Path("/usr/bin/chromium").exists(), reason="Chromium is not installed; the page is parsed by the test above"
)
def test_the_page_shows_in_a_browser(tmp_path: Path) -> None:
    content = content_of(MethodRow("soft", {"soft NLL": Spread(1.0, 0.1, 3)}, (1.0, 1.1, 0.9)), "soft")
    (tmp_path / "page.html").write_text(render(content), encoding="utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
    out = subprocess.run(
        ["/usr/bin/chromium", *flags, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / 'page.html'}"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "<h1>A title</h1>" in out.stdout
    assert out.stdout.count("<svg") == 2
