"""What the paper says in words, what must hold if its numbers do, and what it leaves open; each with a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.special import stdtrit

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
from votewise.report.content import Spread
from votewise.report.numbers import format_p
from votewise.statistics import wilcoxon

_SIGNIFICANT = 0.05

# Of each comparison with few votes or kept labels in the paper: what it says of all seeds is easier said of fewer.
_PAIRS = 5

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
    """Whether the means of a number over the seeds all have rise from step to step; the groups of a step in any order.

    Args:
        evidence: all runs.
        name: of the number.
        steps: groups from the lowest to the highest.
        claim: in words.
    """
    groups = [group for step in steps for group in step]
    means, seeds = _means(evidence, name, groups)
    levels = [[means[group] for group in step] for step in steps]
    rising = all(max(low) < min(high) for low, high in pairwise(levels))
    return _judged(claim, " < ".join(_set(step) for step in levels), rising, seeds)


def _sweep(evidence: Evidence) -> Iterator[Claim]:
    tests = table_1(evidence).tests
    seeds = min(test.n for test in tests)
    below = sum(test.difference < 0 for test in tests)
    unanimous = sum(test.favourable == test.n for test in tests if test.n)
    there = sum(test.n > 0 for test in tests)
    claim = "with few votes every hard delivery is below soft labels in soft NLL, in all 12 cells"
    yield _share(claim, below, there, len(tests), seeds >= ENOUGH, least=12)
    claim = "in at least 9 of these 12 cells on every seed"
    yield _share(claim, unanimous, there, len(tests), seeds >= _PAIRS, least=9)
    adjusted = [test.p_holm for test in tests if test.p_holm is not None]
    lowest = min(adjusted, default=math.nan)
    claim = "after Holm over the 12 cells nothing is significant, as five pairs cannot show more"
    found = f"smallest adjusted p {format_p(lowest)}" if adjusted else ""
    yield Claim(claim, found, lowest > _SIGNIFICANT if seeds >= _PAIRS else None)
    yield _gaps_shrink(tests, seeds)
    yield from _nearly_all_votes(evidence)
    yield _gap_by_votes(evidence)
    yield _once_scaled(evidence)


def _share(claim: str, found: int, there: int, complete: int, enough: bool, *, least: int) -> Claim:
    """Whether at least so many of a complete set of comparisons, each of enough seeds, came out as claimed."""
    decided = there == complete and enough
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
        test = paired_test(evidence, Group(method), Group(method, 50), "soft_nll", "soft_nll_best", "two-sided")
        yield _ahead(f"{_BEYOND}soft NLL of {METHODS[method]} is lower with all votes (about 51) than 50 redrawn", test)


def _gap_by_votes(evidence: Evidence) -> Claim:
    """As printed, the methods differ with 50 votes and not with all: redrawing, not their number, would be why."""
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
    return _share(claim, below, there, len(gaps), min(gap.n for gap in gaps) >= ENOUGH, least=12)


def _sparse(evidence: Evidence) -> Iterator[Claim]:
    """Whether anything is ahead of the paper's best where votes are few."""
    for votes in BEYOND["sparse"].votes:
        for method in ("soft-smoothed", "dirichlet-fitted"):
            groups = Group(method, votes), Group("multipass", votes)
            test = paired_test(evidence, *groups, "soft_nll", "soft_nll_best", "two-sided")
            yield _ahead(f"{_BEYOND}with {votes} votes {METHODS[method]}, are below multipass in soft NLL", test)


def _ahead(claim: str, test: PairedTest) -> Claim:
    """Whether the first of a pair is better: on every seed, or by more than chance would give."""
    found = f"difference {test.difference:+.4f}, better on {test.favourable} of {counted(test.n, 'seed')}"
    sure = test.favourable in (0, test.n) or (test.p_value is not None and test.p_value <= _SIGNIFICANT)
    better = 2 * test.favourable > test.n
    return Claim(claim, found if test.n else "", better if sure and test.n >= ENOUGH else None)


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
        yield _no_difference(f"SLS and soft labels do not differ on all votes in {test.column}, after Holm", test)
    for name, words in (("soft_nll_last", "after the last epoch"), ("scaled/soft_nll", _SCALED)):
        test = paired_test(evidence, sls, soft, "soft_nll", name, "two-sided")
        yield _no_difference(f"{_BEYOND}they do not differ in soft NLL {words}", test)
    for of, words in (("correctness", "the top class's correctness"), ("shares", "people's shares")):
        test = paired_test(evidence, sls, soft, "resolution", f"brier/{of}/resolution", "two-sided")
        yield _ahead(f"the resolution of SLS is higher than that of soft labels, of {words}", test)
    for method in BOTH:
        yield _at_the_floor(evidence, method)
    yield _near_uniform(evidence)


def _no_difference(claim: str, test: PairedTest) -> Claim:
    """Whether a difference may be chance, after Holm where others were tested with it."""
    if test.p_value is None:
        return Claim(claim, "", None)
    p_value = test.p_value if test.p_holm is None else test.p_holm
    found = f"difference {test.difference:+.4f}, two-sided p {format_p(p_value)}, {test.n} seeds"
    return Claim(claim, found, p_value > _SIGNIFICANT if _can_tell(test) else None)


def _at_the_floor(evidence: Evidence, method: str) -> Claim:
    ece, floor = (evidence.values(Group(method), f"{name}_best") for name in ("ece", "ece_floor"))
    above = np.array([ece[seed] - floor[seed] for seed in ece if seed in floor])
    n, below, untied = len(above), int((above < 0).sum()), int(np.count_nonzero(above))
    p_value = wilcoxon(above, alternative="two-sided").p_value if n > 1 else None
    difference = float(above.mean()) if n else math.nan
    test = PairedTest(METHODS[method], "ECE", "two-sided", n, difference, below, untied, p_value)
    return _no_difference(f"{_BEYOND}ECE of {METHODS[method]} is at its floor, that of perfect calibration", test)


def _can_tell(test: PairedTest) -> bool:
    """Whether so many pairs that differ could be significant, two-sided, at all."""
    return 2.0 ** (1 - test.untied) <= _SIGNIFICANT


def _near_uniform(evidence: Evidence) -> Claim:
    shuffled = Group("shuffled-sls")
    means, seeds = _means(evidence, "soft_nll_best", [shuffled])
    apart = means[shuffled] - math.log(10)
    claim = "shuffled SLS learns nothing: soft NLL within 0.01 of ln 10"
    return _judged(claim, f"{apart:+.4f} from it", abs(apart) <= 0.01, seeds)


def _curvature(evidence: Evidence) -> Iterator[Claim]:
    for when, beyond, words in (
        ("best", "", "at the best epoch"),
        ("last", _BEYOND, "at the last"),
        ("common", _BEYOND, "at one epoch for both"),
    ):
        methods, name = HARD if when == "best" else ("sls",), f"{when}/full/largest"
        pairs = {method: _means(evidence, name, [Group(method), Group("soft")]) for method in methods}
        shares = {METHODS[method]: means[Group(method)] / means[Group("soft")] for method, (means, _) in pairs.items()}
        found = ", ".join(f"{method} {share:.2f}" for method, share in shares.items()) + " of soft labels"
        claim = (
            f"{beyond}λmax of {', '.join(METHODS[method] for method in methods)} is below half of soft labels' {words}"
        )
        yield _judged(claim, found, max(shares.values()) < 0.5, min(seeds for _, seeds in pairs.values()))


def _resampling(evidence: Evidence) -> Iterator[Claim]:
    groups = [Group("sls", hold=hold, first=5) for hold in HOLDS]
    yield chain(
        evidence, "soft_nll_best", [[group] for group in groups],
        "the longer a drawn label is kept, the worse: soft NLL rises over 1, 5, 10, 50 epochs",
    )  # fmt: skip
    fresh, *stale = (evidence.values(group, "soft_nll_best") for group in groups)
    worse = [value > fresh[seed] for kept in stale for seed, value in kept.items() if seed in fresh]
    claim = "every stale condition is worse than fresh labels on every seed"
    yield _share(claim, sum(worse), len(worse), 15, min(map(len, stale)) >= _PAIRS, least=15)


def _correlations(evidence: Evidence) -> Iterator[Claim]:
    cells = [
        spread(evidence.values(Group(method, votes), "js/spearman").values()) for method in HARD for votes in SWEEP
    ]
    claim = "Spearman of redraw distance and improvement, in each of the 12 cells,"
    yield _within(claim, cells, IMPROVEMENT_SPEARMAN_RANGE)
    found = evidence.values(Group("sls"), f"gradient/{readings.GRADIENT}")
    yield _within("Spearman of entropy and gradient variance", [spread(found.values())], GRADIENT_SPEARMAN_RANGE)


def _within(what: str, cells: Sequence[Spread | None], bounds: tuple[float, float]) -> Claim:
    """Whether all means may lie within what the paper prints, each give or take its own error."""
    there = [cell for cell in cells if cell is not None]
    claim = f"{what} has a mean over seeds between {bounds[0]} and {bounds[1]}, give or take its error"
    means = [cell.mean for cell in there] or [math.nan]
    found = f"{min(means):.3f} to {max(means):.3f}" if len(cells) > 1 else f"{means[0]:.3f}"
    inside = all(bounds[0] - _error(cell) <= cell.mean <= bounds[1] + _error(cell) for cell in there)
    seeds = min((cell.n for cell in there), default=0)
    return _judged(claim, found, inside, seeds if len(there) == len(cells) else min(seeds, ENOUGH - 1))


def _error(cell: Spread) -> float:
    """Half of the 95 % interval of a mean."""
    return float(stdtrit(cell.n - 1, 0.975)) * cell.sd / math.sqrt(cell.n)


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
    if any(cell.ours is None for cell in turned):
        return Claim(claim, "", None)
    pairs = [(cell.ours, cell.published) for cell in turned if cell.ours and cell.published]
    found = " and ".join(f"{ours.mean:.1f} against {printed.mean}" for ours, printed in pairs)
    seeds = min((ours.n for ours, _ in pairs), default=0)
    return _judged(claim, found, all(cell.verdict == "agrees" for cell in turned), seeds)


def _unknown(evidence: Evidence) -> Iterator[Claim]:
    tests = [test for test in table_8(evidence).tests if test.alternative == "two-sided"]
    seeds = min(test.n for test in tests)
    there, higher = sum(test.n > 0 for test in tests), sum(test.difference > 0 for test in tests)
    claim = "SLS tells CIFAR-100 better than soft labels by each of the six scores"
    yield _share(claim, higher, there, len(tests), seeds >= ENOUGH, least=len(tests))
    sure = {test.column for test in tests if test.p_value is not None and test.p_value <= _SIGNIFICANT}
    yield Claim(
        f"{_BEYOND}energy and ODIN do so significantly also in two-sided tests",
        f"significant: {', '.join(sorted(sure)) or 'none'}" if there else "",
        {"energy", "ODIN"} <= sure if all(map(_can_tell, tests)) else None,
    )


def _judged(claim: str, found: str, holds: bool, seeds: int) -> Claim:
    """A claim decided by some seeds: no fewer than enough, and nothing was found without any."""
    return Claim(claim, f"{found}, {counted(seeds, 'seed')}" if seeds else "", holds if seeds >= ENOUGH else None)


def _means(evidence: Evidence, name: str, groups: Sequence[Group]) -> tuple[dict[Group, float], int]:
    """The means of a number over the seeds that all groups have, and how many these are."""
    values = {group: evidence.values(group, name) for group in groups}
    seeds = set.intersection(*map(set, values.values()))
    return {
        group: float(np.mean([found[seed] for seed in sorted(seeds)] or math.nan)) for group, found in values.items()
    }, len(seeds)


def _set(means: Sequence[float]) -> str:
    shown = ", ".join(f"{mean:.4f}" for mean in means)
    return shown if len(means) == 1 else f"{{{shown}}}"
