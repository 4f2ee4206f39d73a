"""Probe before measuring: second derivatives that are not symmetric are not those of a loss."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn

from votewise._errors import InputError
from votewise.diagnostics._measuring import Data
from votewise.diagnostics.eigenvalues import start_vector
from votewise.diagnostics.hessian import Hessian

_TOLERANCE = 0.01

# One pair of directions may by chance be nearly orthogonal to the error, but hardly all three.
_VECTORS = 3


def check_symmetric(model: nn.Module, data: Data, **options: Any) -> None:
    """Refuse a model for which u'Hv and v'Hu differ, u and v being random directions.

    Args:
        model: any module from inputs to (B, K) logits that can be differentiated twice.
        data: items and their distributions.
        options: `batch_size` and `keep_graph` of `Hessian`.
    """
    apart = _asymmetry(model, data, **options)
    if apart <= _TOLERANCE:
        return
    wanted = "products with the Hessian must be symmetric, u'Hv = v'Hu"
    exact = _asymmetry_in_double(model, data, **options)
    if exact is None:
        raise InputError(
            wanted,
            f"they differ by {apart:.1%}, from rounding or a layer with wrong second derivatives in torch",
            "Make the model run in float64, model.double() on inputs.double(), to rule out rounding",
        )
    if exact > _TOLERANCE:
        raise InputError(
            wanted,
            f"they differ by {exact:.1%} in float64: a layer has wrong second derivatives in torch",
            "Rewrite that layer with plain tensor operations",
        )


def _asymmetry(model: nn.Module, data: Data, **options: Any) -> float:
    """The largest |u'Hv - v'Hu| as a share of |Hv| / sqrt(size), the usual size of u'Hv."""
    with Hessian(model, *data, **options) as hessian:
        vectors = torch.stack([start_vector(hessian, seed) for seed in range(_VECTORS)])
        products = torch.stack([hessian.product(vector, exact=True) for vector in vectors])
    forms = torch.stack([(vectors * product).sum(dim=1) for product in products])  # not @, which may round to TF32
    difference, size = torch.stack([(forms - forms.T).abs().max(), products.norm(dim=1).max()]).tolist()
    return difference * math.sqrt(hessian.size) / size if size else 0.0


def _asymmetry_in_double(model: nn.Module, data: Data, **options: Any) -> float | None:
    """The same without the rounding of float32; None for a model that cannot be copied, or relies on float32."""
    try:
        return _asymmetry(copy.deepcopy(model).double(), Data(_in_double(data.inputs), data.targets), **options)
    except torch.OutOfMemoryError:
        raise
    except Exception:  # whatever copying or running it raises
        return None


def _in_double(inputs: Tensor) -> Tensor:
    return inputs.double() if inputs.is_floating_point() else inputs
