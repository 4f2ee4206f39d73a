"""`votewise score`: a model's predictions against the votes."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise.cli import options
from votewise.cli.options import Json, Quiet, VotesLoader, reads_votes

if TYPE_CHECKING:
    from votewise.scoring import Scores

_MEANING = {
    "soft_nll": "cross-entropy with the votes, nats",
    "kl": "divergence from the votes, nats",
    "soft_brier": "squared distance to the votes",
    "accuracy": "top class is the label",
    "ece": "calibration error, equal-mass bins",
    "ece_floor": "what a calibrated model would show",
    "smooth_ece": "calibration error without bins",
    "entropy_correlation": "doubt where people disagree",
    "jsd": "Jensen-Shannon divergence, nats",
    "manhattan": "sum of absolute differences",
    "soft_accuracy": "overlap with the votes",
    "brier_reliability": "stated against real shares",
    "brier_resolution": "how far predictions tell items apart",
    "brier_uncertainty": "how different items are",
}


@reads_votes
def score(
    load_votes: VotesLoader,
    predictions: Annotated[
        Path, typer.Argument(metavar="PREDICTIONS", help="Item id and a column a class, or .npy", show_default=False)
    ],
    labels: Annotated[
        Path | None,
        typer.Option(help="True labels for accuracy and calibration; else the majority.", show_default=False),
    ] = None,
    bins: Annotated[int, typer.Option(min=1, help="Bins of ECE and of the Brier decomposition.")] = 15,
    normalize: Annotated[bool, typer.Option("--normalize", help="Divide each row of predictions by its sum.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    item: str | None = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score predictions against the votes."""
    from votewise.predictions import read_labels, read_predictions
    from votewise.scoring import score as score_predictions

    votes = load_votes()
    joined, probs = read_predictions(predictions, votes, item=item, normalize=normalize)
    if joined.n_items < votes.n_items:
        options.note(f"{votes.n_items - joined.n_items:,} items have votes but no prediction and are left out.", quiet)
    if joined.n_classes > votes.n_classes:
        options.note(
            f"the predictions know classes nobody voted for: {', '.join(joined.classes[votes.n_classes :])}.", quiet
        )
    truth = None if labels is None else read_labels(labels, votes, joined, item=item)
    scores = score_predictions(joined.probs, probs, truth, bins=bins, seed=seed)
    if math.isinf(scores.metrics["soft_nll"].value):  # said even when quiet: JSON has no infinity, so null needs a word
        options.note("soft_nll and kl are infinite: some predictions rule out a class that people chose.", quiet=False)
    if as_json:
        options.print_json(asdict(scores))
    else:
        _print(scores)


def _print(scores: Scores) -> None:
    from rich.table import Table

    from votewise.report import counted

    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    table.add_column("metric")
    table.add_column("value", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("", style="dim")
    for name, interval in scores.metrics.items():
        between = "-" if math.isnan(interval.low) else f"{interval.low:.4f} to {interval.high:.4f}"
        value = "undefined" if math.isnan(interval.value) else f"{interval.value:.4f}"
        table.add_row(name, value, between, _MEANING[name])
    screen = options.console()
    screen.print(counted(scores.items, "item"))
    screen.print(table)
