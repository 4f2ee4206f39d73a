"""What we believe about each item after looking at its votes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, frozen
from votewise.votes import Votes


@dataclass(frozen=True, eq=False)
class Targets:
    """A distribution over K classes for each of N items.

    Attributes:
        probs: (N, K) float64, rows sum to one.
        item_ids: (N,) text.
        classes: K names.
        provenance: how they came to be, e.g. "vote share".
    """

    probs: FloatArray
    item_ids: npt.NDArray[np.str_]
    classes: tuple[str, ...]
    provenance: str

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        object.__setattr__(self, "probs", frozen(self.probs))
        object.__setattr__(self, "item_ids", frozen(self.item_ids))


def as_targets(source: Votes | Targets) -> Targets:
    """Targets as they are; votes as their shares."""
    return source if isinstance(source, Targets) else vote_share(source)


def vote_share(votes: Votes) -> Targets:
    """The share of votes each class got: the maximum-likelihood estimate, and what people said."""
    return Targets(votes.probs, votes.item_ids, votes.classes, "vote share")
