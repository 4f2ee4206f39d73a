"""Extreme eigenvalues: power iteration, as papers report it, and Lanczos, which needs about half its products."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from votewise._checks import FloatArray, check_number, check_whole_number
from votewise._random import stream_generator
from votewise.diagnostics._measuring import arithmetic, check_finite
from votewise.diagnostics.hessian import SymmetricOperator

# To look at the numbers makes a GPU wait for the host, so they are looked at once in this many products.
_LOOK_EVERY = 5

# Vectors of a basis that are allocated at first; twice as many when they are used up.
_FIRST_VECTORS = 25

# An end of the spectrum that is smaller in size than this share of the other is not measured again.
_NEAR = 0.9


@dataclass(frozen=True, eq=False)
class Eigenpair:
    """An eigenvalue and how exact it is.

    Attributes:
        value: v'Hv, the Rayleigh quotient, by an exact product.
        residual: ||Hv - value v|| / |value|, by the same product. An eigenvalue lies within residual |value| of value.
        vector: v, (size,), of norm 1.
        products: number of products with the operator, the exact one included.
        converged: whether the residual is at most the tolerance, or at the rounding error of the vector's type.
    """

    value: float
    residual: float
    vector: Tensor
    products: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Both ends of a spectrum, and the orthonormal basis in which they were found.

    Attributes:
        largest: the largest eigenvalue.
        smallest: the smallest eigenvalue. Lanczos waits for it to converge only if it is the largest in size; if it is
            far from that, it is reported as Lanczos found it, without an exact product.
        basis: (m, size), orthonormal rows.
        basis_trace: sum of q'Hq over the rows q of the basis.
        products: number of products with the operator, in all.
    """

    largest: Eigenpair
    smallest: Eigenpair
    basis: Tensor
    basis_trace: float
    products: int

    @property
    def dominant(self) -> Eigenpair:
        """The end that is larger in size, which power iteration finds."""
        return max(self.largest, self.smallest, key=lambda pair: abs(pair.value))


def power_iteration(
    operator: SymmetricOperator, *, tolerance: float = 1e-3, max_products: int = 200, seed: int = 0
) -> Eigenpair:
    """The eigenvalue that is largest in size, with its sign: v <- Hv / ||Hv||.

    The error of the value falls as (l2 / l1)^(2t); it does not converge where l2 = -l1.

    Args:
        operator: the matrix.
        tolerance: relative residual at which to stop.
        max_products: products at which to stop anyway; one further, exact one measures the value.
        seed: seed of the first vector.
    """
    check_number("tolerance", tolerance, 0, 1)
    steps = check_whole_number("max_products", max_products, 1)
    with arithmetic(operator.device):
        vector = start_vector(operator, seed)
        for step in range(1, steps + 1):
            product = operator.product(vector)
            if step % _LOOK_EVERY == 0 and _relative_residual(vector, product) <= tolerance:
                return _measured(operator, vector, step + 1, tolerance)
            vector = _unit(product)
        return _measured(operator, vector, steps + 1, tolerance)


def lanczos(
    operator: SymmetricOperator, *, tolerance: float = 1e-3, max_products: int = 100, seed: int = 0
) -> Spectrum:
    """Both ends of the spectrum: the largest eigenvalue, and the largest in size.

    Every new vector is made orthogonal to all before it, so that none is found twice (Parlett, The Symmetric
    Eigenvalue Problem, chapter 13). The basis holds one vector per product.

    Args:
        operator: the matrix.
        tolerance: relative residual at which to stop.
        max_products: products at which to stop anyway; one or two further, exact ones measure the ends.
        seed: seed of the first vector.

    Example:
        >>> from votewise.diagnostics import Hessian
        >>> model = torch.nn.Linear(2, 3, bias=False).double()
        >>> _ = torch.nn.init.zeros_(model.weight)
        >>> with Hessian(model, torch.eye(2).double(), [[1, 0, 0], [0.5, 0.5, 0]]) as hessian:
        ...     round(lanczos(hessian).largest.value, 6)
        0.166667
    """
    check_number("tolerance", tolerance, 0, 1)
    steps = min(check_whole_number("max_products", max_products, 1), operator.size)
    with arithmetic(operator.device):
        basis = start_vector(operator, seed)[None]
        entries = torch.zeros(2, steps, dtype=operator.dtype, device=operator.device)
        for step in range(steps):
            if len(basis) <= step + 1 < steps:
                basis = _grown(basis, step + 1, steps)
            _extend(operator, basis, entries, step)
            if (step + 1) % _LOOK_EVERY == 0 or step + 1 == steps:
                ritz = _RitzPairs.of(entries[:, : step + 1])
                if ritz.ends_converged(tolerance):
                    break
        return _spectrum(operator, basis, ritz, products=step + 1, tolerance=tolerance)


def start_vector(operator: SymmetricOperator, seed: int) -> Tensor:
    """A random direction drawn on the host, so that it is the same on every device.

    Its entries are uniform: a vector of random signs can be orthogonal to an eigenvector of few parameters.
    """
    drawn = np.frombuffer(stream_generator(seed, "eigenvalue").bytes(4 * operator.size), dtype=np.int32)
    whole = torch.from_numpy(drawn.copy()).to(operator.device)
    return _unit(whole.to(operator.dtype) / 2**31)


def _grown(basis: Tensor, used: int, most: int) -> Tensor:
    """A basis with room for more vectors, the ones in use copied."""
    larger = basis.new_empty(min(max(2 * used, _FIRST_VECTORS), most), basis.shape[1])
    larger[:used] = basis[:used]
    return larger


def _extend(operator: SymmetricOperator, basis: Tensor, entries: Tensor, step: int) -> None:
    """One step: the next column of the tridiagonal matrix (diagonal, and below it), and the next vector."""
    known = basis[: step + 1]
    rest = operator.product(known[-1])
    entries[0, step] = known[-1] @ rest
    for _ in range(2):  # once leaves errors from cancellation; twice is enough (Parlett, chapter 6)
        rest = rest - known.T @ (known @ rest)
    entries[1, step] = rest.norm()
    if step + 1 < len(basis):
        basis[step + 1] = _unit(rest)


@dataclass(frozen=True, eq=False)
class _RitzPairs:
    """Eigenpairs of the operator within the span of the basis, by ascending value.

    Attributes:
        values: (m,).
        coordinates: (m, m), one column per value, in terms of the basis.
        residuals: (m,) norms of Hv - value v, not relative.
        rounding: the rounding error of residuals, which count as zero below it.
    """

    values: FloatArray
    coordinates: FloatArray
    residuals: FloatArray
    rounding: float

    @classmethod
    def of(cls, entries: Tensor) -> _RitzPairs:
        """Solve the tridiagonal matrix, up to where the basis first spans an invariant subspace."""
        diagonal, below = entries.double().cpu().numpy()
        check_finite("products with the Hessian", float(diagonal.sum() + below.sum()))
        rounding = 100 * torch.finfo(entries.dtype).eps * float(np.abs([diagonal, below]).max())
        ends = np.flatnonzero(below <= rounding)
        m = int(ends[0]) + 1 if ends.size else len(diagonal)
        off = below[: m - 1]
        values, coordinates = np.linalg.eigh(np.diag(diagonal[:m]) + np.diag(off, -1) + np.diag(off, 1))
        return cls(values, coordinates, below[m - 1] * np.abs(coordinates[-1]), rounding)

    def ends_converged(self, tolerance: float) -> bool:
        """Whether the largest value and the largest in size have been found, with half the tolerance to spare."""
        wanted = {-1, int(np.abs(self.values).argmax())}
        return all(self.residuals[i] <= max(tolerance / 2 * abs(self.values[i]), self.rounding) for i in wanted)

    def vector(self, which: int, basis: Tensor) -> Tensor:
        """A Ritz vector, (size,), of norm 1."""
        column = torch.from_numpy(self.coordinates[:, which].copy()).to(basis.device, basis.dtype)
        return _unit(column @ basis[: len(column)])

    def pair(self, which: int, basis: Tensor, products: int, tolerance: float) -> Eigenpair:
        """An eigenpair as found within the basis."""
        value = float(self.values[which])
        residual = float(self.residuals[which]) / abs(value) if value else 0.0
        converged = residual <= tolerance or residual * abs(value) <= self.rounding
        return Eigenpair(value, residual, self.vector(which, basis), products, converged)


def _spectrum(
    operator: SymmetricOperator, basis: Tensor, ritz: _RitzPairs, *, products: int, tolerance: float
) -> Spectrum:
    """Measure the largest eigenvalue by an exact product, and the smallest where it may be the larger in size."""
    largest, smallest = (ritz.pair(which, basis, products, tolerance) for which in (-1, 0))
    largest = _measured(operator, largest.vector, products + 1, tolerance, ritz.rounding)
    exact = abs(smallest.value) > _NEAR * abs(largest.value)
    if exact:
        smallest = _measured(operator, smallest.vector, products + 1, tolerance, ritz.rounding)
    return Spectrum(largest, smallest, basis[: len(ritz.values)], float(ritz.values.sum()), products + 1 + exact)


def _measured(
    operator: SymmetricOperator, vector: Tensor, products: int, tolerance: float, rounding: float = 0.0
) -> Eigenpair:
    """Value and residual of an approximate eigenvector of norm 1, by an exact product."""
    product = operator.product(vector, exact=True)
    value = (vector @ product).item()
    residual = _relative_residual(vector, product)
    check_finite("products with the Hessian", residual)
    converged = residual <= tolerance or residual * abs(value) <= rounding
    return Eigenpair(value, residual, vector, products, converged)


def _relative_residual(vector: Tensor, product: Tensor) -> float:
    """||Hv - (v'Hv) v|| / |v'Hv|; 0 where Hv is zero."""
    value = vector @ product
    residual, size = torch.stack([(product - value * vector).norm(), value.abs()]).tolist()
    if size == 0:
        return 0.0 if residual == 0 else math.inf
    return residual / size


def _unit(vector: Tensor) -> Tensor:
    """A vector of norm 1, or the zero vector."""
    return vector / vector.norm().clamp_min(torch.finfo(vector.dtype).tiny)
