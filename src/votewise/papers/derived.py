"""What can be said of a run only beside the votes: reliability, calibration, gains by redraw, gradient variance."""

from __future__ import annotations

import math

import numpy as np

from votewise import metrics
from votewise._checks import FloatArray, IntArray
from votewise._numerics import rankable
from votewise._random import stream_generator
from votewise.data.dataset import Prepared
from votewise.experiments.run import softmax
from votewise.records import RunRecord
from votewise.votes import Votes

# Bins of the images whose vote shares a redraw changed, equally full; those it left unchanged have a bin of their own.
_BINS = 5

# Points at which accuracy by confidence, and gradient variance by entropy, are kept.
_CONFIDENCES = 64
_ENTROPIES = 20

_DRAWS = 100
# Added to the seed of a redraw for another one, which no run was trained on.
_OTHER_REDRAW = 1000
_ECE_BINS = (10, 15, 20)  # the paper does not say which
_INVERSE_TEMPERATURES = (0.05, 20.0)

Numbers = dict[str, float]
Series = dict[str, FloatArray]


def derive_reliability(record: RunRecord, data: Prepared) -> tuple[Numbers, Series]:
    """Accuracy by confidence, parts of the Brier score (of correctness, of people's shares), and ECE by bins."""
    rows, probs = record.arrays["held_out"], softmax(record.arrays["best_logits"])
    labels, people = data.hard_labels[rows], data.votes.probs[rows]
    curve = metrics.reliability_curve(labels, probs, points=_CONFIDENCES)
    parts = {
        "correctness": metrics.correctness_brier_parts(labels, probs),
        "shares": metrics.brier_parts(people, probs),
    }
    numbers = {f"brier/{name}/{part}": value for name, found in parts.items() for part, value in vars(found).items()}
    numbers |= {f"ece/{bins}": metrics.ece(labels, probs, bins=bins) for bins in _ECE_BINS}
    return numbers, {"reliability_accuracy": curve.accuracy, "reliability_density": curve.density}


def derive_confidences() -> FloatArray:
    """The confidences at which `derive_reliability` gives the accuracy."""
    return metrics.reliability_curve([0], [[1.0, 0.0]], points=_CONFIDENCES).confidence


def derive_improvement_by_redraw(gain: FloatArray, people: Votes, votes: int, seed: int) -> Numbers:
    """How much a hard delivery improves on soft labels of the same redrawn votes, by how far the redraw is off.

    A redraw says something about the gain only on images that both runs were trained on. On others it is independent
    of everything but the images' votes, so that with these given no correlation is to be expected.

    Args:
        gain: (N,) soft NLL of the soft run less that of the hard one, both against all votes, at the best epochs.
        people: all votes of the images.
        votes: votes per image that were redrawn.
        seed: seed of the runs, and of the redraw.
    """
    from votewise.diagnostics import high_disagreement_slices

    js, l1 = _redraw_distances(people, people.subsample(votes, seed=seed).probs)
    high = high_disagreement_slices(people.probs)["top-20%"]
    entropy = rankable(metrics.entropy_per_item(people.probs))
    other, _ = _redraw_distances(people, people.subsample(votes, seed=seed + _OTHER_REDRAW).probs)
    return {
        "entropy/spearman": metrics.spearman(entropy, rankable(gain)),
        "js/spearman_given_entropy": _spearman_given(rankable(js), rankable(gain), entropy),
        "js/spearman_of_other_redraw": metrics.spearman(rankable(other), rankable(gain)),
        "js/spearman_of_other_redraw_given_entropy": _spearman_given(rankable(other), rankable(gain), entropy),
        **_gain_by_redraw_distance("js", js, gain),
        **_gain_by_redraw_distance("l1", l1, gain),
        **_gain_by_redraw_distance("js-high", js[high], gain[high]),
    }


def _redraw_distances(people: Votes, redrawn: FloatArray) -> tuple[FloatArray, FloatArray]:
    """JS distance (the root of the divergence, from 0 to 1) and L1 distance of each image's redraw from all votes."""
    js = np.sqrt(rankable(metrics.jsd_per_item(people.probs, redrawn)) / math.log(2))
    return js, metrics.manhattan_per_item(people.probs, redrawn)


def _spearman_given(first: FloatArray, second: FloatArray, third: FloatArray) -> float:
    """Partial rank correlation of the first two, given the third; NaN where the third determines one of them."""
    pairs = ((first, second), (first, third), (second, third))
    direct, of_first, of_second = (metrics.spearman(*pair) for pair in pairs)
    left = (1 - of_first**2) * (1 - of_second**2)
    return (direct - of_first * of_second) / math.sqrt(left) if left > 0 else math.nan


def derive_scaled_nll(record: RunRecord, data: Prepared) -> Numbers:
    """Soft NLL after temperature scaling, which removes differences in overall confidence, at the best and last epoch.

    The temperature of one half of the held-out images is fitted on the other half, and the other way round. Soft NLL is
    convex in the inverse temperature.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    def loss(inverse: float, people: FloatArray, logits: FloatArray) -> float:
        """Soft NLL from logits, as probabilities that become 0 would make it infinite."""
        return float(-(people * log_softmax(logits * inverse, axis=1)).sum(axis=1).mean())

    people = data.votes.probs[record.arrays["held_out"]]
    order = stream_generator(int(record.config["seed"]), "temperature").permutation(len(people))  # type: ignore[arg-type]
    halves = np.array_split(order, 2)
    numbers = {}
    for at in ("best", "last"):
        logits = record.arrays[f"{at}_logits"].astype(np.float64)
        fits = (
            minimize_scalar(loss, args=(people[half], logits[half]), bounds=_INVERSE_TEMPERATURES, method="bounded")
            for half in halves[::-1]
        )
        temperatures = [1 / float(fit.x) for fit in fits]
        losses = [
            metrics.soft_nll_per_item(people[half], softmax(logits[half] / temperature))
            for half, temperature in zip(halves, temperatures, strict=True)
        ]
        numbers[f"scaled_soft_nll_{at}"] = float(np.concatenate(losses).mean())
        numbers[f"temperature_{at}"] = float(np.mean(temperatures))
    return numbers


def derive_calibration(people: Votes, probs: FloatArray, at: str) -> Numbers:
    """Calibration against the votes, and what perfect calibration would show with as many of them.

    Args:
        people: votes on the scored images.
        probs: predicted probabilities for them.
        at: epoch of the predictions, "best" or "last".
    """
    return {
        f"vote_ece_{at}": metrics.vote_ece(people.probs, probs),
        f"vote_ece_floor_{at}": metrics.vote_ece_floor(
            probs, people.require_counts("the floor of vote_ece").sum(axis=1)
        ).mean,
    }


def derive_gradient_variance(seed: int, square_length: FloatArray, people: FloatArray) -> tuple[Numbers, Series]:
    """How the variance of the last layer's gradient over drawn labels depends on people's entropy.

    The series are the mean entropy, and the middle and the outer tenths of the variance, in equally full bins of the
    entropy of images with any disagreement; NaN where there are fewer of these than bins.

    Args:
        seed: seed of the run, for the sampled variant.
        square_length: (N,) squared length of the last layer's inputs for each held-out image.
        people: (N, K) vote shares of these images.
    """
    from votewise.diagnostics import gradient_variance_per_item, sampled_gradient_variance_per_item

    length = np.sqrt(square_length)[:, None]
    entropy = rankable(metrics.entropy_per_item(people))
    variance = gradient_variance_per_item(length, people)
    sampled = sampled_gradient_variance_per_item(length, people, draws=_DRAWS, seed=seed)
    disputed = entropy > 0
    numbers = {
        "gradient/spearman": metrics.spearman(entropy, rankable(variance)),
        "gradient/spearman_disputed": metrics.spearman(entropy[disputed], variance[disputed]),
        "gradient/spearman_sampled": metrics.spearman(entropy, rankable(sampled)),
    }
    names = ("gradient_entropy", "gradient_low", "gradient_middle", "gradient_high")
    x, y = entropy[disputed], variance[disputed]
    if len(x) < _ENTROPIES:
        return numbers, {name: np.full(_ENTROPIES, math.nan) for name in names}
    bins = np.array_split(np.argsort(x, kind="stable"), _ENTROPIES)
    points = np.array([(x[rows].mean(), *np.quantile(y[rows], [0.1, 0.5, 0.9])) for rows in bins])
    return numbers, dict(zip(names, points.T, strict=True))


def _gain_by_redraw_distance(name: str, distance: FloatArray, gain: FloatArray) -> Numbers:
    """Mean gain in each bin of distance, the mean distance there, and the rank correlation of the two."""
    bin_of = distance_bins(distance)
    numbers = {f"{name}/spearman": metrics.spearman(rankable(distance), rankable(gain))}
    for place in range(_BINS + 1):
        inside = bin_of == place
        numbers[f"{name}/gain/{place}"] = float(gain[inside].mean()) if inside.any() else math.nan
        numbers[f"{name}/distance/{place}"] = float(distance[inside].mean()) if inside.any() else math.nan
    return numbers


def distance_bins(distance: FloatArray) -> IntArray:
    """Bin of each image, (N,): 0 where the distance is zero, 1 to 5 by the quintiles of the others.

    >>> distance_bins(np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.0]))
    array([0, 1, 2, 3, 4, 5, 0])
    """
    rounded = rankable(distance)
    positive = rounded > 0
    if not positive.any():
        return np.zeros(len(distance), dtype=np.int64)
    inner = np.quantile(rounded[positive], np.arange(1, _BINS) / _BINS)
    return np.where(positive, 1 + np.searchsorted(inner, rounded, side="right"), 0)
