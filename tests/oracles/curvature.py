"""Hessians written out, entry by entry, and matrices as operators."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call


def dense_hessian(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """(size, size), the loss being a function of one flat vector, row by row."""
    shapes = {name: value.shape for name, value in model.named_parameters() if value.requires_grad}
    flat = torch.cat([value.detach().flatten() for value in model.parameters() if value.requires_grad])

    def loss(vector: Tensor) -> Tensor:
        parts = torch.split(vector, [shape.numel() for shape in shapes.values()])
        weights = {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
        logits = functional_call(model, weights, inputs)
        return nn.functional.cross_entropy(logits, targets)

    return torch.autograd.functional.hessian(loss, flat)


def softmax_regression_hessian(probs: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Mean over items of (Diag q - q q') kron h h'."""
    return np.mean(
        [np.kron(np.diag(q) - np.outer(q, q), np.outer(h, h)) for q, h in zip(probs, features, strict=True)], 0
    )


class DenseOperator:
    """A symmetric matrix that counts its products, and rounds those that need not be exact."""

    def __init__(self, matrix: Tensor, noise: float = 0.0) -> None:
        self.matrix, self.noise = matrix, noise
        self.size, self.dtype, self.device = len(matrix), matrix.dtype, matrix.device
        self.products = 0

    def product(self, vector: Tensor, *, exact: bool = False) -> Tensor:
        self.products += 1
        product = self.matrix @ vector
        if exact or not self.noise:
            return product
        spread = torch.randn(self.size, generator=torch.Generator().manual_seed(self.products), dtype=self.dtype)
        return product + self.noise * product.norm() / self.size**0.5 * spread


def with_spectrum(values: list[float] | np.ndarray, seed: int = 0) -> Tensor:
    """A symmetric float64 matrix with these eigenvalues and random eigenvectors."""
    values = np.asarray(values, dtype=np.float64)
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values), len(values))))
    return torch.from_numpy((basis * values) @ basis.T)
