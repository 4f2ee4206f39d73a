"""How users' own data are trained on when nobody says how."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise.experiments.material import Material

if TYPE_CHECKING:
    from votewise.training import TrainConfig

# Share of an image's side by which a random crop may be off its centre: 4 pixels of 32, as is usual for CIFAR.
_CROP = 1 / 8

# A few hundred items in one large batch would hardly be trained on at all: batches shrink to about this many steps an
# epoch, but not below a size whose gradients are mostly noise.
_STEPS = 20
_LEAST_BATCH = 16

# Images are summed this many at a time.
_BLOCK = 1024


def default_recipe(
    material: Material,
    *,
    epochs: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    augment: bool = True,
) -> TrainConfig:
    """A recipe for small data of a kind, with what the caller says instead.

    Args:
        material: what is trained on.
        epochs: passes over the items.
        batch_size: items a step.
        learning_rate: at the start.
        augment: whether images are shifted and mirrored by chance.
    """
    from votewise.training import TrainConfig

    recipe = _for_images(material, augment) if material.kind == "images" else TrainConfig()
    recipe = replace(recipe, batch_size=_batch_size(material.votes.n_items, recipe.batch_size))
    said = {"epochs": epochs, "batch_size": batch_size, "learning_rate": learning_rate}
    changes: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    return replace(recipe, **changes)


def _batch_size(n_items: int, most: int) -> int:
    """A power of two that gives small data about as many steps an epoch as `_STEPS`."""
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
    """Mean and standard deviation of each channel of all images, in 0..1; of pixels alone, which no label enters."""
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
