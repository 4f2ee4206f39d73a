"""A whole comparison: the runs of a grid, those that a store has and those that it lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from votewise.data.dataset import Prepared
from votewise.experiments.backends import Backend, Tell
from votewise.experiments.execution import UnsavedRunsError, execute, ignore
from votewise.experiments.grid import Grid
from votewise.experiments.planning import missing_runs, stored_records
from votewise.records import ItemData, RecordStore, RunRecord, write_items

if TYPE_CHECKING:
    from votewise.training import TrainConfig


@dataclass(frozen=True, eq=False)
class Compared:
    """What a comparison gave.

    Attributes:
        records: those of all its runs, in the order of the grid.
        trained: how many of them are new.
        unsaved: why some could not be written, for whoever has shown the results.
    """

    records: list[RunRecord]
    trained: int
    unsaved: UnsavedRunsError | None = None


def compare_methods(
    grid: Grid,
    data: Prepared,
    recipe: TrainConfig,
    store: RecordStore | None = None,
    *,
    items: ItemData | None = None,
    backend: Backend | None = None,
    retry_failed: bool = False,
    tell: Tell = ignore,
) -> Compared:
    """Do the runs of a grid that a store lacks; without a store all of them.

    Args:
        grid: what is compared.
        data: what is trained on.
        recipe: the training recipe.
        store: where records lie; None to keep nothing.
        items: what pages show of the data, to be kept beside the runs.
        backend: where the work is done; chosen by the device if left out.
        retry_failed: whether to repeat what failed.
        tell: called with what happens, as it happens.
    """
    runs = grid.runs(data, recipe)
    if store is not None and items is not None:
        write_items(store, data.checksum, items)
    known = stored_records(runs, store)
    trained = len(missing_runs(runs, known, retry_failed=retry_failed))
    try:
        records = execute(runs, data, store, backend=backend, retry_failed=retry_failed, known=known, tell=tell)
    except UnsavedRunsError as error:
        return Compared(error.records, trained, error)
    return Compared(records, trained)
