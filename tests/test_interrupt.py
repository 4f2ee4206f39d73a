"""Ctrl-C in the middle of the demo: a quick end, no half file, no process left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.parametrize("delay", [1.0, 2.2, 5.0])
def test_interrupted_demo(tmp_path: Path, delay: float) -> None:
    script = [sys.executable, "-m", "votewise", "demo", "--seeds", "9", "-o", "report.html"]
    running = subprocess.Popen(
        script, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(delay)
    os.killpg(running.pid, signal.SIGINT)  # a terminal sends it to every process of the group
    out, err = running.communicate(timeout=20)
    assert running.returncode not in (0, 2)
    assert out == ""
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []
    assert gone(running.pid, within=10)


def gone(group: int, within: float) -> bool:
    """Whether all processes of the group end within some seconds."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
