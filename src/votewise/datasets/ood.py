"""Out-of-distribution (OOD) images for models trained on CIFAR-10."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._errors import InputError
from votewise.datasets.batches import read_batch
from votewise.datasets.catalog import find_dataset, locate, matches
from votewise.datasets.images import IMAGE_SHAPE, OutlierImages

# The released sets have 80 MB at most; a file that unpacks to far more is something else.
_MOST_BYTES = 1 << 30
_GET_AGAIN = "Remove it and get the released file again"


def load_svhn(folder: Path | None = None) -> OutlierImages:
    """Digits of house numbers (Netzer et al. 2011), the test set or the part of it that is found; labels 0 to 9.

    Args:
        folder: where the file lies; `data_folder()` if left out. Nothing is downloaded.
    """
    (path,) = locate("svhn", folder)
    images, labels = _read_npz(path, "label") if path.suffix == ".npz" else _read_mat(path)
    return _outliers("svhn", path, images, labels, 10)


def load_cifar100(folder: Path | None = None) -> OutlierImages:
    """Images of 100 classes (Krizhevsky 2009), the test set or the part of it that is found; fine labels 0 to 99.

    Args:
        folder: where the file lies; `data_folder()` if left out. Nothing is downloaded.
    """
    (path,) = locate("cifar100", folder)
    if path.suffix == ".npz":
        images, labels = _read_npz(path, "fine")
    else:
        images, labels = read_batch(path, "cifar-100-python/test", "fine_labels", 100)
    return _outliers("cifar100", path, images, labels, 100)


def _outliers(
    name: str, path: Path, images: npt.NDArray[Any], labels: npt.NDArray[Any], n_classes: int
) -> OutlierImages:
    if images.dtype != np.uint8 or images.shape[1:] != IMAGE_SHAPE or not len(images):
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
    return OutlierImages(name, np.ascontiguousarray(images), labels.astype(np.int64), path.name)


def _read_npz(path: Path, label_key: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if sum(entry.file_size for entry in arrays.zip.infolist()) > _MOST_BYTES:
                raise ValueError(f"it unpacks to more than {_MOST_BYTES:,} bytes")
            lacking = {"images", label_key} - set(arrays.files)
            if not lacking:
                return arrays["images"], arrays[label_key]
    except Exception as error:  # a damaged archive or header makes the parsers raise anything
        raise _unreadable(path, error) from None
    raise InputError(
        f"{str(path)!r} must hold the arrays 'images' and {label_key!r}",
        f"it lacks {' and '.join(map(repr, sorted(lacking)))}",
        "Save both with np.savez",
    )


def _read_mat(path: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Images and labels of the released MATLAB file, where images are the last axis and the digit 0 has label 10."""
    from scipy.io import loadmat

    # On some damaged files scipy's reader ends the whole process, so it is shown the released bytes alone.
    released = next(file for part in find_dataset("svhn").parts for file in part if file.name == path.name)
    if not matches(path, released.checksum):
        raise InputError(
            f"{str(path)!r} must have the published bytes ({released.checksum})", "it has others", _GET_AGAIN
        )
    arrays = loadmat(path, variable_names=["X", "y"])
    return np.moveaxis(arrays["X"], -1, 0), np.where(arrays["y"] == 10, 0, arrays["y"])[:, 0]


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return InputError(f"{str(path)!r} must be readable", f"reading it failed: {reason}", _GET_AGAIN)
