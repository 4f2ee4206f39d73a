"""What we believe about each item after looking at its votes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import (
    FloatArray,
    check_class_names,
    check_item_ids,
    check_kind,
    check_number,
    check_simplex,
    own,
    rebuilt,
)
from votewise._errors import InputError
from votewise.votes import Votes, check_votes


@dataclass(frozen=True, eq=False)
class Targets:
    """A distribution over K classes for each of N items.

    Attributes:
        probs: (N, K) float64, rows sum to one.
        item_ids: (N,) text.
        classes: K names.
        provenance: how they were made, e.g. "vote share".
    """

    probs: FloatArray
    item_ids: npt.NDArray[np.str_]
    classes: tuple[str, ...]
    provenance: str

    def __post_init__(self) -> None:
        """Check the distributions and make the arrays read-only."""
        probs, classes = check_simplex("targets", self.probs), check_class_names(self.classes)
        ids: Any = self.item_ids
        if not isinstance(ids, np.ndarray) or ids.dtype.kind != "U":
            ids = check_item_ids(ids)
        if probs.shape != (len(ids), len(classes)):
            raise InputError(
                f"targets for {len(ids)} items and {len(classes)} classes must have that shape",
                f"theirs is {probs.shape}",
                "Give one row per item and one column per class",
            )
        for name, value in (("probs", own(probs)), ("item_ids", own(ids)), ("classes", classes)):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are read-only too."""
        return rebuilt(self)


def as_targets(source: Votes | Targets) -> Targets:
    """Targets as they are; votes as their shares."""
    check_kind("what is delivered", source, (Votes, Targets), "Build votes with Votes.from_counts or read_votes")
    return source if isinstance(source, Targets) else vote_share(source)


def smoothed_share(votes: Votes, *, epsilon: float = 0.1) -> Targets:
    """The vote share mixed with the uniform distribution: (1 - epsilon) p + epsilon / K.

    Args:
        votes: counts are not needed.
        epsilon: weight of the uniform distribution; 0 is the share itself.
    """
    check_number("epsilon", epsilon, 0, 1)
    probs = (1 - epsilon) * check_votes(votes).probs + epsilon / votes.n_classes
    return Targets(probs, votes.item_ids, votes.classes, f"vote share, smoothed by {epsilon:g}")


def vote_share(votes: Votes) -> Targets:
    """The share of votes each class got: the maximum-likelihood estimate, and what people said."""
    check_votes(votes)
    return Targets(votes.probs, votes.item_ids, votes.classes, "vote share")
