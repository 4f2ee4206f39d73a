"""One run from votes to record, spelled out."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise import __version__, metrics
from votewise._checks import FloatArray, IntArray, check_choice, first_few
from votewise._errors import DivergedError, InputError
from votewise._numerics import top_classes
from votewise.experiments.catalog import build_delivery
from votewise.experiments.material import Material
from votewise.records import RunRecord

if TYPE_CHECKING:
    from votewise.training import Job, TrainConfig, Trained
    from votewise.training.runs import State

# Part of every config: raised when the same config would no longer give the same run.
RUN_VERSION = 1

DEVICES = ("auto", "cpu", "cuda")


@dataclass(frozen=True)
class RunConfig:
    """Everything that identifies a run: equal configs give equal results.

    Attributes:
        dataset: name of the data.
        data: checksum of the data.
        method: one of `METHODS`, or "mixup".
        seed: root seed of split, redraw, initial weights, order, augmentation and labels.
        recipe: the training recipe.
        model: one of the models by name.
        votes: votes per item redrawn for training; None to train on the votes as they are.
        hold: epochs that a drawn label is kept for.
        held_out: share of the items that are scored and never trained on.
        selected: share of the items that choose the best epoch; 0 to choose it on the held-out items.
    """

    dataset: str
    data: str
    method: str
    seed: int
    recipe: TrainConfig
    model: str
    votes: int | None = None
    hold: int = 1
    held_out: float = 0.2
    selected: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a record keeps them."""
        return {**asdict(self), "recipe": self.recipe.to_dict(), "version": RUN_VERSION}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunConfig:
        """The config that `to_dict` gave; an unknown name is an error that gives the nearest."""
        from votewise.training import TrainConfig

        names = (*(field.name for field in fields(cls)), "version")
        for name in values:
            check_choice("a name in the config of a run", name, names)
        missing = [name for name in names if name not in values]
        if missing:
            raise InputError(
                "the config of a run must be complete", f"it lacks {first_few(missing)}", "Use what to_dict returned"
            )
        if values["version"] != RUN_VERSION:
            raise InputError(
                f"the run must be of version {RUN_VERSION}",
                f"got {values['version']!r}",
                "Use the votewise that made it",
            )
        given = {name: value for name, value in values.items() if name != "version"}
        return cls(**{**given, "recipe": TrainConfig.from_dict(values["recipe"])})


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of the material: to train on, to choose the best epoch by (may be empty), to score."""

    train: IntArray
    selection: IntArray
    held_out: IntArray


def split_items(config: RunConfig, material: Material) -> Split:
    """The split of a seed, stratified by hard label; the same for every method and number of votes."""
    rest, held_out = material.votes.split(config.held_out, seed=config.seed, strata=material.hard_labels)
    if config.selected == 0:
        return Split(rest, held_out[:0], held_out)
    share = config.selected / (1 - config.held_out)
    train, chosen = material.votes.take(rest).split(share, seed=config.seed, strata=material.hard_labels[rest])
    return Split(rest[train], rest[chosen], held_out)


def make_job(config: RunConfig, material: Material) -> Job:
    """A run as the trainer takes it: rows, and the delivery of their votes."""
    from votewise.training import Job

    split = split_items(config, material)
    votes = material.votes.take(split.train)
    if config.votes is not None:
        votes = votes.subsample(config.votes, seed=config.seed)
    choosing = split.selection if len(split.selection) else split.held_out
    return Job(
        config.seed,
        split.train,
        build_delivery(config.method, votes, config.seed, config.hold),
        np.concatenate([split.selection, split.held_out]),
        material.votes.probs[choosing],
    )


def make_record(
    config: RunConfig,
    material: Material,
    outcome: Trained | DivergedError,
    *,
    seconds: float,
    device: str,
    at_once: int = 1,
) -> RunRecord:
    """The record of a run, finished or diverged, that took `seconds` as one of `at_once` runs."""
    common: dict[str, Any] = {
        "config": config.to_dict(),
        "environment": environment(device),
        "timing": {"seconds": seconds, "at_once": float(at_once)},
    }
    if isinstance(outcome, DivergedError):
        return RunRecord(status="failed", failure=str(outcome), **common)
    split = split_items(config, material)
    first = len(split.selection)
    scored = {"best": outcome.best_logits[first:], "last": outcome.last_logits[first:]}
    numbers = {"best_epoch": outcome.best_epoch + 1.0}
    for at, logits in scored.items():
        numbers |= {f"{name}_{at}": value for name, value in measure(material, split.held_out, logits).items()}
    return RunRecord(
        status="done",
        curves={"train_loss": outcome.losses, **_curves(material, split, outcome)},
        arrays={"held_out": split.held_out, **{f"{at}_logits": logits for at, logits in scored.items()}},
        numbers=numbers,
        **common,
    )


def measure(material: Material, rows: IntArray, logits: Any) -> dict[str, float]:
    """The scores of a run on some rows, from its logits for them."""
    people, labels, probs = material.votes.probs[rows], material.hard_labels[rows], softmax(logits)
    return {
        "soft_nll": metrics.soft_nll(people, probs),
        "kl": metrics.kl(people, probs),
        "soft_brier": metrics.soft_brier(people, probs),
        "accuracy": metrics.accuracy(labels, probs),
        "accuracy_majority": metrics.accuracy(top_classes(people), probs),
        "ece": metrics.ece(labels, probs),
        "ece_floor": metrics.ece_floor(probs).mean,
        "smooth_ece": metrics.smooth_ece(labels, probs),
        "entropy_correlation": metrics.entropy_correlation(people, probs),
    }


def softmax(logits: Any) -> FloatArray:
    """Probabilities (N, K) of logits, in float64."""
    import scipy.special

    return np.asarray(scipy.special.softmax(np.asarray(logits, dtype=np.float64), axis=-1))


def _curves(material: Material, split: Split, outcome: Trained) -> dict[str, FloatArray]:
    first = len(split.selection)
    people, labels = material.votes.probs[split.held_out], material.hard_labels[split.held_out]
    probs = [softmax(epoch[first:]) for epoch in outcome.logits]
    curves = {
        "soft_nll": np.array([metrics.soft_nll(people, q) for q in probs]),
        "accuracy": np.array([metrics.accuracy(labels, q) for q in probs]),
        "ece": np.array([metrics.ece(labels, q) for q in probs]),
        "entropy_correlation": np.array([metrics.entropy_correlation(people, q) for q in probs]),
    }
    if first:
        chosen = material.votes.probs[split.selection]
        curves["selection_nll"] = np.array([metrics.soft_nll(chosen, softmax(q[:first])) for q in outcome.logits])
    return curves


def environment(device: str) -> dict[str, str]:
    """Versions, platform and device that a run was done with."""
    import torch

    return {
        "votewise": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "platform": platform.platform(),
        "device_kind": device,
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine(),
    }


def choose_device(wanted: str) -> str:
    """The device to use; "auto" takes the GPU if there is one."""
    import torch

    check_choice("the device", wanted, DEVICES)
    available = torch.cuda.is_available()
    if wanted == "auto":
        return "cuda" if available else "cpu"
    if wanted == "cuda" and not available:
        raise InputError("the device must be available", "torch finds no GPU", "Pass --device cpu, or auto")
    return wanted


Models = dict[str, "State"]


def models_of(outcome: Trained | DivergedError) -> Models:
    """The weights of a run by checkpoint: "best", "last" and, if an epoch was given for it, "common"."""
    if isinstance(outcome, DivergedError):
        return {}
    models = {"best": outcome.best, "last": outcome.last}
    return models if outcome.kept is None else models | {"common": outcome.kept}


def train_run(config: RunConfig, material: Material, *, device: str = "cpu") -> RunRecord:
    """One run with the plain loop, from votes to record."""
    return train_run_with_models(config, material, device=device)[0]


def train_run_with_models(
    config: RunConfig,
    material: Material,
    *,
    device: str = "cpu",
    keep_epoch: int | None = None,
    on_epoch: Callable[[], None] | None = None,
) -> tuple[RunRecord, Models]:
    """The record of one run with the plain loop, and its models."""
    import torch

    from votewise.training import train_job

    start = time.perf_counter()
    outcome: Trained | DivergedError
    try:
        outcome = train_job(
            model_maker(config, material),
            torch.tensor(material.inputs),  # a copy, since the data are read-only
            make_job(config, material),
            config.recipe,
            device=device,
            keep_epoch=keep_epoch,
            on_epoch=on_epoch,
        )
    except DivergedError as error:
        outcome = error
    record = make_record(config, material, outcome, seconds=time.perf_counter() - start, device=device)
    return record, models_of(outcome)


def model_maker(config: RunConfig, material: Material) -> Callable[[], Any]:
    """A function that builds the model of a run for its data."""
    from votewise.models import find_model

    row = find_model(config.model, material.kind)
    return lambda: row.build(material.votes.n_classes, material.inputs.shape[1:])
