"""What is trained on: votes and the inputs of the same items, opened (`Dataset`) or as arrays (`Prepared`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

import numpy.typing as npt

from votewise._checks import IntArray
from votewise._errors import InputError
from votewise._numerics import top_classes
from votewise.data.cache import cached
from votewise.data.inputs import InputForm, InputModel, InputSource, Track
from votewise.votes import Votes


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs that are opened but not loaded, and the votes on them; row i of each belongs to the same item.

    Attributes:
        name: name for people, in reports and records.
        source: the inputs.
        votes: the votes on them.
        checksum: SHA-256 of inputs and votes as they were given; it identifies the data, whatever a model makes of it.
        labels: (N,) true class numbers, where they are known.
        notes: what a reader should know about how the data were put together.
    """

    name: str
    source: InputSource
    votes: Votes
    checksum: str
    labels: IntArray | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse inputs and labels with another number of rows than the votes."""
        _check_lengths(self.votes, **{self.source.kind: self.source, "labels": self.labels})

    def take(self, rows: IntArray) -> Dataset:
        """Some of the items, with a checksum of their own."""
        return Dataset(
            self.name,
            self.source.take(rows),
            self.votes.take(rows),
            _checksum_of_rows(self.checksum, rows),
            None if self.labels is None else self.labels[rows],
            self.notes,
        )


@dataclass(frozen=True, eq=False)
class Prepared:
    """Inputs as the arrays that training takes, and the votes on them; row i of each belongs to the same item.

    Attributes:
        name: name for people, in reports and records.
        kind: kind of the inputs: "images", "features" or "text".
        checksum: the data set's checksum. A run's config has the model beside it, since arrays depend on both.
        inputs: (N, ...): images (N, H, W, C) uint8, features (N, D) float32, texts as the model encodes them.
        votes: the votes on them.
        labels: (N,) true class numbers, where they are known.
        notes: what a reader should know about how the data were put together.
        form: how the inputs were read, to be saved with a model.
        encoder: label of the pretrained encoder that they were prepared for, and its folder; None if for none.
    """

    name: str
    kind: str
    checksum: str
    inputs: npt.NDArray[Any]
    votes: Votes
    labels: IntArray | None = None
    notes: tuple[str, ...] = ()
    form: InputForm = field(default_factory=InputForm)
    encoder: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse inputs and labels with another number of rows than the votes."""
        _check_lengths(self.votes, inputs=self.inputs, labels=self.labels)

    def take(self, rows: IntArray) -> Prepared:
        """Some of the items, with a checksum of their own."""
        return Prepared(
            self.name,
            self.kind,
            _checksum_of_rows(self.checksum, rows),
            self.inputs[rows],
            self.votes.take(rows),
            None if self.labels is None else self.labels[rows],
            self.notes,
            self.form,
            self.encoder,
        )

    @property
    def hard_labels(self) -> IntArray:
        """(N,) the true classes where known, else the majority class (the lowest in a tie)."""
        return top_classes(self.votes.probs) if self.labels is None else self.labels


def prepare(dataset: Dataset, model: InputModel | None = None, *, track: Track[int] = iter) -> Prepared:
    """The inputs of a data set as the arrays that a model takes, made once for all runs.

    Args:
        dataset: what will be trained on.
        model: model that will be trained, `find_model(name, kind)`. Without one, features and images in memory stay
            as they are, image files get the default size, and texts are refused.
        track: shows progress over the rows.
    """
    load = partial(dataset.source.load, model, track)
    worth_keeping = model is not None and model.cached_as
    loaded = cached(worth_keeping, dataset.source, load) if worth_keeping else load()
    if model is not None:
        model.check(loaded.values.shape[1:])
    return Prepared(
        dataset.name,
        dataset.source.kind,
        dataset.checksum,
        loaded.values,
        dataset.votes,
        dataset.labels,
        (*dataset.notes, *loaded.notes),
        loaded.form,
        None if model is None else model.encoder,
    )


def _check_lengths(votes: Votes, **parts: Any) -> None:
    for part, values in parts.items():
        if values is not None and len(values) != votes.n_items:
            raise InputError(
                f"{part} must have a row for each of {votes.n_items:,} items",
                f"got {len(values):,}",
                "Line them up with the votes",
            )


def _checksum_of_rows(checksum: str, rows: IntArray) -> str:
    return sha256(checksum.encode() + rows.astype("<i8").tobytes()).hexdigest()
