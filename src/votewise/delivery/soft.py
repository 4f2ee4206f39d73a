"""The whole distribution in every step."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise.delivery.protocol import Delivery, TargetArray, check_epoch
from votewise.targets import Targets, as_targets, dirichlet_smoothed, smoothed_share
from votewise.votes import Votes, check_votes


class Soft(Delivery):
    """Soft labels: item i's target is p_i in every epoch.

    Example:
        >>> votes = Votes.from_counts([[3, 1], [0, 4]])
        >>> Soft(votes).targets(epoch=7)
        array([[0.75, 0.25],
               [0.  , 1.  ]], dtype=float32)
    """

    changes = False

    def __init__(self, source: Votes | Targets) -> None:
        """Deliver vote shares, or any other targets."""
        beliefs = as_targets(source)
        self.item_ids, self.classes = beliefs.item_ids, beliefs.classes
        self._probs = beliefs.probs.astype(np.float32)

    def targets(self, epoch: int, items: npt.ArrayLike | None = None) -> TargetArray:
        """The distributions, the same in each epoch, (B, K) float32."""
        check_epoch(epoch)
        return self._probs[self._rows(items)].copy()


def soft_smoothed(votes: Votes, *, epsilon: float) -> Soft:
    """Vote shares mixed with the uniform distribution; `epsilon` is the uniform part."""
    return Soft(smoothed_share(votes, epsilon=epsilon))


def soft_dirichlet(votes: Votes, *, weight: float | None = None) -> Soft:
    """Vote shares with pseudo-votes: `weight` in all, spread evenly over the classes, or as many as fit all items."""
    prior = None if weight is None else weight / check_votes(votes).n_classes
    return Soft(dirichlet_smoothed(votes, prior=prior))
