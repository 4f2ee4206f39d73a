"""Prodigy: one line per answer, to a choice of options or to the question whether a label fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from votewise._errors import InputError
from votewise.votes.exports.answers import Answer, answers_frame, seconds, votes_of
from votewise.votes.exports.asked import Asked, choose_question, class_of, item_of, name_of, refuse_question
from votewise.votes.exports.trees import Tree
from votewise.votes.table import Votes

_TITLE = "Prodigy export"
_ANSWERS = ("accept", "reject", "ignore")
_MARKS = ("_input_hash", "_task_hash", "_session_id", "_annotator_id", "_view_id")


def fits(tree: Tree) -> bool:
    """Whether records are answers of Prodigy."""
    return isinstance(tree, list) and any(
        record.get("answer") in _ANSWERS and any(mark in record for mark in _MARKS) for record in tree
    )


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from a choice, from yes or no to one label, or from plain yes and no.

    A rejected label is a vote for "not" that label: the annotator answered the question, and the answer was no. A
    rejected choice is no vote, since it names no option; nor is what was ignored.
    """
    assert isinstance(tree, list)
    if any("accept" in record or "options" in record for record in tree):
        refuse_question(asked, f"a choice in a {_TITLE}")
        answers, kind = [_choice(record, asked) for record in tree], "choices"
    elif labels := sorted({name for record in tree if (name := name_of(record.get("label"))) is not None}):
        label = choose_question(asked, labels, _TITLE)
        fitting = [record for record in tree if name_of(record.get("label")) in (label, None)]
        answers, kind = [_fit(record, asked, label) for record in fitting], f"question {label!r}"
    else:
        _refuse_spans(tree)
        refuse_question(asked, f"yes and no in a {_TITLE}")
        answers, kind = [_yes_or_no(record, asked, "accept", "reject") for record in tree], "accept or reject"
    return votes_of(answers_frame(answers), asked, f"{_TITLE}, {kind}")


def _choice(record: dict[str, Any], asked: Asked) -> Answer:
    found = record.get("accept")
    named = found if isinstance(found, list) else [] if found is None else [found]
    why_not = {"reject": "rejected", "ignore": "ignored"}.get(_answer(record))
    return _given(record, asked, [] if why_not else [class_of(one) for one in named], why_not)


def _fit(record: dict[str, Any], asked: Asked, label: str) -> Answer:
    if name_of(record.get("label")) is None:
        return _given(record, asked, [], "unlabelled")
    return _yes_or_no(record, asked, label, f"not {label}")


def _yes_or_no(record: dict[str, Any], asked: Asked, yes: str, no: str) -> Answer:
    answer = _answer(record)
    return _given(record, asked, [yes if answer == "accept" else no], "ignored" if answer == "ignore" else None)


def _given(record: dict[str, Any], asked: Asked, classes: Sequence[str], why_not: str | None) -> Answer:
    item = item_of(record, asked, ["_input_hash", "id"], inside=["meta"])
    annotator = name_of(record.get("_annotator_id")) or name_of(record.get("_session_id"))
    return Answer(item, annotator, tuple(classes), why_not, seconds(record.get("_timestamp")))


def _answer(record: dict[str, Any]) -> str:
    answer = record.get("answer")
    if answer not in _ANSWERS:
        raise InputError(
            "an answer of Prodigy must be accept, reject or ignore",
            f"a record has {answer!r}",
            "Check that the file comes from db-out",
        )
    return str(answer)


def _refuse_spans(records: list[dict[str, Any]]) -> None:
    if any(name in record for record in records for name in ("spans", "relations", "audio_spans")):
        raise InputError(
            "answers must name classes of whole items",
            "these mark spans",
            "Export answers to a choice, or to whether a label fits",
        )
