"""Estimate how long runs will take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from votewise.experiments.material import Material
from votewise.experiments.processes import cores
from votewise.experiments.run import RunConfig, split_items, train_run
from votewise.records import RecordStore

# Speed of the engine relative to the plain loop on the same GPU, by precision (docs/performance.md).
_ENGINE_GAIN = {"bf16": 5.0, "fp32": 1.0}

_STEPS = 3


def expected_seconds(
    configs: Sequence[RunConfig], material: Material, store: RecordStore | None, *, device: str, jobs: int | None
) -> float:
    """Seconds that runs will take, from finished runs in the store or else from a few steps of training.

    Args:
        configs: the runs.
        material: their data.
        store: where earlier runs may lie.
        device: "cpu" or "cuda".
        jobs: processes on a CPU; all cores if left out.
    """
    if not configs:
        return 0.0
    images = sum(training_images(config, material) for config in configs)
    rate = _known_rate(configs[0], material, store, device) or _measured_rate(configs[0], material, device)
    at_once = min(jobs or cores(), len(configs)) if device == "cpu" else 1
    return images / (rate * at_once)


def training_images(config: RunConfig, material: Material) -> int:
    """How many training items a run processes over all its epochs."""
    return len(split_items(config, material).train) * config.recipe.epochs


def _known_rate(config: RunConfig, material: Material, store: RecordStore | None, device: str) -> float | None:
    """Items per second on one process or GPU in finished runs of the same model and recipe."""
    if store is None:
        return None
    rates = [
        training_images(config, material) * summary.timing["at_once"] / summary.timing["seconds"]
        for summary in store.survey()[0]
        if summary.status == "done"
        and summary.environment.get("device_kind") == device
        and all(summary.config.get(name) == config.to_dict()[name] for name in ("model", "recipe", "data"))
    ]
    return float(np.median(rates)) if rates else None


def _measured_rate(config: RunConfig, material: Material, device: str) -> float:
    """Items per second over a few steps of the plain loop, times the speedup of the engine on a GPU."""
    items = min(config.recipe.batch_size * _STEPS, material.votes.n_items)
    part = material.take(np.arange(items))
    short = replace(config, recipe=replace(config.recipe, epochs=1))
    train_run(short, part.take(np.arange(min(items, config.recipe.batch_size))), device=device)  # warms up
    start = time.perf_counter()
    train_run(short, part, device=device)
    rate = items / (time.perf_counter() - start)
    return rate * _ENGINE_GAIN[config.recipe.precision] if device == "cuda" else rate
