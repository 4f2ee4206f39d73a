"""A method, a metric, a backend or a data set is one row of a table, and is then found wherever its kind is shown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_runs import CROSS_FITTED
from votewise import Votes
from votewise._checks import FloatArray
from votewise.cli.main import main
from votewise.data import RELEASES, Dataset, Release, join_inputs, prepare
from votewise.data.dataset import Prepared
from votewise.data.texts import Texts
from votewise.delivery.methods import METHODS
from votewise.experiments import Grid, compare_methods, default_recipe
from votewise.experiments.backends import BACKENDS, BackendRow, Task, Tell
from votewise.experiments.backends.device import Device
from votewise.metrics import METRICS, Metric
from votewise.models import find_model
from votewise.records import RecordStore, results_of
from votewise.report import compare_results, to_html

Screen = pytest.CaptureFixture[str]

COMPARE = ("compare", "votes.csv", "--text", "texts.csv", "--epochs", "2", "--seeds", "2", "--device", "cpu", "--runs", "runs")  # fmt: skip


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty texts with votes, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    votes = [f"i{item},p{person},{'ab'[rng.integers(2)]}" for item in range(40) for person in range(3)]
    Path("votes.csv").write_text("\n".join(["item,annotator,label", *votes]), encoding="utf-8")
    texts = [f"i{item},word {item % 7}" for item in range(40)]
    Path("texts.csv").write_text("\n".join(["item,text", *texts]), encoding="utf-8")
    return tmp_path


def told(capsys: Screen, *arguments: str) -> dict[str, Any]:
    """What a command prints as JSON."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def help_with(row: str, command: str) -> str:
    """The help of a command in a process of its own that adds a row before the command is loaded."""
    script = f"import sys; {row}; from votewise.cli.main import main; sys.exit(main([{command!r}, '--help']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return "".join(done.stdout.split())  # however the lines were broken


def test_a_method_with_helper_runs(monkeypatch: pytest.MonkeyPatch, capsys: Screen) -> None:
    monkeypatch.setitem(METHODS, "cross-fitted", CROSS_FITTED)
    arguments = (*COMPARE, "--methods", "soft,cross-fitted:folds=2,share=1.0", "--jobs", "2")
    said = told(capsys, *arguments)
    assert (said["runs"], said["trained"], said["failed"]) == (4, 4, [])
    (comparison,) = said["comparisons"]
    assert [row["method"] for row in comparison["rows"]] == ["soft", "cross-fitted:folds=2,share=1.0"]
    assert len(RecordStore("runs/helpers").ids()) == 4, "two for each seed"
    assert "cross-fitted" in Path("report.html").read_text(encoding="utf-8")
    assert told(capsys, *arguments)["trained"] == 0
    assert told(capsys, "report", "runs")["comparisons"][0]["rows"][1]["method"] == "cross-fitted:folds=2,share=1.0"

    row = "from votewise.delivery.methods import METHODS; METHODS['made-up'] = METHODS['soft']"
    for command in ("compare", "train", "deliver"):
        assert "dirichlet-fitted,made-up" in help_with(row, command)


def least_share(shares: FloatArray, probs: FloatArray) -> float:
    """The smallest probability of a class that someone chose."""
    return float(probs[shares > 0].min())


def test_a_metric(monkeypatch: pytest.MonkeyPatch, capsys: Screen) -> None:
    row = Metric(least_share, "votes", "least share", "least", "smallest probability", lower=False, headline=True)
    monkeypatch.setitem(METRICS, "least_share", row)
    told(capsys, *COMPARE, "--methods", "soft,majority", "--backend", "device")
    for run in told(capsys, "runs", "runs")["runs"]:
        assert 0 < run["numbers"]["least_share_last"] < 1
    record = next(RecordStore("runs").records())
    assert record.curves["least_share"][-1] == record.numbers["least_share_last"]

    train = ("train", "votes.csv", "--text", "texts.csv", "--epochs", "2", "-o", "model.safetensors", "--device", "cpu")
    value = told(capsys, *train)["metrics"]["least_share"]["value"]
    assert main(list(train)) == 0
    assert f"least share {value:.4f} " in " ".join(capsys.readouterr().out.split())

    row = "from votewise.metrics import METRICS; METRICS['made-up'] = METRICS['kl']"
    assert "brier_uncertainty,made-up" in help_with(row, "score")


class Backwards:
    """A made-up backend: this process, the last run first."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.seeds: list[int] = []

    def map(self, data: Prepared, tasks: Iterable[Task], tell: Tell, **options: Any) -> None:
        """Do all tasks."""
        for task in reversed(list(tasks)):
            self.seeds.append(task.run.seed)  # type: ignore[union-attr]
            Device("cpu").map(data, [task], tell, **options)


def test_a_backend(monkeypatch: pytest.MonkeyPatch, capsys: Screen) -> None:
    made: list[Backwards] = []

    def make(*, device: str, jobs: int | None, address: str = "") -> Backwards:
        assert (device, jobs) == ("cpu", 3)
        made.append(Backwards(address))
        return made[-1]

    monkeypatch.setitem(BACKENDS, "backwards", BackendRow("this process, the last run first", make, address=True))
    usual = told(capsys, *COMPARE, "--methods", "soft")
    said = told(
        capsys, *COMPARE, "--methods", "soft", "--runs", "others", "--backend", "backwards:over there", "--jobs", "3"
    )
    assert said["comparisons"] == usual["comparisons"], "where runs are done changes nothing"
    assert [(each.address, each.seeds) for each in made] == [("over there", [1, 0])]

    row = "from votewise.experiments.backends import BACKENDS; BACKENDS['made-up'] = BACKENDS['ray']"
    for command in ("compare", "reproduce"):
        assert "processes,device,ray[:ADDRESS]ormade-up[:ADDRESS]" in help_with(row, command)


def load_toy() -> Dataset:
    """Forty texts with votes, as a loader of a known data set gives them."""
    rng = np.random.default_rng(1)
    votes = Votes.from_counts(rng.multinomial(5, [0.6, 0.4], size=40), classes=["no", "yes"])
    return join_inputs(votes, Texts(votes.item_ids, tuple(f"toy {item % 7}" for item in range(40))), name="toy")


def test_a_data_set(monkeypatch: pytest.MonkeyPatch, capsys: Screen) -> None:
    release = Release("a toy [of tests]", "40 texts x 5 votes", "none", "nobody", "example.org", ())
    monkeypatch.setitem(RELEASES, "toy", release)
    listed = told(capsys, "datasets", "--data", "data")["datasets"][-1]
    assert (listed["name"], listed["title"], listed["files"]) == ("toy", "a toy [of tests]", [])
    assert main(["datasets", "toy", "--data", "data"]) == 0
    assert "toy  a toy [of tests]" in capsys.readouterr().out

    toy = load_toy()
    data = prepare(toy, find_model("ngram", "text"))
    grid = Grid(("soft", "majority"), range(2))
    done = compare_methods(grid, data, default_recipe(data, epochs=2), RecordStore("runs"), backend=Device("cpu"))
    assert (done.trained, done.unsaved) == (4, None)
    document = compare_results(results_of(done.records), {}, title=f"Deliveries compared on {toy.name}")
    assert "compared on toy" in to_html(document)
    assert told(capsys, "report", "runs")["runs"] == 4
