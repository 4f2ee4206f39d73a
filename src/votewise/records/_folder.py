"""One record as a folder: record.json, arrays.npz and attached files, every byte covered by a checksum.

record.json is `{"checksum": ..., "record": ...}`: the SHA-256 of the bytes of the record, and the record, which has
the size and SHA-256 of each other file. This envelope is the same in all versions of the schema.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path

import numpy as np

from votewise._checks import first_few
from votewise._errors import InputError
from votewise._json import parse_json
from votewise.records._arrays import decode_arrays, encode_arrays
from votewise.records.record import Array, RunRecord, RunSummary, compact_json

SCHEMA = 1

_RECORD = "record.json"
_ARRAYS = "arrays.npz"
_HEAD = b'{"checksum": "%s",\n"record": '
_TAIL = b"}\n"
_HEAD_LENGTH = len(_HEAD % (b"0" * 64))

_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)

FileWriter = Callable[[Path], None]


class DamagedRecordError(InputError):
    """A record on disk differs from what was written."""

    def __init__(self, folder: Path, got: str) -> None:
        """Name the folder and what is wrong with it."""
        super().__init__(
            f"the record in {str(folder)!r} must be undamaged", got, "Delete the folder and rerun to repeat this run"
        )


@dataclass(frozen=True)
class FileMark:
    """Size and checksum that identify a file."""

    size: int
    sha256: str


def check_attachment_names(names: Mapping[str, FileWriter]) -> None:
    """Refuse names of attached files that are not plain file names, or are reserved."""
    bad = [name for name in names if not _is_file_name(name)]
    if bad:
        raise InputError(
            "names of attached files must be letters, digits, '.', '_' and '-', at most 100, "
            f"start with a letter or digit and be neither {_RECORD} nor {_ARRAYS}",
            f"got {first_few(bad)}",
            "Rename them",
        )


def write_folder(folder: Path, record: RunRecord, files: Mapping[str, FileWriter], *, compressed: bool) -> None:
    """Write a record into an empty folder; once this returns, it survives a loss of power."""
    (folder / _ARRAYS).write_bytes(encode_arrays(record.arrays, compressed=compressed))
    for name, write in files.items():
        write(folder / name)
    marks = {name: _sync_and_mark(folder / name) for name in (_ARRAYS, *files)}
    content = {
        "schema": SCHEMA,
        "config": record.config,
        "status": record.status,
        "failure": record.failure,
        "curves": {
            name: [_record_float_as_json(value) for value in curve.tolist()] for name, curve in record.curves.items()
        },
        "numbers": {name: _record_float_as_json(value) for name, value in record.numbers.items()},
        "environment": record.environment,
        "timing": {name: _record_float_as_json(value) for name, value in record.timing.items()},
        "files": {name: [mark.size, mark.sha256] for name, mark in marks.items()},
    }
    (folder / _RECORD).write_bytes(_sealed_record(compact_json(content)))
    _sync_and_mark(folder / _RECORD)
    sync_folder(folder)


def attachment_names(marks: Mapping[str, FileMark]) -> tuple[str, ...]:
    """The names of the files attached to a record."""
    return tuple(sorted(name for name in marks if name != _ARRAYS))


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a loss of power."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_summary(folder: Path) -> tuple[RunSummary, dict[str, FileMark]]:
    """The content of record.json, and the marks of the other files; only the sizes of those are checked here."""
    envelope = _read_record_file(folder / _RECORD)
    content = envelope[_HEAD_LENGTH : -len(_TAIL)]
    if _sealed_record(content) != envelope:
        raise DamagedRecordError(folder, f"the bytes of {_RECORD} have changed")
    with _damaged_record(folder, f"{_RECORD} does not hold a record"):
        fields = parse_json(content)
        schema = int(fields["schema"])
    if schema > SCHEMA:
        raise InputError(
            f"the record in {str(folder)!r} must have schema version {SCHEMA} or older",
            f"got version {schema}",
            "Read it with a newer votewise",
        )
    with _damaged_record(folder, f"{_RECORD} does not hold a record"):
        curves = {name: np.array([float(value) for value in curve]) for name, curve in fields["curves"].items()}
        summary = RunSummary(
            config=fields["config"],
            status=fields["status"],
            failure=fields["failure"],
            curves=curves,
            numbers={name: float(value) for name, value in fields["numbers"].items()},
            environment=fields["environment"],
            timing={name: float(value) for name, value in fields["timing"].items()},
        )
        marks = {name: FileMark(*mark) for name, mark in fields["files"].items()}
        if _ARRAYS not in marks or not all(_is_file_name(name) for name in marks.keys() - {_ARRAYS}):
            raise ValueError("its files have names that are never written")
        if not all(type(mark.size) is int for mark in marks.values()):
            raise ValueError("its files have sizes that are no numbers")
    for name, mark in marks.items():
        with _missing_is_damage(folder / name):
            if not (folder / name).is_file():
                raise FileNotFoundError
            size = (folder / name).stat().st_size
        if size != mark.size:
            raise DamagedRecordError(folder, f"{name} has {size:,} bytes instead of {mark.size:,}")
    return summary, marks


def read_arrays(folder: Path, marks: Mapping[str, FileMark]) -> dict[str, Array]:
    """The arrays of a record, every byte checked."""
    packed = _read_record_file(folder / _ARRAYS)
    if FileMark(len(packed), sha256(packed).hexdigest()) != marks[_ARRAYS]:
        raise DamagedRecordError(folder, f"the bytes of {_ARRAYS} have changed")
    with _damaged_record(folder, f"{_ARRAYS} does not hold plain arrays"):
        return decode_arrays(packed)


def checked_attachment(folder: Path, name: str, marks: Mapping[str, FileMark]) -> Path:
    """The path of an attached file, every byte checked."""
    attached = sorted(marks.keys() - {_ARRAYS})
    if name not in attached:
        raise InputError(
            f"the record in {str(folder)!r} must have a file {name!r}",
            f"it has {first_few(attached)}" if attached else "no file is attached to it",
            "Check the name",
        )
    with _missing_is_damage(folder / name), (folder / name).open("rb") as file:
        if file_digest(file, "sha256").hexdigest() != marks[name].sha256:
            raise DamagedRecordError(folder, f"the bytes of {name} have changed")
    return folder / name


def _is_file_name(name: object) -> bool:
    return isinstance(name, str) and bool(_FILE_NAME.fullmatch(name)) and name.lower() not in (_RECORD, _ARRAYS)


def _sync_and_mark(path: Path) -> FileMark:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        return FileMark(os.fstat(file.fileno()).st_size, file_digest(file, "sha256").hexdigest())


def _sealed_record(content: bytes) -> bytes:
    return _HEAD % sha256(content).hexdigest().encode() + content + _TAIL


def _record_float_as_json(value: float) -> float | str:
    """JSON has no NaN or infinity; they are written as text, which `float` reads back."""
    return value if math.isfinite(value) else str(value)


def _read_record_file(path: Path) -> bytes:
    with _missing_is_damage(path):
        if not path.is_file():  # reading from a pipe would wait for a writer
            raise FileNotFoundError
        return path.read_bytes()


@contextmanager
def _missing_is_damage(path: Path) -> Iterator[None]:
    """A missing file counts as damage; any other error of the system is raised as it is."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise DamagedRecordError(path.parent, f"{path.name} is missing") from None


@contextmanager
def _damaged_record(folder: Path, what: str) -> Iterator[None]:
    """Any error in parsing bytes whose checksum is right but which votewise did not write."""
    try:
        yield
    except Exception as error:
        raise DamagedRecordError(folder, what) from error
