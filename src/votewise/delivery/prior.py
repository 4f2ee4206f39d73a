"""Labels mixed with a prior: soft targets that change from epoch to epoch around the posterior mean."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray
from votewise.delivery.protocol import Delivery, HardDelivery, TargetArray
from votewise.targets.prior import Prior, check_prior
from votewise.votes import Votes


class WithPrior(Delivery):
    """Item i's target is (n onehot(label) + A) / (n + |A|), of its n votes, the label of the epoch and its prior A.

    The mean over labels that are as frequent as the item's votes is the posterior mean (counts + A) / (n + |A|). It is
    no `HardDelivery`, since whoever takes the labels for the targets would lose the prior.
    """

    def __init__(self, hard: HardDelivery, votes: Votes, prior: Prior) -> None:
        """Mix the labels of a delivery; `Multipass` and `SLS` do so when they are given a prior.

        Args:
            hard: its labels are votes of the items.
            votes: the same votes; counts are needed.
            prior: pseudo-votes: one number for every class, (K,) numbers, or (N, K).
        """
        self.item_ids, self.classes = hard.item_ids, hard.classes
        length = votes.require_counts("a delivery with a prior").sum(axis=1)
        pseudo = check_prior(prior, votes)
        self._hard = hard
        # Relative to the largest, so that neither huge nor tiny pseudo-votes leave the range of floats.
        largest = np.maximum(pseudo.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        self._mean = pseudo / largest
        with np.errstate(divide="ignore", over="ignore"):
            weight = (largest * self._mean.sum(axis=1, keepdims=True))[:, 0]
            self._of_label, self._of_prior = 1 / (1 + weight / length), 1 / (1 + length / weight)
        self._mean /= np.maximum(self._mean.sum(axis=1, keepdims=True), 1)

    def labels(self, epoch: int, items: npt.ArrayLike | None = None) -> IntArray:
        """The labels that are mixed with the prior, (B,) int64."""
        return self._hard.labels(epoch, items)

    def targets(self, epoch: int, items: npt.ArrayLike | None = None) -> TargetArray:
        """The labels mixed with the prior, (B, K) float32."""
        labels, rows = self.labels(epoch, items), self._rows(items)
        mixed = self._of_prior[rows, None] * (self._mean[rows] if len(self._mean) > 1 else self._mean)
        mixed[np.arange(len(labels)), labels] += self._of_label[rows]
        return mixed.astype(np.float32)
