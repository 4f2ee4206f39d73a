"""Work in other processes: results by place, failures of one, and ends that come early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from limits import HANGS
from process_work import add, gone, started, wait_until
from votewise.experiments.backends.processes import cores, in_processes

TESTS = Path(__file__).parents[1]


def test_results_failures_setup_and_ticks() -> None:
    ticks: list[int] = []
    found = dict(
        in_processes(add, [3, -1, 5, 0], jobs=2, setup=add.set_base, setup_arguments=(100,), on_ticks=ticks.append)
    )
    assert sorted(found) == [0, 1, 2, 3]
    assert [found[place].result() for place in (0, 2, 3)] == [103, 105, 100]
    with pytest.raises(ValueError, match="negative"):
        found[1].result()
    assert ticks == sorted(ticks)
    assert ticks[-1] == 3 + 5 + 0


def test_a_process_that_is_killed_breaks_all_that_is_unfinished() -> None:
    outcomes = dict(in_processes(add, [1, 2, 666, 4, 5], jobs=1, setup=add.set_base, setup_arguments=(0,)))
    assert [outcomes[place].result() for place in (0, 1)] == [1, 2]
    for place in (2, 3, 4):
        with pytest.raises(BrokenProcessPool):
            outcomes[place].result()


def test_tasks_are_taken_as_they_are_begun() -> None:
    """They may hold weights, and two for each process are out at a time."""
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(9):
            taken.append(task)
            yield task

    for done, (_, future) in enumerate(
        in_processes(add, tasks(), jobs=1, setup=add.set_base, setup_arguments=(0,)), start=1
    ):
        assert len(taken) <= done + 3, "those of two that end together, and the next two"
        assert future.result() < 9
    assert taken == list(range(9))
    assert list(in_processes(add, [], jobs=1)) == []


def test_an_interrupt_while_workers_start_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    real = ProcessPoolExecutor.submit

    def submit(pool: ProcessPoolExecutor, *task: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return real(pool, *task)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(in_processes(add, [1, 2], jobs=1, setup=add.set_base, setup_arguments=(0,)))
    finally:
        signal.signal(signal.SIGINT, before)
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_cores() -> None:
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="who is left is read from /proc")
@pytest.mark.parametrize(
    ("how", "ignoring"),
    [
        (signal.SIGKILL, ()),
        (signal.SIGINT, ()),
        (signal.SIGTERM, ()),
        (signal.SIGTERM, (signal.SIGINT,)),
        (signal.SIGINT, (signal.SIGTERM,)),
    ],
)
def test_workers_end_with_their_parent(
    tmp_path: Path, how: signal.Signals, ignoring: Collection[signal.Signals]
) -> None:
    """The parent has two workers that would work for long, and nothing signals them."""
    with started(TESTS / "process_work.py", tmp_path, folder=tmp_path, ignoring=ignoring) as parent:
        wait_until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
        workers = [int(path.stem) for path in tmp_path.glob("*.pid")]
        assert not any(map(gone, workers))
        os.kill(parent.pid, how)
        wait_until(lambda: all(map(gone, workers)))
        assert parent.wait(timeout=HANGS) != 0


def test_a_script_without_a_guard_ends_with_a_hint_and_does_not_hang(tmp_path: Path) -> None:
    script = tmp_path / "no_guard.py"
    script.write_text(
        "from math import sqrt\n"
        "from votewise.experiments.backends.processes import in_processes\n"
        "for _, future in in_processes(sqrt, [4.0], jobs=1):\n"
        "    future.result()\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=HANGS, check=False)
    assert done.returncode == 1
    assert "Put what the script does under if __name__ == '__main__':." in done.stderr


def test_a_comparison_without_a_guard_names_the_guard(tmp_path: Path) -> None:
    script = tmp_path / "no_guard.py"
    script.write_text(
        "from small_runs import feature_material, feature_run\n"
        "from votewise.experiments import execute, find_backend\n"
        "data = feature_material()\n"
        "execute([feature_run(data)], data, backend=find_backend('processes', jobs=1))\n"
    )
    there = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=HANGS, check=False, env=there
    )
    assert done.returncode == 1
    assert done.stderr.endswith(
        "votewise._errors.VotewiseError: a training process ended unexpectedly: the system ended it, probably for lack of "
        "memory, or the calling script does not do its work under if __name__ == '__main__':. Finished runs are kept; add "
        "that line, or call again with fewer jobs.\n"
    )
