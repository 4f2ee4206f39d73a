"""ChaosNLI: a hundred votes per item, as totals (Nie, Zhou and Bansal 2020, arXiv 2010.03532)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from votewise._errors import InputError
from votewise.votes.exports.asked import Asked, describe, item_of, refuse_question
from votewise.votes.exports.trees import Tree
from votewise.votes.table import Votes, sort_classes
from votewise.votes.tally import empty_items

_TITLE = "ChaosNLI file"

# label_counter and old_label are written short, old_labels long.
_LONG = {"e": "entailment", "n": "neutral", "c": "contradiction"}

# The order of label_count, by its length.
_ORDERS = {3: ("entailment", "neutral", "contradiction"), 2: ("1", "2")}


def fits(tree: Tree) -> bool:
    """Whether records hold counts of labels as ChaosNLI writes them."""
    return isinstance(tree, list) and any({"label_count", "label_dist"} <= record.keys() for record in tree)


def read(tree: Tree, asked: Asked) -> Votes:
    """Votes from the counts, under long names; nobody knows who gave them."""
    assert isinstance(tree, list)
    refuse_question(asked, f"a {_TITLE}")
    ids = [item_of(record, asked, ["uid"], inside=["example"]) for record in tree]
    counts = [_counts(record, name) for record, name in zip(tree, ids, strict=True)]
    classes = sort_classes(sorted({label for one in counts for label in one}))
    table = np.array([[one.get(label, 0) for label in classes] for one in counts])
    kept = np.flatnonzero(table.sum(axis=1)) if asked.rules.empty == "drop" and table.any() else np.arange(len(ids))
    votes = Votes.from_counts(table[kept], item_ids=[ids[row] for row in kept], classes=classes)
    return replace(
        votes.with_classes(asked.rules.classes or classes),
        provenance=f"{_TITLE}, counts of labels",
        notes=tuple(empty_items(len(ids) - len(kept))),
    )


def _counts(record: dict[str, Any], name: str) -> dict[str, int]:
    """The count of each label, which must be the same in both places where it may be written."""
    listed = record.get("label_count")
    order = _ORDERS.get(len(listed)) if isinstance(listed, list) else None
    if order is None or not all(_is_count(one) for one in listed or ()):
        raise InputError(
            "label_count must be 2 or 3 whole numbers", f"item {name!r} has {describe(listed)}", "Fix the file"
        )
    counts = dict(zip(order, listed or (), strict=True))
    counter = record.get("label_counter")
    if isinstance(counter, dict):
        written = {_LONG.get(label, label): count for label, count in counter.items()}
        if written != {label: count for label, count in counts.items() if count or label in written}:
            raise InputError(
                "label_counter and label_count must agree", f"those of item {name!r} do not", "Fix the file"
            )
    return counts


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
