"""The demo end to end: embedded votes, real training, a page that needs no network."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import torch

from limits import HANGS
from votewise import SLS, metrics
from votewise._text import format_difference
from votewise.data import load_vader
from votewise.experiments.demo import demo_data, demo_grid
from votewise.experiments.run import train_run
from votewise.models import NgramNet
from votewise.training import TrainConfig, build_model, predict_probs, train_classifier
from votewise.votes import unanimous


def test_embedded_votes() -> None:
    data = load_vader()
    votes = data.votes
    assert data.source.texts == tuple(votes.item_ids.tolist())
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
    assert [comparison["title"] for comparison in told["comparisons"]] == [
        "vader, all votes",
        "vader, 3 votes per item",
    ]
    nll = [
        {row["method"]: np.mean(row["per_seed"]) for row in comparison["rows"]} for comparison in told["comparisons"]
    ]
    for regime, comparison in zip(nll, told["comparisons"], strict=True):
        assert max(regime["soft"], regime["multipass"], regime["sls"]) < regime["majority"] - 0.02
        assert max(regime.values()) < comparison["no_model"]["mean"] - 0.15
        assert comparison["at"] == "best"
        assert {one["kind"] for one in comparison["advice"]} <= {"still learning", "overfits"}
        overfit = {method for one in comparison["advice"] if one["kind"] == "overfits" for method in one["methods"]}
        assert overfit <= ({"majority"} if comparison is told["comparisons"][0] else {"majority", "soft"})
    gain = [regime["soft"] - min(regime["multipass"], regime["sls"]) for regime in nll]
    assert gain[1] > gain[0] + 0.01  # with few votes hard deliveries lose less
    # Calibration against votes and against the majority say the opposite of majority labels.
    soft, majority = (
        {row["method"]: row["metrics"] for row in told["comparisons"][0]["rows"]}[name] for name in ("soft", "majority")
    )
    assert majority["ECE (votes)"]["mean"] > soft["ECE (votes)"]["mean"] + 0.05
    assert majority["ECE"]["mean"] < soft["ECE"]["mean"] - 0.03
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert page.fetched == []
    assert "script" not in page.tags
    assert page.tags.count("svg") == 4
    assert page.tags.count("table") == 2
    text = " ".join(page.words)
    assert "url(http" not in text
    assert all(name in text for name in ("multipass", "very negative", "people"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html"]


def test_the_demo_is_a_grid_with_redrawn_votes() -> None:
    """Its last epoch, as a user would train the same model by hand: without the items to be scored or to choose."""
    _, data = demo_data()
    runs = demo_grid(2).runs(data, TrainConfig(epochs=2))
    assert [(run.seed, run.votes, run.label) for run in runs[:5]] == [
        (0, None, "soft"), (0, None, "multipass"), (0, None, "sls"), (0, None, "majority"), (0, 3, "soft")
    ]  # fmt: skip
    assert len(runs) == 16
    record = train_run(runs[6], data)
    nothing = np.zeros(data.votes.n_items)
    held_out = np.flatnonzero(data.votes.folds(5, seed=0, strata=nothing) == 0)
    rest = np.setdiff1d(np.arange(data.votes.n_items), held_out)
    kept = rest[data.votes.take(rest).split(0.1 / 0.8, seed=0, strata=nothing[rest])[0]]
    few = data.votes.take(kept).subsample(3, seed=0)
    model = build_model(lambda: NgramNet(5), seed=0)
    inputs = torch.tensor(data.inputs)
    train_classifier(model, inputs[kept], SLS(few, seed=0), TrainConfig(epochs=2), seed=0)
    nll = metrics.soft_nll(data.votes.probs[held_out], predict_probs(model, inputs[held_out]))
    assert record.numbers["soft_nll_last"] == pytest.approx(nll, rel=1e-6)


def test_a_difference_that_vanishes_has_no_sign() -> None:
    assert [format_difference(value) for value in (-0.0004, 0.0, 0.25, -0.25, None, math.nan)] == [
        "0.000",
        "0.000",
        "+0.250",
        "-0.250",
        "–",
        "–",
    ]


def test_an_unwritable_report_fails_before_the_work(tmp_path: Path) -> None:
    out = subprocess.run(
        [sys.executable, "-m", "votewise", "demo", "-o", str(tmp_path / "no" / "r.html")],
        capture_output=True,
        text=True,
        timeout=HANGS,
        check=False,
    )
    assert out.returncode == 2
    assert re.match(
        r"votewise: the output folder must exist, but '.*' does not\. Create it, or write elsewhere\.\n", out.stderr
    )
