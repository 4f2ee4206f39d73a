"""Writers that are killed, run out of space, may not write or meet each other: no record is lost or half there."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from limits import HANGS
from votewise._errors import InputError
from votewise.records import RecordStore, RunRecord, record_differences

SMALL = RunRecord(config={"seed": 0}, status="done", arrays={"rows": np.arange(3)})
LARGE = RunRecord(config={"seed": 1}, status="done", arrays={"logits": np.zeros((40_000, 10))})


@pytest.mark.parametrize("how", ["random", "everywhere", "together"])
def test_writers_that_are_killed_or_meet(tmp_path: Path, how: str) -> None:
    script = Path(__file__).with_name("crashing.py")
    out = subprocess.run(
        [sys.executable, script, how, tmp_path / "runs"], capture_output=True, text=True, check=False, timeout=HANGS
    )
    assert (out.returncode, out.stdout, out.stderr) == (0, "", "")


def assert_only_small(store: RecordStore) -> None:
    assert sorted(path.name for path in store.folder.iterdir()) == [".lock", SMALL.run_id]
    assert record_differences(store.read(SMALL.run_id), SMALL) == []


def test_a_full_disk(tiny_disk: Path) -> None:
    store = RecordStore(tiny_disk / "runs")
    store.write(SMALL)
    with pytest.raises(OSError, match="No space left") as error:
        store.write(LARGE)
    assert error.value.errno == errno.ENOSPC
    assert_only_small(store)
    used = tiny_disk / "filler"
    with pytest.raises(OSError, match="No space left"), used.open("wb") as file:
        file.write(bytes(1 << 20))
    with pytest.raises(OSError, match="No space left"):
        store.write(RunRecord(config={"seed": 2}, status="failed", failure="x"))
    assert_only_small(store)


def test_a_file_size_limit(tmp_path: Path) -> None:
    """The same where nothing can be mounted: a process that may not write large files."""
    store = RecordStore(tmp_path / "runs")
    store.write(SMALL)
    script = (
        "import resource, signal, sys; sys.path[:0] = sys.argv[2:]; from test_crashes import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: RecordStore(sys.argv[1]).write(LARGE)\n"
        "except OSError as error: print(error.errno)"
    )
    command = [sys.executable, "-c", script, store.folder, *Path(__file__).parents[:2]]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (out.stdout, out.stderr) == (f"{errno.EFBIG}\n", "")
    assert_only_small(store)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write anywhere, and is nobody here; others are what they are."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_folder_that_may_only_be_read() -> None:
    secret = RunRecord(config={"seed": 3}, status="done")
    with tempfile.TemporaryDirectory() as name:  # not tmp_path, which is for its owner alone
        store = RecordStore(Path(name) / "runs")
        store.write(SMALL)
        store.write(secret)
        (store.folder / secret.run_id / "record.json").chmod(0)
        for folder in (Path(name), store.folder):
            folder.chmod(0o555)
        with as_nobody():
            for other in (store, RecordStore(Path(name) / "others")):
                with pytest.raises(PermissionError):
                    other.write(LARGE)
            with pytest.raises(PermissionError):  # a record that may not be read is not a damaged one
                store.has(secret.run_id)
            assert [record.run_id for record in store.records()] == [SMALL.run_id]
            (fault,) = store.faults()
            assert (fault.run_id, "Permission denied" in fault.reason) == (secret.run_id, True)
        for folder in (Path(name), store.folder):
            folder.chmod(0o755)


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(InputError) as error:
        RecordStore(tmp_path / "runs")
    assert str(error.value) == (
        f"{str(tmp_path / 'runs')!r} must be a folder for records, but it is a file. Name another."
    )
