"""Deliveries with a prior: labels that stay votes, and targets whose mean is the posterior mean."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from strategies import votes
from votewise import SLS, HardDelivery, InputError, Multipass, Targets, Votes, dirichlet_smoothed, fit_dirichlet_prior
from votewise.delivery import METHODS

VOTES = Votes.from_counts([[3, 1, 0], [0, 4, 1], [2, 2, 2], [1, 0, 0]], item_ids=list("abcd"))
KINDS = (Multipass, SLS)


@st.composite
def priors(draw: st.DrawFn, table: Votes) -> float | np.ndarray:
    """Pseudo-votes of each form: tiny, ordinary and huge ones, and zeros, also whole rows of them."""
    numbers = st.one_of(st.just(0.0), st.floats(0.01, 20), st.sampled_from([1e-12, 1e-3, 1e6, 1e15]))
    shape = draw(st.sampled_from([(), (table.n_classes,), (table.n_items, table.n_classes)]))
    return draw(numbers) if shape == () else draw(hnp.arrays(np.float64, shape, elements=numbers))


def posterior_mean(table: Votes, prior: float | np.ndarray) -> np.ndarray:
    """By the formula, item by item."""
    pseudo = np.broadcast_to(prior, table.counts.shape)
    return np.array([(c + a) / (c.sum() + a.sum()) for c, a in zip(table.counts, pseudo, strict=True)])


@given(table=votes(max_items=5, max_count=4), seed=st.integers(0, 99), data=st.data())
def test_the_mean_over_a_cycle_is_the_posterior_mean(table: Votes, seed: int, data: st.DataObject) -> None:
    prior = data.draw(priors(table))
    delivery = Multipass(table, seed=seed, prior=prior)
    expected = posterior_mean(table, prior)
    for item, length in enumerate(table.counts.sum(axis=1).tolist()):
        start = data.draw(st.integers(0, 50))  # a cycle begins anywhere
        cycle = [delivery.targets(start + epoch, [item])[0].astype(np.float64) for epoch in range(length)]
        np.testing.assert_allclose(np.mean(cycle, axis=0), expected[item], atol=1e-6)
    if np.any(prior):
        np.testing.assert_allclose(dirichlet_smoothed(table, prior=prior).probs, expected, rtol=1e-12)


@given(table=votes(), seed=st.integers(0, 99), epoch=st.integers(0, 200), data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_each_target_is_the_label_of_the_plain_delivery_and_the_prior(
    kind: type[HardDelivery], table: Votes, seed: int, epoch: int, data: st.DataObject
) -> None:
    prior = data.draw(priors(table))
    plain, delivery = kind(table, seed=seed), kind(table, seed=seed, prior=prior)
    labels = plain.labels(epoch)
    np.testing.assert_array_equal(delivery.labels(epoch), labels)
    n = table.counts.sum(axis=1, keepdims=True)
    pseudo = np.broadcast_to(prior, table.counts.shape)
    expected = (n * np.eye(table.n_classes)[labels] + pseudo) / (n + pseudo.sum(axis=1, keepdims=True))
    given_targets = delivery.targets(epoch)
    assert given_targets.dtype == np.float32
    np.testing.assert_allclose(given_targets, expected, rtol=1e-6, atol=1e-30)


@given(table=votes(max_items=5), seed=st.integers(0, 99), epoch=st.integers(0, 200))
@pytest.mark.parametrize("kind", KINDS)
def test_a_prior_of_zero_is_the_plain_delivery_bit_for_bit(
    kind: type[HardDelivery], table: Votes, seed: int, epoch: int
) -> None:
    plain = kind(table, seed=seed).targets(epoch)
    for prior in (0, 0.0, -0.0, [0] * table.n_classes, np.zeros(table.counts.shape)):
        with_none = kind(table, seed=seed, prior=prior).targets(epoch)
        assert plain.tobytes() == with_none.tobytes()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e20, 1e300, 1.7e308])
def test_an_infinite_prior_is_the_prior(kind: type[HardDelivery], scale: float) -> None:
    """To the last digit, as votes are below what a float can tell beside it, also where the sum is beyond all floats."""
    prior = np.random.default_rng(0).dirichlet(np.ones(3), size=4)
    prior /= prior.max(axis=1, keepdims=True)
    expected = (prior / prior.sum(axis=1, keepdims=True)).astype(np.float32)
    delivery = kind(VOTES, seed=0, prior=scale * prior)
    for epoch in range(6):
        np.testing.assert_allclose(delivery.targets(epoch), expected, rtol=2e-7)
        np.testing.assert_array_equal(delivery.labels(epoch), kind(VOTES, seed=0).labels(epoch))
    np.testing.assert_array_equal(kind(VOTES, seed=0, prior=scale).targets(0), np.full((4, 3), 1 / 3, dtype=np.float32))


def test_the_expectation_of_sls_is_the_posterior_mean() -> None:
    """Labels of 20,000 epochs: five standard errors of a share are at most 0.018."""
    delivery = SLS(VOTES, seed=1, prior=[0.5, 0.2, 0.1])
    mean = np.mean([delivery.targets(epoch) for epoch in range(20_000)], axis=0)
    np.testing.assert_allclose(mean, posterior_mean(VOTES, np.array([0.5, 0.2, 0.1])), atol=0.018)


@given(table=votes(min_items=2), seed=st.integers(0, 99), epoch=st.integers(0, 99), data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_any_order_and_subset_give_the_same_targets(
    kind: type[HardDelivery], table: Votes, seed: int, epoch: int, data: st.DataObject
) -> None:
    prior = np.asarray(data.draw(priors(table)))
    whole = kind(table, seed=seed, prior=prior).targets(epoch)
    rows = data.draw(st.lists(st.integers(0, table.n_items - 1), min_size=1))  # in any order, also more than once
    np.testing.assert_array_equal(kind(table, seed=seed, prior=prior).targets(epoch, rows), whole[rows])
    rows = list(dict.fromkeys(rows))
    part = kind(table.take(rows), seed=seed, prior=prior[rows] if prior.ndim == 2 else prior)
    np.testing.assert_array_equal(part.targets(epoch), whole[rows])


@pytest.mark.parametrize("prior", [None, 0.5, np.full((4, 3), 0.2)])
@pytest.mark.parametrize("kind", KINDS)
def test_copies_deliver_the_same(kind: type[HardDelivery], prior: object) -> None:
    delivery = kind(VOTES, seed=5, prior=prior)
    for other in (pickle.loads(pickle.dumps(delivery)), copy.copy(delivery), copy.deepcopy(delivery)):
        assert type(other) is type(delivery)
        np.testing.assert_array_equal(other.targets(7), delivery.targets(7))


def test_other_processes_deliver_the_same() -> None:
    script = (
        "import numpy as np, sys; from votewise import *\n"
        "v = Votes.from_counts([[3, 1, 0], [0, 4, 1], [2, 2, 2], [1, 0, 0]], item_ids=list('abcd'))\n"
        "for d in (Multipass(v, seed=2, prior=[0.5, 1, 2]), SLS(v, seed=2, hold=2, prior=np.full((4, 3), 0.3))):\n"
        "    sys.stdout.write(''.join(d.targets(epoch, [3, 1, 0]).tobytes().hex() for epoch in (5, 0, 1000)))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    here = (Multipass(VOTES, seed=2, prior=[0.5, 1, 2]), SLS(VOTES, seed=2, hold=2, prior=np.full((4, 3), 0.3)))
    assert out.stdout == "".join(d.targets(epoch, [3, 1, 0]).tobytes().hex() for d in here for epoch in (5, 0, 1000))


def test_whoever_takes_labels_for_targets_does_not_take_these() -> None:
    assert isinstance(Multipass(VOTES, seed=0), HardDelivery)
    for kind in KINDS:
        assert not isinstance(kind(VOTES, seed=0, prior=1.0), HardDelivery)


def test_held_draws_are_mixed_like_others() -> None:
    delivery = SLS(VOTES, seed=0, hold=3, prior=0.5)
    for epoch in (0, 3, 6):
        np.testing.assert_array_equal(delivery.targets(epoch), delivery.targets(epoch + 2))
    assert any((delivery.targets(0) != delivery.targets(epoch)).any() for epoch in (3, 6, 9, 12))


def test_the_fitted_prior_of_the_catalogue() -> None:
    table = Votes.from_counts(np.random.default_rng(0).multinomial(5, [0.6, 0.3, 0.1], size=50))
    ours = METHODS["multipass-prior"].deliver(table, seed=4)
    by_hand = Multipass(table, seed=4, prior=fit_dirichlet_prior(table))
    for epoch in range(6):
        np.testing.assert_array_equal(ours.targets(epoch), by_hand.targets(epoch))


WRONG: list[tuple[object, str]] = [
    (-1.0, "the prior must be finite and not negative, but 3 of its 3 pseudo-votes are not; the first is -1. Pass 0 for none; for the prior alone multiply it by a large number, such as 1e20."),
    ([1.0, float("nan"), 0.0], "the prior must be finite and not negative, but 1 of its 3 pseudo-votes are not; the first is nan. Pass 0 for none; for the prior alone multiply it by a large number, such as 1e20."),
    (float("inf"), "the prior must be finite and not negative, but 3 of its 3 pseudo-votes are not; the first is inf. Pass 0 for none; for the prior alone multiply it by a large number, such as 1e20."),
    ([1.0, 2.0], "the prior must be a number, 3 numbers, or a table of 4 items x 3 classes, but its shape is (2,). Pass e.g. 1.0, or the pseudo_votes of fit_prior for the same items."),
    (np.ones((3, 3)), "the prior must be a number, 3 numbers, or a table of 4 items x 3 classes, but its shape is (3, 3). Pass e.g. 1.0, or the pseudo_votes of fit_prior for the same items."),
    (np.ones((4, 1)), "the prior must be a number, 3 numbers, or a table of 4 items x 3 classes, but its shape is (4, 1). Pass e.g. 1.0, or the pseudo_votes of fit_prior for the same items."),
    ("fitted", "the prior must be a number, 3 numbers, or a table of 4 items x 3 classes, but got str. Pass e.g. 1.0, or the pseudo_votes of fit_prior for the same items."),
    ([[1.0], [1.0, 2.0]], "the prior must be a number, 3 numbers, or a table of 4 items x 3 classes, but got list. Pass e.g. 1.0, or the pseudo_votes of fit_prior for the same items."),
    (True, "the prior must be a number, 3 numbers, or a table of 4 items x 3 classes, but got bool. Pass e.g. 1.0, or the pseudo_votes of fit_prior for the same items."),
]  # fmt: skip


@pytest.mark.parametrize(("prior", "message"), WRONG)
@pytest.mark.parametrize("build", [*KINDS, lambda table, seed, prior: dirichlet_smoothed(table, prior=prior)])
def test_wrong_priors(build: Callable[..., object], prior: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        build(VOTES, seed=0, prior=prior)
    assert str(error.value) == message


def test_votes_known_only_as_shares_are_refused() -> None:
    """How much a prior weighs depends on the number of votes."""
    shares = Votes.from_probabilities([[0.5, 0.5]])
    with pytest.raises(
        InputError, match=r"^multipass needs the number of votes for each class, but these votes are prob"
    ):
        Multipass(shares, seed=0, prior=1.0)
    with pytest.raises(InputError) as error:
        SLS(shares, seed=0, prior=1.0)
    assert str(error.value) == (
        "a delivery with a prior needs the number of votes for each class, but these votes are probabilities, which do not "
        "say how many people voted. Give counts or single votes, or use a method that needs shares only (soft, sls)."
    )
    with pytest.raises(InputError) as error:
        SLS(Targets(np.array([[0.5, 0.5]]), np.array(["a"]), ("x", "y"), "a teacher"), seed=0, prior=1.0)
    assert str(error.value) == (
        "SLS with a prior needs votes, whose number says what a prior weighs beside them, but got Targets. Pass votes; or "
        "mix the prior into the targets, and draw from those."
    )
