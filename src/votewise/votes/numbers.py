"""Tables with one row per item and one column per class: counts, probabilities, predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_class_names, check_item_ids, check_matrix, first_few
from votewise._errors import InputError
from votewise.votes.columns import find_column, without_unnamed_index
from votewise.votes.sources import column_names, engine_errors
from votewise.votes.tally import as_text

if TYPE_CHECKING:
    import polars as pl

# A first column of unknown name whose numbers all differ over at least this many rows is taken for ids, not counts.
_ROWS_THAT_TELL = 8

_PERCENT = r"^[-+]?\d+([.,]\d+)?\s?%$"
_DECIMAL_COMMA = r"^[-+]?\d+(,\d+)?$"


@dataclass(frozen=True, eq=False)
class NumberTable:
    """A table of numbers.

    Attributes:
        item_ids: (N,) text; None if the table has no item column.
        item: name of the item column, if there is one.
        names: K column names.
        values: (N, K) float64.
    """

    item_ids: npt.NDArray[np.str_] | None
    item: str | None
    names: list[str]
    values: FloatArray


def number_table(table: pl.LazyFrame, *, item: str | None, what: str, found: bool = False) -> NumberTable:
    """Read a table of numbers.

    Args:
        table: lazy table.
        item: name of the item column; a known name, or a first column that holds no numbers, is found without.
        what: the table's name in errors, e.g. "predictions".
        found: whether all columns but the item are known to be classes.
    """
    names = column_names(table, f"the table of {what}")
    chosen = item if found else find_column("item", names, item)
    names = names if found else without_unnamed_index(names, chosen)
    with engine_errors(f"the table of {what}"):
        frame = table.select(names).collect()
        frame = frame.filter(~_blank_rows(frame))
    if frame.height == 0:
        raise InputError(f"a table of {what} needs at least one row", "it has none", "Check the file")
    if chosen is None and not found and len(names) > 1 and not is_number_column(frame[names[0]]):
        chosen = names[0]
    cells = [name for name in names if name != chosen]
    if not cells:
        raise InputError(
            f"a table of {what} needs a column for each class", f"its columns are {first_few(names)}", "Add them"
        )
    values = _numbers(frame.select(cells), what)
    cells = list(check_class_names([name.strip() for name in cells]))
    if chosen is None:
        if not found:
            _refuse_unnamed_ids(values[:, 0], cells, what)
        return NumberTable(None, None, cells, check_matrix(f"the table of {what}", values))
    texts = as_text(frame[chosen], "item").fill_null("").str.strip_chars().to_list()
    ids = check_item_ids(texts, f"item ids in the table of {what}")
    return NumberTable(ids, chosen, cells, check_matrix(f"the table of {what}", values, ids))


def is_number_column(column: pl.Series) -> bool:
    """Whether a column holds numbers and nothing else."""
    return to_float(column).null_count() == 0


def is_mostly_numbers(column: pl.Series) -> bool:
    """Whether a column is meant as numbers: at least half of its cells are."""
    return 2 * to_float(column).null_count() <= len(column)


def _blank_rows(frame: pl.DataFrame) -> pl.Series:
    """Rows without a single cell: the blank lines of a text file."""
    import polars as pl

    return frame.select(pl.all_horizontal(pl.all().is_null())).to_series()


def _numbers(frame: pl.DataFrame, what: str) -> FloatArray:
    """The columns of a frame as numbers, (N, K)."""
    import polars as pl

    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    # All texts at once: of tables with thousands of columns, each call of the engine would cost more than its work.
    numbers = frame.with_columns(pl.col(texts).str.strip_chars().cast(pl.Float64, strict=False)) if texts else frame
    others = [column.name for column in numbers if column.dtype != pl.Float64 or column.null_count()]
    numbers = numbers.with_columns(to_float(frame[name]) for name in others)
    for column in numbers:
        if not column.null_count():
            continue
        rows = column.is_null().arg_true()
        raise InputError(
            f"{what} must be numbers",
            f"column {column.name!r} has {len(rows):,} other cells "
            f"(rows {first_few((rows.head(5) + 1).to_list(), len(rows))})",
            "Fill them in (0 where nobody voted), or pass form='wide' (--form wide) if the columns are annotators"
            if what != "predictions"
            else "Fill them in or remove the column; name the item column with item= (--item)",
        )
    return np.ascontiguousarray(numbers.to_numpy())


def to_float(column: pl.Series) -> pl.Series:
    """A column as float64, null where a cell is not a number."""
    import polars as pl

    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64)
    if column.dtype != pl.String:
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
    words = column.str.strip_chars()
    numbers = words.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == words.null_count() else _other_numbers(words, numbers)


def _other_numbers(words: pl.Series, numbers: pl.Series) -> pl.Series:
    """Numbers with decimal commas or percent signs, if all are; three digits after each comma may be thousands."""
    import polars as pl

    said = words.drop_nulls()
    if said.head(20).str.contains(_PERCENT).all() and said.str.contains(_PERCENT).all():
        return words.str.strip_chars("% ").str.replace(",", ".", literal=True).cast(pl.Float64) / 100
    with_commas = said.head(20).str.contains(_DECIMAL_COMMA).all() and said.str.contains(_DECIMAL_COMMA).all()
    if with_commas and said.str.contains(r",(\d{1,2}|\d{4,})$|^[-+]?0,").any():
        return words.str.replace(",", ".", literal=True).cast(pl.Float64)
    return numbers


def _refuse_unnamed_ids(first: FloatArray, names: list[str], what: str) -> None:
    """Refuse a table whose first column is clearly a numeric id under an unknown name."""
    if (
        len(names) > 1
        and len(first) >= _ROWS_THAT_TELL
        and len(np.unique(first)) == len(first)
        and (first % 1 == 0).all()
    ):
        raise InputError(
            f"each column of a table of {what} must be a class",
            f"column {names[0]!r} has a different whole number in every row, like ids",
            f"Pass item={names[0]!r} (--item {names[0]})",
        )
