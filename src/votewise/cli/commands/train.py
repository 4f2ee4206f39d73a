"""`votewise train`: train one model on a user's own votes and save it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from votewise._files import whole_file
from votewise.cli import options, printing
from votewise.cli.input_options import InputOptions, ModelOptions, TrainingOptions, print_item_column_note
from votewise.cli.options import Json, Quiet, SafeCells, grouped_options
from votewise.cli.reading_options import ReadingOptions, VotesFile


@grouped_options
def train_command(
    *,
    votes_file: VotesFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model to write, .safetensors.", show_default=False)],
    inputs: InputOptions,
    wanted: ModelOptions,
    training: TrainingOptions,
    reading: ReadingOptions,
    safe_cells: SafeCells = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train one model on your own data and save it."""
    options.require_torch_for_command("training")
    from votewise.data import read_own_data
    from votewise.experiments import default_recipe, train_model
    from votewise.models import find_model, run_label
    from votewise.predictions import write_predictions
    from votewise.training import save_model

    silent = quiet or as_json
    kind, path = inputs.place()
    model = find_model(name := training.model_option(kind), kind)
    wanted.check(output)
    options.check_output_options([output, wanted.predictions], [votes_file, path])
    # Both files are reserved first: a path that cannot be written should fail before the work.
    with nullcontext() if wanted.predictions is None else whole_file(wanted.predictions) as table:
        with whole_file(output) as partial, printing.progress_bars(silent) as display:
            votes = reading.load(votes_file, quiet=quiet)
            _, data = read_own_data(
                votes, kind, path, model, name=votes_file.stem, item=reading.item, text_column=inputs.text_columns,
                missing=training.missing_inputs, track=display.track,
            )  # fmt: skip
            for sentence in data.notes:
                printing.print_note(sentence, silent)
            run = wanted.run(data, default_recipe(data, **training.recipe), run_label(name, kind))
            bar = display.add_task("training", total=run.recipe.epochs * (1 + wanted.refit))
            trained = train_model(
                run, data, at=wanted.at, temperature=wanted.temperature, refit=wanted.refit, device=training.device,
                on_epoch=lambda: display.advance(bar),
            )  # fmt: skip
            display.update(bar, total=display.tasks[bar].completed)
            save_model(partial, trained.model, trained.config)
        if wanted.predictions is not None and table is not None:
            ids, suffix = data.votes.item_ids[trained.held_out], wanted.predictions.suffix.lower()
            write_predictions(table, ids, data.votes.classes, trained.probs, suffix=suffix, safe_cells=safe_cells)
            print_item_column_note(data.votes.classes, silent)
    for sentence in trained.doubts:
        printing.print_note(sentence, quiet=False)  # even if quiet: JSON has no infinity, so null needs an explanation
    if as_json:
        told = {"model": str(output), **trained.about, "predictions": table and str(wanted.predictions)}
        metrics = trained.scores and asdict(trained.scores)["metrics"]
        printing.print_json({**told, "metrics": metrics, "notes": (*data.notes, *trained.doubts)})
    else:
        printing.say(f"{output}: {trained.in_words()}")
        if trained.scores is not None:
            if wanted.refit:
                printing.say("The scores are those of the model that chose the epoch, which had not seen these items:")
            printing.print_scores(trained.scores, "held-out item", true_labels=False)
