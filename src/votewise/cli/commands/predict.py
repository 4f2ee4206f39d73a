"""`votewise predict`: class probabilities of new items from a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.groups import grouped_options
from votewise.cli.inputs import Device, InputOptions, note_item_column
from votewise.cli.options import Json, Quiet


@grouped_options
def predict(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="Model saved by votewise train: .safetensors", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Predictions to write: .csv .parquet .npy", show_default=False)
    ],
    inputs: InputOptions,
    item: Annotated[str | None, typer.Option(help="Item column of a table.", show_default=False)] = None,
    device: Device = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict new items with a saved model."""
    options.require_torch("predicting")
    from votewise.experiments.inputs import Reading
    from votewise.experiments.run import DEVICES, choose_device
    from votewise.experiments.single import predict as predict_inputs
    from votewise.predictions import check_prediction_path, write_predictions
    from votewise.report import counted
    from votewise.training.checkpoint import load_model

    kind = inputs.kind()
    check_choice("--device", device, DEVICES)
    check_prediction_path(output)
    options.check_overwrites([output], [model, inputs.path])
    network, config = load_model(model)
    if kind != config.kind:
        raise InputError(f"the model takes {config.kind}", f"got --{kind}", f"Pass --{config.kind}")
    source = inputs.open_as(Reading.from_dict(config.reading), item=item)
    silent = quiet or as_json
    with options.progress(silent) as display:
        item_ids, values, notes = source.load_all(
            lambda rows: display.track(rows, description=f"reading {source.kind}")
        )
    for sentence in notes:
        options.note(sentence, silent)
    probs = predict_inputs(network.to(choose_device(device)), config, values)
    write_predictions(output, item_ids, config.classes, probs)
    if output.suffix.lower() != ".npy":
        note_item_column(config.classes, silent)
    if as_json:
        options.print_json(
            {"output": str(output), "items": len(probs), "classes": config.classes, "model": str(model), "notes": notes}
        )
    else:
        size = f"{counted(len(probs), 'item')} x {counted(len(config.classes), 'class', 'classes')}"
        typer.echo(f"{output}: {size} ({', '.join(config.classes)})")
