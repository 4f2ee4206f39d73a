"""`votewise deliver`: labels or targets as an array, for any other tool."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.groups import ReadingOptions, VotesFile, grouped_options
from votewise.cli.inputs import METHOD_NAMES
from votewise.cli.options import Json, Quiet
from votewise.experiments.catalog import find_method

if TYPE_CHECKING:
    from votewise.delivery import Delivery

_HELD = ("sls", "shuffled-sls")


@grouped_options
def deliver(
    *,
    votes_file: VotesFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Array to write, .npy.", show_default=False)],
    method: Annotated[str, typer.Option("--method", "-m", help=f"One of {METHOD_NAMES}", show_default=False)],
    seed: Annotated[int, typer.Option(min=0, help="Root seed.")] = 0,
    epochs: Annotated[int, typer.Option(min=1, help="Rows of labels to write (hard methods).")] = 1,
    hold: Annotated[int, typer.Option(min=1, help=f"Epochs a draw is kept ({', '.join(_HELD)}).")] = 1,
    reading: ReadingOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write labels or soft targets for any trainer."""
    chosen = find_method(method)
    if hold > 1 and method not in _HELD:
        raise InputError(f"--hold is for {' and '.join(_HELD)}", f"got --method {method}", "Leave it out")
    if output.suffix.lower() != ".npy":
        raise InputError("the output must end in .npy", f"got {str(output)!r}", "Rename it")
    options.check_overwrites([output], [votes_file])
    votes = reading.load(votes_file, quiet=quiet)
    shape = _write(output, chosen.build(votes, seed, hold), epochs, quiet or as_json)
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
        kind = "labels, epochs x items" if chosen.hard else "targets, items x classes"
        typer.echo(f"{output}: {method} {kind}, {shape[0]:,} x {shape[1]:,}; classes {', '.join(votes.classes)}")


def _write(output: Path, delivery: Delivery, epochs: int, silent: bool) -> tuple[int, ...]:
    """Write what a method delivers, and return the shape of the array."""
    from votewise._files import whole_file
    from votewise.delivery import HardDelivery

    with whole_file(output) as partial:
        if not isinstance(delivery, HardDelivery):
            targets = delivery.targets(0)
            with partial.open("wb") as file:
                np.save(file, targets)
            return targets.shape
        shape = (epochs, len(delivery.item_ids))
        labels = np.lib.format.open_memmap(partial, mode="w+", dtype=np.int64, shape=shape)
        _reserve(partial)
        with options.progress(silent) as display:
            for epoch in display.track(range(epochs), description="epochs"):
                labels[epoch] = delivery.labels(epoch)
        labels.flush()
        return shape


def _reserve(path: Path) -> None:
    """Give a file its blocks now: writing to a mapped page for which the disk has none left would end the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        with path.open("rb+") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # what file systems say that cannot
            raise
