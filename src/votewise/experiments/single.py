"""Train one model on votes, and use it on new items."""

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

# Sizes of prediction batches: large enough to be fast, small enough to fit into memory.
_PIXELS_AT_ONCE = 2**20
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class ModelPlan:
    """What to train: method, model and recipe.

    Attributes:
        method: name of the method that delivers the votes.
        seed: root seed of split, initial weights, order and labels.
        model: name of the model.
        recipe: the training recipe.
        held_out: share of the items held out to score the model; 0 for none.
    """

    method: str
    seed: int
    model: str
    recipe: TrainConfig
    held_out: float = 0.2


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model and its predictions for the held-out items.

    Attributes:
        model: ready to predict, on the CPU.
        config: what is saved with it.
        held_out: (m,) rows of the material.
        probs: (m, K) predictions for them.
    """

    model: nn.Module
    config: ModelConfig
    held_out: IntArray
    probs: FloatArray


def train_model(
    material: Material,
    reading: Reading,
    plan: ModelPlan,
    *,
    device: str = "auto",
    on_epoch: Callable[[int, float], None] | None = None,
) -> TrainedModel:
    """Train one model on the votes of all items, or of all but those held out.

    Args:
        material: inputs and votes.
        reading: how the inputs were read, to be saved with the model.
        plan: method, seed, model, recipe, split.
        device: "cpu", "cuda" or "auto".
        on_epoch: called after each epoch with its number and its mean training loss.
    """
    import torch

    from votewise.training import build_model, train_classifier
    from votewise.training.loop import arithmetic

    config = _describe(material, reading, plan)
    train, held_out = _split(material, plan)
    delivery = build_delivery(plan.method, material.votes.take(train), plan.seed)
    model = build_model(config.build, seed=plan.seed).to(choose_device(device))
    with arithmetic(plan.recipe):
        inputs = torch.from_numpy(material.inputs[train])
        train_classifier(model, inputs, delivery, plan.recipe, seed=plan.seed, on_epoch=on_epoch)
    probs = predict(model, config, material.inputs[held_out])
    if not (np.isfinite(probs).all() and all(weight.isfinite().all() for weight in model.parameters())):
        raise DivergedError(plan.recipe.epochs - 1)  # the last step comes after the last loss
    return TrainedModel(model.to("cpu").eval(), config, held_out, probs)


def predict(model: nn.Module, config: ModelConfig, inputs: npt.NDArray[Any]) -> FloatArray:
    """Predicted probabilities (N, K) float64 for inputs read as the config says, on the model's device.

    Args:
        model: the model of the config.
        config: says how images are normalised.
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


def _describe(material: Material, reading: Reading, plan: ModelPlan) -> ModelConfig:
    from votewise.models import check_inputs
    from votewise.training.checkpoint import ModelConfig

    check_inputs(plan.model, material.kind, material.inputs.shape[1:])
    return ModelConfig(
        model=plan.model,
        kind=material.kind,
        input_shape=material.inputs.shape[1:],
        classes=material.votes.classes,
        recipe=plan.recipe,
        reading=reading.to_dict(),
        training={
            "method": plan.method,
            "seed": plan.seed,
            "held_out": plan.held_out,
            "data": material.checksum,
            "votewise": __version__,
        },
    )


def _split(material: Material, plan: ModelPlan) -> tuple[IntArray, IntArray]:
    check_number("the share held out", plan.held_out, 0, 0.95)
    if plan.held_out == 0:
        return np.arange(material.votes.n_items), np.zeros(0, dtype=np.int64)
    return material.votes.split(plan.held_out, seed=plan.seed, strata=material.hard_labels)
