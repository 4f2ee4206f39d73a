"""Long tables with a column of 0 and 1 for each class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from votewise._checks import first_few
from votewise._errors import InputError
from votewise.votes.forms.rows import Rules, answered_once, items_of, rows_of
from votewise.votes.profile import BITS
from votewise.votes.reading import Reading
from votewise.votes.sources import Table
from votewise.votes.table import Votes, sort_classes
from votewise.votes.tally import RuleError, as_text, tally

if TYPE_CHECKING:
    import polars as pl


def read(table: Table, plan: Reading, rules: Rules) -> Votes:
    """Count the votes of a table that marks the class of each vote by a 1."""
    import polars as pl

    there = set(table.names)
    columns = [name for name in plan.classes if name in there]
    person = [plan.annotator] if plan.annotator else []
    rows = rows_of(table, plan, [*plan.item, *person, *columns])
    frame = rows.frame.with_columns(items_of(rows.frame, plan.item))
    if plan.annotator:
        frame = frame.with_columns(annotator=frame[plan.annotator])
    frame, again = answered_once(frame, rules)
    bits = np.column_stack([_bits(frame[name]) for name in columns])
    named = bits.sum(axis=1)
    notes = [*rows.notes, *again]
    items = as_text(frame["item"], "item")
    if (named > 1).any():
        first = int(np.flatnonzero(named > 1)[0])
        if plan.several in (None, "error"):
            raise RuleError(
                "an answer must name one class",
                f"{int((named > 1).sum()):,} rows name several (the first, of item {items[first]!r}, names "
                f"{first_few(np.array(columns)[bits[first]])})",
                "Pass several='each' (--several each) to count a vote for each class, "
                "or several='drop' to leave them out",
                several="each",
            )
        told = "each class got a vote" if plan.several == "each" else "they are left out"
        notes.append(f"{int((named > 1).sum()):,} answers name several classes; {told}")
        if plan.several == "drop":
            single = pl.Series(named <= 1)
            frame, items, bits = frame.filter(single), items.filter(single), bits[named <= 1]
            named = bits.sum(axis=1)
    place, label = np.nonzero(bits)
    nothing = np.flatnonzero(named == 0)
    place = np.concatenate([place, nothing])
    names = _class_names(columns)
    words = pl.Series([*np.array(names, dtype=object)[label], *[None] * len(nothing)], dtype=pl.String)
    order = np.argsort(place, kind="stable")
    people = frame["annotator"].gather(place[order]) if plan.annotator else None
    shown = dict(zip(columns, names, strict=True))
    classes = tuple(shown.get(name, name) for name in rules.classes or sort_classes(columns))
    rules = replace(rules, classes=classes, duplicates="all")
    where = f"items in {' + '.join(map(repr, plan.item))}" + (
        f", annotators in {plan.annotator!r}" if people is not None else ""
    )
    votes = tally(
        items.gather(place[order]),
        people,
        words.gather(order),
        rules,
        f"long table, {where}, one column for each of {len(columns)} classes",
    )
    return replace(votes, notes=(*notes, *votes.notes))


def _class_names(columns: Sequence[str]) -> list[str]:
    """The names of columns without what all begin with, up to a mark such as '.' or ':'."""
    first = columns[0]
    length = max(
        (
            mark.end()
            for mark in re.finditer(r"[.:/]+", first)
            if all(name.startswith(first[: mark.end()]) for name in columns)
        ),
        default=0,
    )
    return [name[length:].strip() for name in columns]


def _bits(column: pl.Series) -> npt.NDArray[np.bool_]:
    """Whether a class was chosen: 1, or the one word that a column has beside blanks."""
    words = as_text(column, "class").str.strip_chars().fill_null("")
    marks = set(words.unique().to_list()) - {"", *BITS}
    if len(marks) > 1 or (marks and set(words.unique().to_list()) & {word for word, bit in BITS.items() if bit}):
        raise InputError(
            "a column of a class must hold 0 and 1",
            f"{column.name!r} holds {first_few(sorted(marks))}",
            "Name others with classes= (--classes)",
        )
    return np.array([BITS.get(word, float(word in marks)) for word in words.to_list()]) > 0
