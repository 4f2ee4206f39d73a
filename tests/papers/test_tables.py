"""Tables and quoted numbers from chosen numbers: means, distances and tests against other implementations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from paper_runs import beside, results_with, sample
from votewise.papers.paper import Entry
from votewise.papers.published import PaperCell
from votewise.papers.same_target import PAPER
from votewise.records import Results
from votewise.statistics import PairedTest, Published, Sample
from votewise.statistics.decide import agreements

HARD = ("sls", "multipass", "deterministic-control")
TABLES = {table.name: table for table in (*PAPER.tables, *PAPER.beyond, PAPER.quoted) if table is not None}
EMPTY = results_with({})


def cells(name: str, results: Results, **more: Any) -> tuple[PaperCell, ...]:
    table = TABLES[name]
    return PAPER.cells(table.entries, results, alike=table.alike, **more)


def paired(name: str, results: Results) -> dict[str, PairedTest]:
    """The tests of a table by their rows, columns and alternatives."""
    table = TABLES[name]
    tests = PAPER.paired_tests(table, results)
    rows = [
        " ".join((PAPER.row_name(one.first), "|", one.second["method"], "|", one.column, "|", one.alternative))
        for one in table.pairings
    ]
    return dict(zip(rows, tests, strict=True))


def spread(mean: float, sd: float, n: int) -> Sample:
    """A sample of that mean and deviation."""
    if n == 1:
        return sample(mean)
    unit = np.arange(n) - (n - 1) / 2
    return sample(*(mean + sd * unit / unit.std(ddof=1)))


def sweep(seeds: int = 5, shift: float = 0.02) -> dict:
    """Soft NLL of the sweep; hard deliveries below soft labels by `shift` and some noise."""
    rng = np.random.default_rng(1)
    soft = {votes: 0.5 + 0.1 * rng.random(seeds) for votes in (5, 10, 25, 50)}
    rows = {("soft", votes, 1): {"soft_nll_best": soft[votes]} for votes in soft}
    for method in HARD:
        for votes, base in soft.items():
            rows[method, votes, 1] = {"soft_nll_best": base - shift + 0.01 * rng.random(seeds)}
    return rows


@pytest.mark.parametrize(
    ("ours", "published", "distance", "verdict"),
    [
        (spread(0.49, 0.1, 10), Published(0.4, 0.1, 10, ""), 0.09 / (0.1 * math.sqrt(0.2)), "agrees"),
        (spread(0.5, 0.1, 10), Published(0.4, 0.1, 10, ""), 0.1 / (0.1 * math.sqrt(0.2)), "apart"),
        (spread(0.5, 0.7, 10), Published(0.4, 0.1, 10, ""), 0.1 / (0.5 * math.sqrt(0.2)), "agrees"),
        (sample(math.nan, math.nan, math.nan), Published(0.4, 0.1, 10, ""), None, "no spread"),
        (spread(0.3, 0.02, 5), Published(0.4, None, 10, ""), -0.1 / (0.02 * math.sqrt(0.3)), "apart"),
        (sample(0.3), Published(0.4, None, 10, ""), None, "too few seeds"),
        (sample(0.3, 0.3, 0.3), Published(0.4, None, 10, ""), None, "no spread"),
        (spread(0.3, 0.1, 2), Published(0.4, 0.1, 10, ""), -1 / math.sqrt(0.6), "too few seeds"),
        (spread(0.3, 0.1, 3), Published(0.4, 0.1, 10, ""), -1 / math.sqrt(0.1 + 1 / 3), "agrees"),
        (spread(0.3, 0.1, 3), None, None, "no published number"),
        (None, Published(0.4, 0.1, 10, ""), None, "not run"),
        (None, None, None, "not run"),
    ],
)
def test_distance_and_verdict(
    ours: Sample | None, published: Published | None, distance: float | None, verdict: str
) -> None:
    cell = beside(ours, published)
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
        cell = beside(spread(one * scale, sd * scale, n), Published(other * scale, sd * scale, seeds, ""))
        assert cell.distance is not None
        return cell.distance

    assert distance(unit) == pytest.approx(distance(1.0), rel=1e-6, abs=1e-6)
    assert distance(1.0, swapped=True) == pytest.approx(-distance(1.0))


@given(st.floats(-3, 3), st.floats(0.1, 2), st.floats(0.1, 2), st.integers(3, 12), st.integers(2, 12))
def test_two_samples_are_compared_as_scipy_does(apart: float, sd: float, other: float, n: int, seeds: int) -> None:
    cell = beside(spread(apart, sd, n), Published(0.0, other, seeds, ""))
    expected = stats.ttest_ind_from_stats(apart, sd, n, 0.0, other, seeds)
    assert cell.distance == pytest.approx(expected.statistic, abs=1e-9)
    if abs(expected.pvalue - 0.05) > 1e-9:
        assert cell.verdict == ("agrees" if expected.pvalue > 0.05 else "apart")


@pytest.mark.parametrize("n", [3, 5])
def test_where_the_sd_is_ours_students_t_decides(n: int) -> None:
    """The interval in which a 95 % confidence interval of our mean would have the published one, were it exact."""
    ours = sample(*map(float, range(n)))
    for far, verdict in ((0.99, "agrees"), (1.01, "apart")):
        allowed = stats.t.ppf(0.975, n - 1) * ours.sd * math.sqrt(1 / n + 1 / 10)
        assert beside(ours, Published(ours.mean - far * allowed, None, 10, "")).verdict == verdict


def test_cells_share_one_sd_pooled_over_all_samples() -> None:
    ours = [spread(1.0, 0.1, 3), spread(2.0, 0.01, 4), spread(9.0, 9.0, 9), spread(1.0, 0.5, 3), Sample({})]
    printed = [
        Published(0.9, 0.2, 5, ""), Published(1.9, None, 5, ""), None, Published(0.9, None, 5, ""),
        Published(0.9, 0.5, 5, ""),
    ]  # fmt: skip
    first, second, third, fourth, fifth = agreements(ours, printed, ["x", "x", "x", "y", "y"])
    sd = math.sqrt((2 * 0.1**2 + 4 * 0.2**2 + 3 * 0.01**2) / 9)
    assert first.shared == second.shared == third.shared == (pytest.approx(sd), 9)
    assert second.distance == pytest.approx(0.1 / (sd * math.sqrt(1 / 4 + 1 / 5)))
    assert (second.verdict, beside(ours[1], printed[1]).verdict) == ("agrees", "apart")
    assert fourth.shared == (pytest.approx(math.sqrt((2 * 0.5**2 + 4 * 0.5**2) / 6)), 6)
    assert (fifth.distance, fifth.verdict) == (None, "not run")


def test_table_1_against_scipy_and_statsmodels() -> None:
    rows = sweep()
    rows["sls", 25, 1]["soft_nll_best"][2] = 0.7  # one seed disagrees
    results = results_with(rows)
    tests = paired("table-1", results)
    expected = [
        stats.wilcoxon(
            rows[method, votes, 1]["soft_nll_best"] - rows["soft", votes, 1]["soft_nll_best"],
            alternative="less", method="exact",
        ).pvalue
        for method in HARD
        for votes in (5, 10, 25, 50)
    ]  # fmt: skip
    assert [test.p_value for test in tests.values()] == pytest.approx(expected)
    assert [test.p_holm for test in tests.values()] == pytest.approx(multipletests(expected, method="holm")[1])
    printed = [PAPER.published.p_values[pairing.key] for pairing in TABLES["table-1"].pairings]
    assert printed[:4] == [0.031, 0.031, 0.063, 0.094]
    odd = tests["SLS, 25 votes | soft | soft NLL | less"]
    assert (odd.n, odd.wins) == (5, 4)
    cell = next(one for one in cells("table-1", results) if (one.row, one.column) == ("multipass", "10 votes"))
    assert cell.ours is not None
    assert cell.ours.mean == pytest.approx(np.mean(rows["multipass", 10, 1]["soft_nll_best"]))
    assert cell.published is not None
    assert cell.published.mean == 0.5371


def test_tables_2_and_3_take_the_seeds_of_the_paper() -> None:
    rng = np.random.default_rng(2)
    values = {method: rng.random(10) for method in ("sls", "soft")} | {"multipass": rng.random(5)}
    results = results_with({(method, None, 1): {"soft_nll_best": found} for method, found in values.items()})
    by_row = {cell.row: cell.ours for cell in cells("table-3", results) if cell.column == "soft NLL"}
    assert by_row["SLS, first 5 seeds"] == sample(*values["sls"][:5])
    assert by_row["soft labels"] == sample(*values["soft"])
    assert by_row["shuffled SLS"] is None
    multipass = paired("table-3", results)["multipass | sls | soft NLL | two-sided"]
    expected = stats.wilcoxon(values["multipass"], values["sls"][:5], method="exact").pvalue
    assert (multipass.n, multipass.p_value) == (5, pytest.approx(expected))
    main = paired("table-2", results)["SLS | soft | soft NLL | two-sided"]
    expected = stats.wilcoxon(values["sls"], values["soft"], method="exact").pvalue
    assert (main.n, main.p_value) == (10, pytest.approx(expected))


def test_both_answers_to_accuracy_and_the_floor_of_ece() -> None:
    numbers = {"accuracy_best": [0.9], "accuracy_majority_best": [0.8], "ece_best": [0.02], "ece_floor_best": [0.01]}
    found = cells("table-2", results_with({("soft", None, 1): numbers}))
    row = {cell.column: cell for cell in found if cell.row == "soft labels" and cell.ours is not None}
    assert {column: cell.published and cell.published.mean for column, cell in row.items()} == {
        "accuracy": 0.8687,
        "accuracy by majority": 0.8687,
        "ECE": 0.0185,
        "ECE floor": None,
    }


def test_table_4_takes_the_slice_that_fits() -> None:
    numbers = {f"best/{part}/largest": [100.0, 110.0] for part in ("full", "top-20%", "top-10%", "top-5%", "H>0.5")}
    found = cells("table-4", results_with({("soft", None, 1): numbers | {"last/full/trace": [5.0, 7.0]}}))
    row = {cell.column: cell for cell in found if cell.row == "soft labels" and cell.ours is not None}
    printed = {column: cell.published.mean if cell.published else None for column, cell in row.items()}
    assert printed == {"λmax, full": 242.2, "λmax, top-10%": None, "λmax, top-5%": 780.6}
    last = next(cell for cell in found if cell.row == "soft labels, last epoch" and cell.ours is not None)
    assert (last.column, last.ours, last.verdict) == ("trace, full", sample(5.0, 7.0), "no published number")


def test_numbers_by_the_usual_and_by_the_fitting_definitions() -> None:
    """The slice and the scores that stand beside the paper's numbers are those of the answers taken."""
    names = {"best/top-5%/largest": 300.0, "best/top-20%/largest": 150.0, "svhn/odin/auroc": 0.7, "svhn/odin_in_inputs/auroc": 0.9}  # fmt: skip
    results = results_with({("soft", None, 1): {name: [value] * 5 for name, value in names.items()}})
    for settings, part, odin in ((PAPER.settings, "top-5%", 0.9), (PAPER.usual_settings, "top-20%", 0.7)):
        printed = PAPER.published.numbers["table-4", "soft", 10, "high/largest"]
        beside = [cell for cell in cells("table-4", results, settings=settings) if cell.published is printed]
        assert [cell.column for cell in beside] == [f"λmax, {part}"]
        detected = cells("table-7", results, settings=settings)
        scored = next(cell for cell in detected if (cell.row, cell.column) == ("soft labels", "ODIN"))
        assert scored.ours == sample(*[odin] * 5)


def test_table_8_tests_both_ways() -> None:
    rng = np.random.default_rng(3)
    values = {method: rng.random(10) for method in ("sls", "soft")}
    results = results_with({(method, None, 1): {"cifar100/energy/auroc": found} for method, found in values.items()})
    for alternative, printed in (("greater", 0.0186), ("two-sided", None)):
        found = paired("table-8", results)[f"SLS | soft | energy | {alternative}"]
        expected = stats.wilcoxon(values["sls"], values["soft"], alternative=alternative, method="exact").pvalue
        assert found.p_value == pytest.approx(expected)
        assert found.wins == (values["sls"] > values["soft"]).sum(), "the higher AUROC wins"
        pairing = next(
            one for one in TABLES["table-8"].pairings if (one.column, one.alternative) == ("energy", alternative)
        )
        assert PAPER.published.p_values.get(pairing.key) == printed


def test_smoothed_shares_are_tested_against_soft_labels_and_multipass() -> None:
    values = {"soft": [0.60, 0.61, 0.63], "multipass": [0.58, 0.60, 0.62], "dirichlet": [0.57, 0.59, 0.64]}
    results = results_with({(method, 5, 1): {"soft_nll_best": found} for method, found in values.items()})
    found = cells("sparse", results)
    assert len(found) == 2 * 2 * 8 * 6, "both epochs, 5 and 10 votes, eight methods and six scores"
    cell = next(one for one in found if one.row == "soft labels, Dirichlet prior, 5 votes")
    assert (cell.column, cell.ours) == ("soft NLL", sample(*values["dirichlet"]))
    done = {row: test for row, test in paired("sparse", results).items() if test.n}
    assert list(done) == [
        "multipass, 5 votes | soft | soft NLL | two-sided",
        "soft labels, Dirichlet prior, 5 votes | soft | soft NLL | two-sided",
        "soft labels, Dirichlet prior, 5 votes | multipass | soft NLL | two-sided",
    ]
    last = [*done.values()][-1]
    assert last.p_value == pytest.approx(stats.wilcoxon(values["dirichlet"], values["multipass"]).pvalue)
    assert last.wins == 2


def test_priors_stand_beside_the_other_ways_with_few_votes() -> None:
    scores = ("soft_nll", "scaled_soft_nll", "vote_ece", "ece", "entropy_correlation", "accuracy")
    rng = np.random.default_rng(4)
    values = {
        method: {f"{score}_{at}": rng.random(4) for score in scores for at in ("best", "last")}
        for method in ("multipass", "multipass-prior", "multipass-crossfit")
    }
    results = results_with({(method, votes, 1): each for method, each in values.items() for votes in (5, 10)})
    shown = {(cell.row, cell.column): cell.ours for cell in cells("sparse", results) if cell.ours}
    assert len(shown) == 2 * 2 * 3 * 6
    row = "multipass, cross-fitted prior, 10 votes"
    columns = ("soft NLL", "soft NLL, temperature fitted", "vote ECE", "ECE", "entropy correlation", "accuracy")
    for score, column in zip(scores, columns, strict=True):
        assert shown[row, column] == sample(*values["multipass-crossfit"][f"{score}_best"])
        assert shown[f"{row}, last epoch", column] == sample(*values["multipass-crossfit"][f"{score}_last"])
    done = {row: test for row, test in paired("sparse", results).items() if test.n}
    assert len(done) == 2 * 2 * 5, "each prior by five scores"
    for score, column in zip(scores[:-1], columns[:-1], strict=True):
        first, second = (values[method][f"{score}_best"] for method in ("multipass-crossfit", "multipass"))
        wins = (first > second if column == "entropy correlation" else first < second).sum()
        test = done[f"multipass, cross-fitted prior, 5 votes | multipass | {column} | two-sided"]
        assert (test.wins, test.difference) == (wins, pytest.approx((first - second).mean()))


@pytest.mark.parametrize("name", TABLES)
def test_without_runs_all_is_said_to_be_missing(name: str) -> None:
    assert {cell.verdict for cell in cells(name, EMPTY)} == {"not run"}
    assert all(test.p_value is None and math.isnan(test.difference) for test in paired(name, EMPTY).values())


def test_quoted_epochs_are_differences_by_seed() -> None:
    rows = {("sls", None, 1): {"best_epoch": [10, 20, 30]}, ("soft", None, 1): {"best_epoch": [15, 18]}}
    cell = next(one for one in cells("scalars", results_with(rows)) if one.column == "at its best")
    assert cell.ours == sample(5.0, -2.0)


def test_a_number_less_another_is_that_of_the_same_seeds() -> None:
    rows = {("sls", 5, 1): {"a": [1.0, 2.0, 3.0]}, ("soft", 5, 1): {"b": [0.5, 0.5]}}
    first, second = ({"method": method, "votes": 5} for method in ("{who}", "soft"))
    entry = Entry("row", "column", "{what}", first, less=("b", second))
    assert entry.sample(results_with(rows), {"who": "sls", "what": "a"}) == sample(0.5, 1.5)


def test_the_widest_gap_that_still_agrees_is_told() -> None:
    *_, note = TABLES["table-1"].notes
    assert callable(note)
    found = cells("table-1", results_with(sweep()))
    agreeing = {
        (cell.row, cell.column): abs(cell.ours.mean - cell.published.mean)
        for cell in found
        if cell.verdict == "agrees" and cell.ours and cell.published
    }
    (row, column), gap = max(agreeing.items(), key=lambda pair: pair[1])
    (words,) = note(EMPTY, found)
    assert words.startswith(f"Agreement means little here: {row} with {column} is {gap:.3f} from the paper's number")
    assert list(note(EMPTY, cells("table-1", EMPTY))) == []


def test_measurements_that_did_not_converge_are_told() -> None:
    rows = {
        ("shuffled-sls", None, 1): {"converged": [0.0, 1.0], "trace_error": [9.0, 9.0], "trace": [1.0, 1.0]},
        ("sls", None, 1): {"converged": [0.0, 1.0, 0.0], "trace_error": [2.0, 90.0, 3.0], "trace": [100.0, 1.0, 100.0]},
    }
    named = {key: {f"best/full/{name}": values for name, values in row.items()} for key, row in rows.items()}
    note = TABLES["table-4"].notes[0]
    assert callable(note)
    assert list(note(results_with(named), ())) == [
        "full: 3 of 5 measurements ended before eigenvalue and trace were as precise as asked for: 1 of shuffled SLS, "
        "whose traces are near zero, and 2 others, with a standard error of the trace of at most 3.0%."
    ]
    assert list(note(EMPTY, ())) == []


def test_a_run_without_a_finite_score_is_left_out() -> None:
    values = {"soft": [0.6, np.inf, 0.62], "sls": [0.5, 0.51, 0.52]}
    results = results_with({(method, 5, 1): {"soft_nll_best": found} for method, found in values.items()})
    first = cells("table-1", results)[0].ours
    assert first is not None
    assert first.by_seed == {0: 0.6, 2: 0.62}
    assert paired("table-1", results)["SLS, 5 votes | soft | soft NLL | less"].n == 2
