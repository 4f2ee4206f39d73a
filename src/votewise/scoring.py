"""Every metric of a model against the votes, each with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from votewise import metrics
from votewise._checks import FloatArray, IntArray, check_pair
from votewise._numerics import rankable, top_classes
from votewise._random import stream_generator
from votewise.metrics import calibration, ranking
from votewise.statistics import Interval, Resamples, centred_interval, wilson_interval
from votewise.targets import Targets
from votewise.votes import Votes


@dataclass(frozen=True)
class Scores:
    """Scores of one model on N items.

    Attributes:
        items: N.
        metrics: name to value and 95 % interval, in a fixed order.
    """

    items: int
    metrics: dict[str, Interval]


def score(
    reference: Votes | Targets | npt.ArrayLike,
    probs: npt.ArrayLike,
    labels: npt.ArrayLike | None = None,
    *,
    bins: int = 15,
    seed: int = 0,
) -> Scores:
    """Score predictions against vote shares.

    Args:
        reference: votes, targets, or (N, K) vote shares.
        probs: (N, K) predicted probabilities.
        labels: (N,) hard labels for accuracy and calibration; the majority (lowest class in a tie) if left out.
        bins: number of bins of the equal-mass calibration error and of the Brier decomposition.
        seed: seed of the bootstrap and of the calibration floor.

    Returns:
        Means with bootstrap intervals over items; see docs/metrics.md for every definition.
    """
    p, q = check_pair(reference.probs if isinstance(reference, (Votes, Targets)) else reference, probs)
    y = top_classes(p) if labels is None else np.asarray(labels)
    draws = Resamples(len(p), seed=seed) if len(p) > 1 else None

    def mean(values: FloatArray, least: float, most: float) -> Interval:
        value = float(values.mean())
        if draws is None or not math.isfinite(value):
            return Interval(value)
        return centred_interval(value, draws.means(values)[:, 0], least=least, most=most)

    floor = metrics.ece_floor(q, bins=bins, seed=seed)
    named = {
        "soft_nll": mean(metrics.soft_nll_per_item(p, q), 0, math.inf),
        "kl": mean(metrics.kl_per_item(p, q), 0, math.inf),
        "soft_brier": mean(metrics.soft_brier_per_item(p, q), 0, 2),
        "accuracy": wilson_interval(metrics.accuracy(y, q), len(p)),
        "ece": _ece(y, q, bins, draws, floor.high),
        "ece_floor": Interval(floor.mean, floor.low, floor.high),
        "smooth_ece": _smooth_ece(y, q, draws, seed),
        "entropy_correlation": _entropy_correlation(p, q, draws),
        "jsd": mean(metrics.jsd_per_item(p, q), 0, math.log(2)),
        "manhattan": mean(metrics.manhattan_per_item(p, q), 0, 2),
        "soft_accuracy": mean(metrics.soft_accuracy_per_item(p, q), 0, 1),
        **_brier_parts(p, q, bins, draws),
    }
    return Scores(len(p), named)


def _ece(y: IntArray, q: FloatArray, bins: int, draws: Resamples | None, floor: float) -> Interval:
    value = metrics.ece(y, q, bins=bins)
    if draws is None:
        return Interval(value)
    confidence, correct = calibration.confidence_and_correctness(y, q)
    bin_of, shared = calibration.equal_mass_bins(confidence, correct, bins)
    gaps = draws.means(shared - confidence, bin_of, int(bin_of.max()) + 1)
    return _reaching_zero(centred_interval(value, np.abs(gaps).sum(axis=1), least=0, most=1), floor)


def _smooth_ece(y: IntArray, q: FloatArray, draws: Resamples | None, seed: int) -> Interval:
    confidence, correct = calibration.confidence_and_correctness(y, q)
    value, bandwidth = calibration.smooth_error(calibration.residual_grid(confidence, correct))
    if draws is None:
        return Interval(value)
    # Resamples are smoothed at the bandwidth found, on a grid just fine enough for it.
    cells = min(256, max(32, math.ceil(4 / max(bandwidth, 1 / 64))))
    place = np.minimum((confidence * cells).astype(np.int64), cells - 1)

    def errors(residual: FloatArray) -> FloatArray:
        return np.asarray(calibration.absolute_mean(calibration.smooth_on_grid(residual * cells, bandwidth)))

    size, expected = np.bincount(place, minlength=cells), np.bincount(place, weights=confidence, minlength=cells)
    chance = np.divide(expected, size, out=np.zeros(cells), where=size > 0)
    calibrated = stream_generator(seed, "smooth floor").binomial(size, np.clip(chance, 0, 1), size=(1000, cells))
    floor = float(np.quantile(errors((calibrated - expected) / len(confidence)), 0.975))
    resampled = errors(draws.means(correct - confidence, place, cells))
    return _reaching_zero(centred_interval(value, resampled, least=0, most=1), floor)


def _reaching_zero(interval: Interval, floor: float) -> Interval:
    """An error that a calibrated model could show by chance may be zero."""
    return replace(interval, low=0.0) if interval.value <= floor else interval


def _entropy_correlation(p: FloatArray, q: FloatArray, draws: Resamples | None) -> Interval:
    people, model = rankable(metrics.entropy_per_item(p)), rankable(metrics.entropy_per_item(q))
    value = ranking.spearman(people, model)
    if draws is None or math.isnan(value):
        return Interval(value)
    resampled = value + draws.means(ranking.spearman_influence(people, model))[:, 0]
    return centred_interval(value, resampled, least=-1, most=1)


def _brier_parts(p: FloatArray, q: FloatArray, bins: int, draws: Resamples | None) -> dict[str, Interval]:
    parts = metrics.brier_parts(p, q, bins=bins)
    values = (parts.reliability, parts.resolution, parts.uncertainty)
    names = ("brier_reliability", "brier_resolution", "brier_uncertainty")
    if draws is None:
        return {name: Interval(value) for name, value in zip(names, values, strict=True)}
    group = calibration.alike_predictions(q, bins)
    cells = int(group.max()) + 1
    weight = np.maximum(draws.means(np.ones(len(p)), group, cells), 1e-300)
    reliability = np.zeros(len(weight))
    resolution = np.zeros(len(weight))
    uncertainty = draws.means((p**2).sum(axis=1))[:, 0]
    for people, model in zip(p.T, q.T, strict=True):
        sum_p, sum_q = draws.means(people, group, cells), draws.means(model, group, cells)
        overall = sum_p.sum(axis=1)
        reliability += ((sum_q - sum_p) ** 2 / weight).sum(axis=1)
        resolution += (sum_p**2 / weight).sum(axis=1) - overall**2
        uncertainty = uncertainty - overall**2
    resampled = (reliability, resolution, uncertainty)
    return {
        name: centred_interval(value, again, least=0, most=2)
        for name, value, again in zip(names, values, resampled, strict=True)
    }
