"""`votewise train`: one model on a user's own votes, saved."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.inputs import (
    METHOD_NAMES,
    InputOptions,
    TrainingOptions,
    check_deliverable,
    load_material,
    takes,
    tell_item_column,
)
from votewise.cli.options import Json, Quiet, VotesLoader, reads_votes

if TYPE_CHECKING:
    from votewise.experiments.inputs import Reading
    from votewise.experiments.material import Material
    from votewise.experiments.single import ModelPlan, TrainedModel
    from votewise.scoring import Scores

_SHOWN = ("soft_nll", "accuracy", "ece", "ece_floor", "entropy_correlation")


@reads_votes
@takes(inputs=InputOptions, training=TrainingOptions)
def train(
    load_votes: VotesLoader,
    inputs: InputOptions,
    training: TrainingOptions,
    votes_file: Path,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model to write, .safetensors.", show_default=False)],
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"How the votes are delivered: {METHOD_NAMES}")
    ] = "multipass",
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    held_out: Annotated[float, typer.Option(help="Share of the items kept back to score the model; 0 for none.")] = 0.2,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Predictions for those items to write: .csv .parquet", show_default=False),
    ] = None,
    item: str | None = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train one model on your own data and save it."""
    options.require_torch("training")
    from votewise._files import whole_file
    from votewise.experiments import find_method
    from votewise.experiments.single import ModelPlan
    from votewise.predictions import write_predictions
    from votewise.report import counted
    from votewise.scoring import score
    from votewise.training.checkpoint import save_model

    find_method(method)
    training.check(inputs.kind())
    _check_outputs(output, predictions, held_out)
    silent = quiet or as_json
    # Both places are taken first: a path that cannot be written should fail before the work.
    with nullcontext() if predictions is None else whole_file(predictions) as table:
        with whole_file(output) as partial:
            material, source = load_material(
                load_votes(), inputs, training, name=votes_file.stem, item=item, quiet=silent
            )
            check_deliverable(material.votes, [method], "--method (-m)")
            plan = ModelPlan(method, seed, training.model_name(material), training.recipe(material), held_out)
            trained = _fit(material, source.reading, plan, training.device, silent)
            save_model(partial, trained.model, trained.config)
        held_out_ids = material.votes.item_ids[trained.held_out]
        if predictions is not None and table is not None:
            suffix = predictions.suffix.lower()
            write_predictions(table, held_out_ids, material.votes.classes, trained.probs, suffix=suffix)
            tell_item_column(material.votes.classes, silent)
    scored = len(trained.held_out)
    scores = score(material.votes.probs[trained.held_out], trained.probs) if scored else None
    notes = (*material.notes, *_doubts(scores))
    for told in _doubts(scores):
        options.note(told, quiet=False)  # also when quiet: JSON has no infinity, so null needs a word
    if as_json:
        options.print_json(
            {
                "model": str(output),
                "network": plan.model,
                "method": method,
                "seed": seed,
                "classes": material.votes.classes,
                "trained_on": material.votes.n_items - scored,
                "held_out": scored,
                "held_out_ids": held_out_ids.tolist(),
                "predictions": None if predictions is None else str(predictions),
                "metrics": None if scores is None else asdict(scores)["metrics"],
                "notes": notes,
            }
        )
        return
    typer.echo(f"{output}: {plan.model}, {method}, trained on {counted(material.votes.n_items - scored, 'item')}")
    if scores is not None:
        _print(scores)


def _fit(material: Material, reading: Reading, plan: ModelPlan, device: str, silent: bool) -> TrainedModel:
    from votewise.experiments.single import train_model

    with options.progress(silent) as display:
        task = display.add_task("training", total=plan.recipe.epochs)
        return train_model(material, reading, plan, device=device, on_epoch=lambda *_: display.advance(task))


def _check_outputs(model: Path, predictions: Path | None, held_out: float) -> None:
    if model.suffix.lower() != ".safetensors":
        raise InputError("the model must end in .safetensors", f"got {str(model)!r}", "Rename it")
    if predictions is None:
        return
    check_choice("the suffix of --predictions", predictions.suffix.lower(), (".csv", ".parquet"))
    if held_out == 0:
        raise InputError("--predictions are those of held-out items", "got --held-out 0", "Hold some out")


def _doubts(scores: Scores | None) -> tuple[str, ...]:
    """What a user should know of a model that was saved all the same."""
    if scores is None or math.isfinite(scores.metrics["soft_nll"].value):
        return ()
    return (
        "soft_nll is infinite: the model rules out classes that people chose, so its training has probably diverged. "
        "Lower --learning-rate, or check the inputs.",
    )


def _print(scores: Scores) -> None:
    from rich.table import Table

    from votewise.report import counted, format_number

    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    table.add_column(counted(scores.items, "held-out item"))
    table.add_column("value", justify="right")
    table.add_column("95 % interval", justify="right")
    for name in _SHOWN:
        interval = scores.metrics[name]
        between = "–" if math.isnan(interval.low) else f"{interval.low:.3f} to {interval.high:.3f}"
        table.add_row(name, format_number(interval.value), between)
    options.console().print(table)
