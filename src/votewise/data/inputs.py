"""What every kind of input has in common. Each kind is a subclass of `InputSource` in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, StrArray, check_choice, check_kind, check_whole_number, first_few
from votewise._errors import InputError
from votewise._text import TextOrPair

Step = TypeVar("Step")

# Shows progress over a sequence while it is gone through.
Track = Callable[[Sequence[Step]], Iterable[Step]]

# An array with a row for each item, and what a reader should know about how it was made.
Encoded: TypeAlias = tuple[npt.NDArray[Any], tuple[str, ...]]


@dataclass(frozen=True)
class InputForm:
    """How inputs were read. It is saved with a model, which then gets new inputs in the same form.

    Attributes:
        size: side of the images in pixels, if they are square.
        suffixes: whether item ids are whole file names, suffix included.
        columns: names of the features, in order; empty if they have none.
        text_column: name of the column with the texts, or names of the two columns with pairs of texts.
    """

    size: int | None = None
    suffixes: bool = False
    columns: tuple[str, ...] = ()
    text_column: TextOrPair | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they are saved with a model."""
        column = self.text_column
        return {
            **asdict(self),
            "columns": list(self.columns),
            "text_column": list(column) if isinstance(column, tuple) else column,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> InputForm:
        """The form that `to_dict` gave; anything else is an error."""
        for name in values:
            check_choice("how inputs are read", name, tuple(field.name for field in fields(cls)))
        columns = values.get("columns", [])
        check_kind("the columns of features", columns, list, "Train the model again")
        if values.get("size") is not None:
            check_whole_number("the size of images", values["size"], least=1)
        column = values.get("text_column")
        if isinstance(column, list):
            if len(column) != 2:
                raise InputError(
                    "the text column must be one name or two", f"got {first_few(column)}", "Train the model again"
                )
            column = (str(column[0]), str(column[1]))
        return cls(**{**values, "columns": tuple(str(name) for name in columns), "text_column": column})


class InputModel(Protocol):
    """What inputs ask of the model they are made for; `votewise.models.Model` answers it."""

    @property
    def size(self) -> int | None:
        """Side in pixels that image files are brought to."""

    @property
    def encode(self) -> Callable[[Iterable[Any], Track[int]], Encoded] | None:
        """From N texts, pairs or images of Pillow to an array (N, ...) and notes; None if it takes arrays."""

    @property
    def doing(self) -> str:
        """What is done to make the arrays, such as "reading", for a display of progress."""

    @property
    def cached_as(self) -> str:
        """Name of what `encode` gives, if that is worth keeping on disk for later; else empty."""

    @property
    def encoder(self) -> tuple[str, str] | None:
        """Label of a pretrained encoder by its content, and its folder; None if it is none."""

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse inputs of a shape that it does not take."""


@dataclass(frozen=True, eq=False)
class LoadedInputs:
    """Inputs as arrays.

    Attributes:
        values: (N, ...): images (N, H, W, C) uint8, features (N, D) float32, texts as the model encodes them.
        form: how they were read.
        notes: what a reader should know about how they were read.
    """

    values: npt.NDArray[Any]
    form: InputForm
    notes: tuple[str, ...] = ()


class InputSource(ABC):
    """Inputs of N items that have been opened but not loaded.

    Attributes:
        kind: "images", "features" or "text".
        words: what an item without input lacks, one input and several, for errors.
        item_ids: (N,) text; None where rows have no ids and are in the order of the votes.
        form: how they are read.
    """

    kind: ClassVar[str]
    words: ClassVar[tuple[str, str, str]]
    item_ids: StrArray | None
    form: InputForm

    @abstractmethod
    def __len__(self) -> int:
        """N."""

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """The inputs of some items, in the order given."""

    @abstractmethod
    def raw(self, track: Track[int] = iter) -> Iterator[bytes | memoryview]:
        """The inputs as they were given, in pieces to be hashed: equal pieces mean equal inputs.

        Args:
            track: shows progress over the rows.
        """

    @abstractmethod
    def load(self, model: InputModel | None = None, track: Track[int] = iter) -> LoadedInputs:
        """The inputs as arrays.

        Args:
            model: model that will take them; not needed where they are arrays already.
            track: shows progress over the rows.
        """

    @property
    def texts(self) -> tuple[TextOrPair, ...] | None:
        """N texts, or pairs of texts, to show for the items; None if the items are no texts."""
        return None

    @property
    def paths(self) -> tuple[str, ...] | None:
        """N paths of the files that hold the items; None if they are not in files of their own."""
        return None

    def pictures(self, track: Track[int] = iter) -> Iterator[bytes] | None:
        """A small picture of each item, the bytes of a WebP or PNG file; None if the items cannot be pictured.

        Args:
            track: shows progress over the rows.
        """
        return None


def pieces_for_checksum(values: npt.NDArray[Any]) -> Iterator[bytes | memoryview]:
    """An array's type, shape and bytes."""
    yield f"{values.dtype.str}{values.shape}".encode()
    yield np.ascontiguousarray(values).data


def taken_ids(item_ids: StrArray | None, rows: IntArray) -> StrArray | None:
    """The ids of some rows, if there are ids."""
    return None if item_ids is None else item_ids[rows]


def name_input_rows(rows: IntArray, ids: StrArray | None) -> str:
    """The first few rows by id, or by number if there are no ids."""
    if ids is None:
        return f"rows {first_few(rows[:5], len(rows))}"
    return f"items {first_few(ids[rows[:5]], len(rows))}"
