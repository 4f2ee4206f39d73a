"""Only missing work is done, wherever it is done; what is finished is kept, whatever happens."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from small_runs import (
    CROSS_FITTED,
    PLAIN,
    Deadly,
    Here,
    feature_material,
    feature_run,
    image_material,
    items,
    items_trained_on,
)
from votewise import Votes
from votewise._errors import InputError, VotewiseError
from votewise.delivery.methods import METHODS
from votewise.experiments.backends import Backend, Event, Finished, Note, Started, find_backend
from votewise.experiments.backends.device import Device
from votewise.experiments.backends.processes import Processes
from votewise.experiments.backends.ray import Ray
from votewise.experiments.execution import UnsavedRunsError, execute
from votewise.experiments.grid import Grid
from votewise.experiments.measure import Measurement, Plan
from votewise.experiments.planning import helper_store, missing_helper_runs, missing_runs
from votewise.experiments.run import Run, helpers, train_run
from votewise.records import RecordStore, RunRecord, record_differences, records_agree
from votewise.training import TrainConfig

MATERIAL = feature_material()


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def here() -> Here:
    return Here()


def suite(n: int = 4) -> list[Run]:
    return [feature_run(MATERIAL, method, seed) for seed in range(n // 2) for method in ("soft", "sls")]


FAILING = feature_run(MATERIAL, "majority", recipe__learning_rate=1e30, recipe__optimizer="sgd")


def finished(events: Sequence[Event]) -> list[RunRecord]:
    return [event.record for event in events if isinstance(event, Finished)]


def test_only_what_is_missing_is_done(here: Here, tmp_path: Path) -> None:
    store, told, runs = RecordStore(tmp_path / "runs"), [], suite(4)
    execute(runs[:1], MATERIAL, store, backend=here)
    assert missing_runs(runs, store) == runs[1:]
    records = execute([*runs, *runs], MATERIAL, store, backend=here, tell=told.append)
    assert here.trained == [*runs[:1], *runs[1:]]  # each once
    assert [record.config for record in records] == [run.to_dict() for run in [*runs, *runs]]
    assert [record.config for record in finished(told)] == [run.to_dict() for run in runs[1:]]
    again = execute(runs, MATERIAL, store, backend=here)
    assert len(here.trained) == 4
    assert all(records_agree(one, other) for one, other in zip(records, again, strict=False))
    assert missing_runs(runs, store) == []
    assert execute([], MATERIAL, store) == []


def test_without_a_store_nothing_is_kept(here: Here) -> None:
    runs = suite(2)
    records = execute([*runs, runs[0]], MATERIAL, backend=here)
    assert len(here.trained) == 2
    assert records[0] is records[2]
    with pytest.raises(InputError, match="measurements need a store"):
        execute([Measurement((runs[0],), Plan(features=True))], MATERIAL, backend=here)


def test_failed_runs_are_done_again_only_if_asked(here: Here, tmp_path: Path) -> None:
    store, runs = RecordStore(tmp_path / "runs"), [FAILING, *suite(2)]
    records = execute(runs, MATERIAL, store, backend=here)
    assert [record.status for record in records] == ["failed", "done", "done"]
    assert execute(runs, MATERIAL, store, backend=here)[0].failure == records[0].failure
    assert len(here.trained) == 3
    execute(runs, MATERIAL, store, backend=here, retry_failed=True)
    assert here.trained[3:] == [FAILING]
    assert store.read(FAILING.id).status == "failed"


@pytest.mark.parametrize("part", ["arrays.npz", "record.json"])
def test_a_damaged_record_is_done_again_and_kept_aside(here: Here, tmp_path: Path, part: str) -> None:
    store, runs = RecordStore(tmp_path / "runs"), suite(2)
    before = execute(runs, MATERIAL, store, backend=here)
    file = store.folder / before[0].run_id / part
    damaged = file.read_bytes()[:-7]
    file.write_bytes(damaged)
    assert missing_runs(runs, store) == runs[:1]
    after = execute(runs, MATERIAL, store, backend=here)
    assert here.trained == [*runs, runs[0]]
    assert all(records_agree(one, other) for one, other in zip(before, after, strict=True))
    assert store.faults() == []
    (aside,) = store.folder.glob(".corrupt-*")
    assert (aside / part).read_bytes() == damaged


def test_a_full_disk(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other runs continue and are kept; a note tells of the error at once, and it is raised at the end."""
    store, runs, told = RecordStore(tmp_path / "runs"), suite(4), []
    write = store.write

    def refuse(record: RunRecord, *rest: Any, **options: Any) -> None:
        if record.config == runs[1].to_dict():
            raise OSError(errno.ENOSPC, "No space left on device")
        write(record, *rest, **options)

    monkeypatch.setattr(store, "write", refuse)
    with pytest.raises(UnsavedRunsError) as error:
        execute(runs, MATERIAL, store, backend=here, tell=told.append)
    assert str(error.value) == (
        "some runs were not saved: [Errno 28] No space left on device. Check space and permissions of "
        f"{str(store.folder)!r}."
    )
    assert [record.config for record in error.value.records] == [run.to_dict() for run in runs]
    assert [event.text for event in told if isinstance(event, Note)] == [
        "the record of sls, seed 0, was not written: [Errno 28] No space left on device."
    ]
    assert len(finished(told)) == 4
    monkeypatch.setattr(store, "write", write)
    assert missing_runs(runs, store) == [runs[1]]
    execute(runs, MATERIAL, store, backend=here)
    assert here.trained[4:] == [runs[1]]


# -- helper runs --------------------------------------------------------------------------------------------------


@pytest.fixture
def helped(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """Runs of a made-up method, defined by one row, beside one of soft labels; folds differ by one item."""
    monkeypatch.setitem(METHODS, "cross-fitted", CROSS_FITTED)
    recipe = TrainConfig(epochs=2, batch_size=16)
    return Grid(("soft", "cross-fitted", "cross-fitted:folds=2"), range(2), folds=7).runs(MATERIAL, recipe)


@pytest.mark.parametrize("kept", [True, False])
def test_helpers_are_done_first_and_kept_apart(here: Here, helped: list[Run], tmp_path: Path, kept: bool) -> None:
    store = RecordStore(tmp_path / "runs") if kept else None
    needed, told = [helper for run in helped for helper in helpers(run)], []
    assert len(needed) == len(set(needed)) == 2 * (3 + 2)
    records = execute(helped, MATERIAL, store, backend=here, tell=told.append)
    assert here.trained == [*needed, *helped]
    assert [record.status for record in finished(told)] == ["done"] * 16
    for run, record in zip(helped, records, strict=True):
        assert record_differences(record, train_run(run, MATERIAL)) == []
    if store is not None:
        assert sorted(store.ids()) == sorted(run.id for run in helped)
        assert sorted(helper_store(store).ids()) == sorted(helper.id for helper in needed)
        assert missing_helper_runs(helped, store) == []
        lost = helped[1]
        (store.folder / lost.id / "arrays.npz").write_bytes(b"")
        execute(helped, MATERIAL, store, backend=here)
        assert here.trained[16:] == [lost], "its helpers are there"


def test_a_made_up_method_in_other_processes(helped: list[Run], tmp_path: Path) -> None:
    """They need not know it: it comes with the run."""
    store, told = RecordStore(tmp_path / "runs"), []
    records = execute(helped, MATERIAL, store, backend=Processes(2), tell=told.append)
    assert [record_differences(one, train_run(run, MATERIAL)) for run, one in zip(helped, records, strict=True)] == [
        []
    ] * 6
    assert len(finished(told)) == 16
    needed = [helper for run in helped for helper in helpers(run)]
    assert items(told) == items_trained_on([*needed, *helped], MATERIAL)


def test_a_made_up_method_in_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs with equal numbers of rows go together, helpers of unequal folds apart; each as the plain loop does it."""
    monkeypatch.setitem(METHODS, "cross-fitted", CROSS_FITTED)
    material, calls = image_material(), counted_calls(monkeypatch)
    runs = Grid(("soft", "cross-fitted"), range(2), folds=4).runs(material, PLAIN)
    records = execute(runs, material, backend=Device("cpu", engine=True))
    assert sorted(calls) == [4, 6], "three helpers of fifteen items each for two runs, then all four runs"
    assert [record_differences(one, train_run(run, material)) for run, one in zip(runs, records, strict=True)] == [
        []
    ] * 4
    calls.clear()
    unequal = Grid(("cross-fitted:folds=2",), range(2), folds=4).runs(material, PLAIN)
    execute(unequal, material, backend=Device("cpu", engine=True))
    assert sorted(calls) == [2, 2, 2], "45 items make folds of 23 and 22"


def test_a_failed_helper_fails_its_run_alone(here: Here, helped: list[Run], tmp_path: Path) -> None:
    store, bad = RecordStore(tmp_path), replace(helped[1].recipe, learning_rate=1e30, optimizer="sgd")
    runs = [replace(helped[1], recipe=bad), *helped[:2]]
    records = execute(runs, MATERIAL, store, backend=here)
    assert [record.status for record in records] == ["failed", "done", "done"]
    assert str(records[0].failure).startswith(
        "a helper run failed: the training loss became NaN or infinite in epoch 1."
    )
    before = len(here.trained)
    execute(runs, MATERIAL, store, backend=here)
    assert len(here.trained) == before
    execute(runs, MATERIAL, store, backend=here, retry_failed=True)
    assert here.trained[before:] == list(helpers(runs[0]))


# -- processes ----------------------------------------------------------------------------------------------------


def test_in_processes_of_one_or_two_the_results_are_the_same(tmp_path: Path) -> None:
    """Real processes; a failing run among the others; the count of items is whole."""
    runs = [*suite(4), FAILING]
    expected = [train_run(run, MATERIAL) for run in runs]
    for jobs in (1, 2):
        store, told = RecordStore(tmp_path / str(jobs)), []
        records = execute(runs, MATERIAL, store, backend=Processes(jobs), tell=told.append)
        assert [record_differences(one, other) for one, other in zip(records, expected, strict=True)] == [[]] * 5
        assert [store.read(record.run_id).status for record in records] == ["done"] * 4 + ["failed"]
        assert sorted(record.run_id for record in finished(told)) == sorted(record.run_id for record in records)
        assert items(told) == items_trained_on(runs[:4], MATERIAL)


def test_a_process_that_the_system_ends(tmp_path: Path) -> None:
    store, runs = RecordStore(tmp_path / "runs"), suite(4)
    deadly = Deadly(**{field.name: getattr(runs[0], field.name) for field in fields(Run)} | {"seed": 77})
    with pytest.raises(VotewiseError) as error:
        execute([*runs[:2], deadly, *runs[2:]], MATERIAL, store, backend=Processes(1))
    assert str(error.value) == (
        "a training process ended unexpectedly: the system ended it, probably for lack of memory, or the calling script "
        "does not do its work under if __name__ == '__main__':. Finished runs are kept; add that line, or call again with "
        "fewer jobs."
    )
    assert missing_runs(runs, store) == runs[2:]
    assert store.faults() == []


def test_the_items_of_runs_of_different_sizes_are_counted_each() -> None:
    """As they are counted in the processes: each run by its own number of training items."""
    runs, told = [feature_run(MATERIAL, held_out=share) for share in (0.2, 0.5)], []
    execute(runs, MATERIAL, backend=Processes(1), tell=told.append)
    assert items(told) == items_trained_on(runs, MATERIAL)
    assert len({items_trained_on([run], MATERIAL) for run in runs}) == 2


# -- a device -----------------------------------------------------------------------------------------------------


def counted_calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of runs that the engine gets at a time."""
    from votewise import training

    calls: list[int] = []
    real = training.train_jobs

    def count(make: Any, inputs: Any, jobs: Any, *rest: Any, **options: Any) -> Any:
        calls.append(len(jobs))
        return real(make, inputs, jobs, *rest, **options)

    monkeypatch.setattr(training, "train_jobs", count)
    return calls


def test_runs_that_are_alike_go_through_the_engine_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    material, told, calls = image_material(), [], counted_calls(monkeypatch)
    runs = [
        replace(feature_run(material, method, seed), recipe=recipe, model="small-cnn")
        for seed in (0, 1)
        for method, recipe in (("soft", PLAIN), ("sls", PLAIN), ("mixup", replace(PLAIN, mixup=1.0)))
    ]
    store = RecordStore(tmp_path / "runs")
    records = execute(runs, material, store, backend=Device("cpu", 3, engine=True), tell=told.append)
    assert calls == [4, 2]
    for run, record in zip(runs, records, strict=True):
        assert record_differences(record, train_run(run, material)) == []
        assert records_agree(store.read(record.run_id), record)
    assert items(told) == items_trained_on(runs, material)
    assert {record.timing["at_once"] for record in records} <= {1.0, 2.0, 3.0}


def test_models_with_dropout_go_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the engine all would draw from one generator, and no run could be repeated."""
    runs, told, calls = suite(2), [], counted_calls(monkeypatch)
    records = execute(runs, MATERIAL, backend=Device("cpu", engine=True), tell=told.append)
    assert calls == []
    assert [record_differences(one, train_run(run, MATERIAL)) for run, one in zip(runs, records, strict=True)] == [
        [],
        [],
    ]
    assert items(told) == items_trained_on(runs, MATERIAL)


@pytest.mark.parametrize(
    ("name", "device", "gpu", "backend"),
    [
        (None, "auto", False, Processes(3)),
        (None, "auto", True, Device("cuda", 3)),
        (None, "cpu", True, Processes(3)),
        ("processes", "auto", True, Processes(3)),
        ("device", "auto", False, Device("cpu", 3)),
        ("device", "auto", True, Device("cuda", 3)),
        ("ray", "auto", True, Ray(None, jobs=3)),
        ("ray:10.0.0.1:6379", "cpu", False, Ray("10.0.0.1:6379", "cpu", 3)),
    ],
)
def test_backends_by_name(
    name: str | None, device: str, gpu: bool, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    assert find_backend(name, device=device, jobs=3) == backend


def test_backends_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    with pytest.raises(InputError, match="the backend must be one of processes, device, ray, but got 'proceses'"):
        find_backend("proceses")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(InputError, match=r"processes train on the CPU, but got the device cuda\. Take the backend"):
        find_backend("processes", device="cuda")


def test_votes_that_a_method_cannot_deliver_are_refused_before_anything_is_trained(here: Here) -> None:
    shares = feature_material(votes=Votes.from_probabilities(MATERIAL.votes.probs))
    runs = [feature_run(shares, "soft"), feature_run(shares, "multipass")]
    with pytest.raises(InputError, match="multipass needs the number of votes for each class"):
        execute(runs, shares, backend=here)
    assert here.trained == []
    assert [record.status for record in execute([replace(runs[1], votes=3)], shares, backend=here)] == ["done"]


def test_what_begins_is_told_before_it_is_done(here: Here, helped: list[Run], tmp_path: Path) -> None:
    """Helper runs are work of their own, told of when they begin."""
    store, told = RecordStore(tmp_path), []
    execute([FAILING, *helped[:1]], MATERIAL, store, backend=here)
    execute([FAILING, *helped], MATERIAL, store, backend=here, tell=told.append)
    started = [event for event in told if isinstance(event, Started)]
    assert [(each.runs, each.todo, each.failed, each.measurements) for each in started] == [
        (7, 5, 1, 0),
        (10, 10, 0, 0),
    ]
    assert told[:2] == started
    done = items_trained_on([*helped[1:], *(helper for run in helped for helper in helpers(run))], MATERIAL)
    assert sum(each.items for each in started) == pytest.approx(done, rel=0.02)
