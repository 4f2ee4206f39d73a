"""`votewise score`: predictions compared with the votes."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from votewise import scoring
from votewise._text import counted
from votewise.cli import printing
from votewise.cli.options import Json, Quiet, grouped_options
from votewise.cli.reading_options import ReadingOptions, VotesFile
from votewise.metrics import METRICS
from votewise.predictions import read_labels, read_predictions
from votewise.votes import tied

EPILOG = f"Metrics, by their names in JSON: {', '.join(METRICS)}."


@grouped_options
def score_command(
    *,
    votes_file: VotesFile,
    predictions: Annotated[
        Path,
        typer.Argument(
            metavar="PREDICTIONS", help="Table with an item id and one column per class, or .npy", show_default=False
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(help="True labels for accuracy and calibration; the majority if omitted.", show_default=False),
    ] = None,
    bins: Annotated[int, typer.Option(min=1, help="Bins of ECE and the Brier decomposition.")] = 15,
    normalize: Annotated[bool, typer.Option("--normalize", help="Divide each row of predictions by its sum.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    reading: ReadingOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score predictions against the votes."""
    votes = reading.load(votes_file, quiet=quiet)
    joined, probs = read_predictions(predictions, votes, item=reading.item, normalize=normalize)
    if missing := votes.n_items - joined.n_items:
        printing.print_note(f"left out, having votes but no prediction: {counted(missing, 'item')}.", quiet)
    if joined.n_classes > votes.n_classes:
        printing.print_note(
            f"the predictions have classes nobody voted for: {', '.join(joined.classes[votes.n_classes :])}.", quiet
        )
    truth = None if labels is None else read_labels(labels, votes, joined, item=reading.item)
    scores = scoring.score(joined, probs, truth, bins=bins, seed=seed)
    if math.isinf(scores.metrics["soft_nll"].value):
        printing.print_note(
            "soft_nll and kl are infinite: some predictions give zero probability to a class that people chose.",
            quiet=False,  # JSON has no infinity, so null needs an explanation
        )
    if as_json:
        printing.print_json(asdict(scores))
        return
    if truth is None and (ties := int(tied(joined).sum())):
        printing.print_note(
            f"{counted(ties, 'item')} without a single majority; the first of the tied classes counts.", quiet
        )
    # Without true labels, the scores against the label are those against the majority.
    shown = [name for name, row in METRICS.items() if labels is not None or row.against != "majority"]
    printing.print_scores(scores, "item", shown, true_labels=labels is not None)
