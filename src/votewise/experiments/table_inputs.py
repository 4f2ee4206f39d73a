"""Tables with one row per item: numbers or texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, first_few
from votewise._errors import InputError
from votewise.experiments.inputs import Reading, Source, StrArray, Track, in_memory, offenders
from votewise.votes import column_names, find_column, open_source
from votewise.votes.numbers import to_float
from votewise.votes.sources import engine_errors
from votewise.votes.table import check_item_ids
from votewise.votes.tally import as_text

if TYPE_CHECKING:
    import polars as pl

# Longer texts keep a sample of their n-grams, so that a column of novels does not fill memory.
_MOST_NGRAMS = 512

# A first column of unknown name with different whole numbers in at least this many rows may well hold ids.
_ENOUGH_ROWS = 8


def open_features(path: str | Path, *, item: str | None = None, columns: Sequence[str] = ()) -> Source:
    """A table of numbers, one row per item: .csv, .tsv, .jsonl or .parquet, or .npy (N, D) in the order of the votes.

    Args:
        path: the file.
        item: name of the item column, if it is not a known one; ignored if the table has no such column.
        columns: names of the features, in this order; all columns but the item column if left out.
    """
    table = open_source(path)
    if isinstance(table, np.ndarray):
        return in_memory("features", None, _check_array(table), Reading())
    frame, ids = _item_table(table, "features", item)
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
        features[:, place] = _numbers(frame[name], ids)
    return in_memory("features", ids, features, Reading(columns=tuple(chosen)))


def open_texts(path: str | Path, *, column: str | None = None, item: str | None = None) -> Source:
    """A table with one text per item: .csv, .tsv, .jsonl or .parquet.

    Args:
        path: the file.
        column: name of the text column; "text" if left out.
        item: name of the item column, if it is not a known one.
    """
    from votewise.models import hash_ngrams

    table = open_source(path)
    if isinstance(table, np.ndarray):
        raise InputError("texts must be in a table with named columns", "got an array", "Save them as .csv")
    chosen = column or "text"
    names = column_names(table, "the table of texts")
    if chosen not in names:
        raise InputError(
            f"the text column {chosen!r} must exist",
            f"the columns are {first_few(names)}",
            "Name it with --text-column",
        )
    frame, ids = _item_table(table, "texts", item, only=chosen)
    with engine_errors("the table of texts"):
        texts = as_text(frame[chosen], "text")
    empty = np.flatnonzero(texts.is_null().to_numpy())
    if empty.size:
        raise InputError("every item needs a text", f"{offenders(empty, ids)} have none", "Fill them in")

    def load(rows: IntArray, track: Track[int]) -> tuple[npt.NDArray[Any], tuple[str, ...]]:
        return hash_ngrams((texts[row] for row in track(rows.tolist())), most=_MOST_NGRAMS), ()

    def caption(item_id: str) -> str:
        return "" if ids is None else str(texts[int((ids == item_id).argmax())])

    return Source("text", ids, len(texts), load, Reading(text_column=chosen), caption)


def _item_table(
    table: pl.LazyFrame, what: str, item: str | None, only: str | None = None
) -> tuple[pl.DataFrame, StrArray | None]:
    """All columns but the item column, and the ids; None if no column looks like ids."""
    names = column_names(table, f"the table of {what}")
    chosen = find_column("item", [name for name in names if name != only], item if item in names else None)
    with engine_errors(f"the table of {what}"):
        frame = table.select(names if only is None or chosen is None else [chosen, only]).collect()
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


def _unknown_item_column(frame: pl.DataFrame, only: str | None) -> str | None:
    """The first column, if it clearly holds ids: texts that all differ. Whole numbers that differ are an error."""
    name = next((name for name in frame.columns if name != only), None)
    if name is None or frame[name].n_unique() < frame.height:
        return None
    numbers = to_float(frame[name])
    if numbers.null_count() == frame.height:
        return name
    if only is None and frame.width > 1 and frame.height >= _ENOUGH_ROWS and (numbers % 1 == 0).all():
        raise InputError(
            "each column of a table of features must be a feature, or named as the item column",
            f"column {name!r} has a different whole number in every row, like ids",
            f"Pass --item {name}, or name it item_id",
        )
    return None


def _numbers(column: pl.Series, ids: StrArray | None) -> npt.NDArray[np.float32]:
    numbers = to_float(column)
    with np.errstate(over="ignore"):
        values = numbers.to_numpy().astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(values))  # Polars' nulls are NaN in NumPy
    if bad.size:
        cell = column[int(bad[0])]
        raise InputError(
            "features must be finite numbers",
            f"{bad.size:,} cells of column {column.name!r} are not ({offenders(bad, ids)}; the first is {cell!r})",
            "Fill them in, turn categories into numbers, or remove the column",
        )
    return values


def _check_array(array: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        raise InputError(
            "an array of features must be numbers, items x features",
            f"got {array.dtype} of shape {array.shape}",
            "Convert or reshape it",
        )
    with np.errstate(over="ignore"):
        values = array.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if bad.size:
        raise InputError(
            "features must be finite numbers", f"{offenders(bad, None)} hold NaN or infinity", "Fix or remove them"
        )
    return values
