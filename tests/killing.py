"""A suite of real runs, for test_kill.py to kill.

`python killing.py once FOLDER [N]` does what is missing of the suite, in fresh processes, as `votewise reproduce` would.
Its whole group of processes is killed once the N-th of these runs is stored.

`python killing.py often FOLDER` starts it again and again and ends it by SIGKILL at random moments: mostly the whole
group of processes, sometimes the parent alone, whose workers must then end by themselves. It fails on the first run that
is lost, half there or different. Here processes are forked from one that has imported everything, since importing takes
seconds; all else is as above.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from process_work import gone, members, wait_until
from small_runs import feature_material, feature_run
from votewise.experiments.backends import Event, Finished, processes
from votewise.experiments.backends.processes import Processes
from votewise.experiments.execution import execute
from votewise.experiments.planning import missing_runs
from votewise.experiments.run import Run, train_run
from votewise.records import RecordStore, RunRecord, record_differences

KILLS = 60
MATERIAL = feature_material(n=80)


def suite() -> list[Run]:
    """Eight runs, each of about a tenth of a second."""
    return [
        feature_run(MATERIAL, method, seed, recipe__epochs=8, recipe__batch_size=8, selected=0.1)
        for seed in (0, 1)
        for method in ("soft", "sls", "multipass", "majority")
    ]


def start(folder: Path) -> int:
    """A suite in a group of processes of its own; the id of the process, and of the group."""
    child = os.fork()
    if child:
        os.setpgid(child, child)
        return child
    try:
        os.setpgid(0, 0)
        do_once(folder)
    except BaseException as error:
        os.write(2, repr(error).encode())
        os._exit(1)
    os._exit(0)


def kill(child: int, group: bool) -> bool:
    """End a suite; whether it was still at work. Nobody of it may be left after a while."""
    workers = members(child)
    (os.killpg if group else os.kill)(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), f"a suite ended with {code}"
    wait_until(lambda: all(map(gone, workers)))  # no worker outlives its parent
    return code == -signal.SIGKILL


def finished(store: RecordStore, expected: dict[str, RunRecord]) -> set[str]:
    """The runs that are done, each read to the last byte and compared with what it must be."""
    assert store.faults() == []
    records = list(store.records())
    assert len(records) == len(store.ids())
    for record in records:
        assert record.status == "done"
        assert record_differences(record, expected[record.run_id]) == []
    return {record.run_id for record in records}


def uninterrupted() -> dict[str, RunRecord]:
    """What every run must give."""
    return {config.id: train_run(config, MATERIAL) for config in suite()}


def do_once(folder: Path, killed_after: int | None = None) -> None:
    done = 0

    def hear(event: Event) -> None:
        nonlocal done
        done += isinstance(event, Finished)
        if done == killed_after:
            os.killpg(0, signal.SIGKILL)

    execute(suite(), MATERIAL, RecordStore(folder), backend=Processes(2), tell=hear)


def kill_often(folder: Path) -> None:
    fork = multiprocessing.get_context("fork")
    processes.multiprocessing.get_context = lambda _: fork  # type: ignore[attr-defined, assignment]
    rng, store, kills, resumed, expected = random.Random(0), RecordStore(folder), 0, 0, uninterrupted()
    began = time.monotonic()
    assert os.waitstatus_to_exitcode(os.waitpid(start(folder), 0)[1]) == 0
    duration = time.monotonic() - began
    before = finished(store, expected)
    assert before == set(expected)
    while kills < KILLS:
        if len(before) == len(expected):
            shutil.rmtree(folder)
            before = set()
        resumed += len(before) > 0
        child = start(folder)
        time.sleep(rng.uniform(0, duration))
        if not kill(child, group=rng.random() < 0.8):
            before = finished(store, expected)
            duration *= 0.9  # it was measured while the machine was busier
            continue
        after = finished(store, expected)
        assert after >= before, "a finished run is lost"
        kills, before = kills + 1, after
    do_once(folder)
    assert finished(store, expected) == set(expected)
    assert missing_runs(suite(), store) == []
    assert [path.name for path in folder.iterdir() if path.name.startswith((".part", ".old"))] == []
    sys.stdout.write(f"{kills} kills, {resumed} suites taken up again\n")


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)  # a process that has started threads of its own is not to be forked
    {"once": do_once, "often": kill_often}[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))
