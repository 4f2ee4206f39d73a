"""Runs that are killed at any moment: nothing finished is lost, nothing half done is seen, and the end is the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import killing
from votewise.records import RecordStore

SCRIPT = [sys.executable, Path(__file__).with_name("killing.py")]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="who is left is read from /proc"),
]


def test_a_suite_that_is_killed_at_sixty_random_moments(tmp_path: Path) -> None:
    out = subprocess.run(
        [*SCRIPT, "often", tmp_path / "runs"], capture_output=True, text=True, check=False, timeout=300
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
    for least in (1, 5):
        child = subprocess.Popen([*SCRIPT, "once", store.folder], start_new_session=True)
        end = time.monotonic() + 60
        while len(store.ids()) < least:
            assert time.monotonic() < end
            time.sleep(0.002)
        os.killpg(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        after = killing.finished(store, expected)
        assert before | after == after
        assert least <= len(after) < len(expected)
        before = after
    assert subprocess.run([*SCRIPT, "once", store.folder], check=False).returncode == 0
    assert killing.finished(store, expected) == set(expected)
