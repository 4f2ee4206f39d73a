"""Grids of runs, which of them are missing, and how long they will take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from small_runs import CROSS_FITTED, feature_material, feature_run
from votewise import InputError, Votes
from votewise.delivery.methods import METHODS
from votewise.experiments import planning
from votewise.experiments.grid import Grid
from votewise.experiments.planning import (
    expected_seconds,
    expected_training_items,
    helper_store,
    missing_helper_runs,
    missing_runs,
)
from votewise.experiments.run import Run, helpers, split_items, train_run
from votewise.records import RecordStore, RunRecord
from votewise.training import TrainConfig

MATERIAL = feature_material()
RECIPE = TrainConfig(epochs=2, batch_size=16)


def suite(n: int = 4) -> list[Run]:
    return [feature_run(MATERIAL, method, seed) for seed in range(n // 2) for method in ("soft", "sls")]


def test_the_runs_of_a_grid() -> None:
    runs = Grid(("soft", "sls:hold=5"), range(2), (None, 3), held_out=0.3).runs(MATERIAL, RECIPE)
    assert [(run.seed, run.votes, run.label) for run in runs] == [
        (seed, votes, method) for seed in (0, 1) for votes in (None, 3) for method in ("soft", "sls:hold=5")
    ]
    assert {replace(run, method="sls", seed=0, votes=None, options=()) for run in runs} == {
        Run("toy", MATERIAL.checksum, "sls", 0, RECIPE, "mlp", held_out=0.3)
    }
    assert {run.held_out for run in Grid(("soft",), range(1), folds=4).runs(MATERIAL, RECIPE)} == {0.25}
    assert {run.selected for run in Grid(("soft",), range(1), selected=0.1).runs(MATERIAL, RECIPE)} == {0.1}
    assert [run.model for run in Grid(("soft",), range(1), models=("mlp",)).runs(MATERIAL, RECIPE)] == ["mlp"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"methods": ()}, r"a comparison needs at least one method, but got none\. Name some of soft, multipass, "),
        ({"methods": ("sls", "sls:hold=1")}, r"methods must be different, but got 'sls', 'sls'\. Name each once\."),
        ({"methods": ("sls:hod=2",)}, "an option of sls must be one of hold, but got 'hod'"),
        ({"seeds": range(0)}, "a comparison needs at least one seed, but got none"),
        ({"held_out": 0.9}, "the share held out must be"),
    ],
)
def test_grids_that_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(Grid(("soft",), range(2)), **changes)  # type: ignore[arg-type]


def test_data_that_a_grid_cannot_be_done_on() -> None:
    soft, multipass = Grid(("soft",), range(1)), Grid(("multipass",), range(1))
    with pytest.raises(InputError, match="the model must take features, but 'ngram' takes text"):
        replace(soft, models=("ngram",)).runs(MATERIAL, RECIPE)
    alone = feature_material(votes=Votes.from_counts([[3]] * 60, classes=["a"]))
    with pytest.raises(InputError, match=r"at least two classes, but the votes have only 'a'\. Name those that nobody"):
        soft.runs(alone, RECIPE)
    shares = feature_material(votes=Votes.from_probabilities(MATERIAL.votes.probs))
    with pytest.raises(InputError, match="multipass needs the number of votes for each class"):
        multipass.runs(shares, RECIPE)
    assert len(soft.runs(shares, RECIPE)) == len(replace(multipass, votes=(3,)).runs(shares, RECIPE)) == 1


def test_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "cross-fitted", CROSS_FITTED)
    store, runs = RecordStore(tmp_path), suite(4)
    assert missing_runs([*runs, runs[0]], None) == missing_runs([*runs, runs[0]], store) == runs
    store.write(RunRecord(config=runs[0].to_dict(), status="done"))
    store.write(RunRecord(config=runs[1].to_dict(), status="failed", failure="it was not its day."))
    assert missing_runs(runs, store) == runs[2:]
    assert missing_runs(runs, store, retry_failed=True) == runs[1:]
    assert missing_helper_runs(runs, store) == []
    helped = feature_run(MATERIAL, "cross-fitted")
    needed = helpers(helped)
    helper_store(store).write(RunRecord(config=needed[1].to_dict(), status="done"))
    assert missing_helper_runs([helped, helped], store) == [needed[0], needed[2]]
    assert missing_helper_runs([helped], None) == list(needed)
    assert missing_runs([helped], store) == [helped], "helpers lie elsewhere"


def test_the_expected_time_is_that_of_finished_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, runs = RecordStore(tmp_path / "runs"), suite(6)
    outcome = train_run(runs[0], MATERIAL)
    for config, seconds in zip(runs[:3], (10.0, 20.0, 90.0), strict=True):
        record = replace(outcome, config=config.to_dict(), timing={"seconds": seconds, "at_once": 2.0})
        store.write(replace(record, environment={"device_kind": "cuda"}))
    monkeypatch.setattr(planning, "_measured_rate", lambda *_: pytest.fail("known runs say how long"))
    # Two at once in the median of 20 seconds: ten seconds a run.
    assert expected_seconds(runs[3:], MATERIAL, store, device="cuda", jobs=None) == pytest.approx(3 * 10)
    assert expected_seconds([], MATERIAL, store, device="cuda", jobs=None) == 0


def test_the_expected_time_is_measured_where_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, runs = RecordStore(tmp_path / "runs"), suite(4)
    monkeypatch.setattr(planning, "_measured_rate", lambda *_: 100.0)
    images = 4 * expected_training_items(runs[:1], MATERIAL)
    assert expected_training_items(runs[:1], MATERIAL) == 2 * len(split_items(runs[0], MATERIAL).train)
    assert expected_seconds(runs, MATERIAL, store, device="cpu", jobs=1) == images / 100
    assert expected_seconds(runs, MATERIAL, None, device="cpu", jobs=2) == images / 200
    assert expected_seconds(runs, MATERIAL, None, device="cpu", jobs=64) == images / 400
    monkeypatch.undo()
    assert 0 < expected_seconds(runs, MATERIAL, store, device="cpu", jobs=1) < 60
