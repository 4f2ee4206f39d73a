"""One model: trained on votes, saved, and used on new items."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise import __version__
from votewise._checks import FloatArray, IntArray, check_number
from votewise._errors import DivergedError, InputError
from votewise.experiments.catalog import build_delivery
from votewise.experiments.inputs import Reading
from votewise.experiments.material import Material
from votewise.experiments.run import choose_device, softmax

if TYPE_CHECKING:
    from torch import nn

    from votewise.training import TrainConfig
    from votewise.training.checkpoint import ModelConfig

# What a model is given at once where nobody learns from it: enough to be quick, little enough to fit.
_PIXELS_AT_ONCE = 2**20
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Choices:
    """What is decided about one model before it is trained.

    Attributes:
        method: delivers the votes.
        seed: root seed of split, start, order and labels.
        model: its name.
        recipe: of training.
        held_out: share of the items kept back to score the model; 0 for none.
    """

    method: str
    seed: int
    model: str
    recipe: TrainConfig
    held_out: float = 0.2


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model and what it says of the items it was not trained on.

    Attributes:
        model: ready to predict, on the CPU.
        config: what is saved with it.
        held_out: (m,) rows of the material; none if none were held out.
        probs: (m, K) predictions for them.
    """

    model: nn.Module
    config: ModelConfig
    held_out: IntArray
    probs: FloatArray


def train_model(
    material: Material,
    reading: Reading,
    choices: Choices,
    *,
    device: str = "auto",
    on_epoch: Callable[[int, float], None] | None = None,
) -> TrainedModel:
    """Train one model on the votes of all items, or of all but those held out.

    Args:
        material: inputs and votes.
        reading: how the inputs were read, to be saved with the model.
        choices: method, seed, model, recipe, split.
        device: "cpu", "cuda" or "auto".
        on_epoch: called after each epoch with its number and its mean training loss.
    """
    import torch

    from votewise.training import build_model, train_classifier
    from votewise.training.loop import arithmetic

    config = _describe(material, reading, choices)
    train, held_out = _split(material, choices)
    delivery = build_delivery(choices.method, material.votes.take(train), choices.seed)
    model = build_model(config.build, seed=choices.seed).to(choose_device(device))
    with arithmetic(choices.recipe):
        inputs = torch.from_numpy(material.inputs[train])
        train_classifier(model, inputs, delivery, choices.recipe, seed=choices.seed, on_epoch=on_epoch)
    probs = predict(model, config, material.inputs[held_out])
    if not (np.isfinite(probs).all() and all(weight.isfinite().all() for weight in model.parameters())):
        raise DivergedError(choices.recipe.epochs - 1)  # by its last step, which no loss saw
    return TrainedModel(model.to("cpu").eval(), config, held_out, probs)


def predict(model: nn.Module, config: ModelConfig, inputs: npt.NDArray[Any]) -> FloatArray:
    """Probabilities (N, K) float64 of inputs that were read as the config says, on the device of the model.

    Args:
        model: of the config.
        config: normalises images.
        inputs: (N, ...), as in `Material`.
    """
    import torch

    from votewise.training import Inputs, predict_logits
    from votewise.training.loop import arithmetic

    if config.kind != "text" and inputs.shape[1:] != config.input_shape:
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


def _describe(material: Material, reading: Reading, choices: Choices) -> ModelConfig:
    from votewise.models import check_inputs
    from votewise.training.checkpoint import ModelConfig

    check_inputs(choices.model, material.kind, material.inputs.shape[1:])
    return ModelConfig(
        model=choices.model,
        kind=material.kind,
        input_shape=material.inputs.shape[1:],
        classes=material.votes.classes,
        recipe=choices.recipe,
        reading=reading.to_dict(),
        training={
            "method": choices.method,
            "seed": choices.seed,
            "held_out": choices.held_out,
            "data": material.checksum,
            "votewise": __version__,
        },
    )


def _split(material: Material, choices: Choices) -> tuple[IntArray, IntArray]:
    check_number("the share held out", choices.held_out, 0, 0.95)
    if choices.held_out == 0:
        return np.arange(material.votes.n_items), np.zeros(0, dtype=np.int64)
    return material.votes.split(choices.held_out, seed=choices.seed, strata=material.hard_labels)
