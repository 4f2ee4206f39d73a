"""What the paper says in words, what must hold if its numbers do, and what it leaves open; each with a verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from votewise.papers.same_target.cells import ENOUGH, Claim, spread
from votewise.papers.same_target.evidence import Evidence, Group
from votewise.papers.same_target.judging import (
    BEYOND_PAPER,
    PAIRS,
    SIGNIFICANT,
    above_zero,
    ahead,
    by_seed,
    by_seed_and_group,
    chain,
    judged,
    means_of,
    no_difference,
    rises,
    share,
)
from votewise.papers.same_target.names import BOTH, HARD, METHODS
from votewise.papers.same_target.orderings_of_models import orderings_of_models
from votewise.papers.same_target.published import METRICS, SWEEP
from votewise.papers.same_target.scalars import soft_less_sls
from votewise.papers.same_target.suites import BEYOND
from votewise.papers.same_target.tables import adjusted, compare_by_seed, paired_test, table_1
from votewise.report.content import Spread
from votewise.report.numbers import format_p

_SCALED = "with temperatures fitted on other images"
_CELLS = [(Group("soft", votes), Group(method, votes)) for method in HARD for votes in SWEEP]


def orderings(evidence: Evidence) -> tuple[Claim, ...]:
    """Every claim, in the order of the paper's tables and figures."""
    return (
        *_few_votes(evidence),
        *_all_against_redrawn(evidence),
        *_sparse(evidence),
        *_order_of_methods(evidence),
        *_sls_against_soft(evidence),
        *_calibration(evidence),
        *_sanity(evidence),
        *orderings_of_models(evidence),
    )


def _few_votes(evidence: Evidence) -> Iterator[Claim]:
    tests = table_1(evidence).tests
    seeds = min(test.n for test in tests)
    below = sum(test.difference < 0 for test in tests)
    unanimous = sum(test.favourable == test.n for test in tests if test.n)
    there = sum(test.n > 0 for test in tests)
    claim = "with few votes every hard delivery is below soft labels in soft NLL, in all 12 cells"
    yield share(claim, below, there, len(tests), seeds >= ENOUGH, least=12)
    yield share("in at least 9 of these 12 cells on every seed", unanimous, there, len(tests), seeds >= PAIRS, least=9)
    lowest = min((test.p_holm for test in tests if test.p_holm is not None), default=math.nan)
    found = "" if math.isnan(lowest) else f"smallest adjusted p {format_p(lowest)}"
    claim = "after Holm over the 12 cells nothing is significant, as five pairs cannot show more"
    yield Claim(claim, found, lowest > SIGNIFICANT if seeds >= PAIRS else None)
    gain = "the gain of hard deliveries over soft labels in soft NLL, mean of the 12 cells, is positive"
    yield above_zero(BEYOND_PAPER + gain, _mean_gap(evidence, "soft_nll_best"))
    yield above_zero(f"{BEYOND_PAPER}{gain} also {_SCALED}", _mean_gap(evidence, "scaled/soft_nll"))
    yield _gaps_shrink(evidence)


def _mean_gap(evidence: Evidence, name: str) -> Spread | None:
    return _mean_difference(evidence, name, _CELLS)


def _mean_difference(evidence: Evidence, name: str, pairs: Sequence[tuple[Group, Group]]) -> Spread | None:
    """The mean over pairs of first less second, over the seeds that all of them have."""
    table = by_seed_and_group(evidence, name, [group for pair in pairs for group in pair])
    return spread((table[:, ::2] - table[:, 1::2]).mean(axis=1).round(12))


def _gaps_shrink(evidence: Evidence) -> Claim:
    """Whether the gap, mean over hard deliveries, falls: whether what they gain less rises with the number of votes."""
    table = by_seed_and_group(evidence, "soft_nll_best", [group for pair in _CELLS for group in pair])
    gaps = (table[:, 1::2] - table[:, ::2]).reshape(-1, len(HARD), len(SWEEP)).mean(axis=1)
    claim = "the more votes, the smaller the gap between hard deliveries and soft labels (hard less soft)"
    return rises(claim, gaps, [math.log2(votes) for votes in SWEEP], unit="doubling of the votes")


def _all_against_redrawn(evidence: Evidence) -> Iterator[Claim]:
    """As printed, 50 redrawn votes are far worse than the about 51 there are, and than 25."""
    methods = ("soft", *HARD)
    all_votes = [(Group(method, 50), Group(method)) for method in methods]
    claim = f"{BEYOND_PAPER}soft NLL is lower with all votes (about 51) than with 50 redrawn, mean of four methods"
    yield above_zero(claim, _mean_difference(evidence, "soft_nll_best", all_votes))
    fewer = [(Group(method, 50), Group(method, 25)) for method in methods]
    claim = "soft NLL is higher with 50 redrawn votes than with 25, mean of four methods, as the paper's numbers say"
    yield above_zero(claim, _mean_difference(evidence, "soft_nll_best", fewer))
    gaps = [soft_less_sls(evidence, "soft_nll_best", votes) for votes in (50, None)]
    wider = spread(
        np.array([gaps[0][seed] - gaps[1][seed] for seed in sorted(gaps[0].keys() & gaps[1].keys())]).round(12)
    )
    yield above_zero(f"{BEYOND_PAPER}the gap of soft labels over SLS is wider with 50 votes than with all", wider)


def _sparse(evidence: Evidence) -> Iterator[Claim]:
    """Whether anything does better than the paper's methods where votes are few."""
    for votes in BEYOND["sparse"].votes:
        for method in ("soft-smoothed", "dirichlet-fitted"):
            smoothed, multipass = Group(method, votes), Group("multipass", votes)
            for name, words in (
                ("soft_nll_best", "soft NLL"), ("scaled/soft_nll", f"soft NLL {_SCALED}"), ("ece_best", "ECE"),
            ):  # fmt: skip
                claim = f"{BEYOND_PAPER}with {votes} votes {METHODS[method]}, have a lower {words} than multipass"
                yield ahead(evidence, claim, smoothed, multipass, name)
    claim = f"{BEYOND_PAPER}mixup of soft labels, α 0.2, is below soft labels on all votes in soft NLL"
    yield ahead(evidence, claim, Group("mixup-soft-0.2"), Group("soft"), "soft_nll_best")


def _order_of_methods(evidence: Evidence) -> Iterator[Claim]:
    soft, sls, mixup = Group("soft"), Group("sls"), Group("mixup")
    smoothed, majority = Group("label-smoothing"), Group("majority")
    yield chain(
        evidence, "soft_nll_best", [[sls, soft], [mixup], [smoothed], [majority]],
        "soft NLL: {SLS, soft labels} < mixup < label smoothing < majority vote",
    )  # fmt: skip
    yield chain(
        evidence, "scaled/soft_nll", [[sls, soft], [mixup], [majority], [smoothed]],
        f"{BEYOND_PAPER}soft NLL {_SCALED}: {{SLS, soft labels}} < mixup < majority vote < label smoothing",
    )  # fmt: skip
    yield chain(
        evidence, "soft_brier_best", [[mixup], [soft, sls], [smoothed], [majority]],
        "soft Brier: mixup < {soft labels, SLS} < label smoothing < majority vote",
    )  # fmt: skip
    yield chain(
        evidence, "entropy_correlation_best", [[smoothed], [mixup], [majority], [sls, soft]],
        "entropy correlation: label smoothing < mixup < majority vote < {SLS, soft labels}",
    )  # fmt: skip


def _sls_against_soft(evidence: Evidence) -> Iterator[Claim]:
    """Two families of tests: the paper's four metrics at the best epoch, and soft NLL in three further ways."""
    sls, soft = Group("sls"), Group("soft")
    of_metrics = [paired_test(evidence, sls, soft, metric, f"{metric}_best", "two-sided") for metric in METRICS]
    for test in adjusted(of_metrics):
        yield no_difference(f"SLS and soft labels do not differ on all votes in {test.column}", test)
    further = {
        "after the last epoch": paired_test(evidence, sls, soft, "soft_nll", "soft_nll_last", "two-sided"),
        _SCALED: paired_test(evidence, sls, soft, "soft_nll", "scaled/soft_nll", "two-sided"),
        "at an epoch chosen on the other seeds": compare_by_seed(
            _at_epochs_of_others(evidence, sls), _at_epochs_of_others(evidence, soft), "", "soft NLL", "two-sided"
        ),
    }
    for words, test in zip(further, adjusted([*further.values()]), strict=True):
        yield no_difference(f"{BEYOND_PAPER}they do not differ in soft NLL {words}", test)
    for of, words in (("correctness", "the top class's correctness"), ("shares", "people's shares")):
        claim = f"the resolution of SLS is higher than that of soft labels, of {words}"
        yield above_zero(claim, by_seed(evidence, f"brier/{of}/resolution", sls, soft))


def _at_epochs_of_others(evidence: Evidence, group: Group) -> dict[int, float]:
    """Soft NLL of each run at the epoch at which the others are best on average, so that no epoch is chosen on it."""
    lines = evidence.lines(group, "curve_soft_nll")
    total = np.sum(list(lines.values()), axis=0)
    return {seed: float(line[np.argmin(total - line)]) for seed, line in lines.items()} if len(lines) > 1 else {}


def _calibration(evidence: Evidence) -> Iterator[Claim]:
    for method in BOTH:
        ece, floor = (evidence.values(Group(method), f"{name}_best") for name in ("ece", "ece_floor"))
        test = compare_by_seed(ece, floor, METHODS[method], "ECE", "two-sided")
        yield no_difference(
            f"{BEYOND_PAPER}ECE of {METHODS[method]} is at its floor, that of perfect calibration", test
        )
    for method in ("majority", "label-smoothing", "mixup"):
        ece, floor = (evidence.values(Group(method), f"{name}_best") for name in ("ece", "ece_floor"))
        above = spread(ece[seed] - floor[seed] for seed in ece if seed in floor)
        yield above_zero(f"{BEYOND_PAPER}ECE of {METHODS[method]} is above its floor", above)


def _sanity(evidence: Evidence) -> Iterator[Claim]:
    shuffled = Group("shuffled-sls")
    means, seeds = means_of(evidence, "soft_nll_best", [shuffled])
    apart = means[shuffled] - math.log(10)
    claim = "shuffled SLS learns nothing: soft NLL within 0.01 of ln 10"
    yield judged(claim, f"{apart:+.4f} from it", abs(apart) <= 0.01, len(seeds))
