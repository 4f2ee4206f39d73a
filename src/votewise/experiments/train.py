"""Train one model on votes, and use it on new items."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise import __version__, metrics
from votewise._advice import another_model
from votewise._checks import FloatArray, IntArray, check_choice, check_number
from votewise._errors import DivergedError, InputError
from votewise._text import counted
from votewise.data import InputForm, open_inputs
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
from votewise.metrics import fit_temperature, scaled_softmax
from votewise.scoring import Scores, score
from votewise.statistics import learning_shape
from votewise.votes import Votes
from votewise.votes.table import row_numbers

if TYPE_CHECKING:
    from torch import nn

    from votewise.training.checkpoint import ModelConfig

# Sizes of prediction batches: large enough to be fast, small enough to fit into memory.
_PIXELS_AT_ONCE = 2**20
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Predicted:
    """What a saved model says of new items.

    Attributes:
        item_ids: (N,) ids of the items, or their numbers where the inputs have none.
        probs: (N, K) predicted probabilities.
        config: what was saved with the model, with the temperature that was used.
        notes: what a user should know of the inputs.
    """

    item_ids: npt.NDArray[Any]
    probs: FloatArray
    config: ModelConfig
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model and its predictions for the held-out items.

    Attributes:
        model: ready to predict, on the CPU.
        config: what is saved with it.
        trained_on: number of items it was trained on.
        held_out: (m,) rows of the data.
        votes: the votes on them; None if there are none.
        probs: (m, K) predictions for them, of a model that was not trained on them: of this one, unless it is refitted.
        no_model: soft NLL on them of the mean vote shares of all other items; NaN if there are none.
        learning: soft NLL after each epoch on the items that choose the epoch, else the held-out items; empty if there
            are neither.
    """

    model: nn.Module
    config: ModelConfig
    trained_on: int
    held_out: IntArray
    votes: Votes | None
    probs: FloatArray
    no_model: float
    learning: FloatArray

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
            "epoch": self.config.training["epoch"],
            "epochs": self.config.recipe.epochs,
            "refitted": self.config.training["refitted"],
            "temperature": self.config.temperature,
            "classes": self.config.classes,
            "trained_on": self.trained_on,
            "held_out": len(self.held_out),
            "held_out_ids": [] if self.votes is None else self.votes.item_ids.tolist(),
        }

    def in_words(self) -> str:
        """What it is, on one line."""
        said = self.about
        parts = (
            said["network"],
            said["method"],
            f"epoch {said['epoch']} of {said['epochs']}",
            f"trained on {counted(self.trained_on, 'item')}",
            *([] if said["temperature"] == 1 else [f"temperature {said['temperature']:.3f}"]),
        )
        return ", ".join(parts)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What is wrong with the model, although it can be used, and what to change."""
        loss = math.nan if self.scores is None else self.scores.metrics["soft_nll"].value
        if math.isinf(loss):
            return (
                "soft_nll is infinite: the model gives zero probability to classes that people chose, so its training "
                "has probably diverged. Lower --learning-rate, or check the inputs.",
            )
        sentences = []
        if loss >= self.no_model:
            sentences.append(
                f"the model does no better than the average vote shares, which need no model (soft NLL {loss:.3f} "
                f"against {self.no_model:.3f}). {another_model(self.config.model)}."
            )
        shape = learning_shape(self.learning) if len(self.learning) else None
        epoch = self.config.training["epoch"]
        if shape is not None and shape.shape == "turned" and epoch == self.config.recipe.epochs:
            sentences.append(
                f"the model overfits: its loss was lowest after epoch {shape.lowest} of {epoch}, and {shape.lost:.3f} "
                "lower than at the end. Pass --at best, or fewer --epochs."
            )
        if shape is not None and shape.shape == "falling":
            sentences.append(
                f"the model was still learning: its loss fell by {shape.gained:.3f} in the second half of the epochs. "
                f"Pass more, such as --epochs {2 * self.config.recipe.epochs}."
            )
        return tuple(sentences)


def train_model(
    run: Run,
    data: Prepared,
    *,
    at: str = "last",
    temperature: bool = False,
    refit: bool = False,
    device: str = "auto",
    on_epoch: Callable[[], None] | None = None,
) -> TrainedModel:
    """Do one run and return its model, with predictions for the held-out items.

    Args:
        run: the run; with `held_out=0` no items are scored, and with `selected=0` none choose anything.
        data: its data.
        at: "last", or "best": the epoch of least soft NLL on the items that choose it.
        temperature: whether to fit a temperature on these items.
        refit: whether to train the returned model anew on all items, as long as the chosen epoch says, with the same
            temperature. Its scores stay those of the first model.
        device: "cpu", "cuda" or "auto".
        on_epoch: called after each epoch of each training.
    """
    import torch

    from votewise.models import find_model
    from votewise.models.catalog import with_encoder
    from votewise.training import build_model, train_classifier, train_job
    from votewise.training.checkpoint import ModelConfig
    from votewise.training.loop import arithmetic

    check_choice("at", at, ("last", "best"))
    if (at == "best" or temperature) and not run.selected:
        raise InputError(
            "choosing the epoch or a temperature takes items that are neither trained on nor scored",
            "got selected=0",
            "Pass a run with selected=0.1, or at='last' without temperature",
        )
    find_model(run.model, data.kind).check(data.inputs.shape[1:])
    chosen_device = choose_device(device)
    logits = out_of_fold(data, [train_run(helper, data, device=chosen_device) for helper in helpers(run)])
    job = make_job(run, data, logits=logits)
    split = split_of(run, job)
    make, inputs = model_maker(run, data), torch.tensor(data.inputs)
    trained = train_job(make, inputs, job, run.recipe, device=chosen_device, on_epoch=on_epoch)
    epoch = trained.best_epoch + 1 if at == "best" else run.recipe.epochs
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
            "selected": run.selected,
            "epoch": epoch,
            "refitted": refit,
            "data": data.checksum,
            "votewise": __version__,
        },
    )
    model = build_model(make, seed=run.seed)
    model.load_state_dict(trained.best if at == "best" else trained.last)
    model = model.to(chosen_device)
    if temperature:
        of_chosen = _model_logits(model, config, data.inputs[split.selection])
        _refuse_diverged(model, of_chosen, epoch)
        config = replace(config, temperature=fit_temperature(data.votes.probs[split.selection], of_chosen))
    of_held_out = _model_logits(model, config, data.inputs[split.held_out])
    _refuse_diverged(model, of_held_out, epoch)
    probs = scaled_softmax(of_held_out, config.temperature) if len(of_held_out) else of_held_out
    rows = job.train
    if refit:
        everything = replace(run, held_out=0.0, selected=0.0, folds=0)
        logits = out_of_fold(data, [train_run(helper, data, device=chosen_device) for helper in helpers(everything)])
        again = make_job(everything, data, logits=logits)
        model, rows = build_model(make, seed=run.seed).to(chosen_device), again.train
        with arithmetic(run.recipe):
            train_classifier(
                model, inputs[rows], again.delivery, run.recipe, seed=run.seed, until=epoch,
                on_epoch=None if on_epoch is None else lambda *_: on_epoch(),
            )  # fmt: skip
        _refuse_diverged(model, np.zeros(0), epoch)
    votes = data.votes.take(split.held_out) if len(split.held_out) else None
    no_model = math.nan
    if votes is not None:
        mean = np.delete(data.votes.probs, split.held_out, axis=0).mean(axis=0)
        no_model = metrics.soft_nll(votes.probs, np.tile(mean / mean.sum(), (votes.n_items, 1)))
    judged = len(job.selection)
    learning = [metrics.soft_nll(job.selection, softmax(each[:judged])) for each in trained.logits] if judged else []
    model = model.to("cpu")
    if data.encoder is not None:
        model, saved = with_encoder(model, *data.encoder, data.kind)
        config = replace(config, encoder=saved)
    return TrainedModel(
        model.eval(), config, len(rows), split.held_out, votes, probs, no_model,
        np.array(learning),
    )  # fmt: skip


def _refuse_diverged(model: nn.Module, given: npt.NDArray[Any], epoch: int) -> None:
    """Refuse a model whose last step broke it, which comes after the last loss."""
    if not (np.isfinite(given).all() and all(weight.isfinite().all() for weight in model.parameters())):
        raise DivergedError(epoch - 1)


def predict_file(
    model: Path,
    kind: str,
    path: Path,
    *,
    item: str | None = None,
    text_column: str | Sequence[str] | None = None,
    temperature: float | None = None,
    device: str = "auto",
    track: Callable[..., Iterable[int]] = iter,
) -> Predicted:
    """Predict the items of a file or folder with a saved model.

    Args:
        model: as `save_model` wrote it.
        kind: "images", "features" or "text".
        path: where the inputs are.
        item: item column of a table.
        text_column: column of the texts, or two of pairs.
        temperature: what logits are divided by; the model's own temperature if left out.
        device: "cpu", "cuda" or "auto".
        track: shows progress over the items; called with their rows and, by name, with a description.
    """
    from votewise.metrics.temperature import LEAST_TEMPERATURE, MOST_TEMPERATURE
    from votewise.training.checkpoint import load_model

    network, config = load_model(model)
    if temperature is not None:
        within = check_number("--temperature", temperature, LEAST_TEMPERATURE, MOST_TEMPERATURE)
        config = replace(config, temperature=within)
    if kind != config.kind:
        raise InputError(f"the model takes {config.kind}", f"got --{kind}", f"Pass --{config.kind}")
    form, row = InputForm.from_dict(config.reading), config.input_model(network)
    source = open_inputs(kind, path, item=item, text_column=text_column, form=form)
    # The size of images in an array, which the name of a model does not tell, is that of new images from files too.
    loaded = source.load(
        row if form.size is None else row.with_options(size=form.size),
        lambda rows: track(rows, description=f"{row.doing} {kind}"),
    )
    probs = predict(network.to(choose_device(device)), config, loaded.values)
    item_ids = row_numbers(len(source)) if source.item_ids is None else source.item_ids
    return Predicted(item_ids, probs, config, loaded.notes)


def predict(model: nn.Module, config: ModelConfig, inputs: npt.NDArray[Any]) -> FloatArray:
    """Predicted probabilities (N, K) float64 for inputs read as the config says, on the model's device.

    Args:
        model: the model of the config.
        config: says how images are normalised, and what the logits are divided by.
        inputs: (N, ...), as in `Prepared`.
    """
    return scaled_softmax(logits, config.temperature) if len(logits := _model_logits(model, config, inputs)) else logits


def _model_logits(model: nn.Module, config: ModelConfig, inputs: npt.NDArray[Any]) -> FloatArray:
    """Logits (N, K) float64 before any temperature."""
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
    return np.asarray(logits.cpu().numpy(), dtype=np.float64)
