"""What the paper says of trained models: curvature, stale labels, correlations, similarity of seeds, OOD detection."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from votewise.papers.same_target import interpretations
from votewise.papers.same_target.cells import ENOUGH, Claim, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.judging import (
    BEYOND_PAPER,
    PAIRS,
    SIGNIFICANT,
    above_zero,
    all_above,
    by_seed_and_group,
    can_tell,
    interval,
    judged,
    rises,
    share,
    within,
)
from votewise.papers.same_target.names import HARD, METHODS
from votewise.papers.same_target.published import GRADIENT_SPEARMAN_RANGE, IMPROVEMENT_SPEARMAN_RANGE, SWEEP
from votewise.papers.same_target.scalars import EARLIER, HOLDS, scalars, similarity, soft_less_sls
from votewise.papers.same_target.tables import adjusted, table_8
from votewise.report.content import Spread
from votewise.report.numbers import format_p


def orderings_of_models(evidence: Evidence) -> tuple[Claim, ...]:
    """Every such claim, in the order of the paper's tables and figures."""
    return (
        *_curvature(evidence),
        *_stale_labels(evidence),
        *_correlations(evidence),
        *_dynamics(evidence),
        *_similarity(evidence),
        *_ood(evidence),
    )


def _curvature(evidence: Evidence) -> Iterator[Claim]:
    for when, beyond, words in (
        ("best", "", "at the best epoch"),
        ("last", BEYOND_PAPER, "after the last epoch"),
        ("common", BEYOND_PAPER, "at one epoch for both"),
    ):
        methods = HARD if when == "best" else ("sls",)
        ratios = {METHODS[method]: _log_ratio(evidence, method, f"{when}/full/largest") for method in methods}
        yield _below(f"{beyond}λmax of {', '.join(ratios)} is below that of soft labels {words}", ratios, 1)
        for name, ratio in ratios.items():
            yield _below(f"{beyond}λmax of {name} is below half of that of soft labels {words}", {name: ratio}, 0.5)
    few = {f"{votes} votes": _log_ratio(evidence, "sls", "best/full/largest", votes) for votes in SWEEP}
    yield _below("with few votes λmax of SLS is below half of that of soft labels, at each number of votes", few, 0.5)


def _log_ratio(evidence: Evidence, method: str, name: str, votes: int | None = None) -> Spread | None:
    """The logarithm of a number's ratio to that of soft labels, over the seeds that both have."""
    ours, soft = (evidence.values(Group(one, votes), name) for one in (method, "soft"))
    return spread(math.log(ours[seed] / soft[seed]) for seed in ours if seed in soft)


def _below(claim: str, log_ratios: Mapping[str, Spread | None], factor: float) -> Claim:
    """Whether each of several ratios is below a factor."""
    there = {name: ratio for name, ratio in log_ratios.items() if ratio is not None}
    shown = ", ".join(f"{name} {math.exp(ratio.mean):.2f}{_range(ratio)}" for name, ratio in there.items())
    turned = [ratio and replace(ratio, mean=-ratio.mean) for ratio in log_ratios.values()]
    return all_above(claim, turned, f"{shown} of it", bound=-math.log(factor))


def _range(log_ratio: Spread) -> str:
    """The 95 % interval of a ratio, where there is one."""
    if log_ratio.n < ENOUGH:
        return ""
    low, high = map(math.exp, interval(log_ratio))
    return f" ({low:.2f} to {high:.2f})"


def _stale_labels(evidence: Evidence) -> Iterator[Claim]:
    groups = [Group("sls", hold=hold, first=5) for hold in HOLDS]
    table = by_seed_and_group(evidence, "soft_nll_best", groups)
    claim = "the longer a drawn label is kept, over 1, 5, 10, 50 epochs, the higher soft NLL"
    yield rises(claim, table, [math.log10(hold) for hold in HOLDS], unit="tenfold period")
    fresh, *stale = (evidence.values(group, "soft_nll_best") for group in groups)
    worse = [value > fresh[seed] for kept in stale for seed, value in kept.items() if seed in fresh]
    claim = "labels that are kept are worse than fresh ones, for every period on every seed"
    yield share(claim, sum(worse), len(worse), 3 * PAIRS, min(map(len, stale)) >= PAIRS, least=3 * PAIRS)


def _correlations(evidence: Evidence) -> Iterator[Claim]:
    sweep = [Group(method, votes) for method in HARD for votes in SWEEP]
    cells = [spread(evidence.values(group, "js/spearman").values()) for group in sweep]
    claim = "Spearman of redraw distance and improvement, in each of the 12 cells,"
    yield within(claim, cells, IMPROVEMENT_SPEARMAN_RANGE)
    unmoved = by_seed_and_group(evidence, "js/gain/0", sweep).mean(axis=1)
    claim = f"{BEYOND_PAPER}hard deliveries improve also on images whose redrawn shares are unchanged, mean of 12 cells"
    yield above_zero(claim, spread(unmoved))
    given = by_seed_and_group(evidence, "js/spearman_given_entropy", sweep).mean(axis=1)
    claim = (
        f"{BEYOND_PAPER}improvement rises with the distance also at equal entropy (partial Spearman, mean of 12 cells)"
    )
    yield above_zero(claim, spread(given))
    found = evidence.values(Group("sls"), f"gradient/{interpretations.GRADIENT}")
    yield within("Spearman of entropy and gradient variance", [spread(found.values())], GRADIENT_SPEARMAN_RANGE)


def _dynamics(evidence: Evidence) -> Iterator[Claim]:
    for name, words in (
        (f"near_best/{interpretations.NEARNESS}", "comes near its best"),
        ("best_epoch", "is at its best"),
    ):
        lead = spread(soft_less_sls(evidence, name).values())
        found = "" if lead is None else f"{abs(lead.mean):.1f} epochs {'earlier' if lead.mean > 0 else 'later'}"
        yield above_zero(f"SLS {words} earlier than soft labels", lead, found=found)
    yield _exchanged(evidence)


def _exchanged(evidence: Evidence) -> Claim:
    """Whether both leads in epochs are as printed, but with soft labels leading."""
    leads = [cell for cell in scalars(evidence).cells if cell.row == EARLIER]
    turned = [replace(cell, ours=cell.ours and replace(cell.ours, mean=-cell.ours.mean)) for cell in leads]
    claim = f"{BEYOND_PAPER}the two gaps in epochs are as printed if SLS and soft labels were exchanged"
    if any(cell.ours is None for cell in turned):
        return Claim(claim, "", None)
    pairs = [(cell.ours, cell.published) for cell in turned if cell.ours and cell.published]
    found = " and ".join(f"{ours.mean:.1f} against {printed.mean}" for ours, printed in pairs)
    seeds = min((ours.n for ours, _ in pairs), default=0)
    return judged(claim, found, all(cell.verdict == "agrees" for cell in turned), seeds)


def _similarity(evidence: Evidence) -> Iterator[Claim]:
    for where, what, words in (
        (interpretations.MAP_IMAGES, interpretations.MAPS, "Grad-CAM maps"),
        (interpretations.MAP_IMAGES, f"{interpretations.MAPS}_high", "Grad-CAM maps of disputed images"),
        (interpretations.FEATURE_IMAGES, "cka", "features"),
    ):
        sls, soft = (similarity(evidence, method, where, what) for method in ("sls", "soft"))
        claim = f"{words} of SLS are more similar between seeds than those of soft labels"
        if sls is None or soft is None:
            yield Claim(claim, "", None)
        else:
            n = min(sls.n, soft.n)
            error = math.hypot(sls.sd / math.sqrt(sls.n), soft.sd / math.sqrt(soft.n))
            more = Spread(sls.mean - soft.mean, error * math.sqrt(n), n)
            yield above_zero(claim, more, found=f"{sls.mean:.3f} against {soft.mean:.3f}")


def _ood(evidence: Evidence) -> Iterator[Claim]:
    tests = adjusted([test for test in table_8(evidence).tests if test.alternative == "two-sided"])
    seeds = min(test.n for test in tests)
    there, higher = sum(test.n > 0 for test in tests), sum(test.difference > 0 for test in tests)
    claim = "SLS detects CIFAR-100 better than soft labels by each of the six scores"
    yield share(claim, higher, there, len(tests), seeds >= ENOUGH, least=len(tests))
    claimed = [test for test in tests if test.column in ("energy", "ODIN")]
    found = ", ".join(
        f"{test.column} p {format_p(test.p_value)}, {format_p(test.p_holm)} after Holm"
        for test in claimed
        if test.p_value is not None
    )
    sure = all(test.p_holm is not None and test.p_holm <= SIGNIFICANT for test in claimed)
    chance = any(test.p_value is not None and test.p_value > SIGNIFICANT for test in claimed)
    decided = (sure or chance) and all(map(can_tell, claimed))
    claim = f"{BEYOND_PAPER}by energy and ODIN significantly also in two-sided tests, after Holm over the six scores"
    yield Claim(claim, found, sure if decided else None)
