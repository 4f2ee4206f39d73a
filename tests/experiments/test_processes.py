"""Work in other processes: results by place, failures of one, and ends that come early."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from process_work import add, gone, wait_until
from votewise.experiments.processes import cores, in_processes

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


def start(folder: Path) -> tuple[subprocess.Popen[bytes], list[int]]:
    """A process with two workers that would work for a minute, and their ids."""
    parent = subprocess.Popen([sys.executable, TESTS / "process_work.py", folder], start_new_session=True)
    wait_until(lambda: len(list(folder.glob("*.pid"))) == 2, within=60)
    return parent, [int(path.stem) for path in folder.glob("*.pid")]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="who is left is read from /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    parent, workers = start(tmp_path)
    try:
        assert not any(map(gone, workers))
        os.kill(parent.pid, how)  # the parent alone: nothing signals the workers
        wait_until(lambda: all(map(gone, workers)), within=10)
        assert parent.wait(timeout=10) != 0
    finally:
        for process in (*workers, parent.pid):
            if not gone(process):
                os.kill(process, signal.SIGKILL)
        parent.wait()


def test_a_script_without_a_guard_ends_with_a_hint_and_does_not_hang(tmp_path: Path) -> None:
    script = tmp_path / "no_guard.py"
    script.write_text(
        "from math import sqrt\n"
        "from votewise.experiments.processes import in_processes\n"
        "for _, future in in_processes(sqrt, [4.0], jobs=1):\n"
        "    future.result()\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "Put what the script does under if __name__ == '__main__':." in done.stderr


def test_a_demo_without_a_guard_names_the_guard(tmp_path: Path) -> None:
    script = tmp_path / "no_guard.py"
    script.write_text("from votewise.experiments.demo import run_demo\nrun_demo(1, jobs=1)\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "votewise._errors.VotewiseError: a training process ended unexpectedly: the system ended it, probably for lack of "
        "memory, or the calling script does not do its work under if __name__ == '__main__':. Add that line, or call again "
        "with fewer jobs.\n"
    )
