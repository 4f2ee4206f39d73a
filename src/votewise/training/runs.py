"""One run as a value: what to train, what came out; and the plain way to do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from votewise._checks import FloatArray, IntArray
from votewise._errors import DivergedError
from votewise.delivery import Delivery
from votewise.training.batches import Inputs
from votewise.training.config import TrainConfig
from votewise.training.loop import build_model, exact_arithmetic, predict_logits, train_classifier

ModelMaker = Callable[[], nn.Module]
State = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class Job:
    """A run to be done.

    Attributes:
        seed: root seed of start, order, augmentation.
        train: (n,) rows of the inputs to train on.
        delivery: their labels, in that order.
        held_out: (m,) rows to predict after every epoch.
        selection: (s, K) vote shares of the first s held-out rows, whose soft NLL chooses the best epoch.
    """

    seed: int
    train: IntArray
    delivery: Delivery
    held_out: IntArray
    selection: FloatArray


@dataclass(frozen=True, eq=False)
class Trained:
    """What a run left.

    Attributes:
        losses: (epochs,) mean training loss of each epoch.
        logits: (epochs, m, K) float32 for the held-out rows after each epoch, in the run's precision.
        best_epoch: counted from 0; the earliest with the lowest soft NLL on the selection rows.
        best_logits: (m, K) float32 at that epoch, computed in fp32.
        last_logits: (m, K) float32 after the last epoch, computed in fp32.
        best: the model's weights and buffers at that epoch, on the CPU.
        last: the same after the last epoch.
    """

    losses: FloatArray
    logits: npt.NDArray[np.float32]
    best_epoch: int
    best_logits: npt.NDArray[np.float32]
    last_logits: npt.NDArray[np.float32]
    best: State
    last: State


def train_job(
    make: ModelMaker,
    inputs: Tensor,
    job: Job,
    config: TrainConfig,
    *,
    device: torch.device | str = "cpu",
    on_epoch: Callable[[], None] | None = None,
) -> Trained:
    """Do one run with the plain loop, on any device; a loss that stops being a number is a `DivergedError`.

    Args:
        make: builds the model.
        inputs: (N, ...) of the whole data set.
        job: the run.
        config: its recipe.
        device: where to train.
        on_epoch: called after each epoch.
    """
    model = build_model(make, seed=job.seed).to(device)
    data = Inputs.place(inputs, config, device)
    held_out = torch.from_numpy(job.held_out).to(device)
    losses: list[float] = []
    logits: list[Tensor] = []
    best_nll, best_epoch, best = np.inf, 0, state_of(model)

    def after(epoch: int, loss: float) -> None:
        nonlocal best_nll, best_epoch, best
        losses.append(loss)
        with torch.autocast(held_out.device.type, torch.bfloat16, enabled=config.precision == "bf16"):
            logits.append(predict_logits(model, data, held_out).cpu())
        nll = selection_nll(logits[-1], job.selection)
        if not np.isfinite(nll):
            raise DivergedError(epoch)
        if nll < best_nll:
            best_nll, best_epoch, best = nll, epoch, state_of(model)
        if on_epoch is not None:
            on_epoch()

    with exact_arithmetic():
        train_classifier(model, inputs[job.train], job.delivery, config, seed=job.seed, on_epoch=after)
        curve = torch.stack(logits).numpy()
        return finish(model, data, held_out, np.array(losses), curve, best_epoch, best, state_of(model))


def finish(
    model: nn.Module,
    data: Inputs,
    held_out: Tensor,
    losses: FloatArray,
    logits: npt.NDArray[np.float32],
    best_epoch: int,
    best: State,
    last: State,
) -> Trained:
    """Predict the held-out rows once more in fp32, at the best and the last epoch, whatever the run's precision was."""
    exact = []
    for state in (best, last):
        model.load_state_dict(state)
        exact.append(predict_logits(model, data, held_out).cpu().numpy())
    return Trained(losses, logits, best_epoch, exact[0], exact[1], best, last)


def selection_nll(logits: Tensor, selection: FloatArray) -> float:
    """Soft NLL of the first rows of logits against vote shares, in float64."""
    wanted = torch.from_numpy(selection)
    return float(-(wanted * torch.log_softmax(logits[: len(wanted)].double(), dim=1)).sum(dim=1).mean())


def state_of(model: nn.Module) -> State:
    """A copy of a model's weights and buffers on the CPU."""
    return {name: value.detach().to("cpu", copy=True) for name, value in model.state_dict().items()}
