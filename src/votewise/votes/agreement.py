"""How far people agree: entropy, ties, chance-corrected agreement, reliability of the disagreement itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_choice
from votewise._numerics import average_ranks, entropy_rows, rankable
from votewise._random import stream_generator
from votewise.votes.table import Votes, check_votes

# NumPy's hypergeometric sampler is defined below this many votes.
_MOST_SAMPLED = 10**9


@dataclass(frozen=True)
class Reliability:
    """How well the votes determine an item's entropy.

    Attributes:
        split_half: mean Spearman correlation between the entropies of two random halves of the votes.
        reliability: the Spearman-Brown estimate for all the votes, 2r / (1 + r); r itself where the halves correlate
            negatively, as the estimate is for halves that measure the same thing.
        ceiling: square root of the reliability, the best entropy correlation a model can reach; NaN where the halves
            correlate negatively: then nothing says what a model can reach.
    """

    split_half: float
    reliability: float
    ceiling: float


def entropy_per_item(votes: Votes) -> FloatArray:
    """Entropy of each item's vote share in nats, (N,), with 0 log 0 = 0."""
    check_votes(votes)
    return entropy_rows(votes.probs)


def tied(votes: Votes) -> npt.NDArray[np.bool_]:
    """Whether two or more classes share an item's largest number of votes, (N,)."""
    table = rankable(votes.probs) if votes.counts is None else votes.counts
    return np.asarray((table == table.max(axis=1, keepdims=True)).sum(axis=1) > 1)


def unanimous(votes: Votes) -> npt.NDArray[np.bool_]:
    """Whether all votes of an item went to one class, (N,)."""
    return np.asarray((votes.probs > 0).sum(axis=1) == 1)


def fleiss_kappa(votes: Votes) -> float:
    """Fleiss' kappa over the items with two votes or more; NaN where chance agreement is certain.

    Items may have different numbers of votes. They weigh the same, both in the agreement observed, where an item's is
    the share of its pairs of votes that agree, and in that expected by chance, from the mean share of each class. This
    is Fleiss (1971) where all items have equally many votes, and irrCAC's generalisation where they have not.
    """
    counts = _pairable(votes.require_counts("Fleiss' kappa"))
    if not len(counts):
        return math.nan
    m = counts.sum(axis=1)
    observed = ((counts * (counts - 1)).sum(axis=1) / (m * (m - 1))).mean()
    share = (counts / m[:, None]).mean(axis=0)
    expected = (share**2).sum()
    return float((observed - expected) / (1 - expected)) if expected < 1 else math.nan


def krippendorff_alpha(votes: Votes, *, level: str = "nominal") -> float:
    """Krippendorff's alpha over the items with two votes or more; NaN where all votes are of one class.

    Args:
        votes: counts are needed.
        level: "nominal", or "ordinal" where the order of `votes.classes` is a scale.

    Reference: Krippendorff (2011), "Computing Krippendorff's alpha-reliability".
    """
    check_choice("level", level, ("nominal", "ordinal"))
    counts = _pairable(votes.require_counts("Krippendorff's alpha"))
    total = counts.sum(axis=0)
    n = total.sum()
    if (total > 0).sum() < 2:
        return math.nan
    m = counts.sum(axis=1)
    place = None if level == "nominal" else _middle_ranks(total)
    observed = (_disagreement(counts, place) / (m - 1)).sum() / n
    expected = _disagreement(total, place) / (n * (n - 1))
    return float(1 - observed / expected)


def entropy_reliability(votes: Votes, *, seed: int = 0, splits: int = 20) -> Reliability | None:
    """Split-half reliability of the items' entropies, or None where it is undefined.

    Each item's votes are halved at random (an odd one goes to the second half); the entropies of the two
    halves are correlated over items. Undefined with one vote per item, or when no half disagrees.
    """
    counts = _pairable(votes.require_counts("split-half reliability"))
    if len(counts) < 3 or counts.sum(axis=1).max() >= _MOST_SAMPLED:
        return None
    rng = stream_generator(seed, "split-half")
    correlations = []
    for _ in range(splits):
        half = _random_half(counts, rng)
        shares = [part / part.sum(axis=1, keepdims=True) for part in (half, counts - half)]
        ranks = [average_ranks(rankable(entropy_rows(part))) for part in shares]
        if min(rank.std() for rank in ranks) > 0:
            correlations.append(float(np.corrcoef(ranks[0], ranks[1])[0, 1]))
    if not correlations:
        return None
    r = float(np.mean(correlations))
    if r < 0:
        return Reliability(r, r, math.nan)
    corrected = 2 * r / (1 + r)
    return Reliability(r, corrected, math.sqrt(corrected))


def _pairable(counts: IntArray) -> FloatArray:
    """Rows with at least two votes, as float64: only they can agree or disagree."""
    return counts[counts.sum(axis=1) >= 2].astype(np.float64)


def _middle_ranks(total: FloatArray) -> FloatArray:
    """Where each class stands among all votes, (K,): two are as far apart as the votes between them."""
    middle = np.cumsum(total) - total / 2  # half of each end counts
    return np.asarray(middle - middle @ total / total.sum())  # around 0, where squares are most exact


def _disagreement(counts: FloatArray, place: FloatArray | None) -> FloatArray:
    """Krippendorff's squared difference summed over all ordered pairs of the votes in each row, (...).

    Between two classes it is 1, or the square of how far apart their places are. No table of all pairs of classes is
    made, which of many would fill memory.
    """
    m = counts.sum(axis=-1)
    if place is None:
        return np.asarray(m**2 - (counts**2).sum(axis=-1))
    return np.asarray(2 * (m * (counts @ place**2) - (counts @ place) ** 2))


def _random_half(counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Half of each row's votes, drawn without replacement."""
    left = counts.sum(axis=1).astype(np.int64)
    wanted = left // 2
    half = np.zeros_like(counts)
    if counts.shape[1] > len(counts):  # the same draws, along the shorter side
        for row, colors in enumerate(counts.astype(np.int64)):
            half[row] = rng.multivariate_hypergeometric(colors, wanted[row], method="marginals")
        return half
    for column, good in enumerate(counts.T.astype(np.int64)):
        drawn = rng.hypergeometric(good, left - good, wanted)
        half[:, column] = drawn
        left, wanted = left - good, wanted - drawn
    return half
