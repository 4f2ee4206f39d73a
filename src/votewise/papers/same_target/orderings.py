"""What the paper says in words, what must hold if its numbers do, and what it leaves open; each with a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from votewise.papers.same_target import readings
from votewise.papers.same_target.cells import ENOUGH, Claim, PairedTest, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.names import BOTH, HARD, METHODS
from votewise.papers.same_target.published import (
    GRADIENT_SPEARMAN_RANGE,
    IMPROVEMENT_SPEARMAN_RANGE,
    SWEEP,
)
from votewise.papers.same_target.scalars import EARLIER, HOLDS, likeness, scalars, soft_less_sls
from votewise.papers.same_target.suites import BEYOND
from votewise.papers.same_target.tables import paired_test, table_1, table_2, table_8
from votewise.report import counted
from votewise.report.numbers import format_p
from votewise.statistics import wilcoxon

_SIGNIFICANT = 0.05
_BEYOND = "beyond the paper: "
_SCALED = "with temperatures fitted on other images"


def orderings(evidence: Evidence) -> tuple[Claim, ...]:
    """Every claim, in the order of the paper's tables and figures."""
    return (
        *_sweep(evidence),
        *_sparse(evidence),
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
    rising = all(max(low) < min(high) for low, high in pairwise(means))
    seeds = _fewest(evidence, name, [group for step in steps for group in step])
    return _judged(claim, " < ".join(_set(step) for step in means), rising, seeds)


def _sweep(evidence: Evidence) -> Iterator[Claim]:
    tests = table_1(evidence).tests
    seeds = min(test.n for test in tests)
    below = sum(test.difference < 0 for test in tests)
    unanimous = sum(test.favourable == test.n for test in tests if test.n)
    there = sum(test.n > 0 for test in tests)
    claim = "with few votes every hard delivery is below soft labels in soft NLL, in all 12 cells"
    yield _share(claim, below, there, len(tests), seeds, least=12)
    yield _share("in at least 9 of these 12 cells on every seed", unanimous, there, len(tests), seeds, least=9)
    adjusted = [test.p_holm for test in tests if test.p_holm is not None]
    lowest = min(adjusted, default=math.nan)
    claim = "after Holm over the 12 cells nothing is significant, as five pairs cannot show more"
    found = f"smallest adjusted p {format_p(lowest)}" if adjusted else ""
    yield Claim(claim, found, lowest > _SIGNIFICANT if seeds >= ENOUGH else None)
    yield _gaps_shrink(tests, seeds)
    yield from _nearly_all_votes(evidence)
    yield _gap_by_votes(evidence)
    yield _once_scaled(evidence)


def _share(claim: str, found: int, there: int, complete: int, seeds: int, *, least: int) -> Claim:
    """Whether at least so many of a complete set of comparisons, each of some seeds, came out as claimed."""
    decided = there == complete and seeds >= ENOUGH
    return Claim(claim, f"in {found} of {there}" if there else "", found >= least if decided else None)


def _gaps_shrink(tests: Sequence[PairedTest], seeds: int) -> Claim:
    """The mean over hard deliveries of what they gain, for each number of votes."""
    gaps = -np.array([test.difference for test in tests]).reshape(len(HARD), len(SWEEP)).mean(axis=0)
    claim = "the more votes, the smaller the gap of soft labels over hard deliveries: it falls over 5, 10, 25, 50"
    falling = all(more < fewer for fewer, more in pairwise(gaps))
    return _judged(claim, ", ".join(f"{gap:+.4f}" for gap in gaps), falling, seeds)


def _nearly_all_votes(evidence: Evidence) -> Iterator[Claim]:
    """As printed, 50 redrawn votes are far worse than the about 51 there are."""
    for method in BOTH:
        test = paired_test(evidence, Group(method, 50), Group(method), "soft_nll", "soft_nll_best", "two-sided")
        claim = f"{_BEYOND}soft NLL of {METHODS[method]} is higher with 50 redrawn votes than with all (about 51)"
        found = f"difference {test.difference:+.4f}, higher on {test.n - test.favourable}"
        yield _judged(claim, found, test.difference > 0, test.n)


def _gap_by_votes(evidence: Evidence) -> Claim:
    """The anomaly at 50 votes: nearly the votes there are, so the gap should be nearly that of all votes."""
    gaps = [soft_less_sls(evidence, "soft_nll_best", votes) for votes in (50, None)]
    seeds = sorted(gaps[0].keys() & gaps[1].keys())
    few, full = (float(np.mean([gap[seed] for seed in seeds] or math.nan)) for gap in gaps)
    claim = f"{_BEYOND}the gap of soft labels over SLS is wider with 50 votes than with all (about 51)"
    return _judged(claim, f"{few:+.4f} with 50 votes, {full:+.4f} with all", few > full, len(seeds))


def _once_scaled(evidence: Evidence) -> Claim:
    """Whether the gain of hard deliveries is more than a better temperature."""
    gaps = [
        paired_test(evidence, Group(method, votes), Group("soft", votes), "soft_nll", "scaled/soft_nll", "less")
        for method in HARD
        for votes in SWEEP
    ]
    below, there = sum(gap.difference < 0 for gap in gaps), sum(gap.n > 0 for gap in gaps)
    claim = f"{_BEYOND}{_SCALED}, hard deliveries are still below in all 12 cells"
    return _share(claim, below, there, len(gaps), min(gap.n for gap in gaps), least=12)


def _sparse(evidence: Evidence) -> Iterator[Claim]:
    """Whether anything is ahead of the paper's best where votes are few."""
    for votes in BEYOND["sparse"].votes:
        for method in ("soft-smoothed", "dirichlet-fitted"):
            groups = Group(method, votes), Group("multipass", votes)
            test = paired_test(evidence, *groups, "soft_nll", "soft_nll_best", "two-sided")
            claim = f"{_BEYOND}with {votes} votes {METHODS[method]}, are below multipass in soft NLL"
            found = f"difference {test.difference:+.4f}, below on {test.favourable}"
            yield _judged(claim, found, test.difference < 0, test.n)


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
        yield _level(f"SLS and soft labels are level on all votes in {test.column}", test)
    for name, words in (("soft_nll_last", "after the last epoch"), ("scaled/soft_nll", _SCALED)):
        test = paired_test(evidence, sls, soft, "soft_nll", name, "two-sided")
        yield _level(f"{_BEYOND}they are level in soft NLL {words}", test)
    for method in BOTH:
        yield _at_the_floor(evidence, method)
    yield _near_uniform(evidence)


def _level(claim: str, test: PairedTest) -> Claim:
    """Whether a difference may be chance."""
    if test.p_value is None:
        return Claim(claim, "", None)
    found = f"difference {test.difference:+.4f}, two-sided p {format_p(test.p_value)}, {test.n} seeds"
    return Claim(claim, found, test.p_value > _SIGNIFICANT if _can_tell(test) else None)


def _at_the_floor(evidence: Evidence, method: str) -> Claim:
    ece, floor = (evidence.values(Group(method), f"{name}_best") for name in ("ece", "ece_floor"))
    above = [ece[seed] - floor[seed] for seed in ece if seed in floor]
    p_value = wilcoxon(np.array(above), alternative="two-sided").p_value if len(above) > 1 else None
    test = PairedTest(METHODS[method], "ECE", "two-sided", len(above), float(np.mean(above or math.nan)), 0, p_value)
    return _level(f"{_BEYOND}ECE of {METHODS[method]} is at its floor, that of perfect calibration", test)


def _can_tell(test: PairedTest) -> bool:
    """Whether so many pairs could be significant, two-sided, at all."""
    return 2.0 ** (1 - test.n) <= _SIGNIFICANT


def _near_uniform(evidence: Evidence) -> Claim:
    apart = _mean(evidence, Group("shuffled-sls"), "soft_nll_best") - math.log(10)
    seeds = _fewest(evidence, "soft_nll_best", [Group("shuffled-sls")])
    claim = "shuffled SLS learns nothing: soft NLL within 0.01 of ln 10"
    return _judged(claim, f"{apart:+.4f} from it", abs(apart) <= 0.01, seeds)


def _curvature(evidence: Evidence) -> Iterator[Claim]:
    for when, beyond, words in (
        ("best", "", "at the best epoch"),
        ("last", _BEYOND, "at the last"),
        ("common", _BEYOND, "at one epoch for both"),
    ):
        methods, name = HARD if when == "best" else ("sls",), f"{when}/full/largest"
        means = {method: _mean(evidence, Group(method), name) for method in ("soft", *methods)}
        shares = {METHODS[method]: means[method] / means["soft"] for method in methods}
        found = ", ".join(f"{method} {share:.2f}" for method, share in shares.items()) + " of soft labels"
        claim = (
            f"{beyond}λmax of {', '.join(METHODS[method] for method in methods)} is below half of soft labels' {words}"
        )
        seeds = _fewest(evidence, name, [Group(method) for method in means])
        yield _judged(claim, found, max(shares.values()) < 0.5, seeds)


def _resampling(evidence: Evidence) -> Iterator[Claim]:
    groups = [Group("sls", hold=hold, first=5) for hold in HOLDS]
    yield chain(
        evidence, "soft_nll_best", [[group] for group in groups],
        "the longer a drawn label is kept, the worse: soft NLL rises over 1, 5, 10, 50 epochs",
    )  # fmt: skip
    fresh, *stale = (evidence.values(group, "soft_nll_best") for group in groups)
    worse = [value > fresh[seed] for kept in stale for seed, value in kept.items() if seed in fresh]
    claim = "every stale condition is worse than fresh labels on every seed"
    yield _share(claim, sum(worse), len(worse), 15, min(map(len, stale)), least=15)


def _correlations(evidence: Evidence) -> Iterator[Claim]:
    cells = [evidence.values(Group(method, votes), "js/spearman") for method in HARD for votes in SWEEP]
    means = [float(np.mean(list(cell.values()))) for cell in cells if cell]
    fewest = min(map(len, filter(None, cells)), default=0)
    seeds = fewest if len(means) == len(cells) else min(fewest, ENOUGH - 1)  # some of the cells decide nothing
    claim = "Spearman of redraw distance and improvement, mean over seeds,"
    yield _within(claim, means, IMPROVEMENT_SPEARMAN_RANGE, 2, seeds)
    found = list(evidence.values(Group("sls"), f"gradient/{readings.GRADIENT}").values())
    yield _within("Spearman of entropy and gradient variance", found, GRADIENT_SPEARMAN_RANGE, 3, len(found))


def _within(what: str, values: Sequence[float], bounds: tuple[float, float], digits: int, seeds: int) -> Claim:
    """Whether values span no more than the paper's do, to the digits it prints."""
    low, high = min(values, default=math.nan), max(values, default=math.nan)
    inside = bounds[0] <= round(low, digits) and round(high, digits) <= bounds[1]
    return _judged(f"{what} lies between {bounds[0]} and {bounds[1]}", f"{low:.3f} to {high:.3f}", inside, seeds)


def _between_runs(evidence: Evidence) -> Iterator[Claim]:
    for name, words in ((f"near_best/{readings.NEARNESS}", "comes near its best"), ("best_epoch", "is at its best")):
        gaps = list(soft_less_sls(evidence, name).values())
        gap = float(np.mean(gaps or 0))
        found = f"{abs(gap):.1f} epochs {'earlier' if gap > 0 else 'later'}"
        yield _judged(f"SLS {words} earlier than soft labels", found, gap > 0, len(gaps))
    yield _exchanged(evidence)
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
            found = f"{sls.mean:.3f} against {soft.mean:.3f}"
            yield _judged(claim, found, sls.mean > soft.mean, min(sls.n, soft.n))


def _exchanged(evidence: Evidence) -> Claim:
    """Whether both leads in epochs come out as printed, but as those of soft labels."""
    leads = [cell for cell in scalars(evidence).cells if cell.row == EARLIER]
    turned = [replace(cell, ours=cell.ours and replace(cell.ours, mean=-cell.ours.mean)) for cell in leads]
    claim = f"{_BEYOND}the two gaps in epochs are as printed if SLS and soft labels were exchanged"
    pairs = [(cell.ours, cell.published) for cell in turned if cell.ours and cell.published]
    found = " and ".join(f"{ours.mean:.1f} against {printed.mean}" for ours, printed in pairs)
    seeds = min((ours.n for ours, _ in pairs), default=0)
    return _judged(claim, found, all(cell.verdict == "agrees" for cell in turned), seeds)


def _unknown(evidence: Evidence) -> Iterator[Claim]:
    tests = [test for test in table_8(evidence).tests if test.alternative == "two-sided"]
    seeds = min(test.n for test in tests)
    there, higher = sum(test.n > 0 for test in tests), sum(test.difference > 0 for test in tests)
    claim = "SLS tells CIFAR-100 better than soft labels by each of the six scores"
    yield _share(claim, higher, there, len(tests), seeds, least=len(tests))
    sure = {test.column for test in tests if test.p_value is not None and test.p_value <= _SIGNIFICANT}
    yield Claim(
        f"{_BEYOND}energy and ODIN do so significantly also in two-sided tests",
        f"significant: {', '.join(sorted(sure)) or 'none'}" if there else "",
        {"energy", "ODIN"} <= sure if all(map(_can_tell, tests)) else None,
    )


def _judged(claim: str, found: str, holds: bool, seeds: int) -> Claim:
    """A claim decided by some seeds: no fewer than enough, and nothing was found without any."""
    return Claim(claim, f"{found}, {counted(seeds, 'seed')}" if seeds else "", holds if seeds >= ENOUGH else None)


def _fewest(evidence: Evidence, name: str, groups: Sequence[Group]) -> int:
    """Seeds of the group that has the fewest."""
    return min(len(evidence.values(group, name)) for group in groups)


def _mean(evidence: Evidence, group: Group, name: str) -> float:
    found = spread(evidence.values(group, name).values())
    return math.nan if found is None else found.mean


def _set(means: Sequence[float]) -> str:
    shown = ", ".join(f"{mean:.4f}" for mean in means)
    return shown if len(means) == 1 else f"{{{shown}}}"
