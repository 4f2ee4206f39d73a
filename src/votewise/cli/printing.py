"""Printing: the one place through which commands write to a terminal, and progress bars."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from votewise._text import printable

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.progress import Progress

    from votewise.scoring import Scores


def print_json(value: Any) -> None:
    """Print a value as JSON; numbers that JSON cannot write (NaN, infinity) as null."""
    # JSON escapes all characters beyond ASCII, and of those that terminals act on all but one.
    say(json.dumps(_printable_as_json(value)).replace("\x7f", "\\u007f"))


def print_note(message: str, quiet: bool) -> None:
    """Print a note on stderr, apart from the result."""
    if not quiet:
        say(f"votewise: {message}", error=True)


def say(text: str = "", *, error: bool = False, is_safe: bool = False) -> None:
    """Print a line, without what a terminal would act on. All that commands print passes here or through a `Screen`.

    Args:
        text: what to print; names and messages in it may come from any file.
        error: whether to print it on stderr.
        is_safe: whether the text has colours of our own, and nothing else that a terminal would act on.
    """
    typer.echo(text if is_safe else printable(text), err=error)


def print_encoder_note(quiet: bool) -> None:
    """Say what the encoder that $VOTEWISE_ENCODER names would buy; nothing if it names none."""
    if place := os.environ.get("VOTEWISE_ENCODER"):
        model = shlex.quote(f"encoder:{place}")
        print_note(
            "an encoder is at hand: its features usually predict votes on texts or images far better than a network "
            f"that starts from nothing. To compare deliveries with it: --model {model}",
            quiet,
        )


def console() -> Console:
    """The console for tables; 120 columns wide if stdout is not a terminal."""
    from votewise.cli.screen import Screen

    return Screen(highlight=False, width=None if sys.stdout.isatty() else 120)


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, names: Collection[str], words: Collection[str] = ()
) -> None:
    """Print a table without lines. On a narrow terminal, numbers and words are wrapped, but names stay whole.

    Args:
        header: names of the columns.
        rows: one cell for each column.
        names: columns that say what a row is.
        words: columns of other text; the rest hold numbers, aligned on the right.
    """
    from rich.markup import escape
    from rich.table import Table

    screen, rows = console(), list(rows)
    width = sum(max(map(len, column)) + 2 for column in zip(header, *rows, strict=True)) - 2
    padding = (0, 1) if width <= screen.width else (0, 1, 0, 0)
    table = Table(box=None, pad_edge=False, padding=padding, header_style="bold")
    for name in header:
        justify: JustifyMethod = "left" if name in names or name in words else "right"
        table.add_column(escape(name), justify=justify, no_wrap=name in names)
    for row in rows:
        table.add_row(*map(escape, row))
    screen.print(table)


def print_grid(rows: Iterable[Sequence[str]], *, gap: int = 2) -> None:
    """Print rows without a header, `gap` spaces between cells; a long cell wraps under itself."""
    from rich.table import Table

    grid = Table.grid(padding=(0, gap))
    for row in rows:
        grid.add_row(*row)
    console().print(grid)


def print_scores(scores: Scores, thing: str, names: Iterable[str] | None = None, *, true_labels: bool) -> None:
    """Print scores with their intervals and what they mean.

    Args:
        scores: every metric of some predictions.
        thing: what was scored, in the singular.
        names: metrics to show, by name; the most important ones, with what chance alone would give, if left out.
        true_labels: whether scores against hard labels are against true ones, rather than the majority's.
    """
    from votewise._text import counted
    from votewise.metrics import METRICS, headlines

    rows = []
    for name in headlines() if names is None else names:
        metric, interval = METRICS[name], scores.metrics[name]
        value = "undefined" if math.isnan(interval.value) else f"{interval.value:.4f}"
        between = "–" if math.isnan(interval.low) else f"{interval.low:.4f} to {interval.high:.4f}"
        meaning = f"{metric.meaning}, {metric.unit}" if metric.unit else metric.meaning
        rows.append((metric.title_for(true_labels=true_labels), value, between, meaning))
    items = counted(scores.items, thing)
    print_table((items, "value", "95 % interval", ""), rows, names=(items,), words=("",))


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Progress]:
    """A progress display on stderr, shown only on a terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from votewise.cli.screen import Screen

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    silent = quiet or not sys.stderr.isatty()
    with Progress(*columns, console=Screen(stderr=True), disable=silent, speed_estimate_period=300) as display:
        yield display


def _printable_as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _printable_as_json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_printable_as_json(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
