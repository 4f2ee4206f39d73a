"""What a folder holds: recorded runs, or the batches of stored results."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from votewise._checks import check_choice
from votewise.records.batches import is_batch, missing_in_batches, runs_in_batches, survey_batches
from votewise.records.record import STATUSES, RunSummary
from votewise.records.rows import sort_records
from votewise.records.store import Fault, RecordStore


@dataclass(frozen=True, eq=False)
class Listing:
    """The records in a folder.

    Attributes:
        runs: the runs asked for, in order.
        all_runs: how many runs there are.
        batches: what each batch of stored results adds, in plain values; None in a folder of recorded runs.
        faults: records that cannot be read.
    """

    runs: list[RunSummary]
    all_runs: int
    batches: list[dict[str, Any]] | None
    faults: list[Fault]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        parts = ("status", "failure", "epochs", "config", "numbers", "timing", "environment")
        runs = [{"id": run.run_id, **{part: getattr(run, part) for part in parts}} for run in self.runs]
        listed = {"runs": runs} if self.batches is None else {"batches": self.batches}
        return {**listed, "unreadable": [{"id": fault.run_id, "reason": fault.reason} for fault in self.faults]}


def survey_records(folder: str | os.PathLike[str], *, method: str | None = None, status: str | None = None) -> Listing:
    """The runs in a folder, or the batches of stored results and their runs, all of which are done.

    Args:
        folder: where the records lie.
        method: method of the runs to list; all if left out.
        status: "done" or "failed"; either if left out.
    """
    if status is not None:
        check_choice("the status", status, STATUSES)
    found, faults = RecordStore(folder).survey()
    batches = None
    if any(map(is_batch, found)):
        stored, faults = survey_batches(folder)
        missing = missing_in_batches(stored)
        found = [run for runs in runs_in_batches(stored).values() for run in runs]
        batches = [
            {
                "id": batch.id,
                "batch": batch.number,
                "bytes": sum(path.stat().st_size for path in Path(folder, batch.id).iterdir()),
                "runs": [
                    run for run in batch.new_runs.runs if method in (None, run["method"]) and status in (None, "done")
                ],
                "completed": batch.completed,
                "compared": {group: list(seeds) for group, seeds in batch.compared.items()},
                "missing": missing[batch.id],
                **batch.results.origin,
            }
            for batch in stored
        ]
    chosen = [run for run in found if method in (None, run.config.get("method")) and status in (None, run.status)]
    return Listing(sort_records(chosen) if batches is None else chosen, len(found), batches, faults)
