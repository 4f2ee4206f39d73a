"""`votewise predict`: class probabilities of new items from a trained model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from votewise._checks import check_choice, check_number
from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.groups import grouped_options
from votewise.cli.inputs import Device, InputOptions, print_item_column_note
from votewise.cli.options import Json, Quiet, SafeCells


@grouped_options
def predict_command(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model saved by votewise train: .safetensors", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Predictions to write: .csv .parquet .npy", show_default=False)
    ],
    inputs: InputOptions,
    item: Annotated[str | None, typer.Option(help="Item column of a table.", show_default=False)] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            help="Divide logits by this, 1 for nothing; by the model's own temperature if omitted.", show_default=False
        ),
    ] = None,
    device: Device = "auto",
    safe_cells: SafeCells = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict new items with a saved model."""
    options.require_torch_for_command("predicting")
    from votewise._text import counted
    from votewise.data import InputForm, open_inputs
    from votewise.experiments.run import DEVICES, choose_device
    from votewise.experiments.train import predict as predict_inputs
    from votewise.metrics.temperature import LEAST_TEMPERATURE, MOST_TEMPERATURE
    from votewise.predictions import check_prediction_path, write_predictions
    from votewise.training.checkpoint import load_model
    from votewise.votes.table import row_numbers

    kind, path = inputs.place()
    check_choice("--device", device, DEVICES)
    check_prediction_path(output)
    options.check_overwrites([output], [model, path])
    network, config = load_model(model)
    if temperature is not None:
        config = replace(
            config, temperature=check_number("--temperature", temperature, LEAST_TEMPERATURE, MOST_TEMPERATURE)
        )
    if kind != config.kind:
        raise InputError(f"the model takes {config.kind}", f"got --{kind}", f"Pass --{config.kind}")
    form, row = InputForm.from_dict(config.reading), config.input_model(network)
    source = open_inputs(kind, path, item=item, text_column=inputs.text_columns, form=form)
    silent = quiet or as_json
    with options.progress_bars(silent) as display:
        # The size of images in an array, which the name of a model does not tell, is that of new images from files too.
        loaded = source.load(
            row if form.size is None else row.with_options(size=form.size),
            lambda rows: display.track(rows, description=f"{row.doing} {kind}"),
        )
    for sentence in loaded.notes:
        options.print_note(sentence, silent)
    probs = predict_inputs(network.to(choose_device(device)), config, loaded.values)
    item_ids = row_numbers(len(source)) if source.item_ids is None else source.item_ids
    write_predictions(output, item_ids, config.classes, probs, safe_cells=safe_cells)
    if output.suffix.lower() != ".npy":
        print_item_column_note(config.classes, silent)
    if as_json:
        options.print_json(
            {
                "output": str(output),
                "items": len(probs),
                "classes": config.classes,
                "model": str(model),
                "temperature": config.temperature,
                "notes": loaded.notes,
            }
        )
    else:
        size = f"{counted(len(probs), 'item')} x {counted(len(config.classes), 'class', 'classes')}"
        options.say(f"{output}: {size} ({', '.join(config.classes)})")
