"""CIFAR-10H: the CIFAR-10 test images, each labelled by about fifty people.

Peterson, Battleday, Griffiths and Russakovsky (2019), "Human uncertainty makes classification more robust".
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from votewise._errors import InputError
from votewise._numerics import top_classes
from votewise.datasets.batches import read_batch
from votewise.datasets.catalog import locate
from votewise.datasets.images import ImageVotes
from votewise.votes import Votes, open_source

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")

# In the released order people's first choice is the true label for 99.2 % of the images, in any other for 10 %.
_LEAST_AGREEMENT = 0.95


def load_cifar10h(folder: Path | None = None) -> ImageVotes:
    """The 10,000 test images of CIFAR-10 with 511,000 votes and the true labels; item ids are row numbers.

    Args:
        folder: where the released files lie; `data_folder()` if left out. Nothing is downloaded.
    """
    counts, batch = locate("cifar10h", folder)
    images, labels = read_batch(batch, "cifar-10-batches-py/test_batch", "labels", len(CLASSES))
    data = ImageVotes(_read_votes(counts), images, labels)
    agreement = (top_classes(data.votes.probs) == labels).mean()
    if agreement <= _LEAST_AGREEMENT:
        raise InputError(
            "votes and images must be in the same order",
            f"people's first choice is the label of only {agreement:.1%} of the images, so the orders of "
            f"{str(counts)!r} and {str(batch)!r} differ",
            "Take both files as released",
        )
    return data


def _read_votes(path: Path) -> Votes:
    counts = open_source(path)
    if not isinstance(counts, np.ndarray) or counts.dtype.kind not in "iu" or counts.shape[1:] != (len(CLASSES),):
        got = f"{counts.dtype} of shape {counts.shape}" if isinstance(counts, np.ndarray) else "a table"
        raise InputError(
            f"{str(path)!r} must be whole numbers, images x {len(CLASSES)} classes",
            f"got {got}",
            "Remove it and get the released file again",
        )
    return Votes.from_counts(counts, classes=CLASSES)
