"""Targets against oracles."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import dirichlet_multinomial

from oracles import people
from strategies import votes
from votewise import (
    InputError,
    Targets,
    Votes,
    dawid_skene,
    dirichlet_smoothed,
    fit_dirichlet_prior,
    majority_labels,
    read_votes,
    vote_share,
)


@given(votes(), st.sampled_from(["lowest", "frequent", "random"]), st.integers(0, 9))
def test_every_rule_picks_a_class_with_the_most_votes(table: Votes, ties: str, seed: int) -> None:
    labels = majority_labels(table, ties=ties, seed=seed)
    np.testing.assert_array_equal(table.counts[np.arange(table.n_items), labels], table.counts.max(axis=1))


def test_tie_rules() -> None:
    table = Votes.from_counts([[2, 2, 0], [0, 1, 1], [0, 0, 5], [0, 3, 3]])
    assert majority_labels(table).tolist() == [0, 1, 2, 1]
    assert majority_labels(table, ties="frequent").tolist() == [1, 2, 2, 2]
    with pytest.raises(InputError) as error:
        majority_labels(table, ties="error")
    assert str(error.value) == (
        "every item must have one class with the most votes, but 3 are tied ('0', '1', '3'). Choose a tie rule: lowest, frequent, random."
    )
    even = Votes.from_counts(np.ones((4000, 4), dtype=int))
    np.testing.assert_allclose(np.bincount(majority_labels(even, ties="random")) / 4000, 0.25, atol=0.04)


@given(votes(), st.floats(0.01, 50))
def test_smoothing_moves_shares_towards_the_prior(table: Votes, prior: float) -> None:
    smooth = dirichlet_smoothed(table, prior=prior).probs
    np.testing.assert_allclose(smooth.sum(axis=1), 1)
    m = table.counts.sum(axis=1, keepdims=True)
    weight = m / (m + prior * table.n_classes)
    np.testing.assert_allclose(smooth, weight * vote_share(table).probs + (1 - weight) / table.n_classes)


@pytest.mark.parametrize("prior", [[2.0, 1.0, 0.5], [0.05, 0.1, 0.02], [20.0, 5.0, 5.0]])
def test_the_fitted_prior_is_the_one_the_votes_came_from(prior: list[float]) -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 12, size=20_000)
    counts = np.array([rng.multinomial(m, p) for m, p in zip(lengths, rng.dirichlet(prior, size=20_000), strict=True)])
    np.testing.assert_allclose(fit_dirichlet_prior(Votes.from_counts(counts)), prior, rtol=0.12)


@given(st.integers(0, 500))
def test_no_other_prior_is_likelier(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = np.array([rng.multinomial(8, p) for p in rng.dirichlet([1.0, 2.0, 0.5], size=60)])
    fitted = fit_dirichlet_prior(Votes.from_counts(counts))

    def likelihood(prior: np.ndarray) -> float:
        return float(dirichlet_multinomial.logpmf(counts, prior, counts.sum(axis=1)).sum())

    best = likelihood(fitted)
    for factor in (0.9, 1.1):
        for index in range(3):
            other = fitted.copy()
            other[index] *= factor
            assert likelihood(other) < best + 1e-6
        assert likelihood(fitted * factor) < best + 1e-6


def test_priors_at_the_ends() -> None:
    unanimous = fit_dirichlet_prior(Votes.from_counts([[5, 0], [0, 5], [5, 0]]))
    assert unanimous.sum() < 1e-3
    alike = fit_dirichlet_prior(Votes.from_counts([[5, 5]] * 50))
    assert alike.sum() > 1e3
    with pytest.raises(
        InputError, match="fitting a Dirichlet prior needs items with two votes or more, but every item has one"
    ):
        fit_dirichlet_prior(Votes.from_counts([[1, 0], [0, 1]]))


@pytest.mark.parametrize("prior", [0.0, -1.0, [1.0], [1.0, -1.0, 1.0], [[1.0, 1.0, 1.0]] * 2, float("nan")])
def test_wrong_priors(prior: object) -> None:
    with pytest.raises(InputError):
        dirichlet_smoothed(Votes.from_counts([[1, 2, 3]]), prior=prior)  # type: ignore[arg-type]


def simulate(seed: int, n: int = 120, a: int = 9, k: int = 3, skill: float = 0.8) -> tuple[Votes, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, size=n)
    said = np.where(rng.random((n, a)) < skill, truth[:, None], rng.integers(0, k, size=(n, a)))
    said[rng.random((n, a)) < 0.4] = -1
    said[said.max(axis=1) < 0, 0] = 0
    return read_votes(said, form="wide", classes=[str(label) for label in range(k)]), truth


@pytest.mark.parametrize("seed", range(5))
def test_dawid_skene_is_the_slow_em(seed: int) -> None:
    table, _ = simulate(seed, skill=0.6)
    ballots = table.require_ballots("a test")
    triples = list(zip(ballots.item.tolist(), ballots.annotator.tolist(), ballots.label.tolist(), strict=True))
    for steps in (1, 4, 12):
        ours = dawid_skene(table, most_steps=steps, tolerance=0)
        posterior, confusion = people.dawid_skene(
            triples, table.n_items, len(ballots.annotator_ids), table.n_classes, steps
        )
        np.testing.assert_allclose(ours.targets.probs, posterior, atol=1e-9)
        np.testing.assert_allclose(ours.confusion, confusion, atol=1e-9)


@given(st.integers(0, 300))
def test_dawid_skene_climbs_and_converges(seed: int) -> None:
    table, _ = simulate(seed, n=40)
    found = dawid_skene(table, tolerance=1e-8, most_steps=500)
    gains = np.diff(found.log_likelihood)
    assert (gains > -1e-6).all()
    assert found.converged
    np.testing.assert_allclose(found.targets.probs.sum(axis=1), 1)
    np.testing.assert_allclose(found.confusion.sum(axis=2), 1)
    np.testing.assert_allclose(found.prior.sum(), 1)


def test_dawid_skene_distrusts_the_careless() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, size=600)
    said = np.stack(
        [np.where(rng.random(600) < 0.95, truth, rng.integers(0, 3, 600))] * 1
        + [rng.integers(0, 3, 600) for _ in range(3)],
        axis=1,
    )
    said = np.column_stack([said, np.where(rng.random(600) < 0.9, truth, rng.integers(0, 3, 600))])
    table = read_votes(said, form="wide")
    careful = (dawid_skene(table, smoothing=0.01).targets.probs.argmax(axis=1) == truth).mean()
    assert careful > (majority_labels(table) == truth).mean() + 0.1
    steps: list[int] = []
    dawid_skene(table, on_step=lambda step, _: steps.append(step))
    assert steps == list(range(1, len(steps) + 1))


@pytest.mark.parametrize("tolerance", ["a", -1, math.nan])
def test_wrong_tolerances(tolerance: object) -> None:
    with pytest.raises(InputError) as error:
        dawid_skene(simulate(0)[0], tolerance=tolerance)  # type: ignore[arg-type]
    assert str(error.value) == (
        f"tolerance must be a number from 0 to inf, but got {tolerance!r}. Pass one in that range."
    )


def test_targets_are_their_own() -> None:
    mine, ids = np.array([[1.0, 0.0]]), np.array(["a"])
    targets = Targets(mine, ids, ["x", "y"], "by hand")  # type: ignore[arg-type]
    mine[:], ids[:] = 0.5, "b"
    assert (targets.probs.tolist(), targets.item_ids.tolist(), targets.classes) == ([[1.0, 0.0]], ["a"], ("x", "y"))
    for copied in (copy.deepcopy(targets), pickle.loads(pickle.dumps(targets))):
        with pytest.raises(ValueError, match="read-only"):
            copied.probs[0] = 0
    table = Votes.from_counts([[1, 3]])
    assert vote_share(table).probs is table.probs  # nothing is copied that nobody can write to


def test_dawid_skene_needs_annotators() -> None:
    with pytest.raises(
        InputError,
        match="Dawid-Skene needs every single vote with its annotator, but only the totals of these votes are known",
    ):
        dawid_skene(Votes.from_counts([[1, 2]]))


def test_targets_are_distributions() -> None:
    for probs in ([[3.0, -1.0]], [[0.5, 0.4]], [[0.5, 0.5], [1.0, 0.0]]):
        with pytest.raises(InputError):
            Targets(np.array(probs), np.array(["a"]), ("x", "y"), "by hand")


def test_shares_that_differ_by_rounding_are_tied() -> None:
    assert majority_labels(Votes.from_probabilities([[0.15 + 0.3, 0.45, 0.1]])).tolist() == [0]
