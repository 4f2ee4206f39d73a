"""Options that several commands share, and printing."""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from votewise._errors import InputError, MissingExtraError
from votewise.votes import FORMATS, Votes, read_votes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from votewise.records import Fault, RunSummary


def _option(text: str) -> Any:
    return typer.Option(help=text, show_default=False)


VotesLoader = Callable[[], Votes]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
Runs = Annotated[Path, typer.Argument(metavar="RUNS", help="Folder of recorded runs.", show_default=False)]

_VOTES = Annotated[
    Path, typer.Argument(metavar="VOTES", help="Votes: .csv .tsv .parquet .jsonl .json .npy", show_default=False)
]

# How a table of votes is to be read: the same options, in the same words, for every command that reads one.
_READING: dict[str, tuple[Any, str | None]] = {
    "form": (Annotated[str | None, _option("long, wide, counts or probabilities; found out if left out.")], None),
    "format": (Annotated[str | None, _option(f"Export of an annotation tool: {', '.join(FORMATS)}.")], None),
    "question": (Annotated[str | None, _option("Question of an export whose answers are votes.")], None),
    "item": (Annotated[str | None, _option("Item column, or field of an export.")], None),
    "annotator": (Annotated[str | None, _option("Annotator column of a long table.")], None),
    "label": (Annotated[str | None, _option("Label column of a long table.")], None),
    "classes": (Annotated[str | None, _option("All classes in order, separated by commas.")], None),
    "duplicates": (
        Annotated[
            str | None,
            _option("A second vote of an annotator on an item: error (in tables), last (in exports) or all."),
        ],
        None,
    ),
    "several": (
        Annotated[str, typer.Option(help="An answer of an export with several classes: error, drop or each.")],
        "error",
    ),
    "missing": (Annotated[str, typer.Option(help="A row without a label: error or drop.")], "error"),
    "empty": (Annotated[str, typer.Option(help="An item without votes: error or drop.")], "error"),
}


def reads_votes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the argument VOTES and the options for reading it.

    The command is called with a function that reads them, so that it can refuse its other options first. One that has
    a parameter `item` or `votes_file` itself is told the item column or the path too.
    """
    own = dict(list(inspect.signature(command, eval_str=True).parameters.items())[1:])
    passed_on = {name for name in ("item", "votes_file") if own.pop(name, None) is not None}

    def run(votes: Path, **given: Any) -> None:
        reading = {name: given.pop(name) for name in _READING}
        told = {"item": reading["item"], "votes_file": votes}
        given |= {name: told[name] for name in passed_on}
        if reading["classes"] is not None:
            reading["classes"] = [name.strip() for name in reading["classes"].split(",")]
        command(partial(_load, votes, reading, quiet=given["quiet"]), **given)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter("votes", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=_VOTES),
        *(parameter.replace(kind=keyword) for parameter in own.values()),
        *(inspect.Parameter(name, keyword, default=least, annotation=kind) for name, (kind, least) in _READING.items()),
    ]
    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _load(path: Path, reading: dict[str, Any], *, quiet: bool) -> Votes:
    """Read votes, and say what reading left out."""
    votes = read_votes(path, **reading)
    for told in votes.notes:
        note(f"{told}.", quiet)
    return votes


def survey(folder: Path) -> tuple[list[RunSummary], list[Fault]]:
    """The runs in a folder, and the records that cannot be read."""
    from votewise.records import RecordStore

    if not folder.is_dir():
        fault = "is a file" if folder.exists() else "does not exist"
        raise InputError("RUNS must be a folder of recorded runs", f"{str(folder)!r} {fault}", "Check the path")
    return RecordStore(folder).survey()


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that JSON cannot write (NaN, infinity) as null."""
    typer.echo(json.dumps(_plain(value)))


def require_torch(purpose: str) -> None:
    """Say what to install where torch is missing."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError(purpose, "torch", "demo") from None


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
