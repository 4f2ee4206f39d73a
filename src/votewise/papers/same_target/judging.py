"""When seeds decide a claim: when the 95 % interval of a difference, over the seeds both sides have, excludes zero.

A claim whose interval includes zero is undecided, on whichever side the mean lies. The interval is Student's t, since
the exact Wilcoxon test, which the paper uses and the tables show, cannot decide anything with fewer than six seeds.
Claims about a count of comparisons (`share`), or about means against a stated margin (`judged`), are taken literally.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from scipy.special import stdtrit

from votewise._checks import FloatArray
from votewise.papers.same_target.cells import ENOUGH, Claim, PairedTest, pooled_sd, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.report import counted
from votewise.report.content import Spread
from votewise.report.numbers import format_p

SIGNIFICANT = 0.05

# Seeds of each comparison but the main one in the paper: what it says of all seeds is easier said of fewer.
PAIRS = 5

BEYOND_PAPER = "beyond the paper: "


def above_zero(claim: str, differences: Spread | None, *, found: str = "") -> Claim:
    """Whether a mean difference is positive.

    Args:
        claim: in words.
        differences: over seeds; None where there is none.
        found: our numbers in words; mean, standard error and seeds if left out.
    """
    if differences is None:
        return Claim(claim, "", None)
    words = found or with_error(differences)
    side = _side(differences)
    return Claim(claim, f"{words}, {counted(differences.n, 'seed')}", None if side == 0 else side > 0)


def ahead(evidence: Evidence, claim: str, better: Group, worse: Group, name: str) -> Claim:
    """Whether a loss of one group is below that of another.

    Args:
        evidence: all runs.
        claim: in words.
        better: what is claimed to be lower.
        worse: than this.
        name: of the loss.
    """
    gains = by_seed(evidence, name, worse, better)
    found = "" if gains is None else f"difference {with_error(replace(gains, mean=-gains.mean))}"
    return above_zero(claim, gains, found=found)


def rises(claim: str, values: FloatArray, x: Sequence[float], *, unit: str) -> Claim:
    """Whether a number rises with x, by the slope of each seed's own straight line.

    Args:
        claim: in words.
        values: (seeds, conditions).
        x: (conditions,) of each.
        unit: of x, in words.
    """
    if not len(values):
        return Claim(claim, "", None)
    centred = np.asarray(x) - np.mean(x)
    slopes = spread((values @ centred / (centred**2).sum()).round(12))
    assert slopes is not None
    means = ", ".join(f"{mean:.4f}" for mean in values.mean(axis=0))
    return above_zero(claim, slopes, found=f"{means}; by {unit} {with_error(slopes)}")


def all_above(claim: str, cells: Sequence[Spread | None], found: str, *, bound: float = 0.0) -> Claim:
    """Whether each of several means lies above a bound; it fails if one is certainly below.

    Args:
        claim: in words.
        cells: means over seeds.
        found: our numbers in words.
        bound: for all of them.
    """
    there = [cell for cell in cells if cell is not None]
    if not there:
        return Claim(claim, "", None)
    sides = [_side(Spread(cell.mean - bound, cell.sd, cell.n)) for cell in there]
    seeds = counted(min(cell.n for cell in there), "seed")
    complete = len(there) == len(cells)
    return Claim(claim, f"{found}, {seeds}", False if min(sides) < 0 else True if complete and min(sides) > 0 else None)


def chain(evidence: Evidence, name: str, steps: Sequence[Sequence[Group]], claim: str) -> Claim:
    """Whether a number rises from step to step; the groups of a step may be in any order.

    Args:
        evidence: all runs.
        name: of the number.
        steps: groups from the lowest to the highest.
        claim: in words.
    """
    means, seeds = means_of(evidence, name, [group for step in steps for group in step])
    rises = [
        by_seed(evidence, name, high, low, seeds)
        for lower, higher in pairwise(steps)
        for low, high in product(lower, higher)
    ]
    found = " < ".join(_set([means[group] for group in step]) for step in steps)
    return all_above(claim, rises, found)


def no_difference(claim: str, test: PairedTest) -> Claim:
    """Whether a difference may be chance; undecided where it would not, were it not one of several that were tested."""
    if test.p_value is None:
        return Claim(claim, "", None)
    adjusted = test.p_value if test.p_holm is None else test.p_holm
    after = "" if test.p_holm is None else f", {format_p(test.p_holm)} after Holm"
    found = f"difference {test.difference:+.4f}, p {format_p(test.p_value)}{after}, {counted(test.n, 'seed')}"
    if not can_tell(test):
        return Claim(claim, found, None)
    return Claim(claim, found, True if test.p_value > SIGNIFICANT else False if adjusted <= SIGNIFICANT else None)


def share(claim: str, found: int, there: int, complete: int, enough: bool, *, least: int) -> Claim:
    """Whether at least that many of a complete set of comparisons, each of enough seeds, turned out as claimed."""
    decided = there == complete and enough
    return Claim(claim, f"in {found} of {there}" if there else "", found >= least if decided else None)


def within(what: str, cells: Sequence[Spread | None], bounds: tuple[float, float]) -> Claim:
    """Whether all means lie within printed bounds, by intervals with the SD that they share.

    Args:
        what: is measured.
        cells: means over seeds.
        bounds: lowest and highest.
    """
    there = [cell for cell in cells if cell is not None]
    claim = f"{what} has a mean over seeds of {bounds[0]} to {bounds[1]}"
    if not there:
        return Claim(claim, "", None)
    means = [cell.mean for cell in there]
    found = f"{min(means):.3f} to {max(means):.3f}" if len(cells) > 1 else f"{means[0]:.3f}"
    seeds = min(cell.n for cell in there)
    sd, freedom = pooled_sd([(cell.sd, cell.n) for cell in there])
    holds = None
    if seeds >= ENOUGH and freedom:
        reach = {cell: float(stdtrit(freedom, 0.975)) * sd / math.sqrt(cell.n) for cell in there}
        outside = any(cell.mean + reach[cell] < bounds[0] or cell.mean - reach[cell] > bounds[1] for cell in there)
        inside = all(bounds[0] <= cell.mean - reach[cell] and cell.mean + reach[cell] <= bounds[1] for cell in there)
        holds = False if outside else True if inside and len(there) == len(cells) else None
    return Claim(claim, f"{found}, {counted(seeds, 'seed')}", holds)


def judged(claim: str, found: str, holds: bool, seeds: int) -> Claim:
    """A claim that our means decide, given enough seeds; nothing was found without any."""
    return Claim(claim, f"{found}, {counted(seeds, 'seed')}" if seeds else "", holds if seeds >= ENOUGH else None)


def can_tell(test: PairedTest) -> bool:
    """Whether that many pairs which differ could be significant, two-sided, at all."""
    return 2.0 ** (1 - test.untied) <= SIGNIFICANT


def by_seed(
    evidence: Evidence, name: str, first: Group, second: Group, seeds: Iterable[int] | None = None
) -> Spread | None:
    """A number of the first group less that of the second, over the seeds that both have, or over some of them."""
    one, other = evidence.values(first, name), evidence.values(second, name)
    common = sorted(one.keys() & other.keys() & (one.keys() if seeds is None else set(seeds)))
    # Equal differences of rounded scores differ by the noise of subtraction; rounding makes them equal again.
    return spread(np.array([one[seed] - other[seed] for seed in common]).round(12))


def means_of(evidence: Evidence, name: str, groups: Sequence[Group]) -> tuple[dict[Group, float], list[int]]:
    """The means of a number over the seeds that all groups have, and which these are."""
    values = {group: evidence.values(group, name) for group in groups}
    seeds = sorted(set.intersection(*map(set, values.values())))
    return {
        group: float(np.mean([found[seed] for seed in seeds] or math.nan)) for group, found in values.items()
    }, seeds


def by_seed_and_group(evidence: Evidence, name: str, groups: Sequence[Group]) -> FloatArray:
    """A number of each group, (seeds, groups), over the seeds that all have."""
    values = [evidence.values(group, name) for group in groups]
    seeds = sorted(set.intersection(*map(set, values)))
    return np.array([[found[seed] for found in values] for seed in seeds]).reshape(-1, len(groups))


def interval(cell: Spread) -> tuple[float, float]:
    """The 95 % interval of a mean over at least two seeds."""
    reach = float(stdtrit(cell.n - 1, 0.975)) * _error(cell)
    return cell.mean - reach, cell.mean + reach


def _side(differences: Spread) -> int:
    """On which side of zero a mean difference certainly lies, 1 or -1; 0 where that is open."""
    if differences.n < ENOUGH:
        return 0
    low, high = interval(differences)
    return 1 if low > 0 else -1 if high < 0 else 0


def with_error(cell: Spread) -> str:
    """A mean and its standard error, where it has one."""
    return f"{cell.mean:+.4f}" + (f" ± {_error(cell):.4f}" if cell.n > 1 else "")


def _error(cell: Spread) -> float:
    return cell.sd / math.sqrt(cell.n)


def _set(means: Sequence[float]) -> str:
    shown = ", ".join(f"{mean:.4f}" for mean in means)
    return shown if len(means) == 1 else f"{{{shown}}}"
