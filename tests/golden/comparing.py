"""Golden values and new ones: placeholders, tolerances, and a difference that people can read."""

from __future__ import annotations

import difflib
import json
import math
import re
from html.parser import HTMLParser
from typing import Any

# What differs from one time or machine to another, by key; everything else is compared.
PLACEHOLDERS = {
    "seconds": "<seconds>",
    "votewise": "<version>",
    "python": "<version>",
    "numpy": "<version>",
    "torch": "<version>",
    "platform": "<machine>",
    "device": "<machine>",
    "weights": "<weights>",
}
# Inside these dicts only, since "device" is also what a plan was made for.
VARYING = ("environment", "timing")

EXACT = 1e-9  # relative: sums may be rounded otherwise on another processor
TRAINED = 1e-3  # models differ by more

_WIDTH, _LONGEST_DIFFERENCE = 320, 80
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?")


def with_placeholders(value: Any, *, varying: bool = False) -> Any:
    """A value with placeholders for what varies."""
    if isinstance(value, dict):
        return {
            name: PLACEHOLDERS[name]
            if varying and name in PLACEHOLDERS
            else with_placeholders(inner, varying=name in VARYING)
            for name, inner in value.items()
        }
    return [with_placeholders(inner) for inner in value] if isinstance(value, list) else value


def difference(golden: Any, now: Any, *, tolerance: float = EXACT) -> str:
    """A unified difference of two values as pretty JSON; empty if they agree within a relative tolerance."""
    before, after = pretty(golden).splitlines(), pretty(settled(golden, now, tolerance)).splitlines()
    lines = list(difflib.unified_diff(before, after, "golden", "now", lineterm="", n=2))
    more = len(lines) - _LONGEST_DIFFERENCE
    return "\n".join([*lines[:_LONGEST_DIFFERENCE], *([f"... and {more} lines more"] if more > 0 else [])])


def settled(golden: Any, now: Any, tolerance: float) -> Any:
    """The new value with each number that is close enough replaced by the golden one."""
    if isinstance(golden, dict) and isinstance(now, dict):
        return {
            name: settled(golden[name], inner, tolerance) if name in golden else inner for name, inner in now.items()
        }
    if isinstance(golden, list) and isinstance(now, list) and len(golden) == len(now):
        return [settled(one, other, tolerance) for one, other in zip(golden, now, strict=True)]
    if isinstance(golden, float) and isinstance(now, float):
        # Numbers in 0..1 and around them: near zero the tolerance is absolute, a hundredth of the relative one.
        return golden if math.isclose(golden, now, rel_tol=tolerance, abs_tol=tolerance / 100) else now
    if isinstance(golden, str) and isinstance(now, str) and tolerance == TRAINED:
        return golden if _same_sentence(golden, now) else now
    return now


def _same_sentence(golden: str, now: str) -> bool:
    """Whether two texts have the same words, and printed numbers that differ by at most one in the last place."""
    if _NUMBER.sub("#", golden) != _NUMBER.sub("#", now):
        return False
    pairs = zip(_NUMBER.findall(golden), _NUMBER.findall(now), strict=True)
    return all(one == other or _off_by_one(one, other) for one, other in pairs)


def _off_by_one(one: str, other: str) -> bool:
    decimals = min(len(text.partition(".")[2]) for text in (one, other))
    apart = abs(float(one) - float(other))
    return decimals > 0 and apart <= max(1.01 * 10.0**-decimals, TRAINED * abs(float(one)))


def pretty(value: Any, indent: str = "") -> str:
    """JSON with keys in their order; what fits into a line stays in one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not isinstance(value, (dict, list)) or not value:
        return line
    inside = indent + " "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {pretty(inner, inside)}" for name, inner in value.items()]
    else:
        parts = [pretty(inner, inside) for inner in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n" + ",\n".join(inside + part for part in parts) + f"\n{indent}{last}"


class Page(HTMLParser):
    """What a page says, one line an element: its text, rows of tables, titles of bars; of drawings only their words."""

    _INLINE = ("small", "span", "td", "th", "i", "tspan", "br", "b")
    _SILENT = ("style", "script")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in self._INLINE:
            if tag in ("td", "th") and self.lines[-1] != "<tr>":
                self.lines[-1] += " |"
            return
        if tag in ("meta", "img"):
            kind = (given.get("src") or "").partition(",")[0]
            self.lines.append(f"<{tag} {kind}>" if tag == "img" else f"<{tag}>")
            return
        self._open.append(tag)
        if "svg" in self._open and tag not in ("svg", "text"):
            return
        named = f" {given['class']}" if given.get("class") else ""
        titled = f" {given['title']}" if given.get("title") else ""
        self.lines.append(f"<{tag}{named}{titled}>")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        words, inside = " ".join(data.split()), self._open[-1:]
        drawn = "svg" in self._open and inside != ["text"]  # who drew it, and when
        if words and inside and inside[0] not in self._SILENT and not drawn:
            self.lines[-1] += f" {words}"


def page_lines(text: str) -> list[str]:
    """A report's structure and text without the version that made it and the machine that trained."""
    lines = [re.sub(r"Made by votewise \S+\. ", "Made by votewise <version>. ", line) for line in Page(text).lines]
    return list(map(without_machine, lines))


def without_machine(line: str) -> str:
    """A line without the machine that trained."""
    return re.sub(r"(?<=, trained on ).*(?=\.$)", "<machine>", line)
