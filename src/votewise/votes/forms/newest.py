"""Rows in order of time, where an annotator's last vote on an item counts: files list the newest first as often."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from votewise._checks import first_few
from votewise._errors import InputError
from votewise.votes.columns import says_when
from votewise.votes.profile import profile
from votewise.votes.reading import Reading
from votewise.votes.sources import Table

if TYPE_CHECKING:
    import polars as pl

# Smaller numbers are no times but durations: this many seconds are three years.
_EARLIEST = 1e8

# A column that no table has.
_ROW = "\0row"

# Rows in whose cells dates are looked for.
_LOOKED_AT = 200

_FORMATS = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%d",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    *(f"{date}{time}" for date in ("%d/%m/%Y", "%m/%d/%Y") for time in (" %H:%M:%S", " %H:%M", "")),
    "%a %b %d %H:%M:%S %Y",
)


def time_columns(plan: Reading, table: Table) -> list[str]:
    """The columns that may say when a vote was given, by name or content, where that matters."""
    if plan.duplicates != "last" or plan.annotator is None:
        return []
    used = {*plan.item, plan.annotator, plan.label, *plan.classes, *plan.ignored}
    columns = profile(table.head(_LOOKED_AT))
    return [
        name for name, column in columns.items() if name not in used and (says_when(name) or column.kind == "dates")
    ]


def in_order_of_time(frame: pl.DataFrame, plan: Reading, times: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Rows in which the votes of an annotator on an item stand in order of time, and what to say of it.

    They stay in the places that they have together, so that items keep their order.
    """
    import polars as pl

    keys = [*plan.item, plan.annotator]
    rows = np.arange(frame.height)
    numbered = frame.select(keys).with_columns(pl.Series(_ROW, rows))
    group = numbered.select(pl.col(_ROW).first().over(keys)).to_series().to_numpy()
    again = np.bincount(group, minlength=len(group))[group] > 1
    if not again.any():
        return frame, []
    places = np.lexsort((rows, group))
    orders: dict[str, list[npt.NDArray[np.int64]]] = {}
    for name in times:
        if _is_constant(frame[name], group):
            continue
        moments = list(_moments(frame[name], again))
        if not moments and _looks_like_times(frame[name], again):
            raise InputError(
                "the last vote of an annotator on an item must be known",
                f"{name!r} cannot be read as points in time ({frame[name].drop_nulls().head(2).to_list()})",
                f"Write them as 2023-05-31 14:00 in one time zone, or go by the order of rows with ignore={name!r} "
                f"(--ignore {name})",
            )
        if moments:
            orders[name] = [np.lexsort((rows, moment, group)) for moment in moments]
    if not orders:
        return frame, []
    last = np.append(group[places][1:] != group[places][:-1], True)
    found = {tuple(order[last].tolist()) for several in orders.values() for order in several}
    if len(found) > 1:
        raise InputError(
            "the last vote of an annotator on an item must be known",
            f"{first_few(list(orders))} can be read in ways that disagree on it",
            "Name all but one with ignore= (--ignore) or write days as 2023-05-31; the order of rows counts if all are "
            "ignored",
        )
    name, (order, *_) = next(iter(orders.items()))
    moved = np.empty_like(order)
    moved[places] = order
    if (moved == rows).all():
        return frame, []
    return frame[moved], [f"repeated votes are put in order by {name!r} (ignore={name!r} keeps the order of rows)"]


def _is_constant(column: pl.Series, group: npt.NDArray[np.int64]) -> bool:
    """Whether a column has one value in each group of rows."""
    import polars as pl

    codes = column.cast(pl.String).fill_null("").rank("dense").to_numpy()
    return bool((codes == codes[group]).all())


def _looks_like_times(column: pl.Series, needed: npt.NDArray[np.bool_]) -> bool:
    """Whether cells hold more than plain numbers, and digits in all of them."""
    import polars as pl

    words = column.cast(pl.String).filter(pl.Series(needed))
    return bool(words.str.contains(r"\d").fill_null(False).all() and words.cast(pl.Float64, strict=False).null_count())


def _moments(column: pl.Series, needed: npt.NDArray[np.bool_]) -> Iterator[npt.NDArray[np.float64]]:
    """The cells as points in time, in each way in which they can be read; nothing if they are no times."""
    import polars as pl

    if column.dtype.is_temporal() and column.dtype not in (pl.Duration, pl.Time):
        moment = column.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64)
        if not moment.filter(pl.Series(needed)).null_count():
            yield moment.to_numpy()
        return
    words = column.cast(pl.String).str.strip_chars()
    numbers = words.cast(pl.Float64, strict=False)
    if not numbers.filter(pl.Series(needed)).null_count():
        if numbers.filter(pl.Series(needed)).min() >= _EARLIEST:  # type: ignore[operator]
            yield numbers.to_numpy()
        return
    zone = r" ?(Z|[A-Z]{3,4}|[+-]\d\d:?\d\d)( \d{4})?$"
    if words.filter(pl.Series(needed)).str.extract(zone).n_unique() > 1:
        return
    plain = words.str.replace(r"(\d)T(\d)", "$1 $2").str.replace(zone, "$2")
    for form in _FORMATS:
        moment = plain.str.to_datetime(form, strict=False) if "%H" in form else plain.str.to_date(form, strict=False)
        if not moment.filter(pl.Series(needed)).null_count():
            yield moment.cast(pl.Datetime("us")).dt.epoch("us").cast(pl.Float64).fill_null(0).to_numpy()
