"""The trace of an operator, by random probes: plain, or with the large eigenvalues projected out first."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from votewise._checks import check_number, check_whole_number
from votewise._errors import InputError
from votewise._random import stream_generator
from votewise.diagnostics._measuring import arithmetic, check_finite
from votewise.diagnostics.eigenvalues import Spectrum
from votewise.diagnostics.hessian import SymmetricOperator

MIN_PROBES = 10

# To look at the standard error makes a GPU wait for the host. To look only once, at the first probes, and let them
# decide the number of all, covers the truth no more often, and misses relative_error in four of ten cases.
_LOOK_EVERY = 5


@dataclass(frozen=True)
class Trace:
    """An estimate of a trace.

    Attributes:
        value: the estimate, unbiased for a given number of probes.
        standard_error: standard error of the value, from the spread of the probes.
        probes: number of random vectors, each of which took one product.
        converged: whether the standard error is as small a share of the value as asked for.
    """

    value: float
    standard_error: float
    probes: int
    converged: bool


def hutchinson(
    operator: SymmetricOperator,
    *,
    relative_error: float = 0.02,
    min_probes: int = MIN_PROBES,
    max_probes: int = 200,
    seed: int = 0,
) -> Trace:
    """The mean of z'Hz over vectors z of random signs (Hutchinson 1989); one has variance 2 sum_{i != j} H_ij^2.

    Probes depend only on the seed: two operators measured with one seed see the same ones.

    Args:
        operator: the matrix.
        relative_error: standard error, as a share of the value, at which to stop.
        min_probes: probes before the standard error is first looked at.
        max_probes: probes at which to stop anyway.
        seed: seed of the probes.
    """
    budget = _Budget.checked(relative_error, min_probes, max_probes)
    return _estimate(operator, None, budget, seed)


def deflated_trace(
    operator: SymmetricOperator,
    spectrum: Spectrum,
    *,
    relative_error: float = 0.02,
    min_probes: int = MIN_PROBES,
    max_probes: int = 200,
    seed: int = 0,
) -> Trace:
    """Hutchinson's estimate outside the basis that Lanczos has built, plus the trace within it, which is known.

    Like Hutch++ (Meyer et al. 2021, arXiv 2010.09649) it projects out the largest eigenvalues, which cause most of the
    variance; the basis costs no further products. Probes are independent of the basis, so the estimate is unbiased.

    Args:
        operator: the matrix.
        spectrum: result of `lanczos` for the same operator.
        relative_error: standard error, as a share of the value, at which to stop.
        min_probes: probes before the standard error is first looked at.
        max_probes: probes at which to stop anyway.
        seed: seed of the probes.
    """
    budget = _Budget.checked(relative_error, min_probes, max_probes)
    if spectrum.basis.shape[1] != operator.size:
        raise InputError(
            "the spectrum must be that of the operator",
            f"its vectors have {spectrum.basis.shape[1]:,} entries and the operator {operator.size:,}",
            "Call lanczos with the same operator",
        )
    return _estimate(operator, spectrum, budget, seed)


def exact_trace(operator: SymmetricOperator) -> Trace:
    """The sum of the diagonal, one product per entry: for matrices so small that no estimate is needed."""
    units = torch.eye(operator.size, dtype=operator.dtype, device=operator.device)
    with arithmetic(operator.device):
        entries = torch.stack([unit @ operator.product(unit) for unit in units]).double()
    check_finite("products with the Hessian", entries.sum().item())
    return Trace(entries.sum().item(), 0.0, operator.size, converged=True)


@dataclass(frozen=True)
class _Budget:
    relative_error: float
    min_probes: int
    max_probes: int

    @classmethod
    def checked(cls, relative_error: float, min_probes: int, max_probes: int) -> _Budget:
        check_number("relative_error", relative_error, 0, math.inf)
        least = check_whole_number("min_probes", min_probes, 2)
        return cls(relative_error, least, check_whole_number("max_probes", max_probes, least))

    def looks_at(self, probes: int) -> bool:
        """Whether to look at the standard error after this many probes."""
        return probes == self.max_probes or (
            probes >= self.min_probes and (probes - self.min_probes) % _LOOK_EVERY == 0
        )

    def summary(self, known: float, samples: Tensor) -> Trace:
        """The estimate from the known part and z'Hz of each probe."""
        n, values = len(samples), samples.double()
        value, error = known + values.mean().item(), values.std().item() / math.sqrt(n)
        check_finite("products with the Hessian", value + error)
        return Trace(value, error, n, error <= self.relative_error * abs(value))


def _estimate(operator: SymmetricOperator, spectrum: Spectrum | None, budget: _Budget, seed: int) -> Trace:
    samples = torch.empty(budget.max_probes, dtype=operator.dtype, device=operator.device)
    known = 0.0 if spectrum is None else spectrum.basis_trace
    with arithmetic(operator.device):
        for probe in range(budget.max_probes):
            signs = _random_signs(operator, seed, probe)
            if spectrum is not None:
                signs = signs - spectrum.basis.T @ (spectrum.basis @ signs)
            samples[probe] = signs @ operator.product(signs)
            if budget.looks_at(probe + 1):
                trace = budget.summary(known, samples[: probe + 1])
                if trace.converged:
                    break
    return trace


def _random_signs(operator: SymmetricOperator, seed: int, probe: int) -> Tensor:
    """Independent +1 and -1, (size,), drawn on the host, so that they are the same on every device."""
    drawn = np.frombuffer(stream_generator(seed, "trace", probe).bytes(-(-operator.size // 8)), dtype=np.uint8)
    packed = torch.from_numpy(drawn.copy()).to(operator.device)
    places = torch.arange(7, -1, -1, dtype=torch.uint8, device=operator.device)
    bits = (packed[:, None] >> places & 1).flatten()[: operator.size]
    return bits.to(operator.dtype) * 2 - 1
