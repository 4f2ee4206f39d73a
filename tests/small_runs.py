"""Runs that take a moment: votes, inputs and jobs of a few dozen items."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from votewise import Delivery, Soft, Votes
from votewise.data.dataset import Prepared
from votewise.delivery.methods import Method
from votewise.experiments.backends import Event, Progress, Task, Tell, Training
from votewise.experiments.backends.device import Device
from votewise.experiments.run import Run, softmax, split_items
from votewise.targets import Targets
from votewise.training import Job, TrainConfig, Trained

N_ITEMS = 70
IMAGES = TrainConfig(
    epochs=3, batch_size=16, optimizer="sgd", learning_rate=0.05, crop=2, flip=True, mean=(0.5,) * 3, std=(0.25,) * 3
)
PLAIN = TrainConfig(epochs=2, batch_size=16, mean=(0.5,) * 3, std=(0.25,) * 3, crop=1)


def disputed_votes(n: int = N_ITEMS, seed: int = 0) -> Votes:
    return Votes.from_counts(np.random.default_rng(seed).multinomial(6, [0.4, 0.3, 0.2, 0.1], size=n))


def unanimous_votes(n: int = N_ITEMS, seed: int = 0) -> Votes:
    rng = np.random.default_rng(seed)
    counts = np.zeros((n, 4), dtype=np.int64)
    counts[np.arange(n), rng.integers(0, 4, size=n)] = rng.integers(1, 9, size=n)
    return Votes.from_counts(counts)


def features(n: int = N_ITEMS, seed: int = 9) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(n, 6)).astype(np.float32))


def images(n: int = N_ITEMS, side: int = 16, seed: int = 9) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 256, size=(n, side, side, 3), dtype=np.uint8))


def make_job(
    seed: int,
    deliver: Callable[[Votes, int], Delivery] = lambda votes, _: Soft(votes),
    *,
    votes: Votes | None = None,
    train: int = 50,
    held_out: int = 20,
    selection: int | None = None,
) -> Job:
    """A run on random rows; the first `selection` of those held out choose the epoch, or all."""
    votes = disputed_votes(seed=seed) if votes is None else votes
    rows = np.random.default_rng([7, seed]).permutation(votes.n_items)
    trained, rest = rows[:train], rows[train : train + held_out]
    return Job(seed, trained, deliver(votes.take(trained), seed), rest, votes.probs[rest[:selection]])


def unequal_parts(first: Trained, second: Trained) -> list[str]:
    """The parts of two results that are not the same bits."""
    names = ("losses", "logits", "best_logits", "last_logits", "train_logits")
    arrays = [name for name in names if not _same(first, second, name)]
    numbers = [] if first.best_epoch == second.best_epoch else ["best_epoch"]
    states = [
        f"{part}.{name}"
        for part in ("best", "last")
        for name, value in getattr(first, part).items()
        if not torch.equal(value, getattr(second, part)[name])
    ]
    return arrays + numbers + states


def _same(first: Trained, second: Trained, name: str) -> bool:
    one, other = getattr(first, name), getattr(second, name)
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def items(events: Sequence[Event]) -> int:
    """Training items that have passed, by what was told."""
    return sum(event.items for event in events if isinstance(event, Progress))


def image_material() -> Prepared:
    """Small images with votes."""
    rng = np.random.default_rng(5)
    votes = Votes.from_counts(rng.multinomial(6, [0.5, 0.3, 0.2], size=60))
    pixels = rng.integers(0, 256, size=(60, 8, 8, 3), dtype=np.uint8)
    return feature_material(kind="images", inputs=pixels, votes=votes)


def feature_material(n: int = 60, n_classes: int = 3, **changes: Any) -> Prepared:
    """Features that tell something of the votes."""
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.ones(n_classes), size=n)
    inputs = (shares @ rng.normal(size=(n_classes, 4)) + 0.1 * rng.normal(size=(n, 4))).astype(np.float32)
    votes = Votes.from_counts(np.array([rng.multinomial(7, row) for row in shares]))
    values = {"name": "toy", "kind": "features", "checksum": "c" * 64, "inputs": inputs, "votes": votes}
    return Prepared(**{**values, **changes})


@dataclass
class Here:
    """A backend in this process, which other processes would take seconds to start; what was trained, in order."""

    trained: list[Run] = field(default_factory=list)

    def map(self, data: Prepared, tasks: Iterable[Task], tell: Tell, **options: Any) -> None:
        for task in tasks:
            if isinstance(task, Training):
                self.trained.append(task.run)
            Device("cpu").map(data, [task], tell, **options)


def mixed_with_predictions(
    votes: Votes, *, seed: int, folds: int, share: float, weight: float, logits: np.ndarray
) -> Soft:
    """Vote shares mixed with what other models predict for the items."""
    probs = (1 - weight) * votes.probs + weight * softmax(logits)
    return Soft(Targets(probs / probs.sum(axis=1, keepdims=True), votes.item_ids, votes.classes, "mixed"))


# A made-up method with helper runs.
CROSS_FITTED = Method(
    "the vote share mixed with out-of-fold predictions",
    "fixed",
    mixed_with_predictions,
    {"folds": 3, "share": 0.5, "weight": 0.5},
    helper="sls",
)


@dataclass(frozen=True)
class Deadly(Run):
    """A run during which the system ends its process, as it does for lack of memory."""

    def to_dict(self) -> dict[str, Any]:
        if multiprocessing.parent_process() is not None:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().to_dict()


@dataclass(frozen=True)
class Counted(Run):
    """A run that leaves a mark in the folder `dataset` whenever another process than the one in `data` has trained it.

    With seed 1 the system ends the first such process, with seed 2 every one.
    """

    def to_dict(self) -> dict[str, Any]:
        if os.getpid() != int(self.data):
            folder = Path(self.dataset)
            first = not (folder / "ended").exists()
            if self.seed == 2 or (self.seed == 1 and first):
                with (folder / "ended").open("a") as file:
                    file.write(".")
                os.kill(os.getpid(), signal.SIGKILL)
            with (folder / f"{self.method}-{self.seed}.trained").open("a") as file:
                file.write(".")
        return super().to_dict()


def feature_run(material: Prepared, method: str = "sls", seed: int = 0, **changes: Any) -> Run:
    """A run of a few hundredths of a second; changes of the recipe go by `recipe__name`."""
    recipe = {name.removeprefix("recipe__"): changes.pop(name) for name in list(changes) if name.startswith("recipe__")}
    short = replace(TrainConfig(epochs=2, batch_size=16), **recipe)
    return Run(material.name, material.checksum, method, seed, short, "mlp", **changes)


def items_trained_on(runs: Iterable[Run], data: Prepared) -> int:
    """How many training items some runs pass in all their epochs."""
    return sum(len(split_items(run, data).train) * run.recipe.epochs for run in runs)
