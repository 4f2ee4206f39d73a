"""What a piece of work takes: memory beyond what the process held before, and time of its own on a core."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

# Seconds after which a process is taken to hang. Tests wait for events; this ends those whose event never comes.
HANGS = 600

_STATUS = Path("/proc/self/status")


@contextmanager
def at_most(*, megabytes: float, seconds: float = 60) -> Iterator[None]:
    """Fail if the block takes more. Time is that of the processor, which does not depend on the machine's load."""
    if not _STATUS.exists():
        pytest.skip("what a process takes is read from /proc")
    before, began = start_of_peak(), time.process_time()
    yield
    took, used = megabytes_at_peak() - before, time.process_time() - began
    assert took <= megabytes, f"{took:,.0f} MB"
    assert used <= seconds, f"{used:,.1f} s"


def start_of_peak() -> float:
    """Forget the peak of memory so far; the megabytes that the process holds now."""
    Path("/proc/self/clear_refs").write_text("5")
    return _megabytes("VmRSS:")


def megabytes_at_peak() -> float:
    """The megabytes that the process held at the peak."""
    return _megabytes("VmHWM:")


def _megabytes(name: str) -> float:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 1024
