"""How certain is a number? Bootstrap over items."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_number, check_values, check_whole_number
from votewise._random import stream_generator

# More items than this are dealt at random into that many groups, and groups are resampled: the spread of a mean
# is the same, and the cost no longer grows with resamples x items.
_MOST_GROUPS = 4096


@dataclass(frozen=True)
class Interval:
    """A number with its 95 % interval; `low` and `high` are NaN where there is none."""

    value: float
    low: float = math.nan
    high: float = math.nan


class Resamples:
    """Bootstrap resamples of N items, drawn once and used for every statistic of the same items.

    Statistics are built from means over items, which a resample turns into weighted means: `means` gives
    them for all resamples at once, as one matrix product.
    """

    def __init__(self, n_items: int, *, seed: int = 0, resamples: int = 1000) -> None:
        """Draw the resamples.

        Args:
            n_items: N, at least 1.
            seed: root seed.
            resamples: how many; with 1,000 a 95 % interval is accurate to about 3 % of its width.
        """
        check_whole_number("resamples", resamples, least=1)
        rng = stream_generator(seed, "bootstrap")
        self._n_groups = min(check_whole_number("n_items", n_items, least=1), _MOST_GROUPS)
        self._group = rng.permutation(n_items) % self._n_groups
        weights = rng.multinomial(self._n_groups, np.full(self._n_groups, 1 / self._n_groups), size=resamples)
        size = np.bincount(self._group, minlength=self._n_groups)
        self._weights = weights / (weights @ size)[:, None]

    def means(self, values: FloatArray, cells: IntArray | None = None, n_cells: int = 1) -> FloatArray:
        """Resampled means of `values` over all items, kept apart by cell: (resamples, n_cells).

        Args:
            values: (N,).
            cells: (N,) a cell for each item, below `n_cells`; one cell if left out.
            n_cells: number of cells; the cells' means sum to the mean over all items.
        """
        place = self._group if cells is None else self._group * n_cells + cells
        sums = np.bincount(place, weights=values, minlength=self._n_groups * n_cells)
        return np.asarray(self._weights @ sums.reshape(self._n_groups, n_cells))


def centred_interval(
    value: float, resampled: FloatArray, *, least: float = -math.inf, most: float = math.inf
) -> Interval:
    """A 95 % interval around `value` with the spread of its resampled values.

    The resamples' 2.5 % and 97.5 % quantiles are moved so that their mean sits at the value. For a mean that
    changes nothing; for an error that chance alone inflates, such as a calibration error, plain quantiles
    would lie above the value, since resampling adds that chance a second time.

    Args:
        value: the statistic.
        resampled: (resamples,) the statistic on each resample.
        least: the smallest value it can take.
        most: the largest.
    """
    if not (math.isfinite(value) and np.isfinite(resampled).all()):
        return Interval(value)
    low, high = np.quantile(resampled, [0.025, 0.975]) + value - resampled.mean()
    return Interval(value, float(min(max(low, least), value)), float(max(min(high, most), value)))


def wilson_interval(value: float, n: int) -> Interval:
    """A share `value` of n items with Wilson's (1927) 95 % interval, which is right near 0 and 1 too.

    Bootstrapping three right answers out of three would give the interval from 1 to 1.
    """
    check_number("the share", value, 0, 1)
    check_whole_number("n", n, least=1)
    z2 = 1.959964**2
    centre = (value + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (value * (1 - value) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # At 0 and 1 the formula misses the share itself by rounding.
    return Interval(value, min(max(centre - half, 0.0), value), max(min(centre + half, 1.0), value))


def bootstrap_mean(values: npt.ArrayLike, *, seed: int = 0, resamples: int = 1000) -> Interval:
    """The mean of (N,) values with its bootstrap interval; no interval for a single value."""
    array = check_values("values", values)
    if len(array) == 1:
        return Interval(float(array[0]))
    return centred_interval(
        float(array.mean()), Resamples(len(array), seed=seed, resamples=resamples).means(array)[:, 0]
    )
