"""Doing what a store lacks, in waves: helper runs, runs, and what is left to measure of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from votewise._errors import InputError, VotewiseError
from votewise.data import Outliers
from votewise.data.dataset import Prepared
from votewise.experiments.backends import Backend, Event, Finished, Note, Started, Tell, Training, find_backend
from votewise.experiments.measure import (
    Measurement,
    Plan,
    finished_run_to_measure,
    load_weights_to_measure,
    measurement_store,
    missing_measurements,
    runs_to_repeat,
)
from votewise.experiments.planning import expected_training_items, helper_store, missing_runs, stored_records
from votewise.experiments.run import (
    HelperFailedError,
    Run,
    check_votes_for_runs,
    helpers,
    out_of_fold,
    record_failed_run,
    training_method,
)
from votewise.records import RecordStore, RunRecord


class UnsavedRunsError(VotewiseError):
    """Some records could not be written.

    Attributes:
        reason: the first error.
        records: those of all runs, written or not.
    """

    def __init__(self, store: RecordStore, reason: OSError, records: list[RunRecord]) -> None:
        """Say where, and why."""
        super().__init__(f"some runs were not saved: {reason}. Check space and permissions of {str(store.folder)!r}.")
        self.reason, self.records = reason, records


def ignore(_: Event) -> None:
    """Listen to nothing."""


def execute(
    tasks: Sequence[Run | Measurement],
    data: Prepared,
    store: RecordStore | None = None,
    *,
    backend: Backend | None = None,
    outliers: Sequence[Outliers] = (),
    keep_weights: bool = False,
    retry_failed: bool = False,
    known: Mapping[Run, RunRecord | None] | None = None,
    tell: Tell = ignore,
) -> list[RunRecord]:
    """Do the runs and measurements that a store lacks, store each as it ends, and return the records of all runs.

    What fails leaves a record that says why; the others continue. A run that is to be measured, but whose weights were
    not kept, is trained again and replaces its record. On a CPU runs are done in other processes, so a script must call
    this under `if __name__ == "__main__":`.

    Args:
        tasks: runs, and what to measure of some of them; equal ones are done once.
        data: what the runs are trained on.
        store: where records lie; None to keep nothing.
        backend: where the work is done; chosen by the device if left out.
        outliers: out-of-distribution images for measurements.
        keep_weights: whether to keep the weights of what is trained or measured, instead of only until it is measured.
        retry_failed: whether to repeat what failed.
        known: the stored records, where they have been read already.
        tell: called with what happens, as it happens.

    Returns:
        The record of each run among the tasks, in their order.
    """
    measurements = [task for task in tasks if isinstance(task, Measurement)]
    if measurements and store is None:
        raise InputError("measurements need a store, which keeps weights for them", "got none", "Name a folder")
    runs = list(dict.fromkeys(run for task in tasks for run in ([task] if isinstance(task, Run) else task.runs)))
    known = {} if known is None else known
    unread = stored_records([run for run in runs if run not in known], store)
    keeper = _Keeper(store, {**unread, **known}, tell)
    todo = missing_runs(runs, keeper.records, retry_failed=retry_failed)
    lacking: list[Measurement] = []
    if store is not None and measurements:
        lacking = missing_measurements(measurements, store, outliers=outliers, retry_failed=retry_failed)
        keeper.repeated = runs_to_repeat(lacking, measurements, todo, store)
    wanted = {*todo, *keeper.repeated}
    todo = [run for run in runs if run in wanted]
    check_votes_for_runs(todo, data.votes)
    left_alone = [record for run, record in keeper.records.items() if record is not None and run not in wanted]
    failed = sum(record.status == "failed" for record in left_alone)
    tell(Started(len(runs), len(todo), failed, expected_training_items(todo, data), len(lacking)))

    backend = find_backend() if backend is None else backend
    # One that can keep its workers keeps them from wave to wave.
    with backend if isinstance(backend, AbstractContextManager) else nullcontext():
        trainings = _make_trainings(todo, data, measurements, keeper, backend, keep_weights, retry_failed)
        left: list[Measurement] = []
        try:
            if trainings:
                backend.map(data, trainings, keeper.hear, outliers=outliers)
            if store is not None and measurements:
                lacking = missing_measurements(measurements, store, outliers=outliers, retry_failed=retry_failed)
                left = [each for each in lacking if each.id not in keeper.measured and each.has_weights_in(store)]
                backend.map(data, keeper.with_weights(left, store), keeper.hear, outliers=outliers)
        finally:  # also if interrupted: a later call would not touch weights that it does not need
            if store is not None and measurements and not keep_weights:
                unmade = missing_measurements(measurements, store, outliers=outliers, retry_failed=True)
                needed = {run for each in unmade for run in each.runs}
                for run in {*todo, *(run for each in left for run in each.runs)} - needed:
                    if finished_run_to_measure(run, store):
                        store.detach(run.id)
    records = [record for task in tasks if isinstance(task, Run) and (record := keeper.records[task]) is not None]
    if store is not None and keeper.refused is not None:  # raised only now, so that the other runs could continue
        raise UnsavedRunsError(store, keeper.refused, records)
    return records


class _Keeper:
    """Writes each record as it arrives, and remembers the first error of the system in doing so.

    Attributes:
        store: where records lie.
        records: the record of each run, once there is one.
        repeated: finished runs that are done again; their records are replaced unless they fail.
        measured: ids of what was measured.
        refused: the first error in writing.
    """

    def __init__(self, store: RecordStore | None, records: dict[Run, RunRecord | None], tell: Tell) -> None:
        self.store, self.records, self.tell = store, records, tell
        self.repeated: Sequence[Run] = ()
        self.measured: set[str] = set()
        self.refused: OSError | None = None

    def hear(self, event: Event) -> None:
        """Keep what has ended, and pass everything on."""
        if isinstance(event, Finished):
            try:
                self._keep(event)
            except OSError as error:
                self.refused = self.refused or error
                run = event.task if isinstance(event.task, Run) else event.task.runs[0]
                self.tell(Note(f"the record of {run.label}, seed {run.seed}, was not written: {error}."))
        self.tell(event)

    def with_weights(self, measurements: Iterable[Measurement], store: RecordStore) -> Iterator[Measurement]:
        """The measurements with the weights of their runs, read one by one; damaged ones fail theirs alone."""
        for each in measurements:
            try:
                weights = tuple(load_weights_to_measure(run, store) for run in each.runs)
            except InputError as error:
                record = RunRecord(config=each.config, status="failed", failure=str(error))
                self.hear(Finished(each, record))
            else:
                yield Measurement(each.runs, each.plan, weights)

    def _keep(self, event: Finished) -> None:
        from votewise.training.checkpoint import save_state

        task, record = event.task, event.record
        if isinstance(task, Measurement):
            self.measured.add(task.id)
            if self.store is not None:
                measurement_store(self.store).write(record, replace=True)
            return
        replacing = task in self.repeated and record.status == "done"
        if replacing or task not in self.repeated:
            self.records[task] = record
        if self.store is not None:
            files = {f"{at}.safetensors": partial(save_state, state=state) for at, state in event.weights.items()}
            self.store.write(record, files, replace=replacing)


def _make_trainings(
    todo: Sequence[Run],
    data: Prepared,
    measurements: Sequence[Measurement],
    keeper: _Keeper,
    backend: Backend,
    keep_weights: bool,
    retry_failed: bool,
) -> list[Training]:
    """The runs, once their helper runs are done; a run whose helpers failed has failed, too."""
    helper_runs = list(dict.fromkeys(helper for run in todo for helper in helpers(run)))
    records: list[RunRecord] = []
    if helper_runs:
        store = None if keeper.store is None else helper_store(keeper.store)
        try:
            records = execute(helper_runs, data, store, backend=backend, retry_failed=retry_failed, tell=keeper.tell)
        except UnsavedRunsError as error:
            keeper.refused, records = error.reason, error.records
    record_of = dict(zip(helper_runs, records, strict=True))
    trainings = []
    for run in todo:
        asked = [each for each in measurements if run in each.runs]
        plan = next((each.plan for each in asked if len(each.runs) == 1), Plan())
        try:
            logits = out_of_fold(data, [record_of[helper] for helper in helpers(run)])
        except HelperFailedError as error:
            keeper.hear(Finished(run, record_failed_run(run, error)))
            continue
        # What is measured besides, such as a barrier, is measured once everything is trained.
        keep = keep_weights or len(asked) > (not plan.is_empty)
        trainings.append(Training(run, training_method(run), logits, plan, keep))
    return trainings
