"""Images made worse, so that models can be scored on inputs unlike those they were trained on.

Noise, blur, contrast and JPEG as in Hendrycks and Dietterich (2019), "Benchmarking neural network robustness to common
corruptions and perturbations", with strengths of our own. The same images and seed always give the same images.
"""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from votewise._random import stream_generator

Pixels = npt.NDArray[np.uint8]

# Kernels end where their weights no longer matter, in standard deviations.
_REACH = 3.0


def corrupt_with_noise(images: Pixels, deviation: float, *, seed: int) -> Pixels:
    """Gaussian noise, independent in each pixel and channel.

    Args:
        images: (N, H, W, C).
        deviation: its standard deviation, as a share of the range of a pixel.
        seed: root seed of the noise.
    """
    noise = stream_generator(seed, "noise").normal(scale=255 * deviation, size=images.shape)
    return _as_pixels(images + noise)


def corrupt_with_blur(images: Pixels, sigma: float, *, seed: int = 0) -> Pixels:  # noqa: ARG001
    """Gaussian blur; beyond the edges images are mirrored.

    Args:
        images: (N, H, W, C).
        sigma: standard deviation of the kernel in pixels.
        seed: not used.
    """
    reach = int(np.ceil(_REACH * sigma))
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-((offsets / sigma) ** 2) / 2)
    weights /= weights.sum()
    blurred = images.astype(np.float64)
    for axis in (1, 2):
        length = images.shape[axis]
        padded = np.pad(blurred, [(reach, reach) if one == axis else (0, 0) for one in range(4)], mode="symmetric")
        blurred = sum(
            weight * np.take(padded, np.arange(place, place + length), axis=axis)
            for place, weight in enumerate(weights.tolist())
        )
    return _as_pixels(blurred)


def corrupt_with_low_contrast(images: Pixels, kept: float, *, seed: int = 0) -> Pixels:  # noqa: ARG001
    """Each channel of an image brought nearer to its mean.

    Args:
        images: (N, H, W, C).
        kept: share of the distance from the mean that is kept.
        seed: not used.
    """
    mean = images.mean(axis=(1, 2), keepdims=True)
    return _as_pixels(mean + kept * (images - mean))


def corrupt_with_compression(images: Pixels, quality: float, *, seed: int = 0) -> Pixels:  # noqa: ARG001
    """Images written as JPEG and read again.

    Args:
        images: (N, H, W, C), grey or RGB.
        quality: quality of the JPEG, from 1 to 95.
        seed: not used.
    """
    from PIL import Image

    compressed = np.empty_like(images)
    for place, image in enumerate(images):
        file = io.BytesIO()
        Image.fromarray(image.squeeze()).save(file, "JPEG", quality=int(quality))
        compressed[place] = np.asarray(Image.open(file)).reshape(image.shape)
    return compressed


# Each corruption with its three strengths, the weakest first.
CORRUPTIONS: dict[str, tuple[Callable[..., Pixels], tuple[float, float, float]]] = {
    "noise": (corrupt_with_noise, (0.04, 0.08, 0.16)),
    "blur": (corrupt_with_blur, (0.5, 1.0, 1.5)),
    "contrast": (corrupt_with_low_contrast, (0.6, 0.4, 0.2)),
    "jpeg": (corrupt_with_compression, (50, 25, 10)),
}


def _as_pixels(values: npt.NDArray[np.float64]) -> Pixels:
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)
