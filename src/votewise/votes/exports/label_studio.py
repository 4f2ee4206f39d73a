"""Label Studio: JSON with every annotation; JSON-MIN, CSV and TSV with one row per annotation."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from votewise._checks import first_few
from votewise._errors import InputError
from votewise._json import parse_json
from votewise.votes.bounds import check_places
from votewise.votes.exports.answers import NOBODY, Answer, answers_frame, seconds, votes_of
from votewise.votes.exports.asked import (
    Asked,
    choose_question,
    class_of,
    describe,
    item_column,
    item_of,
    name_of,
    objects,
)
from votewise.votes.exports.trees import Tree
from votewise.votes.sources import engine_errors
from votewise.votes.table import Votes
from votewise.votes.tally import as_text

if TYPE_CHECKING:
    import polars as pl

# The bytes of a name and a value, of which each has a comma and a colon beside it.
_LEAST_FIELD = 6

_TITLE = "Label Studio export"

# What a result's value calls the classes, by the kind of question.
_KINDS = ("choices", "rating", "taxonomy", "selected")

# A result with one of these is about a region of the item, not about the item.
_REGION = frozenset({"x", "start", "points", "rle", "vertices", "sequence", "ranges"})

# Columns of the short exports that hold neither the task's data nor answers.
_OWN = frozenset(
    ["id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "annotation_history"]
)


def fits(tree: Tree) -> bool:
    """Whether tasks hold annotations with results."""
    return isinstance(tree, list) and any(
        isinstance(one, dict) and "result" in one for task in tree for one in _annotations_or_none(task)
    )


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from the JSON export: one vote per annotation."""
    assert isinstance(tree, list)
    question = choose_question(asked, _questions(tree), _TITLE)
    answers = [answer for task in tree for answer in _answers(task, question, asked)]
    return votes_of(answers_frame(answers), asked, f"{_TITLE}, question {question!r}")


def fits_short(names: Sequence[str]) -> bool:
    """Whether columns are those of JSON-MIN, CSV or TSV."""
    return {"annotator", "annotation_id", "lead_time"} <= set(names)


def fits_short_tree(tree: Tree) -> bool:
    """Whether a tree is JSON-MIN."""
    return isinstance(tree, list) and any(fits_short(list(record)) for record in tree)


def read_short_tree(tree: Tree, asked: Asked) -> Votes:
    """Votes from JSON-MIN, as from the table that CSV has."""
    import polars as pl

    assert isinstance(tree, list)
    names = list(dict.fromkeys(name for record in tree for name in record))
    check_places(len(tree), len(names), _LEAST_FIELD * sum(map(len, tree)))
    columns = {name: [_cell(record.get(name)) for record in tree] for name in names}
    with engine_errors("the export"):
        table = pl.DataFrame(columns, schema=dict.fromkeys(names, pl.String)).lazy()
    return read_short(table, names, asked)


def read_short(table: pl.LazyFrame, names: Sequence[str], asked: Asked) -> Votes:
    """Votes from CSV or TSV: one vote per row.

    Args:
        table: one row per annotation.
        names: its columns.
        asked: how to read it.
    """
    import polars as pl

    item = item_column(names, asked, "id")
    with engine_errors("the export"):
        frame = table.collect()
        question = _question(frame, item, [name for name in names if name not in _OWN and name != item], asked)
        answers = pl.DataFrame(
            {
                "item": as_text(frame[item], "item"),
                "annotator": as_text(frame["annotator"], "annotator"),
                "classes": _classes_of_cells(as_text(frame[question], "label")),
                "when": _times(frame),
                "number": as_text(frame["annotation_id"], "annotation"),
            }
        ).with_columns(why_not=pl.lit(None, pl.String))
    return votes_of(answers, asked, f"{_TITLE} (one row per annotation), question {question!r}")


def _annotations_or_none(task: dict[str, Any]) -> list[Any]:
    """A task's annotations, called completions by old versions."""
    found = task.get("annotations", task.get("completions"))
    return found if isinstance(found, list) else []


def _annotations(task: dict[str, Any]) -> list[dict[str, Any]]:
    return objects(task.get("annotations", task.get("completions")), "a task's annotations")


def _questions(tasks: list[dict[str, Any]]) -> list[str]:
    """Names of the questions whose answers are classes of whole items."""
    return sorted(
        {
            str(result.get("from_name"))
            for task in tasks
            for annotation in _annotations(task)
            for result in _results(annotation)
        }
    )


def _results(annotation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The results that name classes of the whole item."""
    for result in objects(annotation.get("result"), "an annotation's result"):
        value = result.get("value")
        if isinstance(value, dict) and not _REGION & value.keys() and any(kind in value for kind in _KINDS):
            yield result


def _answers(task: dict[str, Any], question: str, asked: Asked) -> Iterator[Answer]:
    """The answers to a task; drafts are noted, and predictions of models ignored."""
    item = item_of(task, asked, ["id"], inside=["data", "meta"])
    yield Answer(item, why_not=NOBODY)
    drafts = task.get("drafts")  # objects, or only their ids
    yield from [Answer(item, why_not="draft")] * (len(drafts) if isinstance(drafts, list) else 0)
    for annotation in _annotations(task):
        classes = [
            name
            for result in _results(annotation)
            if str(result.get("from_name")) == question
            for name in _classes(result["value"])
        ]
        is_cancelled = annotation.get("was_cancelled") or annotation.get("skipped")
        yield Answer(
            item,
            _person(annotation.get("completed_by")),
            tuple(classes),
            "cancelled" if is_cancelled else None,
            seconds(annotation.get("updated_at")) or seconds(annotation.get("created_at")),
            name_of(annotation.get("id")),
        )


def _person(value: Any) -> str | None:
    """The annotator by number, which every kind of export has; by e-mail address only without one."""
    if isinstance(value, dict):
        return name_of(value.get("id")) or name_of(value.get("email"))
    return name_of(value)


def _classes(value: dict[str, Any]) -> list[str]:
    """The classes in the value of a result."""
    kind = next((kind for kind in _KINDS if kind in value), None)
    found = value[kind] if kind is not None else None
    if kind == "taxonomy" and isinstance(found, list):
        return [" > ".join(map(class_of, path if isinstance(path, list) else [path])) for path in found]
    return [class_of(one) for one in (found if isinstance(found, list) else [found])]


def _cell(value: Any) -> str | None:
    """A value of JSON-MIN as CSV writes it."""
    return value if isinstance(value, str) or value is None else json.dumps(value)


def _classes_of_cells(cells: pl.Series) -> pl.Series:
    """The classes in each cell, of which few differ."""
    import polars as pl

    distinct = cells.unique(maintain_order=True)
    classes = [_classes_of_cell(cell) for cell in distinct.to_list()]
    meaning = pl.DataFrame({"cell": distinct, "classes": pl.Series(classes, dtype=pl.List(pl.String))})
    return cells.to_frame("cell").join(meaning, on="cell", how="left", maintain_order="left", nulls_equal=True)[
        "classes"
    ]


def _classes_of_cell(cell: str | None) -> list[str]:
    """The classes in a cell: one as it is, several and other kinds as JSON."""
    if cell is None or not cell.strip():
        return []
    if not cell.lstrip().startswith(("[", "{")):
        return [cell]
    try:
        found = parse_json(cell)
    except (ValueError, RecursionError):
        return [cell]
    values = found if isinstance(found, list) else [found]
    if any(isinstance(value, dict) and not any(kind in value for kind in _KINDS) for value in values):
        raise InputError(
            "an answer must name a class",
            f"got {describe(found)} without {first_few(_KINDS)}",
            "Name the column that holds classes with question= (--question)",
        )
    return [name for value in values for name in (_classes(value) if isinstance(value, dict) else [class_of(value)])]


def _question(frame: pl.DataFrame, item: str, names: list[str], asked: Asked) -> str:
    """The column of answers: the one asked for, or the only one that may be.

    Data belong to the task: they never differ between its rows, and usually differ between tasks.
    """
    if asked.question is not None:
        return choose_question(asked, names, _TITLE)
    tasks = frame[item].n_unique()
    differing = [name for name in names if frame.select(item, name).n_unique() > tasks]
    if not differing:
        raise InputError(
            "one column must be the one whose answers are votes",
            f"none of {first_few(names)} differs between answers to a task, so that answers look like data",
            "Choose one with question= (--question)",
        )
    found = [name for name in names if name in differing or frame[name].drop_nulls().n_unique() < tasks]
    return choose_question(asked, found, _TITLE)


def _times(frame: pl.DataFrame) -> pl.Series:
    """When each row was written, in seconds; null where it does not say."""
    import polars as pl

    none = pl.Series("when", [None] * frame.height, dtype=pl.Float64)
    for name in ("updated_at", "created_at"):
        if name in frame.columns and frame[name].dtype == pl.String:
            moments = frame[name].str.to_datetime("%+", strict=False, time_unit="us", time_zone="UTC")
            none = none.fill_null(moments.dt.timestamp("us") / 1e6)
    return none
