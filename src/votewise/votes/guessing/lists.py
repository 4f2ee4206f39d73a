"""One row per item, its votes in one cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from votewise._checks import first_few
from votewise.votes.columns import derived, known, says
from votewise.votes.guessing.look import Look, agreement, find_row_item, first_of, unique_by_design
from votewise.votes.profile import Column, numbers_of_cell, split_cell
from votewise.votes.reading import Reading

# Higher numbers in objects are counts.
_HIGHEST_RATING = 11


def guess_lists(look: Look) -> Reading | None:
    """One row per item, its votes in one cell."""
    asked, columns = look.asked, look.columns
    pool = [asked.label] if asked.label else [name for name in look.names if not derived(name)]
    pool = [
        name for name in pool if name == asked.label or not says("annotator", name) or (columns[name].split == "people")
    ]
    found = [name for name in pool if _list_like(columns.get(name)) or (asked.label and asked.split)]
    if not found:
        return None if asked.split else _digits(look, pool)
    if not asked.label and not asked.split and _holds_single_votes(look, found):
        return None
    people = [
        name for name in look.names if name not in found and says("annotator", name) and _list_like(columns[name])
    ]
    item, sure = find_row_item(look, [*found, *people])
    if item is None or item not in columns or columns[item].distinct < look.rows:
        return None if asked.form is None else Reading(form="lists", item=asked.item, label=found[0])
    speaking = [name for name in found if says("label", name) or known("label", [name])] or found
    label = speaking[0]
    split = asked.split or columns[label].split or ","
    _list_doubts(look, speaking, split, named_people=bool(people))
    if not sure and not asked.item:
        look.doubt("the item column must be known", f"{item!r} may be", {"item": (item,)})
    parallel = [name for name in people if _same_lengths(columns[label], split, columns[name])]
    return Reading(
        form="lists", item=(item,), annotator=asked.annotator or first_of(parallel), label=label, split=split
    )


def _holds_single_votes(look: Look, lists: Sequence[str]) -> bool:
    """Whether rows are votes of annotators, whatever lists stand beside them."""
    people = [name for name in look.names if name not in lists and says("annotator", name)]
    return any(
        look.columns[person].distinct < look.rows and name != person and unique_by_design(look, person, name)
        for person in people
        for name in look.names
        if look.columns[name].kind in ("ids", "few values")
    )


def _digits(look: Look, names: Sequence[str]) -> Reading | None:
    """A digit for each vote: '33110'. It may be a number, too, so this is never read without asking."""
    columns = look.columns
    found = [
        name
        for name in names
        if name in columns and _digit_string(columns[name]) and (look.asked.label or says("label", name))
    ]
    item, _ = find_row_item(look, found)
    if not found or item is None or known("annotator", look.names):
        return None
    look.doubt(
        "labels must be classes",
        f"the cells of {found[0]!r} look like a digit for each vote ({first_few(columns[found[0]].values[:2])})",
        {"label": found[0], "split": "chars", "item": (item,)},
    )
    return Reading(form="lists", item=(item,), label=found[0], split="chars")


def _list_doubts(look: Look, labels: Sequence[str], split: str, *, named_people: bool) -> None:
    """Doubt lists that may be shares, answers to several questions, or several classes of one answer."""
    label, column = labels[0], look.columns[labels[0]]
    keyed = split in ("counts", "people")
    if split == "counts" and look.asked.split is None and _like_ratings(column):
        look.doubt(
            "objects must hold how often each class was chosen, or what each annotator said",
            f"the numbers in {label!r} may be either ({column.values[0][:60]!r}; say split='counts', --split counts, "
            "if they count votes)",
            {"label": label, "split": "people"},
        )
    if not keyed and _like_shares(column, split):
        look.doubt(
            "the label column must hold text or numbers",
            f"it holds {column.holds or 'lists of numbers'}, which sum to the same in every row, as counts or shares "
            "of classes would",
            None,
        )
    if look.asked.label is not None:
        return
    if len(labels) > 1:
        look.doubt(
            "one question must be the one whose answers are votes",
            f"{first_few(labels)} may all be (choose another with label=, --label)",
            {"label": label},
        )
    elif not says("label", label) and not (split == "people" and says("annotator", label)):
        look.doubt("the label column must be known", f"only {label!r} may be", {"label": label, "split": split})
    elif not keyed and not named_people and not _repeats_within(column, split):
        look.doubt(
            "a list must hold the votes of several people",
            f"no cell of {label!r} names a class twice, as one answer with several classes would not either",
            {"label": label, "split": split},
        )


def _like_ratings(column: Column) -> bool:
    """Whether the numbers in objects are ratings sooner than counts: few levels from 1, alike in each cell.

    Counts of a fixed number of votes are the more unlike, the more people agree.
    """
    cells = [cell for cell in map(numbers_of_cell, column.values[:500]) if cell]
    values = [value for cell in cells for value in cell]
    if len(cells) < 4 or min(values) < 1 or max(values) > _HIGHEST_RATING or len({sum(cell) for cell in cells}) == 1:
        return False
    import polars as pl

    rows = np.repeat(np.arange(len(cells)), [len(cell) for cell in cells])
    alike = agreement(rows, Column("ratings", pl.Series(values).cast(pl.String)))
    as_many = {len(cell) for cell in cells}
    return alike > 0.05 or (len(as_many) == 1 and as_many != {1})


def _list_like(column: Column | None) -> bool:
    return column is not None and column.split is not None


def _like_shares(column: Column, split: str) -> bool:
    """Whether lists hold counts or shares: numbers, equally many and with the same sum in every row."""
    cells = [split_cell(word, split) for word in column.values[:500]]
    try:
        table = np.array(cells, dtype=np.float64)
    except ValueError:
        return False
    return split != "chars" and table.ndim == 2 and table.shape[1] > 1 and bool(np.ptp(table.sum(axis=1)) < 0.02)


def _digit_string(column: Column) -> bool:
    words = column.values
    return (
        len(words) > 3
        and all(word.isascii() and word.isdigit() for word in words[:500])
        and len({len(word) for word in words[:500]}) <= 2
        and len(words[0]) >= 3
        and 2 <= len({letter for word in words[:500] for letter in word}) <= 7
        and (len(words) < 0.9 * len(column.cells) or any(word.startswith("0") for word in words))
    )


def _repeats_within(column: Column, split: str) -> bool:
    return any(len(set(cell)) < len(cell) for cell in (split_cell(word, split) for word in column.values[:500]))


def _same_lengths(one: Column, split: str, other: Column) -> bool:
    pairs = list(zip(one.cells.head(200).to_list(), other.cells.head(200).to_list(), strict=True))
    mark = other.split or split
    return all(
        a is not None and b is not None and len(split_cell(a, split)) == len(split_cell(b, mark)) for a, b in pairs
    )
