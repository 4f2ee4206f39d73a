"""Priors: pseudo-votes beside an item's own, given by hand or made of predictions for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_whole_number, first_few, own, rebuilt
from votewise._errors import InputError
from votewise._random import stream_key
from votewise.votes import Votes, check_votes

# One number for all classes, (K,) numbers, or (N, K).
Prior = float | npt.ArrayLike

# Both parameters may run away: alpha to 0 where models say nothing about the votes beyond the classes' frequencies or
# items are unanimous, to infinity where they say all; the temperature, in units of the spread of the logits, to 0 where
# only their order counts, and to infinity where nothing does. The fit stops at these, beyond which targets hardly move.
_LEAST_ALPHA, _MOST_ALPHA = 1e-6, 1e6
_LEAST_SPREAD, _MOST_SPREAD = 1e-3, 1e3

# The likelihood may have several peaks, so it is climbed from the best points of a coarse grid.
_GRID_OF_ALPHA, _GRID_OF_SPREAD = (0.03, 0.3, 3.0, 30.0, 1e3), (0.03, 0.1, 0.3, 1.0, 3.0, 30.0)
_CLIMBS = 3

# Beyond this, differences of logits might leave the range of floats.
_LARGEST_LOGIT = 1e100

# Factors of a rising factorial that are multiplied one by one.
_FACTORS = 64

# The shape of what is no array of numbers.
_NO_NUMBERS = (0, 0, 0)

# Largest slope, in nats per item, of a likelihood at its peak.
_FLAT = 1e-6


@dataclass(frozen=True, eq=False)
class FittedPrior:
    """A prior A_i = alpha softmax(z_i / temperature) for each item, made of predictions z_i for it.

    Attributes:
        alpha: pseudo-votes of an item in all, between 1e-6 and 1e6.
        temperature: divides the logits.
        pseudo_votes: (N, K), the prior of each item.
        log_likelihood: of an item's votes in the order they were cast, the mean over items, in nats.
        converged: whether no step raises the likelihood: its slope is zero, or points beyond a limit.
    """

    alpha: float
    temperature: float
    pseudo_votes: FloatArray
    log_likelihood: float
    converged: bool

    def __post_init__(self) -> None:
        """Make the array read-only."""
        object.__setattr__(self, "pseudo_votes", own(self.pseudo_votes))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are read-only too."""
        return rebuilt(self)


def fit_prior(votes: Votes, logits: npt.ArrayLike) -> FittedPrior:
    """The prior under which each item's votes are likeliest, given predictions by models that did not see them.

    Two numbers are fitted, alpha and the temperature, to the Dirichlet-multinomial likelihood of all items' votes. If a
    model has seen the votes of an item it predicts, it seems better than it is, and alpha comes out too large.

    Args:
        votes: counts are needed, and some items with two votes or more.
        logits: (N, K), out-of-fold; -inf rules a class out. Of probabilities pass the logarithm, `np.log(probs)`.

    Example:
        >>> votes = Votes.from_counts([[4, 1], [1, 4], [2, 3], [5, 0]])
        >>> prior = fit_prior(votes, [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [2.0, 0.0]])
        >>> prior.pseudo_votes.shape, prior.converged
        ((4, 2), True)
    """
    from scipy.optimize import minimize

    counts = check_votes(votes).require_counts("fitting a prior")
    likelihood = _Likelihood(counts, _check_logits(logits, votes))
    limits = np.log([(_LEAST_ALPHA, _MOST_ALPHA), (_LEAST_SPREAD, _MOST_SPREAD)])
    # Without spread, as of a model that says nothing, the temperature has no say.
    spreads = (1.0,) if likelihood.spread == 0 else _GRID_OF_SPREAD
    grid = [np.log((alpha, spread)) for alpha in _GRID_OF_ALPHA for spread in spreads]
    grid.sort(key=lambda start: likelihood.negative(start)[0])
    climbs = [
        minimize(
            likelihood.negative, start, jac=True, method="L-BFGS-B", bounds=limits.tolist(),
            options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
        )
        for start in grid[:_CLIMBS]
    ]  # fmt: skip
    best = min(climbs, key=lambda climb: float(climb.fun))
    slope = -np.asarray(best.jac)
    low, high = np.isclose(best.x, limits.T, atol=1e-9)
    outwards = (low & (slope < 0)) | (high & (slope > 0))
    alpha, spread = np.exp(best.x).tolist()
    return FittedPrior(
        alpha,
        spread * (likelihood.spread or 1.0),
        alpha * np.exp(likelihood.log_shares(spread)),
        -float(best.fun),
        bool((outwards | (np.abs(slope) < _FLAT)).all()),
    )


def cross_fit(
    votes: Votes,
    predict: Callable[[IntArray, IntArray], npt.ArrayLike],
    *,
    seed: int,
    folds: int = 2,
    seeds: int = 1,
) -> FittedPrior:
    """A prior for each item from models that were trained without its votes.

    Items are put into folds by chance alone: were folds stratified by majority, an item's own votes would decide which
    model predicts it.

    Args:
        votes: counts are needed.
        predict: trains a new model on some items and returns its logits for others: both are row numbers, and the
            logits (B, K) are those of the second. Of probabilities return the logarithm.
        seed: root seed of the folds.
        folds: models to train, each on all folds but one, which it predicts.
        seeds: how often items are put into new folds; the logits for an item are averaged.

    Example:
        >>> votes = Votes.from_counts([[4, 1], [1, 4], [2, 3], [5, 0]])
        >>> frequencies = lambda rows, others: np.log(votes.probs[rows].mean(axis=0)) + np.zeros((len(others), 2))
        >>> cross_fit(votes, frequencies, seed=0).pseudo_votes.shape
        (4, 2)
    """
    check_votes(votes).require_counts("fitting a prior")
    check_whole_number("folds", folds, least=2)
    total = np.zeros((votes.n_items, votes.n_classes))
    for repeat in range(check_whole_number("seeds", seeds, least=1)):
        fold = cross_fit_folds(votes, folds, seed=seed, repeat=repeat)
        for number in range(folds):
            rows, others = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            given = predict(rows, others)
            logits = _as_numbers(given)
            if logits.shape != (len(others), votes.n_classes):
                raise InputError(
                    f"predict must return one row for each of its {len(others):,} items to predict and a column for "
                    f"each of {votes.n_classes} classes",
                    _what_came(given, logits),
                    "Return an array of logits for the items of its second argument, such as tensor.detach().numpy()",
                )
            total[others] += logits
    return fit_prior(votes, total / seeds)


def cross_fit_folds(votes: Votes, n: int, *, seed: int, repeat: int = 0) -> IntArray:
    """The fold of each item, (N,), drawn without a look at its votes.

    Args:
        votes: the items.
        n: number of folds, which differ by at most one item.
        seed: root seed.
        repeat: each has folds of its own.
    """
    return votes.folds(n, seed=stream_key(seed, "cross-fit", repeat), strata=np.zeros(votes.n_items, dtype=np.int64))


def check_prior(prior: Prior, votes: Votes) -> FloatArray:
    """A prior as pseudo-votes, (1, K) for all items alike or (N, K)."""
    shape = votes.n_items, votes.n_classes
    values = _as_numbers(prior)
    if values.shape not in ((), shape[1:], shape):
        raise InputError(
            f"the prior must be a number, {shape[1]} numbers, or a table of {shape[0]:,} items x {shape[1]} classes",
            _what_came(prior, values),
            "Pass e.g. 1.0, or the pseudo_votes of fit_prior for the same items",
        )
    # Adding 0 turns -0 into 0, whose sign would else be that of a target.
    pseudo = np.broadcast_to(values + 0.0, (1, shape[1]) if values.ndim < 2 else shape)
    wrong = ~(np.isfinite(pseudo) & (pseudo >= 0))
    if wrong.any():
        raise InputError(
            "the prior must be finite and not negative",
            f"{wrong.sum():,} of its {wrong.size:,} pseudo-votes are not; the first is {pseudo[wrong][0]:g}",
            "Pass 0 for none; for the prior alone multiply it by a large number, such as 1e20",
        )
    return pseudo


def _as_numbers(values: npt.ArrayLike) -> FloatArray:
    """An array of float64, or one of a shape that nothing has, if they are no numbers."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, RuntimeError):  # ragged lists, tensors on a GPU, tensors that need gradients
        return np.empty(_NO_NUMBERS)
    return array.astype(np.float64) if array.dtype.kind in "iuf" else np.empty(_NO_NUMBERS)


def _what_came(given: object, values: FloatArray) -> str:
    return f"got {type(given).__name__}" if values.shape == _NO_NUMBERS else f"its shape is {values.shape}"


def _check_logits(logits: npt.ArrayLike, votes: Votes) -> FloatArray:
    """Logits (N, K) float64 under which every vote that was cast is possible."""
    values, shape = _as_numbers(logits), (votes.n_items, votes.n_classes)
    if values.shape != shape:
        raise InputError(
            f"logits must be a table of numbers, {shape[0]:,} items x {shape[1]} classes",
            _what_came(logits, values),
            "Pass out-of-fold predictions for the same items, such as tensor.detach().numpy()",
        )
    for is_wrong, wanted, remedy in (
        (
            ~(np.abs(values) <= _LARGEST_LOGIT) & (values != -np.inf),
            f"logits must lie between {-_LARGEST_LOGIT:g} and {_LARGEST_LOGIT:g}, or be -inf",
            "Check the model that predicts them",
        ),
        (
            (votes.require_counts("fitting a prior") > 0) & (values == -np.inf),
            "logits must rule out no class that people chose",
            "Train a model that gives every class a chance, or clip probabilities from below before the logarithm",
        ),
    ):
        rows = np.flatnonzero(is_wrong.any(axis=1))
        if rows.size:
            raise InputError(
                wanted,
                f"those of {rows.size:,} items do not ({first_few(votes.item_ids[rows[:5]], rows.size)})",
                remedy,
            )
    return values


class _Likelihood:
    """The Dirichlet-multinomial likelihood of counts as a function of log alpha and the log of temperature / spread."""

    def __init__(self, counts: IntArray, logits: FloatArray) -> None:
        """Prepare logits with row maxima of 0 and a spread of 1, and the entries with votes."""
        lengths, times = np.unique(counts.sum(axis=1), return_counts=True)
        self.lengths, self.times = lengths[::-1], times[::-1]
        if self.lengths[0] < 2:
            raise InputError(
                "fitting a prior needs items with two votes or more",
                "every item has one",
                "Give a prior, e.g. prior=1.0, or collect more votes",
            )
        self.n_items = len(counts)
        z = logits - logits.max(axis=1, keepdims=True)
        possible = np.isfinite(z)
        middle = z.mean(axis=1, keepdims=True, where=possible)
        self.spread = float(np.sqrt(np.mean((z - middle) ** 2, where=possible)))
        self.z = z / self.spread if self.spread else z
        items, classes = np.nonzero(counts)
        order = np.argsort(-counts[items, classes], kind="stable")
        self.items, self.classes = items[order], classes[order]
        self.counts = counts[self.items, self.classes]

    def log_shares(self, spread: float) -> FloatArray:
        """Log softmax of the logits at a temperature, (N, K)."""
        scaled = self.z / spread
        return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True)))

    def negative(self, where: FloatArray) -> tuple[float, FloatArray]:
        """The negative mean log-likelihood of an item, and its slope.

        Rising factorials are split, a (a + 1) ... (a + c - 1) = a times the rest, since a may be too small for a float
        where its logarithm is known.
        """
        log_alpha = float(where[0])
        alpha, spread = np.exp(where).tolist()
        log_q = self.log_shares(spread)
        q = np.exp(log_q)
        seen = self.items, self.classes
        a = alpha * q[seen]
        rest, slope_of_rest = _log_rising(a, self.counts)
        of_all, slope_of_all = _log_rising(np.full(len(self.lengths), alpha), self.lengths)
        value = (log_alpha + log_q[seen] + rest).sum() - (self.times * (log_alpha + of_all)).sum()
        by_log_a = 1 + a * slope_of_rest
        by_alpha = by_log_a.sum() - (self.times * (1 + alpha * slope_of_all)).sum()
        scaled = np.where(q > 0, self.z, 0) / spread  # an impossible class has no part in the mean
        by_spread = -(by_log_a * (scaled[seen] - (q * scaled).sum(axis=1)[self.items])).sum()
        return -float(value) / self.n_items, -np.array([by_alpha, by_spread]) / self.n_items


def _log_rising(a: FloatArray, c: IntArray) -> tuple[FloatArray, FloatArray]:
    """The logarithm of (a + 1) ... (a + c - 1), and its derivative in a.

    Factor by factor as far as is cheap: a difference of two log-gammas loses its digits where a is large.

    Args:
        a: (n,), not negative.
        c: (n,), at least 1, descending.
    """
    from scipy.special import digamma, gammaln

    value, slope = np.zeros(len(a)), np.zeros(len(a))
    for step in range(1, min(int(c[0]), _FACTORS)):
        longer = slice(int(np.searchsorted(-c, -step)))
        value[longer] += np.log(a[longer] + step)
        slope[longer] += 1 / (a[longer] + step)
    longest = slice(int(np.searchsorted(-c, -_FACTORS)))
    value[longest] += gammaln(a[longest] + c[longest]) - gammaln(a[longest] + _FACTORS)
    slope[longest] += digamma(a[longest] + c[longest]) - digamma(a[longest] + _FACTORS)
    return value, slope
