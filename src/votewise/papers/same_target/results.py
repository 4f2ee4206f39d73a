"""The evidence on disk: one record of plain arrays, every byte under a checksum, that needs neither torch nor data.

The layout is described in docs/results.md; `FORM` is raised when it changes.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._errors import InputError
from votewise.papers.same_target.evidence import Evidence, Run
from votewise.records import RecordStore, RunRecord

FORM = 1

_ALL_VOTES = 0
_SERIES, _ACROSS = "series.", "across."


def write_results(evidence: Evidence, folder: str | os.PathLike[str]) -> None:
    """Write evidence, whole or not at all, in place of what is there."""
    store = RecordStore(folder)
    record = RunRecord(config={"form": FORM, **evidence.origin}, status="done", arrays=_arrays(evidence))
    _check_alone(store, {*store.ids(), record.run_id})
    store.write(record, replace=True)


def read_results(folder: str | os.PathLike[str]) -> Evidence:
    """The evidence in a folder, every byte of it checked."""
    store = RecordStore(folder)
    _check_alone(store, set(store.ids()))
    record = store.read(store.ids()[0])
    form = record.config.get("form")
    if form != FORM:
        raise InputError(
            f"{str(store.folder)!r} must hold results of form {FORM}", f"got form {form!r}", "Reduce the runs again"
        )
    return _evidence(record)


def _check_alone(store: RecordStore, ids: set[str]) -> None:
    """Refuse a folder that does not hold exactly one set of results."""
    if len(ids) != 1:
        raise InputError(
            f"{str(store.folder)!r} must hold one set of results",
            f"there are {len(ids)}" if ids else "there is none",
            "Delete the others, or use another folder" if ids else "Reduce runs into it",
        )


def _arrays(evidence: Evidence) -> dict[str, npt.NDArray[Any]]:
    runs, names = evidence.runs, sorted(evidence.numbers)
    return {
        "methods": np.array([run.method for run in runs]),
        "votes": np.array([_ALL_VOTES if run.votes is None else run.votes for run in runs]),
        "holds": np.array([run.hold for run in runs]),
        "seeds": np.array([run.seed for run in runs]),
        "number_names": np.array(names),
        "numbers": np.stack([evidence.numbers[name] for name in names], axis=1),
        "best_log_probs": evidence.log_probs,
        **{f"{_SERIES}{name}": table for name, table in evidence.series.items()},
        **{f"{_ACROSS}{name}": table for name, table in evidence.across.items()},
    }


def _evidence(record: RunRecord) -> Evidence:
    arrays = record.arrays
    keys = zip(*(arrays[name].tolist() for name in ("methods", "votes", "holds", "seeds")), strict=True)
    return Evidence(
        tuple(Run(method, votes or None, hold, seed) for method, votes, hold, seed in keys),
        {str(name): arrays["numbers"][:, place] for place, name in enumerate(arrays["number_names"])},
        _named(arrays, _SERIES),
        _named(arrays, _ACROSS),
        arrays["best_log_probs"],
        {name: str(value) for name, value in record.config.items() if name != "form"},
    )


def _named(arrays: dict[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {name.removeprefix(prefix): table for name, table in arrays.items() if name.startswith(prefix)}
