"""Inputs that stay on the device, and the random choices of each epoch.

These are drawn on the host from named streams, so that a CPU, a GPU and a resumed run see the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from votewise._checks import IntArray, check_kind
from votewise._errors import InputError
from votewise._random import stream_generator
from votewise.models.readers import is_tokens, token_counts
from votewise.training.config import TrainConfig


def epoch_order(seed: int, epoch: int, n_items: int) -> IntArray:
    """The order in which an epoch visits the training items, (n_items,)."""
    return stream_generator(seed, "order", epoch).permutation(n_items)


def epoch_crops(seed: int, epoch: int, n_items: int, config: TrainConfig) -> IntArray:
    """Top and left of the crop of each training item, and whether it is mirrored, (n_items, 3)."""
    rng = stream_generator(seed, "augmentation", epoch)
    corner = rng.integers(0, 2 * config.crop + 1, size=(n_items, 2))
    mirrored = rng.integers(0, 2, size=(n_items, 1)) if config.flip else np.zeros((n_items, 1), dtype=np.int64)
    return np.concatenate([corner, mirrored], axis=1)


def batch_sizes(n_items: int, batch_size: int) -> list[int]:
    """The sizes of an epoch's batches; the last may be smaller."""
    full, rest = divmod(n_items, batch_size)
    return [batch_size] * full + ([rest] if rest else [])


@dataclass(frozen=True, eq=False)
class Inputs:
    """All inputs of a data set on one device; images are padded for cropping in advance.

    Attributes:
        values: (N, ...) inputs; images as (N, H + 2 crop, W + 2 crop, C) uint8.
        crop: pixels of padding on each side.
        scaling: (2, C) factor and offset that normalise pixels 0..255; None where inputs are not images.
    """

    values: Tensor
    crop: int = 0
    scaling: Tensor | None = None

    @classmethod
    def place(cls, values: Tensor, config: TrainConfig, device: torch.device | str) -> Inputs:
        """Move inputs to a device, prepared as a recipe says."""
        check_tensor(values)
        values = values.to(device)
        if not config.mean:
            return cls(values)
        if values.dtype != torch.uint8 or values.ndim != 4 or values.shape[3] != len(config.mean):
            raise InputError(
                f"images must be uint8 of shape (N, H, W, {len(config.mean)})",
                f"got {values.dtype} of shape {tuple(values.shape)}",
                "Convert them, or leave mean and std empty",
            )
        mean = torch.tensor(config.mean, device=device)
        std = torch.tensor(config.std, device=device)
        fill = torch.zeros_like(mean) if config.fill == "black" else (mean * 255).round()
        padded = _pad(values, config.crop, fill.to(torch.uint8))
        return cls(padded, config.crop, torch.stack([1 / (255 * std), -mean / std]))

    def plain(self, items: Tensor) -> Tensor:
        """The inputs of items as a model takes them, without augmentation; images (B, C, H, W)."""
        if self.scaling is None:
            return self.values[items]
        inner = slice(self.crop, -self.crop or None)
        return _normalised(self.values[items, inner, inner], self.scaling)

    def cropped(self, items: Tensor, crops: Tensor) -> Tensor:
        """The same, cropped and mirrored as `epoch_crops` says, in one gather."""
        if self.scaling is None:
            return self.values[items]
        height, width = (side - 2 * self.crop for side in self.values.shape[1:3])
        down = torch.arange(height, device=items.device)
        right = torch.arange(width, device=items.device)
        top, left, mirrored = crops.unbind(dim=1)
        columns = left[:, None] + torch.where(mirrored[:, None].bool(), width - 1 - right, right)
        rows = top[:, None] + down
        return _normalised(self.values[items[:, None, None], rows[:, :, None], columns[:, None, :]], self.scaling)

    def __len__(self) -> int:
        return len(self.values)

    def chunks(self, items: Tensor, size: int) -> Iterator[Tensor]:
        """The inputs of items, `size` at a time."""
        return (self.plain(part) for part in torch.split(items, size))


def micro_batches(given: Tensor, size: int) -> list[Tensor]:
    """Rows of a batch in parts of at most `size`, or in one of all if `size` is 0.

    Texts of about one length come together, so that little is padding; the sum of the gradients does not change.
    """
    rows = torch.arange(len(given), device=given.device)
    if not 0 < size < len(given):
        return [rows]
    return list(torch.split(token_counts(given).argsort() if is_tokens(given) else rows, size))


def check_tensor(inputs: Tensor) -> None:
    """Refuse inputs that are not a tensor."""
    check_kind("inputs", inputs, Tensor, "Pass torch.from_numpy(inputs)")


def _pad(images: Tensor, pixels: int, fill: Tensor) -> Tensor:
    n, height, width, _ = images.shape
    padded = fill.expand(n, height + 2 * pixels, width + 2 * pixels, len(fill)).clone()
    padded[:, pixels : pixels + height, pixels : pixels + width] = images
    return padded


def _normalised(pixels: Tensor, scaling: Tensor) -> Tensor:
    """Pixels (B, H, W, C) as a convolution takes them, (B, C, H, W)."""
    return (pixels * scaling[0] + scaling[1]).permute(0, 3, 1, 2)
