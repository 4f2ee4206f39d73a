"""Signals at telling moments of real commands: a quick end, no traceback, no half file, no process left."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from limits import HANGS
from process_work import has_loaded, members, started, wait_until
from votewise.records import RecordStore

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="what processes do, and who is left, is read from /proc"
)

DEMO = ("-m", "votewise", "demo", "-o", "report.html", "--jobs", "2", "--seeds", "90")
COMPARE = (
    *("-m", "votewise", "compare", "votes.csv", "--features", "x.csv"),
    *("-o", "report.html", "--runs", "runs", "--jobs", "2", "--epochs", "5"),
)
LAST_WORDS = re.compile(
    r"((votewise: \d+ of \d+ runs are finished and saved; run the same command to continue\.\n)?"
    r"votewise: stopped before the end\.\n)?"
)


def group_size(process: int) -> int:
    return len(members(process))


def workers(process: int) -> list[int]:
    """The processes that have started work for another: those that have loaded torch."""
    return [member for member in members(process) if member != process and has_loaded(member, "libtorch")]


MOMENTS: dict[str, Callable[[int, Path], bool]] = {
    "while numpy is imported": lambda process, _: has_loaded(process, "_multiarray_umath"),
    "while torch is imported": lambda process, _: has_loaded(process, "libtorch"),
    "when the report is reserved": lambda _, folder: any(folder.iterdir()),
    "while the first worker starts": lambda process, _: group_size(process) > 2,  # the second tracks shared memory
    "when the workers have started": lambda process, _: len(workers(process)) == 2,
}


def assert_ended(running: subprocess.Popen[str], number: signal.Signals) -> None:
    """It ends soon, as signals end commands, with at most a few words, and leaves no process."""
    out, error = running.communicate(timeout=HANGS)
    assert out == ""
    assert LAST_WORDS.fullmatch(error), error
    # Until the command can handle them, and where Python itself insists, signals end the process by themselves.
    assert running.returncode in (128 + number, -number, -signal.SIGINT)
    wait_until(lambda: members(running.pid) == [])


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c(tmp_path: Path, moment: str) -> None:
    with started(*DEMO, folder=tmp_path) as running:
        wait_until(lambda: MOMENTS[moment](running.pid, tmp_path))
        os.killpg(running.pid, signal.SIGINT)  # a terminal sends it to every process of the group
        assert_ended(running, signal.SIGINT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_sigterm_where_sigint_is_ignored(tmp_path: Path, moment: str) -> None:
    with started(*DEMO, folder=tmp_path, ignoring=[signal.SIGINT]) as running:
        wait_until(lambda: MOMENTS[moment](running.pid, tmp_path))
        running.terminate()  # the command alone: it ends its workers
        assert_ended(running, signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


# Ctrl-C at the n-th import after our first one, and at the n-th step of what calls the command.
AT_IMPORTS = """
import os, signal, sys
counted = -1
def count(event, arguments):
    global counted
    if event == "import" and (counted >= 0 or arguments[0] == "votewise._start"):
        counted += 1
        if counted == {n} + 1:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(count)
"""
AT_STEPS = """
import os, signal, sys
sys.argv = ["votewise"]
from votewise.cli import main
counted = 0
def count(frame, event, _):
    global counted
    ours = frame.f_code.co_filename == main.__file__ and frame.f_code.co_name not in ("stop", "forget", "raise_again")
    if ours and event == "line":
        counted += 1
        if counted in {at}:
            os.kill(os.getpid(), signal.SIGINT)
    return count if ours else None
sys.settrace(count)
"""
AS_COMMAND = """
sys.argv = ["votewise", "--version"]
from votewise.cli.main import run
run()
"""


def interrupted(*scripts: str) -> set[tuple[int, str]]:
    """How processes end that interrupt themselves: their codes, and what they print on stderr."""
    with ExitStack() as stack:
        running = [stack.enter_context(started("-c", script + AS_COMMAND, folder=Path.cwd())) for script in scripts]
        errors = [process.communicate()[1] for process in running]
    return {(process.returncode, error) for process, error in zip(running, errors, strict=True)}


SILENT, TOLD, DONE = (-signal.SIGINT, ""), (130, "votewise: stopped before the end.\n"), (0, "")


def test_ctrl_c_at_any_import() -> None:
    """From the first import of ours on, however long Python takes for it."""
    numbers = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]
    ends = interrupted(*(AT_IMPORTS.format(n=n) for n in numbers))
    assert ends <= {SILENT, TOLD, DONE}
    assert SILENT in ends


def test_ctrl_c_at_any_step_around_the_command() -> None:
    """Also twice, as people press it, so that the second comes while the first is told."""
    once = [AT_STEPS.format(at={n}) for n in range(1, 42, 2)]
    twice = [AT_STEPS.format(at={n, n + more}) for n in (9, 17, 25) for more in (1, 2, 3, 4, 6)]
    ends = interrupted(*once[:12]) | interrupted(*once[12:]) | interrupted(*twice)
    assert ends <= {SILENT, TOLD, DONE}
    assert {SILENT, TOLD} <= ends


def write_inputs(folder: Path) -> None:
    rng = np.random.default_rng(0)
    votes = [f"i{item},p{person},{'ab'[rng.integers(2)]}\n" for item in range(60) for person in range(3)]
    (folder / "votes.csv").write_text("item,annotator,label\n" + "".join(votes), encoding="utf-8")
    (folder / "x.csv").write_text("item,x\n" + "".join(f"i{item},{item % 7}\n" for item in range(60)), encoding="utf-8")


def test_a_comparison_ends_on_sigterm_where_sigint_is_ignored_and_keeps_its_runs(tmp_path: Path) -> None:
    write_inputs(tmp_path)
    store = RecordStore(tmp_path / "runs")
    with started(*COMPARE, "--seeds", "500", folder=tmp_path, ignoring=[signal.SIGINT]) as running:
        wait_until(lambda: len(store.ids()) > 1)
        running.terminate()
        assert_ended(running, signal.SIGTERM)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "votes.csv", "x.csv"]
    assert store.faults() == []
    assert {record.status for record in store.records()} == {"done"}
    assert [path.name for path in store.folder.iterdir() if path.name.startswith(".part")] == []


def test_a_reproduction_ends_on_sigterm_where_sigint_is_ignored(tmp_path: Path, released: Path) -> None:
    tiny = ("reproduce", "same-target", "--suite", "tiny", "--device", "cpu", "--jobs", "2", "--data", str(released))
    with started("-m", "votewise", *tiny, folder=tmp_path, ignoring=[signal.SIGINT]) as running:
        wait_until(lambda: len(workers(running.pid)) == 2)
        running.terminate()
        assert_ended(running, signal.SIGTERM)
    assert RecordStore(tmp_path / "runs").faults() == []


def test_sigint_that_is_ignored_from_the_start_stays_ignored(tmp_path: Path) -> None:
    """As a shell's background jobs expect: Ctrl-C is for the job in the foreground."""
    write_inputs(tmp_path)
    store = RecordStore(tmp_path / "runs")
    with started(*COMPARE, "--seeds", "1", folder=tmp_path, ignoring=[signal.SIGINT]) as running:
        for moment in ("while numpy is imported", "while torch is imported", "while the first worker starts"):
            wait_until(lambda moment=moment: MOMENTS[moment](running.pid, tmp_path))  # type: ignore[misc]
            os.killpg(running.pid, signal.SIGINT)
        wait_until(lambda: len(store.ids()) > 0)
        os.killpg(running.pid, signal.SIGINT)
        _, error = running.communicate(timeout=HANGS)
    assert running.returncode == 0, error
    assert error.endswith("votewise: the report is in report.html; open it in a browser.\n")
    assert len(store.ids()) == 5
