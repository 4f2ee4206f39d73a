"""A network for tables of numbers in any units."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn


class Standardise(nn.Module):
    """Subtract the mean and divide by the standard deviation of all training rows seen so far.

    From the end of the first epoch these are the statistics of exactly the training rows. They are part of the model
    and saved with it. A constant column becomes 0.
    """

    seen: Tensor
    mean: Tensor
    squares: Tensor

    def __init__(self, width: int) -> None:
        """Start with no rows seen.

        Args:
            width: number of columns.
        """
        super().__init__()
        # In float64, so that large means, e.g. of timestamps, are exact enough to subtract.
        self.register_buffer("seen", torch.zeros((), dtype=torch.float64))
        self.register_buffer("mean", torch.zeros(width, dtype=torch.float64))
        self.register_buffer("squares", torch.zeros(width, dtype=torch.float64))

    def forward(self, features: Tensor) -> Tensor:
        """Standardised features (B, D); in training, the rows enter the statistics first."""
        rows = features.double()
        if self.training:
            self._count(rows)
        deviation = (self.squares / self.seen.clamp(min=1)).sqrt()
        varies = deviation > 1e-9 * self.mean.abs()
        scaled = (rows - self.mean) / torch.where(varies, deviation, torch.ones_like(deviation))
        return torch.where(varies, scaled, torch.zeros_like(scaled)).to(features.dtype)

    @torch.no_grad()
    def _count(self, rows: Tensor) -> None:
        """Merge the statistics of a batch into those so far (Chan, Golub and LeVeque 1983)."""
        total = self.seen + len(rows)
        shift = rows.mean(dim=0) - self.mean
        self.squares += ((rows - rows.mean(dim=0)) ** 2).sum(dim=0) + shift**2 * self.seen * len(rows) / total
        self.mean += shift * len(rows) / total
        self.seen.copy_(total)


class MLP(nn.Module):
    """Standardised features, one or more hidden layers, K logits."""

    def __init__(
        self, n_classes: int, *, inputs: int, width: int = 64, hidden_layers: int = 1, dropout: float = 0.2
    ) -> None:
        """Build the layers.

        Args:
            n_classes: K.
            inputs: D, the number of features.
            width: outputs of each hidden layer.
            hidden_layers: number of hidden layers.
            dropout: share of outputs dropped after each hidden layer.
        """
        super().__init__()
        self.inputs = inputs
        self.standardise = Standardise(inputs)
        widths = [inputs] + [width] * hidden_layers
        self.hidden = nn.Sequential(
            *(
                nn.Sequential(nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout))
                for before, after in pairwise(widths)
            )
        )
        self.head = nn.Linear(widths[-1], n_classes)

    def features(self, features: Tensor) -> Tensor:
        """The head's inputs, (B, width)."""
        return self.hidden(self.standardise(features))

    def forward(self, features: Tensor) -> Tensor:
        """Logits (B, K) of features (B, D)."""
        return self.head(self.features(features))
