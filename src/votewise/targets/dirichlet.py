"""Smoothing for few votes: shares pulled towards a prior, given or learnt from all items."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_matrix
from votewise._errors import InputError
from votewise.targets.table import Targets
from votewise.votes import Votes, check_votes

# The likelihood is flat at both ends: unanimous items drive the prior's weight to 0, items without
# disagreement beyond chance to infinity. The fit stops at these.
_LEAST, _MOST = 1e-6, 1e6


def dirichlet_smoothed(votes: Votes, *, prior: float | npt.ArrayLike | None = None) -> Targets:
    """Posterior mean of each item's distribution under a Dirichlet prior: (counts + prior) / sum.

    Args:
        votes: counts are needed.
        prior: pseudo-votes: one number for every class, or K numbers; fitted to the data if left out.
    """
    counts = check_votes(votes).require_counts("Dirichlet smoothing")
    if prior is None:
        pseudo, source = fit_dirichlet_prior(votes), "fitted prior"
    else:
        pseudo, source = _check_prior(prior, votes.n_classes), "given prior"
    probs = (counts + pseudo) / (counts.sum(axis=1, keepdims=True) + pseudo.sum())
    return Targets(probs, votes.item_ids, votes.classes, f"Dirichlet-smoothed, {source}, weight {pseudo.sum():.3g}")


def fit_dirichlet_prior(votes: Votes) -> FloatArray:
    """The Dirichlet prior, (K,) pseudo-votes, under which the counts are likeliest (empirical Bayes).

    Maximises the Dirichlet-multinomial likelihood over all items (Minka 2000, "Estimating a Dirichlet
    distribution"). A class nobody chose gets the smallest weight allowed.
    """
    from scipy.optimize import minimize
    from scipy.special import digamma, gammaln

    counts = check_votes(votes).require_counts("fitting a Dirichlet prior")
    length = counts.sum(axis=1)
    if length.max() < 2:
        raise InputError(
            "fitting a Dirichlet prior needs items with two votes or more",
            "every item has one",
            "Give a prior, e.g. prior=1.0, or collect more votes",
        )
    used = np.flatnonzero(counts.any(axis=0))
    # The likelihood sees each class only through how often each count occurs, which is a short list.
    tables = [np.unique(counts[:, column], return_counts=True) for column in used]
    totals = np.unique(length, return_counts=True)

    def negative(log_prior: FloatArray) -> tuple[float, FloatArray]:
        prior = np.exp(log_prior)
        weight = prior.sum()
        value = (totals[1] * (gammaln(weight) - gammaln(weight + totals[0]))).sum()
        common = (totals[1] * (digamma(weight) - digamma(weight + totals[0]))).sum()
        slope = np.empty_like(prior)
        for index, (seen, times) in enumerate(tables):
            value += (times * (gammaln(prior[index] + seen) - gammaln(prior[index]))).sum()
            slope[index] = common + (times * (digamma(prior[index] + seen) - digamma(prior[index]))).sum()
        return -value / len(counts), -slope * prior / len(counts)

    start = np.log(np.clip(votes.probs[:, used].mean(axis=0), _LEAST, _MOST))
    bounds = [(np.log(_LEAST), np.log(_MOST))] * len(used)
    found = minimize(negative, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-9})
    prior = np.full(votes.n_classes, _LEAST)
    prior[used] = np.exp(found.x)
    return prior


def _check_prior(prior: float | npt.ArrayLike, n_classes: int) -> FloatArray:
    try:
        values = np.asarray(prior, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.full((1, 1), np.nan)
    if not np.isfinite(values).all():
        raise InputError("the prior must be a number or a list of numbers", f"got {prior!r}", "Pass e.g. 1.0")
    pseudo = check_matrix("the prior", np.full((1, n_classes), values) if values.ndim == 0 else np.atleast_2d(values))
    if pseudo.shape != (1, n_classes) or (pseudo < 0).any() or pseudo.sum() == 0:
        raise InputError(
            f"the prior must be one number, or {n_classes} numbers, not negative and not all zero",
            f"got {prior!r}",
            "Pass e.g. 1.0",
        )
    return np.asarray(pseudo[0])
