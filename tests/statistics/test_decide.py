"""The one rule of verdicts against scipy, against its parts done by hand, and its laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from votewise.statistics import Sample
from votewise.statistics.decide import ALPHA, FEWEST, Decision, Hypothesis, decide

INF = math.inf

values = st.lists(st.integers(-300, 300).map(lambda number: number / 100), min_size=3, max_size=12).filter(
    lambda numbers: len(set(numbers)) > 1
)
bounds = st.tuples(st.floats(-3, 3), st.floats(0.01, 3)).map(lambda pair: (pair[0] - pair[1], pair[0] + pair[1]))


def sample(numbers: list[float] | np.ndarray) -> Sample:
    return Sample({seed: float(number) for seed, number in enumerate(numbers)})


def alone(numbers: list[float] | np.ndarray, low: float, high: float, **more: bool) -> Decision:
    (decision,) = decide([Hypothesis((sample(numbers),), low, high, **more)])
    return decision


@given(values)
def test_a_direction_is_decided_by_the_two_sided_test_of_scipy(numbers: list[float]) -> None:
    decision = alone(numbers, 0.0, INF)
    test = stats.ttest_1samp(numbers, 0.0)
    low, high = test.confidence_interval(0.95)
    (one,) = decision.estimates
    assert (one.n, one.mean, one.low, one.high) == pytest.approx((len(numbers), np.mean(numbers), low, high))
    assert decision.p_value == decision.p_holm == pytest.approx(test.pvalue)
    assert decision.verdict == ("confirmed" if low > 0 else "contradicted" if high < 0 else "undecided")


@given(values, bounds)
def test_being_level_is_decided_by_two_one_sided_tests(numbers: list[float], between: tuple[float, float]) -> None:
    low, high = between
    tost, _, _ = DescrStatsW(numbers).ttost_mean(low, high)
    below, above = (
        stats.ttest_1samp(numbers, bound, alternative=side).pvalue for bound, side in ((low, "less"), (high, "greater"))
    )
    decision = alone(numbers, low, high)
    assert decision.p_value == pytest.approx(min(tost, 2 * min(below, above), 1))
    if decision.verdict == "confirmed":
        assert tost <= ALPHA
    assert (decision.verdict == "confirmed") == (tost <= ALPHA)
    (one,) = decision.estimates
    assert (low < one.low and one.high < high) == (tost < ALPHA), "the interval shown is the one that decides"


def test_no_difference_alone_never_confirms_that_methods_are_level() -> None:
    noisy = [-0.05, 0.05, -0.04, 0.04, 0.0]
    assert stats.ttest_1samp(noisy, 0).pvalue == 1
    assert alone(noisy, -0.01, 0.01).verdict == "undecided"
    assert alone(np.array(noisy) / 20, -0.01, 0.01).verdict == "confirmed"
    assert alone(0.05 + np.array(noisy) / 20, -0.01, 0.01).verdict == "contradicted"


@given(values, st.randoms(use_true_random=False))
def test_names_and_order_of_seeds_do_not_matter(numbers: list[float], random: object) -> None:
    shuffled = list(numbers)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    renamed = Sample({100 - 3 * seed: number for seed, number in enumerate(shuffled)})
    first, second = alone(numbers, 0.0, INF), decide([Hypothesis((renamed,), 0.0, INF)])[0]
    assert first.verdict == second.verdict
    assert first.p_value == pytest.approx(second.p_value)


@given(values, bounds, st.booleans())
def test_opposite_numbers_have_opposite_bounds(
    numbers: list[float], between: tuple[float, float], directional: bool
) -> None:
    low, high = (between[0], INF) if directional else between
    first, second = alone(numbers, low, high), alone([-number for number in numbers], -high, -low)
    assert first.verdict == second.verdict
    assert first.p_value == pytest.approx(second.p_value)
    assert first.reach == pytest.approx(second.reach)


@given(values)
def test_what_confirms_a_statement_contradicts_its_opposite(numbers: list[float]) -> None:
    opposite = {"confirmed": "contradicted", "contradicted": "confirmed", "undecided": "undecided"}
    assert alone(numbers, 0.0, INF).verdict == opposite[alone(numbers, -INF, 0.0).verdict]


@given(values, st.integers(2, 4))
def test_more_of_the_same_seeds_narrow_the_interval(numbers: list[float], times: int) -> None:
    (few,), (many,) = alone(numbers, 0.0, INF).estimates, alone(numbers * times, 0.0, INF).estimates
    assert many.mean == pytest.approx(few.mean)
    assert many.high - many.low < few.high - few.low


@given(values, bounds, st.booleans())
def test_the_reach_is_where_a_verdict_begins(
    numbers: list[float], between: tuple[float, float], directional: bool
) -> None:
    low, high = (between[0], INF) if directional else between
    centred = np.array(numbers) - np.mean(numbers)
    reach = alone(numbers, low, high).reach
    assert reach is not None
    assume(directional or 2.2 * reach < high - low)
    assert alone(centred + low + 1.01 * reach, low, high).verdict == "confirmed"
    assert alone(centred + low + 0.99 * reach, low, high).verdict == "undecided"


def test_few_seeds_decide_nothing() -> None:
    assert FEWEST == 3
    two, none = alone([5.0, 5.1], 0.0, INF), alone([], 0.0, INF)
    assert (two.verdict, two.p_value, two.reach, two.estimates[0].mean) == ("undecided", None, None, 5.05)
    assert (none.verdict, none.p_value, none.estimates[0].n) == ("not run", None, 0)
    assert math.isnan(two.estimates[0].low)


def test_numbers_without_spread() -> None:
    assert alone([1.0] * 4, 0.0, INF).verdict == "confirmed"
    assert alone([-1.0] * 4, 0.0, INF).verdict == "contradicted"
    assert alone([0.0] * 4, 0.0, INF).verdict == "undecided"
    assert alone([0.0] * 4, -1.0, 1.0).verdict == "confirmed"


@given(values)
def test_each_seed_is_a_further_seed(numbers: list[float]) -> None:
    decision = alone(numbers, 0.0, INF, each_seed=True)
    n, sd = len(numbers), np.std(numbers, ddof=1)
    half = stats.t.ppf(0.975, n - 1) * sd * math.sqrt(1 + 1 / n)
    (one,) = decision.estimates
    assert (one.low, one.high) == pytest.approx((np.mean(numbers) - half, np.mean(numbers) + half))
    assert one.as_stated == (min(numbers) > 0)
    assert decision.p_value == pytest.approx(
        min(1, 2 * stats.t.sf(abs(np.mean(numbers)) / sd / math.sqrt(1 + 1 / n), n - 1))
    )


@given(st.lists(values, min_size=1, max_size=5), st.data())
def test_claims_about_several_means_are_partial_conjunctions(rows: list[list[float]], data: st.DataObject) -> None:
    """Against the definition: the worst case over which n - k + 1 of the means are those that would have to be wrong."""
    n = len(rows)
    least = data.draw(st.integers(1, n))
    (decision,) = decide([Hypothesis(tuple(map(sample, rows)), 0.0, INF, at_least=least)])
    p = [stats.ttest_1samp(row, 0.0, alternative=side).pvalue for side in ("greater", "less") for row in rows]
    above, below = sorted(min(1, 2 * one) for one in p[:n]), sorted(min(1, 2 * one) for one in p[n:])
    confirmed, contradicted = (n - least + 1) * above[least - 1], least * below[n - least]
    assert decision.p_value == pytest.approx(min(1, confirmed, contradicted))
    if least == n:
        assert confirmed == above[-1], "all of them: the largest p"
    if least == 1:
        assert confirmed == n * above[0], "any of them: Bonferroni"


def test_a_missing_mean_cannot_confirm_but_others_can_contradict() -> None:
    below, above, none = sample([-1.0, -1.1, -0.9, -1.0]), sample([1.0, 1.1, 0.9, 1.0]), sample([])
    for first, second, verdict in (
        (above, none, "undecided"),
        (below, none, "contradicted"),
        (above, above, "confirmed"),
        (none, none, "not run"),
    ):
        assert decide([Hypothesis((first, second), 0.0, INF)])[0].verdict == verdict
    assert decide([Hypothesis((above, none), 0.0, INF, at_least=1)])[0].verdict == "confirmed"


@given(st.lists(values, min_size=1, max_size=6))
def test_a_family_is_adjusted_by_holm(rows: list[list[float]]) -> None:
    family = decide([Hypothesis((sample(row),), 0.0, INF) for row in rows])
    raw = [stats.ttest_1samp(row, 0.0).pvalue for row in rows]
    assert [one.p_holm for one in family] == pytest.approx(multipletests(raw, method="holm")[1])
    assert [one.verdict == "undecided" for one in family] == [one.p_holm > ALPHA for one in family]  # type: ignore[operator]


def test_members_of_a_family_that_are_not_run_count() -> None:
    clear = Hypothesis((sample([0.7, 1.0, 1.3, 0.8]),), 0.0, INF)
    missing = Hypothesis((sample([]),), 0.0, INF)
    p = decide([clear])[0].p_value
    first, *others = decide([clear, missing, missing])
    assert p is not None
    assert first.p_holm == pytest.approx(3 * p)
    assert {(one.verdict, one.p_holm) for one in others} == {("not run", None)}


@given(values, st.floats(0.05, 1))
def test_overlapping_splits_widen_the_error_of_nadeau_and_bengio(numbers: list[float], overlap: float) -> None:
    (decision,) = decide([Hypothesis((sample(numbers),), 0.0, INF)], overlap=overlap)
    n = len(numbers)
    error = np.std(numbers, ddof=1) * math.sqrt(1 / n + overlap)
    assert decision.p_overlapping == pytest.approx(min(1, 2 * stats.t.sf(abs(np.mean(numbers)) / error, n - 1)))
    assert decision.verdict == alone(numbers, 0.0, INF).verdict, "it stands beside the plain test"


@pytest.mark.parametrize("hypothesis", [Hypothesis((), 0.0, INF), Hypothesis((), -0.5, 0.5)])
def test_true_statements_are_rarely_contradicted_and_wrong_ones_rarely_confirmed(hypothesis: Hypothesis) -> None:
    """At the bound, the worst case, 4,000 draws of five seeds; 5 % give or take three standard errors at most."""
    rng = np.random.default_rng(8)
    verdicts = [
        decide([replace(hypothesis, samples=(sample(rng.normal(hypothesis.low, 0.2, size=5)),))])[0].verdict
        for _ in range(4000)
    ]
    decided = sum(verdict != "undecided" for verdict in verdicts) / len(verdicts)
    assert 0.03 < decided < 0.075 + 3 * math.sqrt(0.075 * 0.925 / 4000)
