"""`votewise inspect`: what a table of votes holds, and which delivery suits it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.markup import escape

from votewise._overview import overview
from votewise.cli import printing
from votewise.cli.options import Json, Quiet, grouped_options
from votewise.cli.reading_options import ReadingOptions, VotesFile
from votewise.votes import Votes, long_table

_MOST_CLASSES_SHOWN = 12
_LONGEST_BAR = 30


@grouped_options
def inspect_command(
    votes_file: VotesFile,
    reading: ReadingOptions,
    level: Annotated[
        str | None,
        typer.Option(
            help="nominal, or ordinal if the order of classes is a scale; by the classes if omitted.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Describe the votes, and suggest a delivery."""
    votes = reading.load(votes_file, quiet=quiet)
    seen = overview(votes, level=level)
    if as_json:
        plan = None if votes.reading is None else votes.reading.to_dict()
        printing.print_json({**asdict(seen), "reading": plan})
        return
    printing.print_note(f"read as {votes.provenance}.", quiet)
    if votes.reading is not None:
        printing.print_note(f"{votes.reading.sentence} · {_example_votes_in_words(votes)}", quiet)
    printing.print_grid([(f"[bold]{name}[/bold]", text) for name, text in seen.facts().items()])
    screen = printing.console()
    screen.print(f"\n[bold]{len(seen.classes)} classes, mean share of the votes[/bold]")
    shares = sorted(zip(votes.probs.mean(axis=0), seen.classes, strict=True), key=lambda pair: -pair[0])
    unit = shares[0][0] / _LONGEST_BAR
    shown = shares[:_MOST_CLASSES_SHOWN]
    printing.print_grid([(escape(name), f"{share:6.1%}", "█" * round(share / unit)) for share, name in shown])
    if len(shares) > len(shown):
        screen.print(f"and {len(shares) - len(shown)} more")
    screen.print(f"\n[bold]Start with: {seen.advice.method}[/bold]")
    printing.print_grid([(" -", reason) for reason in seen.advice.reasons], gap=1)
    printing.print_encoder_note(quiet)


def _example_votes_in_words(votes: Votes) -> str:
    """The first votes in a few words."""
    rows = long_table(votes).head(3).rows()
    return "first: " + "; ".join(", ".join(map(str, row)) for row in rows)
