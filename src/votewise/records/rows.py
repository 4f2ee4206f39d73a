"""Runs as rows of a table, for lists and other tools."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from votewise._errors import InputError
from votewise._files import whole_file
from votewise._text import safe_cell
from votewise.records.record import JSON, RunSummary
from votewise.records.results import flat_config, result_columns

_FIRST_KEYS = ("experiment", "dataset", "method", "votes", "hold", "seed")


def sort_records(runs: Iterable[RunSummary]) -> list[RunSummary]:
    """Runs sorted by config, as `row_sort_key` ranks them."""
    return sorted(runs, key=lambda run: row_sort_key(run.config))


def row_sort_key(run: Mapping[str, JSON]) -> tuple[Any, ...]:
    """A sort key for what a run was: experiment, data set, method, votes, hold and seed first; numbers as numbers."""
    return *(_rank_in_records(run.get(key)) for key in _FIRST_KEYS), _rank_in_records(run)


def export_runs(runs: Iterable[RunSummary], path: str | os.PathLike[str], *, safe_cells: bool = False) -> None:
    """Write a table with one row per run; its columns are the parts of a run under dotted names, lists as JSON.

    Args:
        runs: the runs, in the order of the rows.
        path: a .csv or .parquet file.
        safe_cells: whether a .csv has an apostrophe before texts that a spreadsheet would take for formulas.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InputError("the table of runs must end in .csv or .parquet", f"got {str(path)!r}", "Rename it")
    rows = []
    for run in runs:
        parts = flat_config({part: getattr(run, part) for part in ("config", "numbers", "timing", "environment")})
        leaves = {name: json.dumps(leaf) if isinstance(leaf, tuple) else leaf for name, leaf in parts.items()}
        rows.append({"id": run.run_id, "status": run.status, "failure": run.failure, "epochs": run.epochs, **leaves})
    table = result_columns(rows) or {"id": ()}
    with whole_file(path) as partial:
        if suffix == ".csv":
            with partial.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                for row in ([*table], *zip(*table.values(), strict=True)):
                    writer.writerow([safe_cell(cell) if safe_cells and isinstance(cell, str) else cell for cell in row])
            return
        import pyarrow as pa  # type: ignore[import-untyped]
        import pyarrow.parquet as pq  # type: ignore[import-untyped]

        typed = {}
        for name, values in table.items():
            try:
                typed[name] = pa.array(values)
            except (pa.ArrowException, OverflowError):  # values of several types
                typed[name] = pa.array([None if value is None else str(value) for value in values])
        pq.write_table(pa.table(typed), partial)


def _rank_in_records(value: Any) -> tuple[int, Any]:
    """A key that orders any two JSON values: None, numbers, texts, lists, dicts."""
    if value is None:
        return 0, 0
    if isinstance(value, (bool, int, float)):
        return 1, value
    if isinstance(value, str):
        return 2, value
    if isinstance(value, (list, tuple)):
        return 3, [_rank_in_records(inner) for inner in value]
    return 4, [(key, _rank_in_records(value[key])) for key in sorted(value)]
