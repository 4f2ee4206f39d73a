"""Corrupted images: what each corruption does, that it is the same every time, and that it grows with its strength."""

from __future__ import annotations

import io

import numpy as np
import pytest
import scipy.ndimage
from PIL import Image

from votewise.data.corruptions import (
    CORRUPTIONS,
    corrupt_with_blur,
    corrupt_with_compression,
    corrupt_with_low_contrast,
    corrupt_with_noise,
)

IMAGES = np.random.default_rng(0).integers(0, 256, size=(6, 16, 20, 3), dtype=np.uint8)
SMOOTH = corrupt_with_blur(IMAGES, 2.0)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corruption_is_the_same_every_time_and_grows(name: str) -> None:
    corrupt, strengths = CORRUPTIONS[name]
    before = SMOOTH.copy()
    distances = []
    for strength in strengths:
        corrupted = corrupt(SMOOTH, strength, seed=3)
        assert (corrupted.dtype, corrupted.shape) == (np.uint8, SMOOTH.shape)
        np.testing.assert_array_equal(corrupted, corrupt(SMOOTH, strength, seed=3))
        np.testing.assert_array_equal(corrupted[2:3, :8], corrupt(SMOOTH, strength, seed=3)[2:3, :8])
        distances.append(np.abs(corrupted.astype(float) - SMOOTH).mean())
    assert 0 < distances[0] < distances[1] < distances[2]
    np.testing.assert_array_equal(SMOOTH, before)


def test_noise_has_its_deviation_and_its_seed() -> None:
    grey = np.full((10, 32, 32, 3), 128, np.uint8)
    noise = corrupt_with_noise(grey, 0.08, seed=1).astype(float) - 128
    assert noise.std() == pytest.approx(0.08 * 255, rel=0.02)
    assert abs(noise.mean()) < 0.5
    assert (corrupt_with_noise(grey, 0.08, seed=2) != corrupt_with_noise(grey, 0.08, seed=1)).any()


def test_blur_is_scipys() -> None:
    expected = scipy.ndimage.gaussian_filter(IMAGES.astype(float), (0, 1.5, 1.5, 0), mode="reflect", truncate=10 / 3)
    difference = np.abs(corrupt_with_blur(IMAGES, 1.5).astype(float) - expected)
    assert difference.max() <= 0.51, "but for rounding to whole numbers"


def test_contrast_keeps_the_mean_and_shrinks_the_rest() -> None:
    lowered = corrupt_with_low_contrast(SMOOTH, 0.4).astype(float)
    np.testing.assert_allclose(lowered.mean(axis=(1, 2)), SMOOTH.mean(axis=(1, 2)), atol=0.3)
    np.testing.assert_allclose(lowered.std(axis=(1, 2)), 0.4 * SMOOTH.std(axis=(1, 2)), atol=0.3)


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_is_pillows(channels: int) -> None:
    images = SMOOTH[..., :channels]
    file = io.BytesIO()
    Image.fromarray(images[4].squeeze()).save(file, "JPEG", quality=25)
    np.testing.assert_array_equal(corrupt_with_compression(images, 25)[4].squeeze(), np.asarray(Image.open(file)))
