"""How sharply the loss bends around a trained model: largest eigenvalue and trace of its Hessian, by slice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from votewise._checks import IntArray, check_kind, check_rows, first_few
from votewise._errors import InputError
from votewise.diagnostics._measuring import check_data, check_trainable, evaluating
from votewise.diagnostics.determinism import check_deterministic
from votewise.diagnostics.eigenvalues import Spectrum, lanczos
from votewise.diagnostics.hessian import Hessian
from votewise.diagnostics.symmetry import check_symmetric
from votewise.diagnostics.trace import Trace, deflated_trace, exact_trace

FULL = "full"

# Items to probe: what differs from pass to pass, or is derived wrongly, is so on these.
_PROBED = 200


@dataclass(frozen=True)
class Curvature:
    """Curvature of the mean soft cross-entropy over some items.

    Attributes:
        items: how many.
        loss: mean soft cross-entropy.
        largest: the largest eigenvalue.
        largest_residual: ||Hv - largest v|| / |largest|.
        dominant: the eigenvalue largest in size, which power iteration finds; another one than `largest` only where
            negative curvature outweighs.
        dominant_residual: as above.
        trace: sum of all eigenvalues.
        trace_error: its standard error.
        products: Hessian-vector products it took.
        converged: whether residuals and standard error came down to what was asked for.
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
    """Measure curvature over all items ("full") and over each slice, in eval mode; the model is found as it was.

    It is first made sure, on some of the items, that two passes give the same loss and gradient, and that second
    derivatives are symmetric.

    Args:
        model: any module from inputs to (B, K) logits that can be derived twice.
        inputs: (N, ...).
        targets: (N, K) distributions.
        slices: row numbers by name, as of `high_disagreement_slices`.
        batch_size: rows of a pass; all by default. Bounds memory only with `keep_graph=False`.
        keep_graph: whether to keep the gradient's graph rather than derive it again for each product.
        tf32: whether products may round to TF32 on a GPU; the eigenvalues and residuals reported are exact all the
            same, the trace is not.
        tolerance: relative residual of eigenvalues.
        relative_error: standard error of the trace, as a share of it.
        max_products: of Lanczos, which keeps as many vectors in memory.
        max_probes: of the trace, which is exact where the model has no more parameters than that.
        seed: of start vector and probes; all slices see the same ones.
    """
    check_trainable(model)
    data = check_data(inputs, targets)
    parts = {FULL: np.arange(len(data.targets))} | _check_slices(slices or {}, len(data.targets))
    with evaluating(model):
        some = data.rows(parts[FULL][:_PROBED])
        check_deterministic(model, *some, batch_size=batch_size)
        check_symmetric(model, some, batch_size=batch_size, keep_graph=keep_graph)

    def measure(rows: IntArray) -> Curvature:
        chosen = data.rows(rows)
        with Hessian(model, *chosen, batch_size=batch_size, keep_graph=keep_graph, tf32=tf32) as hessian:
            spectrum = lanczos(hessian, tolerance=tolerance, max_products=max_products, seed=seed)
            if hessian.size <= max_probes:
                trace = exact_trace(hessian)
            else:
                trace = deflated_trace(
                    hessian, spectrum, relative_error=relative_error, max_probes=max_probes, seed=seed
                )
        return _summary(len(rows), hessian.loss, spectrum, trace)

    return {name: measure(rows) for name, rows in parts.items()}


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
    check_kind("slices", slices, Mapping, "Pass row numbers by name, as of high_disagreement_slices")
    checked = {name: check_rows(rows, n_items) for name, rows in slices.items()}
    wrong = [name for name, rows in checked.items() if not len(rows) or name == FULL]
    if wrong:
        raise InputError(
            f"slices must hold items, and none may be named {FULL!r}, which is all of them",
            f"these do not fit: {first_few(wrong)}",
            "Leave them out or name them otherwise",
        )
    return checked
