"""Default training recipes for users' data."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise.experiments.material import Material

if TYPE_CHECKING:
    from votewise.training import TrainConfig

# How far a random crop may be off centre, as a share of the image side: 4 pixels of 32, as is usual for CIFAR.
_CROP = 1 / 8

# Small data in large batches would get too few steps: batches shrink until there are about this many steps per epoch,
# but not below a size whose gradients are mostly noise.
_STEPS = 20
_LEAST_BATCH = 16

# Images summed at a time.
_BLOCK = 1024


def default_recipe(
    material: Material,
    *,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    augment: bool = True,
) -> TrainConfig:
    """A recipe that suits small data of the material's kind; arguments that are given replace its values.

    Args:
        material: the training data.
        epochs: passes over the items.
        batch_size: items per step.
        learning_rate: initial value.
        augment: whether to shift and mirror images at random.
    """
    from votewise.training import TrainConfig

    recipe = _for_images(material, augment) if material.kind == "images" else TrainConfig()
    recipe = replace(recipe, batch_size=_batch_size(material.votes.n_items, recipe.batch_size))
    given = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return replace(recipe, **changes)


def _batch_size(n_items: int, most: int) -> int:
    """A power of two that gives small data about `_STEPS` steps per epoch."""
    return min(most, max(_LEAST_BATCH, 2 ** round(math.log2(max(n_items / _STEPS, 1)))))


def _for_images(material: Material, augment: bool) -> TrainConfig:
    from votewise.training import TrainConfig

    mean, std = channel_statistics(material)
    side = min(material.inputs.shape[1:3])
    return TrainConfig(
        epochs=30,
        batch_size=64,
        learning_rate=2e-3,
        weight_decay=1e-2,
        decayed="weights",
        schedule="step",
        crop=round(side * _CROP) if augment else 0,
        fill="mean",
        flip=augment,
        mean=mean,
        std=std,
    )


def channel_statistics(material: Material) -> tuple[tuple[float, ...], tuple[float, ...]]:
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
