"""How quickly a run gets near its best: epochs read off a curve of losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_number
from votewise._errors import InputError


@dataclass(frozen=True)
class Dynamics:
    """When a loss was near its lowest, by three interpretations of "95 % of its best". Epochs count from 0.

    Attributes:
        best: lowest loss.
        best_epoch: the first epoch that has it; 0 in a run that only gets worse.
        near_by_quotient: first epoch with loss <= best / share.
        near_by_excess: first epoch with loss <= (2 - share) best, which is 1.05 best for 95 %.
        near_by_descent: first epoch by which the loss has fallen by `share` of the way from the first to the best.
        missing: number of epochs whose loss is NaN or infinite; these are never best or near it.
    """

    best: float
    best_epoch: int
    near_by_quotient: int
    near_by_excess: int
    near_by_descent: int
    missing: int


def training_dynamics(losses: npt.ArrayLike, *, share: float = 0.95) -> Dynamics:
    """Read the best epoch, and the epochs to `share` of the best, off a curve.

    Args:
        losses: (T,) loss after each epoch, not negative, such as the soft NLL of held-out items.
        share: how near to the best counts as near, above 0 and at most 1.

    Example:
        >>> training_dynamics([2.0, 1.0, 0.52, 0.51, 0.50, 0.60])
        Dynamics(best=0.5, best_epoch=4, near_by_quotient=2, near_by_excess=2, near_by_descent=2, missing=0)
    """
    share = check_number("share", share, 1e-6, 1)
    curve = _check_curve(losses)
    numbers = curve[~np.isnan(curve)]
    best, start = float(numbers.min()), float(numbers[0])
    return Dynamics(
        best=best,
        best_epoch=_first_at_most(curve, best),
        near_by_quotient=_first_at_most(curve, best / share),
        near_by_excess=_first_at_most(curve, (2 - share) * best),
        # From the best upwards: rounding must not put the threshold below it.
        near_by_descent=_first_at_most(curve, best + (1 - share) * (start - best)),
        missing=len(curve) - len(numbers),
    )


def _first_at_most(curve: FloatArray, threshold: float) -> int:
    return int((curve <= threshold).argmax())


def _check_curve(losses: npt.ArrayLike) -> FloatArray:
    """Return a curve (T,) float64 with NaN for values that are not finite, at least one number, and none negative."""
    try:
        curve = np.asarray(losses, dtype=np.float64)
    except (TypeError, ValueError):
        curve = np.zeros((0, 0))
    numbers = curve[np.isfinite(curve)]
    if curve.ndim != 1 or not numbers.size:
        raise InputError(
            "losses must be a list of numbers, at least one of them finite",
            f"got {numbers.size} finite numbers of shape {curve.shape}",
            "Pass the loss after each epoch",
        )
    if numbers.min() < 0:
        raise InputError(
            "losses must not be negative, since a share of the best is a quotient",
            f"the lowest is {numbers.min():g}",
            "Pass a loss whose lowest possible value is 0, such as the soft NLL",
        )
    return np.where(np.isfinite(curve), curve, np.nan)
