"""Runs as rows of a table, for lists and other tools."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from votewise._errors import InputError
from votewise._files import whole_file
from votewise.records.record import RunSummary

_FIRST_KEYS = ("experiment", "dataset", "method", "votes", "hold", "seed")


def in_order(runs: Iterable[RunSummary]) -> list[RunSummary]:
    """Runs sorted by config: experiment, data set, method, votes, hold and seed first; numbers as numbers."""
    return sorted(runs, key=lambda run: ([_rank(run.config.get(key)) for key in _FIRST_KEYS], _rank(run.config)))


def export_runs(runs: Iterable[RunSummary], path: str | os.PathLike[str]) -> None:
    """Write a table with one row per run; its columns are the parts of a run under dotted names.

    Args:
        runs: the runs, in the order of the rows.
        path: a .csv or .parquet file.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise InputError("the table of runs must end in .csv or .parquet", f"got {str(path)!r}", "Rename it")
    rows = [dict(_flat(run)) for run in runs]
    names = list(dict.fromkeys(name for row in rows for name in row)) or ["id"]
    columns = {name: [row.get(name) for row in rows] for name in names}
    with whole_file(path) as partial:
        (_write_csv if suffix == ".csv" else _write_parquet)(partial, columns)


def _flat(run: RunSummary) -> Iterator[tuple[str, Any]]:
    yield from (("id", run.run_id), ("status", run.status), ("failure", run.failure), ("epochs", run.epochs))
    for part in ("config", "numbers", "timing", "environment"):
        yield from _dotted(part, getattr(run, part))


def _dotted(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Leaves of nested dicts under names such as "config.recipe.epochs"; a list is one leaf, as JSON."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _dotted(f"{prefix}.{key}", inner)
    else:
        yield prefix, json.dumps(value) if isinstance(value, list) else value


def _write_csv(path: Path, columns: dict[str, list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _write_parquet(path: Path, columns: dict[str, list[Any]]) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    pq.write_table(pa.table({name: _arrow_column(values) for name, values in columns.items()}), path)


def _arrow_column(values: Sequence[Any]) -> Any:
    """A column of the type of its values, or of text if they have several."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else str(value) for value in values])


def _rank(value: Any) -> tuple[int, Any]:
    """A key that orders any two JSON values: None, numbers, texts, lists, dicts."""
    if value is None:
        return 0, 0
    if isinstance(value, (bool, int, float)):
        return 1, value
    if isinstance(value, str):
        return 2, value
    if isinstance(value, list):
        return 3, [_rank(inner) for inner in value]
    return 4, [(key, _rank(value[key])) for key in sorted(value)]
