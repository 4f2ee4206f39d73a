"""What becomes of a table: read right, read right with the command of the message, refused, or wrong."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from votewise import InputError, Votes, read_votes

from .shapes import Shape, Truth


def as_truth(votes: Votes) -> Truth:
    """The votes by item and class, without zeros."""
    table = votes.probs if votes.counts is None else votes.counts
    return {
        str(item): {name: float(n) for name, n in zip(votes.classes, row, strict=True) if n}
        for item, row in zip(votes.item_ids, table.tolist(), strict=True)
    }


def same(one: Truth, other: Truth) -> bool:
    """Whether two truths agree; shares to three digits."""
    trimmed = [{k: {c: n for c, n in row.items() if n} for k, row in truth.items()} for truth in (one, other)]
    if trimmed[0].keys() != trimmed[1].keys():
        return False
    return all(
        row.keys() == trimmed[1][k].keys()
        and all(math.isclose(n, trimmed[1][k][c], abs_tol=2e-3) for c, n in row.items())
        for k, row in trimmed[0].items()
    )


def alike(one: Truth, other: Truth) -> bool:
    """Whether two truths group the same votes in the same way, whatever items and classes are called.

    Where two columns name the same thing (an id and a text, a class and its number) either may be used.
    """

    def numbered(truth: Truth) -> Truth:
        names = {c for row in truth.values() for c in row}
        try:
            plain = {c: f"{float(c):g}" for c in names}
        except ValueError:
            return truth
        return {i: {plain[c]: n for c, n in row.items()} for i, row in truth.items()}

    a, b = numbered(one), numbered(other)
    return same(a, b) or _rows(a) == _rows(b) or _shapes(a) == _shapes(b)


def _rows(truth: Truth) -> Counter[Any]:
    return Counter(tuple(sorted(row.items())) for row in truth.values())


def _shapes(truth: Truth) -> Counter[Any]:
    """Rows and columns without names."""
    columns: dict[str, list[float]] = defaultdict(list)
    for row in truth.values():
        for name, number in row.items():
            columns[name].append(number)
    rows = Counter(tuple(sorted(row.values())) for row in truth.values())
    return rows + Counter(tuple(sorted(column)) for column in columns.values())


def options_in(message: str) -> dict[str, Any] | None:
    """The options of the command in a message; None if it names none."""
    found = re.search(r"type: votewise inspect (.+)$", message, re.MULTILINE)
    if found is None:
        return None
    words = shlex.split(found.group(1))[1:]
    options: dict[str, Any] = {}
    while words:
        name = words.pop(0).removeprefix("--").replace("-", "_")
        if name == "no_header":
            options["header_rows"] = 0
            continue
        value: Any = words.pop(0)
        if name in ("classes", "gap"):
            value = [word.strip() for word in value.split(",")]
        if name in ("header_rows", "skip_rows"):
            value = int(value)
        if name == "label_bins":
            name = "bins"
            numbers = [float(word) for word in value.split(",")]
            value = numbers if len(numbers) > 1 else int(numbers[0])
        options[name] = value
    return options


def outcome(shape: Shape, folder: Path, *, by_grouping: bool = False) -> tuple[str, str]:
    """What becomes of a table, and why.

    "right", "right after one message", "refused" where nothing can be read, "refused without help", or "wrong".
    """
    agree = alike if by_grouping else same
    path = folder / shape.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(shape.content)
    truths = [truth for truth in (shape.truth, *shape.choices) if truth is not None]
    try:
        votes = read_votes(path)
    except InputError as error:
        message = str(error)
    else:
        right = any(agree(as_truth(votes), truth) for truth in truths)
        return ("right" if right else "wrong"), f"{votes.provenance}; {votes.notes}"
    options = options_in(message)
    if shape.truth is None:
        return "refused", message
    if options is None:
        return "refused without help", message
    try:
        votes = read_votes(path, **options)
    except InputError as error:
        return "refused without help", f"{message}\n--- then: {error}"
    right = any(agree(as_truth(votes), truth) for truth in truths)
    return (
        "right after one message" if right else "wrong after the message"
    ), f"{message}\n--- then {votes.provenance}"
