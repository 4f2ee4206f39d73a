"""CIFAR-10H: the CIFAR-10 test images, each labelled by about fifty people.

Peterson, Battleday, Griffiths and Russakovsky (2019), "Human uncertainty makes classification more robust".
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np

from votewise._checks import frozen
from votewise._errors import InputError
from votewise._numerics import top_classes
from votewise.data.batches import read_cifar_batch
from votewise.data.dataset import Dataset
from votewise.data.images import ImageArrays
from votewise.data.inputs import pieces_for_checksum
from votewise.data.releases import locate_release
from votewise.votes import Votes, open_source

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

_BATCH = "cifar-10-batches-py/test_batch"

# In the released order people's first choice is the true label for 99.2 % of the images, in any other for 10 %.
_LEAST_AGREEMENT = 0.95


def load_cifar10h(folder: Path | None = None) -> Dataset:
    """The 10,000 test images of CIFAR-10 with 511,000 votes and the true labels; item ids are row numbers.

    Args:
        folder: where the released files lie; `data_folder()` if left out. Nothing is downloaded.
    """
    counts_path, batch = locate_release("cifar10h", folder)
    counts = open_source(counts_path)
    if not isinstance(counts, np.ndarray) or counts.dtype.kind not in "iu" or counts.shape[1:] != (len(CLASSES),):
        got = f"{counts.dtype} of shape {counts.shape}" if isinstance(counts, np.ndarray) else "a table"
        raise InputError(
            f"{str(counts_path)!r} must be whole numbers, images x {len(CLASSES)} classes",
            f"got {got}",
            "Remove it and get the released file again",
        )
    votes = Votes.from_counts(counts, classes=CLASSES)
    images, labels = (frozen(array) for array in read_cifar_batch(batch, _BATCH, "labels", len(CLASSES)))
    # Of images, labels and counts, however they were stored: every stored run is named by it.
    digest = sha256()
    for array in (images, labels.astype("<i8"), counts.astype("<i8")):
        for piece in pieces_for_checksum(array):
            digest.update(piece)
    data = Dataset("cifar10h", ImageArrays(None, images), votes, digest.hexdigest(), labels)
    agreement = (top_classes(votes.probs) == labels).mean()
    if agreement <= _LEAST_AGREEMENT:
        raise InputError(
            "votes and images must be in the same order",
            f"people's first choice is the label of only {agreement:.1%} of the images, so the orders of "
            f"{str(counts_path)!r} and {str(batch)!r} differ",
            "Take both files as released",
        )
    return data
