"""Tests and intervals against scipy, brute force and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from oracles import people
from votewise import InputError
from votewise.statistics import (
    Resamples,
    bootstrap_mean,
    centred_interval,
    compare_paired,
    holm,
    pair_sample,
    wilcoxon,
    wilson_interval,
)

NUMBERS = st.lists(st.integers(-6, 6).map(float), min_size=1, max_size=10)


@given(NUMBERS)
def test_wilcoxon_counts_sign_patterns(differences: list[float]) -> None:
    less, greater = people.wilcoxon_tails(differences)
    found = {
        alternative: wilcoxon(differences, alternative=alternative) for alternative in ("less", "greater", "two-sided")
    }
    if not any(differences):
        assert {test.p_value for test in found.values()} == {1.0}
        return
    assert math.isclose(found["less"].p_value, less)
    assert math.isclose(found["greater"].p_value, greater)
    assert math.isclose(found["two-sided"].p_value, min(1, 2 * min(less, greater)))


@given(st.integers(2, 40), st.integers(0, 1000), st.sampled_from(["less", "greater", "two-sided"]))
def test_wilcoxon_is_that_of_scipy(n: int, seed: int, alternative: str) -> None:
    differences = np.random.default_rng(seed).normal(0.2, 1, size=n)
    expected = stats.wilcoxon(differences, alternative=alternative, method="exact")
    found = wilcoxon(differences, alternative=alternative)
    assert math.isclose(found.p_value, expected.pvalue, rel_tol=1e-9)
    assert found.n == n


def test_wilcoxon_of_many_is_the_normal_one() -> None:
    differences = np.random.default_rng(0).normal(0.05, 1, size=2000)
    expected = stats.wilcoxon(differences, method="approx", correction=True)
    assert math.isclose(wilcoxon(differences).p_value, expected.pvalue, rel_tol=1e-6)
    at_the_border = np.random.default_rng(1).normal(0.1, 1, size=200)
    exact = wilcoxon(at_the_border).p_value
    assert math.isclose(exact, stats.wilcoxon(at_the_border, method="approx", correction=True).pvalue, rel_tol=0.05)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_holm_is_that_of_statsmodels(n: int) -> None:
    rng = np.random.default_rng(n)
    for p_values in (rng.random(n), rng.random(n) ** 4, rng.choice([0.0, 0.01, 0.02, 1.0], size=n)):
        np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1], atol=1e-12)


def test_compare_paired() -> None:
    found = compare_paired([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0])
    assert (found.n, found.mean, found.wins, found.test.p_value) == (5, -3.0, 5, 0.0625)
    assert math.isclose(found.sd, math.sqrt(2.5))
    assert math.isnan(compare_paired([1.0], [2.0]).sd)
    with pytest.raises(InputError, match="paired values must have the same length, but got 1 and 2"):
        compare_paired([1.0], [1.0, 2.0])


def test_greater_may_be_better() -> None:
    rates = [0.9, 0.8, 0.7, 0.6], [0.8, 0.7, 0.7, 0.5]
    assert compare_paired(*rates).wins == 0
    assert compare_paired(*rates, greater_is_better=True).wins == 3


def test_ties_survive_the_noise_of_subtraction() -> None:
    a, b = np.array([0.3, 0.2, 0.4, 0.9]), np.array([0.2, 0.3, 0.3, 0.8])
    assert len(np.unique(np.abs(a - b))) > 1
    assert wilcoxon(a - b) == compare_paired(a, b).test == wilcoxon([1, -1, 1, 1])


@given(st.integers(1, 2000), st.data())
def test_wilson_intervals_hold_their_share(n: int, data: st.DataObject) -> None:
    share = data.draw(st.integers(0, n)) / n
    interval = wilson_interval(share, n)
    assert 0 <= interval.low <= share <= interval.high <= 1


@pytest.mark.parametrize("values", [[], [math.nan], [[1.0]], [math.inf], ["a"], [[1.0], [1.0, 2.0]]])
def test_wrong_values(values: list[float]) -> None:
    with pytest.raises(InputError, match="must be a list of finite numbers"):
        wilcoxon(values)


@pytest.mark.parametrize("p_values", [[1.5], [-0.1], [math.nan], [[0.5]]])
def test_wrong_p_values(p_values: list[float]) -> None:
    with pytest.raises(InputError, match="p-values must be a list of"):
        holm(p_values)


def test_the_bootstrap_of_a_mean_has_its_standard_error() -> None:
    for n in (50, 3000, 50_000):  # the last is dealt into groups
        values = np.random.default_rng(n).exponential(size=n)
        interval = bootstrap_mean(values, resamples=4000)
        assert math.isclose(interval.value, values.mean())
        width = (interval.high - interval.low) / (2 * 1.96)
        assert math.isclose(width, values.std() / math.sqrt(n), rel_tol=0.06)
        reference = (
            stats.bootstrap((values,), np.mean, n_resamples=2000, method="percentile", rng=0) if n <= 3000 else None
        )
        if reference is not None:
            np.testing.assert_allclose([interval.low, interval.high], reference.confidence_interval, atol=0.25 * width)


def test_intervals_cover() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for trial in range(400):
        interval = bootstrap_mean(rng.exponential(size=120), seed=trial)
        hits += interval.low <= 1 <= interval.high
    assert 0.90 < hits / 400 < 0.97  # 95 % promised; the percentile bootstrap of a skewed mean gives about 94


def test_resampled_cells_sum_to_the_whole() -> None:
    rng = np.random.default_rng(0)
    values, cells = rng.normal(size=5000), rng.integers(0, 7, size=5000)
    draws = Resamples(5000, seed=1)
    np.testing.assert_allclose(draws.means(values, cells, 7).sum(axis=1), draws.means(values)[:, 0])
    np.testing.assert_allclose(draws.means(np.ones(5000)), 1)
    np.testing.assert_array_equal(draws.means(values), Resamples(5000, seed=1).means(values))


def test_centred_intervals_hold_their_value() -> None:
    interval = centred_interval(0.01, np.random.default_rng(0).normal(0.02, 0.01, size=1000), least=0)
    assert interval.low == 0
    assert 0.02 < interval.high < 0.04
    assert math.isnan(centred_interval(math.inf, np.zeros(3)).low)
    assert math.isnan(bootstrap_mean([1.0]).low)


def test_a_mean_over_pairs_has_the_error_of_the_jackknife() -> None:
    """Of a matrix a_i + a_j, whose mean is 2 mean(a): the error is that of twice a mean."""
    effects = np.array([0.1, 0.25, 0.3, 0.42, 0.6])
    found = pair_sample(range(5), effects[:, None] + effects[None, :])
    assert (found.seeds, found.mean) == (tuple(range(5)), pytest.approx(2 * effects.mean()))
    assert found.sd == pytest.approx(2 * effects.std(ddof=1))


def test_pairs_that_were_not_compared_do_not_count() -> None:
    matrix = np.random.default_rng(1).random((4, 4))
    matrix = (matrix + matrix.T) / 2
    matrix[0, 3] = matrix[3, 0] = np.nan
    found = pair_sample((2, 4, 5, 9), matrix)

    def mean(seeds: list[int]) -> float:
        pairs = [matrix[one, other] for one in seeds for other in seeds if one < other]
        return float(np.nanmean(pairs))

    without = [mean([seed for seed in range(4) if seed != left_out]) for left_out in range(4)]
    assert (found.seeds, found.mean) == ((2, 4, 5, 9), pytest.approx(mean([0, 1, 2, 3])))
    assert found.error == pytest.approx(math.sqrt(3 / 4 * np.sum((np.array(without) - np.mean(without)) ** 2)))


def test_one_pair_has_no_spread_and_no_pair_has_no_mean() -> None:
    one = pair_sample((3, 7), np.array([[1.0, 0.7], [0.7, 1.0]]))
    assert (one.mean, one.n, math.isnan(one.sd)) == (0.7, 1, True)
    assert pair_sample((3, 7), np.array([[1.0, np.nan], [np.nan, 1.0]])).n == 0
