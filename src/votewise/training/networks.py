"""What a lane of the engine trains: one network, or several stacked as one. The leading axis is the run."""

from __future__ import annotations

import importlib.util
from typing import Protocol

import torch
from torch import Tensor, nn

from votewise._errors import InputError
from votewise.models import ResNet18
from votewise.training.config import TrainConfig
from votewise.training.loop import build_model, make_optimizer, soft_cross_entropy
from votewise.training.runs import ModelMaker, State


class Network(Protocol):
    """R networks trained in lockstep. No step or prediction depends on the host, so both can be captured."""

    runs: int

    def load(self, run: int, state: State) -> None:
        """Set the weights and buffers of one run, and clear its momentum."""

    def train_step(self, given: Tensor, wanted: Tensor, rate: Tensor) -> Tensor:
        """Train on inputs (R, B, ...) and targets (R, B, K) at a learning rate (); each run's mean loss, (R,)."""

    def predict(self, given: Tensor) -> Tensor:
        """Logits (R, B, K) in fp32, in eval mode."""

    def values(self) -> dict[str, Tensor]:
        """Weights and buffers as they are now, each (R, ...)."""

    def state(self, run: int, values: dict[str, Tensor]) -> State:
        """One run's part of `values`, in the layout of the model, on the CPU."""


class OneNetwork:
    """Any single module."""

    runs = 1

    def __init__(self, make: ModelMaker, config: TrainConfig, device: torch.device) -> None:
        """Build model and optimizer; compiled in bf16 on a GPU, which fuses norms, activations and casts."""
        self.config, self.device = config, device
        model = build_model(make, seed=0)  # seeded only to leave torch's generator unchanged
        self.model = model.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        fuse = device.type == "cuda" and config.precision == "bf16"
        self.forward = torch.compile(self.model, dynamic=False) if fuse else self.model
        self.rate = torch.zeros((), device=device)
        self.optimizer = make_optimizer(self.model, config, self.rate)

    def load(self, run: int, state: State) -> None:  # noqa: ARG002
        """See `Network`."""
        self.model.load_state_dict(state)
        for kept in self.optimizer.state.values():
            for value in kept.values():
                value.zero_()

    def train_step(self, given: Tensor, wanted: Tensor, rate: Tensor) -> Tensor:
        """See `Network`."""
        self.model.train()
        with self._precision():
            logits = self.forward(given[0])
        loss = soft_cross_entropy(logits, wanted[0]).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.rate.copy_(rate)
        self.optimizer.step()
        return loss.detach()[None]

    @torch.no_grad()
    def predict(self, given: Tensor) -> Tensor:
        """See `Network`."""
        self.model.eval()
        with self._precision():
            return self.forward(given[0]).float()[None]

    def values(self) -> dict[str, Tensor]:
        """See `Network`."""
        return {name: value.detach()[None] for name, value in self.model.state_dict().items()}

    def state(self, run: int, values: dict[str, Tensor]) -> State:
        """See `Network`."""
        return {name: value[run].to("cpu", copy=True) for name, value in values.items()}

    def _precision(self) -> torch.autocast:
        # Casts of the weights must be part of each captured step, so they are not cached.
        enabled = self.config.precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16, enabled=enabled, cache_enabled=False)


def has_dropout(model: nn.Module) -> bool:
    """Whether a model has active dropout layers."""
    layers = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
    return any(isinstance(module, layers) and module.p > 0 for module in model.modules())


def check_no_dropout(model: nn.Module) -> None:
    """Refuse models with random numbers of their own: a run would depend on those beside it."""
    if has_dropout(model):
        raise InputError(
            "the model of runs trained together must have no dropout",
            "it has, and all runs would draw from the device's one generator",
            "Train them one by one, with train_job",
        )


def is_stackable(make: ModelMaker, config: TrainConfig, device: torch.device) -> bool:
    """Whether several runs can be stacked as one network: ResNet-18 in bf16 with SGD, with Triton installed."""
    return (
        device.type == "cuda"
        and config.precision == "bf16"
        and config.optimizer == "sgd"
        and importlib.util.find_spec("triton") is not None
        and isinstance(model := build_model(make, seed=0), ResNet18)
        and model.conv.out_channels == 64
    )
