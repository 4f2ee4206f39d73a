"""Curvature of trained models, whole and by slice, against the Hessian written out."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from oracles.curvature import dense_hessian
from votewise import InputError, Votes
from votewise.diagnostics import (
    Curvature,
    Hessian,
    check_deterministic,
    curvature,
    exact_trace,
    gradient_variance_per_item,
    high_disagreement_slices,
    hutchinson,
    lanczos,
    power_iteration,
)

SHARE = 0.1  # half of this network's eigenvalues are negative, so that its trace is small beside their spread


def small_net(dtype: torch.dtype = torch.float64) -> nn.Module:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Conv2d(1, 3, 2, bias=False), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4))
    return model.to(dtype)


def data(items: int = 20, dtype: torch.dtype = torch.float64) -> tuple[Tensor, np.ndarray]:
    rng = np.random.default_rng(items)
    return torch.from_numpy(rng.standard_normal((items, 1, 3, 3))).to(dtype), rng.dirichlet(np.full(4, 0.4), size=items)


def agrees(found: Curvature, matrix: Tensor) -> None:
    values = torch.linalg.eigvalsh(matrix).numpy()
    assert found.largest == pytest.approx(values.max(), rel=1e-5)
    assert found.dominant == pytest.approx(max(values, key=abs), rel=1e-5)
    assert max(found.largest_residual, found.dominant_residual) <= 1e-3
    assert abs(found.trace - values.sum()) < 3 * found.trace_error + 1e-4 * abs(values.sum())
    assert found.converged == (found.trace_error <= SHARE * abs(found.trace))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "options", [{}, {"batch_size": 6}, {"batch_size": 6, "keep_graph": False, "tf32": True}], ids=str
)
def test_whole_and_slices_are_those_of_the_hessian_written_out(options: dict[str, int], dtype: torch.dtype) -> None:
    model, (inputs, targets) = small_net(dtype), data(dtype=dtype)
    slices = high_disagreement_slices(targets) | {"one": [7]}
    found = curvature(model, inputs, targets, slices=slices, relative_error=SHARE, **options)
    assert found["full"].converged
    assert list(found) == ["full", "top-20%", "top-10%", "top-5%", "H>0.5", "one"]
    assert model.training
    model.double().eval()
    for name, rows in ({"full": np.arange(20)} | slices).items():
        exact, p = inputs[rows].double(), torch.from_numpy(targets[rows])
        agrees(found[name], dense_hessian(model, exact, p))
        assert found[name].items == len(rows)
        assert found[name].loss == pytest.approx(nn.functional.cross_entropy(model(exact), p).item(), rel=1e-5)


def test_negative_curvature_that_outweighs_is_told_apart() -> None:
    class Saddle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.Parameter(torch.zeros(3).double())

        def forward(self, x: Tensor) -> Tensor:
            bend = x[:, :1] * (self.weights[:1] ** 2 / 2 - self.weights[1] ** 2 / 8 - self.weights[2] ** 2 / 8)
            return torch.cat([bend, -bend], dim=1)

    measured = curvature(Saddle(), torch.ones(1, 1).double(), [[1.0, 0.0]])["full"]
    assert measured.largest == pytest.approx(0.25)
    assert measured.dominant == pytest.approx(-1.0)
    assert (measured.trace, measured.trace_error) == (pytest.approx(-0.5), 0)
    assert measured.converged


def test_traces_of_slices_add_up_with_the_same_probes() -> None:
    model, (inputs, targets) = small_net().eval(), data()
    part = np.arange(20) < 5

    def trace(rows: np.ndarray) -> float:
        with Hessian(model, inputs[rows], targets[rows]) as hessian:
            return hutchinson(hessian, min_probes=10, max_probes=10).value

    assert trace(np.full(20, True)) == pytest.approx(0.25 * trace(part) + 0.75 * trace(~part), rel=1e-12)


def test_for_softmax_regression_it_does_not_depend_on_the_targets() -> None:
    model = nn.Linear(9, 4).double()
    inputs, targets = data()
    soft, hard = (curvature(model, inputs.flatten(1), p)["full"] for p in (targets, np.eye(4)[targets.argmax(1)]))
    assert soft.largest == pytest.approx(hard.largest, rel=1e-12)
    assert soft.trace == pytest.approx(hard.trace, rel=1e-12)
    assert soft.loss != hard.loss


def test_the_same_seed_gives_the_same_numbers() -> None:
    model, (inputs, targets) = small_net(), data()
    first, again, other = (curvature(model, inputs, targets, relative_error=1, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_a_model_with_dropout_is_measured_in_eval_mode_and_one_with_noise_refused() -> None:
    inputs, targets = data()
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(9, 4)).double()
    assert curvature(model, inputs, targets) == curvature(model, inputs, targets)
    assert model[1].training

    class Noisy(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x + torch.randn_like(x))

    noisy = nn.Sequential(nn.Flatten(), Noisy(9, 4)).double()
    with pytest.raises(InputError, match="two passes over the same data must give the same losses"):
        curvature(noisy, inputs, targets)
    assert noisy.training


def test_a_second_derivative_that_does_not_exist_is_refused() -> None:
    class Rooted(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return (super().forward(x) * 0).abs() ** 1.5  # the first derivative at 0 is 0, the second infinite

    with pytest.raises(InputError, match="products with the Hessian must be finite, but got NaN or infinity"):
        curvature(Rooted(4, 3), torch.randn(2, 4), np.full((2, 3), 1 / 3))


@pytest.mark.parametrize(
    ("slices", "message"),
    [
        (
            {"none": [], "full": [1], "good": [2]},
            "slices must hold items, and none may be named 'full', which is all of them, "
            "but these do not fit: 'none', 'full'. Leave them out or rename them.",
        ),
        ({"far": [20]}, "items must lie between 0 and 19, but they run from 20 to 20. Check the indices."),
        (
            {"mask": [True, False]},
            "items must be a list of row numbers, but got bool of shape (2,). Pass np.flatnonzero of the mask.",
        ),
        ({"share": [0.5]}, "items must be a list of row numbers, but got float64 of shape (1,). Pass integers."),
    ],
)
def test_slices_that_hold_no_items_of_the_data_are_refused(slices: dict[str, list[int]], message: str) -> None:
    with pytest.raises(InputError) as caught:
        curvature(small_net(), *data(), slices=slices)
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_labels_are_no_distributions(kind: Callable[[list[int]], object]) -> None:
    inputs, targets = data()
    with pytest.raises(InputError) as caught:
        curvature(small_net(), inputs, kind([0] * len(targets)))
    assert str(caught.value) == (
        f"targets must be distributions, a row of probabilities for each item, but got {len(targets)} labels. "
        "Pass np.eye(K)[labels], K being the number of classes."
    )


def test_votes_and_labels_are_told_from_their_shares_everywhere() -> None:
    inputs, targets = data()
    votes, labels = Votes.from_probabilities(targets), targets.argmax(axis=1)
    measures: dict[str, Callable[[object], object]] = {
        "targets": lambda given: curvature(small_net(), inputs, given),  # type: ignore[arg-type]
        "reference": lambda given: gradient_variance_per_item(inputs.flatten(1), given),
        "reference ": lambda given: high_disagreement_slices(given),  # type: ignore[arg-type]
    }
    for name, measure in measures.items():
        wanted = f"{name.strip()} must be distributions, a row of probabilities for each item, but "
        for wrong, told in (
            (votes, "got Votes. Pass votes.probs, the shares it holds."),
            (labels, "got 20 labels. Pass np.eye(K)[labels], K being the number of classes."),
        ):
            with pytest.raises(InputError) as caught:
                measure(wrong)
            assert str(caught.value) == wanted + told


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": -1}, "tolerance must be a number from 0 to 1, but got -1. Pass one in that range."),
        ({"relative_error": -1}, "relative_error must be a number from 0 to inf, but got -1. Pass one in that range."),
        ({"max_products": 0}, "max_products must be a whole number of at least 1, but got 0. Pass an int, 1 or more."),
        (
            {"max_probes": None},
            "max_probes must be a whole number of at least 10, but got None. Pass an int, 10 or more.",
        ),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, but got 1.5. Pass an int, 0 or more."),
    ],
)
def test_wrong_settings_are_named_before_anything_is_measured(options: dict[str, object], message: str) -> None:
    class Recorder(nn.Linear):
        passes = 0

        def forward(self, x: Tensor) -> Tensor:
            self.passes += 1
            return super().forward(x)

    model = Recorder(9, 4).double()
    inputs, targets = data()
    with pytest.raises(InputError) as caught:
        curvature(model, inputs.flatten(1), targets, **options)  # type: ignore[arg-type]
    assert str(caught.value) == message
    assert model.passes == 0


def test_a_surrounding_autocast_changes_no_number() -> None:
    model, (inputs, targets) = small_net(torch.float32), data(dtype=torch.float32)
    options = {"relative_error": SHARE}
    expected = curvature(model, inputs, targets, **options)
    with Hessian(model, inputs, targets) as hessian:
        estimators: list[Callable[[], object]] = [
            lambda: power_iteration(hessian).value,
            lambda: lanczos(hessian).largest.value,
            lambda: hutchinson(hessian, max_probes=20),
            lambda: exact_trace(hessian),
        ]
        alone = [estimate() for estimate in estimators]
        with torch.autocast("cpu", torch.bfloat16):
            assert curvature(model, inputs, targets, **options) == expected
            assert [estimate() for estimate in estimators] == alone


def test_a_model_that_is_random_leaves_the_random_state_alone() -> None:
    class Noisy(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x + torch.randn_like(x))

    inputs, targets = data()
    model, before = Noisy(9, 4).double().eval(), torch.get_rng_state()
    for measure in (curvature, check_deterministic):
        with pytest.raises(InputError):
            measure(model, inputs.flatten(1), targets)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_module_that_cannot_be_put_into_eval_mode_leaves_the_others_in_their_own() -> None:
    class Stubborn(nn.Identity):
        def train(self, mode: bool = True) -> Any:
            if not mode:
                raise RuntimeError("always training")
            return super().train(mode)

    model = nn.Sequential(nn.Dropout(), Stubborn(), nn.Flatten(), nn.Linear(9, 4)).double()
    with pytest.raises(RuntimeError, match="always training"):
        curvature(model, *data())
    assert all(module.training for module in model.modules())


def test_inputs_may_be_from_inference_mode() -> None:
    model, (inputs, targets) = small_net(), data()
    with torch.inference_mode():
        inferred = inputs * 1
    assert curvature(model, inferred, targets) == curvature(model, inputs, targets)


def test_no_tensor_outlives_the_measurement() -> None:
    model, (inputs, targets) = small_net(), data(6)

    def living() -> int:
        gc.collect()
        return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())

    options = {"slices": {"some": [0, 1]}, "relative_error": 1.0}
    curvature(model, inputs, targets, **options)
    before = living()
    for _ in range(10):
        curvature(model, inputs, targets, **options)
    assert living() == before


def test_slices_by_entropy_take_ties_in_order() -> None:
    p = np.array([[1, 0], [0.5, 0.5], [0.7, 0.3], [0.5, 0.5], [0.3, 0.7], [1, 0], [0, 1], [1, 0], [1, 0], [1, 0]])
    assert {name: rows.tolist() for name, rows in high_disagreement_slices(p).items()} == {
        "top-20%": [1, 3],
        "top-10%": [1],
        "top-5%": [1],
        "H>0.5": [1, 2, 3, 4],
    }
    unanimous = high_disagreement_slices(np.eye(2)[[0, 1, 1]])
    assert {name: rows.tolist() for name, rows in unanimous.items()} == {"top-20%": [0], "top-10%": [0], "top-5%": [0]}
    with pytest.raises(InputError, match="each row of reference must be non-negative and sum to 1"):
        high_disagreement_slices([[2, 1]])


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.integers(2, 5), st.integers(0, 999))
def test_slices_hold_the_items_of_highest_entropy(n: int, k: int, seed: int) -> None:
    counts = np.random.default_rng(seed).multinomial(4, np.full(k, 1 / k), size=n)
    entropy = np.array([sum(-c / 4 * math.log(c / 4) for c in sorted(row) if c) for row in counts])
    for name, rows in high_disagreement_slices(counts / 4).items():
        assert list(rows) == sorted(set(rows))
        if name.startswith("top"):
            assert len(rows) == max(1, round(n * int(name[4:-1]) / 100))
            least = entropy[rows].min()
            assert not np.any(np.delete(entropy, rows) > least + 1e-9)
        else:
            assert list(rows) == list(np.flatnonzero(entropy > 0.5))
