"""Per-run statistics that need the original votes: Figures 2, 3, 5, 6, 7 and 10."""

from __future__ import annotations

import math

import numpy as np

from votewise import metrics
from votewise._checks import FloatArray, IntArray
from votewise._numerics import rankable
from votewise._random import stream_generator
from votewise.experiments.material import Material
from votewise.experiments.run import softmax
from votewise.metrics.calibration import equal_mass_bins
from votewise.records import RunRecord

# Besides one bin of images whose shares the redraw left unchanged: that many bins of the others, equally full.
_BINS = 5

# Points at which accuracy by confidence, and gradient variance by entropy, are kept.
_CONFIDENCES = 64
_ENTROPIES = 20

_DRAWS = 100
_ECE_BINS, _USUAL_BINS = (10, 15, 20), 15  # the paper does not say which
_INVERSE_TEMPERATURES = (0.05, 20.0)

Numbers = dict[str, float]
Series = dict[str, FloatArray]


def reliability(record: RunRecord, material: Material) -> tuple[Numbers, Series]:
    """Accuracy by confidence, parts of the Brier score (of correctness, of people's shares), and ECE by bins."""
    rows, probs = record.arrays["held_out"], softmax(record.arrays["best_logits"])
    labels, people = material.hard_labels[rows], material.votes.probs[rows]
    curve = metrics.reliability_curve(labels, probs, points=_CONFIDENCES)
    parts = {
        "correctness": metrics.correctness_brier_parts(labels, probs),
        "shares": metrics.brier_parts(people, probs),
    }
    numbers = {f"brier/{name}/{part}": value for name, found in parts.items() for part, value in vars(found).items()}
    numbers |= {f"ece/{bins}": metrics.ece(labels, probs, bins=bins) for bins in _ECE_BINS}
    numbers["ece/shares"] = _ece_by_shares(people, probs)
    return numbers, {"reliability_accuracy": curve.accuracy, "reliability_density": curve.density}


def _ece_by_shares(people: FloatArray, probs: FloatArray) -> float:
    """ECE of the top class, correctness being the share of votes for it."""
    confidence, share = probs.max(axis=1), people[np.arange(len(probs)), probs.argmax(axis=1)]
    bin_of, shared = equal_mass_bins(confidence, share, _USUAL_BINS)
    return float(np.abs(np.bincount(bin_of, weights=shared - confidence)).sum() / len(confidence))


def confidence_grid() -> FloatArray:
    """The confidences at which `reliability` gives the accuracy."""
    return metrics.reliability_curve([0], [[1.0, 0.0]], points=_CONFIDENCES).confidence


def improvement(hard: RunRecord, soft: RunRecord, material: Material, high: IntArray) -> Numbers:
    """How much a hard delivery improves on soft labels of the same redrawn votes, by how far the redraw is off.

    Per image: soft NLL of the soft run less that of the hard one, both against all votes, at the best epochs. The
    images are held out, so no run was trained on their redrawn votes; these are drawn as those of the others were.

    Args:
        hard: a run of the sweep.
        soft: the run with soft labels of its seed and number of votes.
        material: votes.
        high: places among the held-out items of those people disagree on most.
    """
    rows = hard.arrays["held_out"]
    people = material.votes.take(rows)
    votes, seed = hard.config["votes"], hard.config["seed"]
    redrawn = people.subsample(votes, seed=seed).probs  # type: ignore[arg-type]
    losses = [metrics.soft_nll_per_item(people.probs, softmax(run.arrays["best_logits"])) for run in (soft, hard)]
    gain = losses[0] - losses[1]
    # The distance is a metric: the root of the divergence, here between 0 and 1.
    js = np.sqrt(rankable(metrics.jsd_per_item(people.probs, redrawn)) / math.log(2))
    l1 = metrics.manhattan_per_item(people.probs, redrawn)
    entropy = rankable(metrics.entropy_per_item(people.probs))
    return {
        "entropy/spearman": metrics.spearman(entropy, rankable(gain)),
        "js/spearman_given_entropy": _spearman_given(rankable(js), rankable(gain), entropy),
        **_by_distance("js", js, gain),
        **_by_distance("l1", l1, gain),
        **_by_distance("js-high", js[high], gain[high]),
    }


def _spearman_given(first: FloatArray, second: FloatArray, third: FloatArray) -> float:
    """Partial rank correlation of the first two, given the third; NaN where the third determines one of them."""
    pairs = ((first, second), (first, third), (second, third))
    direct, of_first, of_second = (metrics.spearman(*pair) for pair in pairs)
    left = (1 - of_first**2) * (1 - of_second**2)
    return (direct - of_first * of_second) / math.sqrt(left) if left > 0 else math.nan


def scaled(record: RunRecord, material: Material) -> Numbers:
    """Soft NLL after temperature scaling, which removes differences in overall confidence.

    The temperature of one half of the held-out images is fitted on the other half, and the other way round.
    """
    rows, logits = record.arrays["held_out"], record.arrays["best_logits"].astype(np.float64)
    people = material.votes.probs[rows]
    order = stream_generator(int(record.config["seed"]), "temperature").permutation(len(rows))  # type: ignore[arg-type]
    halves = np.array_split(order, 2)
    temperatures = [_temperature(people[half], logits[half]) for half in halves[::-1]]
    losses = [
        metrics.soft_nll_per_item(people[half], softmax(logits[half] / temperature))
        for half, temperature in zip(halves, temperatures, strict=True)
    ]
    return {"scaled/soft_nll": float(np.concatenate(losses).mean()), "scaled/temperature": float(np.mean(temperatures))}


def gradient_variance(seed: int, square_length: FloatArray, people: FloatArray) -> tuple[Numbers, Series]:
    """How the variance of the last layer's gradient over drawn labels depends on people's entropy.

    Args:
        seed: of the run, for the sampled variant.
        square_length: (N,) of the last layer's inputs for each held-out image.
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
    return numbers, _profile(entropy[disputed], variance[disputed])


def _temperature(people: FloatArray, logits: FloatArray) -> float:
    """The temperature of the lowest soft NLL, which is convex in the inverse temperature."""
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    def loss(inverse: float) -> float:  # of logits, as probabilities that become 0 would make it infinite
        return float(-(people * log_softmax(logits * inverse, axis=1)).sum(axis=1).mean())

    return 1 / float(minimize_scalar(loss, bounds=_INVERSE_TEMPERATURES, method="bounded").x)


def _by_distance(name: str, distance: FloatArray, gain: FloatArray) -> Numbers:
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


def _profile(x: FloatArray, y: FloatArray) -> Series:
    """Middle and the outer tenths of y in equally full bins of x; NaN in every bin where items are too few."""
    names = ("gradient_entropy", "gradient_low", "gradient_middle", "gradient_high")
    if len(x) < _ENTROPIES:
        return {name: np.full(_ENTROPIES, math.nan) for name in names}
    bins = np.array_split(np.argsort(x, kind="stable"), _ENTROPIES)
    points = np.array([(x[rows].mean(), *np.quantile(y[rows], [0.1, 0.5, 0.9])) for rows in bins])
    return dict(zip(names, points.T, strict=True))
