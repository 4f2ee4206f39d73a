"""Every metric of a model against the votes, each with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace

import numpy as np
import numpy.typing as npt

from votewise import metrics
from votewise._checks import FloatArray, IntArray, check_pair
from votewise._numerics import rankable, top_classes
from votewise._random import stream_generator
from votewise.metrics import METRICS, Metric, Reference, calibration, ranking
from votewise.statistics import Interval, Resamples, centred_interval, wilson_interval
from votewise.targets import Targets
from votewise.votes import Votes


@dataclass(frozen=True)
class Scores:
    """Scores of one model on N items.

    Attributes:
        items: N.
        metrics: name to value and 95 % interval, in the order of `votewise.metrics.METRICS`.
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
        reference: votes, targets, or (N, K) vote shares; only votes with counts have a `vote_ece_floor`.
        probs: (N, K) predicted probabilities.
        labels: (N,) hard labels for accuracy and calibration; the majority (lowest class in a tie) if left out.
        bins: number of bins of the equal-mass calibration error and of the Brier decomposition.
        seed: seed of the bootstrap and of the calibration floor.

    Returns:
        Means with bootstrap intervals over items; see docs/metrics.md for every definition.
    """
    p, q = check_pair(reference.probs if isinstance(reference, (Votes, Targets)) else reference, probs)
    y = top_classes(p) if labels is None else np.asarray(labels)
    counts = reference.counts.sum(axis=1) if isinstance(reference, Votes) and reference.counts is not None else None
    draws = Resamples(len(p), seed=seed) if len(p) > 1 else None
    floor = Interval(*astuple(metrics.ece_floor(q, bins=bins, seed=seed)))
    vote_floor = Interval(math.nan)
    if counts is not None:
        vote_floor = Interval(*astuple(metrics.vote_ece_floor(q, counts, bins=bins, seed=seed)))
    # Scores that depend on bins, or have a better interval than the bootstrap of a mean.
    special = {
        "accuracy": wilson_interval(metrics.accuracy(y, q), len(p)),
        "accuracy_majority": wilson_interval(metrics.accuracy(top_classes(p), q), len(p)),
        "ece": _binned_error(*calibration.confidence_and_correctness(y, q), bins, draws, floor),
        "ece_floor": floor,
        "vote_ece": _binned_error(*calibration.confidence_and_share(p, q), bins, draws, vote_floor),
        "vote_ece_floor": vote_floor,
        "classwise_vote_ece": _classwise_error(p, q, bins, draws),
        "ece_equal_width": _equal_width_error(*calibration.confidence_and_correctness(y, q), bins, draws, floor),
        "smooth_ece": _smooth_ece(y, q, draws, seed),
        "entropy_correlation": _entropy_correlation(p, q, draws, ranking.spearman, ranking.spearman_influence),
        "entropy_pearson": _entropy_correlation(p, q, draws, ranking.pearson, ranking.pearson_influence),
        **_brier_parts(p, q, bins, draws),
    }
    known = Reference(p, y, counts)
    return Scores(
        len(p),
        {name: special[name] if name in special else _plain(row, known, q, draws) for name, row in METRICS.items()},
    )


def _plain(metric: Metric, reference: Reference, q: FloatArray, draws: Resamples | None) -> Interval:
    """A mean over items with its bootstrap interval; any other score without one."""
    if metric.per_item is None or draws is None:
        return Interval(metric.of(reference, q))
    values = metric.per_item(reference.part(metric.against), q)
    least, most = metric.range
    mean = float(values.mean())
    if not math.isfinite(mean):
        return Interval(mean)
    return centred_interval(mean, draws.means(values)[:, 0], least=least, most=most)


def _binned_error(
    confidence: FloatArray, outcome: FloatArray, bins: int, draws: Resamples | None, floor: Interval
) -> Interval:
    """The equal-mass calibration error against `outcome`, (N,): correctness, or the vote share of the top class."""
    value = calibration.binned_error(confidence, outcome, bins)
    if draws is None:
        return Interval(value)
    bin_of, shared = calibration.equal_mass_bins(confidence, outcome, bins)
    gaps = draws.means(shared - confidence, bin_of, int(bin_of.max()) + 1)
    return _reaching_zero(centred_interval(value, np.abs(gaps).sum(axis=1), least=0, most=1), floor.high)


def _classwise_error(p: FloatArray, q: FloatArray, bins: int, draws: Resamples | None) -> Interval:
    """The equal-mass calibration error of each class's probability against its vote share, mean over classes."""
    value, resampled = 0.0, np.zeros(1)
    for people, model in zip(p.T, q.T, strict=True):
        bin_of, shared = calibration.equal_mass_bins(model, people, bins)
        value += float(np.abs(np.bincount(bin_of, weights=shared - model)).sum()) / p.size
        if draws is not None:
            gaps = draws.means(shared - model, bin_of, int(bin_of.max()) + 1)
            resampled = resampled + np.abs(gaps).sum(axis=1) / p.shape[1]
    return Interval(value) if draws is None else centred_interval(value, resampled, least=0, most=1)


def _equal_width_error(
    confidence: FloatArray, correct: FloatArray, bins: int, draws: Resamples | None, floor: Interval
) -> Interval:
    """The calibration error over bins of equal width; `floor` is that of equal mass, which has no fewer full bins."""
    bin_of = calibration.equal_width_bins(confidence, bins)
    value = float(np.abs(np.bincount(bin_of, weights=correct - confidence)).sum() / len(confidence))
    if draws is None:
        return Interval(value)
    gaps = draws.means(correct - confidence, bin_of, bins)
    return _reaching_zero(centred_interval(value, np.abs(gaps).sum(axis=1), least=0, most=1), floor.high)


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
    """An error that a calibrated model could show by chance may be zero; the floor is NaN where it is unknown."""
    return replace(interval, low=0.0) if interval.value <= floor else interval


def _entropy_correlation(
    p: FloatArray,
    q: FloatArray,
    draws: Resamples | None,
    correlation: Callable[[FloatArray, FloatArray], float],
    influence: Callable[[FloatArray, FloatArray], FloatArray],
) -> Interval:
    people, model = rankable(metrics.entropy_per_item(p)), rankable(metrics.entropy_per_item(q))
    value = correlation(people, model)
    if draws is None or math.isnan(value):
        return Interval(value)
    resampled = value + draws.means(influence(people, model))[:, 0]
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
