"""Mixup: convex combinations of inputs and targets. It changes the batch, so it follows a delivery."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from votewise._checks import IntArray, check_number, check_whole_number
from votewise._random import stream_generator


@dataclass(frozen=True, eq=False)
class Mix:
    """How one batch is mixed: row j becomes `weight` of itself and the rest of row `partner[j]`."""

    weight: float
    partner: IntArray

    def __call__(self, batch: Any) -> Any:
        """Mix the rows of a batch: inputs or targets, NumPy arrays or torch tensors."""
        return self.weight * batch + (1 - self.weight) * batch[self.partner]


class Mixup:
    """Mixes drawn by (seed, epoch, step): weight ~ Beta(alpha, alpha), partners a permutation of the batch.

    Zhang et al. 2018. Apply the same mix to inputs and targets; cross-entropy is linear in the target.

    Example:
        >>> import numpy as np
        >>> mix = Mixup(alpha=1.0, seed=0).plan(epoch=0, step=0, size=4)
        >>> mix(np.eye(4)).sum(axis=1)
        array([1., 1., 1., 1.])
    """

    def __init__(self, *, alpha: float, seed: int) -> None:
        """Set the strength: alpha 1 mixes evenly over all weights, a small alpha hardly mixes."""
        self.alpha = check_number("alpha", alpha, 1e-6, 1e6)
        self.seed = check_whole_number("seed", seed)

    def plan(self, epoch: int, step: int, size: int) -> Mix:
        """The mix of one batch of `size` rows, `step` batches into `epoch`."""
        rng = stream_generator(self.seed, "mixup", check_whole_number("epoch", epoch), check_whole_number("step", step))
        return Mix(float(rng.beta(self.alpha, self.alpha)), rng.permutation(check_whole_number("size", size, least=1)))
