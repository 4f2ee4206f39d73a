"""What a paper says in words, as data: weighted sums of numbers per seed, and the bounds their means must lie between.

`claim_lower`, `claim_order`, `claim_level` and the others give the contrasts and bounds of the usual statements:
`Claim("SLS is below soft labels in soft NLL", *claim_lower("soft_nll_best", SLS, SOFT), "Table 2")`. The verdict is
that of `votewise.statistics.decide`; nothing here judges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._text import counted, format_p
from votewise.papers.suites import Number, Where
from votewise.records.results import Results
from votewise.report.document import Table
from votewise.statistics import Sample, common_seeds
from votewise.statistics.decide import FEWEST, MARGINS, RATIOS, Decision, Hypothesis, Verdict, decide

# So many means are shown one by one, more as a range.
_FEW = 4

# Numbers from this size on are shown with one decimal.
_LARGE = 10.0

# Equal differences of rounded scores differ by the noise of subtraction; rounding makes them equal again.
_DIGITS = 12


@dataclass(frozen=True)
class Contrast:
    """A weighted sum of numbers, one value for each seed that has them all.

    Attributes:
        terms: weight, number and the runs it is of. A number is its name, or a function of results and runs.
        log: whether the sum is of logarithms; seeds whose numbers are not positive are left out.
        name: what tells it from the others of a claim, such as "5 votes".
    """

    terms: tuple[tuple[float, Number, Where], ...]
    log: bool = False
    name: str = ""

    def __add__(self, other: Contrast) -> Contrast:
        """The sum of both."""
        return Contrast((*self.terms, *other.terms), self.log, self.name)

    def __sub__(self, other: Contrast) -> Contrast:
        """This less the other."""
        return self + -1 * other

    def __rmul__(self, weight: float) -> Contrast:
        """This so many times."""
        return Contrast(tuple((weight * one, *rest) for one, *rest in self.terms), self.log, self.name)  # type: ignore[misc]

    def sample(self, results: Results) -> Sample:
        """Its value on each seed."""
        samples = [
            results.sample(number, where) if isinstance(number, str) else number(results, where)
            for _, number, where in self.terms
        ]
        if self.log:
            samples = [Sample({s: math.log(x) for s, x in one.by_seed.items() if x > 0}) for one in samples]
        weights = [weight for weight, *_ in self.terms]
        return Sample(
            {
                seed: round(sum(w * one.by_seed[seed] for w, one in zip(weights, samples, strict=True)), _DIGITS)
                for seed in common_seeds(samples)
            }
        )


Bounded = tuple[tuple[Contrast, ...], float, float]


@dataclass(frozen=True)
class Claim:
    """A statement about means over seeds.

    Attributes:
        text: the statement; it names its subjects and does not negate.
        contrasts: what must lie between the bounds.
        low: lower bound, of logarithms where the contrasts are; -inf for none.
        high: upper bound; inf for none.
        place: table, figure or section that it is about.
        source: "paper" where the paper says it, "ours" where we add it.
        family: name of the claims that Holm adjusts together; empty for a claim that stands alone.
        at_least: how many of the contrasts must lie there, where the paper counts; None for all.
        each_seed: whether it is about each seed rather than their mean.
    """

    text: str
    contrasts: tuple[Contrast, ...]
    low: float
    high: float
    place: str
    source: str = "paper"
    family: str = ""
    at_least: int | None = None
    each_seed: bool = False


@dataclass(frozen=True)
class JudgedClaim:
    """A claim and what the seeds say of it."""

    claim: Claim
    decision: Decision

    @property
    def verdict(self) -> Verdict:
        """One of "confirmed", "contradicted", "undecided" (the seeds leave it open) and "not run"."""
        return self.decision.verdict

    @property
    def found(self) -> str:
        """Our means in words, with the intervals that decide; empty where no run has them."""
        pairs = [
            (contrast, one)
            for contrast, one in zip(self.claim.contrasts, self.decision.estimates, strict=True)
            if one.n
        ]
        if not pairs:
            return ""
        numbers = sorted({one.n for _, one in pairs})
        seeds = counted(numbers[-1], "seed") if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]} seeds"
        if len(pairs) <= _FEW:
            alone = len(self.claim.contrasts) == 1
            named = []
            for contrast, one in pairs:
                mean, low, high = (_claim_number_in_words(contrast, number) for number in (one.mean, one.low, one.high))
                interval = "" if math.isnan(one.low) else f" ({low} to {high})"
                named.append(f"{'' if alone else contrast.name} {mean}{interval}".lstrip())
            return f"{'; '.join(named)}; {seeds}"
        lowest, highest = (
            _claim_number_in_words(pairs[0][0], pick(one.mean for _, one in pairs)) for pick in (min, max)
        )
        inside = f"as stated in {sum(one.as_stated for _, one in pairs)} of {len(self.claim.contrasts)}"
        return f"{lowest} to {highest}, {inside}; {seeds}"

    @property
    def could_have_shown(self) -> str:
        """The smallest difference that the seeds of an undecided claim could have shown; empty for other claims."""
        reach = self.decision.reach
        if self.verdict != "undecided":
            return ""
        if reach is None:
            return f"nothing, with fewer than {FEWEST} seeds"
        contrast = self.claim.contrasts[0]
        if math.isfinite(self.claim.low) and math.isfinite(self.claim.high):
            shown = _claim_number_in_words(contrast, reach, sign="")
            return f"1/{shown} to {shown}" if contrast.log else f"±{shown}"
        return _claim_number_in_words(
            contrast, self.claim.low + reach if math.isfinite(self.claim.low) else self.claim.high - reach
        )

    def as_json(self) -> dict[str, Any]:
        """The claim in plain values."""
        claim, decision = self.claim, self.decision
        return {
            "claim": claim.text,
            "found": self.found,
            "holds": {"confirmed": True, "contradicted": False}.get(self.verdict),
            "verdict": self.verdict,
            "could_have_shown": self.could_have_shown,
            "source": claim.source,
            "place": claim.place,
            "family": claim.family,
            "p": decision.p_value,
            "p_holm": decision.p_holm,
            "p_overlapping": decision.p_overlapping,
            "estimates": [
                {
                    "of": contrast.name,
                    "n": one.n,
                    "mean": one.mean,
                    "low": _claim_bound_as_json(one.low),
                    "high": _claim_bound_as_json(one.high),
                }
                for contrast, one in zip(claim.contrasts, decision.estimates, strict=True)
                if one.n
            ],
        }


LEGEND = (
    'A statement says that means over seeds lie between bounds; "ours" gives them with the interval that decides. A '
    "directional statement (above, below, earlier) takes the 95 % interval of Student's t; a statement that two are "
    "level takes two one-sided tests at 5 %, whose interval is that of 90 %. The margins of level ("
    f"{', '.join(f'{name} ±{margin:g}' for name, margin in MARGINS.items())}; ratios {RATIOS[0]} to {RATIOS[1]}) were "
    "chosen when ten seeds had been seen, and are fixed for all results that follow. p is adjusted by Holm over the "
    "statements of a family, those not run among them, and decides: confirmed or contradicted at 0.05 or less, else "
    "undecided. Beside it stands p with the correction of Nadeau and Bengio, as seeds split the same images anew; it "
    f'decides nothing. Fewer than {FEWEST} seeds decide nothing. "Could have shown" is the smallest value that the '
    "seeds of an undecided statement would have decided."
)


def claims_table(claims: Sequence[JudgedClaim]) -> Table:
    """One row per claim."""
    rows = tuple(
        (
            one.claim.text,
            "; ".join(filter(None, ("ours" if one.claim.source == "ours" else one.claim.place, one.claim.family))),
            one.found or "–",
            format_p(one.decision.p_holm),
            format_p(one.decision.p_overlapping),
            one.verdict,
            one.could_have_shown,
        )
        for one in claims
    )
    header = ("statement", "source; family", "ours", "p", "overlapping splits", "verdict", "could have shown")
    return Table(header, rows, words=(*header[:3], *header[5:]))


def claim_verdicts_in_words(claims: Sequence[JudgedClaim]) -> str:
    """How many claims have which verdict, in words."""
    counts = Counter(one.verdict for one in claims)
    theirs = sum(one.claim.source == "paper" for one in claims)
    weak = sum(one.decision.rests_on_independence for one in claims)
    return (
        f"We checked {counted(len(claims), 'statement')}, {theirs} of the paper and {len(claims) - theirs} of our own: "
        f"{counts['confirmed']} confirmed, {counts['contradicted']} contradicted, {counts['undecided']} undecided for "
        f"want of seeds, {counts['not run']} not run. Counting that seeds share images between their splits, {weak} of "
        f"the {counts['confirmed'] + counts['contradicted']} decided ones would be undecided."
    )


def judge_claims(claims: Sequence[Claim], results: Results, *, overlap: float = 0.0) -> tuple[JudgedClaim, ...]:
    """Every claim with its verdict, in order.

    Args:
        claims: all of a paper's, so that families are whole.
        results: the runs.
        overlap: held-out items per training item, where seeds split the same items anew.
    """
    families: dict[str, list[int]] = {}
    for place, claim in enumerate(claims):
        families.setdefault(claim.family or f"alone {place}", []).append(place)
    decisions: dict[int, Decision] = {}
    for members in families.values():
        hypotheses = [
            Hypothesis(
                tuple(contrast.sample(results) for contrast in claims[place].contrasts),
                claims[place].low,
                claims[place].high,
                claims[place].at_least,
                claims[place].each_seed,
            )
            for place in members
        ]
        decisions |= dict(zip(members, decide(hypotheses, overlap=overlap), strict=True))
    return tuple(JudgedClaim(claim, decisions[place]) for place, claim in enumerate(claims))


def claim_value(number: Number, where: Where, name: str = "") -> Contrast:
    """One number of some runs."""
    return Contrast(((1.0, number, where),), name=name)


def claim_gap(number: Number, first: Where, second: Where, name: str = "") -> Contrast:
    """A number of the first runs less that of the second."""
    return claim_value(number, first, name) - claim_value(number, second)


def claim_mean(contrasts: Sequence[Contrast], name: str = "") -> Contrast:
    """The mean of several, seed by seed."""
    return replace(1 / len(contrasts) * sum(contrasts[1:], contrasts[0]), name=name)


def claim_within(low: float, high: float, *contrasts: Contrast) -> Bounded:
    """Each lies between two bounds."""
    return contrasts, low, high


def claim_positive(*contrasts: Contrast) -> Bounded:
    """Each is above zero."""
    return contrasts, 0.0, math.inf


def claim_negative(*contrasts: Contrast) -> Bounded:
    """Each is below zero."""
    return contrasts, -math.inf, 0.0


def claim_lower(number: Number, first: Where, second: Where) -> Bounded:
    """A number of the first runs is below that of the second."""
    return claim_negative(claim_gap(number, first, second))


def claim_level(margin: float, first: Contrast, second: Contrast) -> Bounded:
    """Two differ by less than a margin."""
    return claim_within(-margin, margin, first - second)


def claim_order(number: Number, *steps: Sequence[Where]) -> Bounded:
    """A number rises from each step to the next; the runs of one step may be in any order."""
    return claim_positive(
        *(
            claim_gap(number, high, low, f"{low['method']} < {high['method']}")
            for lows, highs in pairwise(steps)
            for low, high in product(lows, highs)
        )
    )


def claim_slope(contrasts: Sequence[Contrast], x: npt.ArrayLike) -> Contrast:
    """The slope of the straight line through each seed's values.

    Args:
        contrasts: one for each place.
        x: places of the contrasts.
    """
    places = np.asarray(x, dtype=np.float64)
    centred = places - places.mean()
    parts = [float(weight) * one for weight, one in zip(centred / (centred**2).sum(), contrasts, strict=True)]
    return replace(sum(parts[1:], parts[0]), name="")


def claim_ratio(
    number: Number, pairs: Mapping[str, tuple[Where, Where]], low: float = 0.0, high: float = math.inf
) -> Bounded:
    """Ratios of a number, the first runs to the second, lie between two factors; their means are of logarithms.

    Args:
        number: positive.
        pairs: the runs of each ratio by its name.
        low: lowest factor.
        high: highest factor.
    """
    contrasts = tuple(
        Contrast(((1.0, number, first), (-1.0, number, second)), log=True, name=name)
        for name, (first, second) in pairs.items()
    )
    return contrasts, math.log(low) if low else -math.inf, math.log(high) if high < math.inf else math.inf


def claimed_on_other_seeds(series: str) -> Number:
    """A loss at the epoch at which the runs of the other seeds are best on average, so that none is chosen on it."""

    def number(results: Results, where: Where) -> Sample:
        curves = results.lines(series, where)
        total = np.sum(list(curves.values()), axis=0)
        return Sample({seed: float(line[np.argmin(total - line)]) for seed, line in curves.items() if len(curves) > 1})

    return number


def _claim_number_in_words(contrast: Contrast, number: float, *, sign: str = "+") -> str:
    """A value of a contrast in words: a factor where it is of logarithms, with its sign where it is a difference."""
    if contrast.log:
        return f"{math.exp(number):.2f}"
    digits = 1 if abs(number) >= _LARGE else 4
    return f"{number:{sign if len(contrast.terms) > 1 else ''}.{digits}f}"


def _claim_bound_as_json(number: float) -> float | None:
    return None if math.isnan(number) else number
