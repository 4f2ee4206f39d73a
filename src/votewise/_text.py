"""Numbers and lists formatted for people, and what a text is."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# An item that is text: one string, or two that are read together, such as a premise and a hypothesis.
TextOrPair = str | tuple[str, str]

# Marks that turn the direction of writing: in a terminal they could make a name read as another.
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

# What terminals act on: control characters, and separators of lines that some take for line breaks.
_ACTING = ("Cc", "Zl", "Zp")

# What makes a spreadsheet take a cell for a formula. Some drop tabs and line breaks before they look.
_BEGINNINGS = ("=", "+", "-", "@", "\t", "\r", "\n")


def printable(text: str) -> str:
    """A text without what moves the cursor, rings, colours or turns the direction of writing; line breaks stay."""
    if text.isprintable():
        return text
    spaced = text.expandtabs(1)
    return "".join(
        one for one in spaced if one == "\n" or (unicodedata.category(one) not in _ACTING and one not in _TURNING)
    )


def safe_cell(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula: with an apostrophe before what would begin one.

    >>> safe_cell("=1+1"), safe_cell("1+1")
    ("'=1+1", '1+1')
    """
    return f"'{text}" if text.startswith(_BEGINNINGS) else text


def safe_table(table: pl.DataFrame) -> pl.DataFrame:
    """A table whose names of columns, and texts, no spreadsheet takes for formulas."""
    import polars as pl

    texts = [
        pl.Series(column.name, [None if cell is None else safe_cell(cell) for cell in column.to_list()], pl.String)
        for column in table
        if column.dtype == pl.String
    ]
    safe = table.with_columns(texts)
    safe.columns = list(map(safe_cell, table.columns))
    return safe


def format_number(value: float | None, digits: int = 3) -> str:
    """A rounded number; a dash if there is none."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def format_difference(value: float | None) -> str:
    """A rounded difference, with its sign unless it rounds to zero; a dash if there is none."""
    if value is None or math.isnan(value):
        return "–"
    return "0.000" if abs(value) < 0.0005 else f"{value:+.3f}"


def format_p(value: float | None) -> str:
    """A rounded p-value; a dash if there is none."""
    return "–" if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def counted(number: int, thing: str, things: str | None = None) -> str:
    """A number with its noun: "1 item", "2,000 items".

    Args:
        number: how many.
        thing: the singular.
        things: the plural, if it is not `thing` with an s.
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def text_parts(text: TextOrPair) -> tuple[str, ...]:
    """The strings of a text: one, or the two of a pair."""
    return (text,) if isinstance(text, str) else text


def shortened(text: TextOrPair, most: int) -> TextOrPair:
    """A text, or each text of a pair, cut after `most` characters, which an ellipsis shows."""

    def cut(part: str) -> str:
        return part if len(part) <= most else f"{part[:most]}…"

    return cut(text) if isinstance(text, str) else (cut(text[0]), cut(text[1]))


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them: "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
