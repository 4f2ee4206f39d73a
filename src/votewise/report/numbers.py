"""Numbers as people read them."""

from __future__ import annotations

import math


def format_number(value: float | None, digits: int = 3) -> str:
    """A number for people; a dash where there is none."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def format_difference(value: float | None) -> str:
    """A difference for people, with its sign unless it vanishes; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    return "0.000" if abs(value) < 0.0005 else f"{value:+.3f}"


def format_p(value: float | None) -> str:
    """A p-value for people."""
    return "–" if value is None else "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def counted(number: int, thing: str, things: str | None = None) -> str:
    """How many there are of something: "1 item", "2,000 items".

    Args:
        number: how many.
        thing: what one is called.
        things: what several are called, if it is not `thing` with an s.
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
