"""Default training recipes and grids for users' data."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise._checks import check_choice
from votewise.data.dataset import Prepared
from votewise.experiments.grid import Grid
from votewise.experiments.run import choose_device

if TYPE_CHECKING:
    from votewise.training import TrainConfig

# How far a random crop may be off centre, as a share of the image side: 4 pixels of 32, as is usual for CIFAR.
_CROP = 1 / 8

# Small data in large batches would get too few steps: batches shrink until there are about this many steps per epoch,
# but not below a size whose gradients are mostly noise.
_STEPS = 20
_LEAST_BATCH = 16

# A table with this many columns, such as one of an encoder's features, overfits within a few epochs of a few thousand
# items unless weights decay fast; one of a few columns cannot, and would underfit.
_WIDE = 128

# Images summed at a time.
_BLOCK = 1024

# Seeds hold out fifths of the items in turn.
FOLDS = 5

# Share of the items that choose the epoch. They are neither trained on nor scored.
CHOOSING = 0.1


def default_grid(
    methods: tuple[str, ...], seeds: int, *, model: str, held_out: float | None = None, at: str = "best"
) -> Grid:
    """A comparison in which seeds hold out every item in turn, unless a share to hold out is given.

    No choice looks at a vote on an item that is scored: its votes choose neither the epoch, nor a temperature, nor even
    whether it is scored, as they would if each side of a split got its share of each majority.

    Args:
        methods: names, perhaps with options, the baseline first.
        seeds: number of seeds per method; `FOLDS` of them hold out every item once.
        model: name of the model, perhaps with options.
        held_out: share of the items that each seed draws, holds out and scores.
        at: epoch that will be scored, "best" or "last"; a tenth of the items, neither trained on nor scored, choose the
            best.
    """
    check_choice("--at", at, ("best", "last"))
    selected = CHOOSING if at == "best" else 0.0
    if held_out is None:
        return Grid(methods, range(seeds), models=(model,), selected=selected, folds=FOLDS, blind=True)
    return Grid(methods, range(seeds), models=(model,), selected=selected, held_out=held_out, blind=True)


def default_recipe(
    material: Prepared,
    *,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    augment: bool = True,
    device: str = "cpu",
) -> TrainConfig:
    """A recipe that suits small data of the material's kind; arguments that are given replace its values.

    Those of texts, of wide tables and of frozen encoders were chosen on 400 to 7,500 items with few votes, so that the
    curve does not turn before its end, or hardly does (benchmarks/defaults.py, docs/training.md).

    Args:
        material: the training data.
        epochs: passes over the items.
        batch_size: items per step.
        learning_rate: initial value.
        augment: whether to shift and mirror images at random.
        device: where it will be trained: "cpu", "cuda" or "auto".
    """
    from votewise.training import TrainConfig

    values = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    changes: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
    if material.encoder is not None:
        return replace(_default_encoder_recipe(material, augment=augment, device=choose_device(device)), **changes)
    if material.kind == "text":
        rate, decay = 1e-2, 2.0
    elif material.inputs.shape[1] >= _WIDE:
        rate, decay = 1e-3, 7.0
    else:
        rate, decay = 3e-3, 1.0
    recipe = TrainConfig(learning_rate=rate, weight_decay=decay, decayed="weights")
    if material.kind == "images":
        mean, std = default_channel_statistics(material)
        recipe = TrainConfig(
            epochs=30,
            batch_size=64,
            learning_rate=2e-3,
            weight_decay=1e-2,
            decayed="weights",
            schedule="step",
            crop=round(min(material.inputs.shape[1:3]) * _CROP) if augment else 0,
            fill="mean",
            flip=augment,
            mean=mean,
            std=std,
        )
    fitting = max(_LEAST_BATCH, 2 ** round(math.log2(max(material.votes.n_items / _STEPS, 1))))
    return replace(recipe, **{"batch_size": min(recipe.batch_size, fitting), **changes})


def default_channel_statistics(material: Prepared) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each channel over all images, in 0..1. Labels are not used."""
    images = material.inputs
    total, squares = np.zeros(images.shape[3]), np.zeros(images.shape[3])
    for start in range(0, len(images), _BLOCK):
        block = images[start : start + _BLOCK].astype(np.float64) / 255
        total += block.sum(axis=(0, 1, 2))
        squares += (block**2).sum(axis=(0, 1, 2))
    pixels = images[..., 0].size
    mean = total / pixels
    deviation = np.sqrt(np.maximum(squares / pixels - mean**2, 1 / 255**2))
    return tuple(mean.round(4).tolist()), tuple(deviation.round(4).tolist())


def _default_encoder_recipe(material: Prepared, *, augment: bool, device: str) -> TrainConfig:
    """The recipe for the head of a frozen encoder, or for an encoder that is tuned (docs/encoders.md)."""
    from votewise.models.encoder import EncoderLabel
    from votewise.models.readers import PixelReader, read_reader
    from votewise.training import TrainConfig

    assert material.encoder is not None
    label, folder = material.encoder
    if EncoderLabel.parse(label).way == "frozen":
        return TrainConfig(
            epochs=20, batch_size=32, learning_rate=5e-4, weight_decay=6.0, decayed="weights", schedule="step"
        )
    recipe = TrainConfig(
        epochs=8,
        batch_size=32,
        learning_rate=5e-5,
        weight_decay=1e-2,
        decayed="weights",
        schedule="step",
        warm_up=0.1,
        precision="bf16" if device == "cuda" else "fp32",
    )
    if material.kind == "text":
        return recipe
    reader = read_reader(Path(folder), "images", folder)
    assert isinstance(reader, PixelReader)
    mean, std = reader.scaling
    return replace(recipe, flip=augment, mean=mean, std=std)
