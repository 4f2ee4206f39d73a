"""What a guess looks at, and what speaks against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from votewise.votes.columns import derived, is_unnamed, known, says
from votewise.votes.profile import Column, determines, joint_codes
from votewise.votes.reading import Reading

# Fewer rows than this are too few to tell how often anything recurs.
ROWS_THAT_TELL = 10


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
    sure = known(role, names)
    vague = [name for name in names if name not in sure and says(role, name)]
    return [sure, vague]


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
