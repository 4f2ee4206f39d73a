"""Two methods on the same seeds (or items): exact paired tests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_choice, check_values
from votewise._errors import InputError

ALTERNATIVES = ("two-sided", "less", "greater")

# The exact distribution takes n^3 steps; past this many pairs the normal approximation is as good.
_MOST_EXACT = 200


@dataclass(frozen=True)
class Wilcoxon:
    """A signed-rank test.

    Attributes:
        statistic: sum of the ranks of the positive differences.
        p_value: exact up to 200 differences that are not zero, normal approximation beyond.
        n: differences that are not zero.
        alternative: what the test looked for.
    """

    statistic: float
    p_value: float
    n: int
    alternative: str


@dataclass(frozen=True)
class Comparison:
    """Method a against method b over paired values, difference = a - b.

    Attributes:
        n: pairs.
        mean: mean difference.
        sd: standard deviation of the differences, n - 1 in the divisor; NaN for one pair.
        wins: pairs in which a is better.
        test: two-sided signed-rank test.
    """

    n: int
    mean: float
    sd: float
    wins: int
    test: Wilcoxon


def wilcoxon(differences: npt.ArrayLike, *, alternative: str = "two-sided") -> Wilcoxon:
    """Exact Wilcoxon signed-rank test that differences are symmetric about zero.

    Zeros are dropped; tied sizes share their mean rank, and the distribution is exact with them too. Differences are
    rounded to 12 digits of the largest, so that the noise of subtraction does not break ties.

    Args:
        differences: (n,) a - b for each pair.
        alternative: "two-sided", "less" (a tends to be below b) or "greater".

    Example:
        >>> wilcoxon([-1, -2, -3, -4, -5], alternative="less").p_value
        0.03125
    """
    check_choice("alternative", alternative, ALTERNATIVES)
    values = _rounded(check_values("differences", differences))
    values = values[values != 0]
    n = len(values)
    if n == 0:
        return Wilcoxon(0.0, 1.0, 0, alternative)
    _, place, times = np.unique(np.abs(values), return_inverse=True, return_counts=True)
    doubled = (2 * np.cumsum(times) - times + 1)[place]  # twice the mean rank: whole numbers, even with ties
    above = int(doubled[values > 0].sum())
    tail = _exact_tails(doubled, above) if n <= _MOST_EXACT else _normal_tails(doubled / 2, above / 2)
    p = {"less": tail[0], "greater": tail[1], "two-sided": min(1.0, 2 * min(tail))}[alternative]
    return Wilcoxon(above / 2, float(p), n, alternative)


def compare_paired(a: npt.ArrayLike, b: npt.ArrayLike, *, greater_is_better: bool = False) -> Comparison:
    """Compare two methods on the same seeds.

    Args:
        a: (n,) scores of the first method.
        b: (n,) scores of the second.
        greater_is_better: whether a pair is won by the larger score, as with accuracy, or by the smaller, as with NLL.
    """
    first, second = check_values("a", a), check_values("b", b)
    if first.shape != second.shape:
        raise InputError(
            "paired values must have the same length", f"got {len(first)} and {len(second)}", "Line up the seeds"
        )
    differences = _rounded(first - second, float(np.abs(np.concatenate([first, second])).max()))
    sd = float(differences.std(ddof=1)) if len(differences) > 1 else math.nan
    better = differences > 0 if greater_is_better else differences < 0
    return Comparison(len(differences), float(differences.mean()), sd, int(better.sum()), wilcoxon(differences))


def _rounded(differences: FloatArray, scale: float | None = None) -> FloatArray:
    """Differences rounded to 12 digits of a scale, their largest if left out, so that ties are equal."""
    scale = max(float(np.abs(differences).max()) if scale is None else scale, 1e-300)
    return np.asarray((differences / scale).round(12) * scale)


def _exact_tails(doubled: npt.NDArray[np.int64], above: int) -> tuple[float, float]:
    """P(W <= w) and P(W >= w) when each rank is positive with chance one half."""
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled:
        # Halving as we go keeps the counts of 2^n sign patterns within range, and halving is exact.
        shifted = np.zeros_like(ways)
        shifted[rank:] = ways[:-rank]
        ways = (ways + shifted) / 2
    return float(min(ways[: above + 1].sum(), 1.0)), float(min(ways[above:].sum(), 1.0))


def _normal_tails(ranks: FloatArray, above: float) -> tuple[float, float]:
    """The same by the normal approximation with continuity correction."""
    mean, sd = ranks.sum() / 2, math.sqrt((ranks**2).sum() / 4)
    return (
        0.5 * math.erfc(-(above - mean + 0.5) / sd / math.sqrt(2)),
        0.5 * math.erfc((above - mean - 0.5) / sd / math.sqrt(2)),
    )
