"""doccano: one line per document with its labels, or with the annotations of several users."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from votewise._checks import first_few
from votewise._errors import InputError
from votewise.votes.exports.answers import NOBODY, Answer, answers_frame, seconds, votes_of
from votewise.votes.exports.asked import Asked, class_of, item_of, name_of, objects, refuse_question
from votewise.votes.exports.trees import Tree
from votewise.votes.table import Votes

_TITLE = "doccano export"
_LABELS = ("label", "labels", "cats")
_CONTENT = ("text", "data", "filename")
_PEOPLE = ("annotator", "user", "username")


def fits(tree: Tree) -> bool:
    """Whether records are documents with a list of labels, or with annotations that each have a label."""
    return isinstance(tree, list) and any(
        any(name in record for name in _CONTENT) and (_has_labels(record) or _has_annotations(record))
        for record in tree
    )


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from the labels of documents; an export of each user has an annotator only where one was written in."""
    assert isinstance(tree, list)
    refuse_question(asked, f"a {_TITLE}")
    answers = [answer for record in tree for answer in _answers(record, asked)]
    return votes_of(answers_frame(answers), asked, _TITLE)


def _answers(record: dict[str, Any], asked: Asked) -> Iterator[Answer]:
    item = item_of(record, asked, ["id", "doc_id"], inside=["meta", "metadata"])
    yield Answer(item, why_not=NOBODY)
    if _has_annotations(record):
        for one in objects(record["annotations"], "a document's annotations"):
            yield _answer(item, one, [one.get("label")])
    elif labels := _labels(record):
        yield _answer(item, record, labels)


def _answer(item: str, record: dict[str, Any], labels: list[Any]) -> Answer:
    if any(isinstance(label, list) for label in labels) or "start_offset" in record:
        raise InputError(
            "labels must be of whole documents",
            f"document {item!r} has spans",
            "Export a project that classifies documents",
        )
    classes = tuple(class_of(label) for label in labels)
    if len(set(classes)) < len(classes):
        raise InputError(
            "a doccano export names each label of a document once",
            f"document {item!r} has {first_few(classes)}",
            "If these are the votes of several people, make a long table of them, one row per vote",
        )
    person = next((name for key in _PEOPLE if (name := name_of(record.get(key))) is not None), None)
    return Answer(item, person, classes, when=seconds(record.get("updated_at")))


def _labels(record: dict[str, Any]) -> list[Any] | None:
    found = [record[name] for name in _LABELS if isinstance(record.get(name), list)]
    return next((labels for labels in found if not any(isinstance(label, dict) for label in labels)), None)


def _has_labels(record: dict[str, Any]) -> bool:
    """Whether labels are names, as doccano has them, or spans; numbers would be somebody's counts or shares."""
    labels = _labels(record)
    return labels is not None and all(isinstance(label, (str, list)) for label in labels)


def _has_annotations(record: dict[str, Any]) -> bool:
    found = record.get("annotations")
    return isinstance(found, list) and any(
        isinstance(one, dict) and "label" in one and "result" not in one for one in found
    )
