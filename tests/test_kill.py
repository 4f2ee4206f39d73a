"""Runs that are killed at any moment: nothing finished is lost, nothing half done is seen, and the end is the same."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import killing
from limits import HANGS
from votewise.records import RecordStore

SCRIPT = [sys.executable, Path(__file__).with_name("killing.py")]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="who is left is read from /proc"),
]


def test_a_suite_that_is_killed_at_sixty_random_moments(tmp_path: Path) -> None:
    out = subprocess.run(
        [*SCRIPT, "often", tmp_path / "runs"], capture_output=True, text=True, check=False, timeout=HANGS
    )
    assert (out.returncode, out.stderr) == (0, "")
    told = re.fullmatch(r"60 kills, (\d+) suites taken up again\n", out.stdout)
    assert told
    assert int(told[1]) > 0, "none was killed between its first and its last run"


def test_a_suite_in_fresh_processes_that_is_killed_and_taken_up_again(tmp_path: Path) -> None:
    """Killed when the first run is done, and again when the fifth is."""
    torch.set_num_threads(1)
    store, expected = RecordStore(tmp_path / "runs"), killing.uninterrupted()
    before: set[str] = set()
    for number, there in ((1, 1), (4, 5)):
        killed = subprocess.run([*SCRIPT, "once", store.folder, str(number)], start_new_session=True, check=False)
        assert killed.returncode == -signal.SIGKILL
        after = killing.finished(store, expected)
        assert before | after == after
        assert len(after) == there
        before = after
    assert subprocess.run([*SCRIPT, "once", store.folder], check=False).returncode == 0
    assert killing.finished(store, expected) == set(expected)
