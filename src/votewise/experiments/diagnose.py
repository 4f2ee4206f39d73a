"""Run diagnostics on the models of finished runs and store the results.

Each diagnosis is a record of its own in the store's folder `diagnostics`, identified by the run and by what was
measured. It needs only the weights attached to the run's record, so it can be made at any later time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from votewise._errors import InputError
from votewise.datasets import OutlierImages
from votewise.experiments.diagnosis_plan import Pair, runs_of, to_train_again, undiagnosed, unmeasured
from votewise.experiments.diagnosis_store import (
    OF_RUN,
    barrier_config,
    diagnoses_of,
    diagnosis_config,
    finished_run,
    has_weights,
    load_weights,
)
from votewise.experiments.execution import NOBODY, Keeping, Listener, execute, missing_runs
from votewise.experiments.material import Material
from votewise.experiments.measure import Arrays, Numbers, Plan, Subject, measure_barrier, measure_run
from votewise.experiments.run import RunConfig, choose_device, environment
from votewise.records import RecordStore, RunRecord, run_id


def run_and_diagnose(
    plans: Mapping[RunConfig, Plan],
    pairs: Sequence[Pair],
    material: Material,
    store: RecordStore,
    *,
    common_epoch: int | None = None,
    keep_models: bool = False,
    outliers: Sequence[OutlierImages] = (),
    device: str = "auto",
    jobs: int | None = None,
    retry_failed: bool = False,
    listener: Listener = NOBODY,
) -> list[RunRecord]:
    """Do the runs and diagnoses that a store lacks, and return the records of all runs.

    Weights stay attached to records until everything is measured; those of runs that are neither trained nor measured
    are left as they are. A run that needs a diagnosis but has no weights is trained again and replaces its record, so
    that the two belong together.

    Args:
        plans: the runs, and what to measure of each.
        pairs: pairs of runs to measure the loss barrier between.
        material: the data of the runs.
        store: where records lie.
        common_epoch: the epoch, counted from 0, of the checkpoint "common".
        keep_models: whether to keep the weights of what is trained or measured.
        outliers: out-of-distribution images.
        device: "cpu", "cuda" or "auto".
        jobs: processes on a CPU, all cores if left out; runs at once on a GPU.
        retry_failed: whether to repeat failed runs and diagnoses.
        listener: gets progress and results.
    """
    if common_epoch is None and any("common" in plan.curvature for plan in plans.values()):
        raise InputError('a plan for the checkpoint "common" needs its epoch', "got none", "Pass common_epoch")
    lacking = undiagnosed(plans, store, outliers=outliers, retry_failed=retry_failed)
    again = to_train_again(lacking, pairs, store, retry_failed=retry_failed)
    trained = [*missing_runs(list(plans), store, retry_failed=retry_failed), *again]
    keeping = Keeping(models=True, epoch=common_epoch, again=frozenset(again))
    records = execute(
        list(plans), material, store,
        device=device, jobs=jobs, retry_failed=retry_failed, keeping=keeping, listener=listener,
    )  # fmt: skip
    lacking = undiagnosed(plans, store, outliers=outliers, retry_failed=retry_failed)
    unmeasured_pairs = unmeasured(pairs, store, retry_failed=retry_failed)
    try:
        diagnose(lacking, material, store, outliers=outliers, device=device, listener=listener)
        measure_barriers(unmeasured_pairs, material, store, device=device, listener=listener)
    finally:  # also if interrupted: a later call would not touch weights it does not need
        if not keep_models:
            touched = plans.keys() & {*trained, *lacking, *runs_of(unmeasured_pairs)}
            for config in touched - _still_needed(plans, pairs, store, outliers):
                store.detach(run_id(config.to_dict()))
    return records


def _still_needed(
    plans: Mapping[RunConfig, Plan], pairs: Sequence[Pair], store: RecordStore, outliers: Sequence[OutlierImages]
) -> set[RunConfig]:
    """Runs with a missing or failed measurement, which can be repeated while their weights are there."""
    lacking = undiagnosed(plans, store, outliers=outliers, retry_failed=True)
    return {*lacking, *runs_of(unmeasured(pairs, store, retry_failed=True))}


def diagnose(
    plans: Mapping[RunConfig, Plan],
    material: Material,
    store: RecordStore,
    *,
    outliers: Sequence[OutlierImages] = (),
    device: str = "auto",
    listener: Listener = NOBODY,
) -> None:
    """Diagnose finished runs from the weights attached to their records; runs without weights are skipped.

    A diagnosis that fails leaves a record that says why; the others continue.

    Args:
        plans: what to measure of each run.
        material: the data of the runs.
        store: where the runs lie.
        outliers: out-of-distribution images, for the plans that want them.
        device: "cpu", "cuda" or "auto".
        listener: gets the record of each diagnosis.
    """
    chosen = choose_device(device)
    for config, plan in plans.items():
        if _has_best_model(config, store):
            work = partial(_measure_stored, Subject(config, material, chosen), store, plan, outliers)
            _measure_and_store(diagnosis_config(config, plan), work, store, chosen, listener)


def measure_barriers(
    pairs: Sequence[Pair],
    material: Material,
    store: RecordStore,
    *,
    device: str = "auto",
    listener: Listener = NOBODY,
) -> None:
    """Measure the loss barrier between the best models of pairs of runs; pairs without weights are skipped.

    A measurement that fails leaves a record that says why; the others continue.

    Args:
        pairs: pairs of runs of one seed.
        material: the data of the runs.
        store: where the runs lie, with their weights attached.
        device: "cpu", "cuda" or "auto".
        listener: gets the record of each measurement.
    """
    chosen = choose_device(device)
    for pair in pairs:
        if all(_has_best_model(config, store) for config in pair):
            work = partial(_measure_stored_pair, pair, Subject(pair[0], material, chosen), store)
            _measure_and_store(barrier_config(*pair), work, store, chosen, listener)


def _has_best_model(config: RunConfig, store: RecordStore) -> bool:
    return finished_run(config, store) is not None and has_weights(config, {"best"}, store)


def _measure_stored(
    subject: Subject, store: RecordStore, plan: Plan, outliers: Sequence[OutlierImages]
) -> tuple[Numbers, Arrays]:
    numbers, arrays = measure_run(subject, load_weights(subject.config, store), plan, outliers)
    run = store.read_summary(run_id(subject.config.to_dict()))
    return {**numbers, OF_RUN: run.numbers["soft_nll_best"]}, arrays


def _measure_stored_pair(pair: Pair, subject: Subject, store: RecordStore) -> tuple[Numbers, Arrays]:
    return measure_barrier(subject, [load_weights(config, store)["best"] for config in pair])


def _measure_and_store(
    config: dict[str, Any],
    work: Callable[[], tuple[Numbers, Arrays]],
    store: RecordStore,
    device: str,
    listener: Listener,
) -> None:
    """Run a diagnosis and store its result, or why it failed."""
    start = time.perf_counter()
    numbers: Numbers = {}
    arrays: Arrays = {}
    failure = None
    try:
        numbers, arrays = work()
    except (InputError, RuntimeError) as error:  # RuntimeError is what torch raises, also when a GPU is out of memory
        failure = str(error)
    record = RunRecord(
        config=config,
        status="done" if failure is None else "failed",
        failure=failure,
        numbers=numbers,
        arrays=arrays,
        environment=environment(device),
        timing={"seconds": time.perf_counter() - start},
    )
    diagnoses_of(store).write(record, replace=True)
    listener.on_diagnosis(record)
