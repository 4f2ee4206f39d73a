"""Stochastic label sampling: a fresh draw from the votes in each epoch, and its controls."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, check_whole_number
from votewise._errors import InputError
from votewise._random import cumulative, draw_classes, item_keys, random_bits, stream_key, unit_interval
from votewise.delivery.prior import WithPrior
from votewise.delivery.protocol import HardDelivery, check_epoch
from votewise.targets import Targets, as_targets
from votewise.targets.prior import Prior
from votewise.votes import Votes


class SLS(HardDelivery):
    """Item i's label in epoch t is one draw from p_i, independent of other items and other draws.

    With a prior A_i the draw is mixed with it, and the result is a `WithPrior`, whose targets are not one-hot:
    (n_i onehot(draw) + A_i) / (n_i + |A_i|), the expectation of which is the posterior mean.

    Example:
        >>> import numpy as np
        >>> draws = SLS(Votes.from_counts([[3, 1]]), seed=0)
        >>> abs(np.mean([draws.labels(epoch)[0] for epoch in range(10_000)]) - 0.25) < 0.01
        np.True_
    """

    def __new__(cls, source: Votes | Targets, *, seed: int, hold: int = 1, prior: Prior | None = None) -> Any:
        """Without a prior this class, with one the draws of this class mixed with it."""
        if prior is None:
            return super().__new__(cls)
        if isinstance(source, Targets):
            raise InputError(
                "SLS with a prior needs votes, whose number says what a prior weighs beside them",
                "got Targets",
                "Pass votes; or mix the prior into the targets, and draw from those",
            )
        return WithPrior(cls(source, seed=seed, hold=hold), source, prior)

    def __init__(
        self,
        source: Votes | Targets,
        *,
        seed: int,
        hold: int = 1,
        prior: Prior | None = None,  # noqa: ARG002
    ) -> None:
        """Draw from vote shares or any other targets.

        Args:
            source: what to draw from.
            seed: root seed; a draw depends on it, the epoch and the item's id alone.
            hold: keep each draw for this many epochs; a new one is drawn at epochs 0, hold, 2 hold, ...
            prior: pseudo-votes: one number for every class, (K,) numbers, or (N, K) of each item. It needs counts.
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
