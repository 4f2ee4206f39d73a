"""Every vote in turn: one pass through an item's votes takes as many epochs as it has votes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, check_whole_number
from votewise._random import stream_key
from votewise.delivery.protocol import HardDelivery, check_epoch
from votewise.votes import Votes, check_votes, shuffled_votes

# arXiv 2605.20642: the control delivers the same votes in the order of another shuffle, "seed + 1000".
CONTROL_SHIFT = 1000


class Multipass(HardDelivery):
    """Item i's label in epoch t is vote t mod m_i of its m_i votes, which are shuffled once.

    Over each m_i epochs every vote is delivered exactly once, so the mean loss over a cycle at fixed
    weights is the soft loss. Memory: one or two bytes per vote.

    Example:
        >>> cycle = Multipass(Votes.from_counts([[3, 1]]), seed=0)
        >>> sorted(int(cycle.labels(epoch)[0]) for epoch in range(4))
        [0, 0, 0, 1]
    """

    def __init__(self, votes: Votes, *, seed: int) -> None:
        """Shuffle the votes; an item's order depends on the seed, its id and its counts alone."""
        self.item_ids, self.classes = check_votes(votes).item_ids, votes.classes
        counts = votes.require_counts("multipass")
        self._order, self._start, self._length = shuffled_votes(counts, votes.item_ids, stream_key(seed, "multipass"))

    def labels(self, epoch: int, items: npt.ArrayLike | None = None) -> IntArray:
        """The vote whose turn it is, (B,) int64."""
        rows = self._rows(items)
        return self._order[self._start[rows] + check_epoch(epoch) % self._length[rows]].astype(np.int64)


def deterministic_control(votes: Votes, *, seed: int) -> Multipass:
    """Multipass in another order: the same votes, shuffled by seed + 1000."""
    return Multipass(votes, seed=check_whole_number("seed", seed) + CONTROL_SHIFT)
