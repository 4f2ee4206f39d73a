"""Files whole or not at all."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from votewise import InputError
from votewise._files import whole_file
from votewise.data import load_cifar10h, open_images
from votewise.records import RecordStore
from votewise.training.checkpoint import load_model, load_state


def open_whole(path: str) -> None:
    with whole_file(path):
        pass


@pytest.mark.parametrize("open_path", [load_cifar10h, open_images, load_model, load_state, RecordStore, open_whole])
@pytest.mark.parametrize(
    ("path", "got"),
    [
        ("é" * 5000, f"{'é' * 60 + '...'!r} has 5,000 characters"),
        (f"{'d/' * 5000}x", f"{'d/' * 30 + '...'!r} has 10,001 characters"),
        ("a\0b", r"'a\x00b' has characters that no path has"),
        ("a\ud800b", r"'a\ud800b' has characters that no path has"),
    ],
    ids=["long", "deep", "zero", "half a character"],
)
def test_paths_that_no_system_can_look_up(open_path: Callable[[str], object], path: str, got: str) -> None:
    with pytest.raises(InputError) as caught:
        open_path(path)
    assert str(caught.value) == f"a path must be one that the system can look up, but {got}. Check the path."


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
