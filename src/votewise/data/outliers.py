"""Out-of-distribution (OOD) images for models trained on CIFAR-10."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, frozen
from votewise._errors import InputError
from votewise._npz import read_npz
from votewise.data.batches import read_cifar_batch
from votewise.data.images import ImageArray
from votewise.data.releases import find_release, locate_release, matches_checksum

_GET_AGAIN = "Remove it and get the released file again"

_SHAPE = (32, 32, 3)


@dataclass(frozen=True, eq=False)
class Outliers:
    """N out-of-distribution images: of classes a model was not trained on.

    Attributes:
        name: the data set, as in the catalogue.
        images: (N, 32, 32, 3) uint8, red, green, blue.
        labels: (N,) int64, what they show, in the data set's own classes.
        source: the file they were read from.
    """

    name: str
    images: ImageArray
    labels: IntArray
    source: str

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("images", "labels"):
            object.__setattr__(self, name, frozen(getattr(self, name)))


def load_svhn(folder: Path | None = None) -> Outliers:
    """Digits of house numbers (Netzer et al. 2011), the test set or the part of it that is found; labels 0 to 9.

    Args:
        folder: where the file lies; `data_folder()` if left out. Nothing is downloaded.
    """
    (path,) = locate_release("svhn", folder)
    if path.suffix == ".npz":
        images, labels = _read_outlier_images(path, "label")
        return _outlier_images("svhn", path, images, labels, 10)
    from scipy.io import loadmat

    # On some damaged files scipy's reader ends the whole process, so it is shown the released bytes alone.
    released = next(file for part in find_release("svhn").parts for file in part if file.name == path.name)
    if not matches_checksum(path, released.checksum):
        raise InputError(
            f"{str(path)!r} must have the published bytes ({released.checksum})", "it has others", _GET_AGAIN
        )
    arrays = loadmat(path, variable_names=["X", "y"])
    # Images are the last axis, and the digit 0 has label 10.
    images, labels = np.moveaxis(arrays["X"], -1, 0), np.where(arrays["y"] == 10, 0, arrays["y"])[:, 0]
    return _outlier_images("svhn", path, images, labels, 10)


def load_cifar100(folder: Path | None = None) -> Outliers:
    """Images of 100 classes (Krizhevsky 2009), the test set or the part of it that is found; fine labels 0 to 99.

    Args:
        folder: where the file lies; `data_folder()` if left out. Nothing is downloaded.
    """
    (path,) = locate_release("cifar100", folder)
    if path.suffix == ".npz":
        images, labels = _read_outlier_images(path, "fine")
    else:
        images, labels = read_cifar_batch(path, "cifar-100-python/test", "fine_labels", 100)
    return _outlier_images("cifar100", path, images, labels, 100)


def _outlier_images(
    name: str, path: Path, images: npt.NDArray[Any], labels: npt.NDArray[Any], n_classes: int
) -> Outliers:
    if images.dtype != np.uint8 or images.shape[1:] != _SHAPE or not len(images):
        raise InputError(
            f"{str(path)!r} must hold images of 32 x 32 x 3 bytes",
            f"got {images.dtype} of shape {images.shape}",
            _GET_AGAIN,
        )
    whole = labels.dtype.kind in "iu" and labels.shape == (len(images),)
    if not whole or labels.min() < 0 or labels.max() >= n_classes:
        raise InputError(
            f"{str(path)!r} must hold a label from 0 to {n_classes - 1} for each image", "it does not", _GET_AGAIN
        )
    return Outliers(name, np.ascontiguousarray(images), labels.astype(np.int64), path.name)


def _read_outlier_images(path: Path, label_key: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    try:
        arrays = read_npz(path, ("images", label_key))
    except Exception as error:  # a damaged archive or header makes the parsers raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{str(path)!r} must be readable", f"reading it failed: {reason}", _GET_AGAIN) from None
    lacking = [name for name in ("images", label_key) if name not in arrays]
    if lacking:
        raise InputError(
            f"{str(path)!r} must hold the arrays 'images' and {label_key!r}",
            f"it lacks {' and '.join(map(repr, sorted(lacking)))}",
            "Save both with np.savez",
        )
    return arrays["images"], arrays[label_key]
