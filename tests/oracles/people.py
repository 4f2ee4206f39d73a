"""Agreement and aggregation written again, slowly, from the definitions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations, product

import numpy as np


def nominal_alpha(counts: np.ndarray) -> float:
    """Krippendorff's alpha by enumerating every ordered pair of votes on an item."""
    rows = [[k for k, c in enumerate(row) for _ in range(int(c))] for row in counts if row.sum() >= 2]
    n = sum(len(row) for row in rows)
    observed = sum(sum(a != b for a, b in permutations(row, 2)) / (len(row) - 1) for row in rows) / n
    pooled = [vote for row in rows for vote in row]
    expected = sum(a != b for a, b in permutations(pooled, 2)) / (n * (n - 1))
    return math.nan if expected == 0 else 1 - observed / expected


def dawid_skene(
    votes: Sequence[tuple[int, int, int]], n: int, a: int, k: int, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """EM with loops over votes: (item, annotator, label) triples; start from vote shares; returns posterior, confusion."""
    posterior = np.zeros((n, k))
    for item, _, label in votes:
        posterior[item, label] += 1
    posterior /= posterior.sum(axis=1, keepdims=True)
    for _ in range(steps):
        prior = posterior.mean(axis=0)
        confusion = np.zeros((a, k, k))
        for item, annotator, label in votes:
            confusion[annotator, :, label] += posterior[item]
        for annotator in range(a):
            for true in range(k):
                total = confusion[annotator, true].sum()
                confusion[annotator, true] = confusion[annotator, true] / total if total > 0 else 1 / k
        log = np.tile(np.log(np.maximum(prior, 1e-10)), (n, 1))
        for item, annotator, label in votes:
            log[item] += np.log(np.maximum(confusion[annotator, :, label], 1e-10))
        posterior = np.exp(log - log.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior, confusion


def wilcoxon_tails(differences: Sequence[float]) -> tuple[float, float]:
    """P(W <= w) and P(W >= w) over all 2^n sign patterns, average ranks for ties, zeros dropped."""
    values = [d for d in differences if d != 0]
    sizes = [abs(d) for d in values]
    ranks = [sum(o < s for o in sizes) + (sum(o == s for o in sizes) + 1) / 2 for s in sizes]
    seen = sum(r for r, d in zip(ranks, values, strict=True) if d > 0)
    sums = [
        sum(r for r, up in zip(ranks, signs, strict=True) if up) for signs in product((False, True), repeat=len(values))
    ]
    return sum(s <= seen + 1e-9 for s in sums) / len(sums), sum(s >= seen - 1e-9 for s in sums) / len(sums)
