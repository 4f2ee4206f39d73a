"""Votes and distributions for property tests, the ugly ones first class: zeros, ties, single votes, one class."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from votewise import Votes


@st.composite
def counts(
    draw: st.DrawFn, min_items: int = 1, max_items: int = 12, max_classes: int = 6, max_count: int = 7
) -> np.ndarray:
    """(N, K) int64, each row at least one vote; many zeros, ties and unanimous rows."""
    n = draw(st.integers(min_items, max_items))
    k = draw(st.integers(1, max_classes))
    table = draw(hnp.arrays(np.int64, (n, k), elements=st.integers(0, max_count)))
    empty = table.sum(axis=1) == 0
    table[empty, draw(st.integers(0, k - 1))] = 1
    return table


@st.composite
def votes(draw: st.DrawFn, **sizes: int) -> Votes:
    """Votes with ids that are not their row numbers."""
    table = draw(counts(**sizes))
    offset = draw(st.integers(0, 10_000))
    return Votes.from_counts(table, item_ids=[f"item-{offset + index}" for index in range(len(table))])


def _rows(draw: st.DrawFn, n: int, k: int) -> np.ndarray:
    """Distributions of three kinds: shares of small counts, anything, and one-hot."""
    weights = draw(
        hnp.arrays(
            np.float64,
            (n, k),
            elements=st.one_of(st.integers(0, 5).map(float), st.floats(1e-6, 1.0, allow_subnormal=False)),
        )
    )
    weights[weights.sum(axis=1) == 0, 0] = 1.0
    return weights / weights.sum(axis=1, keepdims=True)


@st.composite
def distributions(
    draw: st.DrawFn, min_items: int = 1, max_items: int = 30, min_classes: int = 1, max_classes: int = 6
) -> np.ndarray:
    """(N, K) float64 on the simplex, zeros included."""
    return _rows(draw, draw(st.integers(min_items, max_items)), draw(st.integers(min_classes, max_classes)))


@st.composite
def pairs(
    draw: st.DrawFn, min_items: int = 1, max_items: int = 30, min_classes: int = 1, max_classes: int = 6
) -> tuple[np.ndarray, np.ndarray]:
    """Reference and predictions of one shape; predictions may rule classes out."""
    n, k = draw(st.integers(min_items, max_items)), draw(st.integers(min_classes, max_classes))
    return _rows(draw, n, k), _rows(draw, n, k)


@st.composite
def labelled(
    draw: st.DrawFn, min_items: int = 1, max_items: int = 60, max_classes: int = 5
) -> tuple[np.ndarray, np.ndarray]:
    """Hard labels (N,) and predictions (N, K), with many equal confidences."""
    q = draw(distributions(min_items=min_items, max_items=max_items, max_classes=max_classes))
    y = draw(hnp.arrays(np.int64, len(q), elements=st.integers(0, q.shape[1] - 1)))
    return y, q
