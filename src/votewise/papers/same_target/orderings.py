"""What the paper says in words, or must hold if its numbers do; each with a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from votewise.papers.same_target import readings
from votewise.papers.same_target.cells import Claim, PairedTest, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import METHODS
from votewise.papers.same_target.published import (
    GRADIENT_SPEARMAN_RANGE,
    IMPROVEMENT_SPEARMAN_RANGE,
    SCORES,
    SWEEP,
)
from votewise.papers.same_target.scalars import HOLDS, earlier, likeness
from votewise.papers.same_target.tables import paired_test, table_1, table_2, table_8
from votewise.report import counted
from votewise.report.numbers import format_p

_SIGNIFICANT = 0.05
_ENOUGH = 3  # seeds, below which a mean decides nothing
_HARD = ("sls", "multipass", "deterministic-control")


def orderings(evidence: Evidence) -> tuple[Claim, ...]:
    """Every claim, in the order of the paper's tables and figures."""
    return (
        *_sweep(evidence),
        *_main(evidence),
        *_curvature(evidence),
        *_resampling(evidence),
        *_correlations(evidence),
        *_between_runs(evidence),
        *_unknown(evidence),
    )


def chain(evidence: Evidence, name: str, steps: Sequence[Sequence[Group]], claim: str) -> Claim:
    """Whether the means of a number rise from step to step; the groups of one step in any order.

    Args:
        evidence: all runs.
        name: of the number.
        steps: groups from the lowest to the highest.
        claim: in words.
    """
    means = [[_mean(evidence, group, name) for group in step] for step in steps]
    if any(math.isnan(mean) for step in means for mean in step):
        return Claim(claim, "", None)
    rising = all(max(low) < min(high) for low, high in pairwise(means))
    seeds = _fewest(evidence, name, [group for step in steps for group in step])
    found = f"{' < '.join(_set(step) for step in means)}, from {counted(seeds, 'seed')} on"
    return Claim(claim, found, rising if seeds >= _ENOUGH else None)


def _sweep(evidence: Evidence) -> Iterator[Claim]:
    tests = [test for test in table_1(evidence).tests if test.n]
    below = sum(test.difference < 0 for test in tests)
    unanimous = sum(test.favourable == test.n for test in tests)
    claim = "with few votes every hard delivery is below soft labels in soft NLL, in all 12 cells"
    yield _share(claim, below, len(tests), 12, least=12)
    yield _share("in at least 9 of these 12 cells on every seed", unanimous, len(tests), 12, least=9)
    adjusted = [test.p_holm for test in tests if test.p_holm is not None]
    yield Claim(
        "after Holm over the 12 cells nothing is significant, as five pairs cannot show more",
        f"smallest adjusted p {format_p(min(adjusted))}" if adjusted else "",
        min(adjusted) > _SIGNIFICANT if len(adjusted) == 12 else None,
    )
    yield _gap_by_votes(evidence)
    yield _once_scaled(evidence)


def _share(claim: str, found: int, there: int, complete: int, *, least: int) -> Claim:
    """Whether at least so many of a complete set of comparisons came out as claimed."""
    return Claim(claim, f"in {found} of {there}" if there else "", found >= least if there == complete else None)


def _gap_by_votes(evidence: Evidence) -> Claim:
    """The anomaly at 50 votes: nearly the votes there are, so the gap should be nearly that of all votes."""
    few, full = (
        paired_test(evidence, Group("sls", votes), Group("soft", votes), "soft_nll", "soft_nll_best", "less")
        for votes in (50, None)
    )
    claim = "the gap of soft labels over SLS is wider with 50 votes than with all (about 51)"
    if not (few.n and full.n):
        return Claim(claim, "", None)
    gaps = (
        f"{-few.difference:+.4f} with 50 votes ({counted(few.n, 'seed')}), {-full.difference:+.4f} with all ({full.n})"
    )
    return Claim(claim, gaps, few.difference < full.difference if min(few.n, full.n) >= _ENOUGH else None)


def _once_scaled(evidence: Evidence) -> Claim:
    """Beyond the paper: whether the gain of hard deliveries is more than a better temperature."""
    gaps = [
        paired_test(evidence, Group(method, votes), Group("soft", votes), "soft_nll", "scaled/soft_nll", "less")
        for method in _HARD
        for votes in SWEEP
    ]
    there = [gap.difference for gap in gaps if gap.n]
    claim = "also once each model's temperature is fitted on other images, hard deliveries are below in all 12 cells"
    return _share(claim, sum(gap < 0 for gap in there), len(there), 12, least=12)


def _main(evidence: Evidence) -> Iterator[Claim]:
    soft, sls, mixup = Group("soft"), Group("sls"), Group("mixup")
    smoothed, majority = Group("label-smoothing"), Group("majority")
    yield chain(
        evidence, "soft_nll_best", [[sls, soft], [mixup], [smoothed], [majority]],
        "soft NLL: {SLS, soft labels} < mixup < label smoothing < majority vote",
    )  # fmt: skip
    yield chain(
        evidence, "soft_brier_best", [[mixup], [soft, sls], [smoothed], [majority]],
        "soft Brier: mixup < {soft labels, SLS} < label smoothing < majority vote",
    )  # fmt: skip
    yield chain(
        evidence, "entropy_correlation_best", [[smoothed], [mixup], [majority], [sls, soft]],
        "entropy correlation: label smoothing < mixup < majority vote < {SLS, soft labels}",
    )  # fmt: skip
    for test in table_2(evidence).tests:
        yield _level(test)
    yield _near_uniform(evidence)


def _level(test: PairedTest) -> Claim:
    claim = f"SLS and soft labels are level on all votes in {test.column}"
    if test.p_value is None:
        return Claim(claim, "", None)
    found = f"difference {test.difference:+.4f}, two-sided p {format_p(test.p_value)}, {test.n} seeds"
    return Claim(claim, found, test.p_value > _SIGNIFICANT if _can_tell(test) else None)


def _can_tell(test: PairedTest) -> bool:
    """Whether so many pairs could be significant, two-sided, at all."""
    return 2.0 ** (1 - test.n) <= _SIGNIFICANT


def _near_uniform(evidence: Evidence) -> Claim:
    mean = _mean(evidence, Group("shuffled-sls"), "soft_nll_best")
    claim = "shuffled SLS learns nothing: soft NLL within 0.01 of ln 10"
    return Claim(claim, *_judged(mean, f"{mean - math.log(10):+.4f} from it", abs(mean - math.log(10)) <= 0.01))


def _curvature(evidence: Evidence) -> Iterator[Claim]:
    for when, words in (("best", "at the best epoch"), ("last", "at the last"), ("common", "at one epoch for both")):
        methods = _HARD if when == "best" else ("sls",)
        means = {method: _mean(evidence, Group(method), f"{when}/full/largest") for method in ("soft", *methods)}
        shares = {METHODS[method]: means[method] / means["soft"] for method in methods}
        found = ", ".join(f"{name} {share:.2f}" for name, share in shares.items()) + " of soft labels"
        claim = f"λmax of {', '.join(METHODS[method] for method in methods)} is below half of soft labels' {words}"
        seeds = _fewest(evidence, f"{when}/full/largest", [Group(method) for method in ("soft", *methods)])
        below = max(shares.values()) < 0.5 if seeds >= _ENOUGH else None
        yield Claim(claim, f"{found}, from {counted(seeds, 'seed')} on" if seeds else "", below)


def _resampling(evidence: Evidence) -> Iterator[Claim]:
    yield chain(
        evidence, "soft_nll_best", [[Group("sls", hold=hold, first=5)] for hold in HOLDS],
        "the longer a drawn label is kept, the worse: soft NLL rises over 1, 5, 10, 50 epochs",
    )  # fmt: skip
    fresh = evidence.values(Group("sls"), "soft_nll_best")
    stale = [
        (value, fresh[seed])
        for hold in HOLDS[1:]
        for seed, value in evidence.values(Group("sls", hold=hold), "soft_nll_best").items()
        if seed in fresh
    ]
    worse = sum(kept > drawn for kept, drawn in stale)
    claim = "every stale condition is worse than fresh labels on every seed"
    yield _share(claim, worse, len(stale), len(stale) or -1, least=len(stale))


def _correlations(evidence: Evidence) -> Iterator[Claim]:
    cells = [
        spread(evidence.values(Group(method, votes), "js/spearman").values()) for method in _HARD for votes in SWEEP
    ]
    means = [cell.mean for cell in cells if cell is not None]
    yield _within("Spearman of redraw distance and improvement", means, IMPROVEMENT_SPEARMAN_RANGE, len(cells))
    found = list(evidence.values(Group("sls"), f"gradient/{readings.GRADIENT}").values())
    yield _within("Spearman of entropy and gradient variance", found, GRADIENT_SPEARMAN_RANGE, 1)


def _within(what: str, values: Sequence[float], bounds: tuple[float, float], least: int) -> Claim:
    """Whether values span no more than the paper's do, to the digits printed."""
    claim = f"{what} lies between {bounds[0]} and {bounds[1]}"
    if len(values) < least:
        return Claim(claim, "", None)
    low, high = min(values), max(values)
    return Claim(
        claim, f"{low:.3f} to {high:.3f} ({len(values)})", bounds[0] <= round(low, 3) and round(high, 3) <= bounds[1]
    )


def _between_runs(evidence: Evidence) -> Iterator[Claim]:
    for name, words in ((f"near_best/{readings.NEARNESS}", "comes near its best"), ("best_epoch", "is at its best")):
        gaps = list(earlier(evidence, name).values())
        order = "earlier" if np.mean(gaps or 0) > 0 else "later"
        found = f"{abs(np.mean(gaps)):.1f} epochs {order}, {len(gaps)} seeds" if gaps else ""
        yield Claim(f"SLS {words} earlier than soft labels", found, bool(np.mean(gaps) > 0) if gaps else None)
    for where, what, words in (
        (readings.MAP_IMAGES, readings.MAPS, "Grad-CAM maps"),
        (readings.MAP_IMAGES, f"{readings.MAPS}_high", "Grad-CAM maps of disputed images"),
        (readings.FEATURE_IMAGES, "cka", "features"),
    ):
        sls, soft = (likeness(evidence, method, where, what) for method in ("sls", "soft"))
        claim = f"{words} of SLS are more alike between seeds than those of soft labels"
        if sls is None or soft is None:
            yield Claim(claim, "", None)
        else:
            yield Claim(claim, f"{sls.mean:.3f} against {soft.mean:.3f}", sls.mean > soft.mean)


def _unknown(evidence: Evidence) -> Iterator[Claim]:
    two_sided = [test for test in table_8(evidence).tests if test.alternative == "two-sided"]
    done = [test for test in two_sided if test.p_value is not None]
    higher = sum(test.difference > 0 for test in done)
    claim = "SLS tells CIFAR-100 better than soft labels by each of the six scores"
    yield _share(claim, higher, len(done), len(SCORES), least=len(SCORES))
    sure = {test.column for test in done if test.p_value is not None and test.p_value <= _SIGNIFICANT}
    yield Claim(
        "energy and ODIN do so significantly, two-sided",
        f"significant: {', '.join(sorted(sure)) or 'none'}" if done else "",
        {"energy", "ODIN"} <= sure if len(done) == len(SCORES) and all(_can_tell(test) for test in done) else None,
    )


def _fewest(evidence: Evidence, name: str, groups: Sequence[Group]) -> int:
    """Seeds of the group that has the fewest."""
    return min(len(evidence.values(group, name)) for group in groups)


def _mean(evidence: Evidence, group: Group, name: str) -> float:
    found = spread(evidence.values(group, name).values())
    return math.nan if found is None else found.mean


def _judged(value: float, found: str, holds: bool) -> tuple[str, bool | None]:
    """What was found, unless the numbers for it are missing."""
    return ("", None) if math.isnan(value) else (found, holds)


def _set(means: Sequence[float]) -> str:
    shown = ", ".join(f"{mean:.4f}" for mean in means)
    return shown if len(means) == 1 else f"{{{shown}}}"
