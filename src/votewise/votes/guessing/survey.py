"""One row per annotator and one column per item."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from votewise._checks import first_few
from votewise.votes.columns import derived, known, mentions, names_a_form, says, speaks_of_raters, stem
from votewise.votes.guessing.look import ROWS_THAT_TELL, Look, agreement, first_of, holds_single_votes
from votewise.votes.guessing.one_hot import exclusive_block
from votewise.votes.guessing.wide import check_gaps, numbered_blocks, sharing_values
from votewise.votes.profile import Column
from votewise.votes.reading import Reading

# A scale has no more levels than these.
_MOST_LEVELS = 25


def guess_grid(look: Look) -> Reading | None:
    """A form with a grid: a row is a person, and the columns are called 'Question? [item]'."""
    groups = defaultdict(list)
    for name in look.columns:
        asked, _, item = name.removesuffix("]").rpartition("[")
        if asked.strip() and item and name.endswith("]"):
            groups[asked.rstrip()].append(name)
    groups = defaultdict(list, {name: members for name, members in groups.items() if len(members) > 2})
    if not groups:
        return None
    members = max(groups.values(), key=len)
    if len(groups) > 1:
        look.doubt(
            "one question must be the one whose answers are votes",
            f"{first_few(groups)} may all be",
            {"item_columns": tuple(members)},
        )
    people = [name for name in look.names if name not in members and look.columns[name].distinct == look.rows]
    person = look.asked.annotator or first_of(
        [name for name in people if says("annotator", name) or "@" in look.columns[name].values[0]]
    )
    return Reading(form="survey", annotator=person, item_columns=tuple(members))


def guess_people_in_rows(look: Look) -> Reading | None:
    """A row is a person, whom a column names."""
    return _people_in_rows(look, named=True)


def guess_items_in_columns(look: Look) -> Reading | None:
    """A row is a person, as answers agree in columns rather than in rows; never without asking."""
    return _people_in_rows(look, named=False)


def _people_in_rows(look: Look, *, named: bool) -> Reading | None:
    """What people say of one item, the column, agrees more than what one person says of all.

    In a wide table rows are items, and agree.
    """
    columns, asked = look.columns, look.asked
    if look.rows < 3:
        return None
    unlike = [name for name in look.names if columns[name].distinct == look.rows and columns[name].kind != "text"]
    people = [name for name in unlike if says("annotator", name) or names_a_form(name) or _are_addresses(columns[name])]
    people = [asked.annotator] if asked.annotator in people else people
    if named != bool(people):
        return None
    answers = [
        name for name in look.names if columns[name].is_few and name not in (*unlike, *asked.item) and not derived(name)
    ]
    # Few people may all differ in an item.
    words = {word for name in answers for word in columns[name].values}
    unlike = [name for name in unlike if name in people or not words.issuperset(columns[name].values)]
    answers = [
        name for name in look.names if columns[name].is_few and name not in (*unlike, *asked.item) and not derived(name)
    ]
    block = _answers_alike(look, answers)
    stems = {stem(name) for name in block}
    asks = len(stems) == 1 and not any(one is None or speaks_of_raters(one) for one in stems)
    tell = len(block) * look.rows >= 10 * ROWS_THAT_TELL and not all(one and speaks_of_raters(one) for one in stems)
    if len(block) < 3 or not (named or asks or tell):
        return None
    by_row, by_column = _agreements(look, block)
    if not (named or asks) and any(_may_count(columns[name]) for name in block):
        return None
    if not named and (exclusive_block(look) or holds_single_votes(look)):
        return None
    if not named and not (by_column > by_row + 0.1 and (unlike or len(block) == len(look.names))):
        return None
    if any(mentions("item", name) for name in unlike) and not named:
        return None
    person = first_of(people or unlike)
    others = [
        name
        for name in look.names
        if name not in (*block, *unlike) and columns[name].is_few and columns[name].distinct > 1 and not derived(name)
    ]
    if not named or by_row > by_column or others:
        why = (
            f"the answers in {first_few(block)} agree in columns more than in rows"
            if by_row <= by_column
            else (f"{person!r} names people, and answers in {first_few(block)} agree in rows more than in columns")
        )
        rest = f"; {first_few(others)} hold others" if others else ""
        look.doubt(
            "rows must be people, or items",
            f"{why}{rest} (if rows are items, name their columns with raters=, --raters)",
            {"form": "survey", "item_columns": tuple(block), "annotator": person},
        )
    check_gaps(look, block)
    return Reading(form="survey", annotator=person, item_columns=tuple(block))


def _may_count(column: Column) -> bool:
    return column.numbers is not None and column.whole and bool((column.numbers == 0).any())


def _are_addresses(column: Column) -> bool:
    return all(re.fullmatch(r"\S+@\S+\.\w+", value) for value in column.values[:200])


def _answers_alike(look: Look, names: Sequence[str]) -> list[str]:
    """The largest group of columns with values in common; numbered alike, if those are most of it."""
    alike = max(sharing_values(look, names), key=len, default=[])
    alike = [name for name in names if name in alike]
    numbered = max((block for block in numbered_blocks(look).values()), key=len, default=[])
    mine = [name for name in numbered if name in names]
    if set(alike) & set(mine) and _on_one_scale(look, mine):
        return mine
    return [name for name in alike if name in numbered] if 2 * len(set(alike) & set(numbered)) > len(alike) else alike


def _on_one_scale(look: Look, names: Sequence[str]) -> bool:
    """Whether columns hold levels of one scale, of which some may use the lower and some the upper part.

    The first and the last row are left out: they may hold means.
    """
    tables = [column.numbers[1:-1] for name in names if (column := look.columns[name]).numbers is not None]
    if len(tables) < len(names) or len(tables) < 3 or look.rows < 4:
        return False
    levels = np.unique(np.concatenate(tables))
    levels = levels[~np.isnan(levels)]
    return bool(
        1 < len(levels) <= _MOST_LEVELS
        and (levels * 4 % 1 == 0).all()
        and np.ptp(levels) <= _MOST_LEVELS
        and np.diff(levels).max() <= max(1, np.ptp(levels) / 4)
    )


def _agreements(look: Look, block: Sequence[str]) -> tuple[float, float]:
    """How far cells of a block agree within rows, and within columns."""
    import polars as pl

    cells = Column("cells", pl.concat([look.columns[name].cells.alias("cells") for name in block]))
    rows = np.tile(np.arange(look.rows), len(block))
    return agreement(rows, cells), agreement(np.repeat(np.arange(len(block)), look.rows), cells)


def guess_survey(look: Look) -> Reading | None:
    """One row per annotator, one column per item."""
    asked = look.asked
    items = list(asked.item_columns)
    person = asked.annotator or first_of(
        [*known("annotator", look.names), *(name for name in look.names if says("annotator", name))]
    )
    if not items:
        blocks = _item_blocks(look, [person or ""])
        if not blocks:
            return None
        items = blocks[0]
        if len(blocks) > 1:
            look.doubt(
                "one question must be the one whose answers are votes",
                f"several blocks of columns may hold them ({first_few([block[0] for block in blocks])}, ...)",
                {"item_columns": tuple(items)},
            )
    return Reading(form="survey", annotator=person, item_columns=tuple(items))


def _item_blocks(look: Look, taken: Sequence[str]) -> list[list[str]]:
    """Columns of a survey that may be items, the largest block first: numbered alike, with answers in common."""
    columns = look.columns
    numbered = [
        members
        for members in numbered_blocks(look).values()
        if len(members) > 2 and not any(columns[one].kind in ("text", "dates") for one in members)
    ]
    blocks = []
    for members in numbered:
        alike = sharing_values(look, [one for one in members if one not in taken and columns[one].filled])
        blocks += [max(alike, key=len)] if alike else []
    blocks.sort(key=len, reverse=True)
    return [block for block in blocks if 2 * len(block) > len(blocks[0])]
