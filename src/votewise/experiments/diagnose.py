"""Which models of finished runs are to be measured, doing so, and keeping what came of it.

Each diagnosis is a record of its own, in the folder `diagnostics` of the store, named by the run and by what was
measured. It is made from the weights attached to the run's record, so that it can be made at any later time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from votewise._errors import InputError
from votewise.datasets import OutlierImages
from votewise.experiments.execute import NOBODY, Keeping, Listener, execute, missing_runs
from votewise.experiments.material import Material
from votewise.experiments.measure import FULL, Arrays, Numbers, Plan, Subject, measure_barrier, measure_run
from votewise.experiments.run import RunConfig, choose_device, environment
from votewise.records import RecordStore, RunRecord, RunSummary, run_id

if TYPE_CHECKING:
    from votewise.training.runs import State

# Part of every diagnosis: raised when the same plan would measure something else.
DIAGNOSIS_VERSION = 2

# Part by which the loss of one model differs between the arithmetic of training and that of a measurement, at most.
_SAME_LOSS = 2e-4

# The number of a diagnosis that tells which models it is of: the score of the run that it was measured on.
OF_RUN = "run/soft_nll_best"


def diagnoses_of(store: RecordStore) -> RecordStore:
    """Where the diagnoses of a store's runs lie."""
    return RecordStore(store.folder / "diagnostics")


def diagnosis_config(config: RunConfig, plan: Plan) -> dict[str, Any]:
    """What names the diagnosis of a run."""
    return {"run": config.to_dict(), "plan": plan.to_dict(), "version": DIAGNOSIS_VERSION}


def barrier_config(first: RunConfig, second: RunConfig) -> dict[str, Any]:
    """What names the measurement of the way between the best models of two runs."""
    return {"barrier": [first.to_dict(), second.to_dict()], "version": DIAGNOSIS_VERSION}


def is_loss_of(loss: float, run: RunSummary | RunRecord) -> bool:
    """Whether a loss that was measured of a model is that of a run's best one, but for the arithmetic.

    A run that is done again has other models; what was measured of the former is none of theirs.
    """
    return math.isclose(loss, run.numbers["soft_nll_best"], rel_tol=_SAME_LOSS)


def is_of_models(diagnosis: RunSummary, run: RunSummary) -> bool:
    """Whether a diagnosis is, as far as it tells, of the models whose scores a run has."""
    if OF_RUN in diagnosis.numbers:
        return diagnosis.numbers[OF_RUN] == run.numbers["soft_nll_best"]
    loss = diagnosis.numbers.get(f"best/{FULL}/loss")  # all that diagnoses once told
    return loss is None or is_loss_of(loss, run)


def undiagnosed(
    plans: Mapping[RunConfig, Plan],
    store: RecordStore,
    *,
    outliers: Sequence[OutlierImages] = (),
    retry_failed: bool = False,
) -> dict[RunConfig, Plan]:
    """The runs whose diagnosis the store lacks, has of other models, or has without something there is to measure.

    Args:
        plans: what to measure of which run.
        store: where the runs lie.
        outliers: images of other things that are at hand.
        retry_failed: whether a diagnosis that failed counts as lacking.
    """
    known = diagnoses_of(store)

    def lacks(config: RunConfig, plan: Plan) -> bool:
        name = run_id(diagnosis_config(config, plan))
        if not known.has(name):
            return True
        found = known.read_summary(name)
        if found.status == "failed":
            return retry_failed
        wanted = [f"{when}/{FULL}/trace" for when in plan.curvature]
        wanted += [f"{other.name}/energy/auroc" for other in outliers if plan.unknown]
        run = _finished(config, store)
        stale = run is not None and not is_of_models(found, run)
        return stale or not found.numbers.keys() >= set(wanted)

    return {config: plan for config, plan in plans.items() if lacks(config, plan)}


def unmeasured(
    pairs: Sequence[tuple[RunConfig, RunConfig]], store: RecordStore, *, retry_failed: bool = False
) -> list[tuple[RunConfig, RunConfig]]:
    """The pairs of runs the way between which the store lacks, or has of other models."""
    known = diagnoses_of(store)

    def lacks(pair: tuple[RunConfig, RunConfig]) -> bool:
        name = run_id(barrier_config(*pair))
        if not known.has(name):
            return True
        found = known.read(name)
        if found.status == "failed":
            return retry_failed
        runs = [_finished(config, store) for config in pair]
        return not all(run is None or is_loss_of(loss, run) for loss, run in zip(ends_of(found), runs, strict=True))

    return [pair for pair in pairs if lacks(pair)]


def ends_of(barrier: RunRecord) -> tuple[float, float]:
    """The losses of the two models that a barrier lies between."""
    losses = barrier.arrays["plain_losses"]
    return float(losses[0]), float(losses[-1])


def run_and_diagnose(
    plans: Mapping[RunConfig, Plan],
    pairs: Sequence[tuple[RunConfig, RunConfig]],
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
    """Do the runs that a store lacks, and every diagnosis it lacks; the records of the runs.

    Weights are attached to records until everything is measured; those of runs that are neither trained nor measured
    are left as they are. A run that must be diagnosed and has none is trained again and replaces its record, so that
    the two belong together.

    Args:
        plans: the runs, and what to measure of each.
        pairs: of runs, to measure the way between them.
        material: what they are made of.
        store: where records lie.
        common_epoch: the epoch, counted from 0, of the checkpoint "common".
        keep_models: whether the weights of what is trained or measured stay attached.
        outliers: images of other things.
        device: "cpu", "cuda" or "auto".
        jobs: processes on a CPU, all cores if left out; runs at once on a GPU.
        retry_failed: whether to do failed runs again.
        listener: who is told.
    """
    _check_common_epoch(plans, common_epoch)
    how: dict[str, Any] = {"outliers": outliers, "retry_failed": retry_failed}
    anew = to_train_again(undiagnosed(plans, store, **how), pairs, store, retry_failed=retry_failed)
    trained = [*missing_runs(list(plans), store, retry_failed=retry_failed), *anew]
    keeping = Keeping(models=True, epoch=common_epoch, anew=frozenset(anew))
    records = execute(
        list(plans), material, store,
        device=device, jobs=jobs, retry_failed=retry_failed, keeping=keeping, listener=listener,
    )  # fmt: skip
    lacking, between = undiagnosed(plans, store, **how), unmeasured(pairs, store, retry_failed=retry_failed)
    try:
        diagnose(lacking, material, store, outliers=outliers, device=device, listener=listener)
        measure_barriers(between, material, store, device=device, listener=listener)
    finally:  # also if interrupted: a later call leaves alone what it has no need to measure
        if not keep_models:
            theirs = plans.keys() & {*trained, *lacking, *_runs_of(between)}
            for config in theirs - _still_wanted(plans, pairs, store, outliers):
                store.detach(run_id(config.to_dict()))
    return records


def _check_common_epoch(plans: Mapping[RunConfig, Plan], common_epoch: int | None) -> None:
    if common_epoch is None and any("common" in plan.curvature for plan in plans.values()):
        raise InputError('a plan for the checkpoint "common" needs the epoch it is of', "got none", "Pass common_epoch")


def _still_wanted(
    plans: Mapping[RunConfig, Plan],
    pairs: Sequence[tuple[RunConfig, RunConfig]],
    store: RecordStore,
    outliers: Sequence[OutlierImages],
) -> set[RunConfig]:
    """Runs of which something failed to be measured: with their weights it can be tried again."""
    between = unmeasured(pairs, store, retry_failed=True)
    return {*undiagnosed(plans, store, outliers=outliers, retry_failed=True), *_runs_of(between)}


def to_train_again(
    lacking: Mapping[RunConfig, Plan],
    pairs: Sequence[tuple[RunConfig, RunConfig]],
    store: RecordStore,
    *,
    retry_failed: bool = False,
) -> list[RunConfig]:
    """Finished runs whose weights are wanted and not attached to their records.

    They are wanted of runs that lack a diagnosis or the way to another run, and of both runs of a pair of which one is
    trained: the way to other models is another way.

    Args:
        lacking: runs to diagnose, as of `undiagnosed`.
        pairs: of runs, to measure the way between them.
        store: where they lie.
        retry_failed: whether a way whose measurement failed counts as lacking.
    """
    wanted = {config: {"best", *plan.curvature} for config, plan in lacking.items()}
    for config in _runs_of(unmeasured(pairs, store, retry_failed=retry_failed)):
        wanted.setdefault(config, {"best"})
    again = [config for config, states in wanted.items() if _lacks_weights(config, states, store)]
    missing = missing_runs(_runs_of(pairs), store, retry_failed=retry_failed)
    return [*again, *_partners({*again, *missing}, pairs, store)]


def _partners(
    trained: set[RunConfig], pairs: Sequence[tuple[RunConfig, RunConfig]], store: RecordStore
) -> list[RunConfig]:
    """The runs without weights that are paired with one that is trained, or with one of these."""
    touched = _runs_of([pair for pair in pairs if trained & {*pair}])
    more = [run for run in touched if run not in trained and _lacks_weights(run, {"best"}, store)]
    return [*more, *_partners({*trained, *more}, pairs, store)] if more else []


def _runs_of(pairs: Sequence[tuple[RunConfig, RunConfig]]) -> list[RunConfig]:
    return list(dict.fromkeys(run for pair in pairs for run in pair))


def diagnose(
    plans: Mapping[RunConfig, Plan],
    material: Material,
    store: RecordStore,
    *,
    outliers: Sequence[OutlierImages] = (),
    device: str = "auto",
    listener: Listener = NOBODY,
) -> None:
    """Diagnose finished runs from the weights attached to their records; those without weights are left out.

    What fails leaves a record that says why; the others go on.

    Args:
        plans: what to measure of which run.
        material: what the runs were made of.
        store: where they lie.
        outliers: images of other things, for the plans that want them.
        device: "cpu", "cuda" or "auto".
        listener: who is told.
    """
    chosen = choose_device(device)
    for config, plan in plans.items():
        if _has_models(config, store):
            subject = Subject(config, material, chosen)
            work = partial(_diagnose_attached, subject, store, plan, outliers)
            _record_of(diagnosis_config(config, plan), work, store, chosen, listener)


def measure_barriers(
    pairs: Sequence[tuple[RunConfig, RunConfig]],
    material: Material,
    store: RecordStore,
    *,
    device: str = "auto",
    listener: Listener = NOBODY,
) -> None:
    """Measure the loss between the best models of pairs of runs of one seed; those without weights are left out.

    What fails leaves a record that says why; the others go on.

    Args:
        pairs: of runs.
        material: what they were made of.
        store: where they lie, with their weights attached.
        device: "cpu", "cuda" or "auto".
        listener: who is told.
    """
    chosen = choose_device(device)
    for pair in pairs:
        if all(_has_models(run, store) for run in pair):
            work = partial(_barrier_between, pair, store, Subject(pair[0], material, chosen))
            _record_of(barrier_config(*pair), work, store, chosen, listener)


def _diagnose_attached(
    subject: Subject, store: RecordStore, plan: Plan, outliers: Sequence[OutlierImages]
) -> tuple[Numbers, Arrays]:
    numbers, arrays = measure_run(subject, _attached_states(subject.config, store), plan, outliers)
    run = store.read_summary(run_id(subject.config.to_dict()))
    return {**numbers, OF_RUN: run.numbers["soft_nll_best"]}, arrays


def _barrier_between(pair: tuple[RunConfig, RunConfig], store: RecordStore, subject: Subject) -> tuple[Numbers, Arrays]:
    return measure_barrier(subject, [_attached_states(run, store)["best"] for run in pair])


def _record_of(
    config: dict[str, Any],
    work: Callable[[], tuple[Numbers, Arrays]],
    store: RecordStore,
    device: str,
    listener: Listener,
) -> None:
    """Do a diagnosis and keep what came of it, be it a reason why nothing did."""
    start = time.perf_counter()
    numbers: Numbers = {}
    arrays: Arrays = {}
    failure = None
    try:
        numbers, arrays = work()
    except (InputError, RuntimeError) as error:  # RuntimeError is what torch raises, of a GPU without memory too
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


def _finished(config: RunConfig, store: RecordStore) -> RunSummary | None:
    """The record of a run that came to its end; None if it did not, is not there, or is damaged."""
    try:
        summary = store.read_summary(run_id(config.to_dict()))
    except InputError:
        return None
    return summary if summary.status == "done" else None


def _attached(config: RunConfig, store: RecordStore) -> set[str]:
    return set(store.attached(run_id(config.to_dict())))


def _lacks_weights(config: RunConfig, states: set[str], store: RecordStore) -> bool:
    """Whether a run is finished, but some of the weights of its checkpoints are not attached to its record."""
    files = {f"{state}.safetensors" for state in states}
    return _finished(config, store) is not None and not files <= _attached(config, store)


def _has_models(config: RunConfig, store: RecordStore) -> bool:
    return _finished(config, store) is not None and "best.safetensors" in _attached(config, store)


def _attached_states(config: RunConfig, store: RecordStore) -> dict[str, State]:
    from votewise.training.checkpoint import load_state

    run = run_id(config.to_dict())
    return {name.removesuffix(".safetensors"): load_state(store.attachment(run, name)) for name in store.attached(run)}
