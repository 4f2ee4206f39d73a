"""Every vote in turn: one pass through an item's votes takes as many epochs as it has votes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_whole_number
from votewise._random import stream_key
from votewise.delivery.prior import WithPrior
from votewise.delivery.protocol import HardDelivery, check_epoch
from votewise.targets import fit_dirichlet_prior, fit_prior
from votewise.targets.prior import Prior
from votewise.votes import Votes, check_votes, shuffled_votes

# arXiv 2605.20642: the control delivers the same votes in the order of another shuffle, "seed + 1000".
CONTROL_SHIFT = 1000


class Multipass(HardDelivery):
    """Item i's label in epoch t is vote t mod m_i of its m_i votes, which are shuffled once.

    Over each m_i epochs every vote is delivered exactly once, so the mean loss over a cycle at fixed
    weights is the soft loss. Memory: one or two bytes per vote.

    With a prior A_i the label is mixed with it, and the result is a `WithPrior`, whose targets are not one-hot:
    (m_i onehot(label) + A_i) / (m_i + |A_i|), the mean of which over a cycle is the posterior mean.

    Example:
        >>> cycle = Multipass(Votes.from_counts([[3, 1]]), seed=0)
        >>> sorted(int(cycle.labels(epoch)[0]) for epoch in range(4))
        [0, 0, 0, 1]
        >>> Multipass(Votes.from_counts([[3, 1]]), seed=0, prior=0.5).targets(0).round(1)
        array([[0.9, 0.1]], dtype=float32)
    """

    def __new__(cls, votes: Votes, *, seed: int, prior: Prior | None = None) -> Any:
        """Without a prior this class, with one the labels of this class mixed with it."""
        return super().__new__(cls) if prior is None else WithPrior(cls(votes, seed=seed), votes, prior)

    def __init__(self, votes: Votes, *, seed: int, prior: Prior | None = None) -> None:  # noqa: ARG002
        """Shuffle the votes; an item's order depends on the seed, its id and its counts alone.

        Args:
            votes: counts are needed.
            seed: root seed of the shuffles.
            prior: pseudo-votes: one number for every class, (K,) numbers, or (N, K) of each item.
        """
        self.item_ids, self.classes = check_votes(votes).item_ids, votes.classes
        counts = votes.require_counts("multipass")
        self._order, self._start, self._length = shuffled_votes(counts, votes.item_ids, stream_key(seed, "multipass"))

    def labels(self, epoch: int, items: npt.ArrayLike | None = None) -> IntArray:
        """The vote whose turn it is, (B,) int64."""
        rows = self._rows(items)
        return self._order[self._start[rows] + check_epoch(epoch) % self._length[rows]].astype(np.int64)


def multipass_prior(votes: Votes, *, seed: int) -> WithPrior:
    """Multipass with the Dirichlet prior that fits all items."""
    return WithPrior(Multipass(votes, seed=seed), votes, fit_dirichlet_prior(votes))


def multipass_crossfit(votes: Votes, *, seed: int, logits: FloatArray, **_: float) -> WithPrior:
    """Multipass with a prior of each item's own, made of out-of-fold predictions, however those were made."""
    return WithPrior(Multipass(votes, seed=seed), votes, fit_prior(votes, logits).pseudo_votes)


def deterministic_control(votes: Votes, *, seed: int) -> Multipass:
    """Multipass in another order: the same votes, shuffled by seed + 1000."""
    return Multipass(votes, seed=check_whole_number("seed", seed) + CONTROL_SHIFT)
