"""Stochastic label sampling: a fresh draw from the votes in each epoch, and its controls."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, check_whole_number
from votewise._random import cumulative, draw_classes, item_keys, random_bits, stream_key, unit_interval
from votewise.delivery.protocol import HardDelivery, check_epoch
from votewise.targets import Targets, as_targets
from votewise.votes import Votes


class SLS(HardDelivery):
    """Item i's label in epoch t is one draw from p_i, independent of other items and other draws.

    Example:
        >>> import numpy as np
        >>> draws = SLS(Votes.from_counts([[3, 1]]), seed=0)
        >>> abs(np.mean([draws.labels(epoch)[0] for epoch in range(10_000)]) - 0.25) < 0.01
        np.True_
    """

    def __init__(self, source: Votes | Targets, *, seed: int, hold: int = 1) -> None:
        """Draw from vote shares or any other targets.

        Args:
            source: what to draw from.
            seed: root seed; a draw depends on it, the epoch and the item's id alone.
            hold: keep each draw for this many epochs; a new one is drawn at epochs 0, hold, 2 hold, ...
        """
        beliefs = as_targets(source)
        self.item_ids, self.classes = beliefs.item_ids, beliefs.classes
        self.hold = check_whole_number("hold", hold, least=1)
        self._seed = check_whole_number("seed", seed)
        self._keys = item_keys(beliefs.item_ids)
        self._cdf = cumulative(beliefs.probs)

    def labels(self, epoch: int, items: npt.ArrayLike | None = None) -> IntArray:
        """The labels drawn for an epoch, (B,) int64."""
        rows = self._rows(items)
        key = stream_key(self._seed, "sls", check_epoch(epoch) // self.hold)
        return draw_classes(self._cdf[:, rows], unit_interval(random_bits(key, self._keys[rows])))


def shuffled_sls(source: Votes | Targets, *, seed: int, hold: int = 1) -> SLS:
    """SLS after one permutation of the distributions across items: the control that must learn nothing.

    The permutation depends on the seed and the set of ids, not on their order. Score against the true pairing.
    """
    beliefs = as_targets(source)
    drawn_order = np.argsort(random_bits(stream_key(seed, "shuffled-sls"), item_keys(beliefs.item_ids)), kind="stable")
    fixed_order = np.argsort(item_keys(beliefs.item_ids), kind="stable")
    probs = np.empty_like(beliefs.probs)
    probs[fixed_order] = beliefs.probs[drawn_order]
    return SLS(
        Targets(probs, beliefs.item_ids, beliefs.classes, f"{beliefs.provenance}, permuted"), seed=seed, hold=hold
    )
