"""The one rule of verdicts: when seeds confirm a statement, contradict it, or leave it undecided.

A statement says that means over seeds lie between two bounds. One infinite bound makes it directional ("lower than",
"at least twice"); two finite ones make it a statement of equivalence ("level within 0.01").

- A mean is tested by Student's t of one value per seed, usually a paired difference. A directional statement takes the
  two-sided 95 % interval. Equivalence takes two one-sided tests (TOST), whose interval is that of 90 %; that a test
  finds no difference never confirms it.
- Where a statement is about several means, at least k of n, both sides are tested by partial conjunction (Benjamini &
  Heller, "Screening for partial conjunction hypotheses", Biometrics 2008). For all of n that is the largest p.
- Where a statement is about each seed rather than their mean, the interval is that of one further seed.
- Statements of one family are adjusted by Holm, and decided by the adjusted p alone.
- A number that someone else published agrees with ours if the two means are within what Student's t allows at 95 % for
  the degrees of freedom of the SD they share.
- Seeds whose splits overlap are not independent. What the correction of Nadeau & Bengio ("Inference for the
  generalization error", Machine Learning 2003) makes of p stands beside it and decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from votewise.statistics.multiplicity import holm
from votewise.statistics.samples import Sample, pooled_sd

Verdict = Literal["confirmed", "contradicted", "undecided", "not run"]

ALPHA = 0.05

# Two means are level if they differ by less than this. Chosen when ten seeds of arXiv 2605.20642 had been seen, and
# fixed for all results that follow.
MARGINS = {"soft NLL": 0.01, "accuracy": 0.01, "ECE": 0.005, "entropy correlation": 0.02, "epochs": 10.0}

# The same for ratios, as in tests of bioequivalence.
RATIOS = (0.8, 1.25)

# With fewer seeds than this nothing is decided: the spread of two numbers says too little of any spread.
FEWEST = 3


# A standard deviation and its degrees of freedom.
Deviation = tuple[float, int]


@dataclass(frozen=True)
class Hypothesis:
    """The statement that means over seeds lie between two bounds.

    Attributes:
        samples: one for each mean.
        low: lower bound, -inf for none.
        high: upper bound, inf for none.
        at_least: how many of the means must lie there; None for all.
        each_seed: whether it is about each seed rather than the mean over seeds.
    """

    samples: tuple[Sample, ...]
    low: float
    high: float
    at_least: int | None = None
    each_seed: bool = False

    @property
    def directional(self) -> bool:
        """Whether there is only one bound."""
        return math.isinf(self.low) or math.isinf(self.high)


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with the interval that decides about it before Holm.

    Attributes:
        n: number of seeds.
        mean: NaN without seeds.
        low: lower end of the interval; NaN where there are too few seeds for one.
        high: upper end of the interval.
        as_stated: whether the mean lies between the bounds; each seed's value, where the hypothesis is about each seed.
    """

    n: int
    mean: float
    low: float
    high: float
    as_stated: bool


@dataclass(frozen=True)
class Decision:
    """What seeds say of a hypothesis.

    Attributes:
        verdict: "not run" where no sample has a value.
        estimates: one for each sample.
        p_value: probability of data that speak as clearly for the side they are on, were the other side true; None
            where no sample has enough seeds.
        p_holm: the same, adjusted over the family; it decides.
        p_overlapping: the same, adjusted, with the correction for overlapping splits.
        reach: how far beyond a bound the least certain mean would have had to lie to be decided; None without spread.
    """

    verdict: Verdict
    estimates: tuple[Estimate, ...]
    p_value: float | None
    p_holm: float | None
    p_overlapping: float | None
    reach: float | None

    @property
    def rests_on_independence(self) -> bool:
        """Whether it is decided, and would not be with the correction for overlapping splits."""
        return self.verdict in ("confirmed", "contradicted") and (self.p_overlapping or 0.0) > ALPHA


def decide(family: Sequence[Hypothesis], *, overlap: float = 0.0) -> tuple[Decision, ...]:
    """Decide all hypotheses of a family; one that stands alone is a family of its own.

    Hypotheses without enough seeds count as members, so that a verdict does not weaken when they are run.

    Args:
        family: the hypotheses that share the error rate of 5 %.
        overlap: items tested per item trained on where seeds split the same items anew; 0 for independent seeds.
    """
    if not family:
        return ()
    plain, corrected = ([_p_values(one, correction) for one in family] for correction in (0.0, overlap))
    adjusted, adjusted_corrected = (holm([min(pair) for pair in pairs]).tolist() for pairs in (plain, corrected))
    decisions = []
    for row, one in enumerate(family):
        inside, outside = plain[row]
        testable = any(sample.n >= FEWEST for sample in one.samples)
        verdict: Verdict = "undecided"
        if not any(sample.n for sample in one.samples):
            verdict = "not run"
        elif adjusted[row] <= ALPHA:
            verdict = "confirmed" if inside < outside else "contradicted"
        decisions.append(
            Decision(
                verdict,
                tuple(_estimate(sample, one) for sample in one.samples),
                min(inside, outside) if testable else None,
                adjusted[row] if testable else None,
                adjusted_corrected[row] if testable else None,
                _reach(one, len(family)),
            )
        )
    return tuple(decisions)


@dataclass(frozen=True)
class Published:
    """One published number.

    Attributes:
        mean: mean over seeds.
        sd: standard deviation over seeds, n - 1 in the divisor; None where it is not printed.
        seeds: number of seeds.
        place: table and row, figure or section.
    """

    mean: float
    sd: float | None
    seeds: int
    place: str


@dataclass(frozen=True)
class Agreement:
    """How far a number of ours is from a published one.

    Attributes:
        distance: ours less the published in standard errors of that difference; None where either is missing, or there
            is no spread.
        verdict: "agrees" or "apart", or why neither can be said.
        shared: the SD and its degrees of freedom, where several numbers share one.
    """

    distance: float | None
    verdict: str
    shared: Deviation | None = None


def agreements(
    ours: Sequence[Sample],
    published: Sequence[Published | None],
    groups: Sequence[Hashable] | None = None,
) -> tuple[Agreement, ...]:
    """How far numbers of ours are from the published ones.

    Args:
        ours: each number by seed.
        published: the published number beside each; None where there is none.
        groups: for each number what it shares an SD with, since single SDs of three or five seeds say little; where
            left out, each has its own, pooled from ours and the published as two samples of one experiment.
    """
    from scipy.special import stdtrit

    samples: dict[Hashable, list[tuple[float | None, int]]] = {}
    members = range(len(ours)) if groups is None else groups
    for sample, printed, group in zip(ours, published, members, strict=True):
        if printed is not None:
            samples.setdefault(group, []).extend([(sample.sd, sample.n), (printed.sd, printed.seeds)])
    deviations = {group: pooled_sd(theirs) for group, theirs in samples.items()}
    found = []
    for sample, printed, group in zip(ours, published, members, strict=True):
        deviation = deviations.get(group, (math.nan, 0))
        distance = standard_errors(sample, printed, deviation)
        if not sample.n:
            verdict = "not run"
        elif printed is None:
            verdict = "no published number"
        elif sample.n < FEWEST:
            verdict = "too few seeds"
        elif distance is None:
            verdict = "no spread"
        else:
            verdict = "agrees" if abs(distance) <= stdtrit(deviation[1], 1 - ALPHA / 2) else "apart"
        found.append(Agreement(distance, verdict, None if groups is None else deviations.get(group)))
    return tuple(found)


def standard_errors(ours: Sample, published: Published | None, deviation: Deviation) -> float | None:
    """Ours less the published in standard errors of that difference, SD sqrt(1 / n_published + 1 / n_ours).

    Args:
        ours: a number by seed.
        published: the published number; there is no distance to None.
        deviation: the SD of both.
    """
    if published is None or not (ours.n and deviation[0] > 0 and math.isfinite(ours.mean)):
        return None
    return (ours.mean - published.mean) / (deviation[0] * math.sqrt(1 / published.seeds + 1 / ours.n))


def _p_values(hypothesis: Hypothesis, overlap: float) -> tuple[float, float]:
    """How easily chance alone would have put the means inside the bounds, and outside."""
    from scipy.special import stdtr

    inside, outside = [], []
    for sample in hypothesis.samples:
        if sample.n < FEWEST:
            inside.append(1.0)
            outside.append(1.0)
            continue
        error, freedom = _error(sample, each_seed=hypothesis.each_seed, overlap=overlap), sample.n - 1
        above_low, above_high = (
            float(stdtr(freedom, _ratio(bound - sample.mean, error))) for bound in (hypothesis.low, hypothesis.high)
        )
        below_low, below_high = (
            float(stdtr(freedom, _ratio(sample.mean - bound, error))) for bound in (hypothesis.low, hypothesis.high)
        )
        tests = 2 if hypothesis.directional else 1
        inside.append(min(1.0, tests * max(above_low, below_high)))
        outside.append(min(1.0, 2 * min(below_low, above_high)))
    n = len(hypothesis.samples)
    least = n if hypothesis.at_least is None else hypothesis.at_least
    return _partial_conjunction(inside, least), _partial_conjunction(outside, n - least + 1)


def _partial_conjunction(p_values: Sequence[float], least: int) -> float:
    """The p of the statement that at least so many of the effects are real."""
    return min(1.0, (len(p_values) - least + 1) * sorted(p_values)[least - 1])


def _estimate(sample: Sample, hypothesis: Hypothesis) -> Estimate:
    from scipy.special import stdtrit

    half = math.nan
    if sample.n >= FEWEST:
        tail = ALPHA / 2 if hypothesis.directional else ALPHA
        half = float(stdtrit(sample.n - 1, 1 - tail)) * _error(sample, each_seed=hypothesis.each_seed)
    mean = sample.mean
    values = sample.values if hypothesis.each_seed else [mean]
    inside = all(hypothesis.low < value < hypothesis.high for value in values)
    return Estimate(sample.n, mean, mean - half, mean + half, inside)


def _reach(hypothesis: Hypothesis, members: int) -> float | None:
    """Holm rejects for certain at a level of alpha / members, so a mean beyond the reach would have been decided."""
    from scipy.special import stdtrit

    if any(sample.n < FEWEST for sample in hypothesis.samples):
        return None
    n = len(hypothesis.samples)
    shared = members * (1 if hypothesis.at_least is None else n - hypothesis.at_least + 1)
    tail = ALPHA / shared / (2 if hypothesis.directional else 1)
    return max(
        float(stdtrit(sample.n - 1, 1 - tail)) * _error(sample, each_seed=hypothesis.each_seed)
        for sample in hypothesis.samples
    )


def _error(sample: Sample, *, each_seed: bool, overlap: float = 0.0) -> float:
    """Standard error of the mean, or that of a further seed about it, which overlapping splits do not change."""
    return sample.sd * math.sqrt(1 + 1 / sample.n if each_seed else overlap + 1 / sample.n)


def _ratio(distance: float, error: float) -> float:
    """A distance in standard errors; without spread any distance is infinitely many, and none is none."""
    if error:
        return distance / error
    return math.copysign(math.inf, distance) if distance else 0.0
