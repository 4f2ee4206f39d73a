"""Priors made of predictions: against another optimiser, by recovery, at the ends, and out of fold."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from scipy.stats import dirichlet_multinomial

from votewise import InputError, Votes, cross_fit, fit_prior
from votewise.data import load_vader
from votewise.targets.prior import cross_fit_folds


def simulated(
    seed: int, n: int, k: int, *, alpha: float, temperature: float, spread: float = 2.0, most: int = 8
) -> tuple[Votes, np.ndarray]:
    """Votes drawn from the model that is fitted, and the logits."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, spread, (n, k)) + rng.normal(0, 5, (n, 1))
    shares = np.array([rng.dirichlet(alpha * q + 1e-12) for q in softmax(logits / temperature, axis=1)])
    counts = [rng.multinomial(length, p / p.sum()) for length, p in zip(rng.integers(1, most, n), shares, strict=True)]
    return Votes.from_counts(counts), logits


def slow_likelihood(counts: np.ndarray, logits: np.ndarray, alpha: float, temperature: float) -> float:
    """Mean over items of the log-likelihood of the votes one after the other: a Polya urn, vote by vote."""
    total = 0.0
    for row, z in zip(counts, logits, strict=True):
        q = np.exp(z / temperature - logsumexp(z / temperature))
        urn = alpha * q
        for label, times in enumerate(row):
            for _ in range(times):
                total += np.log(urn[label] / urn.sum())
                urn[label] += 1
    return total / len(counts)


def by_another_optimiser(counts: np.ndarray, logits: np.ndarray, starts: int = 12) -> tuple[float, float, float]:
    """SciPy's likelihood, with weight 1 / (1 + alpha) and inverse temperature as parameters, no slopes, many starts."""
    chosen = counts.sum(axis=1)

    def negative(where: np.ndarray) -> float:
        share, cold = 1 / (1 + np.exp(-where[0])), np.exp(where[1])
        prior = (1 - share) / share * np.maximum(softmax(cold * logits, axis=1), 1e-290)
        return -float(dirichlet_multinomial.logpmf(counts, prior, chosen).mean())

    rng = np.random.default_rng(0)
    found = [
        minimize(negative, rng.normal(0, 2, 2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000})
        for _ in range(starts)
    ]  # fmt: skip
    best = min(found, key=lambda each: each.fun)
    return float(np.exp(-best.x[0])), float(np.exp(-best.x[1])), float(best.fun)


@pytest.mark.parametrize(
    ("n", "k", "alpha", "temperature"),
    [(400, 2, 0.5, 1.0), (300, 5, 3.0, 2.5), (200, 10, 0.2, 2.1), (150, 100, 20.0, 0.5)],
)
def test_another_optimiser_finds_the_same(n: int, k: int, alpha: float, temperature: float) -> None:
    table, logits = simulated(1, n, k, alpha=alpha, temperature=temperature)
    ours = fit_prior(table, logits)
    assert ours.converged
    theirs = by_another_optimiser(table.counts, logits)
    assert (ours.alpha, ours.temperature) == pytest.approx(theirs[:2], rel=1e-4)
    assert ours.log_likelihood == pytest.approx(
        slow_likelihood(table.counts, logits, ours.alpha, ours.temperature), rel=1e-10
    )
    np.testing.assert_allclose(ours.pseudo_votes, ours.alpha * softmax(logits / ours.temperature, axis=1), rtol=1e-9)


def test_another_optimiser_finds_the_same_on_words() -> None:
    """Real votes: five of ten on 1,500 words, and what the ends of other words say about them."""
    votes = load_vader().votes.take(range(0, 7500, 5)).subsample(5, seed=0, replace=False)
    prior = cross_fit(votes, by_last_letter(votes), seed=0)
    logits = out_of_fold(votes, by_last_letter(votes), seed=0)
    alpha, temperature, _ = by_another_optimiser(votes.counts, logits, starts=6)
    assert prior.converged
    assert (prior.alpha, prior.temperature) == pytest.approx((alpha, temperature), rel=1e-3)
    # SciPy's is the likelihood of counts; the orders in which votes may come have no part in ours.
    ours, theirs = (
        slow_likelihood(votes.counts, logits, *each)
        for each in ((prior.alpha, prior.temperature), (alpha, temperature))
    )
    assert ours >= theirs - 1e-9
    assert prior.log_likelihood == pytest.approx(ours, rel=1e-9)


def by_last_letter(votes: Votes):
    """Predicts the shares of the training words with the same last letter."""
    letters = np.array([ord(word[-1]) % 16 for word in votes.item_ids.tolist()])

    def predict(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        total = np.ones((16, votes.n_classes))
        np.add.at(total, letters[rows], votes.counts[rows])
        return np.log(total / total.sum(axis=1, keepdims=True))[letters[others]]

    return predict


def out_of_fold(votes: Votes, predict, *, seed: int) -> np.ndarray:
    fold = cross_fit_folds(votes, 2, seed=seed)
    logits = np.empty(votes.probs.shape)
    for k in range(2):
        logits[fold == k] = predict(np.flatnonzero(fold != k), np.flatnonzero(fold == k))
    return logits


@pytest.mark.parametrize(
    ("k", "alpha", "temperature"), [(2, 0.4, 1.0), (3, 8.0, 3.0), (10, 0.2, 2.1), (10, 60.0, 0.7), (100, 2.0, 1.5)]
)
def test_the_fitted_prior_is_the_one_the_votes_came_from(k: int, alpha: float, temperature: float) -> None:
    found = fit_prior(*simulated(0, 20_000, k, alpha=alpha, temperature=temperature))
    assert found.converged
    assert (found.alpha, found.temperature) == pytest.approx((alpha, temperature), rel=0.1)


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 6), alpha=st.floats(0.05, 50), scale=st.floats(1e-3, 1e3))
def test_no_other_prior_is_likelier(seed: int, k: int, alpha: float, scale: float) -> None:
    """On a fine grid over the whole range; and logits of another scale or with another constant change nothing."""
    table, logits = simulated(seed, 30, k, alpha=alpha, temperature=1.0, most=7)
    if table.counts.sum(axis=1).max() < 2:
        return
    found = fit_prior(table, logits)
    assert found.converged
    values = [
        slow_likelihood(table.counts, logits, a, t)
        for a in np.geomspace(1e-3, 1e4, 9)
        for t in np.geomspace(0.05, 100, 9)
    ]
    assert found.log_likelihood >= max(values) - 1e-7
    moved = fit_prior(table, scale * logits + np.arange(len(logits))[:, None])
    assert moved.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(
        moved.pseudo_votes / moved.pseudo_votes.sum(axis=1, keepdims=True),
        found.pseudo_votes / found.pseudo_votes.sum(axis=1, keepdims=True),
        atol=1e-2,
    )


def test_the_ends() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (300, 4))
    people = np.array([rng.multinomial(40, q) for q in softmax(logits, axis=1)])
    sure = fit_prior(Votes.from_counts(people), logits)  # every item's votes come from the prediction itself
    assert sure.converged
    assert sure.alpha > 300
    assert sure.temperature == pytest.approx(1, rel=0.05)

    unanimous = fit_prior(Votes.from_counts(5 * np.eye(4, dtype=int)[rng.integers(0, 4, 300)]), logits)
    assert unanimous.converged
    assert unanimous.alpha < 1e-3
    # Where logits say nothing, any temperature at which they have no weight is as good as another.
    nothing = fit_prior(Votes.from_counts(rng.multinomial(5, np.full(4, 0.25), size=300)), logits)
    assert nothing.converged
    np.testing.assert_allclose(nothing.pseudo_votes / nothing.alpha, 0.25, atol=0.05)

    right = np.eye(4, dtype=int)[logits.argmax(axis=1)]
    certain = fit_prior(Votes.from_counts(5 * right), logits)
    assert certain.converged
    np.testing.assert_allclose(certain.pseudo_votes / certain.alpha, right, atol=1e-2)
    assert certain.log_likelihood > -1e-3


def test_odd_logits_and_tables() -> None:
    two = fit_prior(Votes.from_counts([[3, 2]]), [[1.0, 0.0]])
    assert two.converged
    assert two.pseudo_votes.shape == (1, 2)
    flat = fit_prior(Votes.from_counts([[3, 2], [0, 4]]), np.zeros((2, 2)))
    assert (flat.converged, flat.temperature) == (True, 1.0)
    np.testing.assert_allclose(flat.pseudo_votes, flat.alpha / 2)
    alone = fit_prior(Votes.from_counts([[3], [2]]), np.zeros((2, 1)))
    assert alone.converged
    ruled_out = fit_prior(
        Votes.from_counts([[3, 2, 0], [0, 4, 1], [1, 1, 1]]), [[0, 1, -np.inf], [-np.inf, 2, 0], [0, 0, 0]]
    )
    assert ruled_out.converged
    assert (ruled_out.pseudo_votes[[0, 1], [2, 0]] == 0).all()
    far = fit_prior(Votes.from_counts([[3, 2], [0, 4]]), [[1e90, -1e90], [0, 1e90]])
    assert np.isfinite(far.pseudo_votes).all()
    many = fit_prior(Votes.from_counts([[10**9, 10**8], [3, 10**9]]), [[1.0, 0.0], [0.0, 1.0]])
    assert np.isfinite(many.pseudo_votes).all()


def test_of_probabilities_the_logarithm_is_passed() -> None:
    table, logits = simulated(3, 500, 4, alpha=2.0, temperature=1.0)
    of_probs = fit_prior(table, np.log(softmax(logits, axis=1)))
    of_logits = fit_prior(table, logits)
    np.testing.assert_allclose(of_probs.pseudo_votes, of_logits.pseudo_votes, rtol=1e-5)


def test_a_result_is_frozen() -> None:
    found = fit_prior(*simulated(0, 50, 3, alpha=1.0, temperature=1.0))
    for each in (found, copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        with pytest.raises(ValueError, match="read-only"):
            each.pseudo_votes[0, 0] = 1
        assert each.alpha == found.alpha


NAMES = "Pass out-of-fold predictions for the same items, such as tensor.detach().numpy()."


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (None, f"logits must be a table of numbers, 2 items x 2 classes, but got NoneType. {NAMES}"),
        (np.zeros((3, 2)), f"logits must be a table of numbers, 2 items x 2 classes, but its shape is (3, 2). {NAMES}"),
        (torch.zeros(2, 2, requires_grad=True), f"logits must be a table of numbers, 2 items x 2 classes, but got Tensor. {NAMES}"),
        ([[0, 1], [0]], f"logits must be a table of numbers, 2 items x 2 classes, but got list. {NAMES}"),
        ([[0, 1], [np.nan, 0]], "logits must lie between -1e+100 and 1e+100, or be -inf, but those of 1 items do not ('b'). Check the model that predicts them."),
        ([[0, np.inf], [0, 0]], "logits must lie between -1e+100 and 1e+100, or be -inf, but those of 1 items do not ('a'). Check the model that predicts them."),
        ([[0, 1], [0, -np.inf]], "logits must rule out no class that people chose, but those of 1 items do not ('b'). Train a model that gives every class a chance, or clip probabilities from below before the logarithm."),
    ],
)  # fmt: skip
def test_wrong_logits(logits: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        fit_prior(Votes.from_counts([[2, 1], [0, 2]], item_ids=["a", "b"]), logits)
    assert str(error.value) == message


def test_votes_that_say_nothing_about_a_prior_are_refused() -> None:
    with pytest.raises(InputError) as error:
        fit_prior(Votes.from_counts([[1, 0], [0, 1]]), np.zeros((2, 2)))
    assert str(error.value) == (
        "fitting a prior needs items with two votes or more, but every item has one. Give a prior, e.g. prior=1.0, or "
        "collect more votes."
    )
    with pytest.raises(InputError, match=r"^fitting a prior needs the number of votes for each class"):
        fit_prior(Votes.from_probabilities([[0.5, 0.5]]), np.zeros((1, 2)))


# -- cross-fitting ------------------------------------------------------------------------------------------------


def table_of(counts: np.ndarray) -> Votes:
    return Votes.from_counts(counts, item_ids=[f"item {row}" for row in range(len(counts))])


@pytest.mark.parametrize(("folds", "seeds"), [(2, 1), (3, 1), (2, 3), (5, 2)])
def test_out_of_fold_means_out_of_fold(folds: int, seeds: int) -> None:
    """A model that remembers every vote it saw, and knows nothing else, must not know an item's own."""
    table = table_of(np.random.default_rng(0).multinomial(4, [0.4, 0.3, 0.3], size=41))
    asked: list[tuple[np.ndarray, np.ndarray]] = []

    def remember(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        asked.append((rows, others))
        known = np.zeros(table.probs.shape)
        known[rows] = np.log(table.probs[rows] + 1e-9)
        return known[others]

    prior = cross_fit(table, remember, seed=7, folds=folds, seeds=seeds)
    np.testing.assert_array_equal(prior.pseudo_votes, prior.pseudo_votes[0, 0], "it knew nothing about anybody")
    assert len(asked) == folds * seeds
    for rows, others in asked:
        assert sorted([*rows, *others]) == list(range(41))
    for draw in range(seeds):
        assert sorted(np.concatenate([others for _, others in asked[draw * folds : (draw + 1) * folds]])) == list(
            range(41)
        )
    assert len({tuple(asked[draw * folds][1]) for draw in range(seeds)}) == seeds, "each draw has folds of its own"

    def leak(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        return np.log(table.probs[others] + 1e-9)

    leaking = cross_fit(table, leak, seed=7, folds=folds, seeds=seeds)
    assert np.ptp(leaking.pseudo_votes) > 0.1, "such a test can fail"


def test_the_folds_do_not_depend_on_votes() -> None:
    """Stratified ones would: an item's own votes would decide which others its prediction is learnt from."""
    counts = np.random.default_rng(1).multinomial(3, [0.5, 0.5], size=60)
    before = cross_fit_folds(table_of(counts), 2, seed=5)
    np.testing.assert_array_equal(before, cross_fit_folds(table_of(counts[::-1]), 2, seed=5))
    assert np.bincount(before).tolist() == [30, 30]
    assert (before != cross_fit_folds(table_of(counts), 2, seed=5, repeat=1)).any()
    assert (before != cross_fit_folds(table_of(counts), 2, seed=6)).any()
    assert (before != table_of(counts).folds(2, seed=5)).any(), "folds of a split by the same seed are others"


def test_predictions_of_several_draws_are_averaged() -> None:
    table = table_of(np.random.default_rng(1).multinomial(3, [0.5, 0.5], size=20))
    given = iter([1.0, 1.0, 3.0, 3.0])

    def predict(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        return np.tile([next(given), 0.0], (len(others), 1)) * others[:, None]

    expected = fit_prior(table, np.arange(20)[:, None] * np.array([2.0, 0.0]))
    np.testing.assert_allclose(cross_fit(table, predict, seed=0, seeds=2).pseudo_votes, expected.pseudo_votes)


def test_wrong_cross_fits() -> None:
    table = table_of(np.full((4, 2), 2))
    with pytest.raises(InputError) as error:
        cross_fit(table, lambda rows, others: np.zeros((4, 2)), seed=0)
    assert str(error.value) == (
        "predict must return one row for each of its 2 items to predict and a column for each of 2 classes, but its shape "
        "is (4, 2). Return an array of logits for the items of its second argument, such as tensor.detach().numpy()."
    )
    with pytest.raises(InputError, match=r"for each of 2 classes, but got Tensor\. Return an array"):
        cross_fit(table, lambda rows, others: torch.zeros(len(others), 2, requires_grad=True), seed=0)
    with pytest.raises(InputError, match="those of 2 items do not"):
        cross_fit(table, lambda rows, others: np.full((len(others), 2), np.nan if 0 in others else 1.0), seed=0)
    for wrong in ({"folds": 1}, {"seeds": 0}, {"seed": -1}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))} must be a whole number"):
            cross_fit(table, lambda rows, others: np.zeros((len(others), 2)), **{"seed": 0, **wrong})
