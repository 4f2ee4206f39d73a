"""Predicted probabilities to a table that `read_predictions` reads."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_choice
from votewise._errors import InputError
from votewise._files import whole_file
from votewise._text import safe_table
from votewise.votes import find_column

SUFFIXES = (".csv", ".parquet", ".npy")

# The item column's name: the first that is not a class.
_ITEM_NAMES = ("item", "item_id", "uid", "_item")


def item_column(classes: Sequence[str]) -> str:
    """A name for the item column of a table whose other columns are the classes."""
    return next(name for name in (*_ITEM_NAMES, "_" * 100) if name not in classes)


def must_name_item(classes: Sequence[str]) -> bool:
    """Whether a reader must be told which column is the item, because a class is named like one."""
    name = item_column(classes)
    try:
        return find_column("item", [name, *classes], None) != name
    except InputError:
        return True


def check_prediction_path(path: str | os.PathLike[str]) -> str:
    """Return the suffix of a file to write predictions to, one of those known."""
    return check_choice("the suffix of the predictions", Path(path).suffix.lower(), SUFFIXES)


def write_predictions(
    path: str | os.PathLike[str],
    item_ids: npt.NDArray[np.str_],
    classes: Sequence[str],
    probs: FloatArray,
    *,
    suffix: str | None = None,
    safe_cells: bool = False,
) -> None:
    """Write one row per item: its id, and a column for each class; .npy holds only the probabilities.

    Args:
        path: .csv, .parquet or .npy; written whole or not at all.
        item_ids: (N,) text.
        classes: K names.
        probs: (N, K).
        suffix: the format, if the suffix of the path is not one of those.
        safe_cells: whether a .csv has an apostrophe before ids and names that a spreadsheet would take for formulas;
            they are then no longer those of the votes.
    """
    suffix = suffix or check_prediction_path(path)
    with whole_file(path) as partial:
        if suffix == ".npy":
            with partial.open("wb") as file:
                np.save(file, probs)
            return
        import polars as pl

        columns = {name: probs[:, place] for place, name in enumerate(classes)}
        table = pl.DataFrame({item_column(classes): item_ids.tolist(), **columns})
        if safe_cells and suffix == ".csv":
            table = safe_table(table)
        # By way of memory: on a full disk Polars would raise errors of its own, which name neither file nor reason.
        buffer = io.BytesIO()
        table.write_csv(buffer) if suffix == ".csv" else table.write_parquet(buffer)
        partial.write_bytes(buffer.getbuffer())
