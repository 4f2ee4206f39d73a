"""A table whose reading is not certain, put as a question: what its columns look like, and a command to type."""

from __future__ import annotations

import fnmatch
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from votewise._errors import InputError
from votewise.votes.guessing.look import Doubt
from votewise.votes.profile import Column
from votewise.votes.reading import Reading

# Fields that a command names only where a doubt makes them necessary.
_IMPLIED = ("form", "ignored", "classes", "format", "without")
_MOST_SHOWN = 40

_UNREADABLE = "votewise reads single votes, lists, counts and shares of classes, and finds none of these here"
_HELP = "If you see which column is what, say so with item=, annotator=, label=, raters= or classes= (--item, ...)"


class UnclearError(InputError):
    """A table that may be read in several ways, or in none.

    Attributes:
        proposal: the reading that the message proposes; None if the table holds no votes that can be read.
    """

    def __init__(self, wanted: str, got: str, remedy: str, proposal: Reading | None = None) -> None:
        """Compose the message."""
        super().__init__(wanted, got, remedy)
        self.proposal = proposal


def question(
    source: Any, columns: Mapping[str, Column], doubts: Iterable[Doubt], proposal: Reading | None
) -> UnclearError:
    """The error that asks how a table is meant.

    Args:
        source: the table, as the caller named it.
        columns: all its columns.
        doubts: what speaks against the reading that was guessed, most important first.
        proposal: the reading that settles them, if there is one.
    """
    first, *others = doubts
    got = "; ".join([first.got, *(doubt.got for doubt in others)])
    listed = "\n".join(describe(columns))
    if proposal is None:
        remedy = f"{_UNREADABLE}\nThe columns are:\n{listed}\n{_HELP}"
        return UnclearError(first.wanted, got, remedy)
    shown = shortened(proposal, columns)
    return UnclearError(
        first.wanted, got, f"The columns are:\n{listed}\nIf this is what is meant, {_command(source, shown)}", shown
    )


def describe(columns: Mapping[str, Column]) -> list[str]:
    """A line for each column: its name, what it looks like, two values."""
    width = min(max(map(len, columns), default=0), 30)
    lines = [f"  {name:{width}}  {column.looks()}" for name, column in columns.items()]
    more = len(lines) - _MOST_SHOWN
    return lines if more <= 0 else [*lines[: _MOST_SHOWN - 5], f"  … {more + 4:,} more columns", *lines[-1:]]


def needed(proposal: Reading, asked: Reading, doubts: Iterable[Doubt]) -> Reading:
    """A proposal without what goes without saying."""
    fixed = {name for doubt in doubts for name in (doubt.fix or {})}
    keep = {
        name: value
        for name, value in proposal.given.items()
        if name not in _IMPLIED
        or name in fixed
        or name in asked.given
        or (name == "classes" and proposal.form in ("counts", "probabilities", "one-hot"))
    }
    return Reading(**keep)


def shortened(reading: Reading, columns: Mapping[str, Column]) -> Reading:
    """A reading with patterns in place of many names."""
    short: dict[str, Any] = {}
    for role in ("raters", "rater_ids", "item_columns"):
        names = getattr(reading, role)
        start = _common_start(names)
        if (
            len(names) > 2
            and start
            and tuple(name for name in columns if fnmatch.fnmatchcase(name, f"{start}*")) == names
        ):
            short[role] = (f"{start}*",)
    return replace(reading, **short)


def with_command(error: InputError, source: Any, reading: Reading) -> InputError:
    """An error about a file with the command that follows its advice."""
    if not isinstance(source, (str, os.PathLike)):
        return error
    if isinstance(error, UnclearError):
        head, _, _ = error.remedy.partition("If this is what is meant, ")
        return UnclearError(
            error.wanted, error.got, f"{head}If this is what is meant, {_command(source, reading)}", reading
        )
    command = f"{error.remedy}.\nTo do so, {_command(source, reading)}"
    return UnclearError(error.wanted, error.got, command, reading)


def _command(source: Any, reading: Reading) -> str:
    if isinstance(source, (str, os.PathLike)):
        return (
            f"type: votewise inspect {shlex.quote(os.fspath(source))} {reading.options()}\n"
            f"(in Python: read_votes(..., {reading.arguments()}))"
        )
    return f"call: read_votes(..., {reading.arguments()})"


def _common_start(names: Sequence[str]) -> str:
    """What all of some names begin with."""
    first, last = min(names, default=""), max(names, default="")  # all others agree where these two do
    end = next((place for place, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))
    return first[:end]
