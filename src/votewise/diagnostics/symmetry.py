"""Probe before measuring: second derivatives that are not symmetric are none of a loss."""

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

# One pair of directions may by chance be nearly orthogonal to what is wrong; not all three.
_VECTORS = 3


def check_symmetric(model: nn.Module, data: Data, **options: Any) -> None:
    """Refuse a model for which u'Hv and v'Hu differ, u and v being random directions.

    Args:
        model: any module from inputs to (B, K) logits that can be derived twice.
        data: items and their distributions.
        options: `batch_size` and `keep_graph` of `Hessian`.
    """
    apart = _asymmetry(model, data, **options)
    if apart > _TOLERANCE and _asymmetry_in_double(model, data, **options) > _TOLERANCE:
        raise InputError(
            "products with the Hessian must be symmetric, u'Hv = v'Hu",
            f"they differ by {apart:.1%}: torch derives a layer of the model wrongly",
            "It is known to with weight_norm, which torch.nn.utils.parametrize.remove_parametrizations folds into the "
            "weight",
        )


def _asymmetry(model: nn.Module, data: Data, **options: Any) -> float:
    """The largest |u'Hv - v'Hu| as a share of |Hv| / sqrt(size), which u'Hv is about."""
    with Hessian(model, *data, **options) as hessian:
        vectors = torch.stack([start_vector(hessian, seed) for seed in range(_VECTORS)])
        products = torch.stack([hessian.product(vector, exact=True) for vector in vectors])
    forms = torch.stack([(vectors * product).sum(dim=1) for product in products])  # not @, which may round to TF32
    difference, size = torch.stack([(forms - forms.T).abs().max(), products.norm(dim=1).max()]).tolist()
    return difference * math.sqrt(hessian.size) / size if size else 0.0


def _asymmetry_in_double(model: nn.Module, data: Data, **options: Any) -> float:
    """The same without the rounding of float32, which is all that is left where every item is beyond doubt."""
    try:
        return _asymmetry(copy.deepcopy(model).double(), Data(_in_double(data.inputs), data.targets), **options)
    except torch.OutOfMemoryError:
        raise
    except (RuntimeError, InputError):  # a model that cannot be copied, or counts on float32
        return math.inf


def _in_double(inputs: Tensor) -> Tensor:
    return inputs.double() if inputs.is_floating_point() else inputs
