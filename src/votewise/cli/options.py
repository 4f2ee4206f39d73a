"""Options that several commands share, and printing."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from votewise.votes import Votes

VotesFile = Annotated[
    Path, typer.Argument(metavar="VOTES", help="Votes: .csv .tsv .parquet .jsonl .npy", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Form = Annotated[
    str | None, typer.Option(help="long, wide, counts or probabilities; found out if left out.", show_default=False)
]
Item = Annotated[str | None, typer.Option(help="Item column.", show_default=False)]
Annotator = Annotated[str | None, typer.Option(help="Annotator column of a long table.", show_default=False)]
Label = Annotated[str | None, typer.Option(help="Label column of a long table.", show_default=False)]
Classes = Annotated[str | None, typer.Option(help="All classes in order, separated by commas.", show_default=False)]
Duplicates = Annotated[str, typer.Option(help="A second vote of an annotator on an item: error, last or all.")]
Missing = Annotated[str, typer.Option(help="A row without a label: error or drop.")]
Empty = Annotated[str, typer.Option(help="An item without votes: error or drop.")]


def load_votes(path: Path, classes: str | None, **reading: str | None) -> Votes:
    """Read the votes a command was given."""
    from votewise.votes import read_votes

    names = None if classes is None else [name.strip() for name in classes.split(",")]
    return read_votes(path, classes=names, **reading)  # type: ignore[arg-type]


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that JSON cannot write (NaN, infinity) as null."""
    typer.echo(json.dumps(_plain(value)))


def note(message: str, quiet: bool) -> None:
    """Tell the user something beside the result, on stderr."""
    if not quiet:
        typer.echo(f"votewise: {message}", err=True)


def console() -> Console:
    """Where tables for people are printed; not wrapped where it is no terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """A progress display on stderr that shows itself only on a terminal."""
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
