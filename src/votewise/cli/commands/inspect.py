"""`votewise inspect`: what a table of votes contains, and which delivery suits it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from votewise.cli import options
from votewise.cli.groups import ReadingOptions, VotesFile, grouped_options
from votewise.cli.options import Json, Quiet
from votewise.votes import Votes

if TYPE_CHECKING:
    from rich.table import Table

    from votewise._overview import Overview

_MOST_CLASSES_SHOWN = 12
_BAR = 30


@grouped_options
def inspect(votes_file: VotesFile, reading: ReadingOptions, as_json: Json = False, quiet: Quiet = False) -> None:
    """Describe the votes, and suggest a delivery."""
    from votewise._overview import overview

    votes = reading.load(votes_file, quiet=quiet)
    seen = overview(votes)
    if as_json:
        options.print_json(asdict(seen))
    else:
        options.note(f"read as {votes.provenance}.", quiet)
        _print(votes, seen)


def _print(votes: Votes, seen: Overview) -> None:
    screen = options.console()
    screen.print(_facts(seen))
    screen.print(f"\n[bold]{len(seen.classes)} classes, mean share of the votes[/bold]")
    screen.print(_bars(votes))
    if len(seen.classes) > _MOST_CLASSES_SHOWN:
        screen.print(f"and {len(seen.classes) - _MOST_CLASSES_SHOWN} more")
    screen.print(f"\n[bold]Start with: {seen.advice.method}[/bold]")
    screen.print(_reasons(seen))


def _facts(seen: Overview) -> Table:
    from rich.table import Table

    from votewise.report import counted

    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold")
    facts.add_column()
    facts.add_row("items", f"{seen.items:,}")
    if seen.annotators is not None:
        facts.add_row("annotators", f"{seen.annotators:,}")
    if seen.votes is not None and seen.votes_per_item is not None:
        per = seen.votes_per_item
        spread = f"{per['min']:g} to {per['max']:g} per item, median {per['median']:g}, mean {per['mean']:.2f}"
        facts.add_row("votes", f"{seen.votes:,} ({spread})")
    else:
        facts.add_row("votes", "shares only; their number is unknown")
    facts.add_row("unanimous", f"{seen.unanimous:.1%} of items")
    facts.add_row("tied", counted(seen.ties, "item"))
    facts.add_row("entropy", ", ".join(f"{name} {value:.3f}" for name, value in seen.entropy.items()) + " nats")
    for name, value in (("Fleiss' kappa", seen.fleiss_kappa), ("Krippendorff's alpha", seen.krippendorff_alpha)):
        facts.add_row(name, "undefined" if value is None else f"{value:.3f}")
    if seen.reliability is not None:
        facts.add_row("reliability", f"{seen.reliability:.2f} (of the item entropies; split halves, Spearman-Brown)")
    return facts


def _bars(votes: Votes) -> Table:
    from rich.markup import escape
    from rich.table import Table

    shares = votes.probs.mean(axis=0)
    bars = Table.grid(padding=(0, 2))
    for index in np.argsort(-shares, kind="stable")[:_MOST_CLASSES_SHOWN]:
        bar = "█" * round(_BAR * shares[index] / shares.max())
        bars.add_row(escape(votes.classes[index]), f"{shares[index]:6.1%}", bar)
    return bars


def _reasons(seen: Overview) -> Table:
    from rich.table import Table

    reasons = Table.grid(padding=(0, 1))  # a grid, so that long reasons wrap under themselves
    for reason in seen.advice.reasons:
        reasons.add_row(" -", reason)
    return reasons
