"""The file of a report: reserved before the work, written after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from votewise._errors import InputError, MissingExtraError, VotewiseError
from votewise.cli import options

if TYPE_CHECKING:
    from votewise.report import Content


_SUFFIXES = (".html", ".htm")


@dataclass
class ReportFile:
    """A report on its way to disk.

    Attributes:
        path: its place.
        partial: where it is written first.
        begun: whether rendering began; an earlier failure is not the report's.
        refused: why it could not be written.
    """

    path: Path
    partial: Path
    begun: bool = False
    refused: Exception | None = None

    def write(self, content: Content) -> None:
        """Render a report and write it."""
        from votewise.report import render

        self.begun = True
        self.partial.write_text(render(content), encoding="utf-8")

    @property
    def written(self) -> str | None:
        """Its path, if it was written."""
        return None if self.refused else str(self.path)

    def announce(self, quiet: bool) -> None:
        """Say where the report is; raise an error if it was not written."""
        if self.refused is not None:
            reason = getattr(self.refused, "strerror", None) or str(self.refused)
            raise VotewiseError(f"the report {str(self.path)!r} was not written: {reason.removesuffix('.')}.")
        options.note(f"the report is in {self.path}; open it in a browser.", quiet)


@contextmanager
def report_file(path: Path) -> Iterator[ReportFile]:
    """Reserve the place of a report; if it cannot be written after the work, `announce` raises that error.

    Args:
        path: its place. A path that cannot be written fails immediately.
    """
    from votewise._files import whole_file

    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"the report must end in {' or '.join(_SUFFIXES)}", f"got {str(path)!r}", "Rename it")
    report = ReportFile(path, path)
    try:
        with whole_file(path) as report.partial:
            yield report
    except (OSError, MissingExtraError) as error:
        if not report.begun:
            raise
        report.refused = error
