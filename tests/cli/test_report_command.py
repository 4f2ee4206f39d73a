"""`votewise report`: comparisons out of recorded runs, held to SciPy and to what `compare` says of the same runs."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from votewise.cli.main import main
from votewise.records import RecordStore, RunRecord

NLL = {("soft", 0): 0.50, ("soft", 1): 0.54, ("soft", 2): 0.49, ("sls", 1): 0.50, ("sls", 2): 0.46, ("sls", 7): 0.40}


def run(method: str, seed: int, nll: float, *, votes: int | None = None, **changes: Any) -> RunRecord:
    recipe = {"epochs": 2, "mixup": 0.0, "mean": [0.5]} | changes.pop("recipe", {})
    config = {"dataset": "mine", "method": method, "seed": seed, "votes": votes, "hold": 1, "recipe": recipe}
    numbers = {f"{name}_last": value for name, value in {"soft_nll": nll, "accuracy": 0.8, "ece": 0.1}.items()}
    parts: dict[str, Any] = {
        "config": config | changes.pop("config", {}),
        "status": "done",
        "curves": {"soft_nll": [1.0 + seed, nll]},
        "numbers": numbers | {"soft_nll_best": nll - 0.1},
        "environment": {"device": "an abacus"},
    }
    return RunRecord(**(parts | changes))


def stored(folder: Path, *records: RunRecord) -> Path:
    store = RecordStore(folder / "runs")
    for record in records:
        store.write(record)
    return store.folder


def report(runs: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["report", str(runs), "--json", "-o", str(runs.parent / "r.html"), *options]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_methods_are_compared_on_the_seeds_that_both_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = stored(tmp_path, *(run(method, seed, nll) for (method, seed), nll in NLL.items()))
    told = report(runs, capsys=capsys)
    (comparison,) = told["comparisons"]
    soft, sls = comparison["rows"]
    assert comparison["title"] == "mine, all votes"
    assert (soft["per_seed"], sls["per_seed"]) == ([0.50, 0.54, 0.49], [0.50, 0.46, 0.40])
    assert soft["metrics"]["soft NLL"] == {
        "mean": np.mean(soft["per_seed"]),
        "sd": np.std(soft["per_seed"], ddof=1),
        "n": 3,
    }
    assert sls["metrics"]["entropy correlation"]["mean"] is None  # the records do not tell it
    assert (sls["pairs"], sls["wins"]) == (2, 2)
    assert sls["difference"] == pytest.approx(np.mean([0.50 - 0.54, 0.46 - 0.49]))
    assert sls["p_value"] == stats.wilcoxon([0.50 - 0.54, 0.46 - 0.49], method="exact").pvalue
    assert (soft["pairs"], soft["difference"], soft["p_value"]) == (0, None, None)


def test_what_differs_in_more_than_method_and_seed_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [
        run("sls", 0, 0.5, votes=5),
        run("soft", 0, 0.6),
        run("sls", 0, 0.7, config={"hold": 5}),
        run("majority", 0, 0.8, recipe={"mixup": 1.0}),
        run("soft", 0, 0.9, recipe={"epochs": 9}),
    ]
    told = report(stored(tmp_path, *records), capsys=capsys)
    found = {one["title"]: [row["method"] for row in one["rows"]] for one in told["comparisons"]}
    assert found == {
        "mine, all votes, epochs 2": ["soft", "sls:hold=5", "majority, α 1"],
        "mine, all votes, epochs 9": ["soft"],
        "mine, 5 votes per item, epochs 2": ["sls"],
    }


def test_the_epoch_and_the_baseline_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = stored(tmp_path, *(run(method, seed, nll) for (method, seed), nll in NLL.items()))
    told = report(runs, "--at", "best", "--baseline", "sls", capsys=capsys)
    sls, soft = told["comparisons"][0]["rows"]
    assert (sls["method"], sls["per_seed"]) == ("sls", pytest.approx([0.40, 0.36, 0.30]))
    assert soft["difference"] == pytest.approx(0.035)
    assert "which was chosen on the items that are scored" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert main(["report", str(runs), "--baseline", "slss"]) == 2
    assert "the baseline must be one of sls, soft, but got 'slss'. Did you mean 'sls'?" in capsys.readouterr().err


def test_what_cannot_be_compared_is_left_out_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = stored(
        tmp_path,
        run("soft", 0, 0.5),
        run("sls", 0, math.inf),
        run("sls", 1, 0.5, status="failed", failure="the loss became NaN in epoch 1."),
        run("multipass", 3, 0.5),
        RunRecord(config={"paper": "same-target"}, status="done"),
    )
    damaged = run("multipass", 3, 0.5).run_id
    (runs / damaged / "record.json").write_text("{}", encoding="utf-8")
    told = report(runs, capsys=capsys)
    assert sorted(told["notes"]) == [
        f"The record in '{runs / damaged}' must be undamaged, but the bytes of record.json have changed. Delete the folder "
        "and rerun to repeat this run.",
        "a record, seed –, is left out: it is no finished training run.",
        "sls, seed 0, is left out: its soft NLL is not finite, as when classes that people chose get probability 0.",
        "sls, seed 1, is left out: the loss became NaN in epoch 1.",
    ]
    assert [row["method"] for row in told["comparisons"][0]["rows"]] == ["soft"]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "sls, seed 1, is left out" in page


@pytest.mark.parametrize(
    ("records", "code", "message"),
    [
        ([], 2, "a report needs finished training runs, but there are no records. "),
        ([RunRecord(config={"paper": "x"}, status="done")], 2, "finished training runs, but none of 1 record is one. "),
        (
            [run("sls", 0, math.nan)],
            1,
            "nothing can be compared, since no run has a finite score (sls; the first: its ",
        ),
    ],
)
def test_no_run_is_an_error_and_no_page(
    records: list[RunRecord], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = stored(tmp_path, *records)
    runs.mkdir(exist_ok=True)
    assert main(["report", str(runs), "-o", str(tmp_path / "r.html")]) == code
    assert message in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_records_made_by_hand_are_no_trouble(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        run("soft", 0, 0.5),
        run("soft", 1, 0.6, curves={"soft_nll": [0.6]}),
        run("sls", 0, 0.7, config={"votes": "5", "hold": "x"}),
        run("sls", 0, 0.7, config={"votes": 5}),
    ]
    told = report(stored(tmp_path, *records), capsys=capsys)
    assert sorted(one["title"] for one in told["comparisons"]) == ["mine, 5 votes per item"] * 2 + ["mine, all votes"]


def test_names_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report(stored(tmp_path, run("soft", 0, 0.5, config={"dataset": "<script>alert(1)</script>"})), capsys=capsys)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;, all votes" in page


def test_it_says_what_compare_said_of_the_same_runs_and_needs_no_torch(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "votes.npy", rng.multinomial(4, [0.5, 0.3, 0.2], size=120))
    np.save(tmp_path / "x.npy", rng.normal(size=(120, 3)))

    def call(*arguments: str) -> dict[str, Any]:
        blocked = "import sys; sys.modules['torch'] = None; " if arguments[0] == "report" else ""
        code = f"{blocked}from votewise.cli.main import run; run()"
        command = [sys.executable, "-c", code, *arguments, "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        told: dict[str, Any] = json.loads(done.stdout)
        return told

    compared = call("compare", "votes.npy", "--features", "x.npy", "--seeds", "3", "--epochs", "2", "--methods",
                    "soft,multipass,sls", "--runs", "runs", "-o", "c.html")  # fmt: skip
    reported = call("report", "runs")
    assert [one["title"] for one in reported["comparisons"]] == ["votes, all votes"]
    for part in ("comparisons", "summary", "notes", "failed"):
        assert reported[part] == compared[part]
    pages = [(tmp_path / name).read_text(encoding="utf-8") for name in ("c.html", "report.html")]
    assert "Where people disagree most" in pages[0]
    assert "Vote share by confidence" in pages[0]
    assert pages[1] == pages[0].replace("Deliveries compared on votes", "Runs recorded in runs")
