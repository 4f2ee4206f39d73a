"""Curvature of the loss around a trained model: largest eigenvalue and trace of its Hessian, by slice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from votewise._checks import IntArray, check_kind, check_number, check_rows, check_whole_number, first_few
from votewise._errors import InputError
from votewise.diagnostics._measuring import (
    Data,
    arithmetic,
    check_data,
    check_trainable,
    evaluating,
    preserving_randomness,
)
from votewise.diagnostics.determinism import check_deterministic
from votewise.diagnostics.eigenvalues import Spectrum, lanczos
from votewise.diagnostics.hessian import Hessian
from votewise.diagnostics.symmetry import check_symmetric
from votewise.diagnostics.trace import MIN_PROBES, Trace, deflated_trace, exact_trace

FULL = "full"

# Items for the checks: if passes differ or derivatives are wrong, they are so on these.
_PROBED = 200


@dataclass(frozen=True)
class Curvature:
    """Curvature of the mean soft cross-entropy over some items.

    Attributes:
        items: number of items.
        loss: mean soft cross-entropy.
        largest: the largest eigenvalue.
        largest_residual: ||Hv - largest v|| / |largest|.
        dominant: the eigenvalue largest in size, which power iteration finds; it differs from `largest` only where
            negative curvature outweighs.
        dominant_residual: the residual of that eigenvalue, measured likewise.
        trace: sum of all eigenvalues.
        trace_error: its standard error.
        products: number of Hessian-vector products.
        converged: whether residuals and standard error are as small as asked for.
    """

    items: int
    loss: float
    largest: float
    largest_residual: float
    dominant: float
    dominant_residual: float
    trace: float
    trace_error: float
    products: int
    converged: bool


def curvature(
    model: nn.Module,
    inputs: Tensor,
    targets: npt.ArrayLike | Tensor,
    *,
    slices: Mapping[str, npt.ArrayLike] | None = None,
    batch_size: int | None = None,
    keep_graph: bool = True,
    tf32: bool = False,
    tolerance: float = 1e-3,
    relative_error: float = 0.02,
    max_products: int = 100,
    max_probes: int = 200,
    seed: int = 0,
) -> dict[str, Curvature]:
    """Measure curvature over all items ("full") and over each slice, in eval mode; the model is left as it was.

    It is first checked, on some of the items, that two passes give the same loss and gradient, and that second
    derivatives are symmetric.

    Args:
        model: any module from inputs to (B, K) logits that can be differentiated twice.
        inputs: (N, ...).
        targets: (N, K) distributions.
        slices: row numbers by name, as from `high_disagreement_slices`.
        batch_size: rows per pass; all by default. Bounds memory only with `keep_graph=False`.
        keep_graph: whether to keep the gradient's graph rather than compute it again for each product.
        tf32: whether products may round to TF32 on a GPU; the reported eigenvalues and residuals are still measured in
            float32, the trace is not.
        tolerance: relative residual of eigenvalues.
        relative_error: standard error of the trace, as a share of it.
        max_products: most products of Lanczos, which keeps that many vectors in memory.
        max_probes: most probes of the trace, at least 10; it is exact if the model has no more parameters than that.
        seed: seed of start vector and probes; all slices see the same ones.
    """
    device = check_trainable(model)[0].device
    data = check_data(inputs, targets)
    parts = {FULL: np.arange(len(data.targets))} | _check_slices(slices or {}, len(data.targets))
    check_number("tolerance", tolerance, 0, 1)
    check_number("relative_error", relative_error, 0, math.inf)
    check_whole_number("max_products", max_products, 1)
    check_whole_number("max_probes", max_probes, MIN_PROBES)
    check_whole_number("seed", seed)

    def measure(chosen: Data) -> Curvature:
        with Hessian(model, *chosen, batch_size=batch_size, keep_graph=keep_graph, tf32=tf32) as hessian:
            spectrum = lanczos(hessian, tolerance=tolerance, max_products=max_products, seed=seed)
            if hessian.size <= max_probes:
                trace = exact_trace(hessian)
            else:
                trace = deflated_trace(
                    hessian, spectrum, relative_error=relative_error, max_probes=max_probes, seed=seed
                )
        return _summary(len(chosen.targets), hessian.loss, spectrum, trace)

    with evaluating(model), preserving_randomness(device), arithmetic(device):
        some = data.rows(parts[FULL][:_PROBED])
        check_deterministic(model, *some, batch_size=batch_size)
        check_symmetric(model, some, batch_size=batch_size, keep_graph=keep_graph)
        return {name: measure(data if name == FULL else data.rows(rows)) for name, rows in parts.items()}


def _summary(items: int, loss: float, spectrum: Spectrum, trace: Trace) -> Curvature:
    largest, dominant = spectrum.largest, spectrum.dominant
    return Curvature(
        items=items,
        loss=loss,
        largest=largest.value,
        largest_residual=largest.residual,
        dominant=dominant.value,
        dominant_residual=dominant.residual,
        trace=trace.value,
        trace_error=trace.standard_error,
        products=spectrum.products + trace.probes,
        converged=largest.converged and dominant.converged and trace.converged,
    )


def _check_slices(slices: Mapping[str, npt.ArrayLike], n_items: int) -> dict[str, IntArray]:
    """Row numbers by name, each slice with at least one."""
    check_kind("slices", slices, Mapping, "Pass row numbers by name, as from high_disagreement_slices")
    checked = {name: check_rows(rows, n_items) for name, rows in slices.items()}
    wrong = [name for name, rows in checked.items() if not len(rows) or name == FULL]
    if wrong:
        raise InputError(
            f"slices must hold items, and none may be named {FULL!r}, which is all of them",
            f"these do not fit: {first_few(wrong)}",
            "Leave them out or rename them",
        )
    return checked
