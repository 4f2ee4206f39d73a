"""What is missing: runs without a current diagnosis, pairs without a current barrier, runs to train again for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from votewise.datasets import OutlierImages
from votewise.experiments.diagnosis_store import (
    barrier_config,
    diagnoses_of,
    diagnosis_config,
    ends_of,
    finished_run,
    has_weights,
    is_loss_of,
    is_of_models,
)
from votewise.experiments.execution import missing_runs
from votewise.experiments.measure import FULL, Plan
from votewise.experiments.run import RunConfig
from votewise.records import RecordStore, RunSummary, run_id

Pair = tuple[RunConfig, RunConfig]


def undiagnosed(
    plans: Mapping[RunConfig, Plan],
    store: RecordStore,
    *,
    outliers: Sequence[OutlierImages] = (),
    retry_failed: bool = False,
) -> dict[RunConfig, Plan]:
    """Runs whose diagnosis is missing, stale or incomplete.

    Args:
        plans: what to measure of each run.
        store: where the runs lie.
        outliers: the out-of-distribution images at hand.
        retry_failed: whether a failed diagnosis counts as missing.
    """
    return {
        config: plan
        for config, plan in plans.items()
        if not _is_diagnosed(config, plan, store, outliers, retry_failed=retry_failed)
    }


def unmeasured(pairs: Sequence[Pair], store: RecordStore, *, retry_failed: bool = False) -> list[Pair]:
    """Pairs whose barrier is missing or stale."""
    return [pair for pair in pairs if not _is_measured(pair, store, retry_failed=retry_failed)]


def to_train_again(
    lacking: Mapping[RunConfig, Plan], pairs: Sequence[Pair], store: RecordStore, *, retry_failed: bool = False
) -> list[RunConfig]:
    """Finished runs whose weights are needed but not attached to their records.

    Weights are needed for runs without a diagnosis or barrier, and for both runs of a pair if either is retrained.

    Args:
        lacking: runs to diagnose, as `undiagnosed` returns them.
        pairs: pairs of runs to measure the loss barrier between.
        store: where the runs lie.
        retry_failed: whether a barrier whose measurement failed counts as missing.
    """
    needed = {config: {"best", *plan.curvature} for config, plan in lacking.items()}
    for config in runs_of(unmeasured(pairs, store, retry_failed=retry_failed)):
        needed.setdefault(config, {"best"})
    again = [config for config, checkpoints in needed.items() if _lost_weights(config, checkpoints, store)]
    missing = missing_runs(runs_of(pairs), store, retry_failed=retry_failed)
    return [*again, *_partners({*again, *missing}, pairs, store)]


def runs_of(pairs: Iterable[Pair]) -> list[RunConfig]:
    """The runs of some pairs, each once."""
    return list(dict.fromkeys(run for pair in pairs for run in pair))


def _is_diagnosed(
    config: RunConfig, plan: Plan, store: RecordStore, outliers: Sequence[OutlierImages], *, retry_failed: bool
) -> bool:
    known, name = diagnoses_of(store), run_id(diagnosis_config(config, plan))
    if not known.has(name):
        return False
    diagnosis = known.read_summary(name)
    if diagnosis.status == "failed":
        return not retry_failed
    run = finished_run(config, store)
    return _is_complete(diagnosis, plan, outliers) and (run is None or is_of_models(diagnosis, run))


def _is_complete(diagnosis: RunSummary, plan: Plan, outliers: Sequence[OutlierImages]) -> bool:
    wanted = [f"{when}/{FULL}/trace" for when in plan.curvature]
    wanted += [f"{images.name}/energy/auroc" for images in outliers if plan.ood]
    return diagnosis.numbers.keys() >= set(wanted)


def _is_measured(pair: Pair, store: RecordStore, *, retry_failed: bool) -> bool:
    known, name = diagnoses_of(store), run_id(barrier_config(*pair))
    if not known.has(name):
        return False
    barrier = known.read(name)
    if barrier.status == "failed":
        return not retry_failed
    runs = [finished_run(config, store) for config in pair]
    return all(run is None or is_loss_of(loss, run) for loss, run in zip(ends_of(barrier), runs, strict=True))


def _partners(trained: set[RunConfig], pairs: Sequence[Pair], store: RecordStore) -> list[RunConfig]:
    """Runs without weights that are paired with one that is trained, directly or through other such runs."""
    found: list[RunConfig] = []
    while True:
        reached = {*trained, *found}
        paired = runs_of(pair for pair in pairs if reached & {*pair})
        more = [run for run in paired if run not in reached and _lost_weights(run, {"best"}, store)]
        if not more:
            return found
        found += more


def _lost_weights(config: RunConfig, checkpoints: set[str], store: RecordStore) -> bool:
    """Whether a run is finished, but weights of some of these checkpoints are not attached to its record."""
    return finished_run(config, store) is not None and not has_weights(config, checkpoints, store)
