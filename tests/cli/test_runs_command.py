"""`votewise runs`, in this process and as a real one."""

from __future__ import annotations

import contextlib
import csv
import json
import math
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import polars as pl
import pytest

from votewise.cli.main import main
from votewise.records import RecordStore, RunRecord

STORED = Path(__file__).resolve().parents[2] / "results" / "same-target"


def run(method: str, seed: int, votes: int | None = None, **changes: Any) -> RunRecord:
    parts: dict[str, Any] = {
        "config": {"experiment": "same-target", "method": method, "votes": votes, "seed": seed, "recipe": {"epochs": 3, "steps": [1, 2]}},
        "status": "done",
        "curves": {"soft_nll": [0.9, 0.5, 0.6]},
        "numbers": {"best_epoch": 2, "soft_nll_best": 0.5, "soft_nll_last": 0.6},
        "arrays": {"rows": np.arange(3)},
        "environment": {"python": "3.11"},
        "timing": {"seconds": 12.34},
    }  # fmt: skip
    return RunRecord(**(parts | changes))


FAILED = run("sls", 2, status="failed", failure="the loss became NaN in epoch 1", curves={"soft_nll": [math.nan]}, numbers={"soft_nll_last": math.nan})  # fmt: skip
BARE = run("", 0, config={}, curves={}, numbers={}, arrays={}, timing={}, environment={})
RUNS = [run("sls", 10), FAILED, run("multipass", 0, votes=5), run("multipass", 0), BARE]
IN_ORDER = [BARE, run("multipass", 0), run("multipass", 0, votes=5), FAILED, run("sls", 10)]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RecordStore:
    monkeypatch.chdir(tmp_path)
    store = RecordStore("runs")
    for record in RUNS:
        store.write(record)
    return store


def break_one(store: RecordStore) -> tuple[str, str]:
    """Damage a record; its id, and what is to be said of it."""
    name = RUNS[0].run_id
    (store.folder / name / "arrays.npz").unlink()
    return name, (
        f"the record in 'runs/{name}' must be undamaged, but arrays.npz is missing. "
        "Delete the folder and rerun to repeat this run."
    )


def test_for_people(store: RecordStore, capsys: pytest.CaptureFixture[str]) -> None:
    name, reason = break_one(store)
    assert main(["runs", "runs"]) == 0
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert err == ""
    assert lines == [
        ["id", "method", "votes", "seed", "status", "epochs", "best", "epoch", "soft", "NLL", "best", "last", "seconds"],
        [BARE.run_id[:10], "-", "-", "-", "done", "-", "-", "-", "-", "-"],
        [IN_ORDER[1].run_id[:10], "multipass", "all", "0", "done", "3", "2", "0.5000", "0.6000", "12.3"],
        [IN_ORDER[2].run_id[:10], "multipass", "5", "0", "done", "3", "2", "0.5000", "0.6000", "12.3"],
        [FAILED.run_id[:10], "sls", "all", "2", "failed", "1", "-", "-", "nan", "12.3"],
        [],
        ["1", "failed:"],
        [FAILED.run_id[:10], *str(FAILED.failure).split()],
        [],
        ["1", "cannot", "be", "read:"],
        [name[:10], *reason.split()],
    ]  # fmt: skip


def test_a_narrow_terminal_hides_nothing(store: RecordStore) -> None:
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    subprocess.run([sys.executable, "-m", "votewise", "runs", "runs"], stdout=its, env=environment, check=True)
    os.close(its)
    with os.fdopen(ours, encoding="utf-8") as terminal:
        lines = read_all(terminal).splitlines()
    for record in RUNS:
        line = next(line for line in lines if line.startswith(f"{record.run_id[:10]} "))
        assert len(line) <= 80
        assert {str(record.config.get("method", "-")), record.status} <= {*line.split()}


def read_all(terminal: TextIO) -> str:
    """Everything that was written to a terminal; reading on is an error of Linux."""
    shown = ""
    with contextlib.suppress(OSError):
        while more := terminal.readline():
            shown += more
    return shown


def test_json(store: RecordStore, capsys: pytest.CaptureFixture[str]) -> None:
    name, reason = break_one(store)
    assert main(["runs", "runs", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["folder", "runs", "unreadable"]
    assert told["folder"] == "runs"
    assert [row["id"] for row in told["runs"]] == [record.run_id for record in IN_ORDER[:4]]
    assert told["unreadable"] == [{"id": name, "reason": reason}]
    assert told["runs"][3] == {
        "id": FAILED.run_id,
        "status": "failed",
        "failure": "the loss became NaN in epoch 1",
        "epochs": 1,
        "config": FAILED.config,
        "numbers": {"soft_nll_last": None},
        "timing": {"seconds": 12.34},
        "environment": {"python": "3.11"},
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--method", "sls"], IN_ORDER[3:]),
        (["--status", "failed"], [FAILED]),
        (["--status", "done", "--method", "multipass"], IN_ORDER[1:3]),
        (["--method", "soft"], []),
    ],
)
def test_filters(
    store: RecordStore, options: list[str], expected: list[RunRecord], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "runs", "--json", *options]) == 0
    assert [row["id"] for row in json.loads(capsys.readouterr().out)["runs"]] == [record.run_id for record in expected]
    assert main(["runs", "runs", *options]) == 0
    out = capsys.readouterr().out
    assert all((record.run_id[:10] in out) == (record in expected) for record in IN_ORDER)
    assert (out == "None of the 5 runs in runs matches.\n") == (not expected)


COLUMNS = [
    "id", "status", "failure", "epochs", "timing.seconds", "environment.python", "config.experiment", "config.method",
    "config.recipe.epochs", "config.recipe.steps", "config.seed", "config.votes", "numbers.best_epoch",
    "numbers.soft_nll_best", "numbers.soft_nll_last",
]  # fmt: skip


def test_export_csv(store: RecordStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "runs", "--export", "runs.csv"]) == 0
    assert capsys.readouterr() == ("", "votewise: 5 runs are in runs.csv.\n")
    with Path("runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(rows[0]) == sorted(COLUMNS)
    assert [row["id"] for row in rows] == [record.run_id for record in IN_ORDER]
    assert rows[0] == dict.fromkeys(COLUMNS, "") | {"id": BARE.run_id, "status": "done", "epochs": "0"}
    assert rows[3] == dict.fromkeys(COLUMNS, "") | {
        "id": FAILED.run_id,
        "status": "failed",
        "failure": "the loss became NaN in epoch 1",
        "epochs": "1",
        "config.experiment": "same-target",
        "config.method": "sls",
        "config.recipe.epochs": "3",
        "config.recipe.steps": "[1, 2]",
        "config.seed": "2",
        "numbers.soft_nll_last": "nan",
        "timing.seconds": "12.34",
        "environment.python": "3.11",
    }


def test_export_parquet(store: RecordStore, capsys: pytest.CaptureFixture[str]) -> None:
    store.write(run("sls", 0, config={"method": 3, "seed": 10**30}))  # types that do not fit those of the others
    assert main(["runs", "runs", "--export", "runs.PARQUET", "--json", "-q"]) == 0
    out, err = capsys.readouterr()
    assert (len(json.loads(out)["runs"]), err) == (6, "")
    table = pl.read_parquet("runs.PARQUET")
    assert sorted(table.columns) == sorted(COLUMNS)
    assert table["config.votes"].to_list() == [None, None, None, 5, None, None]
    assert table["numbers.best_epoch"].to_list() == [None, 2.0, 2.0, 2.0, None, 2.0]
    assert table["config.method"].to_list() == [None, "3", "multipass", "multipass", "sls", "sls"]
    assert table["config.seed"].to_list() == [None, str(10**30), "0", "0", "2", "10"]


def test_export_of_nothing(store: RecordStore) -> None:
    for name in ("none.csv", "none.parquet"):
        assert main(["runs", "runs", "--method", "soft", "--export", name]) == 0
    assert Path("none.csv").read_text(encoding="utf-8") == "id\n"
    assert pl.read_parquet("none.parquet").columns == ["id"]


def test_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"There are no runs in {tmp_path}.\n"
    assert list(tmp_path.iterdir()) == []


def test_only_unreadable_runs(store: RecordStore, capsys: pytest.CaptureFixture[str]) -> None:
    for record in RUNS:
        (store.folder / record.run_id / "record.json").unlink()
    assert main(["runs", "runs"]) == 0
    assert capsys.readouterr().out.startswith("\n5 cannot be read:\n")


BAD = {
    "no such folder": (["runs", "nope"], 2, "votewise: RUNS must be a folder of recorded runs, but 'nope' does not exist. Check the path.\n"),
    "a file": (["runs", "file"], 2, "votewise: RUNS must be a folder of recorded runs, but 'file' is a file. Check the path.\n"),
    "a wrong status": (["runs", "runs", "--status", "fail"], 2, "votewise: the status must be one of done, failed, but got 'fail'. Did you mean 'failed'?\n"),
    "a wrong table": (["runs", "runs", "--export", "x.xlsx"], 2, "votewise: the table of runs must end in .csv or .parquet, but got 'x.xlsx'. Rename it.\n"),
    "no folder for it": (["runs", "runs", "--export", "no/x.csv"], 2, "votewise: the output folder must exist, but 'no' does not. Create it, or write elsewhere.\n"),
    "a place that is refused": (["runs", "runs", "--export", "/proc/x.csv"], 1, "votewise: operating system error: "),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input(store: RecordStore, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    arguments, code, message = BAD[case]
    assert main(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(message)
    assert sorted(path.name for path in Path().iterdir()) == ["file", "runs"]


def test_a_real_process_without_torch(store: RecordStore) -> None:
    script = "import sys; sys.modules['torch'] = None; from votewise.cli.main import main; sys.exit(main(['runs', 'runs', '--json']))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (out.returncode, out.stderr, len(json.loads(out.stdout)["runs"])) == (0, "", 5)


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(option in text for option in ("--method", "--status", "--export", "--json", "--quiet"))


def test_stored_results_by_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What came when, what it completed, what was compared on which seeds, and what was never kept."""
    assert main(["runs", str(STORED)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("batch 1 (466511953f): 135 runs, 6,362 kB\n")
    assert "\nsls                      all            1  0–9" in out
    assert "\ncompared between runs: barrier on seeds 0–9\n" in out
    assert "\nmissing in 135 runs: scaled_soft_nll_last, vote_ece_last, vote_ece_floor_last, train_soft_nll\n" in out
    assert "\nbatch 2 (9210a75a18): numbers of 135 earlier runs, 6 kB\n" in out
    assert main(["runs", str(STORED), "--json", "--method", "mixup"]) == 0
    first, second, *_ = json.loads(capsys.readouterr().out)["batches"]
    assert [run["seed"] for run in first["runs"]] == list(range(10))
    assert {run["method"] for run in first["runs"]} == {"mixup"}
    assert first["compared"]["soft.shared"] == list(range(10))
    assert first["missing"]["train_soft_nll"] == 135
    assert (second["runs"], second["completed"]) == ([], 135)
    table = tmp_path / "runs.csv"
    assert main(["runs", str(STORED), "--export", str(table), "-q"]) == 0
    exported = pl.read_csv(table)
    assert len(exported) >= 135
    assert exported.filter(pl.col("config.batch") == 1)["numbers.vote_ece_best"].null_count() == 0


def test_a_damaged_batch_is_listed_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(STORED, tmp_path / "results", ignore=shutil.ignore_patterns(".lock"))
    damaged = tmp_path / "results" / "466511953f56b878dab0550c40b6a349" / "arrays.npz"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert main(["runs", str(tmp_path / "results")]) == 0
    out = capsys.readouterr().out
    assert out.startswith("batch 2 (9210a75a18)")
    assert "\n1 cannot be read:\n  466511953f  the batch of results in " in out
