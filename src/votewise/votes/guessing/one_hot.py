"""One row per vote, with a column of 0 and 1 for each class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from votewise._checks import first_few
from votewise.votes.columns import derived, known, says
from votewise.votes.guessing.look import ROWS_THAT_TELL, Look, agreement, find_row_item, recurs, told_by
from votewise.votes.guessing.roles import find_pair, item_order, people_by_content, people_order
from votewise.votes.profile import BITS, Column, joint_codes
from votewise.votes.reading import Reading


def guess_one_hot(look: Look) -> Reading | None:
    """One row per vote, with a column of 0 and 1 for each class."""
    asked, columns = look.asked, look.columns
    labels = known("label", look.names)
    exclusive = exclusive_block(look)
    if labels and not asked.classes and asked.form is None:
        # A class beside columns of 0 and 1 is what came of them, unless it says the same.
        marked = joint_codes(columns[name] for name in exclusive) if exclusive else None
        if marked is None or any(_says_the_same(columns[name], marked) for name in labels):
            return None
    people = [asked.annotator] if asked.annotator else people_order(look, [])
    block = [name for name in asked.classes if name in columns] or exclusive or _marked(look, [*asked.item, *people])
    if not people and asked.form is None and not asked.classes:
        return _exclusive(look, exclusive)
    if len(block) < 2 or not all(is_mark(columns[name]) for name in block) or not (people or asked.form):
        return None
    items = [item for item in item_order(look, [*block, *people]) if item[0] not in block]
    item, annotator = find_pair(look, items, people, None)
    if not asked.classes:
        block = [name for name in block if not derived(name) and not told_by(look, item or (), name)]
    if len(block) < 2 or (item is None and asked.form is None):
        return None
    _several_and_none(look, block)
    return Reading(form="one-hot", item=item or (), annotator=annotator, classes=tuple(block))


def exclusive_block(look: Look) -> list[str]:
    """Columns of which each row marks exactly one."""
    block = [name for name in look.names if is_mark(look.columns[name]) and not derived(name)]
    block = [name for name in block if look.columns[name].distinct > 1 or look.columns[name].filled < look.rows]
    if len(block) < 2 or look.rows < ROWS_THAT_TELL:
        return []
    bits = np.array([_as_bits(look.columns[name]) for name in block])
    return block if (bits.sum(axis=0) == 1).all() and bits.any(axis=1).all() else []


def _says_the_same(column: Column, codes: Any) -> bool:
    return agreement(codes, column) == 1 and len(np.unique(codes)) == column.distinct


def _exclusive(look: Look, block: Sequence[str]) -> Reading | None:
    """A vote in each row, whoever gave it."""
    if not block:
        return None
    others = [item for item in item_order(look, block) if item[0] not in block]
    item = next((one for one in others if recurs(look, one[0])), None)
    annotator = None
    if item is None:
        row, sure = find_row_item(look, block)
        item = (row,) if row is not None and sure else None
    elif look.asked.annotator is None:
        item, annotator = people_by_content(look, item, None)
    if item is None:
        return None
    if not says("item", item[0]) and not known("item", list(item)):
        look.doubt("the item column must be known", f"{item[0]!r} may be", {"item": item})
    return Reading(form="one-hot", item=item, annotator=annotator, classes=tuple(block))


def _marked(look: Look, taken: Sequence[str]) -> list[str]:
    """The columns of 0 and 1, or of true and false if those are more."""
    dialects = defaultdict(list)
    for name in look.names:
        if name not in taken and _is_binary(look.columns[name]):
            dialects[look.columns[name].values[0].isdigit()].append(name)
    return max(dialects.values(), key=len, default=[])


def _several_and_none(look: Look, block: Sequence[str]) -> None:
    """Doubt rows that mark several classes, or none."""
    sums = np.sum([_as_bits(look.columns[name]) for name in block], axis=0)
    several, none = int((sums > 1).sum()), int((sums < 1).sum())
    fix: dict[str, Any] = {"classes": tuple(block)}
    if not look.asked.classes and 4 * none > look.rows:  # classes would have one in most rows, if none is missing
        look.doubt(
            "one question must be the one whose answers are votes",
            f"{first_few(block)} may all be, or all be classes of one, though {none:,} rows have a 1 in none of them "
            f"(choose another with label=, --label; classes='{','.join(block)}', --classes, makes them classes)",
            {"form": "long", "label": block[0], "classes": ()},
        )
        return
    if several and look.asked.several is None:
        fix["several"] = "each"
    if none and look.asked.missing is None:
        fix["missing"] = "drop"
    if len(fix) > 1:
        what = [f"{several:,} rows have several"] * (several > 0) + [f"{none:,} rows have none"] * (none > 0)
        look.doubt(
            "each row must have a 1 in one of the columns of classes",
            f"of {first_few(block)}, {' and '.join(what)} (if they are questions, name one with label=, --label)",
            fix,
        )


def _is_binary(column: Column) -> bool:
    return bool(column.values) and set(column.values) <= BITS.keys() and column.distinct <= 2


def is_mark(column: Column) -> bool:
    """Whether a column is 0 and 1, or has one word beside blanks."""
    return _is_binary(column) or (column.distinct == 1 and column.filled < len(column.cells))


def _as_bits(column: Column) -> Any:
    return np.array([BITS.get(word, 1.0) if word is not None else 0.0 for word in column.cells.to_list()])
