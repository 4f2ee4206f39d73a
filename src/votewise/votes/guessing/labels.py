"""What was said: the label column, and how often a row counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from votewise._checks import first_few
from votewise.votes.columns import derived, known, mentions, orders, results, says, words_of
from votewise.votes.guessing.look import (
    ROWS_THAT_TELL,
    Look,
    agreement,
    all_agree,
    first_of,
    never_agrees,
    repeats,
    told_by,
)
from votewise.votes.guessing.wide import on_a_grid
from votewise.votes.profile import Column, determines, joint_codes, unique_pairs

# Answers that agree within items so far beyond chance are votes, sooner than those that hardly do.
_AGREED = 0.2


def find_label(look: Look, item: tuple[str, ...] | None, annotator: str | None) -> str | None:
    """The label column: by name, or the only column that neither item nor annotator tells."""
    if look.asked.label:
        return look.asked.label
    columns = look.columns
    names = [name for name in look.names if name not in (*(item or ()), annotator)]
    sure = known("label", names)
    if item is not None and annotator is not None and look.rows >= ROWS_THAT_TELL and repeats(look, item):
        sure = [name for name in sure if not told_by(look, item, name) or all_agree(look, item, annotator)]
    usable = [name for name in sure if columns[name].kind not in ("text", "dates", "numbers")] or sure
    if len(usable) > 1:
        look.doubt("one column must be the label", f"{first_few(usable)} could all be", {"label": usable[0]})
    if usable or item is None:
        return first_of(usable)
    pool = _questions(look, names, item, annotator)
    if len(pool) > 1:
        look.doubt(
            "one question must be the one whose answers are votes",
            f"{first_few(pool)} may all be (choose another with label=, --label)",
            {"label": pool[0]},
        )
    elif pool and annotator is None and not says("label", pool[0]):
        look.doubt("the label column must be known", f"only {pool[0]!r} may be", {"label": pool[0]})
    return first_of(pool)


def _questions(look: Look, names: Sequence[str], item: tuple[str, ...], annotator: str | None) -> list[str]:
    """The columns that may be labels, those named so first: neither item nor annotator tells them."""
    columns = look.columns
    telling = annotator if annotator in columns and columns[annotator].distinct < look.rows else None
    may = [
        name
        for name in names
        if columns[name].is_few
        and not says("annotator", name)
        and not _counts_votes(look, name)
        and not (telling and determines(columns[telling], columns[name]))
        and not (look.rows >= ROWS_THAT_TELL and (told_by(look, item, name) or never_agrees(look, item, name)))
    ]
    # What differs within items is not made of their votes, whatever it is called.
    own = [
        name for name in names if not (derived(name) or orders(name)) or (annotator and name in may and results(name))
    ]
    votes = [name for name in may if name in own] or (may if annotator else [])
    lists = [name for name in own if columns[name].kind == "lists"]
    for found in (votes, lists, [name for name in may if mentions("label", name)]):
        full = [name for name in found if 2 * columns[name].filled > look.rows]
        if full:
            concord = {name: _concord(look, item, name) for name in full}
            agreed = max(concord.values()) > _AGREED
            return sorted(
                full,
                key=lambda name: (agreed and concord[name] < _AGREED / 4, not says("label", name), -concord[name]),
            )
    numbers = [name for name in own if columns[name].kind == "numbers"]
    named = [name for name in numbers if says("label", name)] or numbers
    return votes or (named if len(named) == 1 else [])


def _counts_votes(look: Look, name: str) -> bool:
    """Whether a column says how many votes something got: helpful_votes."""
    numbers, words = look.columns[name].numbers, words_of(name)
    return (
        len(words) > 1
        and words[-1] in ("votes", "ratings", "answers", "annotations", "judgments", "responses")
        and numbers is not None
        and look.columns[name].whole
        and bool(np.nanmin(numbers) == 0)
    )


def _concord(look: Look, item: tuple[str, ...], name: str) -> float:
    """How far an item decides a column, as it does labels; -1 where that cannot be told."""
    if not all(one in look.columns for one in item):
        return -1.0
    found = agreement(joint_codes(look.columns[one] for one in item), look.columns[name])
    return -1.0 if np.isnan(found) else round(found, 6)


def find_counted_label(look: Look, item: tuple[str, ...]) -> str | None:
    """The label of a table of counts in long form: an item has one row for each of its values."""
    columns = look.columns
    if not all(one in columns for one in item) or not repeats(look, item):
        return None
    for name in look.names:
        other = derived(name) or says("annotator", name) or says("count", name) or orders(name)
        if name not in item and columns[name].is_few and not other and find_count_of(look, item, name):
            return name
    return None


def find_count_of(look: Look, item: tuple[str, ...] | None, label: str) -> str | None:
    """The column that counts the votes of an item for a label."""
    columns = look.columns
    if item is None or not all(one in columns for one in (*item, label)):
        return None
    for name in look.names:
        numbers = columns[name].numbers
        if name in (*item, label) or not says("count", name) or numbers is None or not columns[name].whole:
            continue
        once = unique_pairs([*(columns[one] for one in item), columns[label]])
        if once and not np.isnan(numbers).any() and (numbers >= 0).all() and not told_by(look, item, name):
            return name
    return None


def find_count(look: Look, item: tuple[str, ...] | None, annotator: str | None, label: str | None) -> dict[str, Any]:
    """The column that says for how many votes a row stands; it is used, or asked about, never passed over."""
    asked, columns = look.asked, look.columns
    if asked.count or asked.weight or item is None or label is None:
        return {}
    taken = (*item, annotator, label)
    for name in look.names:
        column = columns[name]
        is_count, is_weight = says("count", name), says("weight", name)
        if name in taken or not (is_count or is_weight) or column.numbers is None or column.values == ["1"]:
            continue
        whole = column.whole and bool((column.numbers[~np.isnan(column.numbers)] >= 0).all())
        once = unique_pairs([*(columns[one] for one in item if one in columns), columns[label]])
        if annotator is None and find_count_of(look, item, label) == name:
            return {"count": name}
        if is_count and told_by(look, item, name) and not once:
            continue  # how many votes the item has, which its rows say, too
        role = "count" if whole else "weight"
        if is_count and _votes_once(look, item, annotator):
            look.doubt(
                "a count must be used or ignored",
                f"{name!r} may count something else than votes, as each row is one annotator's (if a row counts for so "
                f"many, say count={name!r}, --count {name})",
                {"ignored": (*asked.ignored, name)},
            )
            continue
        look.doubt(
            f"a {role} must be used or ignored",
            f"{name!r} may say what a row counts for (ignore it with ignore={name!r}, --ignore {name})",
            {role: name},
        )
    return {}


def _counts_in_words(column: Column) -> bool:
    """Whether cells hold a class and a number, the same class with several: 'cat (3)', 'cat × 2'."""
    found = [re.fullmatch(r"(.*\S)\s*(?:\((\d+)\)|\[(\d+)\]|[×*]\s*(\d+))", value) for value in column.values[:500]]
    names = {match[1] for match in found if match is not None}
    return len(names) < len(found) and all(match is not None for match in found)


def _votes_once(look: Look, item: tuple[str, ...], annotator: str | None) -> bool:
    """Whether rows are votes of annotators, each of whom has one on an item and on several items."""
    columns = look.columns
    if annotator not in columns or not all(one in columns for one in item):
        return False
    return look.rows >= 2 * columns[annotator].distinct and unique_pairs(
        [*(columns[one] for one in item), columns[annotator]]
    )


def check_label(look: Look, label: str) -> None:
    """Doubt labels that cannot be classes: texts, lists, numbers of a continuous scale."""
    asked = look.asked
    column = look.columns.get(label)
    if column is None or (asked.classes and asked.label):
        return
    if column.kind == "lists" and not asked.split and not column.nested:
        fix: dict[str, Any] = {"label": label, "split": column.split}
        if asked.several is None:
            fix["several"] = "each"
        look.doubt(
            "a label must name one class", f"the cells of {label!r} name several ({column.values[0][:60]!r})", fix
        )
        return
    if asked.bins or asked.split:
        return
    if _counts_in_words(column):
        look.doubt(
            "a label must name one class",
            f"the cells of {label!r} name a class and how often it was chosen ({first_few(column.values[:2])}). Write "
            "the number into a column of its own",
            None,
        )
        return
    many = column.distinct > 12 and not (column.numbers is not None and on_a_grid([column]))
    if column.numbers is not None and many and not column.whole:
        look.doubt(
            "labels must be classes",
            f"{label!r} has {column.distinct:,} different numbers ({first_few(column.values[:3])}), a continuous scale",
            {"label": label, "bins": (5.0,)},
        )
    elif column.whole and column.distinct > 40 and asked.label is None:
        look.doubt(
            "labels must be classes",
            f"{label!r} has {column.distinct:,} different numbers (if they are classes, say label={label!r}, "
            f"--label {label})",
            {"label": label, "bins": (5.0,)},
        )
    elif column.numbers is None and column.distinct > 20 and 2 * column.distinct > column.filled:
        look.doubt(
            "labels must be classes",
            f"{label!r} has {column.distinct:,} different texts in {column.filled:,} rows ({column.values[0][:40]!r})",
            None,
        )
