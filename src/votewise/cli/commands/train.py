"""`votewise train`: one model on a user's own votes, saved."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.inputs import InputOptions, TrainingOptions, load_material, takes
from votewise.cli.options import Json, Quiet, VotesLoader, reads_votes

if TYPE_CHECKING:
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
    method: Annotated[str, typer.Option("--method", "-m", help="How the votes are delivered.")] = "multipass",
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    held_out: Annotated[float, typer.Option(help="Share of the items kept back to score the model; 0 for none.")] = 0.2,
    item: str | None = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train one model on your own data and save it."""
    options.require_torch("training")
    from votewise._files import whole_file
    from votewise.experiments import find_method
    from votewise.experiments.single import Choices, train_model
    from votewise.scoring import score
    from votewise.training.checkpoint import save_model

    find_method(method)
    training.check(inputs.kind())
    if output.suffix.lower() != ".safetensors":
        raise InputError("the model must end in .safetensors", f"{str(output)!r} came", "Rename it")
    silent = quiet or as_json
    material, source = load_material(load_votes(), inputs, training, name=votes_file.stem, item=item, quiet=silent)
    recipe = training.recipe(material)
    choices = Choices(method, seed, training.model_name(material), recipe, held_out)
    with whole_file(output) as partial:  # opened first: a path that cannot be written should fail before the work
        with options.progress(silent) as display:
            task = display.add_task("training", total=recipe.epochs)
            trained = train_model(
                material, source.reading, choices, device=training.device, on_epoch=lambda *_: display.advance(task)
            )
        save_model(partial, trained.model, trained.config)
    scored = len(trained.held_out)
    scores = score(material.votes.probs[trained.held_out], trained.probs) if scored else None
    if as_json:
        options.print_json(
            {
                "model": str(output),
                "network": choices.model,
                "method": method,
                "seed": seed,
                "classes": material.votes.classes,
                "trained_on": material.votes.n_items - scored,
                "held_out": scored,
                "metrics": None if scores is None else asdict(scores)["metrics"],
                "notes": material.notes,
            }
        )
        return
    typer.echo(f"{output}: {choices.model}, {method}, trained on {material.votes.n_items - scored:,} items")
    if scores is not None:
        _print(scores)


def _print(scores: Scores) -> None:
    from rich.table import Table

    from votewise.report import format_number

    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    table.add_column(f"{scores.items:,} held-out items")
    table.add_column("value", justify="right")
    table.add_column("95 % interval", justify="right")
    for name in _SHOWN:
        interval = scores.metrics[name]
        between = "-" if math.isnan(interval.low) else f"{interval.low:.3f} to {interval.high:.3f}"
        table.add_row(name, format_number(interval.value), between)
    options.console().print(table)
