"""potato: one line per annotated item and person, the chosen labels as keys of each scheme."""

from __future__ import annotations

from typing import Any

from votewise.votes.exports.answers import NOBODY, Answer, answers_frame, votes_of
from votewise.votes.exports.asked import Asked, choose_question, item_of, name_of
from votewise.votes.exports.trees import Tree
from votewise.votes.table import Votes

_TITLE = "potato export"


def fits(tree: Tree) -> bool:
    """Whether records hold labels by scheme."""
    return isinstance(tree, list) and any(isinstance(record.get("label_annotations"), dict) for record in tree)


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from the labels of one scheme."""
    assert isinstance(tree, list)
    schemes = sorted({name for record in tree for name, chosen in _schemes(record).items() if isinstance(chosen, dict)})
    question = choose_question(asked, schemes, _TITLE)
    answers = []
    for record in tree:
        item = item_of(record, asked, ["instance_id", "id"])
        answers.append(Answer(item, why_not=NOBODY))
        chosen = _schemes(record).get(question)
        classes = tuple(name for name, value in chosen.items() if value) if isinstance(chosen, dict) else ()
        person = name_of(record.get("user_id")) or name_of(record.get("user"))
        answers.append(Answer(item, person, classes))
    return votes_of(answers_frame(answers), asked, f"{_TITLE}, question {question!r}")


def _schemes(record: dict[str, Any]) -> dict[str, Any]:
    found = record.get("label_annotations")
    return found if isinstance(found, dict) else {}
