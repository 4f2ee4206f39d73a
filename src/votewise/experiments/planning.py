"""What a store lacks of some runs, and how long that will take."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from votewise._errors import InputError
from votewise.data.dataset import Prepared
from votewise.experiments.backends.processes import cores
from votewise.experiments.run import Run, helpers, train_run
from votewise.records import RecordStore, RunRecord

# Speed of the engine relative to the plain loop on the same GPU, by precision (docs/performance.md).
_ENGINE_GAIN = {"bf16": 5.0, "fp32": 1.0}

_STEPS = 3  # of training, from which the time of all is estimated


def helper_store(store: RecordStore) -> RecordStore:
    """Where the records of the helper runs of a store's runs lie."""
    return RecordStore(store.folder / "helpers")


def stored_records(runs: Iterable[Run], store: RecordStore | None) -> dict[Run, RunRecord | None]:
    """The record of each run, read in full; None where it is missing or damaged."""
    records: dict[Run, RunRecord | None] = {}
    for run in runs:
        try:
            records[run] = None if store is None else store.read(run.id)
        except InputError:
            records[run] = None
    return records


def missing_runs(
    runs: Iterable[Run], store: RecordStore | Mapping[Run, RunRecord | None] | None, *, retry_failed: bool = False
) -> list[Run]:
    """The runs, each once, without a readable record; failed ones count as done unless retried.

    Args:
        runs: the runs, in any order.
        store: where records lie, or the records themselves.
        retry_failed: whether failed runs are missing.
    """
    records = store if isinstance(store, Mapping) else stored_records(dict.fromkeys(runs), store)
    return [
        run
        for run in dict.fromkeys(runs)
        if (record := records[run]) is None or (retry_failed and record.status == "failed")
    ]


def missing_helper_runs(runs: Iterable[Run], store: RecordStore | None, *, retry_failed: bool = False) -> list[Run]:
    """The helper runs that must be done before these runs."""
    needed = [helper for run in runs for helper in helpers(run)]
    known = None if store is None or not needed else helper_store(store)
    return missing_runs(needed, known, retry_failed=retry_failed)


def expected_training_items(runs: Sequence[Run], data: Prepared) -> int:
    """About how many training items some runs pass over all their epochs; splits round to whole items."""
    return sum(round(run.training_share * data.votes.n_items) * run.recipe.epochs for run in runs)


def expected_seconds(
    runs: Sequence[Run], data: Prepared, store: RecordStore | None, *, device: str, jobs: int | None
) -> float:
    """Seconds that runs will take, from finished runs in the store or else from a few steps of training.

    Args:
        runs: the runs.
        data: what they are trained on.
        store: where earlier runs may lie.
        device: "cpu" or "cuda".
        jobs: processes on a CPU; all cores if left out.
    """
    if not runs:
        return 0.0
    items = expected_training_items([*missing_helper_runs(runs, store), *runs], data)
    rate = _rate_of_finished_runs(runs[0], data, store, device) or _measured_rate(runs[0], data, device)
    at_once = min(jobs or cores(), len(runs)) if device == "cpu" else 1
    return items / (rate * at_once)


def _rate_of_finished_runs(run: Run, data: Prepared, store: RecordStore | None, device: str) -> float | None:
    """Items per second on one process or GPU in finished runs of the same model and recipe."""
    if store is None:
        return None
    config = run.to_dict()
    alike = [
        summary
        for summary in store.survey()[0]
        if summary.status == "done"
        and summary.environment.get("device_kind") == device
        and all(summary.config.get(name) == config[name] for name in ("model", "recipe", "data"))
    ]
    rates = [
        expected_training_items([Run.from_dict(one.config)], data) * one.timing["at_once"] / one.timing["seconds"]
        for one in alike
    ]
    return float(np.median(rates)) if rates else None


def _measured_rate(run: Run, data: Prepared, device: str) -> float:
    """Items per second over a few steps of the plain loop, times the speedup of the engine on a GPU."""
    items = min(run.recipe.batch_size * _STEPS, data.votes.n_items)
    part = data.take(np.arange(items))
    # Soft labels, since a method may need helper runs of its own.
    short = replace(run, method="soft", options=(), folds=0, recipe=replace(run.recipe, epochs=1))
    train_run(short, part.take(np.arange(min(items, run.recipe.batch_size))), device=device)  # warms up
    start = time.perf_counter()
    train_run(short, part, device=device)
    rate = items / (time.perf_counter() - start)
    return rate * _ENGINE_GAIN[run.recipe.precision] if device == "cuda" else rate
