"""Tables of numbers, one row per item."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, StrArray, check_item_ids, first_few
from votewise._errors import InputError
from votewise.data.inputs import (
    InputForm,
    InputModel,
    InputSource,
    LoadedInputs,
    Track,
    name_input_rows,
    pieces_for_checksum,
    taken_ids,
)
from votewise.votes import column_names, find_column, open_source
from votewise.votes.numbers import to_float
from votewise.votes.sources import engine_errors
from votewise.votes.tally import as_text

if TYPE_CHECKING:
    import polars as pl

# A first column of unknown name with different whole numbers in at least this many rows may well hold ids.
_ENOUGH_ROWS = 8


@dataclass(frozen=True, eq=False)
class Features(InputSource):
    """Numbers that describe each item.

    Attributes:
        item_ids: (N,) text; None where rows have no ids and are in the order of the votes.
        values: (N, D) float32, finite.
        form: names of the features, where they have names.
    """

    kind: ClassVar[str] = "features"
    words: ClassVar[tuple[str, str, str]] = ("features", "row of features", "rows of features")

    item_ids: StrArray | None
    values: npt.NDArray[np.float32]
    form: InputForm = field(default_factory=InputForm)

    def __len__(self) -> int:
        """N."""
        return len(self.values)

    def take(self, rows: IntArray) -> Features:
        """The features of some items."""
        return Features(taken_ids(self.item_ids, rows), self.values[rows], self.form)

    def raw(self, track: Track[int] = iter) -> Iterator[bytes | memoryview]:
        """The table's type, shape and bytes."""
        return pieces_for_checksum(self.values)

    def load(self, model: InputModel | None = None, track: Track[int] = iter) -> LoadedInputs:
        """The features as they are."""
        return LoadedInputs(self.values, self.form)


def open_features(path: str | Path, *, item: str | None = None, columns: Sequence[str] = ()) -> Features:
    """A table of numbers, one row per item: .csv, .tsv, .jsonl or .parquet, or .npy (N, D) in the order of the votes.

    Args:
        path: the file.
        item: name of the item column, if it is not a known one; ignored if the table has no such column.
        columns: names of the features, in this order; all columns but the item column if left out.
    """
    table = open_source(path)
    if isinstance(table, np.ndarray):
        if table.ndim != 2 or 0 in table.shape or table.dtype.kind not in "biuf":
            raise InputError(
                "an array of features must be numbers, items x features",
                f"got {table.dtype} of shape {table.shape}",
                "Convert or reshape it",
            )
        with np.errstate(over="ignore"):
            values = table.astype(np.float32)
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if bad.size:
            raise InputError(
                "features must be finite numbers",
                f"{name_input_rows(bad, None)} hold NaN or infinity",
                "Fix or remove them",
            )
        return Features(None, values)
    frame, ids = read_input_table(table, "features", item)
    chosen = list(columns) or frame.columns
    absent = [name for name in chosen if name not in frame.columns]
    if absent:
        raise InputError(
            "the table must have the features the model was trained on",
            f"it has no column {first_few(absent)}",
            "Add those columns",
        )
    features = np.empty((frame.height, len(chosen)), dtype=np.float32)
    for place, name in enumerate(chosen):
        column = frame[name]
        with np.errstate(over="ignore"):
            features[:, place] = to_float(column).to_numpy().astype(np.float32)
        bad = np.flatnonzero(~np.isfinite(features[:, place]))  # Polars' nulls are NaN in NumPy
        if bad.size:
            raise InputError(
                "features must be finite numbers",
                f"{bad.size:,} cells of column {name!r} are not ({name_input_rows(bad, ids)}; the first is "
                f"{column[int(bad[0])]!r})",
                "Fill them in, turn categories into numbers, or remove the column",
            )
    return Features(ids, features, InputForm(columns=tuple(chosen)))


def read_input_table(
    table: pl.LazyFrame, what: str, item: str | None, only: Sequence[str] = ()
) -> tuple[pl.DataFrame, StrArray | None]:
    """All columns of a table but the item column, and the ids; None if no column looks like ids.

    Args:
        table: an opened table with one row per item.
        what: what its rows hold, for errors.
        item: name of the item column, if it is not a known one; ignored if the table has no such column.
        only: the columns to read besides the ids; all if left out.
    """
    names = column_names(table, f"the table of {what}")
    chosen = find_column("item", [name for name in names if name not in only], item if item in names else None)
    with engine_errors(f"the table of {what}"):
        frame = table.select([chosen, *only] if only and chosen is not None else names).collect()
    if frame.height == 0:
        raise InputError(f"a table of {what} needs at least one row", "it has none", "Check the file")
    chosen = chosen or _unknown_item_column(frame, only)
    if chosen is None:
        return frame, None
    if frame.width == 1:
        raise InputError(
            f"a table of {what} needs a column besides the item column", f"it has only {chosen!r}", "Add one"
        )
    with engine_errors(f"the table of {what}"):
        texts = as_text(frame[chosen], "item").fill_null("").str.strip_chars().to_list()
        ids = check_item_ids(texts, f"item ids in the table of {what}")
    return frame.drop(chosen), ids


def _unknown_item_column(frame: pl.DataFrame, only: Sequence[str]) -> str | None:
    """The first column, if it clearly holds ids: texts that all differ. Whole numbers that differ are an error."""
    name = next((name for name in frame.columns if name not in only), None)
    if name is None or frame[name].n_unique() < frame.height:
        return None
    numbers = to_float(frame[name])
    if numbers.null_count() == frame.height:
        return name
    if not only and frame.width > 1 and frame.height >= _ENOUGH_ROWS and (numbers % 1 == 0).all():
        raise InputError(
            "each column of a table of features must be a feature, or named as the item column",
            f"column {name!r} has a different whole number in every row, like ids",
            f"Pass --item {name}, or name it item_id",
        )
    return None
