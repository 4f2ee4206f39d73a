"""What the paper leaves open, what lies beyond it, and what it costs."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from paper_runs import evidence_of
from votewise.papers.same_target.cells import Cell, Claim, Table, spread
from votewise.papers.same_target.choices import Choice, choices
from votewise.papers.same_target.cost import cost
from votewise.papers.same_target.evidence import Evidence
from votewise.papers.same_target.parts import as_json, find_parts
from votewise.papers.same_target.published import TABLE_4, Published
from votewise.papers.same_target.scalars import similarity
from votewise.papers.same_target.sheets import choice_lines, interpretation_lines, sheets_of
from votewise.papers.same_target.sparse import sparse
from votewise.papers.same_target.summary import EXPLANATIONS, OPEN, reason, summary


def choice_of(question: str, evidence: Evidence) -> Choice:
    (found,) = [choice for choice in choices(evidence).choices if choice.question == question]
    return found


def test_the_misfit_is_the_root_mean_square_of_distances() -> None:
    printed = TABLE_4["soft", 10, "high/largest"]
    values = {"top-10%": [700.0, 760.0], "top-20%": [400.0, 420.0]}
    numbers = {f"best/{part}/largest": found for part, found in values.items()}
    numbers["best/top-20%/largest"] = [*values["top-20%"], 500.0]  # of a seed that the other slice was not measured on
    choice = choice_of("slice of high disagreement", evidence_of({("soft", None, 1): numbers}))
    for part, found in values.items():
        sd = math.sqrt((9 * printed.sd**2 + statistics.variance(found)) / 10)
        error = sd * math.sqrt(1 / 10 + 1 / len(found))
        assert choice.misfit(part) == pytest.approx(abs(sum(found) / len(found) - printed.mean) / error)
    assert math.isnan(choice.misfit("H>0.5"))
    far = math.sqrt(0.5)  # gives an SD of 1
    two = [Cell("", "", spread([mean - far, mean + far]), Published(5.0, 1.0, 2, "")) for mean in (8.0, 1.0)]
    assert Choice("", {"a": tuple(two)}, "a").misfit("a") == pytest.approx(math.sqrt((3**2 + 4**2) / 2))


def test_every_choice_names_a_reading_it_has(evidence: Evidence) -> None:
    found = choices(evidence).choices
    assert len({choice.question for choice in found}) == len(found) == 14
    assert all(choice.used in choice.interpretations for choice in found)
    assert not [
        (choice.question, reading)
        for choice in found
        for reading, cells in choice.interpretations.items()
        if all(cell.ours is None for cell in cells)
    ]


def test_lines_say_each_reading_and_each_of_its_numbers(evidence: Evidence) -> None:
    (part,) = find_parts("choices", evidence)
    found = choices(evidence).choices
    (short,), long = sheets_of(part), interpretation_lines(found)
    assert short == choice_lines(found)
    assert len(short.rows) == sum(len(choice.interpretations) for choice in found)
    assert sum(int(row[2]) for row in short.rows) == sum(row[5] != "–" for row in long.rows)
    assert [row[1] for row in short.rows if row[4] == "yes"] == [choice.used for choice in found]
    plain = json.loads(json.dumps(as_json(part)))
    assert [choice["used"] for choice in plain["choices"]] == [choice.used for choice in found]


@pytest.mark.parametrize("n", [3, 5])
def test_where_the_sd_is_ours_students_t_decides(n: int) -> None:
    """The interval in which a 95 % confidence interval of our mean would have the published one, were it exact."""
    ours = spread([float(place) for place in range(n)])
    assert ours is not None
    for far, verdict in ((0.99, "agrees"), (1.01, "apart")):
        allowed = stats.t.ppf(0.975, n - 1) * ours.sd * math.sqrt(1 / n + 1 / 10)
        assert Cell("", "", ours, Published(ours.mean - far * allowed, None, 10, "")).verdict == verdict


def test_device_time_of_the_runs_there(evidence: Evidence) -> None:
    lines = dict(cost(evidence).lines)
    assert lines["devices"] == "a fast one"
    assert lines["training"].startswith(f"{len(evidence.runs)} runs, 20.")
    diagnosed = evidence.numbers["diagnosis_seconds"]
    assert lines["diagnoses"] == f"{len(evidence.runs)}, 2.0 to 10.0 s each, {diagnosed.sum() / 60:.0f} min in all"
    assert (evidence.numbers["diagnosis_as_planned"] == 1).all()
    assert "suite sweep alone" in lines, "all kinds of it are there"
    assert "all runs of the paper" not in lines, "seeds of which less is measured are not"


def test_device_time_from_nothing_counts_every_kind_of_diagnosis() -> None:
    """Diagnoses of 12 s, and 8 s from the fourth seed on; 5 s in the family, 3 s in the sweep, 2 s of others."""
    kinds = {
        ("sls", None, 1): [12.0] * 3 + [8.0, 80.0], ("multipass", None, 1): [5.0], ("majority", None, 1): [3.5],
        ("soft", 5, 1): [3.0], ("sls", None, 5): [2.0],
    }  # fmt: skip
    planned = {("sls", None, 1): [1.0] * 4 + [0.0]}
    numbers = {
        key: {
            "seconds": [20.0] * len(found),
            "diagnosis_seconds": found,
            "diagnosis_as_planned": planned.get(key, [1.0] * len(found)),
        }
        for key, found in kinds.items()
    }
    evidence = replace(evidence_of(numbers), across={"barrier.seconds": np.array([1.0, 2.0])})
    lines = dict(cost(evidence).lines)
    # Soft labels and SLS; the three others of Table 4; of Table 2; the sweep, half of it with slices; kept labels; pairs.
    main = 6 * 12 + 14 * 8 + 30 * 3.5 + 10 * 1.5
    seconds = {
        "all runs of the paper": (160, main + 15 * 5 + 40 * 3 + 40 * 2 + 15 * 2),
        "suite main alone": (50, main),
        "suite family alone": (20, 3 * 12 + 2 * 8 + 15 * 5),
        "suite sweep alone": (80, 40 * 3 + 40 * 2),
        "suite resampling alone": (20, 3 * 12 + 2 * 8 + 15 * 2),
    }
    assert {name: line for name, line in lines.items() if name in seconds} == {
        name: f"{20 * runs / 60:.0f} min of training and {taken / 60:.0f} min of diagnoses ({taken / (20 * runs):.0%} of "
        f"it), {(20 * runs + taken) / 60:.0f} min in all"
        for name, (runs, taken) in seconds.items()
    }


def test_without_every_kind_of_diagnosis_nothing_is_said_of_all() -> None:
    evidence = evidence_of({("sls", 5, 1): {"seconds": [20.0], "diagnosis_seconds": [3.0]}})
    assert [name for name, _ in cost(evidence).lines] == [
        "devices", "training", "diagnoses", "diagnoses of exactly what would be measured today"
    ]  # fmt: skip
    assert cost(evidence_of({("sls", 5, 1): {"soft_nll_best": [0.5]}})).lines == ()


def test_smoothed_shares_are_tested_against_soft_labels_and_multipass() -> None:
    values = {"soft": [0.60, 0.61, 0.63], "multipass": [0.58, 0.60, 0.62], "dirichlet": [0.57, 0.59, 0.64]}
    table = sparse(evidence_of({(method, 5, 1): {"soft_nll_best": found} for method, found in values.items()}))
    assert len(table.cells) == 2 * 6 * 5
    cell = next(cell for cell in table.cells if cell.row == "soft labels, Dirichlet prior, 5 votes")
    assert (cell.column, cell.ours) == ("soft NLL", spread(values["dirichlet"]))
    done = {test.row: test for test in table.tests if test.n}
    assert list(done) == [
        "multipass, 5 votes against soft labels",
        "soft labels, Dirichlet prior, 5 votes against soft labels",
        "soft labels, Dirichlet prior, 5 votes against multipass",
    ]
    last = done["soft labels, Dirichlet prior, 5 votes against multipass"]
    assert last.p_value == pytest.approx(stats.wilcoxon(values["dirichlet"], values["multipass"]).pvalue)
    assert last.favourable == 2


def test_the_summary_counts_and_gives_reasons() -> None:
    first, second, third, fourth = (Published(5.0, 1.0, 10, "") for _ in range(4))
    near, far, few = spread([5.0, 5.2, 5.4]), spread([90.0, 90.2, 90.4]), spread([5.0, 5.2])
    cells = (
        Cell("epochs SLS is earlier than soft labels", "at its best", far, first),
        Cell("CKA between seeds", "SLS", far, second),
        Cell("CKA between seeds", "soft labels", near, third),
        Cell("CKA between seeds", "soft labels, read otherwise", far, third),
        Cell("barrier", "", None, fourth),
        Cell("barrier", "", few, Published(5.0, None, 10, "")),
        Cell("barrier", "", near, None),
    )
    claims = (Claim("a", "x", True), Claim("b", "y", False), Claim("c", "z", None), Claim("d", "", None))
    found = summary([Table("scalars", "", cells)], claims)
    assert found.counts == (
        "Of 5 published numbers 1 agree with ours and 2 are apart; 1 are not judged (too few seeds, or no spread) and 1 "
        "are not run. Where the paper leaves a definition open, this is by the interpretation used, which often is the "
        "one that fits best (see Choices).",
        "Of 4 statements, the paper's and some beyond, 1 hold, 1 fail, 1 cannot be decided with the seeds there are, 1 are "
        "not run.",
    )
    assert found.apart == {
        EXPLANATIONS[1].words: ("scalars: epochs SLS is earlier than soft labels, at its best",),
        OPEN: ("scalars: CKA between seeds, SLS", "scalars: CKA between seeds, soft labels, read otherwise"),
    }
    assert found.failed == claims[1:2]
    repeated = Cell("soft labels", "energy", near, Published(5.0, 1.0, 10, "Table 9"))
    assert summary([Table("table-9", "", (repeated,))], ()).numbers == {}, "it is Table 8's, printed again"


def test_every_reason_is_of_some_number(evidence: Evidence) -> None:
    tables = [part for part in find_parts("all", evidence) if isinstance(part, Table)]
    explained = {reason(table.name, cell) for table in tables for cell in table.cells}
    assert {one.words for one in EXPLANATIONS} <= explained


def test_likeness_has_the_error_of_the_jackknife() -> None:
    """Of a matrix a_i + a_j, whose mean is 2 mean(a): the error is that of twice a mean."""
    effects = np.array([0.1, 0.25, 0.3, 0.42, 0.6])
    evidence = replace(evidence_of({}), across={"sls.shared.cka": effects[:, None] + effects[None, :]})
    found = similarity(evidence, "sls", "shared", "cka")
    assert found is not None
    assert (found.mean, found.n) == (pytest.approx(2 * effects.mean()), 5)
    assert found.sd == pytest.approx(2 * effects.std(ddof=1))
    pair = replace(evidence, across={"sls.shared.cka": np.array([[1.0, 0.7], [0.7, 1.0]])})
    two = similarity(pair, "sls", "shared", "cka")
    assert two is not None
    assert math.isnan(two.sd)
