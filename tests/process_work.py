"""Processes for tests that send signals; run as a script, a parent whose workers are busy until they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from limits import HANGS
from votewise.experiments.backends.processes import in_processes, tick_in_worker_process


class _Add:
    """Adds a task to the base that the setup set, with that many ticks; 666 kills, and negative tasks are errors."""

    base = 0

    def __call__(self, task: int) -> int:
        if task == 666:
            os.kill(os.getpid(), signal.SIGKILL)
        if task < 0:
            raise ValueError("negative")
        for _ in range(task):
            tick_in_worker_process()
        return _Add.base + task

    def set_base(self, base: int) -> None:
        _Add.base = base


add = _Add()


def work_long(folder: Path) -> None:
    (folder / f"{os.getpid()}.pid").touch()
    time.sleep(HANGS)


@contextmanager
def started(
    *command: str | Path, folder: Path, ignoring: Collection[signal.Signals] = ()
) -> Iterator[subprocess.Popen[str]]:
    """A Python process that leads a group of its own; whoever is left of the group is killed at the end.

    Its signals are at their defaults, although it would inherit what the shell of the tests ignores: background jobs,
    `nohup` and some CI runners ignore SIGINT or SIGHUP.

    Args:
        command: arguments of the interpreter.
        folder: working directory.
        ignoring: signals that are ignored when it starts.
    """

    def set_signals() -> None:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN if number in ignoring else signal.SIG_DFL)

    with subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=set_signals,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def members(group: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def has_loaded(process: int, library: str) -> bool:
    """Whether a process has mapped a shared library whose path contains a name."""
    try:
        return library in Path(f"/proc/{process}/maps").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(process: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet has, too."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):  # also one that ends between opening and reading
        return True


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for something to happen, and fail if it never does."""
    end = time.monotonic() + HANGS
    while not happened():
        assert time.monotonic() < end, f"not within {HANGS} s"
        time.sleep(0.01)


if __name__ == "__main__":
    from process_work import work_long as importable  # by the name under which workers find it

    for _ in in_processes(importable, [Path(sys.argv[1])] * 2, jobs=2):
        pass
