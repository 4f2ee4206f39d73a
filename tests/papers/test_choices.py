"""What the paper leaves open, and the summary of what agrees."""

from __future__ import annotations

import math
import re
import statistics
from dataclasses import replace
from pathlib import Path

import pytest

from paper_runs import beside, results_with, sample
from votewise.papers.claims import Claim, claim_positive, claim_value
from votewise.papers.pages import OPEN, Finding, paper_choices_part, paper_summary_part, read_findings
from votewise.papers.paper import Choice, Entry, Paper, TableSpec
from votewise.papers.published import Printed, misfit
from votewise.papers.same_target import PAPER
from votewise.records import Results
from votewise.report.document import Table
from votewise.statistics import Published

CHOICES = {choice.question: choice for choice in PAPER.choices}


def test_the_misfit_is_the_root_mean_square_of_distances() -> None:
    printed = PAPER.published.numbers["table-4", "soft", 10, "high/largest"]
    values = {"top-10%": [700.0, 760.0], "top-20%": [400.0, 420.0]}
    numbers = {f"best/{part}/largest": found for part, found in values.items()}
    numbers["best/top-20%/largest"] = [*values["top-20%"], 500.0]  # of a seed that the other slice was not measured on
    choice = CHOICES["slice of high disagreement"]
    answers = PAPER.interpretations(choice, results_with({("soft", None, 1): numbers}))
    for part, found in values.items():
        sd = math.sqrt((9 * printed.sd**2 + statistics.variance(found)) / 10)
        error = sd * math.sqrt(1 / 10 + 1 / len(found))
        expected = abs(sum(found) / len(found) - printed.mean) / error
        assert misfit(answers[part], answers[choice.used]) == pytest.approx(expected)
    assert math.isnan(misfit(answers["H>0.5"], answers[choice.used]))
    far = math.sqrt(0.5)  # gives an SD of 1
    two = [beside(sample(mean - far, mean + far), Published(5.0, 1.0, 2, "")) for mean in (8.0, 1.0)]
    assert misfit(two, two) == pytest.approx(math.sqrt((3**2 + 4**2) / 2))


def test_where_no_sd_is_printed_the_spread_is_that_of_the_answer_used() -> None:
    """A noisy answer does not seem to fit, and shared spreads stay shared."""
    printed = Published(1.0, None, 10, "")
    noisy, used = beside(sample(0.0, 2.0, 4.0), printed), beside(sample(1.9, 2.0, 2.1), printed)
    error = used.ours.sd * math.sqrt(1 / 10 + 1 / 3)  # type: ignore[union-attr]
    assert misfit([noisy], [used]) == pytest.approx(1.0 / error)
    assert misfit([noisy], [replace(used, agreement=replace(used.agreement, shared=(0.5, 9)))]) == pytest.approx(
        1.0 / (0.5 * math.sqrt(1 / 10 + 1 / 3))
    )


def test_answers_are_compared_on_seeds_that_have_all_of_them() -> None:
    entry = Entry("", "", "{part}", {"method": "soft"})
    choice = Choice("part", "which", {"a": "x", "b": "y", "c": "z"}, "a", (entry,), same_seeds=True)
    results = results_with({("soft", None, 1): {"x": [1.0, 2.0, 3.0], "y": [1.0, math.nan, 5.0]}})
    found = {words: cells[0].ours for words, cells in PAPER.interpretations(choice, results).items()}
    assert {words: ours and ours.seeds for words, ours in found.items()} == {"a": (0, 2), "b": (0, 2), "c": None}
    apart = results_with({("soft", None, 1): {"x": [1.0, math.nan], "y": [math.nan, 1.0]}})
    assert [cells[0].ours for cells in PAPER.interpretations(choice, apart).values()] == [None] * 3


def test_every_choice_has_the_answer_it_takes(reduced: Results) -> None:
    assert len(CHOICES) == len(PAPER.choices) == 14
    for choice in PAPER.choices:
        assert choice.used in choice.interpretations
        assert (choice.usual or choice.used) in choice.interpretations
        for cells in PAPER.interpretations(choice, reduced).values():
            assert any(cell.ours is not None for cell in cells), choice.question


def test_lines_say_each_answer_and_each_of_its_numbers(reduced: Results) -> None:
    (short,) = paper_choices_part(PAPER, reduced).blocks
    *_, long = paper_choices_part(PAPER, reduced, with_numbers=True).blocks
    assert isinstance(short, Table)
    assert isinstance(long, Table)
    assert len(short.rows) == sum(len(choice.interpretations) for choice in PAPER.choices)
    assert sum(int(row[2]) for row in short.rows) == sum(row[5] != "–" for row in long.rows)
    assert [row[1] for row in short.rows if row[4] == "yes"] == [choice.used for choice in PAPER.choices]
    data = paper_choices_part(PAPER, reduced).data["choices"]
    assert [choice["used"] for choice in data] == [choice.used for choice in PAPER.choices]


def paper_of(*entries: Entry, claims: tuple[Claim, ...] = (), repeated: tuple[str, ...] = ()) -> Paper:
    """A paper that prints 5 ± 1 under "first" to "fourth", and 5 under "single", with one open choice."""
    numbers = {(key,): Published(5.0, 1.0, 10, "") for key in ("first", "second", "third", "fourth")}
    return Paper(
        "made-up", "", "", {}, Printed({**numbers, ("single",): Published(5.0, None, 10, "")}),
        tables=(TableSpec("table-1", "", entries, repeated=repeated),),
        claims=claims,
        choices=(Choice("answer", "", {"fits": "fits", "usual": "usual"}, "fits", (), usual="usual"),),
    )  # fmt: skip


def test_the_summary_counts_and_gives_reasons() -> None:
    near, far, few = [5.0, 5.2, 5.4], [90.0, 90.2, 90.4], [5.0, 5.2]
    numbers = {"near": near, "far": far, "few": few, "fits": near, "usual": far}
    entries = (
        Entry("epochs earlier", "at its best", "far", {}, ("first",)),
        Entry("similarity", "SLS", "far", {}, ("second",)),
        Entry("similarity", "soft labels", "{answer}", {}, ("third",)),
        Entry("similarity", "soft labels, otherwise", "far", {}, ("third",)),
        Entry("barrier", "", "nothing", {}, ("fourth",)),
        Entry("barrier", "few", "few", {}, ("single",)),
        Entry("barrier", "unprinted", "near", {}),
    )
    numbers |= {"above": [1.0, 1.1, 1.2, 1.1, 1.0], "below": [-1.0, -1.1, -1.2, -1.1, -1.0]}
    claims = tuple(
        Claim(f"{number} is above zero", *claim_positive(claim_value(number, {})), "Table 1", source=source)
        for number, source in (("above", "paper"), ("below", "paper"), ("few", "ours"), ("nothing", "paper"))
    )
    findings = (Finding("table-1", "epochs.*", ".*", "They were exchanged."), Finding("table-2", ".*", ".*", "No."))
    results = results_with({("soft", None, 1): numbers})
    found = paper_summary_part(paper_of(*entries, claims=claims), results, findings)
    assert found.blocks[0].sentences == (  # type: ignore[union-attr]
        "Of 5 published numbers 0 agree with ours by the usual definitions of what the paper leaves open, and 1 by the "
        "definitions that fit its numbers best, which the tables take (see Choices). By these 2 are apart, 1 are not "
        "judged (too few seeds, or no spread) and 1 are not run.",
        "We checked 4 statements, 3 of the paper and 1 of our own: 1 confirmed, 1 contradicted, 1 undecided for want of "
        "seeds, 1 not run. Counting that seeds share images between their splits, 0 of the 2 decided ones would be "
        "undecided.",
    )
    assert found.data["apart"] == {
        "They were exchanged.": ["table-1: epochs earlier, at its best"],
        OPEN: ["table-1: similarity, SLS", "table-1: similarity, soft labels, otherwise"],
    }
    assert [one["claim"] for one in found.data["failed"]] == ["below is above zero"]
    twice = paper_summary_part(paper_of(entries[0], entries[2], repeated=("similarity",)), results)
    assert twice.data["numbers"] == {"apart": 1}, "what another table prints counts there"


def test_every_finding_is_about_some_number() -> None:
    """The notes beside the stored results name parts, rows and columns that there are."""
    findings = read_findings(Path(__file__).resolve().parents[2] / "results" / "same-target")
    tables = {table.name: table for table in (*PAPER.tables, PAPER.quoted) if table}
    empty = results_with({})
    assert len(findings) == 7
    for finding in findings:
        cells = PAPER.cells(tables[finding.part].entries, empty)
        assert any(re.fullmatch(finding.row, cell.row) and re.fullmatch(finding.column, cell.column) for cell in cells)
