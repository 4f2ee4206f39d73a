"""Users' own inputs, matched with their votes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, check_choice, check_kind, first_few
from votewise._errors import InputError
from votewise.experiments.material import Material
from votewise.report.numbers import counted
from votewise.votes import Votes
from votewise.votes.table import row_numbers

StrArray = npt.NDArray[np.str_]
Step = TypeVar("Step")
Track = Callable[[Sequence[Step]], Iterable[Step]]


@dataclass(frozen=True)
class Reading:
    """How inputs were read, so that a model gets new inputs in the same form.

    Attributes:
        size: side in pixels of images from a folder.
        suffixes: whether item ids are whole file names, suffix included.
        columns: names of the features, in order; empty if they have none.
        text_column: name of the column with the texts.
    """

    size: int | None = None
    suffixes: bool = False
    columns: tuple[str, ...] = ()
    text_column: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they are saved with a model."""
        return {**asdict(self), "columns": list(self.columns)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Reading:
        """The reading that `to_dict` gave; anything else is an error."""
        for name in values:
            check_choice("how inputs are read", name, tuple(field.name for field in fields(cls)))
        columns = values.get("columns", [])
        check_kind("the columns of features", columns, list, "Train the model again")
        return cls(**{**values, "columns": tuple(str(name) for name in columns)})


@dataclass(frozen=True, eq=False)
class Source:
    """Inputs that have been opened but not loaded.

    Attributes:
        kind: "images", "features" or "text".
        item_ids: (N,) text; None where rows have no ids and are in the order of the votes.
        count: N.
        load: from row numbers (n,) and a progress display to inputs (n, ...) and notes.
        reading: how they are read.
        caption: from an item's id to the text shown for it; empty if there is nothing to show.
    """

    kind: str
    item_ids: StrArray | None
    count: int
    load: Callable[[IntArray, Track[int]], tuple[npt.NDArray[Any], tuple[str, ...]]]
    reading: Reading
    caption: Callable[[str], str] = lambda _: ""

    def load_all(self, track: Track[int] = iter) -> tuple[StrArray, npt.NDArray[Any], tuple[str, ...]]:
        """The ids (row numbers if there are none), inputs and notes of all rows."""
        values, notes = self.load(np.arange(self.count), track)
        return row_numbers(self.count) if self.item_ids is None else self.item_ids, values, notes


def join_inputs(
    votes: Votes, source: Source, *, name: str, missing: str = "error", track: Track[int] = iter
) -> Material:
    """Match inputs with votes, by item id where there are ids.

    Args:
        votes: the votes.
        source: the inputs.
        name: of the data, for reports and records.
        missing: what to do with items that have votes or inputs only: "error" or "drop".
        track: shows progress over a sequence.
    """
    check_choice("missing", missing, ("error", "drop"))
    voted, rows, dropped = _match(votes, source, missing)
    values, notes = source.load(rows, track)
    kept = votes if len(voted) == votes.n_items else votes.take(voted)
    return Material(name, source.kind, _checksum(values, kept), values, kept, None, (*dropped, *notes))


def in_memory(kind: str, ids: StrArray | None, values: npt.NDArray[Any], reading: Reading) -> Source:
    """A source whose inputs are in memory already."""
    return Source(kind, ids, len(values), lambda rows, _: (values[rows], ()), reading)


def offenders(rows: IntArray, ids: StrArray | None) -> str:
    """The first few rows by id, or by number if there are no ids."""
    if ids is None:
        return f"rows {first_few(rows[:5], len(rows))}"
    return f"items {first_few(ids[rows[:5]], len(rows))}"


def _match(votes: Votes, source: Source, missing: str) -> tuple[IntArray, IntArray, tuple[str, ...]]:
    """Matching rows of votes and source, in the order of the votes, and a note on what was dropped."""
    if source.item_ids is None:
        if source.count != votes.n_items:
            raise InputError(
                f"{source.kind} without item ids must have one row for each of {votes.n_items:,} items, in their order",
                f"got {source.count:,}",
                "Add the ids, or put the rows in the order of the votes",
            )
        return np.arange(votes.n_items), np.arange(votes.n_items), ()
    row_of = {name: row for row, name in enumerate(source.item_ids.tolist())}
    rows = np.array([row_of.get(name, -1) for name in votes.item_ids.tolist()], dtype=np.int64)
    without_input = votes.item_ids[rows < 0]
    without_votes = source.item_ids[np.setdiff1d(np.arange(source.count), rows)]
    if len(without_input) == votes.n_items:
        raise _no_common_ids(votes, source)
    unmatched = _in_words(without_input, without_votes, source.kind)
    if unmatched and missing == "error":
        raise InputError(
            f"votes and {source.kind} must have the same items",
            f"got {unmatched}",
            "Use the same ids in both, add what is missing, or leave these out with --missing-inputs drop",
        )
    return np.flatnonzero(rows >= 0), rows[rows >= 0], (f"Left out: {unmatched}.",) if unmatched else ()


_WORDS = {
    "images": ("image", "image", "images"),
    "features": ("features", "row of features", "rows of features"),
    "text": ("text", "text", "texts"),
}


def _in_words(without_input: StrArray, without_votes: StrArray, kind: str) -> str:
    """The items that only one side has; empty if there are none."""
    its_input, one, several = _WORDS[kind]
    sides = (
        (without_input, counted(len(without_input), "item"), f"without {its_input}"),
        (without_votes, counted(len(without_votes), one, several), "without votes"),
    )
    return " and ".join(
        f"{number} {lack} ({first_few(names[:5], len(names))})" for names, number, lack in sides if len(names)
    )


def _no_common_ids(votes: Votes, source: Source) -> InputError:
    assert source.item_ids is not None
    return InputError(
        f"votes and {source.kind} must share item ids",
        f"they share none: the votes have {first_few(votes.item_ids[:3], votes.n_items)}, the {source.kind} "
        f"{first_few(source.item_ids[:3], source.count)}",
        "Use the same ids in both; an image's id is its path inside the folder, with or without suffix",
    )


def _checksum(values: npt.NDArray[Any], votes: Votes) -> str:
    """Checksum of everything that training sees, however it was stored."""
    digest = sha256("\x1f".join(votes.classes).encode(errors="surrogatepass"))
    ids = "\x1f".join(votes.item_ids.tolist()).encode(errors="surrogatepass")
    digest.update(sha256(ids).digest())
    for array in (values, votes.probs if votes.counts is None else votes.counts):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
