"""Zooniverse: one row per classification, the answers to all tasks as JSON in one cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from votewise._errors import InputError
from votewise._json import parse_json
from votewise.votes.exports.answers import Answer, answers_frame, seconds, votes_of
from votewise.votes.exports.asked import Asked, choose_question, class_of, describe, item_column
from votewise.votes.sources import engine_errors
from votewise.votes.table import Votes
from votewise.votes.tally import as_text

if TYPE_CHECKING:
    import polars as pl

_TITLE = "Zooniverse export"


def fits_columns(names: Sequence[str]) -> bool:
    """Whether columns are those of a classification export."""
    return {"classification_id", "user_name", "annotations", "subject_ids"} <= set(names)


def read_table(table: pl.LazyFrame, names: Sequence[str], asked: Asked) -> Votes:
    """Votes from the answers to one task.

    Args:
        table: one row per classification.
        names: its columns.
        asked: how to read it.
    """
    item = item_column(names, asked, "subject_ids")
    used = [item, "user_name", "annotations", "classification_id"]
    used += ["created_at"] if "created_at" in names else []
    with engine_errors("the export"):
        frame = table.select(list(dict.fromkeys(used))).collect()
        columns = {name: as_text(frame[name], "item").to_list() for name in frame.columns}
    tasks = [_tasks(cell) for cell in columns["annotations"]]
    question = choose_question(asked, sorted({name for one in tasks for name in one}), _TITLE)
    return votes_of(answers_frame(_answers(columns, item, tasks, question)), asked, f"{_TITLE}, question {question!r}")


def _tasks(cell: str | None) -> dict[str, Any]:
    """The value of each task in a cell; drawings and transcriptions are none of ours."""
    try:
        found = parse_json(cell or "[]")
    except ValueError as error:
        raise InputError(
            "annotations of Zooniverse must be JSON", f"reading a cell failed: {error}", "Export the file again"
        ) from None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError("annotations of Zooniverse must be lists of tasks", f"got {describe(found)}", "Export again")
    return {str(one.get("task")): one.get("value") for one in found if _is_choice(one.get("value"))}


def _is_choice(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(one is None or isinstance(one, (str, int, float)) for one in values)


def _answers(
    columns: dict[str, list[str | None]], item: str, tasks: list[dict[str, Any]], question: str
) -> Iterator[Answer]:
    times = columns.get("created_at", [None] * len(tasks))
    rows = zip(columns[item], columns["user_name"], columns["classification_id"], times, tasks, strict=True)
    for name, person, number, moment, answered in rows:
        if name is None:
            raise InputError("every classification needs a subject", "one has none", "Export the file again")
        value = answered.get(question)
        values = value if isinstance(value, list) else [] if value is None else [value]
        when = None if moment is None else seconds(moment.replace(" UTC", "+00:00"))
        yield Answer(name, person, tuple(class_of(one) for one in values), None, when, number)
