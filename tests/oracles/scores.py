"""Metrics written again, slowly: one item, one class, one term at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def cross_entropy(p: Sequence[float], q: Sequence[float]) -> float:
    total = 0.0
    for pk, qk in zip(p, q, strict=True):
        if pk > 0:
            total += math.inf if qk == 0 else -pk * math.log(qk)
    return total


def kl(p: Sequence[float], q: Sequence[float]) -> float:
    total = 0.0
    for pk, qk in zip(p, q, strict=True):
        if pk > 0:
            total += math.inf if qk == 0 else pk * math.log(pk / qk)
    return total


def jsd(p: Sequence[float], q: Sequence[float]) -> float:
    middle = [(pk + qk) / 2 for pk, qk in zip(p, q, strict=True)]
    return (kl(p, middle) + kl(q, middle)) / 2


def equal_mass_ece(confidence: Sequence[float], correct: Sequence[float], bins: int) -> float:
    """Sort, deal into consecutive bins, compare means. Ties: every item carries the mean correctness of its equals."""
    n = len(confidence)
    order = sorted(range(n), key=lambda i: confidence[i])
    shared = {}
    for c in set(confidence):
        same = [correct[i] for i in range(n) if confidence[i] == c]
        shared[c] = math.fsum(same) / len(same)
    total, start = 0.0, 0
    for b in range(min(bins, n)):
        size = n // min(bins, n) + (1 if b < n % min(bins, n) else 0)
        members = order[start : start + size]
        start += size
        total += abs(math.fsum(shared[confidence[i]] - confidence[i] for i in members))
    return total / n


def correctness_brier_parts(confidence: Sequence[float], correct: Sequence[float], bins: int) -> tuple[float, ...]:
    """Reliability, resolution, uncertainty, spread, covariance, bin by bin, for confidences of which no two are equal."""
    n = len(confidence)
    order = sorted(range(n), key=lambda i: confidence[i])
    overall = math.fsum(correct) / n
    reliability = resolution = spread = covariance = 0.0
    start = 0
    for b in range(min(bins, n)):
        size = n // min(bins, n) + (1 if b < n % min(bins, n) else 0)
        members = order[start : start + size]
        start += size
        said = math.fsum(confidence[i] for i in members) / size
        seen = math.fsum(correct[i] for i in members) / size
        reliability += size / n * (said - seen) ** 2
        resolution += size / n * (seen - overall) ** 2
        spread += math.fsum((confidence[i] - said) ** 2 for i in members) / n
        covariance += math.fsum((confidence[i] - said) * (correct[i] - seen) for i in members) / n
    return reliability, resolution, overall * (1 - overall), spread, covariance


def equal_width_ece(confidence: Sequence[float], correct: Sequence[float], bins: int) -> float:
    """The ECE over bins ((b - 1) / B, b / B], one item at a time."""
    total = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [
            right - sure
            for sure, right in zip(confidence, correct, strict=True)
            if low < sure <= high or (number == 0 and sure <= 0)
        ]
        total += abs(math.fsum(inside))
    return total / len(confidence)


def smooth_ece(confidence: np.ndarray, correct: np.ndarray, points: int = 2_001) -> float:
    """The definition by brute force: images of the kernel mirrored at 0 and 1, trapezoid rule, fixed point by bisection."""
    grid = np.linspace(0, 1, points)

    def error(sigma: float) -> float:
        residual = np.zeros(points)
        for f, y in zip(confidence, correct, strict=True):
            kernel = sum(
                np.exp(-((grid - image) ** 2) / (2 * sigma**2))
                for shift in range(-6, 7)
                for image in (2 * shift + f, 2 * shift - f)
            )
            residual += (y - f) * kernel / (sigma * math.sqrt(2 * math.pi))
        return float(np.trapezoid(np.abs(residual / len(confidence)), grid))

    low, high = 1e-3, 1.0
    for _ in range(18):
        middle = (low + high) / 2
        if error(middle) > middle:
            low = middle
        else:
            high = middle
    return error(high)


def average_ranks(values: Sequence[float]) -> list[float]:
    return [sum(other < v for other in values) + (sum(other == v for other in values) + 1) / 2 for v in values]
