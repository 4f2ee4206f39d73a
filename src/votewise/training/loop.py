"""The training loop, on one page. It does not depend on the kind of label it is given."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import torch
from torch import Tensor, nn

from votewise._checks import FloatArray, check_kind, check_whole_number
from votewise._errors import DivergedError, InputError
from votewise._random import stream_key
from votewise.delivery import Delivery, Mixup
from votewise.training.batches import Inputs, check_tensor, epoch_crops, epoch_order, micro_batches
from votewise.training.config import TrainConfig


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each row with a target distribution, (B,); logits of lower precision are taken to fp32 first."""
    if getattr(logits, "shape", None) != targets.shape:
        got = tuple(logits.shape) if hasattr(logits, "shape") else type(logits).__name__
        raise InputError(
            f"the model must give logits of shape {tuple(targets.shape)}",
            f"got {got}",
            f"Give its last layer one output for each of the {targets.shape[-1]} classes",
        )
    exact = logits.to(torch.promote_types(logits.dtype, torch.float32))
    return -(targets * torch.log_softmax(exact, dim=1)).sum(dim=1)


def build_model(make: Callable[[], nn.Module], *, seed: int) -> nn.Module:
    """A model whose initial weights depend on the seed alone; torch's global generator is left unchanged."""
    with torch.random.fork_rng(devices=[]):  # models are built on the CPU
        torch.default_generator.manual_seed(stream_key(seed, "init") >> 1)
        return make()


def make_optimizer(model: nn.Module, config: TrainConfig, learning_rate: float | Tensor) -> torch.optim.Optimizer:
    """The optimizer of a recipe, over the parameters that decay and those that do not."""
    parameters = trainable(model)
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


def trainable(model: nn.Module) -> list[nn.Parameter]:
    """The parameters that are not frozen; none at all is an error."""
    found = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not found:
        some = any(True for _ in model.parameters())
        raise InputError(
            "the model must have parameters to train",
            "all of them are frozen" if some else "it has none",
            "Call requires_grad_() on those to train" if some else "Pass a network",
        )
    return found


def train_classifier(
    model: nn.Module,
    inputs: Tensor,
    delivery: Delivery,
    config: TrainConfig,
    *,
    seed: int,
    until: int | None = None,
    on_epoch: Callable[[int, float], None] | None = None,
) -> nn.Module:
    """Train a model in place on the labels that a delivery gives for its items.

    With the same seed, two deliveries share order, augmentation and dropout: only the labels differ.

    Args:
        model: any module from inputs to (B, K) logits.
        inputs: (N, ...), one row for each item of the delivery; (N, H, W, C) uint8 images if the recipe normalises.
        delivery: the labels.
        config: the recipe.
        seed: root seed of order, augmentation and dropout.
        until: epochs after which to stop, as a longer run would be then; all of the recipe's if left out.
        on_epoch: called after each epoch with its number and its mean training loss.
    """
    _check_arguments(model, inputs, delivery)
    device = next(model.parameters()).device
    data = Inputs.place(inputs, config, device)
    mixup = Mixup(alpha=config.mixup, seed=seed) if config.mixup else None
    optimizer = make_optimizer(model, config, config.learning_rate)
    for epoch in range(config.epochs if until is None else check_whole_number("until", until, least=1)):
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
                optimizer.zero_grad(set_to_none=True)
                for part in micro_batches(given, config.micro_batch):
                    with torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bf16"):
                        logits = _forward(model, given[part])
                    loss = soft_cross_entropy(logits, wanted[part]).mean() * (len(logits) / len(batch))
                    loss.backward()  # type: ignore[no-untyped-call]
                    total += loss.detach() * len(batch)
                optimizer.step()
        mean_loss = total.item() / len(data)
        if not math.isfinite(mean_loss):
            raise DivergedError(epoch)
        if on_epoch is not None:
            on_epoch(epoch, mean_loss)
    return model


def _check_arguments(model: nn.Module, inputs: Tensor, delivery: Delivery) -> None:
    """Refuse what torch would refuse in its own words, or not at all."""
    check_kind("the model", model, nn.Module, "Pass a torch.nn.Module")
    check_tensor(inputs)
    check_delivery(delivery)
    if len(inputs) != len(delivery.item_ids):
        raise InputError(
            "inputs must have one row for each item of the delivery",
            f"got {len(inputs):,} rows and {len(delivery.item_ids):,} items",
            "Take the same items of both",
        )
    trainable(model)


def check_delivery(delivery: Delivery) -> None:
    """Refuse votes and other objects in place of a delivery."""
    check_kind("the delivery", delivery, Delivery, "Deliver votes with votewise.Soft(votes) or another delivery")


def _forward(model: nn.Module, given: Tensor) -> Tensor:
    """Logits of a training batch."""
    try:
        return model(given)
    except RuntimeError as error:
        if given.dtype != torch.float64:
            raise
        wanted = "inputs must be of the type of the model's weights"
        raise InputError(wanted, f"they are float64 ({error})", "Pass inputs.float()") from error
    except ValueError as error:
        if len(given) > 1:
            raise
        raise InputError(
            "the model must take a batch of one item, which is what remains for the last batch of an epoch",
            f"it refused it ({error})",
            "Choose a batch_size that leaves no single item over, or train on one item fewer",
        ) from error


def arithmetic(config: TrainConfig) -> AbstractContextManager[None]:
    """GPU arithmetic: fp32 without TF32 and deterministic; bf16 may autotune."""
    exact = config.precision == "fp32"
    return torch.backends.cudnn.flags(enabled=True, benchmark=not exact, deterministic=exact, allow_tf32=False)


def set_learning_rate(optimizer: torch.optim.Optimizer, value: float) -> None:
    """Give all parameters the same learning rate, rounded to fp32 as the engine keeps it on the device."""
    for group in optimizer.param_groups:
        group["lr"] = torch.tensor(value, dtype=torch.float32).item()


@torch.no_grad()
def predict_logits(model: nn.Module, data: Inputs, items: Tensor, *, batch_size: int = 1000) -> Tensor:
    """Logits (N, K) fp32 of items in eval mode."""
    model.eval()
    return torch.cat([model(batch) for batch in data.chunks(items, batch_size)]).float()


@torch.no_grad()
def predict_probs(model: nn.Module, inputs: Tensor, *, batch_size: int = 4096) -> FloatArray:
    """Predicted probabilities (N, K) float64 in eval mode; the softmax is taken in float64."""
    model.eval()
    logits = torch.cat([model(batch) for batch in torch.split(inputs, batch_size)])
    return np.asarray(torch.softmax(logits.double(), dim=1).cpu().numpy())
