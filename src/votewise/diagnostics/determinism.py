"""Probe before measuring: the derivative of a loss that changes from pass to pass means nothing."""

from __future__ import annotations

import numpy.typing as npt
import torch
from torch import Tensor, nn

from votewise._checks import check_number, first_few
from votewise._errors import InputError
from votewise.diagnostics._measuring import (
    Data,
    arithmetic,
    check_batch_size,
    check_data,
    check_finite,
    check_trainable,
    preserving_randomness,
    summed_loss,
)


def check_deterministic(
    model: nn.Module,
    inputs: Tensor,
    targets: npt.ArrayLike | Tensor,
    *,
    batch_size: int | None = None,
    tolerance: float = 1e-4,
) -> None:
    """Refuse a model in training mode, or one whose loss or gradient differs between two passes over the same data.

    Torch's random state is left as it was.

    Args:
        model: any module from inputs to (B, K) logits.
        inputs: (N, ...).
        targets: (N, K) distributions.
        batch_size: rows that fit into memory at once; all by default.
        tolerance: largest difference between the passes, relative to the loss and to the norm of the gradient.
    """
    parameters, data = check_trainable(model), check_data(inputs, targets)
    check_number("tolerance", tolerance, 0, 1)
    rows = check_batch_size(batch_size, len(data.targets))
    training = [name or "the model itself" for name, module in model.named_modules() if module.training]
    if training:
        raise InputError(
            "the model must be in eval mode",
            f"modules are in training mode ({first_few(training)})",
            "Call model.eval(); in training mode, dropout and batch norm change the loss from pass to pass",
        )
    with preserving_randomness(parameters[0].device):
        passes = [_loss_and_gradient(model, parameters, data, rows) for _ in range(2)]
    check_same("losses", passes[0][0], passes[1][0], tolerance)
    check_same("gradients", passes[0][1], passes[1][1], tolerance)


def _loss_and_gradient(
    model: nn.Module, parameters: list[nn.Parameter], data: Data, rows: int
) -> tuple[Tensor, Tensor]:
    device = parameters[0].device
    loss, gradient = torch.zeros((), device=device), torch.zeros((), device=device)
    with arithmetic(device):
        for batch in data.batches(rows, device):
            part = summed_loss(model, batch) / len(data.targets)
            if part.requires_grad:
                parts = torch.autograd.grad(part, parameters, allow_unused=True, materialize_grads=True)
                gradient = gradient + torch.cat([each.to_dense().flatten() for each in parts])
            loss = loss + part.detach()
    check_finite("the loss and its gradient", (loss + gradient.sum()).item())
    return loss, gradient


def check_same(name: str, first: Tensor, second: Tensor, tolerance: float) -> None:
    """Refuse a model if two passes differ."""
    difference, size = (first - second).norm().item(), first.norm().item()
    if difference > tolerance * size:
        raise InputError(
            f"two passes over the same data must give the same {name}",
            f"they differ by {difference:.3g} in {size:.3g}",
            "Switch off dropout, noise and augmentation that the model also applies in eval mode",
        )
