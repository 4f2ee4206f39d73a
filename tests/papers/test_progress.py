"""How much of the paper is done, what it costs, and finished runs beside the printed numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from paper_runs import results_with
from votewise.papers.progress import paper_cost_part, paper_coverage, paper_coverage_in_words, paper_finished_part
from votewise.papers.same_target import PAPER
from votewise.records import Between, Results


def test_coverage_counts_what_the_paper_did(reduced: Results) -> None:
    found = paper_coverage(PAPER, reduced)
    assert found.there + sum(found.missing.values()) == found.wanted == 160
    assert found.missing["SLS, 5 votes"] == 2
    assert paper_coverage_in_words(PAPER, reduced).startswith(
        f"{found.there} of the paper's 160 runs are done. Not run: "
    )


def test_missing_runs_are_told_together() -> None:
    """Methods of which equally many are missing under a condition, and conditions of the same methods."""
    rows = {
        (run["method"], run["votes"], run["hold"]): {"x": [0.0] * 10}
        for run in PAPER.runs_of("all")
        if run["method"] != "mixup" and run["hold"] == 1 and run["votes"] not in (5, 10)
    }
    assert paper_coverage_in_words(PAPER, results_with(rows)) == (
        "95 of the paper's 160 runs are done. Not run: 10 runs of mixup; 5 runs each of soft labels, SLS, multipass, "
        "deterministic control (5 votes; 10 votes); 5 runs each of SLS (kept 5 epochs; kept 10 epochs; kept 50 epochs)."
    )
    everything = {(run["method"], run["votes"], run["hold"]): {"x": [0.0] * 10} for run in PAPER.runs_of("all")}
    assert paper_coverage_in_words(PAPER, results_with(everything)) == "All 160 runs of the paper are done."


def lines_of(results: Results) -> dict[str, str]:
    return dict(paper_cost_part(PAPER, results).data["lines"])


def test_device_time_of_the_runs_there(reduced: Results) -> None:
    lines = lines_of(reduced)
    assert lines["devices"] == "a fast one"
    assert lines["training"].startswith(f"{len(reduced)} runs, 20.")
    diagnosed = reduced.numbers["diagnosis_seconds"]
    assert lines["diagnoses"] == f"{len(reduced)}, 2.0 to 10.0 s each, {diagnosed.sum() / 60:.0f} min in all"
    assert "suite sweep alone" in lines, "all kinds of it are there"
    assert "all runs of the paper" not in lines, "seeds of which less is measured are not"


def test_device_time_from_nothing_counts_every_kind_of_diagnosis() -> None:
    """Diagnoses of 12 s, and 8 s from the fourth seed on; 5 and 3.5 s of other methods, 3 s in half of the sweep."""
    kinds = {
        ("sls", None, 1): [12.0] * 3 + [8.0, 8.0], ("multipass", None, 1): [5.0], ("majority", None, 1): [3.5],
        ("soft", 5, 1): [3.0],
    }  # fmt: skip
    numbers = {key: {"seconds": [20.0] * len(found), "diagnosis_seconds": found} for key, found in kinds.items()}
    between = {"barrier": Between((0, 1), {"seconds": np.array([1.0, 2.0])})}
    lines = lines_of(results_with(numbers, between=between))
    # Soft labels and SLS, the other methods of Table 2, pairs; three seeds of each of Table 4; nothing of kept labels.
    main = 6 * 12 + 14 * 8 + 30 * 3.5 + 10 * 1.5
    family = 9 * 5 + 6 * 3.5
    seconds = {
        "all runs of the paper": (160, main + family + 40 * 3),
        "suite main alone": (50, main),
        "suite family alone": (20, 3 * 12 + 2 * 8 + family),
        "suite sweep alone": (80, 40 * 3),
        "suite resampling alone": (20, 3 * 12 + 2 * 8),
    }
    assert {name: line for name, line in lines.items() if name in seconds} == {
        name: f"{20 * runs / 60:.0f} min of training and {taken / 60:.0f} min of diagnoses ({taken / (20 * runs):.0%} of "
        f"it), {(20 * runs + taken) / 60:.0f} min in all"
        for name, (runs, taken) in seconds.items()
    }


def test_without_every_kind_of_diagnosis_nothing_is_said_of_all() -> None:
    some = results_with({("sls", None, 1): {"seconds": [20.0], "diagnosis_seconds": [12.0]}})
    assert list(lines_of(some)) == ["devices", "training", "diagnoses"]
    assert lines_of(results_with({("sls", 5, 1): {"soft_nll_best": [0.5]}})) == {}


def finished() -> Results:
    """Three seeds of SLS under three conditions, one seed of soft labels."""
    conditions = {("soft", None, 1): 1, ("sls", None, 1): 3, ("sls", 5, 1): 3, ("sls", None, 10): 3}
    return results_with(
        {
            condition: {
                f"{score}_{at}": [0.5 + 0.01 * seed + step * (at == "last") for seed in range(seeds)]
                for step, score in enumerate(PAPER.scores)
                for at in ("best", "last")
            }
            for condition, seeds in conditions.items()
        }
    )


def test_finished_runs_beside_the_paper() -> None:
    lines = paper_finished_part(PAPER, finished(), beside_paper=True).data["lines"]
    assert len(lines) == 4 * len(PAPER.scores)
    by_key = {(line["method"], line["votes"], line["hold"], line["metric"]): line for line in lines}
    first = by_key["sls", None, 1, "soft_nll"]
    assert (first["seeds"], first["best"], first["best_sd"]) == (3, pytest.approx(0.51), pytest.approx(0.01))
    assert first["published"] == {"mean": 0.5052, "sd": 0.0263, "seeds": 10, "place": "Table 2, sls"}
    accuracy = by_key["sls", None, 1, "accuracy"]
    assert (accuracy["best"], accuracy["last"]) == (pytest.approx(0.51), pytest.approx(1.51))
    printed = {key: line["published"]["place"] for key, line in by_key.items() if line["published"] and key[0] == "sls"}
    assert {key: place for key, place in printed.items() if key[1:3] != (None, 1)} == {
        ("sls", 5, 1, "soft_nll"): "Table 1, sls",
        ("sls", None, 10, "soft_nll"): "Figure 4",
    }
    single = by_key["soft", None, 1, "ece"]
    assert math.isnan(single["best_sd"])
    assert single["distance"] is not None


def test_finished_runs_of_a_smaller_kind_have_no_printed_numbers() -> None:
    document = paper_finished_part(PAPER, finished(), beside_paper=False)
    assert {line["published"] for line in document.data["lines"]} == {None}
    (table,) = document.blocks
    assert table.header == ("", "seeds", "best epoch", "last epoch")  # type: ignore[union-attr]
    assert paper_finished_part(PAPER, results_with({}), beside_paper=True).data == {"lines": []}


def test_the_printed_numbers_of_finished_runs() -> None:
    """Each condition of the paper by the number it prints first: Table 2 before Tables 1 and 3 and the text."""
    rows = {
        (run["method"], run["votes"], run["hold"]): {f"{score}_best": [0.5] for score in PAPER.scores}
        for run in PAPER.runs_of("all")
    }
    lines = paper_finished_part(PAPER, results_with(rows), beside_paper=True).data["lines"]
    printed = {
        (line["method"], line["votes"], line["hold"], line["metric"]): line["published"]["place"].partition(",")[0]
        for line in lines
        if line["published"]
    }
    tables = {
        method: {place for key, place in printed.items() if key[0] == method and key[1:3] == (None, 1)}
        for method in ("soft", "sls", "mixup", "multipass", "shuffled-sls")
    }
    assert tables == {
        "soft": {"Table 2"}, "sls": {"Table 2"}, "mixup": {"Table 2"}, "multipass": {"Table 3"},
        "shuffled-sls": {"Table 3"},
    }  # fmt: skip
    few = [place for key, place in printed.items() if key[1:3] != (None, 1)]
    assert (few.count("Table 1"), few.count("Figure 4"), len(few)) == (16, 3, 19)
