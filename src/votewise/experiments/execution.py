"""Many runs, on a GPU or on all cores: those that are missing, each stored as it ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from votewise._errors import DivergedError, InputError
from votewise.experiments.material import Material
from votewise.experiments.processes import ended_unexpectedly, in_processes, tick
from votewise.experiments.run import (
    Models,
    RunConfig,
    choose_device,
    make_job,
    make_record,
    model_maker,
    models_of,
    split_items,
    train_run_with_models,
)
from votewise.records import RecordStore, RunRecord, run_id

if TYPE_CHECKING:
    from votewise.training import Trained


@dataclass(frozen=True)
class Listener:
    """Callbacks for progress and results; each may be left out.

    Attributes:
        on_done: called with each record as its run ends.
        on_images: called with the number of training images processed since the last call.
        on_diagnosis: called with the record of each diagnosis as it ends.
        on_note: called with what a user should know.
    """

    on_done: Callable[[RunRecord], None] = lambda _: None
    on_images: Callable[[int], None] = lambda _: None
    on_diagnosis: Callable[[RunRecord], None] = lambda _: None
    on_note: Callable[[str], None] = lambda _: None


NOBODY = Listener()


def missing_runs(
    configs: Sequence[RunConfig], store: RecordStore | None, *, retry_failed: bool = False
) -> list[RunConfig]:
    """The configs, each once, without a readable record in the store; failed ones count as done unless retried."""
    different = list(dict.fromkeys(configs))
    if store is None:
        return different
    return [config for config in different if not _is_known(store, config, retry_failed)]


@dataclass(frozen=True)
class Keeping:
    """What to keep of runs besides their records.

    Attributes:
        models: whether to attach their weights to the records, as "best.safetensors" and so on.
        epoch: an epoch, counted from 0, whose weights are kept as "common.safetensors" besides the best and the last.
        again: runs to repeat although they are there; they replace what is there unless they fail.
    """

    models: bool = False
    epoch: int | None = None
    again: frozenset[RunConfig] = frozenset()


RECORDS_ALONE = Keeping()


def execute(
    configs: Sequence[RunConfig],
    material: Material,
    store: RecordStore | None = None,
    *,
    device: str = "auto",
    jobs: int | None = None,
    retry_failed: bool = False,
    keeping: Keeping = RECORDS_ALONE,
    listener: Listener = NOBODY,
) -> list[RunRecord]:
    """Do the runs that a store lacks, store each as it ends, and return the records of all.

    A run that fails leaves a record that says why; the others continue. On a CPU runs are done in other processes, so
    a script must call this under `if __name__ == "__main__":`.

    Args:
        configs: the runs; equal ones are done once.
        material: their data.
        store: where records lie; None to keep nothing.
        device: "cpu", "cuda" or "auto".
        jobs: processes on a CPU, all cores if left out; runs at once on a GPU.
        retry_failed: whether to repeat failed runs.
        keeping: what to keep besides the records.
        listener: gets progress and results.
    """
    keeper = _Keeper(store, keeping, listener)
    missing = set(missing_runs(configs, store, retry_failed=retry_failed)) | keeping.again
    todo = [config for config in dict.fromkeys(configs) if config in missing]
    if todo:
        work = _on_gpu if choose_device(device) == "cuda" else _on_cores
        work(todo, material, jobs, listener, keeper)
    if keeper.refused is not None:  # raised only now, so that the other runs could continue
        raise keeper.refused
    return [_record(config, keeper.done, store) for config in configs]


class _Keeper:
    """Writes each record as it arrives, and remembers the first error of the system in doing so."""

    def __init__(self, store: RecordStore | None, keeping: Keeping, listener: Listener) -> None:
        self.store, self.keeping, self.listener = store, keeping, listener
        self.done: dict[RunConfig, RunRecord] = {}
        self.refused: OSError | None = None

    def keep(self, config: RunConfig, record: RunRecord, models: Models) -> None:
        self.done[config] = record
        replacing = config in self.keeping.again and record.status == "done"
        try:
            if self.store is not None:
                self.store.write(record, self._files(models), replace=replacing)
        except OSError as error:
            self.refused = self.refused or error
            self.listener.on_note(f"the record of {config.method}, seed {config.seed}, was not written: {error}.")
        self.listener.on_done(record)

    def _files(self, models: Models) -> dict[str, Callable[[Path], None]]:
        from votewise.training.checkpoint import save_state

        kept = models if self.keeping.models else {}
        return {f"{when}.safetensors": partial(save_state, state=state) for when, state in kept.items()}


def _record(config: RunConfig, done: dict[RunConfig, RunRecord], store: RecordStore | None) -> RunRecord:
    """The stored record; after a failed repeat this is still the earlier finished one."""
    return done[config] if store is None else store.read(run_id(config.to_dict()))


def _is_known(store: RecordStore, config: RunConfig, retry_failed: bool) -> bool:
    try:
        return store.read(run_id(config.to_dict())).status == "done" or not retry_failed
    except InputError:  # missing or damaged
        return False


def _on_cores(
    configs: Sequence[RunConfig], material: Material, jobs: int | None, listener: Listener, keeper: _Keeper
) -> None:
    """Each run in a process of its own, with the plain loop."""
    seen = 0

    def count(images: int) -> None:
        nonlocal seen
        listener.on_images(images - seen)
        seen = images

    futures = in_processes(
        partial(_train_in_worker, keeping=replace(keeper.keeping, again=frozenset())),
        configs,
        jobs=jobs,
        setup=_set_material,
        setup_arguments=(material,),
        on_ticks=count,
    )
    broken = False
    for place, future in futures:
        try:
            keeper.keep(configs[place], *future.result())
        except BrokenProcessPool:  # raised for all that are unfinished; finished ones may still follow
            broken = True
    if broken:
        raise ended_unexpectedly("Finished runs are kept; add that line, or call again with fewer jobs.")


_material: Material | None = None  # of this worker process


def _set_material(material: Material) -> None:
    global _material
    _material = material


def _train_in_worker(config: RunConfig, keeping: Keeping) -> tuple[RunRecord, Models]:
    assert _material is not None
    count = partial(tick, _training_items(config, _material))
    record, models = train_run_with_models(config, _material, keep_epoch=keeping.epoch, on_epoch=count)
    return record, models if keeping.models else {}


def _on_gpu(
    configs: Sequence[RunConfig], material: Material, at_once: int | None, listener: Listener, keeper: _Keeper
) -> None:
    """Runs of one model, recipe and split together, several at once; scored and stored while the next ones train."""
    import torch

    from votewise.training import build_model, train_jobs
    from votewise.training.engine import AT_ONCE
    from votewise.training.networks import has_dropout

    inputs = torch.tensor(material.inputs)

    def score_and_keep(config: RunConfig, outcome: Trained | DivergedError, seconds: float, beside: int) -> None:
        record = make_record(config, material, outcome, seconds=seconds, device="cuda", at_once=beside)
        keeper.keep(config, record, models_of(outcome))

    with ThreadPoolExecutor(1) as scorer:
        for group in _in_groups(configs):
            make, items = model_maker(group[0], material), _training_items(group[0], material)
            if has_dropout(build_model(make, seed=0)):
                _one_by_one(group, material, partial(listener.on_images, items), keeper)
                continue
            outcomes = train_jobs(
                make,
                inputs,
                [make_job(config, material) for config in group],
                group[0].recipe,
                at_once=at_once or AT_ONCE,
                keep_epoch=keeper.keeping.epoch,
                on_epoch=partial(_count_epoch, listener, items),
                on_note=listener.on_note,
            )
            scored = [
                scorer.submit(score_and_keep, group[place], outcome, seconds, beside)
                for place, outcome, seconds, beside in outcomes
            ]
            for future in scored:
                future.result()


def _one_by_one(
    configs: Sequence[RunConfig], material: Material, on_epoch: Callable[[], None], keeper: _Keeper
) -> None:
    for config in configs:
        epoch = keeper.keeping.epoch
        keeper.keep(
            config, *train_run_with_models(config, material, device="cuda", keep_epoch=epoch, on_epoch=on_epoch)
        )


def _count_epoch(listener: Listener, images: int, _place: int) -> None:
    listener.on_images(images)


def _in_groups(configs: Sequence[RunConfig]) -> list[list[RunConfig]]:
    groups: dict[Any, list[RunConfig]] = {}
    for config in configs:
        groups.setdefault((config.model, config.recipe, config.held_out, config.selected), []).append(config)
    return list(groups.values())


def _training_items(config: RunConfig, material: Material) -> int:
    return len(split_items(config, material).train)
