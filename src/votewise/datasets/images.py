"""Images and the votes on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, frozen
from votewise._errors import InputError
from votewise.votes import Votes

ImageArray = npt.NDArray[np.uint8]

IMAGE_SHAPE = (32, 32, 3)


@dataclass(frozen=True, eq=False)
class ImageVotes:
    """N images, the votes on them, and their true labels, all in one order.

    Attributes:
        votes: what people said, with counts.
        images: (N, 32, 32, 3) uint8, red, green, blue.
        labels: (N,) int64, the column of the true class in `votes.classes`.
    """

    votes: Votes
    images: ImageArray
    labels: IntArray

    def __post_init__(self) -> None:
        """Make the arrays read-only, and refuse arrays of different lengths."""
        for name in ("images", "labels"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        if not self.votes.n_items == len(self.images) == len(self.labels):
            raise InputError(
                "every image must have its votes and its label",
                f"there are {len(self.images):,} images, {len(self.labels):,} labels and votes on "
                f"{self.votes.n_items:,} items",
                "Take all three from one release",
            )

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of images, labels and counts, however they were stored: the name of the data in records."""
        counts = self.votes.require_counts("the checksum")
        digest = sha256()
        for array in (self.images, self.labels.astype("<i8"), counts.astype("<i8")):
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()


@dataclass(frozen=True, eq=False)
class OutlierImages:
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
