"""Crops of images written again, slowly: one pixel at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def cropped(
    image: np.ndarray, corner: tuple[int, int], mirrored: bool, pad: int, fill: Sequence[int], mean: Sequence[float],
    std: Sequence[float],
) -> np.ndarray:  # fmt: skip
    """(C, H, W): an image (H, W, C) padded, cut at a corner, mirrored, normalised."""
    height, width, channels = image.shape
    out = np.zeros((channels, height, width))
    for c in range(channels):
        for y in range(height):
            for x in range(width):
                row = corner[0] + y - pad
                column = corner[1] + (width - 1 - x if mirrored else x) - pad
                inside = 0 <= row < height and 0 <= column < width
                pixel = int(image[row, column, c]) if inside else fill[c]
                out[c, y, x] = (pixel / 255 - mean[c]) / std[c]
    return out
