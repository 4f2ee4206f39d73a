"""Files: written whole or not at all, and what to say of those that are not there."""

from __future__ import annotations

import difflib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from votewise._errors import InputError, MissingFileError

_LONGEST_SHOWN = 60


def as_path(path: str | os.PathLike[str]) -> Path:
    """A path, refused if the system cannot even look it up, which would raise errors of its own at any later step."""
    try:
        os.lstat(path)
    except ValueError:
        raise _no_path(path, "has characters that no path has") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise _no_path(path, f"has {len(os.fspath(path)):,} characters") from None
    return Path(path)


def _no_path(path: str | os.PathLike[str], got: str) -> InputError:
    text = os.fspath(path)
    shown = text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
    return InputError("a path must be one that the system can look up", f"{shown!r} {got}", "Check the path")


def cannot_find(path: Path) -> MissingFileError:
    """The error for a file that is not there, with a similar name in its folder if there is one."""
    there: list[str] = []
    with suppress(OSError):
        there = [entry.name for entry in path.parent.iterdir()]
    near = difflib.get_close_matches(path.name, there, n=1, cutoff=0.8)  # an equal suffix alone is no likeness
    return MissingFileError(str(path), str(path.with_name(near[0])) if near else None)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside `path`; rename it into place only if the block succeeds.

    So neither a full disk nor a killed process leaves half a file under the final name. A path that
    cannot be written is refused on entry, before any work is done.
    """
    target = as_path(path)
    if target.is_dir():
        raise InputError("the output must be a file", f"{str(target)!r} is a folder", "Name a file inside it")
    if not target.parent.is_dir():
        raise InputError(
            "the output folder must exist", f"{str(target.parent)!r} does not", "Create it, or write elsewhere"
        )
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.touch()
        yield partial
        with partial.open("rb+") as written:
            os.fsync(written.fileno())
        partial.replace(target)
    except OSError as error:
        if error.filename in (None, str(partial)):  # name the file that was asked for, not the temporary one
            error.filename = str(target)
        raise
    finally:
        with suppress(FileNotFoundError):
            partial.unlink()
