"""Files whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from votewise._files import whole_file


def test_a_file_appears_when_the_block_is_done(tmp_path: Path) -> None:
    target = tmp_path / "table.csv"
    target.write_text("old")
    with whole_file(target) as partial:
        partial.write_text("new")
        assert target.read_text() == "old"
    assert [path.read_text() for path in tmp_path.iterdir()] == ["new"]


def test_nothing_is_left_of_a_block_that_fails(tmp_path: Path) -> None:
    def fail() -> None:
        with whole_file(tmp_path / "table.csv") as partial:
            partial.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_refused_before_the_block() -> None:
    with pytest.raises(OSError, match=r"/proc/table\.csv") as caught, whole_file("/proc/table.csv"):
        pytest.fail("nothing should be done for a file that cannot be written")
    assert caught.value.filename == "/proc/table.csv"


def test_a_full_disk_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"table\.csv") as caught, whole_file(tmp_path / "table.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.filename == str(tmp_path / "table.csv")
    assert list(tmp_path.iterdir()) == []
