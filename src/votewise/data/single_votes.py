"""Single votes counted without a table engine: a machine that only trains need not have polars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._errors import InputError
from votewise._text import counted
from votewise.votes import Ballots, Votes
from votewise.votes.table import sort_classes


def count_votes(votes: Sequence[tuple[str, str, str]], classes: Sequence[str], provenance: str) -> Votes:
    """Votes, with who gave them, from single votes. A person's second vote on an item counts, too, and is noted.

    Args:
        votes: item, annotator and class of each vote.
        classes: all classes in order.
        provenance: how the votes were read.
    """
    if not votes:
        raise InputError("a data set needs at least one vote", "it has none", "Take the files as released")
    for name, _, said in votes:
        if said not in classes:
            raise InputError(
                f"each vote must be one of {', '.join(classes)}",
                f"item {name!r} got {said!r}",
                "Take the files as released",
            )
    items = list(dict.fromkeys(name for name, _, _ in votes))
    people = sort_classes(sorted({person for _, person, _ in votes}))
    item = _vote_indices([name for name, _, _ in votes], items, np.int32)
    annotator = _vote_indices([person for _, person, _ in votes], people, np.int32)
    label = _vote_indices([said for _, _, said in votes], classes, np.min_scalar_type(len(classes)))
    counts = np.zeros((len(items), len(classes)), dtype=np.int64)
    np.add.at(counts, (item, label), 1)
    again = len(votes) - len({(name, person) for name, person, _ in votes})
    note = f"{counted(again, 'answer')} given again by the same person to the same item, and counted like any other"
    return replace(
        Votes.from_counts(counts, item_ids=items, classes=classes),
        ballots=Ballots(item, annotator, label, np.array(people, dtype=np.str_)),
        provenance=provenance,
        notes=(note,) if again else (),
    )


def _vote_indices(values: Sequence[str], names: Sequence[str], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    place = {name: number for number, name in enumerate(names)}
    return np.array([place[value] for value in values], dtype=dtype)
