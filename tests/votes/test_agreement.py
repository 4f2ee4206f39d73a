"""Agreement against other people's packages and slow oracles."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss_of_statsmodels

from oracles import people
from strategies import votes
from votewise import InputError, Votes, metrics
from votewise.votes import entropy_per_item, entropy_reliability, fleiss_kappa, krippendorff_alpha, tied, unanimous


@given(st.integers(2, 9), st.integers(2, 30), st.integers(2, 5), st.integers(0, 10_000))
def test_fleiss_kappa_is_that_of_statsmodels(m: int, n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.array([rng.multinomial(m, p) for p in rng.dirichlet(np.ones(k), size=n)])
    if (counts.sum(axis=0) > 0).sum() > 1:
        assert math.isclose(fleiss_kappa(Votes.from_counts(counts)), fleiss_of_statsmodels(counts), abs_tol=1e-10)


@given(votes(min_items=2))
def test_alpha_is_that_of_krippendorff(table: Votes) -> None:
    counts = table.counts[table.counts.sum(axis=1) >= 2]
    if len(counts) == 0 or (counts.sum(axis=0) > 0).sum() < 2:
        assert math.isnan(krippendorff_alpha(table))
        return
    for level in ("nominal", "ordinal"):
        expected = krippendorff.alpha(
            value_counts=counts, value_domain=range(table.n_classes), level_of_measurement=level
        )
        assert math.isclose(krippendorff_alpha(table, level=level), expected, abs_tol=1e-9)
    assert math.isclose(krippendorff_alpha(table), people.nominal_alpha(counts), abs_tol=1e-9)


def test_fleiss_kappa_of_unequal_numbers_of_votes_has_one_population() -> None:
    """The case of irrCAC, whose fleiss.kappa.raw gives .425: chance agreement from the mean shares of the items."""
    mixed = Votes.from_counts([[3, 0]] * 80 + [[15, 15]] * 20)
    assert math.isclose(fleiss_kappa(mixed), 0.425, abs_tol=5e-4)
    assert math.isclose(krippendorff_alpha(mixed), 0.196, abs_tol=5e-4)


def test_halves_that_correlate_negatively_give_their_correlation_and_no_ceiling() -> None:
    """A panel of four of which one always dissents: one half of the votes disagrees, the other does not."""
    found = entropy_reliability(Votes.from_counts([[3, 1], [1, 3]] * 30))
    assert found is not None
    assert found.split_half < -0.9
    assert found.reliability == found.split_half
    assert math.isnan(found.ceiling)


def test_entropies_are_of_votes() -> None:
    with pytest.raises(InputError, match="votes must be Votes, but got ndarray"):
        entropy_per_item(np.eye(2))


def test_perfect_agreement_and_one_class() -> None:
    agreed = Votes.from_counts([[5, 0], [0, 3]])
    assert fleiss_kappa(agreed) == krippendorff_alpha(agreed) == 1
    one = Votes.from_counts([[5], [3]])
    assert math.isnan(fleiss_kappa(one))
    assert math.isnan(krippendorff_alpha(one))


def test_single_votes_agree_with_nobody() -> None:
    single = Votes.from_counts([[1, 0], [0, 1]])
    assert math.isnan(fleiss_kappa(single))
    assert math.isnan(krippendorff_alpha(single))
    assert entropy_reliability(single) is None


def test_entropy_ties_and_unanimity() -> None:
    table = Votes.from_counts([[2, 2, 0], [3, 0, 0], [1, 1, 1], [2, 1, 0]])
    np.testing.assert_allclose(
        entropy_per_item(table), [math.log(2), 0, math.log(3), math.log(3) - 2 / 3 * math.log(2)]
    )
    assert tied(table).tolist() == [True, False, True, False]
    assert unanimous(table).tolist() == [False, True, False, False]


def test_reliability_of_pure_noise_and_of_clear_differences() -> None:
    noise = Votes.from_counts(np.random.default_rng(0).multinomial(20, [0.5, 0.5], size=3000))
    found = entropy_reliability(noise)
    assert found is not None
    assert abs(found.split_half) < 0.06
    clear = Votes.from_counts([[200, 200], [360, 40], [280, 120], [400, 0]] * 50)
    found = entropy_reliability(clear)
    assert found is not None
    assert found.reliability > 0.95
    assert math.isclose(found.ceiling**2, found.reliability)
    assert math.isclose(found.reliability, 2 * found.split_half / (1 + found.split_half))


def test_reliability_predicts_the_correlation_of_fresh_votes() -> None:
    """Spearman-Brown, checked by drawing a second set of votes from the same people."""
    rng = np.random.default_rng(3)
    truth = rng.dirichlet(np.ones(4), size=4000)
    first, second = (Votes.from_counts(np.array([rng.multinomial(30, p) for p in truth])) for _ in range(2))
    found = entropy_reliability(first)
    assert found is not None
    fresh = np.corrcoef(*(np.argsort(np.argsort(entropy_per_item(v))) for v in (first, second)))[0, 1]
    assert abs(found.reliability - fresh) < 0.03


def test_probabilities_have_no_agreement() -> None:
    shares = Votes.from_probabilities([[0.5, 0.5]])
    for measure in (fleiss_kappa, krippendorff_alpha, entropy_reliability):
        with pytest.raises(InputError, match="needs the number of votes for each class"):
            measure(shares)
    with pytest.raises(InputError, match="level must be one of nominal, ordinal, but got 'ratio'"):
        krippendorff_alpha(Votes.from_counts([[1, 1]]), level="ratio")


@pytest.mark.parametrize(("m", "least", "most"), [(5, 0.0, 0.1), (30, -0.03, 0.03)])
def test_the_ceiling_is_near_what_the_truth_itself_reaches(m: int, least: float, most: float) -> None:
    """Nobody can do better than the distribution the votes were drawn from; few votes make the ceiling too low."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.full(3, 0.6), size=6000)
    drawn = Votes.from_counts(np.array([rng.multinomial(m, p) for p in truth]))
    found = entropy_reliability(drawn)
    assert found is not None
    reached = metrics.entropy_correlation(drawn.probs, truth)
    assert least < reached - found.ceiling < most
