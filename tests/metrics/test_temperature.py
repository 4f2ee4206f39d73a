"""The fitted temperature against another optimiser, and at its limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from votewise import InputError
from votewise.metrics import fit_temperature, scaled_softmax, soft_nll


def loss(inverse: float, people: np.ndarray, logits: np.ndarray) -> float:
    return float(-(people * log_softmax(logits * inverse, axis=1)).sum(axis=1).mean())


@given(seed=st.integers(0, 10_000), classes=st.integers(2, 6), scale=st.floats(0.05, 20), votes=st.integers(1, 12))
def test_another_optimiser_finds_no_better_temperature(seed: int, classes: int, scale: float, votes: int) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(60, classes))
    people = rng.multinomial(votes, softmax(logits, axis=1)) / votes
    found = fit_temperature(people, scale * logits)
    other = minimize_scalar(loss, args=(people, scale * logits), bounds=(0.01, 100), method="bounded")
    assert loss(1 / found, people, scale * logits) <= other.fun + 1e-9
    if 0.02 < found < 50:
        assert math.isclose(1 / found, other.x, rel_tol=1e-2, abs_tol=1e-3)


@given(seed=st.integers(0, 10_000), factor=st.floats(0.2, 5))
def test_logits_twice_as_large_need_twice_the_temperature(seed: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(200, 3))
    people = rng.multinomial(5, softmax(logits, axis=1)) / 5
    temperature = fit_temperature(people, logits)
    assert math.isclose(fit_temperature(people, factor * logits + 7), factor * temperature, rel_tol=1e-9)


def test_the_shares_of_a_scaled_model_give_its_temperature_back() -> None:
    logits = np.random.default_rng(0).normal(size=(500, 4))
    assert math.isclose(fit_temperature(softmax(logits / 3, axis=1), logits), 3.0, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("people", "logits", "expected"),
    [
        ([[1, 0], [0, 1]], [[1, 0], [0, 1]], 0.01),  # always right: the surer, the better
        ([[0, 1], [1, 0]], [[1, 0], [0, 1]], 100.0),  # always wrong: the less sure, the better
        ([[0.3, 0.7], [0.9, 0.1]], [[2, 2], [-1, -1]], 1.0),  # constant: none matters
        ([[1.0], [1.0]], [[5], [6]], 1.0),  # one class
        ([[0.5, 0.5, 0]], [[1.0, 1.0, -math.inf]], 1.0),  # what is left is constant
        ([[1, 0], [0, 1]], [[1e6, 0], [0, 1e6]], 1.0),  # so sure that nothing is left to gain in float64
    ],
)
def test_limits(people: list[list[float]], logits: list[list[float]], expected: float) -> None:
    assert fit_temperature(people, logits) == expected


def test_huge_logits_that_are_wrong_are_cooled_as_far_as_allowed() -> None:
    assert fit_temperature([[0.5, 0.5]] * 3, [[1e30, 0.0]] * 3) == 100.0


def test_what_is_ruled_out_stays_ruled_out() -> None:
    people, logits = [[0.8, 0.2, 0], [0.3, 0.7, 0]], [[2.0, 0.0, -math.inf], [0.0, 1.5, -math.inf]]
    temperature = fit_temperature(people, logits)
    probs = scaled_softmax(logits, temperature)
    assert (probs[:, 2] == 0).all()
    two = fit_temperature(np.array(people)[:, :2], np.array(logits)[:, :2])
    assert math.isclose(temperature, two, rel_tol=1e-12)
    assert soft_nll(people, probs) <= soft_nll(people, scaled_softmax(logits)) + 1e-12


def test_it_is_softmax() -> None:
    logits = np.random.default_rng(1).normal(size=(20, 3)) * 10
    np.testing.assert_allclose(scaled_softmax(logits, 2.5), softmax(logits / 2.5, axis=1), rtol=1e-12)


@pytest.mark.parametrize(
    ("people", "logits", "message"),
    [
        ([[0.5, 0.5]], [[0.0, -math.inf]], "chose a class of logit -inf"),
        ([[0.5, 0.5]], [[0.0, math.nan]], "must be finite, or -inf for some"),
        ([[0.5, 0.5]], [[0.0, math.inf]], "must be finite, or -inf for some"),
        ([[0.5, 0.5]], [[-math.inf, -math.inf]], "must be finite, or -inf for some"),
        ([[0.5, 0.5]], [[0.0, 1.0, 2.0]], "must have one shape"),
        ([[0.5, 0.5]], [0.0, 1.0], r"must have shape \(N, K\)"),
        ([[0.5, 0.5]], [["a", "b"]], "must be numbers"),
        ([[0.5, 0.6]], [[0.0, 1.0]], "sum"),
    ],
)
def test_what_has_no_temperature_is_refused(people: object, logits: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_temperature(people, logits)  # type: ignore[arg-type]


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf, 1e9])
def test_no_such_temperature(temperature: float) -> None:
    with pytest.raises(InputError, match="the temperature"):
        scaled_softmax([[0.0, 1.0]], temperature)
