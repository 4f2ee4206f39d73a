"""Ends of spectra that are known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.curvature import DenseOperator, with_spectrum
from votewise import InputError
from votewise.diagnostics import Eigenpair, lanczos, power_iteration

FALLING = 100 / np.arange(1, 201) ** 1.5


def true_residual(matrix: torch.Tensor, pair: Eigenpair) -> float:
    rest = matrix @ pair.vector - pair.value * pair.vector
    return (rest.norm() / abs(pair.value)).item()


def test_the_largest_in_size_and_the_largest_are_told_apart() -> None:
    operator = DenseOperator(with_spectrum([-5, 3, 1, 0.5, 0, -1]))
    spectrum = lanczos(operator)
    assert spectrum.largest.value == pytest.approx(3)
    assert spectrum.smallest.value == spectrum.dominant.value == pytest.approx(-5)
    assert power_iteration(operator).value == pytest.approx(-5, rel=1e-5)
    assert lanczos(DenseOperator(-operator.matrix)).dominant.value == pytest.approx(5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_both_methods_vouch_for_what_they_found(dtype: torch.dtype) -> None:
    matrix = with_spectrum(FALLING).to(dtype)
    by_power, by_lanczos = DenseOperator(matrix), DenseOperator(matrix)
    power, spectrum = power_iteration(by_power), lanczos(by_lanczos)
    for pair in (power, spectrum.largest):
        assert pair.converged
        assert pair.residual <= 1e-3
        assert pair.residual == pytest.approx(true_residual(matrix, pair), rel=1e-2, abs=1e-6)
        assert pair.value == pytest.approx(100, rel=2e-6)  # the error of a Rayleigh quotient is the residual squared
        assert pair.vector.norm().item() == pytest.approx(1, rel=1e-6)
        assert pair.vector.dtype == dtype
    assert (power.products, spectrum.products) == (by_power.products, by_lanczos.products)


def test_lanczos_needs_fewer_products_where_eigenvalues_lie_close() -> None:
    matrix = with_spectrum([10, 9.5, 9, *np.linspace(0, 1, 97)])
    power = power_iteration(DenseOperator(matrix), max_products=500)
    spectrum = lanczos(DenseOperator(matrix))
    assert power.converged
    assert spectrum.largest.converged
    assert 2 * spectrum.products < power.products


def test_the_error_of_power_iteration_falls_as_the_ratio_to_twice_the_steps() -> None:
    operator = DenseOperator(with_spectrum([4, 3, 0, 0]))
    errors = [4 - power_iteration(operator, tolerance=0, max_products=t).value for t in (10, 15, 20)]
    assert errors[1] / errors[0] == pytest.approx((3 / 4) ** 10, rel=0.05)
    assert errors[2] / errors[1] == pytest.approx((3 / 4) ** 10, rel=0.01)


def test_what_did_not_converge_says_so() -> None:
    opposite = power_iteration(DenseOperator(with_spectrum([2, -2, 1])))
    assert not opposite.converged
    assert opposite.residual > 0.1
    hard = DenseOperator(with_spectrum(np.linspace(0.9, 1, 300)))
    cut = lanczos(hard, tolerance=1e-8, max_products=5)
    assert not cut.largest.converged
    assert cut.products == hard.products == 7
    assert cut.largest.residual == pytest.approx(true_residual(hard.matrix, cut.largest), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=12), st.integers(0, 99))
def test_all_small_spectra_also_repeated_zero_and_single_ones(values: list[int], seed: int) -> None:
    spectrum = lanczos(DenseOperator(with_spectrum(values, seed)), seed=seed)
    assert spectrum.largest.converged
    assert spectrum.dominant.converged
    assert spectrum.largest.value == pytest.approx(max(values), abs=1e-5)
    assert abs(spectrum.dominant.value) == pytest.approx(max(map(abs, values)), abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 40), st.integers(0, 99))
def test_ends_are_those_of_numpy_and_scale_and_shift_with_the_matrix(size: int, seed: int) -> None:
    values = np.random.default_rng(seed).standard_normal(size)
    matrix = with_spectrum(values, seed)
    tight = {"tolerance": 1e-6, "seed": seed}
    spectrum = lanczos(DenseOperator(matrix), **tight)
    assert spectrum.largest.value == pytest.approx(values.max(), rel=1e-8, abs=1e-10)
    assert lanczos(DenseOperator(7 * matrix), **tight).largest.value == pytest.approx(7 * values.max(), rel=1e-8)
    shifted = lanczos(DenseOperator(matrix + 20 * torch.eye(size)), **tight)
    assert shifted.dominant.value == pytest.approx(20 + values.max(), rel=1e-8)
    gram = spectrum.basis @ spectrum.basis.T
    torch.testing.assert_close(gram, torch.eye(len(gram), dtype=gram.dtype), rtol=0, atol=1e-10)
    projected = torch.trace(spectrum.basis @ matrix @ spectrum.basis.T).item()
    assert spectrum.basis_trace == pytest.approx(projected, abs=1e-10)


@pytest.mark.parametrize("method", [power_iteration, lambda *a, **k: lanczos(*a, **k).largest])
def test_one_parameter_and_no_curvature(method: object) -> None:
    one = method(DenseOperator(torch.tensor([[-3.0]])))
    assert (one.value, one.converged) == (pytest.approx(-3), True)
    none = method(DenseOperator(torch.zeros(4, 4)))
    assert (none.value, none.residual, none.converged) == (0, 0, True)


def test_a_largest_value_of_zero_counts_as_found_at_the_rounding_of_numbers() -> None:
    spectrum = lanczos(DenseOperator(with_spectrum([-5, -3, -1, 0])))
    assert spectrum.largest.value == pytest.approx(0, abs=1e-13)
    assert spectrum.largest.converged
    assert spectrum.dominant.value == pytest.approx(-5)


@pytest.mark.parametrize("seed", range(10))
def test_a_start_that_is_an_eigenvector_makes_up_no_value_of_zero(seed: int) -> None:
    spectrum = lanczos(DenseOperator(-torch.eye(6)), seed=seed)
    assert spectrum.largest.value == pytest.approx(-1)
    assert len(spectrum.basis) == 1


def test_negative_curvature_that_outweighs_is_waited_for() -> None:
    values = [50, *np.linspace(-60, -50, 99)]
    spectrum = lanczos(DenseOperator(with_spectrum(values)), tolerance=1e-4)
    assert spectrum.largest.converged
    assert spectrum.dominant.converged
    assert spectrum.dominant.value == pytest.approx(-60, rel=6e-6)  # (residual 60)² over the gap of 0.1


def test_rounded_products_are_checked_by_exact_ones() -> None:
    """As with TF32: the value is right to the square of the noise, and the residual owns up to it."""
    exact = DenseOperator(with_spectrum(FALLING))
    rounded = DenseOperator(exact.matrix, noise=3e-4)
    for pair in (power_iteration(rounded), lanczos(rounded).largest):
        assert pair.value == pytest.approx(100, rel=1e-5)
        assert pair.residual == pytest.approx(true_residual(exact.matrix, pair), rel=1e-6)


def test_the_seed_decides() -> None:
    operator = DenseOperator(with_spectrum(FALLING))
    assert torch.equal(lanczos(operator, seed=1).basis, lanczos(operator, seed=1).basis)
    assert not torch.equal(lanczos(operator, seed=1).basis, lanczos(operator, seed=2).basis)
    assert power_iteration(operator, seed=1).value == power_iteration(operator, seed=1).value


def test_memory_is_taken_as_it_is_needed() -> None:
    class Diagonal:
        size, dtype, device = 10**6, torch.float32, torch.device("cpu")

        def product(self, vector: torch.Tensor, *, exact: bool = False) -> torch.Tensor:
            return torch.cat([100 * vector[:1], vector[1:]])

    spectrum = lanczos(Diagonal(), max_products=10**6)  # whose vectors would take 4 TB
    assert spectrum.largest.value == pytest.approx(100, rel=1e-5)


def test_bad_input_is_refused() -> None:
    operator = DenseOperator(torch.full((3, 3), float("nan")))
    for method in (power_iteration, lanczos):
        with pytest.raises(InputError) as caught:
            method(operator)
        assert str(caught.value) == (
            "products with the Hessian must be finite, but got NaN or infinity. "
            "Look for NaN in weights and inputs, or for layers without that derivative, such as a square root at 0."
        )
        with pytest.raises(InputError, match="tolerance must be a number from 0 to 1, but got 2"):
            method(operator, tolerance=2)
        with pytest.raises(InputError, match="max_products must be a whole number of at least 1, but got 0"):
            method(operator, max_products=0)
        with pytest.raises(InputError, match="seed must be a whole number of at least 0, but got -1"):
            method(operator, seed=-1)
