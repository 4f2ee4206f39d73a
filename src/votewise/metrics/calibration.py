"""Is confidence earned? Calibration errors against votes and against a label, with what chance alone would show.

Here `confidence` is max_k q_k, `share` the share of votes for that class, and `correct` whether it is the label. Where
people disagree, only the first comparison is 0 for the model that says what they said: the vote shares themselves have
an ECE against the majority of .30 on the demo's words, and of .37 on POPQUORN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_labels, check_pair, check_simplex, check_whole_number
from votewise._errors import InputError
from votewise._random import stream_generator

# The smooth calibration error is computed on a grid this fine: errors of order (1/4096)^2.
_GRID = 4096

# Within a bin, this many cells of near-equal confidence are drawn as binomials; with fewer items a cell is one item.
_CELLS_A_BIN = 256


@dataclass(frozen=True)
class Floor:
    """The calibration error a perfectly calibrated model shows by chance.

    Attributes:
        mean: mean error over simulated labels.
        low: 2.5 % quantile.
        high: 97.5 % quantile; an error below it is no evidence of miscalibration.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class BrierParts:
    """Brier score = reliability - resolution + uncertainty + spread - 2 covariance, exactly.

    Below, p is the outcome and q the forecast: people's shares and the model's, or correctness and confidence.

    Attributes:
        reliability: sum_g w_g |mean q - mean p|^2 over groups g: how far forecasts are from outcomes.
        resolution: sum_g w_g |mean p in g - mean p|^2: how far the groups tell items apart.
        uncertainty: E|p - mean p|^2: how different items are.
        spread: E|q - mean q in g|^2, zero where q is constant in each group.
        covariance: E(q - mean q in g)(p - mean p in g), zero likewise.
    """

    reliability: float
    resolution: float
    uncertainty: float
    spread: float
    covariance: float

    @property
    def total(self) -> float:
        """The Brier score the parts make up."""
        return self.reliability - self.resolution + self.uncertainty + self.spread - 2 * self.covariance


@dataclass(frozen=True, eq=False)
class VoteReliability:
    """Confidence and vote share over B bins of equal mass, by rising confidence.

    Attributes:
        confidence: (B,) mean confidence of the items of each bin.
        share: (B,) mean share of votes for the predicted class.
        items: (B,) number of items.
    """

    confidence: FloatArray
    share: FloatArray
    items: IntArray


@dataclass(frozen=True, eq=False)
class ReliabilityBand:
    """Confidence and vote share of several runs over B bins that they share, by rising confidence.

    Attributes:
        confidence: (B,) mean confidence of the items of each bin.
        share: (B,) mean share of votes for the predicted class.
        low: (B,) lowest mean share of a run.
        high: (B,) highest mean share of a run.
    """

    confidence: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Accuracy as a smooth function of confidence.

    Attributes:
        confidence: (G,) grid.
        accuracy: (G,) kernel-smoothed accuracy; NaN where no item is near.
        density: (G,) share of the items near each point, integrates to one.
        bandwidth: width of the kernel.
    """

    confidence: FloatArray
    accuracy: FloatArray
    density: FloatArray
    bandwidth: float


def confidence_and_correctness(labels: npt.ArrayLike, probs: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Confidence (N,) and 0/1 correctness (N,) of the top class."""
    y, q = check_labels(labels, probs)
    return np.clip(q.max(axis=1), 0.0, 1.0), (q.argmax(axis=1) == y).astype(np.float64)


def confidence_and_share(reference: npt.ArrayLike, probs: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Confidence (N,) and the vote share of the top class, (N,)."""
    p, q = check_pair(reference, probs)
    return np.clip(q.max(axis=1), 0.0, 1.0), p[np.arange(len(q)), q.argmax(axis=1)]


def ece(labels: npt.ArrayLike, probs: npt.ArrayLike, *, bins: int = 15) -> float:
    """Equal-mass expected calibration error: sum_b (n_b / N) |accuracy_b - confidence_b|.

    Items are sorted by confidence and cut into `bins` bins of equal count, as nearly as possible. Items of
    equal confidence share their mean correctness, so that where a cut falls among them does not matter.

    Example:
        >>> ece([0, 0, 1, 1], [[0.5, 0.5]] * 4)
        0.0
    """
    return binned_error(*confidence_and_correctness(labels, probs), bins)


def ece_equal_width(labels: npt.ArrayLike, probs: npt.ArrayLike, *, bins: int = 15) -> float:
    """The `ece` over bins of equal width, ((b - 1) / bins, b / bins], as Guo et al. (2017) have it.

    Example:
        >>> round(ece_equal_width([0, 0, 1, 1], [[0.5, 0.5]] * 4), 4)
        0.0
    """
    confidence, correct = confidence_and_correctness(labels, probs)
    gap = np.bincount(equal_width_bins(confidence, bins), weights=correct - confidence)
    return float(np.abs(gap).sum() / len(confidence))


def ece_floor(probs: npt.ArrayLike, *, bins: int = 15, seed: int = 0, draws: int = 1000) -> Floor:
    """The equal-mass ECE of a perfectly calibrated model with these confidences, by simulation.

    Correctness is drawn from each item's confidence. In each bin, runs of up to N / (256 bins) items of neighbouring
    confidence are drawn as one binomial of their mean; with fewer than 256 items per bin, each item is drawn alone.
    """
    confidence = np.clip(check_simplex("probs", probs).max(axis=1), 0.0, 1.0)
    return _simulated_floor(confidence, np.ones(len(confidence)), bins, draws, stream_generator(seed, "ece floor"))


def vote_ece(reference: npt.ArrayLike, probs: npt.ArrayLike, *, bins: int = 15) -> float:
    """Equal-mass calibration error against votes: sum_b (n_b / N) |mean share_b - mean confidence_b|.

    The share of an item is that of its votes which the predicted class got. A model that predicts every item's shares
    exactly has an error of zero, whatever its accuracy. Bins are those of `ece`.

    Example:
        >>> vote_ece([[0.7, 0.3], [0.5, 0.5]], [[0.7, 0.3], [0.5, 0.5]])
        0.0
    """
    return binned_error(*confidence_and_share(reference, probs), bins)


def classwise_vote_ece(reference: npt.ArrayLike, probs: npt.ArrayLike, *, bins: int = 15) -> float:
    """The mean over classes of each class's calibration error against votes, after Kull et al. (2019).

    That of class k is sum_b (n_b / N) |mean p_k - mean q_k|, over equal-mass bins of q_k. Unlike `vote_ece` it sees
    probabilities that go to the wrong one of the classes that are not predicted.

    Example:
        >>> classwise_vote_ece([[0.7, 0.3, 0.0]], [[0.7, 0.0, 0.3]])
        0.19999999999999998
    """
    p, q = check_pair(reference, probs)
    return float(np.mean([binned_error(model, people, bins) for people, model in zip(p.T, q.T, strict=True)]))


def vote_reliability(reference: npt.ArrayLike, probs: npt.ArrayLike, *, bins: int = 15) -> VoteReliability:
    """The curve behind `vote_ece`: mean vote share of the predicted class by mean confidence, over equal-mass bins.

    Items of equal confidence stay together, in the bin of the middle one, so there may be fewer bins.

    Example:
        >>> curve = vote_reliability([[0.7, 0.3], [0.5, 0.5]], [[0.9, 0.1], [0.6, 0.4]], bins=2)
        >>> curve.confidence.tolist(), curve.share.tolist()
        ([0.6, 0.9], [0.5, 0.7])
    """
    check_whole_number("bins", bins, least=1)
    confidence, share = confidence_and_share(reference, probs)
    bin_of = bins_of_equals(confidence, bins)
    items = np.bincount(bin_of)
    means = [np.bincount(bin_of, weights=values) / items for values in (confidence, share)]
    return VoteReliability(means[0], means[1], items)


def vote_reliability_over_runs(
    runs: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]], *, bins: int = 15, least_items: int = 20
) -> ReliabilityBand | None:
    """The `vote_reliability` of several runs over bins that they share, which have equal mass over all runs.

    Args:
        runs: votes (N, K) and predicted probabilities (N, K) of each run.
        bins: the most bins.
        least_items: the fewest items a bin holds on average, so that the curve does not show chance alone.

    Returns:
        The curve; None where all items fall into one bin.
    """
    curves = [confidence_and_share(*run) for run in runs]
    confidence, share = (np.concatenate(parts) for parts in zip(*curves, strict=True))
    run_of = np.repeat(np.arange(len(curves)), [len(one) for one, _ in curves])
    bin_of = bins_of_equals(confidence, min(bins, max(len(confidence) // least_items, 1)))
    used = int(bin_of.max()) + 1
    if used < 2:
        return None
    cell = run_of * used + bin_of
    items, total = (np.bincount(cell, weights, len(curves) * used).reshape(-1, used) for weights in (None, share))
    means = np.divide(total, items, out=np.full(total.shape, np.nan), where=items > 0)
    middle, height = (np.bincount(bin_of, values) / np.bincount(bin_of) for values in (confidence, share))
    return ReliabilityBand(middle, height, np.nanmin(means, axis=0), np.nanmax(means, axis=0))


def vote_ece_floor(
    probs: npt.ArrayLike, votes_per_item: npt.ArrayLike, *, bins: int = 15, seed: int = 0, draws: int = 1000
) -> Floor:
    """The `vote_ece` of a model whose predictions are right, against that many votes drawn from them, by simulation.

    Args:
        probs: (N, K) predicted probabilities.
        votes_per_item: number of votes on each item, (N,), or on every item.
        bins: number of equal-mass bins.
        seed: seed of the simulation.
        draws: number of simulated sets of votes.
    """
    confidence = np.clip(check_simplex("probs", probs).max(axis=1), 0.0, 1.0)
    votes = np.asarray(votes_per_item)
    if votes.dtype.kind not in "iu" or votes.shape not in ((), confidence.shape):
        raise InputError(
            f"votes_per_item must be a whole number, or one for each of the {len(confidence):,} items",
            f"got {votes.dtype} of shape {votes.shape}",
            "Pass votes.counts.sum(axis=1)",
        )
    if votes.min() < 1:
        raise InputError("votes_per_item must be at least 1", f"got {votes.min()}", "Leave out items without votes")
    variance = np.broadcast_to(1 / votes, confidence.shape)
    return _simulated_floor(confidence, variance, bins, draws, stream_generator(seed, "vote ece floor"))


def binned_error(confidence: FloatArray, outcome: FloatArray, bins: int) -> float:
    """Mean distance of outcome from confidence over equal-mass bins."""
    bin_of, shared = equal_mass_bins(confidence, outcome, bins)
    gap = np.bincount(bin_of, weights=shared - confidence)
    return float(np.abs(gap).sum() / len(confidence))


def _simulated_floor(
    confidence: FloatArray, relative_variance: FloatArray, bins: int, draws: int, rng: np.random.Generator
) -> Floor:
    """The binned error of outcomes that are shares of binomial draws from the confidence.

    Args:
        confidence: (N,) in [0, 1].
        relative_variance: (N,) 1 / m for the share of m draws.
        bins: number of equal-mass bins.
        draws: number of simulations.
        rng: source of chance.
    """
    check_whole_number("draws", draws, least=1)
    n, bins = len(confidence), min(check_whole_number("bins", bins, least=1), len(confidence))
    order = np.argsort(confidence, kind="stable")
    edges = _bin_edges(n, bins)
    cell_edges = np.unique(
        np.concatenate([np.linspace(low, high, _CELLS_A_BIN + 1).astype(np.int64) for low, high in pairwise(edges)])
    )
    size = np.diff(cell_edges)
    expected = np.add.reduceat(confidence[order], cell_edges[:-1])
    # As many trials as give the sum of a cell's shares its variance: exact for items alone and for equal m.
    trials = np.rint(size**2 / np.add.reduceat(relative_variance[order], cell_edges[:-1])).astype(np.int64)
    first_cell = np.searchsorted(cell_edges, edges[:-1])
    drawn = rng.binomial(trials, np.clip(expected / size, 0, 1), size=(draws, len(size))) * size / trials
    gaps = np.add.reduceat(drawn - expected, first_cell, axis=1)
    simulated = np.abs(gaps).sum(axis=1) / n
    return Floor(float(simulated.mean()), *(float(value) for value in np.quantile(simulated, [0.025, 0.975])))


def smooth_ece(labels: npt.ArrayLike, probs: npt.ArrayLike) -> float:
    """Smooth calibration error of Blasiok and Nakkiran (arXiv 2309.12236): no bins to choose.

    The residuals correct - confidence are smoothed over confidence by a Gaussian kernel reflected at 0 and
    1; the error is the integral of their absolute value, at the bandwidth that equals the error itself.
    """
    confidence, correct = confidence_and_correctness(labels, probs)
    return smooth_error(residual_grid(confidence, correct))[0]


def reliability_curve(labels: npt.ArrayLike, probs: npt.ArrayLike, *, points: int = 256) -> ReliabilityCurve:
    """Kernel-smoothed accuracy against confidence, at the bandwidth of `smooth_ece`, for drawing."""
    if check_whole_number("points", points, least=1) > _GRID:
        raise InputError(f"a curve can have at most {_GRID:,} points", f"got {points:,}", "Ask for fewer")
    confidence, correct = confidence_and_correctness(labels, probs)
    bandwidth = max(smooth_error(residual_grid(confidence, correct))[1], 1e-3)
    hits = smooth_on_grid(_spread_on_grid(confidence, correct), bandwidth)
    mass = smooth_on_grid(_spread_on_grid(confidence, np.ones_like(confidence)), bandwidth)
    middle = (np.arange(_GRID) + 0.5) / _GRID
    near = mass * len(confidence) > 1e-3
    curve = np.divide(hits, mass, out=np.full(_GRID, np.nan), where=near)
    shown = np.arange(points) * _GRID // points
    return ReliabilityCurve(middle[shown], np.clip(curve[shown], 0, 1), np.maximum(mass[shown], 0), bandwidth)


def brier_parts(reference: npt.ArrayLike, probs: npt.ArrayLike, *, bins: int = 15) -> BrierParts:
    """Decompose the soft Brier score over groups of items with similar predictions.

    Groups are made by top class and, within each, equal-mass bins of confidence, about `bins` in all. (Bins of
    confidence alone would mix confident cats with confident dogs, and find no resolution in any model.)
    """
    p, q = check_pair(reference, probs)
    return _parts(p, q, alike_predictions(q, bins))


def correctness_brier_parts(labels: npt.ArrayLike, probs: npt.ArrayLike, *, bins: int = 15) -> BrierParts:
    """Decompose mean (confidence - correct)^2, the Brier score of the top class alone.

    Groups are equal-mass bins of confidence. Items of equal confidence stay together, in the bin of the middle one,
    so the order of items does not matter.

    Example:
        >>> parts = correctness_brier_parts([0, 0, 1, 1], [[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.4, 0.6]], bins=2)
        >>> round(parts.reliability, 4), round(parts.resolution, 4), parts.uncertainty
        (0.01, 0.0625, 0.1875)
    """
    check_whole_number("bins", bins, least=1)
    confidence, correct = confidence_and_correctness(labels, probs)
    return _parts(correct[:, None], confidence[:, None], bins_of_equals(confidence, bins))


def _parts(p: FloatArray, q: FloatArray, group: IntArray) -> BrierParts:
    """The parts for p and q, (N, K) each, over groups numbered from 0 without gaps, (N,)."""
    weight, mean_p, mean_q = _group_means(p, q, group)
    overall = p.mean(axis=0)
    return BrierParts(
        float((weight * ((mean_q - mean_p) ** 2).sum(axis=1)).sum()),
        float((weight * ((mean_p - overall) ** 2).sum(axis=1)).sum()),
        float(((p - overall) ** 2).sum(axis=1).mean()),
        float(((q - mean_q[group]) ** 2).sum(axis=1).mean()),
        float(((q - mean_q[group]) * (p - mean_p[group])).sum(axis=1).mean()),
    )


def _group_means(p: FloatArray, q: FloatArray, group: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Share of items in each group, (G,), and the groups' means of p and q, (G, K) each."""
    size = np.bincount(group).astype(np.float64)
    means = [
        np.stack([np.bincount(group, weights=column) for column in table.T], axis=1) / size[:, None] for table in (p, q)
    ]
    return size / len(group), means[0], means[1]


def equal_mass_bins(confidence: FloatArray, outcome: FloatArray, bins: int) -> tuple[IntArray, FloatArray]:
    """Bin of each item, (N,), and its outcome averaged over items of equal confidence, (N,)."""
    n = len(confidence)
    edges = _bin_edges(n, min(check_whole_number("bins", bins, least=1), n))
    order = np.argsort(confidence, kind="stable")
    rising, sorted_outcome = confidence[order], outcome[order]
    group = np.concatenate([[0], np.cumsum(rising[1:] != rising[:-1])])
    bin_of, shared = np.empty(n, dtype=np.int64), np.empty(n)
    bin_of[order] = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    shared[order] = (np.bincount(group, weights=sorted_outcome) / np.bincount(group))[group]
    return bin_of, shared


def equal_width_bins(confidence: FloatArray, bins: int) -> IntArray:
    """Bin of each item, (N,): b for confidences in (b / bins, (b + 1) / bins], and 0 for 0."""
    edges = np.arange(1, check_whole_number("bins", bins, least=1)) / bins
    return np.searchsorted(edges, confidence, side="left")


def alike_predictions(probs: FloatArray, bins: int) -> IntArray:
    """Group of each item, (N,), by top class and equal-mass bins of confidence within it.

    Each top class gets bins in proportion to its items, at least one. Items of equal confidence stay together,
    in the bin of the middle one, so the order of items does not matter.
    """
    check_whole_number("bins", bins, least=1)
    top, confidence = probs.argmax(axis=1), probs.max(axis=1)
    group = np.empty(len(probs), dtype=np.int64)
    groups = 0
    for label in np.unique(top):
        rows = np.flatnonzero(top == label)
        bin_of = bins_of_equals(confidence[rows], max(round(bins * len(rows) / len(probs)), 1))
        group[rows] = groups + bin_of
        groups += int(bin_of.max()) + 1
    return group


def bins_of_equals(confidence: FloatArray, bins: int) -> IntArray:
    """Equal-mass bin of each item, (N,), without gaps; equal confidences share the bin of the middle one."""
    edges = _bin_edges(len(confidence), min(bins, len(confidence)))
    _, value, size = np.unique(confidence, return_inverse=True, return_counts=True)
    middle = np.cumsum(size) - (size + 1) // 2
    return np.unique(np.searchsorted(edges, middle[value], side="right"), return_inverse=True)[1]


def residual_grid(confidence: FloatArray, correct: FloatArray) -> FloatArray:
    """Mean residual density correct - confidence on the grid of confidence, (G,)."""
    return _spread_on_grid(confidence, correct - confidence)


def smooth_error(residual: FloatArray) -> tuple[float, float]:
    """The fixed point error(bandwidth) = bandwidth of smoothed residuals: (error, bandwidth)."""
    low, high = 0.0, 1.0  # error(s) / s falls with s, so the crossing is unique: halve until it is pinned down
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if absolute_mean(smooth_on_grid(residual, middle)) > middle else (low, middle)
    return float(absolute_mean(smooth_on_grid(residual, high))), high


def smooth_on_grid(values: FloatArray, bandwidth: float) -> FloatArray:
    """Smooth (..., G) grid values with a Gaussian reflected at both ends.

    Reflected at 0 and 1, the Gaussian acts on each cosine by a factor exp(-(pi k s)^2 / 2), so the smoothing
    is exact in the cosine transform.
    """
    from scipy.fft import dct, idct

    decay = np.exp(-((np.pi * np.arange(values.shape[-1]) * bandwidth) ** 2) / 2)
    return np.asarray(idct(dct(values, axis=-1) * decay, axis=-1))


def absolute_mean(density: FloatArray) -> npt.NDArray[np.float64] | float:
    """Integral of |density| over [0, 1] for (..., G) grid values."""
    return np.asarray(np.abs(density).mean(axis=-1))


def _grid_cells(confidence: FloatArray) -> tuple[IntArray, FloatArray]:
    """Each item's lower grid cell, (N,), and the share of it that belongs to the next, (N,)."""
    place = np.clip(confidence * _GRID - 0.5, 0, _GRID - 1)
    lower = np.minimum(place.astype(np.int64), _GRID - 2)
    return lower, place - lower


def _spread_on_grid(confidence: FloatArray, weights: FloatArray) -> FloatArray:
    """Density of weights on the grid, each shared linearly by the two nearest cells; integrates to the mean weight."""
    lower, share = _grid_cells(confidence)
    density = np.bincount(lower, weights * (1 - share), _GRID) + np.bincount(lower + 1, weights * share, _GRID)
    return np.asarray(density * _GRID / len(confidence))


def _bin_edges(n: int, bins: int) -> IntArray:
    """Where bins of n sorted items begin and end, (bins + 1,): the first n mod bins get one more."""
    sizes = np.full(bins, n // bins) + (np.arange(bins) < n % bins)
    return np.concatenate([[0], np.cumsum(sizes)])
