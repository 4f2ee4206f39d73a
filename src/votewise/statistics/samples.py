"""A number over seeds: its mean, spread and interval, and two such numbers compared seed by seed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from votewise._checks import FloatArray
from votewise.statistics.multiplicity import holm
from votewise.statistics.paired import wilcoxon

# Equal differences of rounded scores differ by the noise of subtraction; rounding makes them equal again.
_DIGITS = 12


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (n - 1) over n seeds; NaN where there are too few for them."""

    mean: float
    sd: float
    n: int


@dataclass(frozen=True)
class Sample:
    """A number on each of several seeds.

    Attributes:
        by_seed: the number by seed, seeds ascending.
    """

    by_seed: Mapping[int, float]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, ascending."""
        return tuple(self.by_seed)

    @property
    def values(self) -> FloatArray:
        """(n,) the numbers in the order of the seeds."""
        return np.array(list(self.by_seed.values()), dtype=np.float64)

    @property
    def n(self) -> int:
        """How many seeds there are."""
        return len(self.by_seed)

    @property
    def mean(self) -> float:
        """Over seeds; NaN of none."""
        return float(self.values.mean()) if self.n else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation over seeds, n - 1 in the divisor; NaN for fewer than two."""
        return float(self.values.std(ddof=1)) if self.n > 1 else math.nan

    @property
    def spread(self) -> Spread:
        """Mean, standard deviation and size."""
        return Spread(self.mean, self.sd, self.n)

    @property
    def error(self) -> float:
        """Standard error of the mean; NaN for fewer than two seeds."""
        return self.sd / math.sqrt(self.n) if self.n else math.nan

    def on(self, seeds: Iterable[int]) -> Sample:
        """The same on some of the seeds."""
        kept = set(seeds)
        return Sample({seed: value for seed, value in self.by_seed.items() if seed in kept})

    def less(self, other: Sample) -> Sample:
        """This number less another, on the seeds that both have.

        >>> Sample({0: 0.5, 1: 0.7}).less(Sample({1: 0.4, 2: 0.1})).by_seed
        {1: 0.3}
        """
        return Sample(
            {
                seed: round(value - other.by_seed[seed], _DIGITS)
                for seed, value in self.by_seed.items()
                if seed in other.by_seed
            }
        )


def pair_sample(seeds: Sequence[int], matrix: FloatArray) -> Sample:
    """The mean over pairs of seeds, as a number on each seed whose standard error is the jackknife's.

    Pairs that share a seed are not independent, so a seed's value is its pseudo-value: the mean over all pairs, plus
    n - 1 times what that mean loses without the seed. Where some seed leaves no pair behind, no spread can be told, and
    the mean stands alone, under the first seed.

    Args:
        seeds: (n,) the seeds of rows and columns.
        matrix: (n, n) a symmetric comparison of every two seeds; NaN for those that were not compared.
    """
    known = ~np.isnan(matrix) & np.triu(np.ones(matrix.shape, dtype=bool), k=1)
    if not known.any():
        return Sample({})
    values = np.where(known, matrix, 0.0)
    mean = float(values.sum() / known.sum())
    pairs_without = known.sum() - known.sum(axis=0) - known.sum(axis=1)
    if not pairs_without.all():
        return Sample({seeds[0]: mean})
    without = (values.sum() - values.sum(axis=0) - values.sum(axis=1)) / pairs_without
    pseudo = mean + (len(seeds) - 1) * (without.mean() - without)
    return Sample(dict(sorted(zip(seeds, pseudo.tolist(), strict=True))))


def common_seeds(samples: Sequence[Sample]) -> tuple[int, ...]:
    """The seeds that all samples have, ascending; none if there are no samples."""
    shared = set.intersection(*(set(sample.by_seed) for sample in samples)) if samples else set()
    return tuple(sorted(shared))


def pooled_sd(samples: Iterable[tuple[float | None, int]]) -> tuple[float, int]:
    """The standard deviation that samples share, and its degrees of freedom; NaN and 0 of none.

    Args:
        samples: standard deviation and size of each; those whose deviation is None or NaN do not count.
    """
    known = [(sd, n - 1) for sd, n in samples if sd is not None and math.isfinite(sd)]
    freedom = sum(free for _, free in known)
    return math.sqrt(sum(free * sd**2 for sd, free in known) / freedom) if freedom else math.nan, freedom


@dataclass(frozen=True)
class PairedTest:
    """An exact paired Wilcoxon test of two numbers on the seeds that both have.

    Attributes:
        n: pairs.
        difference: mean over pairs, first less second; NaN without pairs.
        wins: pairs in which the first is better.
        untied: pairs that differ; only these count in the test.
        p_value: None where fewer than two pairs allow no test.
        alternative: "two-sided", or whether the first is expected to be "less" or "greater".
        p_holm: adjusted by Holm over a family of tests, once `adjusted` has done so.
    """

    n: int
    difference: float
    wins: int
    untied: int
    p_value: float | None
    alternative: str = "two-sided"
    p_holm: float | None = None


def paired_test(
    first: Sample, second: Sample, *, alternative: str = "two-sided", smaller_is_better: bool = True
) -> PairedTest:
    """Compare two numbers seed by seed.

    Args:
        first: the number tested.
        second: the number it is tested against.
        alternative: "two-sided", "less" or "greater".
        smaller_is_better: whether a pair is won by the smaller number.
    """
    differences = first.less(second).values
    better = differences < 0 if smaller_is_better else differences > 0
    return PairedTest(
        len(differences),
        float(differences.mean()) if len(differences) else math.nan,
        int(better.sum()),
        int(np.count_nonzero(differences)),
        wilcoxon(differences, alternative=alternative).p_value if len(differences) > 1 else None,
        alternative,
    )


def adjusted(tests: Sequence[PairedTest]) -> tuple[PairedTest, ...]:
    """The tests of one family, adjusted by Holm over those that could be done."""
    done = [test.p_value for test in tests if test.p_value is not None]
    corrected = iter(holm(done).tolist() if done else ())
    return tuple(test if test.p_value is None else replace(test, p_holm=next(corrected)) for test in tests)
