"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from votewise._errors import InputError


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file beside `path`; rename it into place only if the block succeeds.

    So neither a full disk nor a killed process leaves half a file under the final name. A path that
    cannot be written is refused on entry, before any work is done.
    """
    target = Path(path)
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
