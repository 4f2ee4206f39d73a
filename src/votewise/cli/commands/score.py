"""`votewise score`: predictions compared with the votes."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise.cli import options
from votewise.cli.groups import ReadingOptions, VotesFile, grouped_options
from votewise.cli.options import Json, Quiet

if TYPE_CHECKING:
    from votewise.scoring import Scores
    from votewise.statistics import Interval

_MEANING = {
    "soft_nll": "cross-entropy with votes, nats",
    "kl": "KL divergence from votes, nats",
    "soft_brier": "squared distance from the votes",
    "accuracy": "top class is the label",
    "ece": "calibration error, binned",
    "ece_floor": "ECE of a calibrated model",
    "smooth_ece": "calibration error, smoothed",
    "entropy_correlation": "rank correlation of model and vote entropy",
    "jsd": "Jensen-Shannon divergence, nats",
    "manhattan": "sum of absolute differences",
    "soft_accuracy": "overlap with the votes",
    "brier_reliability": "predicted against observed shares",
    "brier_resolution": "how well items are separated",
    "brier_uncertainty": "variance of the vote shares",
}


@grouped_options
def score(
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
    from votewise.predictions import read_labels, read_predictions
    from votewise.report import counted
    from votewise.scoring import score as score_predictions

    votes = reading.load(votes_file, quiet=quiet)
    joined, probs = read_predictions(predictions, votes, item=reading.item, normalize=normalize)
    if missing := votes.n_items - joined.n_items:
        options.note(f"left out, having votes but no prediction: {counted(missing, 'item')}.", quiet)
    if joined.n_classes > votes.n_classes:
        options.note(
            f"the predictions have classes nobody voted for: {', '.join(joined.classes[votes.n_classes :])}.", quiet
        )
    truth = None if labels is None else read_labels(labels, votes, joined, item=reading.item)
    scores = score_predictions(joined.probs, probs, truth, bins=bins, seed=seed)
    if math.isinf(
        scores.metrics["soft_nll"].value
    ):  # even if quiet: JSON has no infinity, so null needs an explanation
        options.note(
            "soft_nll and kl are infinite: some predictions give zero probability to a class that people chose.",
            quiet=False,
        )
    if as_json:
        options.print_json(asdict(scores))
    else:
        _print(scores)


def _print(scores: Scores) -> None:
    from votewise.report import counted

    rows = [(name, *_value_and_interval(interval), _MEANING[name]) for name, interval in scores.metrics.items()]
    options.console().print(counted(scores.items, "item"))
    options.print_table(("metric", "value", "95 % interval", ""), rows, names=("metric",), words=("",))


def _value_and_interval(interval: Interval) -> tuple[str, str]:
    value = "undefined" if math.isnan(interval.value) else f"{interval.value:.4f}"
    return value, "-" if math.isnan(interval.low) else f"{interval.low:.4f} to {interval.high:.4f}"
