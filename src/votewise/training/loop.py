"""The training loop, on one page. It never asks what kind of label it is given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from votewise._checks import FloatArray
from votewise._random import stream_generator, stream_key
from votewise.delivery import Delivery
from votewise.training.config import TrainConfig


def soft_cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each row with a target distribution, (B,)."""
    return -(targets * torch.log_softmax(logits, dim=1)).sum(dim=1)


def build_model(make: Callable[[], nn.Module], *, seed: int) -> nn.Module:
    """A model whose initial weights depend on the seed alone; torch's global generator is left as it was."""
    with torch.random.fork_rng():
        torch.manual_seed(stream_key(seed, "init") >> 1)
        return make()


def train_classifier(
    model: nn.Module,
    inputs: Tensor,
    delivery: Delivery,
    config: TrainConfig,
    *,
    seed: int,
    on_epoch: Callable[[int, nn.Module], None] | None = None,
) -> nn.Module:
    """Train a model in place on what a delivery says of its items.

    Two deliveries with one seed share start, order and dropout: only the labels differ.

    Args:
        model: any module from inputs to (B, K) logits.
        inputs: (N, ...) on the model's device, one row for each item of the delivery.
        delivery: the labels.
        config: the recipe.
        seed: root seed of order and dropout.
        on_epoch: called after each epoch with its number and the model.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay, fused=True
    )
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.epochs)
    for epoch in range(config.epochs):
        order = torch.from_numpy(stream_generator(seed, "order", epoch).permutation(len(inputs))).to(inputs.device)
        targets = torch.from_numpy(delivery.targets(epoch)).to(inputs.device)
        model.train()
        with torch.random.fork_rng():
            torch.manual_seed(stream_key(seed, "dropout", epoch) >> 1)
            for batch in torch.split(order, config.batch_size):
                loss = soft_cross_entropy(model(inputs[batch]), targets[batch]).mean()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        schedule.step()
        if on_epoch is not None:
            on_epoch(epoch, model)
    return model


@torch.no_grad()
def predict_probs(model: nn.Module, inputs: Tensor, *, batch_size: int = 4096) -> FloatArray:
    """Predicted probabilities (N, K) float64 in eval mode; the softmax is taken in float64."""
    model.eval()
    logits = torch.cat([model(batch) for batch in torch.split(inputs, batch_size)])
    return np.asarray(torch.softmax(logits.double(), dim=1).cpu().numpy())
