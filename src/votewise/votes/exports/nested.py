"""Records that hold a list of votes each, as research corpora and labelling services write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from votewise._json import parse_json
from votewise.votes.columns import known, says
from votewise.votes.exports.answers import NOBODY, Answer, answers_frame, votes_of
from votewise.votes.exports.asked import Asked, choose_question, item_of, name_of, refuse_question
from votewise.votes.exports.trees import Tree
from votewise.votes.profile import split_of_objects
from votewise.votes.table import Votes

_TITLE = "file of records with lists of votes"


def fits(tree: Tree) -> bool:
    """Whether each record has one list of objects that name an annotator."""
    records = _records(tree)
    return all(_list(record) is not None for _, record in records) and any(_votes(record) for _, record in records)


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from those objects; the question is the field with the answers."""
    records = _records(tree)
    fields = {name for _, record in records for vote in _votes(record) for name in _answers(vote)}
    labels = known("label", sorted(fields))
    question = choose_question(asked, sorted(fields), _TITLE) if asked.question or len(labels) != 1 else labels[0]
    answers = [answer for key, record in records for answer in _read_record(key, record, question, asked)]
    return votes_of(answers_frame(answers), asked, f"{_TITLE}, question {question!r}")


def fits_keyed(tree: Tree) -> bool:
    """Whether an object holds, by item, what each annotator said, in words: numbers may be how often, too."""
    return (
        isinstance(tree, dict)
        and split_of_objects(list(tree.values())) == "people"
        and any(isinstance(value, str) for said in tree.values() for value in said.values())
    )


def read_keyed(tree: Tree, asked: Asked) -> Votes:
    """Votes of such an object."""
    assert isinstance(tree, dict)
    refuse_question(asked, "an object of items")
    answers = [Answer(item, why_not=NOBODY) for item in tree]
    answers += [
        Answer(item, person, () if name_of(value) is None else (str(value),))
        for item, said in tree.items()
        for person, value in said.items()
    ]
    return votes_of(answers_frame(answers), asked, "file of items with what each annotator said")


def _records(tree: Tree) -> list[tuple[str | None, dict[str, Any]]]:
    return list(tree.items()) if isinstance(tree, dict) else [(None, record) for record in tree]


def _list(record: dict[str, Any]) -> str | None:
    """The field with the votes."""
    found = [
        name
        for name, value in record.items()
        if isinstance(value, list) and value and all(isinstance(one, dict) and _person(one) for one in value)
    ]
    return found[0] if len(found) == 1 else None


def _votes(record: dict[str, Any]) -> list[dict[str, Any]]:
    name = _list(record)
    return [] if name is None else record[name]


def _person(vote: dict[str, Any]) -> str | None:
    names = list(vote)
    found = known("annotator", names) or [name for name in names if says("annotator", name)]
    return found[0] if len(found) == 1 else None


def _answers(vote: dict[str, Any]) -> dict[str, str]:
    """The answers in an object by their field; JSON within text is opened."""
    return dict(_leaves("", {name: value for name, value in vote.items() if name != _person(vote)}))


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = parse_json(value)
        except ValueError:
            return
    if isinstance(value, dict):
        for name, inner in value.items():
            # One of several fields that is true names the class.
            if inner is True and path:
                yield path, name
            else:
                yield from _leaves(path if name in ("label", "content", "annotationData") and path else name, inner)
    elif (name := name_of(value)) is not None and not isinstance(value, bool):
        yield path, name


def _read_record(key: str | None, record: dict[str, Any], question: str, asked: Asked) -> Iterator[Answer]:
    usual = known("item", list(record)) or [name for name in record if says("item", name)]
    item = key if key is not None and asked.item is None else item_of(record, asked, usual or ["id"])
    yield Answer(item, why_not=NOBODY)
    for vote in _votes(record):
        answer = _answers(vote).get(question)
        yield Answer(item, name_of(vote.get(_person(vote) or "")), () if answer is None else (answer,))
