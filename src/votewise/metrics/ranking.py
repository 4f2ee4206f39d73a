"""Is the model uncertain where people disagree?"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_pair, check_values
from votewise._errors import InputError
from votewise._numerics import average_ranks, rankable
from votewise.metrics.proper import entropy_per_item


def entropy_correlation(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Spearman correlation (average ranks) of people's and the model's entropies; NaN if either is constant.

    Bounded by the reliability of people's entropies, see `votewise.votes.entropy_reliability`.
    """
    p, q = check_pair(reference, probs)
    return spearman(rankable(entropy_per_item(p)), rankable(entropy_per_item(q)))


def entropy_pearson(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Pearson correlation of people's and the model's entropies; NaN if either is constant."""
    p, q = check_pair(reference, probs)
    return pearson(rankable(entropy_per_item(p)), rankable(entropy_per_item(q)))


def pearson(x: FloatArray, y: FloatArray) -> float:
    """Pearson correlation of two (N,) arrays; NaN if either is constant."""
    a, b = x - x.mean(), y - y.mean()
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(np.clip(a @ b / math.sqrt(float(a @ a) * float(b @ b)), -1, 1))


def pearson_influence(x: FloatArray, y: FloatArray) -> FloatArray:
    """How much each item moves the Pearson correlation, (N,), mean zero (the influence function)."""
    a, b = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    return np.asarray(a * b - float((a * b).mean()) * (a**2 + b**2) / 2)


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman rank correlation of two (N,) arrays: Pearson's of their average ranks; NaN if either is constant."""
    first, second = check_values("x", x), check_values("y", y)
    if len(first) != len(second):
        raise InputError(
            "x and y must have the same length", f"got {len(first)} and {len(second)}", "Line up the items"
        )
    centred = [_centred_ranks(values) for values in (first, second)]
    scale = math.sqrt(float(centred[0] @ centred[0]) * float(centred[1] @ centred[1]))
    return float(np.clip(centred[0] @ centred[1] / scale, -1, 1)) if scale > 0 else math.nan


def spearman_influence(x: FloatArray, y: FloatArray) -> FloatArray:
    """How much each item moves the Spearman correlation, (N,), mean zero (the influence function).

    The mean of these over a resample, added to the correlation, is the resample's correlation to first
    order, re-ranking included; so its sampling spread costs two sorts instead of two for each resample.
    """
    n = len(x)
    a, b = _centred_ranks(x) / n, _centred_ranks(y) / n
    var_a, var_b, cov = float(a @ a) / n, float(b @ b) / n, float(a @ b) / n
    if var_a * var_b == 0:
        return np.full(n, math.nan)
    # An item enters each moment once by its own ranks, and once by shifting the ranks of those above it.
    d_cov = a * b + _mean_above(x, b) + _mean_above(y, a)
    d_var_a = a * a + 2 * _mean_above(x, a)
    d_var_b = b * b + 2 * _mean_above(y, b)
    scale = math.sqrt(var_a * var_b)
    influence = d_cov / scale - cov / (2 * scale) * (d_var_a / var_a + d_var_b / var_b)
    return np.asarray(influence - influence.mean())


def _centred_ranks(values: FloatArray) -> FloatArray:
    ranks = average_ranks(values)
    return np.asarray(ranks - ranks.mean())


def _mean_above(order_by: FloatArray, values: FloatArray) -> FloatArray:
    """For each item, the mean over all items of `values` where `order_by` is greater (half where equal)."""
    _, group = np.unique(order_by, return_inverse=True)
    sums = np.bincount(group, weights=values)
    above = np.cumsum(sums[::-1])[::-1] - sums
    return np.asarray((above + sums / 2)[group] / len(values))
