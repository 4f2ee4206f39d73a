"""Distances between what people said and what a model says, item by item.

Everywhere: `reference` p and `probs` q are (N, K), rows on the simplex; logarithms are natural; 0 log 0 = 0.
The plain functions are means over items of their `_per_item` twins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_pair, check_simplex
from votewise._numerics import cross_entropy_rows, entropy_rows


def soft_nll_per_item(reference: npt.ArrayLike, probs: npt.ArrayLike) -> FloatArray:
    """Cross-entropy -sum_k p_k log q_k, (N,); infinite where people chose what the model rules out."""
    p, q = check_pair(reference, probs)
    return cross_entropy_rows(p, q)


def soft_nll(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Mean cross-entropy in nats: the primary score; least at probs = reference.

    Example:
        >>> round(soft_nll([[0.5, 0.5]], [[0.5, 0.5]]), 4)
        0.6931
    """
    return float(soft_nll_per_item(reference, probs).mean())


def kl_per_item(reference: npt.ArrayLike, probs: npt.ArrayLike) -> FloatArray:
    """Kullback-Leibler divergence sum_k p_k log(p_k / q_k), (N,): cross-entropy less people's entropy."""
    p, q = check_pair(reference, probs)
    return np.maximum(cross_entropy_rows(p, q) - entropy_rows(p), 0.0)


def kl(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Mean Kullback-Leibler divergence of the model from the people, in nats."""
    return float(kl_per_item(reference, probs).mean())


def soft_brier_per_item(reference: npt.ArrayLike, probs: npt.ArrayLike) -> FloatArray:
    """Squared distance sum_k (q_k - p_k)^2, (N,)."""
    p, q = check_pair(reference, probs)
    return np.asarray(((q - p) ** 2).sum(axis=1))


def soft_brier(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Mean squared distance, summed (not averaged) over classes: between 0 and 2."""
    return float(soft_brier_per_item(reference, probs).mean())


def jsd_per_item(reference: npt.ArrayLike, probs: npt.ArrayLike) -> FloatArray:
    """Jensen-Shannon divergence in nats, (N,), between 0 and log 2; its square root is a metric."""
    p, q = check_pair(reference, probs)
    middle = (p + q) / 2
    gain = entropy_rows(middle) - (entropy_rows(p) + entropy_rows(q)) / 2
    return np.clip(gain, 0.0, np.log(2))


def jsd(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Mean Jensen-Shannon divergence in nats."""
    return float(jsd_per_item(reference, probs).mean())


def js_distance_per_item(reference: npt.ArrayLike, probs: npt.ArrayLike) -> FloatArray:
    """Square root of the Jensen-Shannon divergence in nats, (N,), between 0 and sqrt(log 2): a metric."""
    return np.sqrt(jsd_per_item(reference, probs))


def js_distance(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Mean Jensen-Shannon distance, which ChaosNLI's scoreboard calls JSD (Nie, Zhou and Bansal 2020)."""
    return float(js_distance_per_item(reference, probs).mean())


def manhattan_per_item(reference: npt.ArrayLike, probs: npt.ArrayLike) -> FloatArray:
    """Manhattan distance sum_k |p_k - q_k|, (N,), between 0 and 2: twice the total variation."""
    p, q = check_pair(reference, probs)
    return np.asarray(np.abs(p - q).sum(axis=1))


def manhattan(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Mean Manhattan distance, the soft score of LeWiDi 2025."""
    return float(manhattan_per_item(reference, probs).mean())


def soft_accuracy_per_item(reference: npt.ArrayLike, probs: npt.ArrayLike) -> FloatArray:
    """Overlap sum_k min(p_k, q_k), (N,), between 0 and 1; plain accuracy where both are one-hot."""
    p, q = check_pair(reference, probs)
    return np.asarray(np.minimum(p, q).sum(axis=1))


def soft_accuracy(reference: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Mean overlap of the two distributions."""
    return float(soft_accuracy_per_item(reference, probs).mean())


def entropy_per_item(probs: npt.ArrayLike) -> FloatArray:
    """Entropy in nats of each row, (N,)."""
    q = check_simplex("probs", probs)
    return entropy_rows(q)
