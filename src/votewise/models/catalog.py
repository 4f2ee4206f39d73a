"""The networks by name, for the command line and stored configs. Python code imports the classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import nn

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.models.features import MLP
from votewise.models.images import SmallCNN
from votewise.models.resnet import ResNet18
from votewise.models.text import NgramNet

KINDS = ("images", "features", "text")


@dataclass(frozen=True)
class Model:
    """One network.

    Attributes:
        kind: of its inputs, one of `KINDS`.
        build: from the number of classes and the shape of one input: images (H, W, C), features (D,), n-grams (L,).
        least_side: smallest side of an image in pixels.
        last_maps: from such a network to the layer with its last feature maps; None if it has no such layer.
    """

    kind: str
    build: Callable[[int, tuple[int, ...]], nn.Module]
    least_side: int = 1
    last_maps: Callable[[Any], nn.Module] | None = None


# The first of a kind is its default.
MODELS: dict[str, Model] = {
    "small-cnn": Model(
        "images",
        lambda n_classes, shape: SmallCNN(n_classes, channels=shape[2]),
        least_side=8,
        last_maps=lambda network: network.stages[-1],
    ),
    "resnet18": Model(
        "images",
        lambda n_classes, shape: ResNet18(n_classes, channels=shape[2]),
        least_side=16,  # with less, the last norms would see a single value for a batch of one image
        last_maps=lambda network: network.blocks[-1],
    ),
    "mlp": Model(
        "features",
        lambda n_classes, shape: MLP(n_classes, inputs=shape[0]),
    ),
    "ngram": Model(
        "text",
        lambda n_classes, _: NgramNet(n_classes),
    ),
}


def find_model(name: str, kind: str) -> Model:
    """The model with this name; one that is unknown or takes other inputs is an error that lists those that fit."""
    model = MODELS[check_choice("the model", name, tuple(MODELS))]
    if model.kind != kind:
        raise InputError(
            f"the model must take {kind}",
            f"{name!r} takes {model.kind}",
            f"Pick one of {', '.join(other for other, row in MODELS.items() if row.kind == kind)}",
        )
    return model


def default_model(kind: str) -> str:
    """The name of the default model for a kind of inputs."""
    return next(name for name, model in MODELS.items() if model.kind == check_choice("the kind of inputs", kind, KINDS))


def check_inputs(name: str, kind: str, shape: tuple[int, ...]) -> None:
    """Refuse inputs of a kind that a model does not take, and images that are too small for it.

    Args:
        name: name of the model.
        kind: of the inputs.
        shape: of one input.
    """
    least = find_model(name, kind).least_side
    if kind == "images" and min(shape[:2]) < least:
        raise InputError(
            f"{name} needs images of at least {least} pixels on each side",
            f"they are {shape[0]} x {shape[1]}",
            "Choose a larger --size",
        )
