"""The shape of a learning curve: whether it has turned, or is still falling when training ends.

The thresholds are in nats, as soft NLL is, and were set on the runs of benchmarks/defaults.py (docs/training.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Shape = Literal["turned", "flat", "falling"]

# A curve that ends this far above its lowest point has turned. Choosing the epoch on a tenth of the items costs up to
# as much (the study allows 0.01), and deliveries differ by about as much, so that less is not worth a word.
TURNED = 0.01

# A curve that fell this much in the second half of its epochs would have gained from more of them. Under a cosine that
# half holds 18 % of the sum of all learning rates, so that a curve may look flat at its end and yet be far from its
# lowest. On words, comments and photographs trained for 3 to 40 epochs, twice as many gained about as much again as the
# second half had. Twice what choosing an epoch may cost is worth a word.
FALLING = 0.02


@dataclass(frozen=True)
class LearningShape:
    """What a curve shows.

    Attributes:
        shape: "turned", "falling" or "flat".
        lowest: the epoch of the lowest loss, counted from 1.
        lost: how far the last loss is above the lowest.
        gained: how far the loss fell in the second half of the epochs; negative if it rose.
    """

    shape: Shape
    lowest: int
    lost: float
    gained: float


def learning_shape(losses: npt.ArrayLike) -> LearningShape:
    """The shape of a curve of losses after each epoch; one that becomes infinite or NaN has turned.

    Give the mean over seeds: a single run's curve turns by chance.

    Args:
        losses: (epochs,), at least one.
    """
    curve = np.asarray(losses, dtype=np.float64)
    curve = np.where(np.isnan(curve), np.inf, curve)
    lowest, last = int(curve.argmin()), float(curve[-1])
    before = float(curve[len(curve) // 2 - 1]) if len(curve) > 1 else last
    lost = last - float(curve[lowest]) if math.isfinite(last) else math.inf
    gained = before - last if math.isfinite(before) or math.isfinite(last) else -math.inf
    shape: Shape = "flat"
    if lost >= TURNED:
        shape = "turned"
    elif gained >= FALLING:
        shape = "falling"
    return LearningShape(shape, lowest + 1, lost, gained)
