"""peerannot: answers.json, an object of items, each with the label of each worker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from votewise._checks import check_class_names
from votewise._errors import InputError
from votewise.votes.exports.answers import NOBODY, Answer, answers_frame, votes_of
from votewise.votes.exports.asked import Asked, name_of, refuse_question
from votewise.votes.exports.trees import Tree, load_object
from votewise.votes.table import Votes

_TITLE = "peerannot answers"


def fits(tree: Tree) -> bool:
    """Whether an object of items holds nothing but whole numbers; in a file of another name they may be counts."""
    return isinstance(tree, dict) and all(type(label) is int for item in tree.values() for label in item.values())


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from the labels; metadata.json beside them, if it is peerannot's, names the classes."""
    assert isinstance(tree, dict)
    refuse_question(asked, _TITLE)
    if asked.item is not None:
        raise InputError(f"{_TITLE} name items by key", f"got {asked.item!r}", "Leave item out")
    names, told = _class_names(asked)
    answers = [
        Answer(item, worker, _class(label, names), "unanswered" if label == -1 else None)
        for item, labels in tree.items()
        for worker, label in labels.items()
    ]
    answers += [Answer(item, why_not=NOBODY) for item in tree]
    classes = asked.rules.classes or names
    asked = replace(asked, rules=replace(asked.rules, classes=classes))
    return votes_of(answers_frame(answers), asked, f"{_TITLE}{told}")


def _class_names(asked: Asked) -> tuple[tuple[str, ...] | None, str]:
    """The names of classes 0, 1, ... that metadata.json gives, or their numbers if it says only how many there are."""
    path = Path(asked.source).with_name("metadata.json")
    if asked.rules.classes is not None or not path.is_file():
        return None, ""
    metadata = load_object(path)
    for key in ("class_names", "classes", "label_names"):
        if isinstance(metadata.get(key), list):
            return check_class_names(metadata[key]), f", classes named in {path.name}"
    number = metadata.get("n_classes")
    if isinstance(number, int) and 0 < number < 2**16:
        return check_class_names(range(number)), f", {number} classes by {path.name}"
    return None, ""


def _class(label: Any, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """The class of a label; a number stands for the name in its place."""
    if names is not None and type(label) is int and 0 <= label < len(names):
        return (names[label],)
    written = name_of(label)
    return () if written is None else (written,)
