"""Small formulas that several packages need, on arrays already checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from votewise._checks import FloatArray, IntArray


def cross_entropy_rows(p: FloatArray, q: FloatArray) -> FloatArray:
    """-sum_k p_k log q_k in nats, (N,), with 0 log 0 = 0: infinite where q_k is 0 and p_k is not."""
    with np.errstate(divide="ignore"):
        logs = np.log(q, out=np.zeros_like(q), where=p > 0)
    logs *= p
    return np.asarray(-logs.sum(axis=1))


def entropy_rows(p: FloatArray) -> FloatArray:
    """-sum_k p_k log p_k in nats, (N,), never below zero."""
    return np.maximum(cross_entropy_rows(p, p), 0.0)


def rankable(values: FloatArray) -> FloatArray:
    """Values rounded so that those differing only by floating-point noise become equal."""
    return np.asarray(values.round(12))


def top_classes(shares: FloatArray) -> IntArray:
    """The class with the largest share, (N,); among shares equal up to floating-point noise, the lowest class."""
    return np.asarray(rankable(shares).argmax(axis=1))


def average_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, (N,), where equal values share their mean rank."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(size) - (size - 1) / 2)[group])


def log_softmax(logits: ArrayLike) -> FloatArray:
    """Logarithms of the probabilities that logits (..., K) stand for, in float64."""
    centred = np.asarray(logits, dtype=np.float64)
    centred = centred - centred.max(axis=-1, keepdims=True)
    return np.asarray(centred - np.log(np.exp(centred).sum(axis=-1, keepdims=True)))
