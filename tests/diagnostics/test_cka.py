"""Linear CKA against its formula and its definition by kernels; its laws; features it cannot take."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from leaks import assert_nothing_kept
from votewise import InputError
from votewise.diagnostics import linear_cka, mean_pairwise_cka, pairwise_cka

seeds = st.integers(0, 10**6)
sizes = st.integers(1, 9)


def features(seed: int, items: int = 12, width: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(items, width))


def by_formula(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    return float(np.linalg.norm(x.T @ y) ** 2 / (np.linalg.norm(x.T @ x) * np.linalg.norm(y.T @ y)))


def by_kernels(x: np.ndarray, y: np.ndarray) -> float:
    """HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)) with the centring matrix written out."""
    centring = np.eye(len(x)) - 1 / len(x)

    def hsic(k: np.ndarray, m: np.ndarray) -> float:
        return float(np.trace(k @ centring @ m @ centring))

    k, m = x @ x.T, y @ y.T
    return hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m))


@given(seeds, st.integers(2, 12), sizes, sizes)
def test_is_its_formula_with_few_and_with_many_features(seed: int, items: int, first: int, second: int) -> None:
    x, y = features(seed, items, first), features(seed + 1, items, second)
    assert linear_cka(x, y) == pytest.approx(by_formula(x, y), abs=1e-12)
    assert linear_cka(x, y) == pytest.approx(by_kernels(x, y), abs=1e-9)


@given(seeds, st.sampled_from([3, 20]), st.floats(-1e3, 1e3), st.floats(1e-6, 1e6))
def test_rotation_scale_and_shift_change_nothing(seed: int, width: int, shift: float, scale: float) -> None:
    x, y = features(seed, 10, width), features(seed + 1, 10, 5)
    rotation = np.linalg.qr(features(seed + 2, width, width))[0]
    moved = scale * (x @ rotation) + shift * scale
    assert linear_cka(x, moved) == pytest.approx(1, abs=1e-9)
    assert linear_cka(moved, y) == pytest.approx(linear_cka(x, y), abs=1e-9)


@given(seeds, st.integers(2, 12), sizes, sizes)
def test_is_symmetric_and_between_zero_and_one(seed: int, items: int, first: int, second: int) -> None:
    x, y = features(seed, items, first), features(seed + 1, items, second)
    assert 0 <= linear_cka(x, y) <= 1
    assert linear_cka(x, y) == pytest.approx(linear_cka(y, x), abs=1e-14)
    assert linear_cka(x, x) == pytest.approx(1, abs=1e-12)
    assert linear_cka(x, x) <= 1


def test_features_that_have_nothing_in_common() -> None:
    assert linear_cka([[1.0], [1.0], [-1.0], [-1.0]], [[1.0], [-1.0], [1.0], [-1.0]]) == 0


@pytest.mark.parametrize("size", [1e-300, 1e150, 1e300])
def test_very_small_and_very_large_features(size: float) -> None:
    x, y = features(0), features(1)
    assert linear_cka(size * x, y) == pytest.approx(by_formula(x, y), rel=1e-12)


def test_a_far_off_mean_costs_no_precision() -> None:
    x = np.random.default_rng(0).integers(-4, 5, size=(12, 4)).astype(float)  # exact also far off
    assert linear_cka(x + 2.0**40, features(1)) == pytest.approx(by_formula(x, features(1)), rel=1e-12)


def test_takes_tensors_arrays_and_lists_alike() -> None:
    x, y = features(0).astype(np.float32), features(1).astype(np.float32)
    frozen = x.copy()
    frozen.flags.writeable = False
    expected = by_formula(x.astype(float), y.astype(float))
    for first, second in ((torch.from_numpy(x).requires_grad_(), y), (frozen, y), (x.tolist(), torch.from_numpy(y))):
        assert linear_cka(first, second) == pytest.approx(expected, rel=1e-12)
    assert isinstance(linear_cka(x, y), float)


def test_pairs_of_runs() -> None:
    runs = [features(seed, width=width) for seed, width in enumerate((3, 4, 20))]
    table = pairwise_cka(runs)
    expected = [[by_formula(x, y) for y in runs] for x in runs]
    np.testing.assert_allclose(table, expected, atol=1e-12)
    np.testing.assert_array_equal(table, table.T)
    assert mean_pairwise_cka(runs) == pytest.approx(np.mean([expected[0][1], expected[0][2], expected[1][2]]))
    assert mean_pairwise_cka(torch.from_numpy(np.stack(runs[:1] * 3))) == pytest.approx(1)


def test_keeps_no_memory_and_leaves_features_alone() -> None:
    x, y = features(0), torch.from_numpy(features(1))
    kept = x.copy(), y.clone()
    assert_nothing_kept(lambda: mean_pairwise_cka([x, y]))
    np.testing.assert_array_equal(x, kept[0])
    assert torch.equal(y, kept[1])


@pytest.mark.parametrize("constant", [np.full((3, 2), 0.1), [[0.1, 0.7]] * 3, torch.zeros(3, 2)])
def test_features_that_do_not_vary_are_refused(constant: object) -> None:
    with pytest.raises(InputError) as caught:
        linear_cka(np.eye(3), constant)
    assert str(caught.value) == (
        "features must differ between items, but all 3 rows are the same. "
        "CKA is not defined for them; leave that model out."
    )


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            np.eye(3),
            np.eye(4),
            "features must be of the same items, but got tables of 3, 4 rows. "
            "Run the same items, in the same order, through each model.",
        ),
        (
            np.ones((3, 2, 2)),
            np.eye(3),
            "features must have 2 dimensions, the first of them items, none empty, but the shape is (3, 2, 2). Reshape it.",
        ),
        (
            np.eye(3),
            np.ones((3, 0)),
            "features must have 2 dimensions, the first of them items, none empty, but the shape is (3, 0). Reshape it.",
        ),
        (
            [[1.0], [float("nan")]],
            [[1.0], [2.0]],
            "features must be finite, but got NaN or infinity. Check the model they are from.",
        ),
        (
            torch.tensor([[1.0], [float("inf")]]),
            [[1.0], [2.0]],
            "features must be finite, but got NaN or infinity. Check the model they are from.",
        ),
    ],
)
def test_other_wrong_features_are_refused(first: object, second: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        linear_cka(first, second)
    assert str(caught.value) == message


def test_what_is_no_table_is_refused() -> None:
    for wrong in ("cat", [[1.0], [2.0, 3.0]], [["a"]], None):
        with pytest.raises(InputError, match=r"^features must "):
            linear_cka(wrong, np.eye(3))
    with pytest.raises(InputError, match=r"^features must hold at least two tables, but got 1\. Pass one per model\.$"):
        pairwise_cka([np.eye(3)])


def test_features_as_far_apart_as_numbers_go_have_a_similarity() -> None:
    first = np.array([[1.0], [-1.0], [0.0]])
    assert linear_cka(1e308 * first, first) == pytest.approx(1, rel=1e-12)


def test_complex_features_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        linear_cka(torch.ones(3, 2, dtype=torch.complex64), torch.ones(3, 2))
    assert str(caught.value) == "features must be real numbers, but they are complex. Pass a tensor or an array."
