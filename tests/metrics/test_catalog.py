"""The catalogue of metrics: what each row says of itself is true, and a new row is all that a new metric needs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from votewise import Votes, metrics, score
from votewise.cli.main import main
from votewise.data.dataset import Prepared
from votewise.experiments.run import Run, train_run
from votewise.metrics import METRICS, Metric, Reference, headlines
from votewise.records import RunRecord, results_of
from votewise.report import Table, Text, compare_results
from votewise.training import TrainConfig

RNG = np.random.default_rng(3)
SHARES = RNG.multinomial(9, [0.5, 0.3, 0.2], size=400) / 9
PROBS = 0.7 * SHARES + 0.3 * RNG.dirichlet(np.ones(3), size=400)
REFERENCE = Reference(SHARES, RNG.integers(0, 3, 400), np.full(400, 9))


@pytest.mark.parametrize("name", METRICS)
def test_rows_are_complete_and_their_scores_are_floats_in_range(name: str) -> None:
    row = METRICS[name]
    assert row.title
    assert row.short
    assert row.meaning
    assert not row.floor or METRICS[row.floor].lower is None
    value = row.of(REFERENCE, PROBS)
    assert type(value) is float
    assert row.range[0] <= value <= row.range[1]
    if row.per_item is not None:
        values = row.per_item(REFERENCE.part(row.against), PROBS)
        assert values.shape == (400,)
        assert math.isclose(values.mean(), value)


@pytest.mark.parametrize("name", METRICS)
def test_metrics_see_what_they_are_against_and_nothing_else(name: str) -> None:
    row = METRICS[name]
    changes: dict[str, Reference] = {
        "label": Reference(SHARES, (REFERENCE.labels + 1) % 3, REFERENCE.vote_counts),
        "votes": Reference(np.roll(SHARES, 1, axis=1), REFERENCE.labels, REFERENCE.vote_counts),
        "vote counts": Reference(SHARES, REFERENCE.labels, np.full(400, 2)),
    }
    before = row.of(REFERENCE, PROBS)
    seen = {part for part, changed in changes.items() if row.of(changed, PROBS) != before}
    unmoved = {"entropy_correlation", "entropy_pearson", "brier_uncertainty"}  # the same for classes in another order
    expected = set() if name in unmoved or row.against == "predictions" else {row.against}
    assert seen == ({"votes"} if row.against == "majority" else expected)


@pytest.mark.parametrize("name", [name for name, row in METRICS.items() if row.lower is not None])
def test_better_is_where_the_row_says(name: str) -> None:
    """Saying what people said against saying it of the wrong classes."""
    row, labels = METRICS[name], SHARES.argmax(axis=1)
    reference = Reference(SHARES, labels)
    blurred = 0.9 * SHARES[RNG.permutation(400)] + 0.1 / 3
    right, wrong = (
        row.of(reference, np.eye(3)[labels] if row.against == "label" else SHARES),
        row.of(reference, blurred),
    )
    assert right < wrong if row.lower else right > wrong


def test_titles_say_against_what() -> None:
    titles = [row.title for row in METRICS.values()]
    assert len(set(titles)) == len(titles)
    for name, row in METRICS.items():
        if "accuracy" in row.title or "ECE" in row.title:
            assert ("true label" in row.title) == (row.against == "label")
        assert "true label" not in row.title_for(true_labels=False), name
    assert METRICS["accuracy"].title_for(true_labels=True) == "accuracy (true label)"
    assert METRICS["accuracy"].title_for(true_labels=False) == METRICS["accuracy_majority"].title


def test_without_labels_the_majority_counts() -> None:
    reference = Reference(SHARES)
    for name in ("accuracy", "ece", "smooth_ece"):
        assert METRICS[name].of(reference, PROBS) == getattr(metrics, name)(SHARES.argmax(axis=1), PROBS)
    assert math.isnan(METRICS["vote_ece_floor"].of(reference, PROBS))


# --- a metric of one function and one row


def worst_gap_per_item(shares: np.ndarray, probs: np.ndarray) -> np.ndarray:
    return np.abs(np.asarray(shares) - np.asarray(probs)).max(axis=1)


def worst_gap(shares: np.ndarray, probs: np.ndarray) -> float:
    return float(worst_gap_per_item(shares, probs).mean())


ROWS: dict[str, Callable[[], Metric]] = {
    "a mean over items": lambda: Metric(
        worst_gap, "votes", "worst gap", "worst gap", "largest difference of shares",
        lower=True, per_item=worst_gap_per_item, range=(0, 1), headline=True,
    ),
    "any number": lambda: Metric(
        lambda labels, probs: float(np.median(probs[np.arange(len(labels)), labels])), "label", "worst gap (true label)",
        "worst gap", "median probability of the label", lower=False,
    ),
}  # fmt: skip


@pytest.fixture(params=ROWS)
def novel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Metric:
    row = ROWS[request.param]()
    monkeypatch.setitem(METRICS, "worst_gap", row)
    return row


def test_a_new_metric_is_scored_and_printed(
    novel: Metric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("item,annotator,label\na,x,cat\na,y,dog\nb,x,cat\n", encoding="utf-8")
    Path("p.csv").write_text("item,cat,dog\na,0.25,0.75\nb,0.5,0.5\n", encoding="utf-8")
    expected = novel.of(Reference(np.array([[0.5, 0.5], [1, 0]])), np.array([[0.25, 0.75], [0.5, 0.5]]))
    assert main(["score", "votes.csv", "p.csv", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    assert list(found)[-1] == "worst_gap"
    assert found["worst_gap"]["value"] == expected
    assert (found["worst_gap"]["low"] is None) == (novel.per_item is None), "means have an interval"
    assert main(["score", "votes.csv", "p.csv"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"{novel.title_for(true_labels=False)} ")
    assert f"{expected:.4f}" in last
    assert novel.meaning in last


def trained(method: str) -> RunRecord:
    rng = np.random.default_rng(0)
    votes = Votes.from_counts(rng.multinomial(5, [0.5, 0.3, 0.2], size=40))
    material = Prepared("toy", "features", "e" * 64, rng.normal(size=(40, 3)).astype(np.float32), votes)
    return train_run(Run("toy", "e" * 64, method, 0, TrainConfig(epochs=2, batch_size=16), "mlp"), material)


def test_a_new_metric_is_recorded(novel: Metric) -> None:
    record = trained("soft")
    for at in ("best", "last"):
        assert [name for name in METRICS if f"{name}_{at}" not in record.numbers] == []
    assert {name for name in record.curves if name in METRICS} == {
        name for name, row in METRICS.items() if row.headline
    }
    if novel.headline:
        assert record.curves["worst_gap"][-1] == record.numbers["worst_gap_last"]


def test_a_new_headline_metric_is_compared(novel: Metric) -> None:
    records = [trained("soft"), trained("sls")]
    document = compare_results(results_of(records), {})
    rows = document.data["comparisons"][0]["rows"]
    (table,) = [block for block in document.blocks if isinstance(block, Table)]
    (legend,) = [block for block in document.blocks if isinstance(block, Text) and block.role == "legend"]
    for row, cells, record in zip(rows, table.rows, records, strict=True):
        assert list(row["metrics"]) == [one.title_for(true_labels=None) for one in headlines().values()]
        if novel.headline:
            value = record.numbers["worst_gap_last"]
            assert row["metrics"]["worst gap"]["mean"] == value
            assert cells[table.header.index("worst\ngap")] == f"{value:.3f}"
    assert ("worst\ngap" in table.header) == novel.headline
    assert ("worst gap" in legend.sentences[0].partition("Lower is better for")[2]) == novel.headline


def test_a_new_metric_reaches_the_help() -> None:
    script = (
        "import sys; from votewise.metrics import METRICS; METRICS['novel'] = METRICS['kl']; "
        "from votewise.cli.main import main; sys.exit(main(['score', '--help']))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert f"{', '.join(METRICS)}, novel." in " ".join(out.stdout.split())


def test_a_record_holds_what_score_says() -> None:
    """Numbers of a run are those of `score` on its held-out items, names and all."""
    rng = np.random.default_rng(0)
    votes = Votes.from_counts(rng.multinomial(5, [0.5, 0.3, 0.2], size=60))
    labels = rng.integers(0, 3, 60)
    material = Prepared("toy", "features", "e" * 64, rng.normal(size=(60, 3)).astype(np.float32), votes, labels)
    record = train_run(Run("toy", "e" * 64, "soft", 0, TrainConfig(epochs=2, batch_size=16), "mlp"), material)
    rows, logits = record.arrays["held_out"], record.arrays["last_logits"].astype(float)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for name, interval in score(votes.take(rows), probs, labels[rows]).metrics.items():
        assert math.isclose(record.numbers[f"{name}_last"], interval.value, abs_tol=1e-9), name
