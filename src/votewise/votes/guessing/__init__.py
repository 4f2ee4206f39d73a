"""From the look of a table to the plan for reading it: content proposes, names confirm, and every doubt is kept.

A plan without a doubt is read. A plan with one is put as a question, and the plan itself is the answer proposed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from votewise.votes.columns import flags_tests, says
from votewise.votes.guessing.crossed import guess_crossed
from votewise.votes.guessing.lists import guess_lists
from votewise.votes.guessing.long import guess_long, guess_long_by_name
from votewise.votes.guessing.look import ROWS_THAT_TELL, Guess, Look
from votewise.votes.guessing.look import Doubt as Doubt
from votewise.votes.guessing.numbers import (
    guess_counts,
    guess_counts_beside,
    guess_numbers_only,
    guess_part_of_number,
    guess_shares_of_number,
)
from votewise.votes.guessing.one_hot import guess_one_hot, is_mark
from votewise.votes.guessing.results import doubt_results
from votewise.votes.guessing.survey import guess_grid, guess_items_in_columns, guess_people_in_rows, guess_survey
from votewise.votes.guessing.wide import guess_numbered_raters, guess_shared_values, guess_shared_words, guess_wide
from votewise.votes.profile import Column
from votewise.votes.reading import Reading

_SUMS = re.compile(r"total|totals|sum|sums|overall|grand total|gesamt|summe|mean|average|all", re.IGNORECASE)
_RESULTS = re.compile(r"gold|golden|truth|consensus|majority|adjudicated|final|reference|expected", re.IGNORECASE)


def guess(columns: dict[str, Column], rows: int, *, whole: bool, asked: Reading) -> Guess | None:
    """The plan for a table, or None if nothing in it looks like votes.

    Args:
        columns: the table's columns.
        rows: how many rows they have.
        whole: whether those are all the table has.
        asked: what the caller said of it.
    """
    seen = {name: column for name, column in columns.items() if name not in asked.ignored}
    merged = () if asked.item or asked.fill or asked.form else _merged(seen, rows)
    for name in merged:
        seen = {**seen, name: Column(name, seen[name].cells.forward_fill())}
    for way in _ways(asked):
        look = Look(seen, rows, whole, asked)
        plan = way(look)
        if plan is not None:
            _rows_apart(look, plan)
            doubt_results(look, plan)
            for name in {*merged} & {*plan.item}:
                look.doubt(
                    "every row needs an item",
                    f"blank cells of {name!r} may stand for the cell above, as merged cells do",
                    {"fill": merged},
                )
            return Guess(asked.over(plan), tuple(look.doubts))
    return None


def _merged(columns: Mapping[str, Column], rows: int) -> tuple[str, ...]:
    """A column of items that stand in the first of their rows only."""
    for place, (name, column) in enumerate(columns.items()):
        is_item = place == 0 or says("item", name)
        blank = rows - column.filled
        if (
            is_item
            and rows >= ROWS_THAT_TELL
            and 0.4 * rows < blank < rows - 1
            and column.cells[0] is not None
            and column.distinct == column.filled
            and not column.marks
            and sum(other.filled == rows for other in columns.values()) > 1
        ):
            return (name,)
    return ()


def _ways(asked: Reading) -> Sequence[Callable[[Look], Reading | None]]:
    """How a table may be read, in the order in which the ways are tried."""
    if asked.form is not None:
        return (_BY_FORM[asked.form],)
    if asked.item_columns:
        return (guess_survey,)
    if asked.raters or asked.rater_ids:
        return (guess_wide,)
    if asked.split:
        return (guess_lists, guess_long)
    if asked.count and asked.classes and not asked.label:
        return (guess_counts,)
    if asked.label or asked.count or asked.weight:
        return (guess_lists, guess_long)
    if asked.annotator:
        return (guess_one_hot, guess_lists, guess_long)
    if asked.header_rows == 0:  # without names columns are no classes
        return (guess_lists, guess_long, guess_shared_values)
    return (
        guess_crossed,
        guess_numbered_raters,
        guess_grid,
        guess_people_in_rows,
        guess_lists,
        guess_one_hot,
        guess_counts_beside,
        guess_shares_of_number,
        guess_part_of_number,
        guess_items_in_columns,
        guess_long_by_name,
        guess_numbers_only,
        guess_shared_words,
        guess_long,
        guess_shared_values,
    )


def _rows_apart(look: Look, plan: Reading) -> None:
    """Doubt rows that are no votes: sums at the end, tests of annotators."""
    used = {*plan.item, plan.annotator, plan.label, *plan.raters, *plan.classes, *plan.item_columns}
    told = {condition.partition("=")[0] for condition in look.asked.without}
    without = look.asked.without
    for name, column in look.columns.items():
        last = next((word for word in reversed(column.cells.tail(3).to_list()) if word), "")
        is_result = name == plan.annotator and _RESULTS.fullmatch(last) is not None
        if (
            name not in told
            and look.whole
            and (_SUMS.fullmatch(last) or is_result)
            and column.values.count(last) == 1
            and column.distinct > 3
        ):
            without = (*without, f"{name}={last}")
            look.doubt("each row must be an item or a vote", f"the last has {last!r} in {name!r}", {"without": without})
        marks = [word for word in column.values if word.lower() in ("1", "true", "yes", "t", "y")]
        if name in used or name in told or not flags_tests(name) or not is_mark(column) or not marks:
            continue
        flagged = int((column.cells == marks[0]).sum())
        if 0 < flagged < look.rows / 2:
            without = (*without, f"{name}={marks[0]}")
            look.doubt(
                "rows that test annotators must be used or left out",
                f"{name!r} marks {flagged:,} (use them with ignore={name!r}, --ignore {name})",
                {"without": without},
            )


_BY_FORM: dict[str, Callable[[Look], Reading | None]] = {
    "long": guess_long,
    "wide": guess_wide,
    "counts": guess_counts,
    "probabilities": guess_counts,
    "one-hot": guess_one_hot,
    "lists": guess_lists,
    "survey": guess_survey,
}
