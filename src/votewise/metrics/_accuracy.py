"""Agreement with one label per item."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_labels


def accuracy_per_item(labels: npt.ArrayLike, probs: npt.ArrayLike) -> FloatArray:
    """1 where the model's top class is the label, else 0, (N,); the lowest class wins a tie."""
    y, q = check_labels(labels, probs)
    return np.asarray(q.argmax(axis=1) == y, dtype=np.float64)


def accuracy(labels: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Share of items whose top class is the label (the majority's, or one that is given).

    Example:
        >>> accuracy([0, 1], [[0.6, 0.4], [0.7, 0.3]])
        0.5
    """
    return float(accuracy_per_item(labels, probs).mean())
