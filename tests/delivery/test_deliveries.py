"""Deliveries: a pure function of (seed, epoch, item), whoever asks, in whatever order."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from strategies import votes
from votewise import SLS, Delivery, HardDelivery, InputError, Majority, Multipass, Soft, Votes, dirichlet_smoothed
from votewise.delivery import METHODS


def deliver(name: str, table: Votes, *, seed: int = 0) -> Delivery:
    """A delivery of the catalogue, of predictions that say a little about the items if it needs some."""
    method = METHODS[name]
    if not method.helper:
        return method.deliver(table, seed=seed)
    shape = (table.n_items, table.n_classes) if isinstance(table, Votes) else (1, 2)
    return method.deliver(table, seed=seed, logits=np.sin(7 * np.arange(shape[0])[:, None] + np.arange(shape[1])))


BUILD = {name: partial(deliver, name) for name in METHODS}

# Those whose prior is fitted to all items, which needs some with two votes.
FITTED = ("dirichlet-fitted", "multipass-prior", "multipass-crossfit")


@pytest.mark.parametrize("name", BUILD)
@given(table=votes(), seed=st.integers(0, 99), epoch=st.integers(0, 500), data=st.data())
def test_any_order_and_any_batch_give_the_same_targets(
    name: str, table: Votes, seed: int, epoch: int, data: st.DataObject
) -> None:
    assume(name not in FITTED or table.counts.sum(axis=1).max() > 1)
    delivery = deliver(name, table, seed=seed)
    whole = delivery.targets(epoch)
    assert whole.shape == (table.n_items, table.n_classes)
    assert whole.dtype == np.float32
    np.testing.assert_allclose(whole.sum(axis=1), 1, atol=1e-6)
    asked = data.draw(st.lists(st.integers(0, table.n_items - 1), max_size=20))
    np.testing.assert_array_equal(delivery.targets(epoch, asked), whole[np.array(asked, dtype=int)])
    np.testing.assert_array_equal(deliver(name, table, seed=seed).targets(epoch), whole)
    if isinstance(delivery, HardDelivery):
        labels = delivery.labels(epoch, asked)
        assert labels.dtype == np.int64
        np.testing.assert_array_equal(whole[np.array(asked, dtype=int)].argmax(axis=1), labels)


# The others look at all items: one exchanges their votes, the rest fit a prior to them.
@pytest.mark.parametrize("name", [name for name in BUILD if name not in ("shuffled-sls", *FITTED)])
@given(table=votes(min_items=2), seed=st.integers(0, 99), epoch=st.integers(0, 99), data=st.data())
def test_an_item_keeps_its_labels_in_every_subset_and_order(
    name: str, table: Votes, seed: int, epoch: int, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, table.n_items - 1), min_size=1, unique=True))
    part = METHODS[name].deliver(table.take(rows), seed=seed).targets(epoch)
    np.testing.assert_array_equal(part, METHODS[name].deliver(table, seed=seed).targets(epoch)[rows])


@pytest.mark.parametrize("name", BUILD)
def test_hard_is_what_the_catalogue_says(name: str) -> None:
    assert isinstance(BUILD[name](Votes.from_counts([[1, 2]])), HardDelivery) == (METHODS[name].gives == "labels")


def test_epochs_beyond_64_bits_are_refused() -> None:
    for method in (Multipass, SLS):
        delivery = method(Votes.from_counts([[3, 1]]), seed=0)
        assert delivery.labels(2**63 - 1)[0] in (0, 1)
        with pytest.raises(InputError) as error:
            delivery.labels(2**63)
        assert str(error.value) == ("epoch must be less than 2**63, but got 9223372036854775808. Count epochs from 0.")


def test_every_delivery_of_the_package_is_in_the_catalogue() -> None:
    def leaves(kind: type[Delivery]) -> set[type[Delivery]]:
        own = [child for child in kind.__subclasses__() if child.__module__.startswith("votewise")]
        return {leaf for child in own for leaf in leaves(child)} or {kind}

    built = {type(build(Votes.from_counts([[1, 2], [3, 0]]))) for build in BUILD.values()}
    assert leaves(Delivery) == built


SCRIPT = """
import sys
from hashlib import sha256
import numpy as np
from votewise import Votes
from votewise.delivery import METHODS
names = "deterministic-control label-smoothing majority multipass shuffled-sls sls soft".split()
rng = np.arange(600).reshape(60, 10) * 7919 % 11
table = Votes.from_counts(rng + (rng.sum(axis=1, keepdims=True) == 0), item_ids=[f"image_{i:03}.png" for i in range(60)])
digest = sha256()
for name in names:
    for hold in (1, 5):
        options = {"hold": hold} if "hold" in METHODS[name].options and hold > 1 else {}
        delivery = METHODS[name].deliver(table, seed=3, options=options)
        for epoch in (0, 1, 2, 50, 199):
            digest.update(np.ascontiguousarray(delivery.targets(epoch, np.arange(60)[::-1]), dtype="<f4").tobytes())
digest.update(table.subsample(5, seed=1).counts.astype("<i8").tobytes())
digest.update(table.subsample(5, seed=1, replace=False).counts.astype("<i8").tobytes())
digest.update(table.split(0.2, seed=1)[1].astype("<i8").tobytes())
print(digest.hexdigest())
"""

# Computed once. If it changes, every label ever delivered changes: that is a breaking release.
FOR_EVER = "73debc314c7d4438fd09ca4d01df00bbe67e9d12755a81e33f303cb6f661dd25"


def test_labels_are_the_same_in_another_process_and_for_ever() -> None:
    """Python 3.11, 3.12 and 3.13 with NumPy 2.0 to 2.5 give this digest; only 64-bit integers and exact floats are used."""
    out = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == FOR_EVER


def test_soft_takes_any_targets() -> None:
    smooth = dirichlet_smoothed(Votes.from_counts([[3, 1]]), prior=1.0)
    np.testing.assert_allclose(Soft(smooth).targets(0), [[4 / 6, 2 / 6]], rtol=1e-6)
    assert {SLS(smooth, seed=0).labels(epoch)[0] for epoch in range(50)} == {0, 1}


def test_writing_to_what_is_returned_changes_nothing_later() -> None:
    for delivery in (Soft(Votes.from_counts([[3, 1]])), Majority(Votes.from_counts([[3, 1]]))):
        delivery.targets(0)[:] = 7
        assert delivery.targets(0).max() <= 1
    majority = Majority(Votes.from_counts([[3, 1]]))
    majority.labels(0)[:] = 7
    assert majority.labels(0)[0] == 0


def test_multipass_holds_one_byte_per_vote() -> None:
    delivery = Multipass(Votes.from_counts(np.full((100, 10), 5)), seed=0)
    assert delivery._order.nbytes == 100 * 50


def test_many_classes() -> None:
    table = np.zeros((3, 300), dtype=int)
    table[[0, 1, 2], [0, 150, 299]] = 2
    table[:, 280] = 1
    people = Votes.from_counts(table)
    delivered = np.stack([Multipass(people, seed=0).labels(epoch) for epoch in range(3)])
    assert sorted(delivered[:, 2].tolist()) == [280, 299, 299]
    assert {int(label) for epoch in range(60) for label in SLS(people, seed=0).labels(epoch, [1])} == {150, 280}


def test_multipass_refuses_probabilities() -> None:
    with pytest.raises(InputError) as error:
        Multipass(Votes.from_probabilities([[0.5, 0.5]]), seed=0)
    assert str(error.value) == (
        "multipass needs the number of votes for each class, but these votes are probabilities, which do not say how many "
        "people voted. Give counts or single votes, or use a method that needs shares only (soft, sls)."
    )


def test_multipass_refuses_counts_no_memory_holds() -> None:
    with pytest.raises(InputError, match="votes to shuffle must number at most"):
        Multipass(Votes.from_counts([[10**9, 1]]), seed=0)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([2], "items must lie between 0 and 1, but they run from 2 to 2"),
        ([-1], "items must lie between 0 and 1, but they run from -1 to -1"),
        ([0.5], "items must be a list of row numbers, but got float64 of shape"),
        ([[0]], "items must be a list of row numbers, but got int64 of shape"),
        ([True, False], "items must be a list of row numbers, but got bool of shape"),
    ],
)
def test_wrong_items(items: object, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        Soft(Votes.from_counts([[1, 2], [2, 1]])).targets(0, items)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BUILD)
def test_wrong_epochs(name: str) -> None:
    delivery = BUILD[name](Votes.from_counts([[1, 2]]))
    for epoch in (-1, 0.5, None):
        with pytest.raises(InputError, match="epoch must be a whole number of at least 0"):
            delivery.targets(epoch)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize("source", [[[0.5, 0.5]], np.eye(2), None])
def test_only_votes_are_delivered(name: str, source: object) -> None:
    with pytest.raises(InputError, match=r"Build (them|votes) with"):
        BUILD[name](source)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-5, True, 0.5, "a"])
def test_seeds_of_the_control_are_checked_as_given(seed: object) -> None:
    with pytest.raises(InputError, match=f"seed must be a whole number of at least 0, but got {seed!r}"):
        METHODS["deterministic-control"].deliver(Votes.from_counts([[1, 2]]), seed=seed)  # type: ignore[arg-type]
