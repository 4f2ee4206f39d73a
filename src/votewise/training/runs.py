"""One run: what to train, the result, and the plain way to do it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from votewise._checks import FloatArray, IntArray, check_simplex
from votewise._errors import DivergedError, InputError
from votewise.delivery import Delivery
from votewise.training.batches import Inputs
from votewise.training.config import TrainConfig
from votewise.training.loop import arithmetic, build_model, check_delivery, predict_logits, train_classifier

ModelMaker = Callable[[], nn.Module]
State = dict[str, Tensor]
Logits = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Job:
    """A run to do.

    Attributes:
        seed: root seed of initial weights, order, augmentation and dropout.
        train: (n,) rows of the inputs to train on.
        delivery: their labels, in that order.
        held_out: (m,) rows to predict after every epoch; may be empty.
        selection: (s, K) vote shares of the first s held-out rows, whose soft NLL chooses the best epoch. Without
            held-out rows it is empty, and the last epoch counts as the best.
        own_targets: (s, K) what the run's method would itself deliver for these rows, the mean over all epochs; None
            where it is not recorded how well the run does on them.
    """

    seed: int
    train: IntArray
    delivery: Delivery
    held_out: IntArray
    selection: FloatArray
    own_targets: FloatArray | None = None

    def __post_init__(self) -> None:
        """Refuse labels of other items and vote shares of other rows or classes."""
        check_delivery(self.delivery)
        if len(self.train) != len(self.delivery.item_ids):
            raise InputError(
                "a job must have one training row for each item of its delivery",
                f"got {len(self.train):,} rows and {len(self.delivery.item_ids):,} items",
                "Deliver votes.take(train)",
            )
        if not len(self.held_out) and not len(self.selection):
            return
        if not len(self.selection):
            raise InputError("selection must have at least one row", "it has none", "Pass votes.probs[held_out]")
        shares, wanted = check_simplex("selection", self.selection), len(self.delivery.classes)
        if len(shares) > len(self.held_out) or shares.shape[1] != wanted:
            raise InputError(
                f"selection must be vote shares over {wanted} classes of at most {len(self.held_out):,} held-out rows",
                f"its shape is {shares.shape}",
                "Pass votes.probs[held_out]",
            )


@dataclass(frozen=True, eq=False)
class Trained:
    """The result of a run.

    Attributes:
        losses: (epochs,) mean training loss of each epoch.
        logits: (epochs, m, K) float32 for the held-out rows after each epoch, in the run's precision.
        best_epoch: counted from 0; the earliest with the lowest soft NLL on the selection rows.
        best_logits: (m, K) float32 at that epoch, computed in fp32.
        last_logits: (m, K) float32 after the last epoch, computed in fp32.
        train_logits: (n, K) float32 for the training rows at the best epoch, without augmentation, computed in fp32.
        best: the model's weights and buffers at that epoch, on the CPU.
        last: the same after the last epoch.
        kept: the same after the epoch that was asked for, if any.
    """

    losses: FloatArray
    logits: Logits
    best_epoch: int
    best_logits: Logits
    last_logits: Logits
    train_logits: Logits
    best: State
    last: State
    kept: State | None = None


def train_job(
    make: ModelMaker,
    inputs: Tensor,
    job: Job,
    config: TrainConfig,
    *,
    device: torch.device | str = "cpu",
    keep_epoch: int | None = None,
    on_epoch: Callable[[], None] | None = None,
) -> Trained:
    """Do one run with the plain loop, on any device; a loss that becomes NaN or infinite is a `DivergedError`.

    Args:
        make: builds the model.
        inputs: (N, ...) of the whole data set.
        job: the run.
        config: its recipe.
        device: where to train.
        keep_epoch: an epoch, counted from 0, whose weights to return besides the best and the last.
        on_epoch: called after each epoch.
    """
    model = build_model(make, seed=job.seed).to(device)
    data = Inputs.place(inputs, config, device)
    held_out = torch.from_numpy(job.held_out).to(device)
    losses: list[float] = []
    logits: list[Tensor] = []
    best_nll, best_epoch, best = math.inf, 0, state_of(model)
    kept: State | None = None

    def after(epoch: int, loss: float) -> None:
        nonlocal best_nll, best_epoch, best, kept
        losses.append(loss)
        with torch.autocast(held_out.device.type, torch.bfloat16, enabled=config.precision == "bf16"):
            logits.append(predict_logits(model, data, held_out).cpu())
        nll = float(selection_nll(logits[-1], torch.from_numpy(job.selection))) if len(job.selection) else -epoch
        if not math.isfinite(nll):
            raise DivergedError(epoch)
        if nll < best_nll:
            best_nll, best_epoch, best = nll, epoch, state_of(model)
        if epoch == keep_epoch:
            kept = state_of(model)
        if on_epoch is not None:
            on_epoch()

    with arithmetic(config):
        train_classifier(model, inputs[job.train], job.delivery, config, seed=job.seed, on_epoch=after)
        last = state_of(model)
        exact = exact_logits(model, data, held_out, torch.from_numpy(job.train).to(device), best, last)
    curve = torch.stack(logits).numpy()
    return Trained(np.array(losses), curve, best_epoch, *exact, best, last, kept)


def exact_logits(
    model: nn.Module, data: Inputs, held_out: Tensor, train: Tensor, best: State, last: State
) -> tuple[Logits, Logits, Logits]:
    """Logits of a run's final predictions in fp32, whatever the precision of its training.

    Args:
        model: any model of the run's architecture; its weights are overwritten.
        data: the inputs.
        held_out: (m,) rows to predict at the best and after the last epoch.
        train: (n,) rows to predict at the best epoch.
        best: weights at the best epoch.
        last: weights after the last epoch.
    """
    model.load_state_dict(last)
    of_last = predict_logits(model, data, held_out).cpu().numpy()
    model.load_state_dict(best)
    of_best, of_train = (predict_logits(model, data, rows).cpu().numpy() for rows in (held_out, train))
    return of_best, of_last, of_train


def selection_nll(logits: Tensor, selection: Tensor) -> Tensor:
    """Soft NLL in float64 of the first rows of logits (..., m, K) against vote shares (..., s, K)."""
    log_probs = torch.log_softmax(logits[..., : selection.shape[-2], :].double(), dim=-1)
    return -(selection * log_probs).sum(dim=-1).mean(dim=-1)


def state_of(model: nn.Module) -> State:
    """A copy of a model's weights and buffers on the CPU."""
    return {name: value.detach().to("cpu", copy=True) for name, value in model.state_dict().items()}
