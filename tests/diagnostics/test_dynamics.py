"""Epochs read off a curve: by a loop, by laws, and on curves that rise, break off or hold no numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from votewise import InputError
from votewise.diagnostics import Dynamics, training_dynamics

NAN, INF = math.nan, math.inf
losses = st.one_of(st.floats(0, 1e6), st.integers(0, 4).map(float), st.sampled_from([NAN, INF]))
curves = st.lists(losses, min_size=1, max_size=30).filter(lambda curve: any(map(math.isfinite, curve)))
shares = st.floats(0.01, 1)


def by_loop(curve: list[float], share: float) -> Dynamics:
    numbers = [loss for loss in curve if math.isfinite(loss)]
    best = min(numbers)

    def first_below(threshold: float) -> int:
        return next(epoch for epoch, loss in enumerate(curve) if loss <= max(threshold, best))

    return Dynamics(
        best,
        curve.index(best),
        first_below(best / share),
        first_below(best * (2 - share)),
        first_below(best + (1 - share) * (numbers[0] - best)),
        len(curve) - len(numbers),
    )


@given(curves, shares)
def test_is_a_loop_over_the_epochs(curve: list[float], share: float) -> None:
    assert training_dynamics(curve, share=share) == by_loop(curve, share)


@given(curves, shares)
def test_laws(curve: list[float], share: float) -> None:
    result = training_dynamics(curve, share=share)
    near = (result.near_by_quotient, result.near_by_excess, result.near_by_descent)
    assert all(0 <= epoch <= result.best_epoch for epoch in near)
    assert near[0] <= near[1]  # 1 / s >= 2 - s
    stricter = training_dynamics(curve, share=1.0)
    assert stricter.near_by_quotient == stricter.near_by_excess == stricter.near_by_descent == result.best_epoch
    worse_later = training_dynamics([*curve, result.best * 2 + 1], share=share)
    assert (worse_later.best_epoch, worse_later.near_by_descent) == (result.best_epoch, result.near_by_descent)


def test_the_three_readings_differ() -> None:
    """best 1: below 1.0526 from epoch 3, below 1.05 from epoch 4; 95 % of the way from 3 is 1.1, from epoch 2."""
    curve = [3.0, 2.0, 1.09, 1.051, 1.04, 1.0, 1.2]
    assert training_dynamics(curve) == Dynamics(
        best=1.0, best_epoch=5, near_by_quotient=3, near_by_excess=4, near_by_descent=2, missing=0
    )


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([1.0, 2.0, 3.0], Dynamics(1.0, 0, 0, 0, 0, 0)),
        ([0.5], Dynamics(0.5, 0, 0, 0, 0, 0)),
        ([2.0, 2.0, 2.0], Dynamics(2.0, 0, 0, 0, 0, 0)),
        ([2.0, 1.0, NAN, NAN], Dynamics(1.0, 1, 1, 1, 1, 2)),
        ([NAN, INF, 2.0, 1.0], Dynamics(1.0, 3, 3, 3, 3, 2)),
        ([1.0, 0.0, 0.0], Dynamics(0.0, 1, 1, 1, 1, 0)),
    ],
    ids=["rising", "one epoch", "flat", "breaks off", "begins late", "reaches zero"],
)
def test_curves_of_other_kinds(curve: list[float], expected: Dynamics) -> None:
    assert training_dynamics(curve) == expected
    assert training_dynamics(np.array(curve, dtype=np.float32)) == expected


@pytest.mark.parametrize(
    ("curve", "message"),
    [
        (
            [],
            "losses must be a list of numbers, at least one of them finite, but got 0 finite numbers of shape (0,). "
            "Pass the loss after each epoch.",
        ),
        (
            [NAN, INF],
            "losses must be a list of numbers, at least one of them finite, but got 0 finite numbers of shape (2,). "
            "Pass the loss after each epoch.",
        ),
        (
            [[1.0, 2.0]],
            "losses must be a list of numbers, at least one of them finite, but got 2 finite numbers of shape (1, 2). "
            "Pass the loss after each epoch.",
        ),
        (
            ["low"],
            "losses must be a list of numbers, at least one of them finite, but got 0 finite numbers of shape (0, 0). "
            "Pass the loss after each epoch.",
        ),
        (
            [1.0, -0.5],
            "losses must not be negative, since a share of the best is a quotient, but the lowest is -0.5. "
            "Pass a loss whose lowest possible value is 0, such as the soft NLL.",
        ),
    ],
)
def test_what_is_no_curve_is_refused(curve: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        training_dynamics(curve)  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize("share", [0, 1.5, NAN, "most"])
def test_what_is_no_share_is_refused(share: object) -> None:
    with pytest.raises(
        InputError, match=r"^share must be a number from 1e-06 to 1, but got .*\. Pass one in that range\.$"
    ):
        training_dynamics([1.0], share=share)  # type: ignore[arg-type]
