"""A folder of run records, each in a folder named by the run's id.

Whatever happens to a writer, a record is either complete or absent:

- A record is written into `.part-<id>` next to its place, made durable, and renamed into place, which is atomic.
- A folder cannot be renamed over another, so replacing a record takes two steps: the old one is renamed to `.old-<id>`,
  then the new one into place. Readers look in both, so if a writer is killed in between, the old record stays valid and
  the next writer puts it back. The old one is deleted only once the new one is durable.
- The record of a finished run is replaced only if the caller asks for it. A damaged one is kept aside as
  `.corrupt-<id>-<number>`.
- Writers exclude each other with a lock that the system drops when a process ends, however it ends. The holder knows
  that every folder named `.part-<id>` or `.old-<id>` was left by a dead process.
- Names that the store does not make are never touched. A file or link under one that it does make is not its own
  either: it is kept aside as a damaged record is.
- Readers take no lock and write nothing. A reader that meets a record while it is replaced reads it again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from votewise._checks import check_kind, first_few
from votewise._errors import InputError
from votewise._files import as_path
from votewise.records import _folder
from votewise.records._folder import DamagedRecordError, FileMark, FileWriter
from votewise.records.record import RunRecord, RunSummary, record_differences, records_agree

_ID = re.compile("[0-9a-f]{32}")
_PART, _OLD, _CORRUPT, _LOCK = ".part-", ".old-", ".corrupt-", ".lock"

# What a writer that was killed may have left.
_LEFT = re.compile(f"({re.escape(_PART)}|{re.escape(_OLD)})({_ID.pattern})")

_STEPS_OF_REPLACING = 2  # renaming the old record and deleting it, each of which can disturb a reader

_NO_FILES: Mapping[str, FileWriter] = MappingProxyType({})

Read = TypeVar("Read")


@dataclass(frozen=True)
class Fault:
    """A record that cannot be read, and why."""

    run_id: str
    reason: str


class RecordStore:
    """The records in one folder. Any number of processes may read and write at once (writing needs a POSIX system)."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Name the folder; the first record written creates it."""
        self.folder = as_path(folder)
        if os.path.lexists(self.folder) and not self.folder.is_dir():
            got = "it is a file" if self.folder.exists() else "it is a link to nothing"
            raise InputError(f"{str(self.folder)!r} must be a folder for records", got, "Name another")

    def ids(self) -> list[str]:
        """The ids of all records, readable or not, sorted."""
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        names = {path.name.removeprefix(_OLD) for path in paths}
        return sorted(name for name in names if _ID.fullmatch(name))

    def has(self, run_id: str) -> bool:
        """Whether a record is there and undamaged; every byte is checked, of attached files only the size."""
        return self._read_if_whole(run_id) is not None

    def read(self, run_id: str) -> RunRecord:
        """A record, every byte checked."""
        return self._steadily(run_id, lambda folder: _read_stored_record(folder, run_id))

    def read_summary(self, run_id: str) -> RunSummary:
        """A record without its arrays. Every byte of record.json is checked, and the sizes of the other files."""
        return self._steadily(run_id, lambda folder: _read_stored_summary(folder, run_id)[0])

    def attachment(self, run_id: str, name: str) -> Path:
        """The path of a file attached to a record, every byte checked."""
        return self._steadily(
            run_id,
            lambda folder: _folder.checked_attachment(folder, name, _read_stored_summary(folder, run_id)[1]),
        )

    def attached(self, run_id: str) -> tuple[str, ...]:
        """The names of the files attached to a record."""
        return self._steadily(run_id, lambda folder: _folder.attachment_names(_read_stored_summary(folder, run_id)[1]))

    def detach(self, run_id: str) -> None:
        """Delete the files attached to a record."""
        if self.attached(run_id):
            self.write(self.read(run_id), replace=True)

    def records(self) -> Iterator[RunRecord]:
        """All readable records, in the order of their ids."""
        return (found for found in self._each(self.read) if isinstance(found, RunRecord))

    def faults(self) -> list[Fault]:
        """All records that cannot be read, arrays included."""
        return [found for found in self._each(self.read) if isinstance(found, Fault)]

    def read_all(self) -> tuple[list[RunRecord], list[Fault]]:
        """All records, and those that cannot be read."""
        found = list(self._each(self.read))
        return [one for one in found if isinstance(one, RunRecord)], [one for one in found if isinstance(one, Fault)]

    def survey(self) -> tuple[list[RunSummary], list[Fault]]:
        """All records without their arrays, and those that cannot be read even so."""
        found = list(self._each(self.read_summary))
        return [one for one in found if isinstance(one, RunSummary)], [one for one in found if isinstance(one, Fault)]

    def write(
        self,
        record: RunRecord,
        files: Mapping[str, FileWriter] = _NO_FILES,
        *,
        replace: bool = False,
        compressed: bool = False,
    ) -> None:
        """Add a record, completely or not at all.

        A finished run that is there with the same result is left as it is, also if the new one failed; a different
        result under the same id is an error. A failed run is replaced by any later one.

        Args:
            record: what to write.
            files: files to attach: name to a function that writes the file to the path it is given.
            replace: whether to replace a record that is there, whatever it holds.
            compressed: whether to deflate the arrays, which takes time and saves little unless many are alike.
        """
        check_kind("record", record, RunRecord, "Build a RunRecord")
        _folder.check_attachment_names(files)
        with self._as_only_writer():
            self._write(record, files, replace=replace, compressed=compressed)

    def write_next(self, make: Callable[[], RunRecord | None], *, compressed: bool = False) -> RunRecord | None:
        """Add the record that a function makes of those that are there; no other writer can come in between.

        Args:
            make: reads the store and returns the record to add, or None for none; it may not write.
            compressed: whether to deflate the arrays.

        Returns:
            The record.
        """
        with self._as_only_writer():
            record = make()
            if record is not None:
                self._write(record, _NO_FILES, compressed=compressed)
        return record

    def _write(
        self, record: RunRecord, files: Mapping[str, FileWriter], *, replace: bool = False, compressed: bool = False
    ) -> None:
        known = self._read_if_whole(record.run_id)
        if known is not None and not replace and _record_stands(known, record, self.folder):
            return
        part = self.folder / f"{_PART}{record.run_id}"
        try:
            part.mkdir()
            _folder.write_folder(part, record, files, compressed=compressed)
            self._move_into_place(part, record.run_id, was_whole=known is not None)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _move_into_place(self, part: Path, run_id: str, was_whole: bool) -> None:
        place, old = self.folder / run_id, self.folder / f"{_OLD}{run_id}"
        if was_whole and _is_record_folder(place):
            place.rename(old)
        elif os.path.lexists(place):
            self._keep_aside(place, run_id)
        part.rename(place)
        _folder.sync_folder(self.folder)
        shutil.rmtree(old, ignore_errors=True)

    def _keep_aside(self, path: Path, run_id: str) -> None:
        names = (self.folder / f"{_CORRUPT}{run_id}-{number}" for number in count(1))
        path.rename(next(name for name in names if not os.path.lexists(name)))

    @contextmanager
    def _as_only_writer(self) -> Iterator[None]:
        """Hold the lock of the store, and first clean up after a killed writer."""
        import fcntl  # here, since Windows does not have it but can read records

        self.folder.mkdir(parents=True, exist_ok=True)
        lock_path = self.folder / _LOCK
        if os.path.lexists(lock_path) and not (lock_path.is_file() and not lock_path.is_symlink()):
            raise InputError(
                f"{str(lock_path)!r} must be a file", "it is a folder, a link or a pipe", "Move it out of the store"
            )
        with lock_path.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._recover()
            yield

    def _recover(self) -> None:
        for path in sorted(self.folder.iterdir()):
            left = _LEFT.fullmatch(path.name)
            if left is None:
                continue
            step, run_id = left.groups()
            place = self.folder / run_id
            if not _is_record_folder(path):
                self._keep_aside(path, run_id)
            elif step == _PART or os.path.lexists(place):
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.rename(place)

    def _find(self, run_id: str) -> Path | None:
        """The folder of a record, even while it is being replaced."""
        if not _ID.fullmatch(str(run_id)):
            return None
        place, old = self.folder / run_id, self.folder / f"{_OLD}{run_id}"
        # The place is tried again, since the new record may arrive between the two checks.
        return next((path for path in (place, old, place) if path.exists()), None)

    def _locate(self, run_id: str) -> Path:
        folder = self._find(run_id)
        if folder is None:
            raise InputError(
                f"the run must be in {str(self.folder)!r}", f"no record there has the id {run_id!r}", "Check the id"
            )
        return folder

    def _steadily(self, run_id: str, read: Callable[[Path], Read]) -> Read:
        """Read from the folder of a record, again if it seems damaged, since it may just have been replaced."""
        for _ in range(_STEPS_OF_REPLACING):
            with suppress(DamagedRecordError):
                return read(self._locate(run_id))
        return read(self._locate(run_id))

    def _read_if_whole(self, run_id: str) -> RunRecord | None:
        try:
            return None if self._find(run_id) is None else self.read(run_id)
        except DamagedRecordError:
            return None

    def _each(self, read: Callable[[str], Read]) -> Iterator[Read | Fault]:
        for run_id in self.ids():
            try:
                yield read(run_id)
            except (InputError, OSError) as error:
                yield Fault(run_id, str(error))


def _is_record_folder(path: Path) -> bool:
    """Whether a path is a folder itself, not a link to one."""
    return path.is_dir() and not path.is_symlink()


def _read_stored_summary(folder: Path, run_id: str) -> tuple[RunSummary, dict[str, FileMark]]:
    summary, marks = _folder.read_summary(folder)
    if summary.run_id != run_id:
        raise DamagedRecordError(folder, f"it holds the run {summary.run_id}")
    return summary, marks


def _read_stored_record(folder: Path, run_id: str) -> RunRecord:
    summary, marks = _read_stored_summary(folder, run_id)
    arrays = _folder.read_arrays(folder, marks)
    try:
        return RunRecord(**vars(summary), arrays=arrays)
    except InputError as error:
        raise DamagedRecordError(folder, "arrays.npz does not hold arrays of a record") from error


def _record_stands(known: RunRecord, record: RunRecord, folder: Path) -> bool:
    """Whether the record that is there makes writing another needless."""
    if known.status == "failed":
        return records_agree(known, record)
    changed = record_differences(known, record) if record.status == "done" else []
    if changed:
        raise InputError(
            f"a run done twice must give the same result as in {str(folder / known.run_id)!r}",
            f"{first_few(changed)} differ",
            "Something outside the config affects the result; find it, or delete that folder",
        )
    return True


def check_record_folder(folder: Path) -> None:
    """Refuse a folder of runs that is not there."""
    if not folder.is_dir():
        fault = "is a file" if folder.exists() else "does not exist"
        raise InputError("RUNS must be a folder of recorded runs", f"{str(folder)!r} {fault}", "Check the path")
