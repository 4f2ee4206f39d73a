"""Tables with the votes of an item in one cell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from votewise._errors import InputError
from votewise.votes.bounds import check_room
from votewise.votes.forms.rows import Rules, binned, items_of, list_column, rows_of
from votewise.votes.profile import as_words, numbers_of_cell, people_of_cell, split_cell, split_of
from votewise.votes.reading import Reading
from votewise.votes.sources import Table
from votewise.votes.table import Votes
from votewise.votes.tally import GAP_MARKS, as_text, tally

if TYPE_CHECKING:
    import polars as pl


# Cells may count votes instead of listing them: that many more than they have letters.
_MOST_VOTES = 2**22


def read(table: Table, plan: Reading, rules: Rules) -> Votes:
    """Count the votes that cells list."""
    import polars as pl

    assert plan.label is not None
    rows = rows_of(table, plan, [*plan.item, *([plan.annotator] if plan.annotator else []), plan.label])
    items = as_text(items_of(rows.frame, plan.item), "item")
    cells = _cells(rows.frame[plan.label], plan.split)
    check_room(0, sum(map(len, cells)))
    people = None if plan.annotator is None else _cells(rows.frame[plan.annotator], None, like=plan.split)
    if plan.split == "people":
        people = [people_of_cell(word or "") for word in as_words(rows.frame[plan.label]).to_list()]
    if people is not None:
        for item, labels, who in zip(items.to_list(), cells, people, strict=True):
            if len(labels) != len(who):
                raise InputError(
                    "a list of labels needs a list of annotators of the same length",
                    f"item {item!r} has {len(labels)} and {len(who)}",
                    "Fix the row, or leave the annotators out with ignore= (--ignore)",
                )
    # An item without any vote is kept in sight by an empty one.
    filled: list[list[str | None]] = [list(cell) or [None] for cell in cells]
    frame = pl.DataFrame({"item": items, "label": list_column(filled)})
    if people is not None:
        frame = frame.with_columns(annotator=list_column([who or [""] for who in people]))
    frame = frame.explode([name for name in frame.columns if name != "item"])
    said = frame["label"]
    gaps = rules.gaps | (GAP_MARKS if rules.classes is None else frozenset())
    rules = replace(rules, missing="gap", gaps=gaps)
    if plan.bins:
        said, rules = binned(said, plan.bins, rules)
    where = f"items in {' + '.join(map(repr, plan.item))}, lists of labels in {plan.label!r}"
    where += f", annotators in {plan.annotator or plan.label!r}" if people is not None else ""
    votes = tally(
        frame["item"], frame["annotator"] if people is not None else None, said, rules, f"table of lists, {where}"
    )
    return replace(votes, notes=(*rows.notes, *votes.notes))


def _cells(column: pl.Series, split: str | None, like: str | None = None) -> list[list[str]]:
    """The values in each cell."""
    if split in ("counts", "people"):
        objects = [word or "" for word in as_words(column).to_list()]
        if split == "counts":
            _check_counted(sum(sum(numbers_of_cell(word)) for word in objects), sum(map(len, objects)))
        return [split_cell(word, split) for word in objects]
    if column.dtype.is_nested():
        return [[] if one is None else [_word(value) for value in one] for one in column.to_list()]
    words = as_text(column, "label").fill_null("").to_list()
    mark = split or split_of([word for word in words[:1000] if word]) or (like if like != "chars" else None) or ","
    cells, letters, number = [], sum(map(len, words)), 0
    for word in words:
        cells.append(split_cell(word, mark))
        number += len(cells[-1])
        _check_counted(number, letters)
    return cells


def _check_counted(number: int, letters: int) -> None:
    """Refuse cells that count far more votes than they have letters: each would take memory."""
    if number > _MOST_VOTES + letters:
        raise InputError(
            "cells must list votes one by one",
            f"they count more than {_MOST_VOTES:,}",
            "Make a table of it with a column of counts for each class",
        )


def _word(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
