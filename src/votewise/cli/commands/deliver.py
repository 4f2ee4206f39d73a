"""`votewise deliver`: labels or targets as an array, for any other tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.inputs import METHOD_NAMES
from votewise.cli.options import Json, Quiet, VotesLoader, reads_votes

_HELD = ("sls", "shuffled-sls")


@reads_votes
def deliver(
    load_votes: VotesLoader,
    output: Annotated[Path, typer.Option("--output", "-o", help="Array to write, .npy.", show_default=False)],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help=METHOD_NAMES,
            show_default=False,
        ),
    ],
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Rows of labels to write, for hard methods.")] = 1,
    hold: Annotated[int, typer.Option(min=1, help="Epochs a draw is kept (sls, shuffled-sls).")] = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write labels or soft targets for any trainer."""
    from votewise._files import whole_file
    from votewise.delivery import HardDelivery
    from votewise.experiments import find_method

    chosen = find_method(method)
    if hold > 1 and method not in _HELD:
        raise InputError(f"--hold is for {' and '.join(_HELD)}", f"got --method {method}", "Leave it out")
    if output.suffix.lower() != ".npy":
        raise InputError("the output must end in .npy", f"got {str(output)!r}", "Rename it")
    votes = load_votes()
    delivery = chosen.build(votes, seed, hold)
    with whole_file(output) as partial:
        if isinstance(delivery, HardDelivery):
            shape: tuple[int, int] = (epochs, votes.n_items)
            labels = np.lib.format.open_memmap(partial, mode="w+", dtype=np.int64, shape=shape)
            with options.progress(quiet or as_json) as display:
                for epoch in display.track(range(epochs), description="epochs"):
                    labels[epoch] = delivery.labels(epoch)
            labels.flush()
        else:
            targets = delivery.targets(0)
            shape = (targets.shape[0], targets.shape[1])
            with partial.open("wb") as file:
                np.save(file, targets)
    kind = "labels, epochs x items" if chosen.hard else "targets, items x classes"
    if as_json:
        options.print_json(
            {
                "output": str(output),
                "method": method,
                "seed": seed,
                "epochs": epochs if chosen.hard else None,
                "hold": hold,
                "shape": shape,
                "classes": votes.classes,
                "item_ids": votes.item_ids.tolist(),
            }
        )
    else:
        typer.echo(f"{output}: {method} {kind}, {shape[0]:,} x {shape[1]:,}; classes {', '.join(votes.classes)}")
