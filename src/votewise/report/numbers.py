"""Numbers formatted for people."""

from __future__ import annotations

import math


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
