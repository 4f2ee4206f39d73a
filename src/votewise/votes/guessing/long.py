"""One row per vote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from votewise._checks import first_few
from votewise.votes.columns import derived, known, says
from votewise.votes.guessing.labels import check_label, find_count, find_count_of, find_counted_label, find_label
from votewise.votes.guessing.look import ROWS_THAT_TELL, Doubt, Look, agreement, concord, first_of, told_by
from votewise.votes.guessing.restarting import doubt_restarting_ids
from votewise.votes.guessing.roles import (
    find_pair,
    finer_items_and_people,
    item_by_content,
    item_order,
    people_by_content,
    people_order,
)
from votewise.votes.guessing.sides import doubt_sides
from votewise.votes.guessing.wide import check_words
from votewise.votes.profile import BITS, determines, joint_codes, unique_pairs
from votewise.votes.reading import Reading

# An item with more votes than this is suspect if another column would make finer items.
_MANY_VOTES = 50


def guess_long_by_name(look: Look) -> Reading | None:
    """One row per vote, where a label or an annotator column has a known name."""
    names = look.names
    if known("label", names) or known("annotator", names):
        return guess_long(look)
    return None


def guess_long(look: Look) -> Reading | None:
    """One row per vote."""
    asked, columns = look.asked, look.columns
    label = asked.label or first_of(known("label", look.names))
    items = item_order(look, [asked.annotator or "", label or ""])
    people = [asked.annotator] if asked.annotator else people_order(look, [*asked.item, label or ""])
    item, annotator = find_pair(look, items, people, label)
    if annotator is None and label is None and asked.label is None and item is not None:
        label = find_counted_label(look, item)
    if (
        annotator is None
        and asked.annotator is None
        and not asked.count
        and not (label and find_count_of(look, item, label))
    ):
        item, annotator = people_by_content(look, item, label)
        if item is not None and annotator is None:
            item, annotator = finer_items_and_people(look, item, label)
    item = item if item is not None else item_by_content(look, items)
    label = label if label and not known("label", [label]) else find_label(look, item, annotator)
    wide = None if label is None or annotator is None else _people_in_columns(look, item or (), annotator, label)
    if wide is not None:
        return wide
    item = doubt_restarting_ids(look, item, annotator, label)
    doubt_sides(look, item, label)
    counted = find_count(look, item, annotator, label)
    if label is not None:
        _check_answers(look, item, annotator, label)
    if item is not None and annotator is not None and label is not None and not asked.label and not asked.annotator:
        annotator, label, counted = _counts_of_labels(look, item, annotator, label, counted)
    named = asked.form or asked.label or annotator or known("label", look.names)
    if not named and (item is None or label is None or columns[item[0]].distinct == look.rows):
        return None
    if item is None or label is None:
        role = "item" if item is None else "label"
        look.doubts.insert(
            0,
            Doubt(
                "a long table needs an item and a label column",
                f"no {role} column is known among {first_few(list(columns))}",
                None,
            ),
        )
        return Reading(form="long", item=item or (), annotator=annotator, label=label)
    if annotator is None and asked.annotator is None and item and len(item) == 1:
        _coarse_item(look, item[0], label)
        _once_each(look, item[0], label)
        _result_of_votes(look, item[0], label)
    return Reading(form="long", item=item, annotator=annotator, label=label, **counted)


def _people_in_columns(look: Look, item: tuple[str, ...], annotator: str, label: str) -> Reading | None:
    """A wide table whose items are named by two columns, one of them taken for annotators; doubted.

    What stands side by side then agrees far more than what one column says of the supposed item.
    """
    columns = look.columns
    if look.asked.annotator or look.asked.label or says("annotator", annotator) or look.rows < ROWS_THAT_TELL:
        return None
    if label not in columns or not all(name in columns for name in (*item, annotator)):
        return None
    mine = set(columns[label].values)
    alike = tuple(
        name
        for name in look.names
        if name not in (*item, annotator)
        and columns[name].is_few
        and not told_by(look, item, name)
        and 2 * len(mine & set(columns[name].values)) > len(mine | set(columns[name].values))
    )
    if len(alike) < 2:
        return None
    side_by_side = concord(look, alike)
    groups = joint_codes(columns[name] for name in item)
    least = (
        0.05 if _counts_rows(groups.tolist(), columns[annotator].values, columns[annotator].cells.to_list()) else 0.2
    )
    if not side_by_side > agreement(groups, columns[label]) + least:
        return None
    key = tuple(name for name in columns if name in (*item, annotator))
    look.doubts.clear()
    look.doubt(
        "columns with the same values must be annotators or questions",
        f"{first_few(alike)} agree in rows, as annotators would (if they are questions, say annotator={annotator!r}, "
        f"--annotator {annotator}, and label=, --label)",
        {"form": "wide", "raters": alike, "item": key},
    )
    return Reading(form="wide", item=key, raters=alike)


def _check_answers(look: Look, item: tuple[str, ...] | None, annotator: str | None, label: str) -> None:
    """Doubt labels that are no classes, or not all."""
    columns = look.columns
    check_label(look, label)
    if label in columns and item and all(name in columns for name in item):
        check_words(look, [columns[label]], joint_codes(columns[name] for name in item))
    _grid_of_classes(look, item, annotator, label)


def _counts_rows(groups: Sequence[int], values: Sequence[str], cells: Sequence[str | None]) -> bool:
    """Whether cells count the rows of each group from 1 on, as parts of an item are counted sooner than annotators."""
    last: Counter[int] = Counter()
    if not all(value.isdigit() for value in values):
        return False
    for group, cell in zip(groups, cells, strict=True):
        last[group] += 1
        if cell is None or int(cell) != last[group]:
            return False
    return True


def _counts_of_labels(
    look: Look, item: tuple[str, ...], annotator: str, label: str, counted: dict[str, str]
) -> tuple[str | None, str, dict[str, str]]:
    """Annotator, label and count; whole numbers with the same sum in each item count what the other column names."""
    columns = look.columns
    if annotator not in columns or label not in columns or known("annotator", [annotator]) or says("label", label):
        return annotator, label, counted
    numbers, codes = columns[label].numbers, joint_codes(columns[one] for one in item if one in columns)
    if numbers is None or not columns[label].whole or np.isnan(numbers).any() or numbers.min() < 0:
        return annotator, label, counted
    sums, rows = np.bincount(codes, numbers), np.bincount(codes)
    if len(sums) < 8 or np.ptp(sums) > 0 or (np.ptp(rows) == 0 and columns[label].distinct < 3):
        return annotator, label, counted
    fix = {"annotator": None, "label": annotator, "count": label, "item": item}
    look.doubt(
        "a row must be a vote, or the votes for a class",
        f"{label!r} sums to {sums[0]:g} in each item, as the numbers of votes for {annotator!r} would",
        fix,
    )
    return None, annotator, {"count": label}


def _grid_of_classes(look: Look, item: tuple[str, ...] | None, annotator: str | None, label: str) -> None:
    """Doubt labels of which every annotator has a row for each: what was chosen is said by yes and no beside them."""
    columns = look.columns
    if look.asked.label or annotator is None or not all(name in columns for name in (*(item or ()), annotator, label)):
        return
    keys = [columns[name] for name in (*(item or ()), annotator)]
    answers, number = len(np.unique(joint_codes(keys))), columns[label].distinct
    if number < 2 or look.rows != answers * number or not unique_pairs([*keys, columns[label]]):
        return
    for name in look.names:
        column = columns[name]
        if name in (*(item or ()), annotator, label) or not set(column.values) <= BITS.keys() or column.distinct != 2:
            continue
        no = next((word for word in column.values if not BITS[word]), None)
        if no is not None:
            look.doubt(
                "a row must be a vote",
                f"each annotator has a row for each of {number} values of {label!r}; {name!r} says which was chosen",
                {"without": (*look.asked.without, f"{name}={no}"), "label": label},
            )
            return
    look.doubt("a row must be a vote", f"each annotator has a row for each of {number} values of {label!r}", None)


def _result_of_votes(look: Look, item: str, label: str) -> None:
    """Doubt one label per item beside numbers that may be votes: it may be what came of them."""
    columns = look.columns
    if look.asked.label or item not in columns or columns[item].distinct < look.rows or look.rows < ROWS_THAT_TELL:
        return
    numbers = [
        name
        for name in look.names
        if (cells := columns[name].numbers) is not None
        and name not in (item, label)
        and not derived(name)
        and 1 < columns[name].distinct < look.rows
        and not np.isnan(cells).any()
        and cells.min() >= 0
    ]
    if len(numbers) > 1:
        whole = all(columns[name].whole for name in numbers)
        look.doubt(
            "single votes, or all that is known of them, must be named",
            f"{label!r} has one value per item, and {first_few(numbers)} may be counts or shares of votes (if "
            f"{label!r} is the one vote of each item, say label={label!r}, --label {label})",
            {"classes": tuple(numbers), "item": (item,), "label": None} if whole else None,
        )


def _once_each(look: Look, item: str, label: str) -> None:
    """Doubt a table in which every row has an item and a label of its own: a list of classes, or of texts."""
    columns = look.columns
    if item not in columns or label not in columns or look.asked.label or look.rows < 3:
        return
    if columns[item].distinct == columns[label].distinct == look.rows and columns[label].numbers is None:
        look.doubt("labels must be classes", f"each value of {label!r} occurs in one row only", None)


def _coarse_item(look: Look, item: str, label: str) -> None:
    """Doubt a handful of items with many votes each, or rows of one vote each, if another column makes better items."""
    columns = look.columns
    if look.asked.item or item not in columns or look.rows < 2 * ROWS_THAT_TELL:
        return
    mine = columns[item]
    for (name,) in item_order(look, [label]):
        other = columns[name]
        if name == item or other.kind == "few values" or other.distinct >= 0.9 * look.rows:
            continue
        finer = (
            look.rows > _MANY_VOTES * mine.distinct and other.distinct > 3 * mine.distinct and determines(other, mine)
        )
        coarser = (
            mine.distinct == look.rows
            and look.rows >= 1.5 * other.distinct
            and (says("item", name) or other.kind == "text")
        )
        if finer or coarser:
            look.doubt(
                "the item column must name items",
                f"{item!r} has {mine.distinct:,} values for {look.rows:,} rows, {name!r} has {other.distinct:,}",
                {"item": (name,)},
            )
            return
