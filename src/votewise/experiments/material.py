"""The data of an experiment: inputs and votes for the same items."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy.typing as npt

from votewise._checks import IntArray
from votewise._errors import InputError
from votewise._numerics import top_classes
from votewise.datasets import ImageVotes
from votewise.votes import Votes


@dataclass(frozen=True, eq=False)
class Material:
    """Inputs and votes; row i of each belongs to the same item.

    Attributes:
        name: of the data, for people.
        kind: of the inputs: "images", "features" or "text".
        checksum: of inputs and votes; it identifies the data.
        inputs: (N, ...): images (N, H, W, C) uint8, features (N, D) float32, hashed n-grams (N, L) int64.
        votes: the votes for these items.
        labels: (N,) true class numbers, where they are known.
        notes: what a reader should know about how the data were put together.
    """

    name: str
    kind: str
    checksum: str
    inputs: npt.NDArray[Any]
    votes: Votes
    labels: IntArray | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse inputs and labels with another number of rows than the votes."""
        for part, values in (("inputs", self.inputs), ("labels", self.labels)):
            if values is not None and len(values) != self.votes.n_items:
                raise InputError(
                    f"{part} must have a row for each of {self.votes.n_items:,} items",
                    f"got {len(values):,}",
                    "Line them up with the votes",
                )

    @classmethod
    def of_images(cls, name: str, data: ImageVotes) -> Material:
        """The material of a named image data set."""
        return cls(name, "images", data.checksum, data.images, data.votes, data.labels)

    def take(self, rows: IntArray) -> Material:
        """Some of the items, with a checksum of their own."""
        checksum = sha256(self.checksum.encode() + rows.astype("<i8").tobytes()).hexdigest()
        labels = None if self.labels is None else self.labels[rows]
        return Material(self.name, self.kind, checksum, self.inputs[rows], self.votes.take(rows), labels, self.notes)

    @property
    def hard_labels(self) -> IntArray:
        """(N,) the true classes where known, else the majority class (the lowest in a tie)."""
        return top_classes(self.votes.probs) if self.labels is None else self.labels
