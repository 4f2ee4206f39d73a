"""Train one model on votes, and use it on new items."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise import __version__
from votewise._checks import FloatArray, IntArray
from votewise._errors import DivergedError, InputError
from votewise.data.dataset import Prepared
from votewise.experiments.run import (
    Run,
    choose_device,
    helpers,
    make_job,
    model_maker,
    out_of_fold,
    softmax,
    split_of,
    train_run,
)
from votewise.scoring import Scores, score
from votewise.votes import Votes

if TYPE_CHECKING:
    from torch import nn

    from votewise.training.checkpoint import ModelConfig

# Sizes of prediction batches: large enough to be fast, small enough to fit into memory.
_PIXELS_AT_ONCE = 2**20
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model and its predictions for the held-out items.

    Attributes:
        model: ready to predict, on the CPU.
        config: what is saved with it.
        trained_on: number of items it was trained on.
        held_out: (m,) rows of the data.
        votes: the votes on them; None if there are none.
        probs: (m, K) predictions for them.
    """

    model: nn.Module
    config: ModelConfig
    trained_on: int
    held_out: IntArray
    votes: Votes | None
    probs: FloatArray

    @cached_property
    def scores(self) -> Scores | None:
        """Scores on the held-out items; None if there are none."""
        return None if self.votes is None else score(self.votes, self.probs)

    @property
    def about(self) -> dict[str, Any]:
        """What it is, in plain values."""
        return {
            "network": self.config.model,
            "method": self.config.training["method"],
            "seed": self.config.training["seed"],
            "classes": self.config.classes,
            "trained_on": self.trained_on,
            "held_out": len(self.held_out),
            "held_out_ids": [] if self.votes is None else self.votes.item_ids.tolist(),
        }

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is wrong with the model, although it can be used."""
        if self.scores is None or math.isfinite(self.scores.metrics["soft_nll"].value):
            return ()
        return (
            "soft_nll is infinite: the model gives zero probability to classes that people chose, so its training has "
            "probably diverged. Lower --learning-rate, or check the inputs.",
        )


def train_model(
    run: Run,
    data: Prepared,
    *,
    device: str = "auto",
    on_epoch: Callable[[], None] | None = None,
) -> TrainedModel:
    """Do one run and return its model after the last epoch, with its predictions for the held-out items.

    Args:
        run: the run; with `held_out=0` all items are trained on.
        data: its data.
        device: "cpu", "cuda" or "auto".
        on_epoch: called after each epoch.
    """
    import torch

    from votewise.models import find_model
    from votewise.models.catalog import with_encoder
    from votewise.training import build_model, train_job
    from votewise.training.checkpoint import ModelConfig

    find_model(run.model, data.kind).check(data.inputs.shape[1:])
    config = ModelConfig(
        model=run.model,
        kind=data.kind,
        input_shape=data.inputs.shape[1:],
        classes=data.votes.classes,
        recipe=run.recipe,
        reading=data.form.to_dict(),
        training={
            "method": run.label,
            "seed": run.seed,
            "held_out": run.held_out,
            "data": data.checksum,
            "votewise": __version__,
        },
    )
    chosen = choose_device(device)
    logits = out_of_fold(data, [train_run(helper, data, device=chosen) for helper in helpers(run)])
    job = make_job(run, data, logits=logits)
    held_out = split_of(run, job).held_out
    make, inputs = model_maker(run, data), torch.tensor(data.inputs)
    trained = train_job(make, inputs, job, run.recipe, device=chosen, on_epoch=on_epoch)
    model = build_model(make, seed=run.seed)
    model.load_state_dict(trained.last)
    probs = predict(model.to(chosen), config, data.inputs[held_out])
    if not (np.isfinite(probs).all() and all(weight.isfinite().all() for weight in model.parameters())):
        raise DivergedError(run.recipe.epochs - 1)  # the last step comes after the last loss
    votes = data.votes.take(held_out) if len(held_out) else None
    model = model.to("cpu")
    if data.encoder is not None:
        model, saved = with_encoder(model, *data.encoder, data.kind)
        config = replace(config, encoder=saved)
    return TrainedModel(model.eval(), config, len(job.train), held_out, votes, probs)


def predict(model: nn.Module, config: ModelConfig, inputs: npt.NDArray[Any]) -> FloatArray:
    """Predicted probabilities (N, K) float64 for inputs read as the config says, on the model's device.

    Args:
        model: the model of the config.
        config: says how images are normalised.
        inputs: (N, ...), as in `Prepared`.
    """
    import torch

    from votewise.training import Inputs, predict_logits
    from votewise.training.loop import arithmetic

    as_long_as_needed = config.kind == "text" and (config.encoder is None or config.encoder.way == "tuned")
    if not as_long_as_needed and inputs.shape[1:] != config.input_shape:
        raise InputError(
            f"the model takes {config.kind} of shape {config.input_shape}",
            f"got {inputs.shape[1:]}",
            "Give inputs like those it was trained on",
        )
    if not len(inputs):
        return np.zeros((0, len(config.classes)))
    device = next(model.parameters()).device
    at_once = max(1, _PIXELS_AT_ONCE // math.prod(inputs.shape[1:3])) if config.kind == "images" else _ROWS_AT_ONCE
    with arithmetic(config.recipe):
        data = Inputs.place(torch.from_numpy(inputs), config.recipe, device)
        logits = predict_logits(model, data, torch.arange(len(inputs), device=device), batch_size=at_once)
    return softmax(logits.cpu().numpy())
