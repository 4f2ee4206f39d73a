"""LeWiDi, the shared tasks on learning with disagreements: 2023 (comma-joined) and 2025 (by annotator)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from votewise._errors import InputError
from votewise.votes.exports.answers import NOBODY, Answer, answers_frame, votes_of
from votewise.votes.exports.asked import Asked, choose_question, class_of, describe
from votewise.votes.exports.trees import Tree
from votewise.votes.table import Votes

_TITLE = "LeWiDi file"


def fits(tree: Tree) -> bool:
    """Whether an object of items holds annotations beside annotators or a soft label."""
    return isinstance(tree, dict) and any(
        "annotations" in item and ("annotators" in item or "soft_label" in item) for item in tree.values()
    )


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from the annotations themselves; soft labels are rounded, and sometimes merge classes."""
    assert isinstance(tree, dict)
    if asked.item is not None:
        raise InputError(f"a {_TITLE} names items by key", f"got {asked.item!r}", "Leave item out")
    main = sorted({str(item.get("annotation task", "annotations")) for item in tree.values()})
    others = sorted({name for item in tree.values() for name in _others(item)})
    question = (
        main[0] if asked.question is None and len(main) == 1 else choose_question(asked, [*main, *others], _TITLE)
    )
    answers = [answer for name, item in tree.items() for answer in _answers(name, item, question)]
    return votes_of(answers_frame(answers), asked, f"{_TITLE}, question {question!r}")


def _others(item: dict[str, Any]) -> dict[str, Any]:
    """Further questions to the same annotators, by name."""
    info = item.get("other_info")
    found = (info.get("other annotations") or info.get("other_annotations")) if isinstance(info, dict) else None
    return found if isinstance(found, dict) else {}


def _answers(name: str, item: dict[str, Any], question: str) -> Iterator[Answer]:
    yield Answer(name, why_not=NOBODY)
    found = _others(item).get(question)
    if found is None and str(item.get("annotation task", "annotations")) == question:
        found = item.get("annotations")
    if isinstance(found, dict):
        for person, value in found.items():
            yield Answer(name, person, _classes(value))
    elif found is not None:
        for person, value in zip(*joined_annotations(name, item, found), strict=True):
            yield Answer(name, person, (value,) if value else ())


def joined_annotations(name: str, item: dict[str, Any], annotations: Any) -> tuple[list[str], list[str]]:
    """Annotators and their annotations, both joined by commas, in one order."""
    if not isinstance(annotations, str) or not isinstance(item.get("annotators"), str):
        raise InputError(
            "annotations and annotators must be text, joined by commas",
            f"item {name!r} has {describe(annotations)} and {describe(item.get('annotators'))}",
            "Use the files as released",
        )
    labels = [label.strip() for label in annotations.split(",")]
    people = [person.strip() for person in item["annotators"].split(",")]
    if labels == [""]:  # the labels of a test set are held back
        return [], []
    if len(labels) != len(people):
        raise InputError(
            "there must be as many annotations as annotators",
            f"item {name!r} has {len(labels)} and {len(people)}",
            "Use the files as released",
        )
    return people, labels


def _classes(value: Any) -> tuple[str, ...]:
    """What an annotator of 2025 said: a number or text, several of them in a list or joined by commas."""
    values = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else [value]
    return tuple(class_of(one) for one in values if one is not None and str(one).strip())
