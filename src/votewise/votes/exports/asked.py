"""What a caller asks of an export, and the errors that all exports share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from votewise._checks import check_choice, first_few
from votewise._errors import InputError
from votewise.votes.tally import RuleError, Rules

_UNEDITED = "Check that the file is a whole, unedited export, or name another format with format= (--format)"


@dataclass(frozen=True)
class Asked:
    """How an export is to be read; see `read_votes`.

    Attributes:
        question: the one of several questions whose answers are votes.
        item: the field that names items, instead of the tool's own number.
        several: an answer that names several classes: "error", "drop" or "each".
        rules: the class list; duplicates is "error", "last" or "all"; empty is "error" or "drop".
        source: where the export is, as the caller named it.
    """

    question: str | None
    item: str | None
    several: str
    rules: Rules
    source: Any


def choose_question(asked: Asked, found: Sequence[str], title: str) -> str:
    """The question asked for, or the only one there is; never a guess among several."""
    if asked.question is not None and found:
        return check_choice(f"the question of this {title}", asked.question, found)
    if not found:
        raise InputError(
            "one question must be the one whose answers are votes",
            f"this {title} has none",
            "Export answers that are classes of whole items",
        )
    if len(found) > 1:
        raise RuleError(
            "one question must be the one whose answers are votes",
            f"this {title} has {len(found)} that may be ({first_few(found)})",
            "Choose one with question= (--question)",
            question=found[0],
        )
    return found[0]


def refuse_question(asked: Asked, title: str) -> None:
    """Refuse the name of a question where there is only one question, without a name."""
    if asked.question is not None:
        raise InputError(f"{title} has one question, without a name", f"got {asked.question!r}", "Leave question out")


def item_of(record: dict[str, Any], asked: Asked, usual: Sequence[str], inside: Sequence[str] = ()) -> str:
    """The name of a record's item.

    Args:
        record: one record, unchanged since the tool wrote it.
        asked: may say which field it is.
        usual: fields that hold it otherwise; the first that is there counts.
        inside: fields that hold the users' own fields, where the one asked for is looked up too.
    """
    fields = usual if asked.item is None else [asked.item]
    places = [record] if asked.item is None else [record, *(record[name] for name in inside if name in record)]
    for place in places:
        for field in fields:
            if isinstance(place, dict) and (name := name_of(place.get(field))) is not None:
                return name
    raise InputError(
        "every record needs the id of its item",
        f"one has none in {first_few(fields)} (its fields are {first_few(record)})",
        "Name the field with item= (--item)",
    )


def item_column(names: Sequence[str], asked: Asked, usual: str) -> str:
    """The column of a table that names items: the one asked for, or the usual one."""
    item = asked.item or usual
    if item not in names:
        raise InputError(
            "an export needs the id of each item",
            f"there is no column {item!r} among {first_few(names)}",
            "Name the column with item= (--item)",
        )
    return item


def name_of(value: Any) -> str | None:
    """A text or number as text; None if it is empty or not a name."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else None


def class_of(value: Any) -> str:
    """A class as text, or an error where a tool wrote something nested or nothing."""
    name = name_of(value)
    if name is None:
        raise InputError("a class must be text or a number", f"got {describe(value)}", _UNEDITED)
    return name


def objects(value: Any, what: str) -> list[dict[str, Any]]:
    """A list of JSON objects; null counts as an empty list."""
    found = [] if value is None else value
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError(f"{what} must be a list of objects", f"got {describe(value)}", _UNEDITED)
    return found


def describe(value: Any) -> str:
    """A JSON value in a few words."""
    if isinstance(value, str) and not value.strip():
        return "empty text"
    kinds = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")
