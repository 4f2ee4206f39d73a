"""The loss on the straight line between two models: is there a barrier?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from votewise._checks import FloatArray, check_kind, check_whole_number, first_few, frozen
from votewise._errors import InputError
from votewise.diagnostics._measuring import (
    Data,
    arithmetic,
    check_data,
    check_steady,
    evaluating,
    preserving_randomness,
    summed_loss,
)
from votewise.diagnostics._tensors import check_inputs, device_of, outputs_of
from votewise.diagnostics.determinism import check_same

State = Mapping[str, Tensor]

# Relative difference between two passes: above what a GPU's order of addition and TF32 make by rounding.
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
    model: nn.Module,
    first_state: State,
    second_state: State,
    inputs: Tensor,
    targets: Any,
    *,
    points: int = 21,
    recalibrate: Tensor | None = None,
    batch_size: int = 1000,
    tf32: bool = False,
) -> Barrier:
    """Loss barrier max_a [L(a) - (1 - a) L(0) - a L(1)], where L(a) is the loss at (1 - a) first + a second.

    The loss is the mean soft NLL in eval mode; it is first checked that two passes give the same one. Buffers, such as
    the statistics of BatchNorm, are interpolated like weights; whole numbers, such as its count of batches, are those
    of the nearer end. The definition is that of Entezari et al. 2022 (arXiv 2110.06296); Jordan et al. 2023
    (arXiv 2211.08403) explain why `recalibrate` lowers it.

    Args:
        model: any module from inputs to (B, K) logits; it holds each point's weights in turn, and its own afterwards.
        first_state: `state_dict()` of the model at a = 0.
        second_state: the same at a = 1.
        inputs: (N, ...) items on which the loss is measured.
        targets: (N, K) their distributions.
        points: positions on the line, both ends included.
        recalibrate: (M, ...) inputs on which the statistics of BatchNorm layers are computed again at each point, ends
            included: the mean over items of their batches' means and variances. None: they are interpolated.
        batch_size: items at a time.
        tf32: whether passes may round to TF32 on a GPU.
    """
    positions = np.linspace(0, 1, check_whole_number("points", points, least=3))
    size = check_whole_number("batch_size", batch_size, least=2)
    device = device_of(model)
    check_steady(model)
    own = _tensors_of(model.state_dict(keep_vars=True))
    first = _check_state("first_state", first_state, own)
    second = _check_state("second_state", second_state, own)
    data = Data(*(values.to(device) for values in check_data(inputs, targets)))
    fresh = None if recalibrate is None else check_inputs("recalibrate", recalibrate, least=2).to(device)
    losses = []
    with (
        evaluating(model),
        _restoring(own),
        preserving_randomness(device),
        arithmetic(device, tf32=tf32),
        torch.no_grad(),
    ):
        for position in positions:
            _load(own, _between(first, second, float(position)))
            if fresh is not None:
                _recalibrate(model, fresh, size)
            losses.append(_mean_loss(model, data, size))
            if len(losses) == 1:
                _check_repeatable(model, data, size)
    return _barrier_of(positions, torch.stack(losses).cpu().numpy())


def _between(first: State, second: State, position: float) -> State:
    """The state at a position; equal to an end there, bit for bit."""
    nearer = first if position < 0.5 else second
    if position in (0, 1):
        return nearer
    return {
        name: _mixed(value, second[name], position) if value.is_floating_point() or value.is_complex() else nearer[name]
        for name, value in first.items()
    }


def _mixed(first: Tensor, second: Tensor, position: float) -> Tensor:
    """(1 - position) first + position second; what both share stays as it is, such as the -inf of a mask."""
    return torch.where(first == second, first, torch.lerp(first, second, position))


def _load(own: State, state: State) -> None:
    """Write a state into a model's own tensors. By `data`, so that graphs that hold them are not invalidated."""
    for name, value in own.items():
        value.data.copy_(state[name])


@contextmanager
def _restoring(own: State) -> Iterator[None]:
    """Put the values of a model's tensors back afterwards."""
    kept = {name: value.detach().clone() for name, value in own.items()}
    try:
        yield
    finally:
        _load(own, kept)


def _recalibrate(model: nn.Module, inputs: Tensor, batch_size: int) -> None:
    """Compute the statistics of all BatchNorm layers of a model in eval mode from `inputs`."""
    norms = [norm for norm in model.modules() if isinstance(norm, _BatchNorm) and norm.running_mean is not None]
    with _averaging(norms):
        # Parts of nearly the same size, none smaller than batch_size: a single item would have no variance.
        for part in torch.tensor_split(inputs, max(1, len(inputs) // batch_size)):
            outputs_of(model, part)


@contextmanager
def _averaging(norms: list[_BatchNorm]) -> Iterator[None]:
    """Let the statistics of norms become the mean over all rows of all calls."""
    momenta, seen = [norm.momentum for norm in norms], dict.fromkeys(norms, 0)

    def weigh(norm: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Tensor]) -> None:
        rows = len((*args, *kwargs.values())[0])
        seen[norm] += rows  # type: ignore[index]
        norm.momentum = rows / seen[norm]  # type: ignore[assignment,index]

    handles = [norm.register_forward_pre_hook(weigh, with_kwargs=True) for norm in norms]
    try:
        for norm in norms:
            norm.train()
        yield
    finally:
        for norm, handle, momentum in zip(norms, handles, momenta, strict=True):
            norm.eval()
            norm.momentum = momentum
            handle.remove()


def _mean_loss(model: nn.Module, data: Data, batch_size: int) -> Tensor:
    """Mean soft NLL, (); left on the device, so that no point waits for the host."""
    parts = [summed_loss(model, batch) for batch in data.batches(batch_size, data.targets.device)]
    return torch.stack(parts).double().sum() / len(data.targets)


def _check_repeatable(model: nn.Module, data: Data, batch_size: int) -> None:
    """Refuse a model that is random in eval mode: two passes over a batch differ."""
    few = Data(*(values[:batch_size] for values in data))
    first, second = (_mean_loss(model, few, batch_size) for _ in range(2))
    check_same("losses", first, second, _TOLERANCE)


def _barrier_of(positions: FloatArray, losses: FloatArray) -> Barrier:
    bad = positions[~np.isfinite(losses)]
    if bad.size:
        raise InputError(
            "the loss must be finite on the whole line",
            f"it is not at {first_few(bad.round(4))}",
            "Check both states and the inputs for NaN and infinity",
        )
    excess = _excess(positions, losses)
    top = int(excess.argmax())
    return Barrier(frozen(positions), frozen(losses), float(excess[top]), float(positions[top]))


def _excess(positions: FloatArray, losses: FloatArray) -> FloatArray:
    # In this order the ends, and everything between equal losses, are exactly zero.
    return np.asarray((1 - positions) * (losses - losses[0]) + positions * (losses - losses[-1]))


def _tensors_of(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The tensors of a state, without the extra state that modules may add to it."""
    return {name: value for name, value in state.items() if isinstance(value, Tensor)}


def _check_state(name: str, given: State, own: State) -> dict[str, Tensor]:
    """Return a copy of a state of the model, on its device and in its precision."""
    check_kind(name, given, Mapping, "Pass the state_dict() of a model")
    state = _tensors_of(given)
    wrong = sorted({*own} ^ {*state}) or [key for key in own if own[key].shape != state[key].shape]
    if wrong:
        raise InputError(
            f"{name} must have the names and shapes of the model's state",
            f"they differ in {first_few(wrong)}",
            "Pass the state_dict() of a model of the same kind",
        )
    # Copied, as the state may share memory with the model's own tensors.
    return {key: state[key].detach().to(own[key].device, own[key].dtype, copy=True) for key in own}
