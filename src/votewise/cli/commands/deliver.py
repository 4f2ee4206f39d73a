"""`votewise deliver`: labels or targets as an array, for any other tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise._errors import InputError
from votewise.cli import options, printing
from votewise.cli.input_options import METHOD_NAMES
from votewise.cli.options import Json, Quiet, SafeCells, grouped_options
from votewise.cli.reading_options import ReadingOptions, VotesFile
from votewise.delivery.export import check_array_path, write_delivery
from votewise.delivery.methods import METHODS, method_label, parse_method

_WITH_HOLD = [name for name, method in METHODS.items() if "hold" in method.options]


@grouped_options
def deliver_command(
    *,
    votes_file: VotesFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Array or table to write: .npy .csv .parquet", show_default=False)
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method", "-m", help=f"One of {METHOD_NAMES} Options follow its name: sls:hold=5.", show_default=False
        ),
    ],
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs to write, unless targets are always the same.")] = 1,
    hold: Annotated[int, typer.Option(min=1, help=f"Epochs a draw is kept ({', '.join(_WITH_HOLD)}).")] = 1,
    safe_cells: SafeCells = False,
    reading: ReadingOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write labels or soft targets for any trainer."""
    name, chosen = parse_method(method)
    row = METHODS[name]
    if row.helper:
        raise InputError("the method must need votes alone", f"{name} needs trained models", "Train with it instead")
    if hold > 1 and (name not in _WITH_HOLD or "hold" in chosen):
        raise InputError(f"--hold is for {' and '.join(_WITH_HOLD)}", f"got --method {method}", "Leave it out")
    if hold > 1:
        chosen["hold"] = hold
    check_array_path(output)
    options.check_output_options([output], [votes_file])
    votes = reading.load(votes_file, quiet=quiet)
    written = None if row.gives == "fixed" else epochs
    with printing.progress_bars(quiet or as_json) as display:
        delivery = row.deliver(votes, seed=seed, options=chosen)
        shape = write_delivery(
            output,
            delivery,
            written,
            track=lambda each: display.track(each, description="epochs"),
            safe_cells=safe_cells,
        )
    if as_json:
        about = {"output": str(output), "method": name, "options": chosen, "seed": seed, "epochs": written}
        facts = {"hold": chosen.get("hold", 1), "shape": shape, "classes": votes.classes}
        printing.print_json({**about, **facts, "item_ids": votes.item_ids.tolist()})
        return
    axes = {"labels": "epochs x items", "fixed": "items x classes", "changing": "epochs x items x classes"}[row.gives]
    kind = "labels" if row.gives == "labels" else "targets"
    size = " x ".join(f"{length:,}" for length in shape)
    printing.say(f"{output}: {method_label(name, chosen)} {kind}, {axes}, {size}; classes {', '.join(votes.classes)}")
