"""What a method delivers as an array in a file, for any other tool."""

from __future__ import annotations

import errno
import math
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import check_whole_number
from votewise._errors import InputError
from votewise._files import whole_file
from votewise._text import safe_table
from votewise.delivery.protocol import Delivery, HardDelivery

if TYPE_CHECKING:
    import polars as pl


SUFFIXES = (".npy", ".csv", ".parquet")

# A table is made in memory, where each number takes some tens of bytes.
_MOST_NUMBERS = 2**26


def check_array_path(path: str | os.PathLike[str]) -> None:
    """Refuse to write what is delivered to a file of another kind."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise InputError(f"the output must end in {', '.join(SUFFIXES)}", f"got {os.fspath(path)!r}", "Rename it")


def write_delivery(
    path: str | os.PathLike[str],
    delivery: Delivery,
    epochs: int | None,
    *,
    track: Callable[[Iterable[int]], Iterable[int]] = iter,
    safe_cells: bool = False,
) -> tuple[int, ...]:
    """Write labels (E, N) int64, or targets (E, N, K) float32; one of either without the first axis.

    A table (.csv, .parquet) has a row for each item, with the class name of its label or its target of each class. With
    epochs it has a row for each epoch and item.

    Args:
        path: .npy, .csv or .parquet, written whole or not at all.
        delivery: what is written.
        epochs: E; None for a delivery that is the same in every epoch, which it must be.
        track: wraps the epochs, to show progress.
        safe_cells: whether a .csv has an apostrophe before texts that a spreadsheet would take for formulas.

    Returns:
        The shape of the array.
    """
    check_array_path(path)
    if epochs is None and delivery.changes:
        raise InputError(
            "epochs must say how many are written of what changes from epoch to epoch",
            "got None",
            "Pass e.g. epochs=50",
        )
    hard = isinstance(delivery, HardDelivery)
    in_epoch = delivery.labels if isinstance(delivery, HardDelivery) else delivery.targets
    shape: tuple[int, ...] = delivery.item_ids.shape if hard else (len(delivery.item_ids), len(delivery.classes))
    if epochs is not None:
        shape = (check_whole_number("epochs", epochs, least=1), *shape)
    _check_size(Path(path), math.prod(shape), 8 if hard else 4)
    if Path(path).suffix.lower() != ".npy":
        import polars as pl

        with whole_file(path) as partial:
            parts = [
                _rows(delivery, in_epoch(epoch), None if epochs is None else epoch)
                for epoch in track(range(epochs or 1))
            ]
            table = pl.concat(parts)
            if Path(path).suffix.lower() == ".csv":
                (safe_table(table) if safe_cells else table).write_csv(partial)
            else:
                table.write_parquet(partial)
        return shape
    with whole_file(path) as partial:
        array = np.lib.format.open_memmap(partial, mode="w+", dtype=np.int64 if hard else np.float32, shape=shape)
        _reserve(partial)
        if epochs is None:
            array[:] = in_epoch(0)
        else:
            for epoch in track(range(epochs)):
                array[epoch] = in_epoch(epoch)
        array.flush()
    return shape


def _rows(delivery: Delivery, values: npt.NDArray[Any], epoch: int | None) -> pl.DataFrame:
    """What is delivered in one epoch, a row for each item."""
    import polars as pl

    columns = [pl.Series("item", delivery.item_ids.tolist(), dtype=pl.String)]
    if epoch is not None:
        columns.insert(0, pl.Series("epoch", np.full(len(values), epoch)))
    if values.ndim == 1:
        columns.append(pl.Series("label", np.array(delivery.classes)[values].tolist(), dtype=pl.String))
    else:
        columns += [pl.Series(name, values[:, place]) for place, name in enumerate(delivery.classes)]
    return pl.DataFrame(columns)


def _check_size(path: Path, numbers: int, size: int) -> None:
    """Refuse more epochs than the disk, or for a table memory, can hold."""
    if path.suffix.lower() != ".npy" and numbers > _MOST_NUMBERS:
        raise InputError(
            f"a table must have at most {_MOST_NUMBERS:,} numbers",
            f"{numbers:,} are asked for",
            "Write fewer epochs, or a .npy",
        )
    # To reserve more than there is would fill the disk for a while, to the harm of all others.
    if path.parent.is_dir() and numbers * size > shutil.disk_usage(path.parent).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


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
