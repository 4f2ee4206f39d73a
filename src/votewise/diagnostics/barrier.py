"""The loss on the straight line between two sets of weights: do they lie in one valley?"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from votewise._checks import FloatArray, check_kind, check_whole_number, first_few, frozen
from votewise._errors import InputError
from votewise.diagnostics._measuring import Data, arithmetic, check_data, summed_loss
from votewise.diagnostics._tensors import check_inputs, device_of
from votewise.diagnostics.determinism import check_same

State = Mapping[str, Tensor]

# Relative difference of two passes, more than rounding makes where a GPU adds in another order or rounds to TF32.
_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Barrier:
    """The loss between two models.

    Attributes:
        positions: (P,) share a of the second model, from 0 to 1.
        losses: (P,) mean soft NLL L(a) in nats.
        height: the greatest excess; 0 where the loss nowhere rises above the line between its ends.
        peak: position of the greatest excess, the first of several.
    """

    positions: FloatArray
    losses: FloatArray
    height: float
    peak: float

    @property
    def excess(self) -> FloatArray:
        """L(a) - (1 - a) L(0) - a L(1), (P,)."""
        return _excess(self.positions, self.losses)


def barrier(
    first_state: State,
    second_state: State,
    model: nn.Module,
    inputs: Tensor,
    targets: Any,
    *,
    points: int = 21,
    recalibrate: Tensor | None = None,
    batch_size: int = 1000,
    tf32: bool = False,
) -> Barrier:
    """Loss barrier max_a [L(a) - (1 - a) L(0) - a L(1)], where L(a) is the loss at (1 - a) first + a second.

    The loss is the mean soft NLL in eval mode; that two passes give the same is made sure first. Buffers, such as the
    statistics of BatchNorm, lie on the line like weights; whole numbers, such as its count of batches, are those of
    the nearer end. The definition is that of Entezari et al. 2022 (arXiv 2110.06296); Jordan et al. 2023
    (arXiv 2211.08403) say why `recalibrate` lowers it.

    Args:
        first_state: `state_dict()` of the model at a = 0.
        second_state: the same at a = 1.
        model: any module with such a state, from inputs to (B, K) logits; it is copied, not changed.
        inputs: (N, ...) items on which the loss is taken.
        targets: (N, K) their distributions.
        points: positions on the line, both ends included.
        recalibrate: (M, ...) inputs on which each point, ends too, takes the statistics of its BatchNorm layers anew:
            the mean over items of their batches' means and variances. None: they lie on the line.
        batch_size: items at a time.
        tf32: whether passes may round to TF32 on a GPU.
    """
    positions = np.linspace(0, 1, check_whole_number("points", points, least=3))
    size = check_whole_number("batch_size", batch_size, least=2)
    device = device_of(model)
    probe = copy.deepcopy(model).eval()
    first = _check_state("first_state", first_state, probe)
    second = _check_state("second_state", second_state, probe)
    data = Data(*(values.to(device) for values in check_data(inputs, targets)))
    fresh = None if recalibrate is None else check_inputs("recalibrate", recalibrate, least=2).to(device)
    losses = []
    with arithmetic(device, tf32=tf32), torch.no_grad():
        for position in positions:
            probe.load_state_dict(_between(first, second, float(position)))
            if fresh is not None:
                _recalibrate(probe, fresh, size)
            losses.append(_mean_loss(probe, data, size))
            if len(losses) == 1:
                _check_chance(probe, data, size)
    return _barrier_of(positions, torch.stack(losses).cpu().numpy())


def _between(first: State, second: State, position: float) -> State:
    """The state at a position; equal to an end there, bit for bit."""
    nearer = first if position < 0.5 else second
    return {
        name: torch.lerp(value, second[name], position)
        if value.is_floating_point() or value.is_complex()
        else nearer[name]
        for name, value in first.items()
    }


def _recalibrate(model: nn.Module, inputs: Tensor, batch_size: int) -> None:
    """Take the statistics of all BatchNorm layers of a model in eval mode from `inputs`."""
    norms = [norm for norm in model.modules() if isinstance(norm, _BatchNorm) and norm.running_mean is not None]
    seen = 0
    for norm in norms:
        norm.train()
    # Parts of about one size, none below it: a last one of a single item would have no variance.
    for part in torch.tensor_split(inputs, max(1, len(inputs) // batch_size)):
        seen += len(part)
        for norm in norms:
            norm.momentum = len(part) / seen  # makes the moving average the mean over all items so far
        model(part)
    model.eval()


def _mean_loss(model: nn.Module, data: Data, batch_size: int) -> Tensor:
    """Mean soft NLL, (); left on the device, so that no point waits for the host."""
    parts = [summed_loss(model, batch) for batch in data.batches(batch_size, data.targets.device)]
    return torch.stack(parts).double().sum() / len(data.targets)


def _check_chance(model: nn.Module, data: Data, batch_size: int) -> None:
    """Refuse a model that draws chance of its own, which two passes over a batch show."""
    few = Data(*(values[:batch_size] for values in data))
    first, second = (_mean_loss(model, few, batch_size) for _ in range(2))
    check_same("losses", first, second, _TOLERANCE)


def _barrier_of(positions: FloatArray, losses: FloatArray) -> Barrier:
    bad = positions[~np.isfinite(losses)]
    if bad.size:
        raise InputError(
            "the loss must be a finite number on the whole line",
            f"it is not at {first_few(bad.round(4))}",
            "Check both states and the inputs for NaN and infinity",
        )
    excess = _excess(positions, losses)
    top = int(excess.argmax())
    return Barrier(frozen(positions), frozen(losses), float(excess[top]), float(positions[top]))


def _excess(positions: FloatArray, losses: FloatArray) -> FloatArray:
    # In this order the ends, and everything between equal losses, are exactly zero.
    return np.asarray((1 - positions) * (losses - losses[0]) + positions * (losses - losses[-1]))


def _check_state(name: str, state: State, model: nn.Module) -> dict[str, Tensor]:
    """Return a state of the model, on its device and in its precision."""
    check_kind(name, state, Mapping, "Pass the state_dict() of a model")
    own = model.state_dict()
    strangers = sorted({*own} ^ {*state}) or [key for key in own if not _is_alike(own[key], state[key])]
    if strangers:
        raise InputError(
            f"{name} must have the names and shapes of the model's state",
            f"they differ in {first_few(strangers)}",
            "Pass the state_dict() of a model of the same kind",
        )
    return {key: state[key].to(own[key]) for key in own}


def _is_alike(own: Tensor, value: Any) -> bool:
    return isinstance(value, Tensor) and own.shape == value.shape
