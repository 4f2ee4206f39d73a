"""The rows of a table that count, and the steps that several forms share."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from votewise._checks import first_few
from votewise._errors import InputError
from votewise._text import counted
from votewise.votes.forms.newest import in_order_of_time, time_columns
from votewise.votes.reading import Reading
from votewise.votes.sources import Table, engine_errors
from votewise.votes.tally import RuleError, as_text
from votewise.votes.tally import Rules as Rules

if TYPE_CHECKING:
    import polars as pl

# What stands between the names of an item's columns.
JOINT = " | "

_MOST_BINS = 10_000


@dataclass(frozen=True)
class Rows:
    """The rows that count.

    Attributes:
        frame: their columns.
        notes: what was left out, one sentence each.
    """

    frame: pl.DataFrame
    notes: tuple[str, ...]


def rows_of(table: Table, plan: Reading, columns: Sequence[str], few: Sequence[str] = ()) -> Rows:
    """Some columns, without blank rows, repeated names and the rows that the plan leaves out."""
    conditions = [condition.partition("=")[0].strip() for condition in plan.without]
    times = time_columns(plan, table)
    used = list(dict.fromkeys([*columns, *conditions, *times]))
    notes = []
    with engine_errors("the table"):
        frame = table.lazy(used, few).select(used).collect()
        if table.layout is not None and frame.height:
            blank = _blank(frame, columns)
            if blank is not None:
                frame = frame.filter(~blank)
                inside = int(blank.sum()) - int(blank.reverse().cum_prod().sum())
                notes += [f"left out: {counted(inside, 'blank row')}"] if inside else []
            again = _repeated_names(frame, columns)
            if again is not None:
                frame = frame.filter(~again)
                notes.append(f"left out: {counted(int(again.sum()), 'row')} with the column names again")
    frame, told = leave_out(filled_down(frame, plan.fill), plan.without)
    frame, in_order = in_order_of_time(frame, plan, times) if times else (frame, [])
    return Rows(frame, (*notes, *told, *in_order))


def filled_down(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """A table in which a blank cell of some columns is the cell above."""
    import polars as pl

    there = [name for name in columns if name in frame.columns]
    return frame.with_columns(pl.col(name).forward_fill() for name in there) if there else frame


def leave_out(frame: pl.DataFrame, without: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """A table without the rows that meet a condition, and what to say of them.

    Args:
        frame: a table.
        without: conditions such as 'status=Rejected', in any case; '*' and '?' stand for any letters, and letter.
    """
    import polars as pl

    notes = []
    for condition in without:
        column, _, value = (part.strip() for part in condition.partition("="))
        words = frame[column].cast(pl.String).str.strip_chars().str.to_lowercase().fill_null("")
        hit = words.str.contains(f"^(?s:{fnmatch.translate(value.lower())[4:-3]})$")
        if hit.any():
            frame = frame.filter(~hit)
            notes.append(f"left out: {counted(int(hit.sum()), 'row')} with {column} = {value}")
    return frame, notes


def _blank(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series | None:
    """Which rows of a text file have nothing in any of some columns; None if there are none."""
    import polars as pl

    if not all(frame[name].null_count() for name in columns):
        return None
    blank = frame.select(pl.all_horizontal(pl.col(columns).is_null())).to_series()
    return blank if blank.any() else None


def _repeated_names(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series | None:
    """Which rows repeat the names of the columns, where files were joined; None if there are none."""
    import polars as pl

    again: pl.Series | None = None
    for name in reversed(columns):  # the labels first: they are few, and hardly ever the name of their column
        column = frame[name]
        if column.dtype != pl.String and (
            not isinstance(column.dtype, pl.Categorical) or name not in column.dtype.categories.to_series()
        ):
            return None
        same = (column.cast(pl.String) == name).fill_null(False)
        again = same if again is None else again & same
        if not again.any():
            return None
    return again


def items_of(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """The item of each row; the names of several columns are joined."""
    import polars as pl

    if len(columns) == 1:
        return frame[columns[0]].alias("item")
    parts = frame.select(as_text(frame[name], "item").str.strip_chars().alias(name) for name in columns)
    missing = parts.select(pl.any_horizontal(pl.all().is_null())).to_series()
    if missing.any():
        rows = missing.arg_true()
        raise InputError(
            "every row needs an item",
            f"{len(rows):,} lack {' or '.join(columns)} (rows {first_few((rows.head(5) + 1).to_list(), len(rows))})",
            "Fill them in or remove the rows",
        )
    joined = parts.select(pl.concat_str(pl.all(), separator=JOINT).alias("item")).to_series()
    if joined.n_unique() < parts.n_unique():
        raise InputError(
            "the columns of an item must tell items apart when joined",
            f"some hold {JOINT!r} themselves",
            "Join them under a name of your own",
        )
    return joined


def answered_once(frame: pl.DataFrame, rules: Rules) -> tuple[pl.DataFrame, list[str]]:
    """Rows of which an annotator has one for each item, where a row may become several votes."""
    import polars as pl

    if "annotator" not in frame.columns or rules.duplicates == "all" or not frame.height:
        return frame, []
    keys = pl.struct("item", "annotator")
    is_last = frame.select(keys.is_last_distinct()).to_series()
    again = int((~is_last).sum())
    if not again:
        return frame, []
    if rules.duplicates == "error":
        first = frame.filter(~frame.select(keys.is_first_distinct()).to_series()).row(0, named=True)
        raise RuleError(
            "an annotator may vote on an item only once",
            f"{again:,} rows vote again (the first is {str(first['annotator'])!r} on {str(first['item'])!r})",
            "Pass duplicates='last' (--duplicates last) to keep the last vote, or duplicates='all' to count each",
            duplicates="last",
        )
    return frame.filter(is_last), [f"{again:,} votes were repeated by the same annotator; the last one counts"]


def list_column(cells: Sequence[Sequence[str | None]]) -> pl.Series:
    """Lists as a column: the engine is slow at building each, and few are different."""
    import polars as pl

    kept = list(map(tuple, cells))
    place = {cell: number for number, cell in enumerate(dict.fromkeys(kept))}
    return pl.Series(list(map(list, place)), dtype=pl.List(pl.String)).gather([place[cell] for cell in kept])


def binned(labels: pl.Series, bins: Sequence[float], rules: Rules) -> tuple[pl.Series, Rules]:
    """Numbers as the names of their bins, and the bins in order as classes."""
    import polars as pl

    from votewise.votes.numbers import to_float

    words = as_text(labels if labels.dtype != pl.Categorical else labels.cast(pl.String), "label").str.strip_chars()
    missing = words.is_null() | words.is_in(list(rules.missing_words))
    numbers = to_float(words.set(missing, None))
    odd = numbers.is_null() & ~missing
    if odd.any():
        raise InputError(
            "labels must be numbers to be binned", f"{int(odd.sum()):,} are not ({words.filter(odd)[0]!r})", "Fix them"
        )
    if len(bins) == 1 and not 1 <= bins[0] <= _MOST_BINS:
        raise InputError(f"there must be 1 to {_MOST_BINS:,} bins", f"got {bins[0]:g}", "Choose fewer, or their edges")
    values = numbers.to_numpy()
    seen = values[~np.isnan(values)]
    if not len(seen):
        return labels, rules
    edges = np.linspace(seen.min(), seen.max(), int(bins[0]) + 1) if len(bins) == 1 else np.sort(np.asarray(bins))
    if seen.min() < edges[0] or seen.max() > edges[-1] or len(edges) < 2:
        raise InputError(
            "the edges of bins must enclose all numbers",
            f"numbers run from {seen.min():g} to {seen.max():g}, edges from {edges[0]:g} to {edges[-1]:g}",
            "Name lower and higher edges with bins= (--label-bins)",
        )
    names = [f"{low:g} to {high:g}" for low, high in pairwise(edges)]
    place = np.clip(np.searchsorted(edges, np.nan_to_num(values, nan=edges[0]), side="right") - 1, 0, len(names) - 1)
    named = pl.Series("label", np.array(names)[place]).set(pl.Series(np.isnan(values)), None)
    return named, replace(rules, classes=rules.classes or tuple(names))
