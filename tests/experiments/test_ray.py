"""Work on Ray, here on workers of this machine: the records of other backends, and lost workers lose nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from small_runs import CROSS_FITTED, Counted, feature_material, feature_run, items_trained_on
from votewise._errors import InputError, MissingExtraError, VotewiseError
from votewise.delivery.methods import METHODS
from votewise.experiments.backends import Event, Finished, Progress
from votewise.experiments.backends import ray as backend
from votewise.experiments.backends.processes import Processes
from votewise.experiments.backends.ray import Ray
from votewise.experiments.execution import execute
from votewise.experiments.grid import Grid
from votewise.experiments.measure import Measurement, Plan, measurement_store
from votewise.experiments.planning import helper_run_store, missing_runs
from votewise.experiments.run import Run, helpers, train_run
from votewise.records import RecordStore, record_differences
from votewise.training import TrainConfig

MATERIAL = feature_material()


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Ray as a caller may have started it, whose workers find the classes of tests."""
    ray = backend._import_ray(alone=True)
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path}})
    yield ray
    ray.shutdown()


def counted(folder: Path, *runs: tuple[str, int]) -> list[Counted]:
    names = {field.name for field in fields(Run)} - {"dataset", "data", "method", "seed"}
    rest = {name: getattr(feature_run(MATERIAL), name) for name in names}
    return [Counted(str(folder), str(os.getpid()), method, seed, **rest) for method, seed in runs]


def times_trained(folder: Path) -> dict[str, int]:
    return {path.stem: len(path.read_text()) for path in folder.glob("*.trained")}


def finished(events: list[Event]) -> list[str]:
    return [event.record.run_id for event in events if isinstance(event, Finished)]


def test_records_are_those_of_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Helper runs, also of a method that workers do not know, one run that fails, and measurements; in two workers."""
    monkeypatch.setitem(METHODS, "cross-fitted", CROSS_FITTED)
    recipe = TrainConfig(epochs=2, batch_size=16)
    runs = Grid(("soft", "cross-fitted:folds=2", "multipass-crossfit"), range(2), folds=5).runs(MATERIAL, recipe)
    runs.append(replace(runs[0], recipe=replace(recipe, learning_rate=1e30, optimizer="sgd")))
    barrier = Measurement((runs[0], runs[1]), Plan())
    measured = [Measurement((runs[0],), Plan({"last": ("full",)})), barrier]
    stores, told = [RecordStore(tmp_path / name) for name in ("ray", "processes")], []
    execute([*runs, *measured], MATERIAL, stores[0], backend=Ray(jobs=2), tell=told.append)
    execute([*runs, *measured], MATERIAL, stores[1], backend=Processes(2))
    assert not backend._import_ray(alone=True).is_initialized(), "what it started is ended"
    for part in (lambda store: store, helper_run_store, measurement_store):
        ours, theirs = map(part, stores)
        assert ours.ids() == theirs.ids() != []
        for name in ours.ids():
            assert record_differences(ours.read(name), theirs.read(name)) == []
    assert [stores[0].read(run.id).status for run in runs] == ["done"] * 6 + ["failed"]
    needed = [helper for run in runs for helper in helpers(run)]
    assert sorted(finished(told)) == sorted([run.id for run in [*runs, *needed]] + [each.id for each in measured])
    assert sum(event.items for event in told if isinstance(event, Progress)) == items_trained_on(
        [*runs[:-1], *needed], MATERIAL
    )


def test_a_worker_killed_in_the_middle_loses_nothing_and_nothing_finished_is_repeated(
    cluster: Any, tmp_path: Path
) -> None:
    marks, store, told = tmp_path / "marks", RecordStore(tmp_path / "runs"), []
    marks.mkdir()
    runs = counted(marks, ("soft", 0), ("sls", 0), ("soft", 1), ("sls", 3), ("soft", 3), ("sls", 4))
    records = execute(runs, MATERIAL, store, backend=Ray(jobs=2), tell=told.append)
    assert (marks / "ended").read_text() == ".", "a worker was killed"
    assert times_trained(marks) == {f"{run.method}-{run.seed}": 1 for run in runs}
    assert sorted(finished(told)) == sorted(store.ids()) == sorted(run.id for run in runs)
    assert [record_differences(one, train_run(run, MATERIAL)) for run, one in zip(runs, records, strict=True)] == [
        []
    ] * 6
    assert cluster.is_initialized(), "what the caller started stays"


@pytest.mark.usefixtures("cluster")
def test_a_run_that_ends_every_worker_ends_the_work_and_costs_nothing_else(tmp_path: Path) -> None:
    marks, store = tmp_path / "marks", RecordStore(tmp_path / "runs")
    marks.mkdir()
    runs = counted(marks, ("soft", 0), ("soft", 2), ("sls", 0))
    with pytest.raises(VotewiseError) as error:
        execute(runs, MATERIAL, store, backend=Ray(jobs=1))
    assert str(error.value) == (
        "3 Ray workers ended at the same task, probably for lack of memory. Finished runs are kept; give each worker more "
        "memory, or train smaller batches."
    )
    assert len((marks / "ended").read_text()) == 3
    assert runs[0] not in missing_runs(runs, store)
    assert set(times_trained(marks).values()) == {1}


@pytest.mark.usefixtures("cluster")
def test_an_error_of_a_worker_is_that_of_votewise() -> None:
    with pytest.raises(InputError, match="the Ray cluster must have a GPU for the device cuda, but it has none"):
        execute([feature_run(MATERIAL)], MATERIAL, backend=Ray(device="cuda"))
    unknown = replace(feature_run(MATERIAL), model="ngram")
    with pytest.raises(InputError, match="the model must take features, but 'ngram' takes text"):
        execute([unknown], MATERIAL, backend=Ray(jobs=1))


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="who listens is read from /proc")
def test_nothing_listens_to_the_network(cluster: Any) -> None:
    """Of all that starts with Ray on this machine."""
    started = [psutil.Process(), *psutil.Process().children(recursive=True)]
    heard = [one.laddr.ip for each in started for one in each.net_connections("tcp") if one.status == "LISTEN"]
    assert len(heard) > 3
    assert {address.removeprefix("::ffff:") for address in heard} == {"127.0.0.1"}
    assert cluster.util.get_node_ip_address() == "127.0.0.1"


def test_without_ray_there_is_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError) as error:
        execute([feature_run(MATERIAL)], MATERIAL, backend=Ray())
    assert str(error.value) == (
        "the backend ray needs the package ray, which is not installed. Install it with: pip install 'votewise[ray]'."
    )
