"""Options that almost every command has, and printing."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from votewise._errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.progress import Progress

    from votewise.records import Fault, RunSummary


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Runs = Annotated[Path, typer.Argument(metavar="RUNS", help="Folder of recorded runs.", show_default=False)]


def survey(folder: Path) -> tuple[list[RunSummary], list[Fault]]:
    """The runs in a folder, and the records that cannot be read."""
    from votewise.records import RecordStore

    check_runs(folder)
    return RecordStore(folder).survey()


def check_runs(folder: Path) -> None:
    """Refuse a folder of runs that is not there."""
    if not folder.is_dir():
        fault = "is a file" if folder.exists() else "does not exist"
        raise InputError("RUNS must be a folder of recorded runs", f"{str(folder)!r} {fault}", "Check the path")


def check_overwrites(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse to write over a file that is read."""
    read = [path for path in inputs if path is not None and path.exists()]
    for output in outputs:
        if output is not None and output.exists() and any(output.samefile(path) for path in read):
            raise InputError(
                "the output must not be one of the inputs", f"{str(output)!r} is read, too", "Write to another file"
            )


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that JSON cannot write (NaN, infinity) as null."""
    typer.echo(json.dumps(_plain(value)))


def require_torch(purpose: str) -> None:
    """Say what to install if torch is missing."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError(purpose, "torch", "demo") from None


def note(message: str, quiet: bool) -> None:
    """Print a note on stderr, apart from the result."""
    if not quiet:
        typer.echo(f"votewise: {message}", err=True)


def console() -> Console:
    """The console for tables; 120 columns wide if stdout is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, names: Collection[str], words: Collection[str] = ()
) -> None:
    """Print a table without lines. On a narrow terminal, numbers and words are wrapped, but names stay whole.

    Args:
        header: of the columns.
        rows: one cell for each column.
        names: columns that say what a row is.
        words: columns of other words; those in neither hold numbers, aligned on the right.
    """
    from rich.markup import escape
    from rich.table import Table

    screen, rows = console(), list(rows)
    width = sum(max(map(len, column)) + 2 for column in zip(header, *rows, strict=True)) - 2
    padding = (0, 1) if width <= screen.width else (0, 1, 0, 0)
    table = Table(box=None, pad_edge=False, padding=padding, header_style="bold")
    for name in header:
        justify: JustifyMethod = "left" if name in names or name in words else "right"
        table.add_column(name, justify=justify, no_wrap=name in names)
    for row in rows:
        table.add_row(*map(escape, row))
    screen.print(table)


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """A progress display on stderr, shown only on a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=quiet or not sys.stderr.isatty()) as display:
        yield display


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
