"""What a guess looks at, and what speaks against it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise.votes.columns import derived, is_unnamed, known, says
from votewise.votes.profile import Column, determines, joint_codes, unique_pairs
from votewise.votes.reading import Reading

# Fewer rows than this are too few to tell how often anything recurs.
ROWS_THAT_TELL = 10

# Among more columns of numbers no winner is looked for.
_MOST_CLASSES = 40


@dataclass(frozen=True)
class Doubt:
    """A reason not to read a table as guessed.

    Attributes:
        wanted: what must be so.
        got: what speaks against it.
        fix: the fields of a reading that settle it; None if nothing does.
    """

    wanted: str
    got: str
    fix: dict[str, Any] | None


@dataclass(frozen=True)
class Guess:
    """A plan, and what speaks against it."""

    reading: Reading
    doubts: tuple[Doubt, ...] = ()

    @property
    def settled(self) -> Reading:
        """The plan after all its doubts are settled as proposed."""
        fixes = {name: value for doubt in self.doubts for name, value in (doubt.fix or {}).items()}
        return replace(self.reading, **fixes)


@dataclass(frozen=True)
class Look:
    """The first rows of a table.

    Attributes:
        columns: its columns by name, without those to be ignored.
        rows: how many rows were looked at.
        whole: whether those are all.
        asked: what the caller said.
    """

    columns: dict[str, Column]
    rows: int
    whole: bool
    asked: Reading
    doubts: list[Doubt] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """The columns that may have a role: no accidental index, none without a value."""
        return [
            name for name, column in self.columns.items() if (column.distinct or column.marks) and not is_unnamed(name)
        ]

    def doubt(self, wanted: str, got: str, fix: dict[str, Any] | None) -> None:
        """Note what speaks against the plan."""
        self.doubts.append(Doubt(wanted, got, fix))


def by_name(look: Look, role: str, taken: Sequence[str] = ()) -> list[list[str]]:
    """The columns a role may have by name, from sure to vague."""
    apart = set(taken)
    names = [name for name in look.names if name not in apart]
    names = several_valued(look, names) if role == "item" else names
    sure = known(role, names)
    vague = [name for name in names if name not in sure and says(role, name)]
    return [sure, vague]


def several_valued(look: Look, names: Sequence[str]) -> list[str]:
    """The columns that tell rows apart, as items do; all of them where none does, or there are too few rows."""
    telling = [name for name in names if look.columns[name].distinct > 1]
    return telling if telling and look.rows >= ROWS_THAT_TELL else list(names)


def recurs(look: Look, name: str) -> bool:
    """Whether values come again, as those of items do in a table of single votes."""
    column = look.columns[name]
    return (
        look.rows < ROWS_THAT_TELL
        or not look.whole
        or 2 * column.distinct <= look.rows
        or (column.distinct < 0.9 * column.filled)
    )


def same_parts(look: Look, one: str, other: str) -> bool:
    """Whether two columns tell the same rows apart."""
    a, b = look.columns[one], look.columns[other]
    return determines(a, b) and determines(b, a)


def find_row_item(look: Look, taken: Sequence[str]) -> tuple[str | None, bool]:
    """The item of a table with one row per item, and whether it is sure: ids that differ in every row."""
    if look.asked.item:
        return look.asked.item[0], True
    apart = set(taken)
    names = [name for name in look.names if name not in apart]
    differing = [
        name
        for name in names
        if look.columns[name].distinct == look.rows and look.columns[name].kind not in ("lists", "dates")
    ]
    known_to_differ = set(differing)
    for tier in (known("item", names), [name for name in names if says("item", name)]):
        fitting = [name for name in tier if name in known_to_differ and look.columns[name].kind != "text"]
        if fitting:
            return fitting[0], True
    ids = [name for name in differing if look.columns[name].numbers is None or look.columns[name].whole]
    ids.sort(key=lambda name: (derived(name), look.columns[name].letters))
    unnamed = [name for name, column in look.columns.items() if is_unnamed(name) and column.distinct == look.rows]
    if unnamed and (not ids or look.columns[ids[0]].kind == "text"):
        return unnamed[0], True
    return (ids[0], not derived(ids[0])) if ids else (None, True)


def agreement(groups: npt.NDArray[np.int64], column: Column) -> float:
    """How far cells agree within groups of rows, beyond chance: 1 if they always do, 0 if no more than anywhere.

    NaN where no two cells are in a group, or all cells are equal.
    """
    filled = column.cells.is_not_null().to_numpy()
    values, group = (
        np.unique(column.codes[filled], return_inverse=True)[1],
        np.unique(groups[filled], return_inverse=True)[1],
    )
    if not len(values):
        return float("nan")
    pairs = np.unique(group * (int(values.max()) + 1) + values, return_counts=True)[1]
    sizes, shares = np.bincount(group), np.bincount(values) / len(values)
    possible, chance = float((sizes * (sizes - 1.0)).sum()), float((shares**2).sum())
    if possible == 0 or chance == 1:
        return float("nan")
    return (float((pairs * (pairs - 1.0)).sum()) / possible - chance) / (1 - chance)


def concord(look: Look, names: Sequence[str]) -> float:
    """How far columns agree within rows of the table, beyond chance; 0 where that cannot be told."""
    import polars as pl

    cells = Column("cells", pl.concat([look.columns[name].cells.alias("cells") for name in names]))
    found = agreement(np.tile(np.arange(look.rows), len(names)), cells)
    return 0.0 if np.isnan(found) else found


def never_agrees(look: Look, item: tuple[str, ...], name: str) -> bool:
    """Whether no two rows of an item have the same value where chance alone would give several: a running number."""
    if not all(one in look.columns for one in item):
        return False
    column, groups = look.columns[name], joint_codes(look.columns[one] for one in item)
    sizes = np.unique(groups, return_counts=True)[1]
    shares = np.unique(column.codes, return_counts=True)[1] / max(len(column.codes), 1)
    expected = float((sizes * (sizes - 1.0)).sum() / 2 * (shares**2).sum())
    return expected >= 8 and unique_pairs([*(look.columns[one] for one in item), column])


def unique_by_design(look: Look, one: str, other: str) -> bool:
    """Whether two columns that recur never meet twice, though by chance they often would: items and annotators."""
    a, b = look.columns[one], look.columns[other]
    by_chance = look.rows * (look.rows - 1) / 2
    for column in (a, b):
        by_chance *= float(((np.unique(column.codes, return_counts=True)[1] / look.rows) ** 2).sum())
    return by_chance >= 8 and unique_pairs([a, b])


def holds_single_votes(look: Look) -> bool:
    """Whether two columns recur like items and annotators, and meet at most once, beside one of few values."""
    names = [name for name in look.names if look.rows >= 1.5 * look.columns[name].distinct > 3][:20]
    return any(
        unique_by_design(look, one, other)
        and any(
            look.columns[name].is_few and look.columns[name].distinct > 1 for name in names if name not in (one, other)
        )
        for one, other in itertools.combinations(names, 2)
    )


def names_the_greatest(look: Look, name: str, others: Sequence[str]) -> bool:
    """Whether each value of a column stands for one of some columns of numbers, the greatest of its row: a winner."""
    tables = [look.columns[one].numbers for one in others]
    if look.rows < ROWS_THAT_TELL or not 2 <= len(others) <= _MOST_CLASSES or any(one is None for one in tables):
        return False
    table = np.column_stack(tables)  # type: ignore[arg-type]
    greatest = table == table.max(axis=1, keepdims=True)
    codes = look.columns[name].codes
    always = [frozenset(np.flatnonzero(greatest[codes == code].all(axis=0))) for code in np.unique(codes)]
    meant = [next(iter(one)) for one in always if len(one) == 1]
    return len(always) > 1 and all(always) and len(set(meant)) == len(meant) and 2 * len(meant) > len(always)


def first_of(names: Sequence[str]) -> str | None:
    """The first name, if there is one."""
    return names[0] if names else None


def all_same_parts(look: Look, names: Sequence[str]) -> bool:
    """Whether columns all tell the same rows apart."""
    return all(same_parts(look, names[0], other) for other in names[1:])


def repeats(look: Look, item: tuple[str, ...]) -> bool:
    """Whether items have several rows."""
    return (
        bool(item)
        and all(one in look.columns for one in item)
        and (2 * len(np.unique(joint_codes(look.columns[one] for one in item))) <= look.rows)
    )


def all_agree(look: Look, item: tuple[str, ...], annotator: str) -> bool:
    """Whether no column of few values, beside the annotators, differs within an item: then labels do not, either."""
    return all(
        not column.is_few or told_by(look, item, name)
        for name, column in look.columns.items()
        if column.distinct > 1 and name != annotator
    )


def told_by(look: Look, item: tuple[str, ...], name: str) -> bool:
    """Whether a column has one value in each item: it describes items."""
    return (
        bool(item)
        and all(one in look.columns for one in item)
        and determines(Column("item", _as_series(joint_codes(look.columns[one] for one in item))), look.columns[name])
    )


def _as_series(codes: Any) -> Any:
    import polars as pl

    return pl.Series("item", codes).cast(pl.String)
