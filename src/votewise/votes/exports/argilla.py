"""Argilla: responses of many users (2.x, and feedback data sets of 1.x), and 1.x with one annotation per record."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from votewise._errors import InputError
from votewise._json import parse_json
from votewise.votes.exports.answers import NOBODY, Answer, answers_frame, votes_of
from votewise.votes.exports.asked import Asked, choose_question, class_of, item_of, name_of, objects, refuse_question
from votewise.votes.exports.trees import Tree
from votewise.votes.sources import engine_errors
from votewise.votes.table import Votes

if TYPE_CHECKING:
    import polars as pl

_TITLE = "Argilla export"
_TITLE_1 = "Argilla 1 export"
_RESPONSES = ".responses"
_SUGGESTION = "-suggestion"  # beside each question of a feedback data set, in all but the first versions
_PARTS = ("value", "user_id", "status")
_IDS = ("id", "external_id", "_server_id")

# In data sets a status is a number of this list.
_STATUSES = ("draft", "submitted", "discarded")


def fits(tree: Tree) -> bool:
    """Whether records hold responses: flat ('label.responses'), nested ('responses': {'label': ...}) or as feedback."""
    return isinstance(tree, list) and any(
        fits_columns(list(record))
        or (isinstance(record.get("responses"), dict) and "fields" in record)
        or any(_is_feedback(value) for value in record.values())
        for record in tree
    )


def fits_columns(names: Sequence[str]) -> bool:
    """Whether columns hold responses."""
    return bool(_flat_questions(names))


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from the submitted responses to one question."""
    assert isinstance(tree, list)
    question = choose_question(asked, sorted({name for record in tree for name in _questions(record)}), _TITLE)
    answers = [answer for record in tree for answer in _answers(record, question, asked)]
    # Nested exports of some versions leave the status out, so that drafts cannot be told from answers.
    unknown = sum(status is None for record in tree for _, _, status in _responses(record, question))
    told = f", {unknown:,} responses without a status among them" if unknown else ""
    return votes_of(answers_frame(answers), asked, f"{_TITLE}, question {question!r}{told}")


def read_table(table: pl.LazyFrame, names: Sequence[str], asked: Asked) -> Votes:
    """Votes from a table whose cells hold lists: one row per record.

    Args:
        table: rows as a data set stores them.
        names: its columns.
        asked: how to read it.
    """
    question = choose_question(asked, _flat_questions(names), _TITLE)
    parts = {asked.item, *_IDS, question, f"{question}{_SUGGESTION}"}
    used = [name for name in names if name in parts or name.startswith(f"{question}{_RESPONSES}")]
    with engine_errors("the export"):
        records = table.select(used).collect().to_dicts()
    features = _features(asked.source)
    for column in (f"{question}{_RESPONSES}", f"{question}{_RESPONSES}.status"):
        words = _class_names(features.get(column))
        for record in records if words else ():
            record[column] = _word(record.get(column), words)
    return read(records, asked)


def fits_1(tree: Tree) -> bool:
    """Whether records are those of Argilla 1 for classes of texts."""
    return isinstance(tree, list) and any(fits_columns_1(list(record)) for record in tree)


def fits_columns_1(names: Sequence[str]) -> bool:
    """Whether columns are those of Argilla 1."""
    return {"annotation", "annotation_agent", "status"} <= set(names)


def read_1(tree: Tree, asked: Asked) -> Votes:
    """Votes from validated annotations: one per record, by its annotation agent."""
    assert isinstance(tree, list)
    refuse_question(asked, f"an {_TITLE_1}")
    return votes_of(
        answers_frame(_answer_1(record, asked) for record in tree), asked, f"{_TITLE_1}, one vote per record"
    )


def read_table_1(table: pl.LazyFrame, names: Sequence[str], asked: Asked) -> Votes:
    """Votes from a table of Argilla 1."""
    used = [name for name in names if name in ("id", "annotation", "annotation_agent", "status", asked.item)]
    with engine_errors("the export"):
        records = table.select(used).collect().to_dicts()
    return read_1(records, asked)


def _flat_questions(names: Sequence[str]) -> list[str]:
    """Questions whose responses are columns of their own."""
    flat = [name.removesuffix(_RESPONSES) for name in names if name.endswith(_RESPONSES)]
    known = set(names)
    return [*flat, *(name for name in names if f"{name}{_SUGGESTION}" in known)]


def _questions(record: dict[str, Any]) -> list[str]:
    nested = record.get("responses")
    feedback = [name for name, value in record.items() if _is_feedback(value)]
    return [*_flat_questions(list(record)), *(nested if isinstance(nested, dict) else ()), *feedback]


def _is_feedback(value: Any) -> bool:
    """Whether a field holds responses, as a list of objects or, as data sets store it, an object of lists."""
    found = value if isinstance(value, list) else [value]
    return bool(found) and all(isinstance(one, dict) and one.keys() >= set(_PARTS) for one in found)


def _answers(record: dict[str, Any], question: str, asked: Asked) -> Iterator[Answer]:
    item = item_of(record, asked, _IDS, inside=["fields", "metadata"])
    yield Answer(item, why_not=NOBODY)
    for value, user, status in _responses(record, question):
        word = _STATUSES[status] if isinstance(status, int) and 0 <= status < len(_STATUSES) else status
        why_not = None if word in ("submitted", None) else str(word)
        yield Answer(item, name_of(user), () if why_not else _classes(value), why_not)


def _responses(record: dict[str, Any], question: str) -> Iterator[tuple[Any, Any, Any]]:
    """Value, user and status of each response."""
    values, *others = _parts(record, question)
    number = len(values) if isinstance(values, list) else 0
    lists = [[None] * number if part is None else part for part in (values, *others)]
    if not all(isinstance(part, list) and len(part) == number for part in lists):
        raise InputError(
            "responses, their users and their status must be lists of the same length",
            f"a record has different ones for {question!r}",
            "Export the records again",
        )
    yield from zip(*lists, strict=True)


def _parts(record: dict[str, Any], question: str) -> list[Any]:
    """Values, users and status, one list each."""
    if f"{question}{_RESPONSES}" in record:
        return [record.get(f"{question}{_RESPONSES}{part}") for part in ("", ".users", ".status")]
    nested = record.get("responses")
    whole = nested.get(question) if isinstance(nested, dict) else record.get(question)
    if isinstance(whole, dict):
        return [whole.get(part) for part in _PARTS]
    responses = objects(whole, "the responses to a question")
    return [[response.get(part) for response in responses] for part in _PARTS]


def _classes(value: Any) -> tuple[str, ...]:
    """The classes of a response; rankings and spans have none."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    if any(isinstance(one, (dict, list)) for one in values):
        raise InputError(
            "a response must name classes", "one holds a ranking or spans", "Pass another question= (--question)"
        )
    return tuple(class_of(one) for one in values)


def _answer_1(record: dict[str, Any], asked: Asked) -> Answer:
    item = item_of(record, asked, ["id"], inside=["inputs", "metadata"])
    status = str(record.get("status")).lower()
    annotator = name_of(record.get("annotation_agent"))
    if status != "validated":
        return Answer(item, annotator, why_not=NOBODY if status == "default" else status)
    return Answer(item, annotator, _classes(record.get("annotation")))


def _features(source: Any) -> dict[str, Any]:
    """What a data set says of its columns, in the metadata of its Parquet file or Arrow table."""
    from pyarrow import parquet  # type: ignore[import-untyped]

    schema = None
    if isinstance(source, (str, os.PathLike)) and str(source).lower().endswith(".parquet"):
        with engine_errors(f"the file {str(source)!r}"):
            schema = parquet.read_schema(source)
    elif type(source).__module__.startswith("pyarrow"):
        schema = source.schema
    told = (getattr(schema, "metadata", None) or {}).get(b"huggingface", b"{}")
    try:
        features = parse_json(told)["info"]["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return features if isinstance(features, dict) else {}


def _class_names(feature: Any) -> list[str]:
    """Names of the classes whose numbers a column of a data set holds; none if it holds no numbers of classes."""
    while isinstance(feature, (dict, list)) and feature:
        if isinstance(feature, dict) and feature.get("_type") == "ClassLabel":
            return [str(name) for name in feature.get("names") or ()]
        feature = feature[0] if isinstance(feature, list) else feature.get("feature")
    return []


def _word(value: Any, words: list[str]) -> Any:
    """The names of classes in place of their numbers."""
    if isinstance(value, list):
        return [_word(one, words) for one in value]
    return words[value] if isinstance(value, int) and 0 <= value < len(words) else value
