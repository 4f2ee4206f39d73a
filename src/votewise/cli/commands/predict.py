"""`votewise predict`: class probabilities of new items from a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise._checks import check_choice
from votewise.cli import options, printing
from votewise.cli.input_options import Device, InputOptions, print_item_column_note
from votewise.cli.options import Json, Quiet, SafeCells, grouped_options


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
    from votewise.experiments.run import DEVICES
    from votewise.experiments.train import predict_file
    from votewise.predictions import check_prediction_path, write_predictions

    kind, path = inputs.place()
    check_choice("--device", device, DEVICES)
    check_prediction_path(output)
    options.check_output_options([output], [model, path])
    silent = quiet or as_json
    with printing.progress_bars(silent) as display:
        found = predict_file(
            model, kind, path, item=item, text_column=inputs.text_columns, temperature=temperature, device=device,
            track=display.track,
        )  # fmt: skip
    for sentence in found.notes:
        printing.print_note(sentence, silent)
    classes, items = found.config.classes, len(found.probs)
    write_predictions(output, found.item_ids, classes, found.probs, safe_cells=safe_cells)
    if output.suffix.lower() != ".npy":
        print_item_column_note(classes, silent)
    if as_json:
        about = {"output": str(output), "items": items, "classes": classes, "model": str(model)}
        printing.print_json({**about, "temperature": found.config.temperature, "notes": found.notes})
    else:
        size = f"{counted(items, 'item')} x {counted(len(classes), 'class', 'classes')}"
        printing.say(f"{output}: {size} ({', '.join(classes)})")
