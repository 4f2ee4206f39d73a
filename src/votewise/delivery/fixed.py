"""The majority label in every epoch, plain or smoothed: the baselines."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, check_number
from votewise.delivery.protocol import Delivery, HardDelivery, TargetArray, check_epoch
from votewise.targets import majority_labels
from votewise.votes import Votes, check_votes


class Majority(HardDelivery):
    """The class with the most votes, in every epoch."""

    changes = False

    def __init__(self, votes: Votes, *, ties: str = "lowest", seed: int = 0) -> None:
        """Deliver the majority; see `majority_labels` for the tie rules."""
        self.item_ids, self.classes = check_votes(votes).item_ids, votes.classes
        self._labels = majority_labels(votes, ties=ties, seed=seed)

    def labels(self, epoch: int, items: npt.ArrayLike | None = None) -> IntArray:
        """The majority classes, the same in each epoch, (B,) int64."""
        check_epoch(epoch)
        return self._labels[self._rows(items)].copy()


class LabelSmoothing(Delivery):
    """The majority's one-hot row mixed with the uniform distribution: (1 - epsilon) e + epsilon / K."""

    changes = False

    def __init__(self, votes: Votes, *, epsilon: float = 0.1, ties: str = "lowest", seed: int = 0) -> None:
        """Deliver the smoothed majority; epsilon 0 is the majority itself."""
        check_number("epsilon", epsilon, 0, 1)
        self.item_ids, self.classes = check_votes(votes).item_ids, votes.classes
        one_hot = np.eye(votes.n_classes)[majority_labels(votes, ties=ties, seed=seed)]
        self._probs = ((1 - epsilon) * one_hot + epsilon / votes.n_classes).astype(np.float32)

    def targets(self, epoch: int, items: npt.ArrayLike | None = None) -> TargetArray:
        """The smoothed one-hot rows, the same in each epoch, (B, K) float32."""
        check_epoch(epoch)
        return self._probs[self._rows(items)].copy()
