"""Grids of runs, which of them are missing, and how long they will take."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from votewise._checks import check_number, first_few
from votewise._errors import InputError
from votewise.data.dataset import Prepared
from votewise.delivery.methods import METHODS, method_label, parse_method
from votewise.experiments.backends.processes import cores
from votewise.experiments.run import Run, check_votes_for_runs, helpers, train_run
from votewise.records import RecordStore, RunRecord

if TYPE_CHECKING:
    from votewise.training import TrainConfig

# Speed of the engine relative to the plain loop on the same GPU, by precision (docs/performance.md).
_ENGINE_GAIN = {"bf16": 5.0, "fp32": 1.0}

_STEPS = 3


@dataclass(frozen=True)
class Grid:
    """Runs of every method on every seed, number of votes and model. With the same seed only the labels differ.

    Attributes:
        methods: names, perhaps with options ("sls:hold=5"), the baseline first.
        seeds: root seeds.
        votes: numbers of votes per item, redrawn for training; None for the votes as they are.
        models: names of models, perhaps with options; the default of the data's kind if empty, or the encoder that the
            data are prepared for.
        held_out: share of the items that are scored.
        selected: share of the items that choose the best epoch; 0 to choose it on the held-out items.
        folds: n, if the seeds are to hold out every item in turn, n seeds each item once; 0 if each seed draws its own.
        blind: whether splits look at no votes, not even to give each side its share of each majority.
    """

    methods: tuple[str, ...]
    seeds: range
    votes: tuple[int | None, ...] = (None,)
    models: tuple[str, ...] = ()
    held_out: float = 0.2
    selected: float = 0.0
    folds: int = 0
    blind: bool = False

    def __post_init__(self) -> None:
        """Refuse grids that cannot be compared."""
        labels = [method_label(*parse_method(method)) for method in self.methods]
        if not labels:
            raise InputError("a comparison needs at least one method", "got none", f"Name some of {', '.join(METHODS)}")
        if len(set(labels)) < len(labels):
            raise InputError("methods must be different", f"got {first_few(labels)}", "Name each once")
        if not self.seeds:
            raise InputError("a comparison needs at least one seed", "got none", "Pass range(5)")
        check_number("the share held out", self.held_out, 0.01, 0.8)

    def runs(self, data: Prepared, recipe: TrainConfig) -> list[Run]:
        """Every run, seed by seed; votes that a method cannot deliver are refused before anything is trained.

        Args:
            data: what is trained on.
            recipe: the training recipe.
        """
        from votewise.models import default_model, find_model, run_label

        models = self.models or (data.encoder[0] if data.encoder else default_model(data.kind),)
        for model in models:
            if data.encoder is None:  # which made the inputs itself
                find_model(model, data.kind).check(data.inputs.shape[1:])
        if len(data.votes.classes) < 2:
            raise InputError(
                "a comparison needs at least two classes",
                f"the votes have only {first_few(data.votes.classes)}",
                "Name those that nobody chose with classes= (--classes)",
            )
        methods = [parse_method(method) for method in self.methods]
        labels = [run_label(model, data.kind) for model in models]
        runs = [
            Run(
                data.name, data.checksum, name, seed, recipe, model, votes,
                self.held_out, self.selected, self.folds, options=tuple(options.items()), blind=self.blind,
            )
            for seed in self.seeds
            for model in labels
            for votes in self.votes
            for name, options in methods
        ]  # fmt: skip
        check_votes_for_runs(runs, data.votes)
        return runs


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
