"""ChaosNLI: natural language inference, a hundred votes on each pair of texts.

Nie, Zhou and Bansal (2020), "What can we learn from collective human opinions on natural language inference data?"
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from votewise._checks import check_choice, first_few
from votewise._errors import InputError
from votewise.data.dataset import Dataset
from votewise.data.inputs import InputForm
from votewise.data.joining import join_inputs
from votewise.data.releases import locate_release, notes_on_release_files
from votewise.data.texts import Texts
from votewise.votes import read_votes
from votewise.votes.exports.trees import load_tree

# The classes of each part, in the order of the released counts.
PARTS = {
    "snli": ("entailment", "neutral", "contradiction"),
    "mnli": ("entailment", "neutral", "contradiction"),
    "alphanli": ("1", "2"),
}

_PAIR = ("premise", "hypothesis")
_STORIES = ("first story", "second story")


def load_chaosnli(part: str, folder: Path | None = None) -> Dataset:
    """Pairs of texts with a hundred votes each; nobody knows who gave them.

    An item of SNLI and MNLI is its premise and its hypothesis. One of αNLI has two observations and two hypotheses of
    what happened between them; it becomes the two stories that these make, told in their order, and its classes "1" and
    "2" say which of the two is likelier. A pair holds all four texts that way, and both of its halves alike.

    Args:
        part: "snli", "mnli" (its matched development set) or "alphanli".
        folder: where the released file lies; `data_folder()` if left out. Nothing is downloaded.
    """
    name = f"chaosnli-{check_choice('the part of ChaosNLI', part, tuple(PARTS))}"
    (path,) = locate_release(name, folder)
    votes = read_votes(path, format="chaosnli", classes=PARTS[part])
    records = load_tree(path)
    assert isinstance(records, list), "votes were read from a list"
    form = InputForm(text_column=_STORIES if part == "alphanli" else _PAIR)
    texts = Texts(votes.item_ids, tuple(_pair_of_chaosnli(record, part) for record in records), form)
    return join_inputs(votes, texts, name=name, notes=notes_on_release_files(name, {path.name: path.read_bytes()}))


def _pair_of_chaosnli(record: dict[str, Any], part: str) -> tuple[str, str]:
    if part == "alphanli":
        start, end, first, second = _texts_of_example(record, "obs1", "obs2", "hyp1", "hyp2")
        return f"{start} {first} {end}", f"{start} {second} {end}"
    premise, hypothesis = _texts_of_example(record, *_PAIR)
    return premise, hypothesis


def _texts_of_example(record: dict[str, Any], *names: str) -> tuple[str, ...]:
    example = record.get("example")
    values = tuple(example.get(name) for name in names) if isinstance(example, dict) else ()
    texts = tuple(value for value in values if isinstance(value, str))
    if len(texts) < len(names):
        raise InputError(
            f"an example of this part of ChaosNLI has the texts {first_few(names)}",
            f"item {record.get('uid')!r} lacks some",
            "Take the file as released",
        )
    return texts
