"""JSON files, read with suspicion: whatever is wrong with one is reported in a sentence."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from votewise._errors import InputError, VotewiseError
from votewise._json import NestedError, parse_json
from votewise.votes.exports.asked import describe
from votewise.votes.sources import check_file

# The objects of a list, of lines, or of one object by their names.
Tree = list[dict[str, Any]] | dict[str, dict[str, Any]]

# Lines examined to tell an export from a table.
_SAMPLE = 100


def load_tree(path: Path) -> Tree:
    """All of a .json or .jsonl file."""
    check_file(path)
    return parse_tree(path.read_bytes(), f"the file {str(path)!r}", lines=path.suffix.lower() == ".jsonl")


def parse_tree(content: bytes, what: str, *, lines: bool = False) -> Tree:
    """All of a .json or .jsonl file, from its bytes.

    Args:
        content: the bytes.
        what: what they are, for errors.
        lines: whether each line is an object of its own.
    """
    text = decode(content, what)
    if lines:
        return _check_tree([_parse(line, f"{what}, line {row},") for row, line in _lines(text.split("\n"))], what)
    return _check_tree(_parse(text, what), what)


def load_object(path: Path) -> dict[str, Any]:
    """The one object of a .json file."""
    what = f"the file {str(path)!r}"
    found = _parse(decode(path.read_bytes(), what), what)
    if not isinstance(found, dict):
        raise InputError(f"{what} must hold an object", f"got {describe(found)}", "Fix it, or put it elsewhere")
    return found


def sample_tree(path: Path) -> Tree:
    """The first objects of a .jsonl file; none if it holds anything else, which is reported elsewhere."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            first = itertools.islice(_lines(file), _SAMPLE)
            return _check_tree([_parse(line, "a line") for _, line in first], "the file")
    except (OSError, UnicodeDecodeError, VotewiseError):
        return []


def _lines(lines: Iterable[str]) -> Iterable[tuple[int, str]]:
    """Lines that are not blank, with their numbers."""
    return ((row, line) for row, line in enumerate(lines, start=1) if line.strip())


def decode(content: bytes, what: str) -> str:
    """The text of a file, which must be UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        kind = "UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "something else"
        raise InputError(f"{what} must be UTF-8", f"it is {kind}", "Save it as UTF-8") from None


def _parse(text: str, what: str) -> Any:
    remedy = "Check that it is whole; one object per line belongs in a .jsonl file"
    if not text.strip():
        raise InputError(f"{what} must be JSON", "it is empty", remedy)
    try:
        return parse_json(text, object_pairs_hook=partial(_object, what), parse_constant=partial(_refuse, what))
    except VotewiseError:
        raise
    except NestedError as error:
        raise InputError(f"{what} must be JSON nested to a reasonable depth", str(error), "Check the file") from None
    except ValueError as error:  # too many digits are one, too
        reason = str(error).partition(";")[0]
        raise InputError(f"{what} must be JSON", f"reading it failed: {reason}", remedy) from None


def _object(what: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a key that appears twice, JSON readers would silently keep the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise InputError(f"{what} must name each key of an object once", f"{twice!r} appears twice", "Fix it")
    return found


def _refuse(what: str, constant: str) -> Any:
    raise InputError(f"{what} must be JSON", f"it holds {constant}, which is not JSON", "Write null instead")


def _check_tree(root: Any, what: str) -> Tree:
    # One task of Label Studio is an object with fields of every kind.
    if isinstance(root, dict) and isinstance(root.get("annotations"), list):
        return [root]
    children = list(root.values()) if isinstance(root, dict) else root if isinstance(root, list) else None
    if children and all(isinstance(child, dict) for child in children):
        return root
    got = describe(root)
    if children is not None:
        odd = next((child for child in children if not isinstance(child, dict)), None)
        got += f" of {describe(odd)}" if children else " without any"
    raise InputError(
        f"{what} must hold objects, in a list or by name",
        f"got {got}",
        "Export the answers of an annotation tool, or make a long table (.csv, .jsonl) of them",
    )
