"""Scores with intervals, and predictions lined up with votes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from limits import at_most
from votewise import InputError, Votes, majority_labels, metrics, read_predictions, score, vote_share
from votewise.metrics import METRICS, Reference
from votewise.predictions import read_labels
from votewise.statistics import Interval, wilson_interval


def simulate(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(4, 0.5), size=n)
    people = np.array([rng.multinomial(12, p) for p in truth]) / 12
    return people, 0.8 * truth + 0.2 * rng.dirichlet(np.ones(4), size=n)


def test_values_are_those_of_the_catalogue() -> None:
    p, q = simulate(500)
    votes = Votes.from_counts((12 * p).round().astype(np.int64))
    y = np.random.default_rng(1).integers(0, 4, 500)
    for labels in (None, y):
        found = score(votes, q, labels)
        assert found.items == 500
        assert list(found.metrics) == list(METRICS)
        reference = Reference(votes.probs, labels, np.full(500, 12))
        for name, interval in found.metrics.items():
            assert math.isclose(interval.value, METRICS[name].of(reference, q), abs_tol=1e-12), name
            assert interval.low <= interval.value <= interval.high, name


def test_ties_are_broken_as_by_the_majority_rule() -> None:
    tied = Votes.from_probabilities([[0.15 + 0.3, 0.45, 0.1]])
    assert tied.probs[0, 1] > tied.probs[0, 0]
    assert majority_labels(tied).tolist() == [0]
    assert score(tied.probs, [[0.8, 0.1, 0.1]]).metrics["accuracy"].value == 1.0


def test_votes_and_targets_are_scored_as_their_shares() -> None:
    votes = Votes.from_counts([[3, 1], [0, 4], [2, 2]])
    q = [[0.6, 0.4], [0.1, 0.9], [0.3, 0.7]]
    assert score(vote_share(votes), q) == score(votes.probs, q)
    counted, shares = score(votes, q).metrics, score(votes.probs, q).metrics
    assert {name for name in METRICS if counted[name] != shares[name]} == {"vote_ece", "vote_ece_floor"}
    assert counted["vote_ece"].value == shares["vote_ece"].value
    assert math.isnan(shares["vote_ece_floor"].value), (
        "without the number of votes, nothing says what chance would show"
    )


def test_given_labels_replace_the_majority() -> None:
    p, q = simulate(200)
    y = np.zeros(200, dtype=np.int64)
    found, plain = score(p, q, y).metrics, score(p, q).metrics
    assert found["accuracy"].value == metrics.accuracy(y, q) != plain["accuracy"].value
    assert found["ece"].value == metrics.ece(y, q)
    assert found["soft_nll"] == plain["soft_nll"]


def test_intervals_cover_the_truth() -> None:
    truth = score(*simulate(60_000, seed=99)).metrics
    hits = dict.fromkeys(("soft_nll", "jsd", "entropy_correlation", "brier_uncertainty", "accuracy"), 0)
    for seed in range(120):
        found = score(*simulate(400, seed=seed), seed=seed).metrics
        for name in hits:
            hits[name] += found[name].low <= truth[name].value <= found[name].high
    assert min(hits.values()) >= 105, hits  # 95 % of 120 is 114; fewer than 105 has a chance below 1 in 1,000


def test_entropy_correlation_interval_is_that_of_a_full_bootstrap() -> None:
    p, q = simulate(600)
    people, model = metrics.entropy_per_item(p).round(12), metrics.entropy_per_item(q)
    rng = np.random.default_rng(0)
    again = [metrics.spearman(people[rows], model[rows]) for rows in rng.integers(0, 600, size=(2000, 600))]
    low, high = np.quantile(again, [0.025, 0.975])
    found = score(p, q).metrics["entropy_correlation"]
    assert math.isclose(found.high - found.low, high - low, rel_tol=0.08)


def test_a_calibrated_model_may_have_no_error() -> None:
    rng = np.random.default_rng(1)
    q = rng.dirichlet(np.ones(3), size=800)
    y = (q.cumsum(axis=1) > rng.random((800, 1))).argmax(axis=1)
    found = score(q, q, y).metrics
    assert found["ece"].low == found["smooth_ece"].low == 0
    wrong = score(q, q, (y + 1) % 3).metrics
    assert wrong["ece"].low > 0.2
    assert wrong["smooth_ece"].low > 0.2


def test_calibration_against_few_votes_is_judged_by_their_number() -> None:
    """A right model's error against drawn votes is below its floor's upper end, and may be zero; a wrong one's is not."""
    rng = np.random.default_rng(4)
    q = rng.dirichlet(np.ones(3), size=600)
    votes = Votes.from_counts(np.array([rng.multinomial(4, row) for row in q]))
    right, wrong = score(votes, q).metrics, score(votes, np.roll(q, 1, axis=1)).metrics
    assert right["vote_ece"].value <= right["vote_ece_floor"].high
    assert right["vote_ece"].low == 0
    assert wrong["vote_ece"].low > wrong["vote_ece_floor"].high
    floor = metrics.vote_ece_floor(q, 4)
    assert right["vote_ece_floor"] == Interval(floor.mean, floor.low, floor.high)


def test_intervals_of_vote_ece_cover_the_truth() -> None:
    """Overconfident predictions of votes, three on each item."""

    def found(n: int, seed: int) -> Interval:
        rng = np.random.default_rng(seed)
        truth = rng.dirichlet(np.ones(3), size=n)
        votes = Votes.from_counts(np.array([rng.multinomial(3, row) for row in truth]))
        return score(votes, (truth**3) / (truth**3).sum(axis=1, keepdims=True), bins=5, seed=seed).metrics["vote_ece"]

    truth = found(100_000, seed=99).value
    hits = [interval.low <= truth <= interval.high for interval in (found(500, seed) for seed in range(100))]
    assert sum(hits) >= 87, sum(hits)  # 95 expected; fewer than 87 has a chance below 1 in 1,000


def test_infinite_and_undefined_scores_have_no_interval() -> None:
    found = score([[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]], [[1.0, 0.0], [1.0, 0.0], [0.2, 0.8]]).metrics
    assert found["soft_nll"].value == math.inf
    assert math.isnan(found["soft_nll"].low)
    assert math.isfinite(found["jsd"].high)
    assert math.isnan(score([[1.0, 0.0]] * 3, [[0.6, 0.4]] * 3).metrics["entropy_correlation"].value)
    single = score([[1.0, 0.0]], [[0.6, 0.4]]).metrics
    assert math.isnan(single["soft_nll"].low)
    assert single["accuracy"].low > 0


def test_wilson_is_right_at_the_ends() -> None:
    assert wilson_interval(1.0, 3) == Interval(1.0, pytest.approx(0.4385, abs=1e-4), 1.0)
    rng = np.random.default_rng(0)
    hits = [(lambda i: i.low <= 0.98 <= i.high)(wilson_interval(rng.binomial(50, 0.98) / 50, 50)) for _ in range(2000)]
    assert np.mean(hits) > 0.9


PEOPLE = Votes.from_counts([[3, 1], [0, 4], [2, 2]], item_ids=["c", "a", "b"], classes=["cat", "dog"])
TABLE = pd.DataFrame({"dog": [0.9, 0.2, 0.5], "item": ["a", "c", "b"], "cat": [0.1, 0.8, 0.5]})


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_predictions_are_lined_up_by_id_and_name(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"p.{suffix}"
    {"csv": lambda: TABLE.to_csv(path, index=False), "parquet": lambda: TABLE.to_parquet(path), "jsonl": lambda: TABLE.to_json(path, orient="records", lines=True)}[suffix]()  # fmt: skip
    joined, probs = read_predictions(path, PEOPLE)
    assert joined is not None
    assert joined.item_ids.tolist() == ["c", "a", "b"]
    np.testing.assert_allclose(probs, [[0.8, 0.2], [0.1, 0.9], [0.5, 0.5]])


def test_items_without_predictions_are_left_out_and_new_classes_kept() -> None:
    joined, probs = read_predictions(TABLE.head(2).assign(emu=0.0), PEOPLE)
    assert joined.item_ids.tolist() == ["c", "a"]
    assert joined.classes == ("cat", "dog", "emu")
    np.testing.assert_allclose(probs, [[0.8, 0.2, 0], [0.1, 0.9, 0]])


def test_predictions_of_many_classes_are_read_in_time_that_grows_with_their_number() -> None:
    classes = [f"c{number}" for number in range(20_000)]
    votes = Votes.from_counts(np.eye(3, 20_000, dtype=int), item_ids=["a", "b", "c"], classes=classes)
    table = pl.DataFrame({"item": ["a", "b", "c"], **dict.fromkeys(reversed(classes), 1 / 20_000)})
    with at_most(megabytes=500, seconds=4):
        joined, probs = read_predictions(table, votes)
    assert joined.classes == votes.classes
    assert (probs == 1 / 20_000).all()


def test_predictions_without_ids_go_by_position() -> None:
    rows = np.array([[0.8, 0.2], [0.1, 0.9], [0.5, 0.5]])
    np.testing.assert_allclose(read_predictions(rows, PEOPLE)[1], rows)
    np.testing.assert_allclose(read_predictions(pl.DataFrame({"dog": rows[:, 1], "cat": rows[:, 0]}), PEOPLE)[1], rows)


def test_a_chosen_item_column() -> None:
    numbered = Votes.from_counts([[3, 1], [0, 4]], item_ids=["7", "8"], classes=["cat", "dog"])
    table = pl.DataFrame({"sample": [8, 7], "cat": [0.1, 0.8], "dog": [0.9, 0.2]})
    np.testing.assert_allclose(read_predictions(table, numbered, item="sample")[1], [[0.8, 0.2], [0.1, 0.9]])
    with pytest.raises(InputError, match="predictions need an item column and one for each class"):
        read_predictions(table, numbered)


def test_columns_that_are_no_class_are_not_normalised_away() -> None:
    with pytest.raises(InputError, match="predictions need an item column and one for each class"):
        read_predictions(TABLE.assign(loss=2.0), PEOPLE, normalize=True)


def test_rounded_predictions_are_normalised_only_when_asked() -> None:
    rounded = TABLE.assign(dog=[0.9, 0.21, 0.5])
    with pytest.raises(InputError) as error:
        read_predictions(rounded, PEOPLE)
    assert str(error.value) == (
        "each row of predictions must be non-negative and sum to 1, but 1 of 3 do not (items 'c'; the first sums to 1.01). "
        "Divide rounded rows by their sum (--normalize for predictions); apply softmax first if these are logits."
    )
    assert np.isclose(read_predictions(rounded, PEOPLE, normalize=True)[1].sum(axis=1), 1).all()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            TABLE.drop(columns="cat"),
            "predictions need an item column and one for each class (cat, dog), but the columns are 'dog'",
        ),
        (TABLE.assign(item=["a", "c", "z"]), "every predicted item must have votes, but 1 have none ('z')"),
        (
            TABLE.assign(item=["a", "c", "c"]),
            "item ids in the table of predictions must be different and not empty, but 1 appear more than once ('c')",
        ),
        (
            TABLE.assign(cat=["x", "y", "z"]),
            "predictions must be numbers, but column 'cat' has 3 other cells (rows 1, 2, 3)",
        ),
        (
            TABLE.assign(cat=[np.inf, 1, 1]),
            "the table of predictions must be finite, but 1 rows hold NaN or infinity (items 'a')",
        ),
        (
            np.ones((2, 2)) / 2,
            "predictions without item ids must be 3 items x 2 classes, like the votes, but their shape is (2, 2)",
        ),
    ],
)
def test_wrong_predictions(table: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_predictions(table, PEOPLE)
    assert str(error.value).startswith(message)


def test_labels(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("item,label\nb,dog\na,dog\nc,cat\n", encoding="utf-8")
    np.testing.assert_array_equal(read_labels(path, PEOPLE, PEOPLE), [0, 1, 1])
    np.testing.assert_array_equal(read_labels(path, PEOPLE, PEOPLE.take([2, 0])), [1, 0])
    np.testing.assert_array_equal(read_labels(np.array([0, 1, 1]), PEOPLE, PEOPLE.take([1])), [1])
    path.write_text("thing,gold\nb,dog\na,dog\nc,cat\n", encoding="utf-8")
    np.testing.assert_array_equal(read_labels(path, PEOPLE, PEOPLE, item="thing"), [0, 1, 1])
    for wrong in (np.array([0, 1]), np.array([0, 1, 2]), np.array([0.0, 1.0, 1.0])):
        with pytest.raises(InputError):
            read_labels(wrong, PEOPLE, PEOPLE)
    path.write_text("item,label\nb,dog\na,dog\n", encoding="utf-8")
    with pytest.raises(InputError, match="every scored item needs a label, but 1 have none"):
        read_labels(path, PEOPLE, PEOPLE)
    path.write_text("item,label\nb,dog\nb,cat\na,dog\nc,cat\n", encoding="utf-8")
    with pytest.raises(InputError, match="each item must have one label, but 'b' have more"):
        read_labels(path, PEOPLE, PEOPLE)
