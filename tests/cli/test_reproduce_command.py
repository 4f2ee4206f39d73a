"""`votewise reproduce`: what would be done, what is done, and what is not done again."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paper_runs import paper_material, write_store
from small_runs import Here
from votewise.cli.main import main
from votewise.data import Dataset
from votewise.data.images import ImageArrays
from votewise.experiments.backends.processes import Processes
from votewise.experiments.measure import measurement_store
from votewise.experiments.planning import helper_store
from votewise.papers import same_target
from votewise.papers.pages import BEGIN, END
from votewise.papers.paper import Paper
from votewise.papers.same_target import PAPER
from votewise.papers.same_target.suites import paper_recipe
from votewise.records import RecordStore, Results, RunRecord, add_batch, result_columns

Screen = pytest.CaptureFixture[str]
Measured = tuple[list[str], RecordStore]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller tiny suite, for the time."""
    monkeypatch.setattr(same_target, "PAPER", with_tiny(epochs=1))


def with_tiny(**recipe: Any) -> Paper:
    """The paper with a tiny suite of 250 items, and some changes of its recipe."""
    tiny = PAPER.suites["tiny"]
    changed = replace(tiny, items=250, recipe=lambda: replace(tiny.recipe(), **recipe))
    return replace(PAPER, suites={**PAPER.suites, "tiny": changed})


def command(released: Path, folder: Path, *more: str) -> list[str]:
    return [
        "reproduce",
        "same-target",
        "--data",
        str(released),
        "--runs",
        str(folder / "runs"),
        "--device",
        "cpu",
        *more,
    ]


@pytest.mark.usefixtures("small")
def test_tiny_from_data_to_numbers(
    released: Path, tmp_path: Path, capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = command(released, tmp_path, "--suite", "tiny", "--seeds", "1", "--jobs", "2")
    assert main([*tiny, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["runs"], plan["done"], plan["device"], len(plan["todo"])) == (4, 0, "cpu", 4)
    assert 0 < plan["expected_seconds"] < 600
    assert not (tmp_path / "runs").exists()

    assert main([*tiny, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["runs"], result["failed"], len(result["lines"])) == (4, 0, 16)
    store = RecordStore(tmp_path / "runs")
    stored = {record.config["method"]: record for record in store.records()}
    assert {method: record.config for method, record in stored.items()} == {config["method"]: config for config in plan["todo"]}  # fmt: skip
    for line in result["lines"]:
        record = stored[line["method"]]
        assert line["best"] == record.numbers[f"{line['metric']}_best"]
        assert line["last"] == record.numbers[f"{line['metric']}_last"]
        assert (line["seeds"], line["best_sd"]) == (1, None)
        assert line["published"] is None, "the paper did no such small runs"
        assert line["distance"] is None

    monkeypatch.setattr(Processes, "map", lambda *_, **__: pytest.fail("what is there is not trained again"))
    assert main(tiny) == 0
    shown = capsys.readouterr()
    assert re.search(r"^soft *\n  soft_nll +1 +\d\.\d{4} +\d\.\d{4}\n", shown.out, re.MULTILINE)
    assert "published" not in shown.out
    assert main([*tiny, "--dry-run"]) == 0
    assert capsys.readouterr().out == "All 4 runs are there already.\n"


def test_helper_runs_would_be_done_first(
    released: Path, tmp_path: Path, capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("votewise.experiments.planning._measured_rate", lambda *_: 1000.0)
    line = command(released, tmp_path, "--dry-run", "--suite", "priors", "--seeds", "3", "--jobs", "1")
    assert main(line) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[1] == "  multipass-crossfit, 5 votes: 3 runs"
    assert re.fullmatch(r"24 of 24 runs to do on cpu, after 12 helper runs, in about .+\.", shown[-1])
    assert main([*line, "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["runs"], plan["helper_runs"], len(plan["todo"])) == (24, 12, 24)
    items = 8000 * 200 * (24 + 6 * 0.3)
    assert plan["expected_seconds"] == pytest.approx(items / 1000, rel=0.02)


def test_priors_from_data_to_the_page(
    released: Path, tmp_path: Path, capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few items for a few epochs: runs are done after their helpers, reduced, and shown beside those of few votes."""
    small = {
        name: replace(
            PAPER.suites[name], model="small-cnn", items=150, recipe=lambda: replace(paper_recipe(), epochs=4)
        )
        for name in ("sparse", "priors")
    }
    monkeypatch.setattr(same_target, "PAPER", replace(PAPER, suites={**PAPER.suites, **small}))
    monkeypatch.setattr("votewise.papers.pages.draw_figure", lambda *_, **__: "<svg/>")
    results, page = tmp_path / "results", tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n{END}\n", encoding="utf-8")
    for suite, runs in (("sparse", 12), ("priors", 8)):
        line = [*command(released, tmp_path, "--seeds", "1", "--suite", suite, "--precision", "fp32"), "-q"]
        assert main([*line, "--backend", "device", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["runs"] == runs
        assert main([*line, "--reduce", "--results", str(results)]) == 0
    capsys.readouterr()
    store = RecordStore(tmp_path / "runs")
    assert len(store.ids()) == 12 + 8 - 4, "smoothed shares are in both"
    assert len(helper_store(store).ids()) == 4

    shown = ["reproduce", "same-target", "--results", str(results), "-q"]
    assert main([*shown, "--only", "sparse", "--json"]) == 0
    (part,) = json.loads(capsys.readouterr().out)["parts"]
    by_place = {(cell["row"], cell["column"]): cell["ours"] for cell in part["cells"]}
    assert len(by_place) == 2 * 2 * 8 * 6
    names = {**PAPER.names}
    for record in store.records():
        row = f"{names[record.config['method']]}, {record.config['votes']} votes"
        for at, when in (("best", ""), ("last", ", last epoch")):
            for number, column in (("soft_nll", "soft NLL"), ("vote_ece", "vote ECE"), ("accuracy", "accuracy")):
                cell = by_place[f"{row}{when}", column]
                assert (cell["n"], cell["mean"]) == (1, pytest.approx(record.numbers[f"{number}_{at}"]))
            assert by_place[f"{row}{when}", "soft NLL, temperature fitted"]["n"] == 1
    assert main([*shown, "--only", "orderings", "--json"]) == 0
    (part,) = json.loads(capsys.readouterr().out)["parts"]
    of_priors = [one for one in part["claims"] if one["family"].startswith("priors")]
    assert {(one["verdict"], one["estimates"][0]["n"]) for one in of_priors} == {("undecided", 1)}
    assert main([*shown, "--page", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "| multipass, cross-fitted prior, 5 votes, last epoch |" in text.replace("<br>", " ")


def test_what_would_be_run(released: Path, tmp_path: Path, capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("votewise.experiments.planning._measured_rate", lambda *_: 1000.0)
    assert main(command(released, tmp_path, "--dry-run", "--jobs", "1")) == 0
    assert capsys.readouterr().out.splitlines() == [
        "  soft: 10 runs",
        "  sls: 10 runs",
        "  majority: 10 runs",
        "  label-smoothing: 10 runs",
        "  mixup: 10 runs",
        "  multipass: 5 runs",
        "  deterministic-control: 5 runs",
        "  shuffled-sls: 5 runs",
        *(
            f"  {method}, {k} votes: 5 runs"
            for k in (5, 10, 25, 50)
            for method in ("soft", "sls", "multipass", "deterministic-control")
        ),
        *(f"  sls, kept {period} epochs: 5 runs" for period in (5, 10, 50)),
        "160 of 160 runs to do on cpu, in about 3 days.",  # 160 runs of 200 epochs of 8,000 images
    ]
    assert main(command(released, tmp_path, "--dry-run", "--suite", "family", "--seeds", "1", "--json")) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [config["method"] for config in plan["todo"]] == [
        "sls",
        "multipass",
        "deterministic-control",
        "shuffled-sls",
    ]
    assert {config["recipe"]["precision"] for config in plan["todo"]} == {"fp32"}
    assert list(tmp_path.iterdir()) == []


def test_stored_results_are_extended_in_their_precision(released: Path, tmp_path: Path, capsys: Screen) -> None:
    """Also on a CPU, where runs would be in fp32; those of other data or precision could not be added."""
    checksum = PAPER.load(PAPER.suites["main"], released).checksum
    runs = [{"method": method, "votes": None, "hold": 1, "seed": 0} for method in ("sls", "multipass")]
    origin = {"paper": "arXiv 2605.20642", "data": checksum, "precision": "bf16"}
    numbers = {"soft_nll_best": np.array([0.5, 0.6])}
    stored = tmp_path / "results"
    add_batch(Results(result_columns(runs), numbers, origin=origin), stored)
    extend = ("--extend", "--results", str(stored), "--dry-run", "--json")
    assert main(command(released, tmp_path, *extend, "--suite", "family", "--seeds", "1", "--diagnostics")) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [config["method"] for config in plan["todo"]] == ["deterministic-control", "shuffled-sls"]
    assert {config["recipe"]["precision"] for config in plan["todo"]} == {"bf16"}
    assert plan["diagnoses"] == 2
    tiny = PAPER.load(PAPER.suites["tiny"], released).checksum
    for more, of_runs in ((("--precision", "fp32"), f"all are on {checksum[:8]} in fp32"),
                          (("--suite", "tiny"), f"tiny are on {tiny[:8]} in bf16")):  # fmt: skip
        assert main(command(released, tmp_path, *extend, *more)) == 2
        assert capsys.readouterr().err == (
            f"votewise: runs that extend stored results must be on their data {checksum[:8]} in bf16, but those of the "
            f"suite {of_runs}. Name other results, or leave out --extend.\n"
        )


@pytest.mark.usefixtures("small")
def test_a_run_that_fails_is_told_and_gives_exit_1(
    released: Path, tmp_path: Path, capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(same_target, "PAPER", with_tiny(epochs=1, learning_rate=1e30))
    monkeypatch.setattr(Processes, "map", lambda _, *arguments, **options: Here().map(*arguments, **options))
    tiny = command(released, tmp_path, "--suite", "tiny", "--seeds", "1")
    assert main(tiny) == 1
    shown = capsys.readouterr()
    assert shown.out.endswith("4 of 4 runs failed; 'votewise runs' shows why.\n")
    assert shown.err.splitlines()[0] == (
        "votewise: soft, seed 0, failed: the training loss became NaN or infinite in epoch 1. Lower the learning rate, or "
        "check the inputs."
    )
    monkeypatch.setattr(Processes, "map", lambda *_, **__: pytest.fail("failed runs are done again only if asked"))
    assert main([*tiny, "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {"runs": 4, "failed": 4, "lines": []}
    assert main([*tiny, "--dry-run", "--retry-failed", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["todo"]) == 4


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measured:
    """A command on a store in which all is done and measured, and that store."""
    material, store = paper_material(), RecordStore(tmp_path / "runs")
    write_store(store, material, seeds=1, suite="main")
    data = Dataset("cifar10h", ImageArrays(None, material.inputs), material.votes, material.checksum, material.labels)
    monkeypatch.setattr(same_target, "PAPER", replace(PAPER, datasets={"cifar10h": lambda _: data}, outliers=()))
    monkeypatch.setattr("votewise.experiments.planning._measured_rate", lambda *_: 1000.0)
    suite = ["--suite", "main", "--seeds", "1", "--precision", "bf16", "--diagnostics"]
    return command(tmp_path, tmp_path, *suite), store


def test_a_way_that_could_not_be_measured_gives_exit_1(measured: Measured, capsys: Screen) -> None:
    arguments, store = measured
    assert main(arguments) == 0
    known = measurement_store(store)
    (barrier,) = (record for record in known.records() if "barrier" in record.config)
    failed = RunRecord(config=barrier.config, status="failed", failure="an error of cuDNN")
    known.write(failed, replace=True)
    assert main(arguments) == 1
    assert main([*arguments, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (plan["done"], plan["diagnoses"]) == (5, 0), "it is tried again only if asked"
    assert main([*arguments, "--dry-run", "--retry-failed", "--jobs", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "2 of 5 runs to do on cpu, in about 64 seconds.",  # those without weights: each 200 epochs of 160 images
        "1 diagnosis to make.",
    ]


def test_a_damaged_run_without_diagnosis_is_counted_once(measured: Measured, capsys: Screen) -> None:
    arguments, store = measured
    shutil.rmtree(measurement_store(store).folder)
    (store.folder / store.ids()[0] / "arrays.npz").write_bytes(b"")
    assert main([*arguments, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (plan["runs"], plan["done"], len(plan["todo"])) == (5, 0, 5)
    assert plan["diagnoses"] == 6, "of five runs, and of the way between two"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["same-targets"],
            "the paper must be one of same-target, soft-labels, but got 'same-targets'. Did you mean 'same-target'?",
        ),
        (
            ["same-target", "--suite", "maine"],
            "the suite must be one of main, family, sweep, resampling, all, sparse, priors, mixup, tiny, but got 'maine'. "
            "Did you mean 'main'?",
        ),
        (
            ["same-target", "--device", "tpu"],
            "the device must be one of auto, cpu, cuda, but got 'tpu'. Did you mean 'cpu'?",
        ),
    ],
)
def test_wrong_words(arguments: list[str], message: str, capsys: Screen) -> None:
    assert main(["reproduce", *arguments]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"votewise: {message}\n")


def test_a_wrong_precision(released: Path, tmp_path: Path, capsys: Screen) -> None:
    assert main(command(released, tmp_path, "--precision", "fp16")) == 2
    assert capsys.readouterr().err == (
        "votewise: precision must be one of fp32, bf16, but got 'fp16'. Did you mean 'bf16'?\n"
    )


def test_without_data(tmp_path: Path, capsys: Screen) -> None:
    assert main(command(tmp_path, tmp_path)) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"votewise: the data set cifar10h must be in {str(tmp_path)!r}, but it lacks cifar10h")
    assert shown.err.endswith(
        f"them in {str(tmp_path)!r}; if they are elsewhere, name that folder (--data on the command line) or set VOTEWISE_DATA to it.\n"
    )
    assert shown.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
