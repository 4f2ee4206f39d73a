"""Variance of the last layer's gradient from drawing a label instead of using the distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from votewise._checks import FloatArray, check_matrix, check_whole_number
from votewise._errors import InputError
from votewise._random import stream_generator
from votewise.diagnostics._tensors import as_array, check_distributions


def gradient_variance_per_item(features: Any, reference: Any, *, bias: bool = False) -> FloatArray:
    """Variance of the last layer's gradient when the label y of an item is drawn from p, (N,).

    The gradient of the cross-entropy in the weights W of a linear last layer on features h is (q - e_y) h^T, so the
    trace of its covariance is ||h||^2 (1 - ||p||^2), whatever the prediction q; a bias adds 1 to ||h||^2.

    Args:
        features: (N, D) input of the last layer, a tensor on any device or an array.
        reference: (N, K) distribution p from which labels are drawn.
        bias: whether to include the gradient of the layer's bias.

    Example:
        >>> gradient_variance_per_item([[3.0, 4.0], [3.0, 4.0]], [[0.5, 0.5], [1.0, 0.0]])
        array([12.5,  0. ])
    """
    size, p = _check_items(features, reference, bias=bias)
    return np.asarray(size * _label_variance(p))


def sampled_gradient_variance_per_item(
    features: Any, reference: Any, *, draws: int = 100, seed: int = 0, bias: bool = False
) -> FloatArray:
    """The same from drawn labels, (N,): the unbiased sample variance of the gradients of `draws` labels.

    The prediction cancels, and gradients of one item differ only in their labels: their variance is that of the label
    counts, draws / (draws - 1) * ||h||^2 (1 - ||counts / draws||^2).

    Args:
        features: (N, D) input of the last layer, a tensor on any device or an array.
        reference: (N, K) distribution p from which labels are drawn.
        draws: labels per item, at least 2.
        seed: root seed.
        bias: whether to include the gradient of the layer's bias.
    """
    n_draws = check_whole_number("draws", draws, least=2)
    size, p = _check_items(features, reference, bias=bias)
    rng = stream_generator(seed, "gradient variance")
    counts = rng.multinomial(n_draws, p / p.sum(axis=1, keepdims=True))
    return np.asarray(size * _label_variance(counts / n_draws) * n_draws / (n_draws - 1))


def _label_variance(p: FloatArray) -> FloatArray:
    """1 - ||p||^2, (N,), written so that it is exactly zero for one-hot rows; never below zero."""
    return np.maximum((p * (1 - p)).sum(axis=1), 0.0)


def _check_items(features: Any, reference: Any, *, bias: bool) -> tuple[FloatArray, FloatArray]:
    """Squared length of the factor of q - e_y in each item's gradient, (N,), and its distribution (N, K)."""
    p = check_distributions("reference", reference)
    size = _squared_lengths(features)
    if len(size) != len(p):
        raise InputError(
            "features and reference must be of the same items",
            f"got {len(size):,} and {len(p):,} rows",
            "Pass the same items in both",
        )
    return size + bias, p


def _squared_lengths(features: Any) -> FloatArray:
    if isinstance(features, Tensor) and features.ndim == 2 and not features.is_complex():
        # On the tensor's device, so that only (N, 1) is copied to the host.
        features = features.detach().double().norm(dim=1, keepdim=True)
    return np.asarray((check_matrix("features", as_array(features)) ** 2).sum(axis=1))
