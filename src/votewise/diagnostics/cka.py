"""Feature similarity of two models on the same items: linear centred kernel alignment (CKA)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from votewise._checks import FloatArray
from votewise._errors import InputError
from votewise.diagnostics._tensors import check_numbers


def linear_cka(first: Any, second: Any) -> float:
    """Linear CKA of two feature tables, between 0 and 1.

    ||X^T Y||_F^2 / (||X^T X||_F ||Y^T Y||_F) with the columns of X and Y centred; 1 if one is the other rotated,
    scaled and shifted. Computed over all items at once in float64, as the biased (plain) estimate: Kornblith et al.
    2019 (arXiv 1905.00414).

    Args:
        first: (N, D) features, a tensor on any device or an array.
        second: (N, E) features of the same items.

    Example:
        >>> linear_cka([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [[0.0], [2.0], [2.0]])
        0.7905694150420948
    """
    x, y = _check_features([first, second])
    return _alignment(_normalised(x), _normalised(y))


def pairwise_cka(features: Sequence[Any]) -> FloatArray:
    """Linear CKA of each pair of feature tables of the same items, (R, R), symmetric with ones on the diagonal."""
    tables = [_normalised(table) for table in _check_features(features)]
    similarity = np.eye(len(tables))
    for row, column in zip(*np.triu_indices(len(tables), k=1), strict=True):
        similarity[row, column] = similarity[column, row] = _alignment(tables[row], tables[column])
    return similarity


def mean_pairwise_cka(features: Sequence[Any]) -> float:
    """Mean linear CKA over all pairs of feature tables, such as those of the seeds of one method."""
    similarity = pairwise_cka(features)
    return float(similarity[np.triu_indices(len(similarity), k=1)].mean())


def _alignment(x: Tensor, y: Tensor) -> float:
    """CKA of two tables normalised by `_normalised`."""
    return min(_overlap(x, y).item(), 1.0)


def _overlap(x: Tensor, y: Tensor) -> Tensor:
    """||x^T y||_F^2, (), by features or by items, whichever needs the smaller matrix."""
    if len(x) < max(x.shape[1], y.shape[1]):
        return ((x @ x.T) * (y @ y.T)).sum()
    return (x.T @ y).square().sum()


def _normalised(features: Tensor) -> Tensor:
    """Features centred and scaled so that their overlap with themselves is one."""
    halved = features.double() / 2  # so that differences cannot overflow
    shifted = halved - halved[0]  # exactly zero where constant, and less is lost to rounding in the mean
    spread = shifted.abs().max()
    if spread == 0:
        raise InputError(
            "features must differ between items",
            f"all {len(features):,} rows are the same",
            "CKA is not defined for them; leave that model out",
        )
    scaled = shifted / spread
    centred = scaled - scaled.mean(dim=0)
    return centred / _overlap(centred, centred) ** 0.25


def _check_features(features: Sequence[Any]) -> list[Tensor]:
    """Return tables (N, D) of one N, on the device of the first."""
    if len(features) < 2:
        raise InputError("features must hold at least two tables", f"got {len(features)}", "Pass one per model")
    tables = [check_numbers("features", table, 2) for table in features]
    if len({len(table) for table in tables}) > 1:
        raise InputError(
            "features must be of the same items",
            f"got tables of {', '.join(f'{len(table):,}' for table in tables)} rows",
            "Run the same items, in the same order, through each model",
        )
    return [table.to(tables[0].device) for table in tables]
