"""The training loop, on one page. It never asks what kind of label it is given."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import torch
from torch import Tensor, nn

from votewise._checks import FloatArray
from votewise._errors import DivergedError, InputError
from votewise._random import stream_key
from votewise.delivery import Delivery, Mixup
from votewise.training.batches import Inputs, epoch_crops, epoch_order
from votewise.training.config import TrainConfig


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each row with a target distribution, (B,); of logits in fewer bits in fp32."""
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return -(targets * torch.log_softmax(exact, dim=1)).sum(dim=1)


def build_model(make: Callable[[], nn.Module], *, seed: int) -> nn.Module:
    """A model whose initial weights depend on the seed alone; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):  # models are built on the CPU
        torch.default_generator.manual_seed(stream_key(seed, "init") >> 1)
        return make()


def make_optimizer(model: nn.Module, config: TrainConfig, learning_rate: float | Tensor) -> torch.optim.Optimizer:
    """The optimizer of a recipe, over parameters that decay and those that do not."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    spared = [p for p in parameters if p.ndim < 2] if config.decayed == "weights" else []
    decayed = [p for p in parameters if not any(p is other for other in spared)]
    groups = [
        {"params": group, "weight_decay": decay}
        for group, decay in ((decayed, config.weight_decay), (spared, 0.0))
        if group
    ]
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=learning_rate, momentum=config.momentum, nesterov=config.nesterov, fused=True)
    return torch.optim.AdamW(groups, lr=learning_rate, fused=True, capturable=isinstance(learning_rate, Tensor))


def train_classifier(
    model: nn.Module,
    inputs: Tensor,
    delivery: Delivery,
    config: TrainConfig,
    *,
    seed: int,
    on_epoch: Callable[[int, float], None] | None = None,
) -> nn.Module:
    """Train a model in place on what a delivery says of its items.

    Two deliveries with one seed share start, order, augmentation and dropout: only the labels differ.

    Args:
        model: any module from inputs to (B, K) logits.
        inputs: (N, ...), one row for each item of the delivery; images, if the recipe normalises, (N, H, W, C) uint8.
        delivery: the labels.
        config: the recipe.
        seed: root seed of order, augmentation and dropout.
        on_epoch: called after each epoch with its number and its mean training loss.
    """
    if len(inputs) != len(delivery.item_ids):
        raise InputError(
            "inputs must have one row for each item of the delivery",
            f"got {len(inputs):,} rows and {len(delivery.item_ids):,} items",
            "Take the same items of both",
        )
    device = next(model.parameters()).device
    data = Inputs.place(inputs, config, device)
    mixup = Mixup(alpha=config.mixup, seed=seed) if config.mixup else None
    optimizer = make_optimizer(model, config, config.learning_rate)
    for epoch in range(config.epochs):
        batches = torch.split(torch.from_numpy(epoch_order(seed, epoch, len(data))).to(device), config.batch_size)
        crops = torch.from_numpy(epoch_crops(seed, epoch, len(data), config)).to(device)
        targets = torch.from_numpy(delivery.targets(epoch)).to(device)
        total = torch.zeros((), device=device)
        model.train()
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(stream_key(seed, "dropout", epoch) >> 1)
            for step, batch in enumerate(batches):
                set_learning_rate(optimizer, config.learning_rate_at(epoch, step, len(batches)))
                given, wanted = data.cropped(batch, crops[batch]), targets[batch]
                if mixup is not None:
                    mix = mixup.plan(epoch, step, len(batch))
                    given, wanted = mix(given), mix(wanted)
                with torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16"):
                    logits = model(given)
                loss = soft_cross_entropy(logits, wanted).mean()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += loss.detach() * len(batch)
        mean_loss = total.item() / len(data)
        if not math.isfinite(mean_loss):
            raise DivergedError(epoch)
        if on_epoch is not None:
            on_epoch(epoch, mean_loss)
    return model


def arithmetic(config: TrainConfig) -> AbstractContextManager[None]:
    """How a GPU computes: fp32 means fp32 (its convolutions would else round inputs to 10 bits), always the same way.

    In bf16 it may pick the fastest of its algorithms by trying them.
    """
    exact = config.precision == "fp32"
    return torch.backends.cudnn.flags(enabled=True, benchmark=not exact, deterministic=exact, allow_tf32=False)


def set_learning_rate(optimizer: torch.optim.Optimizer, value: float) -> None:
    """Give all parameters the same learning rate, in fp32, as it is where it lies on a device."""
    for group in optimizer.param_groups:
        group["lr"] = torch.tensor(value, dtype=torch.float32).item()


@torch.no_grad()
def predict_logits(model: nn.Module, data: Inputs, items: Tensor, *, batch_size: int = 1000) -> Tensor:
    """Logits (N, K) of items in eval mode, in the precision of the model's weights."""
    model.eval()
    return torch.cat([model(batch) for batch in data.chunks(items, batch_size)]).float()


@torch.no_grad()
def predict_probs(model: nn.Module, inputs: Tensor, *, batch_size: int = 4096) -> FloatArray:
    """Predicted probabilities (N, K) float64 in eval mode; the softmax is taken in float64."""
    model.eval()
    logits = torch.cat([model(batch) for batch in torch.split(inputs, batch_size)])
    return np.asarray(torch.softmax(logits.double(), dim=1).cpu().numpy())
