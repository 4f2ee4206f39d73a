"""Tables, quoted numbers and claims from chosen numbers: means, tests and verdicts against other implementations."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from paper_runs import evidence_of
from votewise.papers.same_target.cells import Cell, Claim, sharing_sd, spread
from votewise.papers.same_target.evidence import Evidence, Group, Run
from votewise.papers.same_target.interpretations import score_interpretation
from votewise.papers.same_target.judging import above_zero, all_above, chain, rises
from votewise.papers.same_target.orderings import orderings
from votewise.papers.same_target.published import SCORES, Published
from votewise.papers.same_target.scalars import scalars, soft_less_sls
from votewise.papers.same_target.tables import TABLES, paired_test, table_1, table_2, table_3, table_4, table_8
from votewise.report import Spread

EMPTY = evidence_of({})
HARD = ("sls", "multipass", "deterministic-control")


def sweep(seeds: int = 5, shift: float = 0.02) -> dict:
    """Soft NLL of the sweep; hard deliveries below soft labels by `shift` and some noise."""
    rng = np.random.default_rng(1)
    soft = {votes: 0.5 + 0.1 * rng.random(seeds) for votes in (5, 10, 25, 50)}
    rows = {("soft", votes, 1): {"soft_nll_best": soft[votes]} for votes in soft}
    for method in HARD:
        for votes, base in soft.items():
            rows[method, votes, 1] = {"soft_nll_best": base - shift + 0.01 * rng.random(seeds)}
    return rows


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=12))
def test_spread_is_mean_and_sample_deviation(values: list[float]) -> None:
    found = spread(values)
    assert found is not None
    assert found.n == len(values)
    assert found.mean == pytest.approx(statistics.fmean(values), abs=1e-9)
    assert found.sd == pytest.approx(statistics.stdev(values), abs=1e-6)


def test_spread_of_few() -> None:
    assert spread([]) is None
    single = spread([2.0])
    assert single is not None
    assert (single.mean, single.n, math.isnan(single.sd)) == (2.0, 1, True)


@pytest.mark.parametrize(
    ("ours", "published", "distance", "verdict"),
    [
        (Spread(0.49, 0.1, 10), Published(0.4, 0.1, 10, ""), 0.09 / (0.1 * math.sqrt(0.2)), "agrees"),
        (Spread(0.5, 0.1, 10), Published(0.4, 0.1, 10, ""), 0.1 / (0.1 * math.sqrt(0.2)), "apart"),
        (Spread(0.5, 0.7, 10), Published(0.4, 0.1, 10, ""), 0.1 / (0.5 * math.sqrt(0.2)), "agrees"),
        (Spread(math.nan, math.nan, 3), Published(0.4, 0.1, 10, ""), None, "no spread"),
        (Spread(0.3, 0.02, 5), Published(0.4, None, 10, ""), -0.1 / (0.02 * math.sqrt(0.3)), "apart"),
        (Spread(0.3, math.nan, 1), Published(0.4, None, 10, ""), None, "too few seeds"),
        (Spread(0.3, 0.0, 3), Published(0.4, None, 10, ""), None, "no spread"),
        (Spread(0.3, 0.1, 2), Published(0.4, 0.1, 10, ""), -1 / math.sqrt(0.6), "too few seeds"),
        (Spread(0.3, 0.1, 3), Published(0.4, 0.1, 10, ""), -1 / math.sqrt(0.1 + 1 / 3), "agrees"),
        (Spread(0.3, 0.1, 3), None, None, "no published number"),
        (None, Published(0.4, 0.1, 10, ""), None, "not run"),
        (None, None, None, "not run"),
    ],
)
def test_distance_and_verdict(
    ours: Spread | None, published: Published | None, distance: float | None, verdict: str
) -> None:
    cell = Cell("row", "column", ours, published)
    assert cell.distance == (None if distance is None else pytest.approx(distance))
    assert cell.verdict == verdict


@given(
    st.floats(0.1, 9), st.floats(0.1, 9), st.floats(0.01, 2), st.integers(1, 20), st.integers(2, 20), st.floats(0.1, 50)
)
def test_distance_does_not_depend_on_units(
    ours: float, paper: float, sd: float, seeds: int, n: int, unit: float
) -> None:
    def distance(scale: float, *, swapped: bool = False) -> float:
        one, other = (paper, ours) if swapped else (ours, paper)
        cell = Cell("", "", Spread(one * scale, sd * scale, n), Published(other * scale, sd * scale, seeds, ""))
        assert cell.distance is not None
        return cell.distance

    assert distance(unit) == pytest.approx(distance(1.0), rel=1e-6, abs=1e-6)
    assert distance(1.0, swapped=True) == pytest.approx(-distance(1.0))


@given(st.floats(-3, 3), st.floats(0.1, 2), st.floats(0.1, 2), st.integers(3, 12), st.integers(2, 12))
def test_two_samples_are_compared_as_scipy_does(apart: float, sd: float, other: float, n: int, seeds: int) -> None:
    cell = Cell("", "", Spread(apart, sd, n), Published(0.0, other, seeds, ""))
    expected = stats.ttest_ind_from_stats(apart, sd, n, 0.0, other, seeds)
    assert cell.distance == pytest.approx(expected.statistic)
    if abs(expected.pvalue - 0.05) > 1e-9:
        assert cell.verdict == ("agrees" if expected.pvalue > 0.05 else "apart")


def test_table_1_against_scipy_and_statsmodels() -> None:
    rows = sweep()
    rows["sls", 25, 1]["soft_nll_best"][2] = 0.7  # one seed disagrees
    table = table_1(evidence_of(rows))
    expected = [
        stats.wilcoxon(
            rows[method, votes, 1]["soft_nll_best"] - rows["soft", votes, 1]["soft_nll_best"],
            alternative="less", method="exact",
        ).pvalue
        for method in HARD
        for votes in (5, 10, 25, 50)
    ]  # fmt: skip
    assert [test.p_value for test in table.tests] == pytest.approx(expected)
    assert [test.p_holm for test in table.tests] == pytest.approx(multipletests(expected, method="holm")[1])
    assert [test.published_p for test in table.tests][:4] == [0.031, 0.031, 0.063, 0.094]
    odd = table.tests[2]
    assert (odd.row, odd.n, odd.favourable) == ("SLS, 25 votes against soft labels", 5, 4)
    cell = next(cell for cell in table.cells if (cell.row, cell.column) == ("multipass", "10 votes"))
    assert cell.ours is not None
    assert cell.ours.mean == pytest.approx(np.mean(rows["multipass", 10, 1]["soft_nll_best"]))
    assert cell.published is not None
    assert cell.published.mean == 0.5371


def test_tests_use_common_seeds_alone_and_see_ties() -> None:
    evidence = evidence_of(
        {
            ("sls", None, 1): {"accuracy_best": [0.3, 0.1 + 0.2, 0.5]},
            ("soft", None, 1): {"accuracy_best": [0.1, 0.1, 0.1, 9.0]},
        }
    )
    test = paired_test(evidence, Group("sls"), Group("soft"), "accuracy", "accuracy_best", "two-sided")
    assert (test.n, test.favourable, test.difference) == (3, 3, pytest.approx(0.8 / 3))
    assert test.p_value == 0.25
    alone = paired_test(evidence, Group("sls", first=1), Group("soft"), "accuracy", "accuracy_best", "two-sided")
    assert (alone.n, alone.p_value) == (1, None)


def test_tables_2_and_3_take_the_seeds_of_the_paper() -> None:
    rng = np.random.default_rng(2)
    values = {method: rng.random(10) for method in ("sls", "soft")} | {"multipass": rng.random(5)}
    evidence = evidence_of({(method, None, 1): {"soft_nll_best": found} for method, found in values.items()})
    by_row = {cell.row: cell.ours for cell in table_3(evidence).cells if cell.column == "soft NLL"}
    assert by_row["SLS, first 5 seeds"] == spread(values["sls"][:5])
    assert by_row["soft labels"] == spread(values["soft"])
    assert by_row["shuffled SLS"] is None
    multipass = next(test for test in table_3(evidence).tests if test.row.startswith("multipass"))
    expected = stats.wilcoxon(values["multipass"], values["sls"][:5], method="exact").pvalue
    assert (multipass.n, multipass.p_value, multipass.published_p) == (5, pytest.approx(expected), 0.4375)
    main = table_2(evidence).tests[0]
    expected = stats.wilcoxon(values["sls"], values["soft"], method="exact").pvalue
    assert (main.n, main.p_value, main.published_p) == (10, pytest.approx(expected), 0.6953)


def test_both_readings_of_accuracy_and_the_floor_of_ece() -> None:
    numbers = {"accuracy_best": [0.9], "accuracy_majority_best": [0.8], "ece_best": [0.02], "ece_floor_best": [0.01]}
    cells = table_2(evidence_of({("soft", None, 1): numbers})).cells
    row = {cell.column: cell for cell in cells if cell.row == "soft labels" and cell.ours is not None}
    assert {column: cell.published and cell.published.mean for column, cell in row.items()} == {
        "accuracy": 0.8687,
        "accuracy by majority": 0.8687,
        "ECE": 0.0185,
        "ECE floor": None,
    }


def test_table_4_takes_the_slice_that_fits() -> None:
    numbers = {f"best/{part}/largest": [100.0, 110.0] for part in ("full", "top-20%", "top-10%", "top-5%", "H>0.5")}
    table = table_4(evidence_of({("soft", None, 1): numbers | {"last/full/trace": [5.0, 7.0]}}))
    row = {cell.column: cell for cell in table.cells if cell.row == "soft labels" and cell.ours is not None}
    printed = {column: cell.published.mean if cell.published else None for column, cell in row.items()}
    assert printed == {"λmax, full": 242.2, "λmax, top-10%": None, "λmax, top-5%": 780.6}
    last = next(cell for cell in table.cells if cell.row == "soft labels, last epoch" and cell.ours is not None)
    assert (last.column, last.ours, last.verdict) == ("trace, full", spread([5.0, 7.0]), "no published number")


def test_table_8_tests_both_ways() -> None:
    rng = np.random.default_rng(3)
    values = {method: rng.random(10) for method in ("sls", "soft")}
    table = table_8(
        evidence_of({(method, None, 1): {"cifar100/energy/auroc": found} for method, found in values.items()})
    )
    greater, two_sided = table.tests[:2]
    expected = [
        stats.wilcoxon(values["sls"], values["soft"], alternative=way, method="exact").pvalue
        for way in ("greater", "two-sided")
    ]
    assert [greater.p_value, two_sided.p_value] == pytest.approx(expected)
    assert (greater.published_p, two_sided.published_p) == (0.0186, None)


@pytest.mark.parametrize("name", TABLES)
def test_without_runs_all_is_said_to_be_missing(name: str) -> None:
    table = TABLES[name](EMPTY)
    assert table.name == name
    assert {cell.verdict for cell in table.cells} == {"not run"}
    assert all(test.p_value is None and math.isnan(test.difference) for test in table.tests)


def test_scalars_and_claims_without_runs() -> None:
    assert {cell.verdict for cell in scalars(EMPTY).cells} == {"not run"}
    assert {claim.verdict for claim in orderings(EMPTY)} == {"not run"}


def test_earlier_is_by_seed() -> None:
    evidence = evidence_of(
        {("sls", None, 1): {"best_epoch": [10, 20, 30]}, ("soft", None, 1): {"best_epoch": [15, 18]}}
    )
    assert soft_less_sls(evidence, "best_epoch") == {0: 5.0, 1: -2.0}
    cell = next(cell for cell in scalars(evidence).cells if cell.column == "at its best")
    assert cell.ours == spread([5.0, -2.0])


def claim_about(words: str, claims: tuple[Claim, ...]) -> Claim:
    (found,) = [claim for claim in claims if words in claim.claim]
    return found


MAIN_NLL = {"sls": 0.50, "soft": 0.51, "mixup": 0.55, "label-smoothing": 0.62, "majority": 0.73}


def test_the_main_order() -> None:
    steps = [[Group("sls"), Group("soft")], [Group("mixup")], [Group("label-smoothing")], [Group("majority")]]
    rows = {(method, None, 1): {"nll": [value] * 3} for method, value in MAIN_NLL.items()}
    claim = chain(evidence_of(rows), "nll", steps, "words")
    assert (claim.found, claim.verdict) == ("{0.5000, 0.5100} < 0.5500 < 0.6200 < 0.7300, 3 seeds", "holds")
    rows["soft", None, 1] = {"nll": [0.56] * 3}
    assert chain(evidence_of(rows), "nll", steps, "words").verdict == "fails"
    rows["soft", None, 1] = {"nll": [0.51] * 2}
    assert chain(evidence_of(rows), "nll", steps, "words").verdict == "undecided"
    del rows["soft", None, 1]
    assert chain(evidence_of(rows), "nll", steps, "words").verdict == "not run"


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6))
def test_a_chain_holds_where_every_step_rises_and_fails_where_one_falls(values: list[float]) -> None:
    evidence = evidence_of({(str(place), None, 1): {"nll": [value] * 3} for place, value in enumerate(values)})
    claim = chain(evidence, "nll", [[Group(str(place))] for place in range(len(values))], "words")
    steps = np.diff(values).round(12)
    assert claim.holds == (False if (steps < 0).any() else True if (steps > 0).all() else None)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=8), st.floats(-0.5, 0.5))
def test_a_difference_decides_where_the_interval_of_scipy_excludes_zero(values: list[float], shift: float) -> None:
    ours = spread(np.array(values) + shift)
    assert ours is not None
    if ours.sd > 1e-6:
        low, high = stats.ttest_1samp(np.array(values) + shift, 0).confidence_interval(0.95)
        if min(abs(low), abs(high)) > 1e-9:
            expected = "holds" if low > 0 else "fails" if high < 0 else "undecided"
            assert above_zero("words", ours).verdict == expected
    assert above_zero("words", replace(ours, n=2)).verdict == "undecided"


def test_of_several_means_one_certainly_below_fails_and_one_missing_is_undecided() -> None:
    high, open_, low = Spread(1.0, 0.1, 5), Spread(0.1, 1.0, 5), Spread(-1.0, 0.1, 5)
    found = {
        "holds": [high, high], "undecided": [high, open_], "fails": [high, open_, low], "not run": [None, None],
    }  # fmt: skip
    assert {name: all_above("words", cells, "found").verdict for name, cells in found.items()} == {n: n for n in found}
    assert all_above("words", [high, None], "found").verdict == "undecided"
    assert all_above("words", [high], "found", bound=0.5).verdict == "holds"
    assert all_above("words", [high], "found", bound=1.5).verdict == "fails"


def test_a_slope_is_that_of_each_seeds_own_line() -> None:
    rng = np.random.default_rng(0)
    x, values = np.array([0.0, 1.0, 3.0]), rng.random((6, 3)) + 0.4 * np.array([0.0, 1.0, 3.0])
    slopes = [stats.linregress(x, row).slope for row in values]
    claim = rises("words", values, list(x), unit="step")
    error = np.std(slopes, ddof=1) / math.sqrt(6)
    assert claim.found.endswith(f"; by step {np.mean(slopes):+.4f} ± {error:.4f}, 6 seeds")
    assert claim.verdict == "holds"
    assert rises("words", values[:, ::-1], list(x), unit="step").verdict == "fails"
    assert rises("words", values[:0], list(x), unit="step").verdict == "not run"


def test_claims_about_few_votes() -> None:
    claims = orderings(evidence_of(sweep()))
    assert claim_about("soft NLL, in all 12 cells", claims).verdict == "holds"
    assert claim_about("at least 9", claims).found == "in 12 of 12"
    holm = claim_about("after Holm over the 12 cells", claims)
    assert (holm.found, holm.verdict) == ("smallest adjusted p 0.3750", "holds")
    worse = orderings(evidence_of(sweep(shift=-0.02)))
    assert claim_about("soft NLL, in all 12 cells", worse).verdict == "fails"
    rows = sweep()
    del rows["multipass", 25, 1]
    part = claim_about("soft NLL, in all 12 cells", orderings(evidence_of(rows)))
    assert (part.found, part.verdict) == ("in 11 of 11", "undecided")


def test_gaps_that_fall_with_more_votes() -> None:
    rows = sweep()
    for step, votes in enumerate((5, 10, 25, 50)):
        rows["soft", votes, 1] = {"soft_nll_best": [0.9 - 0.1 * step] * 5}
        for method in ("sls", "multipass", "deterministic-control"):
            rows[method, votes, 1] = {"soft_nll_best": [0.5] * 5}
    words = "the more votes, the smaller the gap"
    claim = claim_about(words, orderings(evidence_of(rows)))
    slope = stats.linregress(np.log2([5, 10, 25, 50]), [-0.4, -0.3, -0.2, -0.1]).slope
    expected = f"-0.4000, -0.3000, -0.2000, -0.1000; by doubling of the votes {slope:+.4f} ± 0.0000, 5 seeds"
    assert (claim.found, claim.verdict) == (expected, "holds")
    for votes in (5, 10, 25, 50):
        rows["multipass", votes, 1] = {"soft_nll_best": [0.9 - votes / 5] * 5}
    assert claim_about(words, orderings(evidence_of(rows))).verdict == "fails"
    rows["multipass", 25, 1] = {"soft_nll_best": [-900.0, 900.0, -900.0, 900.0, 0.0]}
    assert claim_about(words, orderings(evidence_of(rows))).verdict == "undecided"
    del rows["multipass", 25, 1]
    assert claim_about(words, orderings(evidence_of(rows))).verdict == "not run"


def test_redrawn_votes_against_all_votes() -> None:
    """The mean over methods, seed by seed, on the seeds that all of them have."""
    rows = {
        (method, votes, 1): {"soft_nll_best": [0.5, 0.6, 0.5, 0.1][: 4 if votes is None else 3]}
        for method in ("soft", *HARD)
        for votes in (None, 25, 50)
    }
    words = "is lower with all votes"
    rows["soft", 50, 1] = {"soft_nll_best": [0.7, 0.5, 0.7]}
    claim = claim_about(words, orderings(evidence_of(rows)))
    gains = np.array([0.2, -0.1, 0.2]) / 4
    assert claim.found == f"{gains.mean():+.4f} ± {gains.std(ddof=1) / math.sqrt(3):.4f}, 3 seeds"
    assert claim.verdict == "undecided"
    for more, verdict in ((0.3, "holds"), (-0.3, "fails")):
        rows["soft", 50, 1] = {"soft_nll_best": [0.5 + more, 0.6 + more, 0.5 + more]}
        claims = orderings(evidence_of(rows))
        assert claim_about(words, claims).verdict == verdict
        assert claim_about("is higher with 50 redrawn votes than with 25", claims).verdict == verdict
    del rows["multipass", 50, 1]
    assert claim_about(words, orderings(evidence_of(rows))).verdict == "not run"


def test_what_is_ahead_of_multipass_on_the_same_seeds() -> None:
    rows = {
        ("multipass", 5, 1): {"soft_nll_best": [0.60, 0.58, 0.62, 0.10], "ece_best": [0.03, 0.02, 0.03]},
        ("soft-smoothed", 5, 1): {"soft_nll_best": [0.58, 0.59, 0.58], "ece_best": [0.08, 0.07, 0.08]},
        ("dirichlet-fitted", 5, 1): {"soft_nll_best": [0.61, 0.59, 0.63]},
        ("multipass", 10, 1): {"soft_nll_best": [0.52]},
        ("soft-smoothed", 10, 1): {"soft_nll_best": [0.51]},
    }
    smoothed, fitted = "soft labels, smoothed, have a lower", "soft labels, fitted Dirichlet prior, have a lower"
    found = {claim.claim: claim for claim in orderings(evidence_of(rows))}
    nll, ece = (
        found[f"beyond the paper: with 5 votes {smoothed} {what} than multipass"] for what in ("soft NLL", "ECE")
    )
    assert (nll.found, nll.verdict) == ("difference -0.0167 ± 0.0145, 3 seeds", "undecided")
    assert (ece.found, ece.verdict) == ("difference +0.0500 ± 0.0000, 3 seeds", "fails")
    assert found[f"beyond the paper: with 5 votes {fitted} soft NLL than multipass"].verdict == "fails"
    ten = found[f"beyond the paper: with 10 votes {smoothed} soft NLL than multipass"]
    assert (ten.found, ten.verdict) == ("difference -0.0100, 1 seed", "undecided")
    assert found[f"beyond the paper: with 10 votes {fitted} soft NLL than multipass"].verdict == "not run"
    rows["soft-smoothed", 5, 1] = {"soft_nll_best": [0.58, 0.56, 0.60]}
    claims = orderings(evidence_of(rows))
    assert (
        next(claim for claim in claims if claim.claim.endswith(f"5 votes {smoothed} soft NLL than multipass")).verdict
        == "holds"
    )


def test_the_floor_of_calibration_errors() -> None:
    floor = np.linspace(0.016, 0.018, 8)
    above = {"ece_best": floor + 0.01, "ece_floor_best": floor}
    around = {"ece_best": floor + 0.001 * np.array([1, -2, 3, -4, 5, -6, 7, -8]), "ece_floor_best": floor}
    claims = orderings(evidence_of({("sls", None, 1): around, ("soft", None, 1): above}))
    held, failed = (claim_about(f"ECE of {method} is at its floor", claims) for method in ("SLS", "soft labels"))
    assert failed.found == "difference +0.0100, p 0.0078, 8 seeds"
    assert (held.verdict, failed.verdict) == ("holds", "fails")


def test_a_gain_that_is_a_matter_of_temperature() -> None:
    rows = sweep()
    for (method, _, _), numbers in rows.items():
        numbers["scaled/soft_nll"] = numbers["soft_nll_best"] + (0.0 if method == "soft" else 0.03)
    gain, scaled = [claim for claim in orderings(evidence_of(rows)) if "mean of the 12 cells" in claim.claim]
    assert (gain.verdict, scaled.verdict) == ("holds", "fails")
    assert scaled.claim.endswith("is positive also with temperatures fitted on other images")
    cells = [rows["soft", votes, 1]["soft_nll_best"] - rows[method, votes, 1]["soft_nll_best"] for method in HARD for votes in (5, 10, 25, 50)]  # fmt: skip
    of_seeds = np.mean(cells, axis=0)
    assert gain.found == f"{of_seeds.mean():+.4f} ± {of_seeds.std(ddof=1) / math.sqrt(5):.4f}, 5 seeds"


def test_a_difference_that_only_one_of_several_tests_shows_is_undecided() -> None:
    base, noise = np.arange(8) / 10, np.array([1, -2, 3, -4, 5, -6, 7, -8]) / 1000
    rows = {
        ("sls", None, 1): {"soft_nll_best": base + noise, "soft_nll_last": base - 0.1, "scaled/soft_nll": base + noise},
        ("soft", None, 1): {"soft_nll_best": base, "soft_nll_last": base, "scaled/soft_nll": base},
    }
    claims = orderings(evidence_of(rows))
    assert claim_about("do not differ on all votes in soft NLL", claims).verdict == "holds"
    last = claim_about("do not differ in soft NLL after the last epoch", claims)
    assert (last.found, last.verdict) == ("difference -0.1000, p 0.0078, 0.0156 after Holm, 8 seeds", "fails")
    few = {key: {name: values[:6] for name, values in numbers.items()} for key, numbers in rows.items()}
    last = claim_about("do not differ in soft NLL after the last epoch", orderings(evidence_of(few)))
    assert (last.found, last.verdict) == ("difference -0.1000, p 0.0312, 0.0625 after Holm, 6 seeds", "undecided")


def test_the_epoch_can_be_chosen_on_the_other_seeds() -> None:
    rng = np.random.default_rng(4)
    runs = [Run(method, None, 1, seed) for method in ("sls", "soft") for seed in range(7)]
    curves = rng.random((14, 20))
    evidence = Evidence(tuple(runs), {}, {"curve_soft_nll": curves}, {}, np.zeros((14, 0, 0), np.float16))
    expected = [
        [group[seed, np.delete(group, seed, axis=0).mean(axis=0).argmin()] for seed in range(7)]
        for group in (curves[:7], curves[7:])
    ]
    claim = claim_about("at an epoch chosen on the other seeds", orderings(evidence))
    difference, p = np.subtract(*expected).mean(), stats.wilcoxon(*expected, method="exact").pvalue
    assert claim.found == f"difference {difference:+.4f}, p {p:.4f}, {p:.4f} after Holm, 7 seeds"


def test_few_seeds_cannot_show_that_methods_do_not_differ() -> None:
    for seeds, verdict in ((5, "undecided"), (6, "fails")):
        rows = {
            ("sls", None, 1): {"soft_nll_best": np.arange(seeds) / 10},
            ("soft", None, 1): {"soft_nll_best": np.arange(seeds) / 9 + 1},
        }
        assert claim_about("do not differ on all votes in soft NLL", orderings(evidence_of(rows))).verdict == verdict


def test_pairs_that_are_equal_cannot_show_that_methods_do_not_differ() -> None:
    rows = {
        ("sls", None, 1): {"soft_nll_best": [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]},
        ("soft", None, 1): {"soft_nll_best": [0.4, 0.5, 0.6, 0.7, 0.8, 1.0]},
    }
    claim = claim_about("do not differ on all votes in soft NLL", orderings(evidence_of(rows)))
    assert (claim.found, claim.verdict) == ("difference +0.0833, p 0.0625, 0.0625 after Holm, 6 seeds", "undecided")


def test_the_main_comparison_is_judged_after_holm() -> None:
    base = np.arange(6) / 10
    worse = {f"{name}_best": base + 0.1 for name in ("soft_nll", "accuracy", "ece", "entropy_correlation")}
    same = dict.fromkeys(worse, base)
    claims = orderings(evidence_of({("sls", None, 1): worse, ("soft", None, 1): same}))
    claim = claim_about("do not differ on all votes in soft NLL", claims)
    assert (claim.found, claim.verdict) == ("difference +0.1000, p 0.0312, 0.1250 after Holm, 6 seeds", "undecided")


@pytest.mark.parametrize(
    ("sls", "verdict"),
    [([0.04, 0.041, 0.042], "holds"), ([0.02, 0.021, 0.022], "fails"), ([0.04, 0.05, 0.02], "undecided")],
)
def test_the_resolution_is_higher_where_the_interval_says_so(sls: list[float], verdict: str) -> None:
    rows = {
        ("sls", None, 1): {"brier/shares/resolution": sls},
        ("soft", None, 1): {"brier/shares/resolution": [0.03] * len(sls)},
    }
    claims = orderings(evidence_of(rows))
    assert claim_about("resolution of SLS is higher than that of soft labels, of people", claims).verdict == verdict
    assert claim_about("of soft labels, of the top class", claims).verdict == "not run"


def test_means_are_of_the_seeds_that_all_have() -> None:
    rows = {("low", None, 1): {"nll": [0.5, 0.5, 0.5, 9.0]}, ("high", None, 1): {"nll": [0.6, 0.6, 0.6]}}
    claim = chain(evidence_of(rows), "nll", [[Group("low")], [Group("high")]], "words")
    assert (claim.found, claim.verdict) == ("0.5000 < 0.6000, 3 seeds", "holds")


@pytest.mark.parametrize(
    ("middle", "verdict"),
    [(0.105, "holds"), (0.15, "undecided"), (0.17, "undecided"), (0.30, "fails"), (-0.1, "fails")],
)
def test_means_lie_within_a_range_where_their_intervals_do(middle: float, verdict: str) -> None:
    """Twelve means of three seeds with an SD of 0.02: give or take t(24) 0.02 / sqrt(3), which is 0.024."""
    numbers = {"js/spearman": [middle - 0.02, middle, middle + 0.02]}
    rows = {(m, k, 1): numbers for m in ("sls", "multipass", "deterministic-control") for k in (5, 10, 25, 50)}
    claim = claim_about("redraw distance", orderings(evidence_of(rows)))
    assert (claim.found, claim.verdict) == (f"{middle:.3f} to {middle:.3f}, 3 seeds", verdict)
    del rows["sls", 5, 1]
    rest = claim_about("redraw distance", orderings(evidence_of(rows))).verdict
    assert rest == ("fails" if verdict == "fails" else "undecided")


def test_ratios_of_curvature() -> None:
    """The interval is that of the mean logarithm."""
    soft, sls = np.array([200.0, 220.0, 240.0, 210.0]), np.array([90.0, 95.0, 110.0, 100.0])
    rows = {
        ("soft", None, 1): {"best/full/largest": soft, "last/full/largest": 1.2 * soft},
        ("sls", None, 1): {"best/full/largest": sls, "last/full/largest": 1.2 * soft},
        ("multipass", None, 1): {"best/full/largest": sls[:2]},
    }
    claims = orderings(evidence_of(rows))
    logs = np.log(sls / soft)
    low, high = np.exp(stats.t.interval(0.95, 3, logs.mean(), stats.sem(logs)))
    half = claim_about("λmax of SLS is below half of that of soft labels at the best epoch", claims)
    assert half.found == f"SLS {np.exp(logs.mean()):.2f} ({low:.2f} to {high:.2f}) of it, 4 seeds"
    assert half.verdict == ("holds" if high < 0.5 else "undecided")
    all_three = claim_about("λmax of SLS, multipass, deterministic control is below that", claims)
    assert (all_three.verdict, "multipass 0.44," in all_three.found) == ("undecided", False)
    assert "multipass 0.44 of it" in all_three.found
    assert claim_about("λmax of SLS is below half of that of soft labels after the last", claims).verdict == "fails"
    assert claim_about("λmax of SLS is below that of soft labels after the last", claims).verdict == "undecided"
    below_half = tuple(claim for claim in claims if "half" in claim.claim)
    assert claim_about("at one epoch for both", below_half).verdict == "not run"


def test_stale_labels_and_nothing_learned() -> None:
    rows = {("sls", None, hold): {"soft_nll_best": [0.5 + 0.03 * step + 0.001 * seed for seed in range(3)]} for step, hold in enumerate((1, 5, 10, 50))}  # fmt: skip
    rows["shuffled-sls", None, 1] = {"soft_nll_best": [2.31] * 3}
    claims = orderings(evidence_of(rows))
    assert claim_about("the longer a drawn label is kept", claims).verdict == "holds"
    stale = claim_about("labels that are kept are worse than fresh ones", claims)
    assert (stale.found, stale.verdict) == ("in 9 of 9", "undecided")
    assert claim_about("ln 10", claims).found == f"{2.31 - math.log(10):+.4f} from it, 3 seeds"


def test_improvement_where_nothing_was_redrawn_and_at_equal_entropy() -> None:
    numbers = {"js/gain/0": [0.02, 0.021, 0.022], "js/spearman_given_entropy": [0.1, -0.1, 0.02]}
    rows = {(method, votes, 1): numbers for method in HARD for votes in (5, 10, 25, 50)}
    claims = orderings(evidence_of(rows))
    assert claim_about("whose redrawn shares are unchanged", claims).verdict == "holds"
    assert claim_about("also at equal entropy", claims).verdict == "undecided"
    del rows["sls", 5, 1]
    assert claim_about("whose redrawn shares are unchanged", orderings(evidence_of(rows))).verdict == "not run"


def test_cells_share_one_sd_pooled_over_all_samples() -> None:
    cells = [
        Cell("a", "x", Spread(1.0, 0.1, 3), Published(0.9, 0.2, 5, "")),
        Cell("b", "x", Spread(2.0, 0.01, 4), Published(1.9, None, 5, "")),
        Cell("c", "x", Spread(9.0, 9.0, 9), None),
        Cell("a", "y", Spread(1.0, 0.5, 3), Published(0.9, None, 5, "")),
        Cell("b", "y", None, Published(0.9, 0.5, 5, "")),
    ]
    first, second, third, fourth, fifth = sharing_sd(cells, lambda cell: cell.column)
    sd = math.sqrt((2 * 0.1**2 + 4 * 0.2**2 + 3 * 0.01**2) / 9)
    assert first.deviation == second.deviation == third.deviation == (pytest.approx(sd), 9)
    assert second.distance == pytest.approx(0.1 / (sd * math.sqrt(1 / 4 + 1 / 5)))
    assert (second.verdict, cells[1].verdict) == ("agrees", "apart")
    assert fourth.deviation == (pytest.approx(math.sqrt((2 * 0.5**2 + 4 * 0.5**2) / 6)), 6)
    assert (fifth.distance, fifth.verdict) == (None, "not run")


def test_claims_about_detection() -> None:
    scores = [score_interpretation(score) for score in SCORES]
    base = np.linspace(0.7, 0.8, 10)
    above = {f"cifar100/{score}/auroc": base + 0.01 for score in scores}
    soft = {f"cifar100/{score}/auroc": base for score in scores}
    claims = orderings(evidence_of({("sls", None, 1): above, ("soft", None, 1): soft}))
    assert claim_about("each of the six scores", claims).verdict == "holds"
    assert claim_about("significantly also in two-sided", claims).verdict == "holds"
    turned = orderings(evidence_of({("sls", None, 1): soft, ("soft", None, 1): above}))
    assert claim_about("each of the six scores", turned).verdict == "fails"


def test_leads_in_epochs_that_were_exchanged() -> None:
    soft = {"near_best/descent": [100.0, 104.0, 102.0], "best_epoch": [140.0, 150.0, 145.0]}
    later = {"near_best/descent": [136.0, 139.0, 138.5], "best_epoch": [187.0, 197.0, 193.0]}
    claims = orderings(evidence_of({("soft", None, 1): soft, ("sls", None, 1): later}))
    claim = claim_about("were exchanged", claims)
    assert (claim.found, claim.verdict) == ("35.8 against 35.7 and 47.3 against 47.2, 3 seeds", "holds")
    turned = orderings(evidence_of({("sls", None, 1): soft, ("soft", None, 1): later}))
    assert claim_about("were exchanged", turned).verdict == "fails"
    assert claim_about("SLS is at its best earlier", turned).verdict == "holds"
    half = [{"best_epoch": numbers["best_epoch"]} for numbers in (soft, later)]
    part = orderings(evidence_of({("soft", None, 1): half[0], ("sls", None, 1): half[1]}))
    assert claim_about("were exchanged", part).verdict == "not run"


def test_the_gap_at_50_votes_is_compared_on_the_same_seeds() -> None:
    rows = {
        ("soft", 50, 1): {"soft_nll_best": [0.6, 0.61, 0.6]},
        ("sls", 50, 1): {"soft_nll_best": [0.5, 0.5, 0.5]},
        ("soft", None, 1): {"soft_nll_best": [0.55, 0.55, 0.55, 9.0]},
        ("sls", None, 1): {"soft_nll_best": [0.5, 0.5, 0.5, 0.5]},
    }
    claim = claim_about("wider with 50 votes", orderings(evidence_of(rows)))
    assert (claim.found, claim.verdict) == ("+0.0533 ± 0.0033, 3 seeds", "holds")
    rows["soft", 50, 1] = {"soft_nll_best": [0.6, 0.7, 0.5]}
    assert claim_about("wider with 50 votes", orderings(evidence_of(rows))).verdict == "undecided"


def test_a_run_without_a_finite_score_is_left_out() -> None:
    values = {"soft": [0.6, np.inf, 0.62], "sls": [0.5, 0.51, 0.52]}
    table = table_1(evidence_of({(method, 5, 1): {"soft_nll_best": found} for method, found in values.items()}))
    assert (table.cells[0].ours, table.tests[0].n) == (spread([0.6, 0.62]), 2)
