"""The recipe of a training run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from votewise._checks import check_choice, check_number, check_whole_number
from votewise._errors import InputError

OPTIMIZERS = ("adamw", "sgd")
SCHEDULES = ("epoch", "step")
DECAYED = ("all", "weights")
FILLS = ("black", "mean")
PRECISIONS = ("fp32", "bf16")

_IF_SET = ("warm_up", "micro_batch")


@dataclass(frozen=True)
class TrainConfig:
    """The recipe of a run. The learning rate follows a cosine from its initial value to 0.

    Attributes:
        epochs: passes over the training items.
        batch_size: items per step; the last batch of an epoch may be smaller.
        optimizer: "adamw", or "sgd" with momentum.
        learning_rate: initial value.
        weight_decay: decoupled for adamw, part of the gradient for sgd.
        momentum: momentum of SGD.
        nesterov: whether to use Nesterov momentum.
        decayed: what weight decay applies to: "all" parameters, or "weights" only (not norms and biases).
        schedule: whether the learning rate changes every "epoch" or every "step".
        crop: pixels of padding for random crops; 0 for none. Images only.
        fill: colour of the padding: "black", or the "mean" of the images.
        flip: whether to mirror half of the images. Images only.
        mean: mean of each channel of images in 0..1, to subtract; empty to leave inputs as they are.
        std: standard deviation of each channel, to divide by.
        mixup: alpha of mixup (Zhang et al. 2018) on inputs and delivered targets; 0 for none.
        precision: "fp32", or "bf16" for the network's arithmetic with weights, norms and loss kept in fp32.
        warm_up: share of all steps in which the learning rate rises linearly from 0; the cosine follows.
        micro_batch: items of a batch that go through the network at once, their gradients being added up; 0 for all.
    """

    epochs: int = 20
    batch_size: int = 256
    optimizer: str = "adamw"
    learning_rate: float = 1e-2
    weight_decay: float = 1e-4
    momentum: float = 0.9
    nesterov: bool = False
    decayed: str = "all"
    schedule: str = "epoch"
    crop: int = 0
    fill: str = "black"
    flip: bool = False
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    mixup: float = 0.0
    precision: str = "fp32"
    warm_up: float = 0.0
    micro_batch: int = 0

    def __post_init__(self) -> None:
        """Refuse recipes that cannot train; keep NumPy numbers and lists as plain numbers and tuples."""
        for field in fields(self):
            object.__setattr__(self, field.name, _plain(getattr(self, field.name)))
        check_whole_number("epochs", self.epochs, least=1)
        check_whole_number("batch_size", self.batch_size, least=1)
        check_whole_number("crop", self.crop)
        check_whole_number("micro_batch", self.micro_batch)
        check_choice("optimizer", self.optimizer, OPTIMIZERS)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("decayed", self.decayed, DECAYED)
        check_choice("fill", self.fill, FILLS)
        check_choice("precision", self.precision, PRECISIONS)
        check_number("momentum", self.momentum, 0, 1)
        check_number("mixup", self.mixup, 0, 1e6)
        check_number("warm_up", self.warm_up, 0, 0.9)
        if self.warm_up and self.schedule != "step":
            raise InputError("a warm-up needs the schedule 'step'", f"got {self.schedule!r}", "Pass schedule='step'")
        rates = (self.learning_rate, self.weight_decay)
        if not (all(map(_is_finite, rates)) and self.learning_rate > 0 and self.weight_decay >= 0):
            raise InputError(
                "learning_rate must be positive and weight_decay not negative",
                f"got {self.learning_rate!r} and {self.weight_decay!r}",
                "Pass e.g. 1e-2 and 1e-4",
            )
        if self.nesterov and not self.momentum:
            raise InputError("nesterov needs momentum", "it is 0", "Pass e.g. momentum=0.9")
        if not _are_channels(self.mean, self.std):
            raise InputError(
                "mean and std must have one number for each channel, and std be positive",
                f"got {self.mean!r} and {self.std!r}",
                "Pass e.g. (0.5, 0.5, 0.5) and (0.25, 0.25, 0.25)",
            )
        if (self.crop or self.flip) and not self.mean:
            raise InputError(
                "crop and flip need images, which are normalised", "mean and std are empty", "Pass both, or neither"
            )

    def learning_rate_at(self, epoch: int, step: int, steps: int) -> float:
        """The learning rate of `step` of `steps` in `epoch`, both counted from 0."""
        done = epoch if self.schedule == "epoch" else epoch + step / steps
        if self.warm_up:
            rising = int(self.warm_up * self.epochs * steps)  # in whole steps, as transformers counts them
            taken = epoch * steps + step
            if taken < rising:
                return self.learning_rate * taken / rising
            done = self.epochs * (taken - rising) / (self.epochs * steps - rising)
        return self.learning_rate * (1 + math.cos(math.pi * done / self.epochs)) / 2

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as they are stored with a run; those newer than the oldest stored runs only if they are set."""
        values = {name: value for name, value in asdict(self).items() if name not in _IF_SET or value}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TrainConfig:
        """The recipe that `to_dict` gave; an unknown name is an error that gives the nearest."""
        known = tuple(field.name for field in fields(cls))
        for name in values:
            check_choice("a name in the recipe", name, known)
        return cls(**values)


def _plain(value: Any) -> Any:
    """NumPy numbers as Python's, lists and arrays as tuples; anything else as it is."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(_plain(one) for one in value) if isinstance(value, (list, tuple, np.ndarray)) else value


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _are_channels(mean: Any, std: Any) -> bool:
    """Whether these are a finite mean and a positive standard deviation for each channel."""
    if not isinstance(mean, tuple) or not isinstance(std, tuple) or len(mean) != len(std):
        return False
    return all(map(_is_finite, (*mean, *std))) and all(value > 0 for value in std)
