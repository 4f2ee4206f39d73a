"""What needs the votes themselves: each number and curve beside a slow way to it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon
from scipy.special import log_softmax, softmax

from oracles.scores import correctness_brier_parts, equal_mass_ece, smooth_ece
from paper_runs import N_CLASSES, N_ITEMS, paper_material, paper_record, suite_runs
from votewise._random import stream_generator
from votewise.papers.derived import (
    derive_calibration,
    derive_confidences,
    derive_gradient_variance,
    derive_improvement_by_redraw,
    derive_reliability,
)

# True labels unlike the majority's, so that it shows which of the two is taken.
MATERIAL = replace(paper_material(), labels=np.random.default_rng(2).integers(0, N_CLASSES, N_ITEMS))
RECORD = paper_record(suite_runs("main", MATERIAL, seeds=1, precision="bf16")[0], MATERIAL)
PARTS = ("reliability", "resolution", "uncertainty", "spread", "covariance")


@pytest.fixture(scope="module")
def numbers() -> dict[str, float]:
    return derive_reliability(RECORD, MATERIAL)[0]


class TestReliability:
    rows = RECORD.arrays["held_out"]
    people = MATERIAL.votes.counts[rows] / 50
    probs = softmax(RECORD.arrays["best_logits"].astype(np.float64), axis=1)
    confidence, top = probs.max(axis=1), probs.argmax(axis=1)
    correct = (top == MATERIAL.labels[rows]).astype(float)

    def test_ece_by_bins(self, numbers: dict[str, float]) -> None:
        expected = {bins: equal_mass_ece(list(self.confidence), list(self.correct), bins) for bins in (10, 15, 20)}
        assert len({round(value, 6) for value in expected.values()}) == 3
        assert {bins: numbers[f"ece/{bins}"] for bins in expected} == pytest.approx(expected, rel=1e-6)

    def test_vote_ece_is_right_as_often_as_people_say(self) -> None:
        share = [float(people[top]) for people, top in zip(self.people, self.top, strict=True)]
        expected = {bins: equal_mass_ece(list(self.confidence), share, bins) for bins in (10, 15)}
        assert expected[15] > expected[10] + 1e-3 > 0.01
        found = derive_calibration(MATERIAL.votes.take(self.rows), self.probs, "last")
        assert found.keys() == {"vote_ece_last", "vote_ece_floor_last"}
        assert found["vote_ece_last"] == pytest.approx(expected[15], rel=1e-6)
        assert 0 < found["vote_ece_floor_last"] < found["vote_ece_last"], "these models are over-confident"

    def test_brier_of_correctness(self, numbers: dict[str, float]) -> None:
        expected = correctness_brier_parts(list(self.confidence), list(self.correct), 15)
        assert [numbers[f"brier/correctness/{part}"] for part in PARTS] == pytest.approx(expected, rel=1e-5)

    def test_brier_of_shares(self, numbers: dict[str, float]) -> None:
        parts = {part: numbers[f"brier/shares/{part}"] for part in PARTS}
        middle = self.people.mean(axis=0)
        assert parts["uncertainty"] == pytest.approx(((self.people - middle) ** 2).sum(axis=1).mean())
        total = parts["reliability"] - parts["resolution"] + parts["uncertainty"] + parts["spread"]
        brier = ((self.people - self.probs) ** 2).sum(axis=1).mean()
        assert total - 2 * parts["covariance"] == pytest.approx(brier, rel=1e-6)

    def test_there_is_nothing_else(self, numbers: dict[str, float]) -> None:
        brier = {f"brier/{kind}/{part}" for kind in ("correctness", "shares") for part in PARTS}
        assert numbers.keys() == {"ece/10", "ece/15", "ece/20", *brier}

    def test_the_curve_by_kernels_one_by_one(self) -> None:
        grid, width = derive_confidences(), smooth_ece(self.confidence, self.correct)
        assert len(grid) == 64
        kernels = sum(
            stats.norm.pdf(grid[:, None], 2 * shift + side * self.confidence, width)
            for shift in range(-3, 4)
            for side in (1, -1)
        )
        series = derive_reliability(RECORD, MATERIAL)[1]
        np.testing.assert_allclose(series["reliability_density"], kernels.mean(axis=1), rtol=2e-3, atol=1e-4)
        there = kernels.mean(axis=1) > 0.01
        accuracy = (kernels @ self.correct / kernels.sum(axis=1))[there]
        np.testing.assert_allclose(series["reliability_accuracy"][there], accuracy, rtol=2e-3, atol=1e-4)


def scatter(gradients: np.ndarray) -> float:
    """Sample variance of gradients, (draws, K), summed over their entries."""
    return float(np.var(gradients, axis=0, ddof=1).sum())


class TestGradientVariance:
    people = MATERIAL.votes.counts[:-3] / 50  # the rest does not divide into bins that are equally full
    square_length = np.random.default_rng(1).gamma(4, size=len(people))
    entropy = stats.entropy(people, axis=1).round(12)
    variance = square_length * [sum(p * (1 - p) for p in row) for row in people]
    disputed = entropy > 0

    def sampled(self, seed: int, draws: int = 100) -> np.ndarray:
        """Of labels drawn one by one, each with its gradient along the last layer's inputs."""
        counts = stream_generator(seed, "gradient variance").multinomial(draws, self.people)
        gradients = [
            np.repeat(-np.eye(N_CLASSES), row, axis=0) * math.sqrt(square)
            for row, square in zip(counts, self.square_length, strict=True)
        ]
        return np.array([scatter(each) for each in gradients])

    @pytest.mark.parametrize("seed", [0, 5])
    def test_rank_correlations_with_entropy(self, seed: int) -> None:
        numbers, _ = derive_gradient_variance(seed, self.square_length, self.people)
        pairs = {
            "gradient/spearman": (self.entropy, self.variance.round(12)),
            "gradient/spearman_disputed": (self.entropy[self.disputed], self.variance[self.disputed]),
            "gradient/spearman_sampled": (self.entropy, self.sampled(seed).round(12)),
        }
        expected = {name: float(stats.spearmanr(*pair).statistic) for name, pair in pairs.items()}
        others = [stats.spearmanr(self.entropy, self.sampled(seed + more).round(12)).statistic for more in (1, 2)]
        assert len({round(value, 6) for value in [*expected.values(), *others]}) == 5
        assert numbers == pytest.approx(expected, abs=1e-9)

    def test_the_profile_of_disputed_items(self) -> None:
        rows = sorted(np.flatnonzero(self.disputed), key=lambda row: (self.entropy[row], row))
        assert len(rows) % 20 != 0
        _, series = derive_gradient_variance(0, self.square_length, self.people)
        bins = np.array_split(rows, 20)
        np.testing.assert_allclose(series["gradient_entropy"], [self.entropy[each].mean() for each in bins])
        for name, percent in (("low", 10), ("middle", 50), ("high", 90)):
            expected = [np.percentile(self.variance[each], percent) for each in bins]
            np.testing.assert_allclose(series[f"gradient_{name}"], expected)

    def test_too_few_disputed_items_have_no_profile(self) -> None:
        few = np.flatnonzero(self.disputed)[:19]
        _, series = derive_gradient_variance(0, self.square_length[few], self.people[few])
        assert {name: len(line) for name, line in series.items() if np.isnan(line).all()} == {
            f"gradient_{part}": 20 for part in ("entropy", "low", "middle", "high")
        }


def test_a_rank_correlation_given_entropy_is_that_of_what_entropy_leaves() -> None:
    """Against Pearson's correlation of the residuals of ranks."""
    configs = {(run.method, run.votes): run for run in suite_runs("sweep", MATERIAL, seeds=1, precision="bf16")}
    hard, soft = (paper_record(configs[method, 10], MATERIAL) for method in ("sls", "soft"))
    rows = hard.arrays["held_out"]
    people = MATERIAL.votes.counts[rows] / 50
    redrawn = MATERIAL.votes.take(rows).subsample(10, seed=0).counts / 10
    losses = [-(people * log_softmax(run.arrays["best_logits"].astype(np.float64), axis=1)).sum(axis=1) for run in (soft, hard)]  # fmt: skip
    found = derive_improvement_by_redraw(losses[0] - losses[1], MATERIAL.votes.take(rows), 10, seed=0)
    entropy = np.array([stats.entropy(row) for row in people])
    distance = np.array([jensenshannon(p, q, base=2) for p, q in zip(people, redrawn, strict=True)])
    x, y, z = (stats.rankdata(np.round(values, 12)) for values in (distance, losses[0] - losses[1], entropy))
    left = [values - np.polyval(np.polyfit(z, values, 1), z) for values in (x, y)]
    assert found["js/spearman_given_entropy"] == pytest.approx(stats.pearsonr(*left).statistic, abs=1e-9)
    assert found["entropy/spearman"] == pytest.approx(stats.spearmanr(z, y).statistic, abs=1e-9)
    assert abs(found["js/spearman_given_entropy"] - found["js/spearman"]) > 1e-3
    other = MATERIAL.votes.take(rows).subsample(10, seed=1000).counts / 10
    distance = np.array([jensenshannon(p, q, base=2) for p, q in zip(people, other, strict=True)])
    expected = stats.spearmanr(np.round(distance, 12), np.round(losses[0] - losses[1], 12)).statistic
    assert found["js/spearman_of_other_redraw"] == pytest.approx(expected, abs=1e-9)
    x = stats.rankdata(np.round(distance, 12))
    left = [values - np.polyval(np.polyfit(z, values, 1), z) for values in (x, y)]
    expected = stats.pearsonr(*left).statistic
    assert found["js/spearman_of_other_redraw_given_entropy"] == pytest.approx(expected, abs=1e-9)
