"""Stored diagnoses: where they lie, what identifies them, and which models they were measured on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from votewise._errors import InputError
from votewise.experiments.measure import FULL, Plan
from votewise.experiments.run import RunConfig
from votewise.records import RecordStore, RunRecord, RunSummary, run_id

if TYPE_CHECKING:
    from votewise.training.runs import State

# Part of every diagnosis: raised when the same plan would measure something else.
DIAGNOSIS_VERSION = 2

# Largest relative difference allowed between a loss recorded in training and the same loss recomputed.
_SAME_LOSS = 2e-4

# The number in a diagnosis that identifies the models it was measured on: the score of their run.
OF_RUN = "run/soft_nll_best"

_WEIGHTS = ".safetensors"


def diagnoses_of(store: RecordStore) -> RecordStore:
    """Where the diagnoses of a store's runs lie."""
    return RecordStore(store.folder / "diagnostics")


def diagnosis_config(config: RunConfig, plan: Plan) -> dict[str, Any]:
    """Config that identifies the diagnosis of a run."""
    return {"run": config.to_dict(), "plan": plan.to_dict(), "version": DIAGNOSIS_VERSION}


def barrier_config(first: RunConfig, second: RunConfig) -> dict[str, Any]:
    """Config that identifies the loss barrier between two runs' best models."""
    return {"barrier": [first.to_dict(), second.to_dict()], "version": DIAGNOSIS_VERSION}


def is_loss_of(loss: float, run: RunSummary | RunRecord) -> bool:
    """Whether a measured loss is that of a run's best model, up to rounding.

    Retraining gives new weights, so earlier measurements no longer apply.
    """
    return math.isclose(loss, run.numbers["soft_nll_best"], rel_tol=_SAME_LOSS)


def is_of_models(diagnosis: RunSummary, run: RunSummary) -> bool:
    """Whether a diagnosis was measured on the models that a run has now, as far as it says."""
    if OF_RUN in diagnosis.numbers:
        return diagnosis.numbers[OF_RUN] == run.numbers["soft_nll_best"]
    loss = diagnosis.numbers.get(f"best/{FULL}/loss")  # all that earlier releases stored
    return loss is None or is_loss_of(loss, run)


def ends_of(barrier: RunRecord) -> tuple[float, float]:
    """The losses of the two models that a barrier was measured between."""
    losses = barrier.arrays["plain_losses"]
    return float(losses[0]), float(losses[-1])


def finished_run(config: RunConfig, store: RecordStore) -> RunSummary | None:
    """The record of a finished run; None if it failed, is missing or is damaged."""
    try:
        summary = store.read_summary(run_id(config.to_dict()))
    except InputError:
        return None
    return summary if summary.status == "done" else None


def has_weights(config: RunConfig, checkpoints: set[str], store: RecordStore) -> bool:
    """Whether the weights of all these checkpoints are attached to the record of a run that is there."""
    return {f"{name}{_WEIGHTS}" for name in checkpoints} <= {*store.attached(run_id(config.to_dict()))}


def load_weights(config: RunConfig, store: RecordStore) -> dict[str, State]:
    """The weights attached to a run's record, by checkpoint."""
    from votewise.training.checkpoint import load_state

    run = run_id(config.to_dict())
    return {name.removesuffix(_WEIGHTS): load_state(store.attachment(run, name)) for name in store.attached(run)}
