"""What every measurement of a trained model needs: eval mode, exact arithmetic, data of the right shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from votewise._checks import check_kind, check_whole_number, first_few
from votewise._errors import InputError
from votewise.diagnostics._tensors import check_derivable, check_distributions, detached, outputs_of


class Data(NamedTuple):
    """Inputs (N, ...) and target distributions (N, K), row by row."""

    inputs: Tensor
    targets: Tensor

    def rows(self, chosen: npt.NDArray[np.int64]) -> Data:
        """Some of the rows."""
        where = torch.from_numpy(chosen)
        return Data(self.inputs[where.to(self.inputs.device)], self.targets[where])

    def batches(self, size: int, device: torch.device) -> Iterator[Data]:
        """Parts of at most `size` rows, in order, on a device."""
        for inputs, targets in zip(torch.split(self.inputs, size), torch.split(self.targets, size), strict=True):
            yield Data(inputs.to(device), targets.to(device))


def check_data(inputs: Tensor, targets: npt.ArrayLike | Tensor) -> Data:
    """Return inputs and targets as tensors with the same number of rows, the targets on the simplex, float64."""
    check_kind("inputs", inputs, Tensor, "Pass torch.from_numpy(...) of an array")
    probs = check_distributions("targets", targets)
    rows = len(inputs) if inputs.ndim else 0
    if rows != len(probs):
        raise InputError(
            "inputs and targets must have one row per item",
            f"got {rows:,} and {len(probs):,} rows",
            "Pass the same items in both",
        )
    return Data(detached(inputs), torch.tensor(probs))


def check_batch_size(batch_size: int | None, rows: int) -> int:
    """Rows per batch: all of them, unless fewer are asked for."""
    return rows if batch_size is None else min(check_whole_number("batch_size", batch_size, 1), rows)


def check_trainable(model: nn.Module) -> list[nn.Parameter]:
    """The parameters a derivative is taken with respect to, at least one."""
    check_derivable()
    check_kind("model", model, nn.Module, "Pass the trained network itself")
    check_steady(model)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not trainable:
        raise InputError(
            "the model must have trainable parameters",
            f"none of its {len(list(model.parameters()))} requires a gradient",
            "Set requires_grad on those to measure",
        )
    hooked = [name for name, value in model.named_parameters() if value.requires_grad and value._backward_hooks]
    if hooked:
        raise InputError(
            "the model's parameters must have no gradient hooks, which would change its second derivatives",
            f"there are some on {first_few(hooked)}",
            "Remove them, or measure a model that was loaded from the state_dict()",
        )
    short = {str(parameter.dtype) for parameter in trainable} - {"torch.float32", "torch.float64"}
    if short:
        raise InputError(
            "the model must be in float32 or float64, as second derivatives are lost to rounding in lower precision",
            f"it is in {', '.join(sorted(short))}",
            "Measure copy.deepcopy(model).float()",
        )
    return trainable


def summed_loss(model: nn.Module, batch: Data) -> Tensor:
    """Soft cross-entropy of a batch, summed over its rows, in float64.

    In float32 the derivatives of a confident model would be lost to cancellation: they are small differences of
    probabilities and targets.
    """
    logits = outputs_of(model, batch.inputs)
    if not isinstance(logits, Tensor) or logits.shape != batch.targets.shape:
        got = f"shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
        raise InputError(
            f"the model must give logits of shape {tuple(batch.targets.shape)}, one column for each class",
            f"it gave {got}",
            "Check the classes of targets, or wrap the model",
        )
    return -(batch.targets * torch.log_softmax(logits.double(), dim=1)).sum()


def check_finite(name: str, number: float) -> None:
    """Refuse a model whose derivatives are not finite."""
    if not math.isfinite(number):
        raise InputError(
            f"{name} must be finite",
            "got NaN or infinity",
            "Look for NaN in weights and inputs, or for layers without that derivative, such as a square root at 0",
        )


def check_steady(model: nn.Module) -> None:
    """Refuse a model whose forward pass changes its weights."""
    embeddings = (nn.Embedding, nn.EmbeddingBag)
    rescaling = [name for name, each in model.named_modules() if isinstance(each, embeddings) and each.max_norm]
    if rescaling:
        raise InputError(
            "a forward pass must not change the weights",
            f"embeddings with max_norm do ({first_few(rescaling)})",
            "Set their max_norm to None after training",
        )


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into eval mode, and each of its modules back into its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def preserving_randomness(device: torch.device) -> AbstractContextManager[None]:
    """Restore torch's random state afterwards, whatever a model draws."""
    return torch.random.fork_rng([device] if device.type == "cuda" else [])


@contextmanager
def arithmetic(device: torch.device, *, tf32: bool = False) -> Iterator[None]:
    """Gradients on, autocast off; on a GPU float32 is exact and deterministic, unless TF32 is asked for."""
    before = torch.get_float32_matmul_precision()
    with ExitStack() as stack:
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.autocast(device.type, enabled=False))
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))  # the fused kernels have no second derivative
        stack.enter_context(
            torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=not tf32, allow_tf32=tf32)
        )
        stack.callback(torch.set_float32_matmul_precision, before)
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        yield
