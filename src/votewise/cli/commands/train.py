"""`votewise train`: train one model on a user's own votes and save it."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.groups import ReadingOptions, VotesFile, grouped_options
from votewise.cli.inputs import (
    METHOD_NAMES,
    InputOptions,
    TrainingOptions,
    check_deliverable,
    load_material,
    note_item_column,
)
from votewise.cli.options import Json, Quiet
from votewise.experiments.catalog import find_method

if TYPE_CHECKING:
    from votewise.experiments.inputs import Reading
    from votewise.experiments.material import Material
    from votewise.experiments.single import ModelPlan, TrainedModel
    from votewise.scoring import Scores

_SHOWN = ("soft_nll", "accuracy", "ece", "ece_floor", "entropy_correlation")


@grouped_options
def train(
    *,
    votes_file: VotesFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model to write, .safetensors.", show_default=False)],
    inputs: InputOptions,
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"How the votes are delivered: {METHOD_NAMES}")
    ] = "multipass",
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    held_out: Annotated[float, typer.Option(help="Share of the items held out to score the model; 0 for none.")] = 0.2,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Predictions to write for the held-out items: .csv .parquet", show_default=False),
    ] = None,
    training: TrainingOptions,
    reading: ReadingOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train one model on your own data and save it."""
    options.require_torch("training")
    from votewise._files import whole_file
    from votewise.experiments.single import ModelPlan
    from votewise.training.checkpoint import save_model

    find_method(method)
    training.check(inputs.kind())
    _check_outputs(output, predictions, held_out)
    options.check_overwrites([output, predictions], [votes_file, inputs.path])
    silent = quiet or as_json
    # Both files are reserved first: a path that cannot be written should fail before the work.
    with nullcontext() if predictions is None else whole_file(predictions) as table:
        with whole_file(output) as partial:
            votes = reading.load(votes_file, quiet=quiet)
            material, source = load_material(
                votes, inputs, training, name=votes_file.stem, item=reading.item, quiet=silent
            )
            check_deliverable(material.votes, [method], "--method (-m)")
            plan = ModelPlan(method, seed, training.model_name(material), training.recipe(material), held_out)
            trained = _fit(material, source.reading, plan, training.device, silent)
            save_model(partial, trained.model, trained.config)
        if predictions is not None and table is not None:
            _write_predictions(table, predictions.suffix.lower(), material, trained, silent)
    scores = _scores(material, trained)
    doubts = _doubts(scores)
    for sentence in doubts:
        options.note(sentence, quiet=False)  # even if quiet: JSON has no infinity, so null needs an explanation
    if as_json:
        files = {"model": str(output), "predictions": None if predictions is None else str(predictions)}
        options.print_json(_as_json(files, plan, material, trained, scores, doubts))
    else:
        _print(output, plan, material, trained, scores)


def _check_outputs(model: Path, predictions: Path | None, held_out: float) -> None:
    if model.suffix.lower() != ".safetensors":
        raise InputError("the model must end in .safetensors", f"got {str(model)!r}", "Rename it")
    if predictions is None:
        return
    check_choice("the suffix of --predictions", predictions.suffix.lower(), (".csv", ".parquet"))
    if held_out == 0:
        raise InputError("--predictions needs held-out items", "got --held-out 0", "Hold some out")


def _fit(material: Material, reading: Reading, plan: ModelPlan, device: str, silent: bool) -> TrainedModel:
    from votewise.experiments.single import train_model

    with options.progress(silent) as display:
        task = display.add_task("training", total=plan.recipe.epochs)
        return train_model(material, reading, plan, device=device, on_epoch=lambda *_: display.advance(task))


def _write_predictions(table: Path, suffix: str, material: Material, trained: TrainedModel, silent: bool) -> None:
    from votewise.predictions import write_predictions

    ids, classes = material.votes.item_ids[trained.held_out], material.votes.classes
    write_predictions(table, ids, classes, trained.probs, suffix=suffix)
    note_item_column(classes, silent)


def _scores(material: Material, trained: TrainedModel) -> Scores | None:
    """Scores on the held-out items; None if there are none."""
    from votewise.scoring import score

    return score(material.votes.probs[trained.held_out], trained.probs) if len(trained.held_out) else None


def _doubts(scores: Scores | None) -> tuple[str, ...]:
    """What is wrong with a model that was saved nevertheless."""
    if scores is None or math.isfinite(scores.metrics["soft_nll"].value):
        return ()
    return (
        "soft_nll is infinite: the model gives zero probability to classes that people chose, so its training has "
        "probably diverged. Lower --learning-rate, or check the inputs.",
    )


def _as_json(
    files: dict[str, str | None],
    plan: ModelPlan,
    material: Material,
    trained: TrainedModel,
    scores: Scores | None,
    doubts: tuple[str, ...],
) -> dict[str, Any]:
    return {
        "model": files["model"],
        "network": plan.model,
        "method": plan.method,
        "seed": plan.seed,
        "classes": material.votes.classes,
        "trained_on": material.votes.n_items - len(trained.held_out),
        "held_out": len(trained.held_out),
        "held_out_ids": material.votes.item_ids[trained.held_out].tolist(),
        "predictions": files["predictions"],
        "metrics": None if scores is None else asdict(scores)["metrics"],
        "notes": (*material.notes, *doubts),
    }


def _print(output: Path, plan: ModelPlan, material: Material, trained: TrainedModel, scores: Scores | None) -> None:
    from votewise.report import counted, format_number

    size = counted(material.votes.n_items - len(trained.held_out), "item")
    typer.echo(f"{output}: {plan.model}, {plan.method}, trained on {size}")
    if scores is None:
        return
    rows = []
    for name in _SHOWN:
        interval = scores.metrics[name]
        between = "–" if math.isnan(interval.low) else f"{interval.low:.3f} to {interval.high:.3f}"
        rows.append((name, format_number(interval.value), between))
    items = counted(scores.items, "held-out item")
    options.print_table((items, "value", "95 % interval"), rows, names=(items,))
