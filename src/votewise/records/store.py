"""A folder of run records, each in a folder named by the run's id.

Whatever happens to a writer, a record is there whole or not at all:

- A record is written into `.part-<id>` beside its place, made durable, and renamed into place, which is atomic.
- A folder cannot be renamed over another. A record that replaces another therefore takes two steps: the old one is
  renamed to `.old-<id>`, the new one into place. Readers look in both, so a writer killed in between leaves the old
  record in force, and the next writer puts it back. The old one is deleted only when the new one is durable.
- The record of a finished run is replaced only where the caller says so. A damaged one is kept aside as
  `.corrupt-<id>-<number>`.
- Writers exclude each other with a lock that the system drops when a process ends, however it ends. Who holds it knows
  that every `.part-` and `.old-` was left by a dead process.
- Readers take no lock and write nothing. One that meets a record just as it is replaced reads it again.
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
from votewise.records import _folder
from votewise.records._folder import DamagedRecordError, FileMark, FileWriter
from votewise.records.record import RunRecord, RunSummary, differences, same_result

_ID = re.compile("[0-9a-f]{32}")
_PART, _OLD, _CORRUPT, _LOCK = ".part-", ".old-", ".corrupt-", ".lock"

_STEPS_OF_REPLACING = 2  # renaming the old record, deleting it: what may happen to a reader on its way

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
        """Name the folder; it is created by the first record written."""
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{str(self.folder)!r} must be a folder for records", "it is a file", "Name another")

    def ids(self) -> list[str]:
        """The ids of all records, readable or not, sorted."""
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        names = {path.name.removeprefix(_OLD) for path in paths}
        return sorted(name for name in names if _ID.fullmatch(name))

    def has(self, run_id: str) -> bool:
        """Whether a record is there and whole; every byte of it is checked, attached files by their size."""
        return self._read_if_whole(run_id) is not None

    def read(self, run_id: str) -> RunRecord:
        """A record, every byte of it checked."""
        return self._steadily(run_id, lambda folder: _read_record(folder, run_id))

    def read_summary(self, run_id: str) -> RunSummary:
        """A record without its arrays. Every byte of record.json is checked, and the sizes of the other files."""
        return self._steadily(run_id, lambda folder: _read_summary(folder, run_id)[0])

    def attachment(self, run_id: str, name: str) -> Path:
        """The path of a file attached to a record, every byte of it checked."""
        return self._steadily(
            run_id, lambda folder: _folder.checked_file(folder, name, _read_summary(folder, run_id)[1])
        )

    def attached(self, run_id: str) -> tuple[str, ...]:
        """The names of the files attached to a record."""
        return self._steadily(run_id, lambda folder: _folder.attached_names(_read_summary(folder, run_id)[1]))

    def detach(self, run_id: str) -> None:
        """Keep a record without the files attached to it."""
        if self.attached(run_id):
            self.write(self.read(run_id), replace=True)

    def records(self) -> Iterator[RunRecord]:
        """All records that can be read, in the order of their ids."""
        return (found for found in self._each(self.read) if isinstance(found, RunRecord))

    def faults(self) -> list[Fault]:
        """All records that cannot be read."""
        return [found for found in self._each(self.read) if isinstance(found, Fault)]

    def survey(self) -> tuple[list[RunSummary], list[Fault]]:
        """All records without their arrays, and those of which not even so much can be read."""
        found = list(self._each(self.read_summary))
        return [one for one in found if isinstance(one, RunSummary)], [one for one in found if isinstance(one, Fault)]

    def write(self, record: RunRecord, files: Mapping[str, FileWriter] = _NO_FILES, *, replace: bool = False) -> None:
        """Add a record, whole or not at all.

        A finished run that is there already with the same result is kept as it is, also if the new one failed;
        another result under the same id is an error. A failed run gives way to any later one.

        Args:
            record: what to write.
            files: by name, functions that write a file to attach to the path they are given.
            replace: whether the record takes the place of one that is there, whatever that says.
        """
        check_kind("record", record, RunRecord, "Build a RunRecord")
        _folder.check_file_names(files)
        with self._as_only_writer():
            known = self._read_if_whole(record.run_id)
            if known is not None and not replace and _stands(known, record, self.folder):
                return
            part = self.folder / f"{_PART}{record.run_id}"
            try:
                part.mkdir()
                _folder.write_folder(part, record, files)
                self._move_into_place(part, record.run_id, was_whole=known is not None)
            finally:
                shutil.rmtree(part, ignore_errors=True)

    def _move_into_place(self, part: Path, run_id: str, was_whole: bool) -> None:
        place, old = self.folder / run_id, self.folder / f"{_OLD}{run_id}"
        if place.exists():
            place.rename(old if was_whole else self._unused_name(f"{_CORRUPT}{run_id}"))
        part.rename(place)
        _folder.sync_folder(self.folder)
        shutil.rmtree(old, ignore_errors=True)

    def _unused_name(self, stem: str) -> Path:
        return next(path for number in count(1) if not (path := self.folder / f"{stem}-{number}").exists())

    @contextmanager
    def _as_only_writer(self) -> Iterator[None]:
        """Hold the lock of the store, and first set right what a killed writer left."""
        import fcntl  # here, since Windows, which can read records, does not have it

        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / _LOCK).open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._recover()
            yield

    def _recover(self) -> None:
        for part in self.folder.glob(f"{_PART}*"):
            shutil.rmtree(part, ignore_errors=True)
        for old in self.folder.glob(f"{_OLD}*"):
            place = self.folder / old.name.removeprefix(_OLD)
            if place.exists():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.rename(place)

    def _find(self, run_id: str) -> Path | None:
        """The folder of a record, also while it is being replaced."""
        if not _ID.fullmatch(str(run_id)):
            return None
        place, old = self.folder / run_id, self.folder / f"{_OLD}{run_id}"
        # The place is tried again, because the new record may come between the two looks.
        return next((path for path in (place, old, place) if path.exists()), None)

    def _locate(self, run_id: str) -> Path:
        folder = self._find(run_id)
        if folder is None:
            raise InputError(
                f"the run must be in {str(self.folder)!r}", f"no record there has the id {run_id!r}", "Check the id"
            )
        return folder

    def _steadily(self, run_id: str, read: Callable[[Path], Read]) -> Read:
        """Read from the folder of a record; again if it seems damaged, since it may just have been replaced."""
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


def _read_summary(folder: Path, run_id: str) -> tuple[RunSummary, dict[str, FileMark]]:
    summary, marks = _folder.read_summary(folder)
    if summary.run_id != run_id:
        raise DamagedRecordError(folder, f"it holds the run {summary.run_id}")
    return summary, marks


def _read_record(folder: Path, run_id: str) -> RunRecord:
    summary, marks = _read_summary(folder, run_id)
    arrays = _folder.read_arrays(folder, marks)
    try:
        return RunRecord(**vars(summary), arrays=arrays)
    except InputError as error:
        raise DamagedRecordError(folder, "arrays.npz does not hold arrays of a record") from error


def _stands(known: RunRecord, record: RunRecord, folder: Path) -> bool:
    """Whether what is there makes writing a record needless."""
    if known.status == "failed":
        return same_result(known, record)
    changed = differences(known, record) if record.status == "done" else []
    if changed:
        raise InputError(
            f"a run done twice must give the same result as in {str(folder / known.run_id)!r}",
            f"{first_few(changed)} differ",
            "Find out what config does not tell apart, or delete that folder and write again",
        )
    return True
