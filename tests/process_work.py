"""What the processes of test_processes.py do; run as a script, a parent whose workers are busy for a minute."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from votewise.experiments.processes import in_processes, tick


class _Add:
    """Adds a task to the base that the setup set, with that many ticks; 666 kills, and negative tasks are errors."""

    base = 0

    def __call__(self, task: int) -> int:
        if task == 666:
            os.kill(os.getpid(), signal.SIGKILL)
        if task < 0:
            raise ValueError("negative")
        for _ in range(task):
            tick()
        return _Add.base + task

    def set_base(self, base: int) -> None:
        _Add.base = base


add = _Add()


def work_long(folder: Path) -> None:
    (folder / f"{os.getpid()}.pid").touch()
    time.sleep(60)


def gone(process: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet has, too."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(happened: Callable[[], bool], within: float) -> None:
    """Wait for something to happen, and fail if it does not in time."""
    end = time.monotonic() + within
    while not happened():
        assert time.monotonic() < end, f"not within {within} s"
        time.sleep(0.05)


if __name__ == "__main__":
    from process_work import work_long as importable  # by the name under which workers find it

    for _ in in_processes(importable, [Path(sys.argv[1])] * 2, jobs=2):
        pass
