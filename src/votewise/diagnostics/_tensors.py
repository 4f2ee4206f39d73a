"""Tensors in and arrays out: a model's device, checks of what it is given, and results on the host."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from votewise._checks import FloatArray, check_kind, check_simplex
from votewise._errors import InputError, VotewiseError


def device_of(model: nn.Module) -> torch.device:
    """The device of a model's weights; the CPU if it has none."""
    check_kind("model", model, nn.Module, "Pass the trained network itself")
    first = next(chain(model.parameters(), model.buffers()), None)
    return torch.device("cpu") if first is None else first.device


def as_array(values: Any) -> Any:
    """A tensor on any device as an array; anything else as it is."""
    if not isinstance(values, Tensor):
        return values
    host = values.detach().cpu()
    return (host.float() if host.dtype == torch.bfloat16 else host).numpy()


def check_distributions(name: str, values: Any) -> FloatArray:
    """Return distributions (N, K), a tensor on any device or an array, as float64 on the simplex."""
    given = as_array(values)
    wanted = f"{name} must be distributions, a row of probabilities for each item"
    if hasattr(given, "probs"):
        raise InputError(wanted, f"got {type(given).__name__}", "Pass votes.probs, the shares it holds")
    if _are_labels(given):
        raise InputError(wanted, f"got {len(given):,} labels", "Pass np.eye(K)[labels], K being the number of classes")
    return check_simplex(name, given)


def _are_labels(values: Any) -> bool:
    try:
        array = np.asarray(values)
    except ValueError:  # rows of several lengths
        return False
    return array.ndim == 1 and array.dtype.kind in "iu"


def check_derivable() -> None:
    """Refuse to run where torch records no gradients."""
    if torch.is_inference_mode_enabled():
        raise InputError("gradients must be possible", "torch.inference_mode is on", "Call this outside of it")


def detached(values: Tensor) -> Tensor:
    """Values outside any graph, that can be put into one: those of `torch.inference_mode` are copied."""
    return values.clone() if values.is_inference() else values.detach()


def outputs_of(model: Callable[[Tensor], Any], inputs: Tensor) -> Any:
    """The outputs of a model; an `InputError` that says what it raised if it cannot take the inputs."""
    try:
        return model(inputs)
    except (torch.OutOfMemoryError, VotewiseError):
        raise
    except Exception as error:
        raise InputError(
            f"the model must take inputs of shape {tuple(inputs.shape)} and type {inputs.dtype}",
            f"it says: {str(error).partition(chr(10))[0].rstrip('.') or type(error).__name__}",
            "Prepare the inputs as in training",
        ) from error


def check_numbers(name: str, values: Any, axes: int, *, or_more: bool = False) -> Tensor:
    """Return real numbers as a tensor, finite and not empty: a tensor as it is, anything else copied in float64."""
    try:
        complex_valued = values.is_complex() if isinstance(values, Tensor) else np.iscomplexobj(values)
        if complex_valued:
            raise TypeError("they are complex")
        numbers = values.detach() if isinstance(values, Tensor) else torch.from_numpy(np.array(values, np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be real numbers", str(error), "Pass a tensor or an array") from None
    if numbers.ndim < axes or (numbers.ndim > axes and not or_more) or 0 in numbers.shape:
        raise InputError(
            f"{name} must have {axes}{' or more' if or_more else ''} dimensions, the first of them items, none empty",
            f"the shape is {tuple(numbers.shape)}",
            "Reshape it",
        )
    if not numbers.isfinite().all():
        raise InputError(f"{name} must be finite", "got NaN or infinity", "Check the model they are from")
    return numbers


def check_inputs(name: str, inputs: Any, least: int = 1) -> Tensor:
    """Return `inputs`, a tensor of at least `least` items, out of any graph."""
    check_kind(name, inputs, Tensor, "Pass torch.from_numpy(...) of an array")
    if inputs.ndim == 0 or len(inputs) < least:
        raise InputError(
            f"{name} must have at least {least} rows, one per item",
            f"its shape is {tuple(inputs.shape)}",
            "Pass more",
        )
    return detached(inputs)
