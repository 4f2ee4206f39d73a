"""Smoothing for few votes: shares pulled towards a prior, given or learnt from all items."""

from __future__ import annotations

import numpy as np

from votewise._checks import FloatArray
from votewise._errors import InputError
from votewise.targets.prior import Prior, check_prior
from votewise.targets.table import Targets
from votewise.votes import Votes, check_votes

# The likelihood is flat at both ends: unanimous items drive the prior's weight to 0, items without
# disagreement beyond chance to infinity. The fit stops at these.
_LEAST, _MOST = 1e-6, 1e6


def dirichlet_smoothed(votes: Votes, *, prior: Prior | None = None) -> Targets:
    """Posterior mean of each item's distribution under a Dirichlet prior: (counts + prior) / sum.

    Args:
        votes: counts are needed.
        prior: pseudo-votes: one number for every class, K numbers, or (N, K); fitted to the data if left out.
    """
    counts = check_votes(votes).require_counts("Dirichlet smoothing")
    if prior is None:
        pseudo, source = fit_dirichlet_prior(votes)[None], "fitted prior"
    else:
        pseudo, source = check_prior(prior, votes), "given prior"
    if not pseudo.any():
        raise InputError(
            "the prior must not be all zero", f"got {prior!r}", "Deliver vote_share(votes), or pass e.g. 1.0"
        )
    weight = pseudo.sum(axis=1, keepdims=True)
    probs = (counts + pseudo) / (counts.sum(axis=1, keepdims=True) + weight)
    how = f"Dirichlet-smoothed, {source}, {'mean ' if len(weight) > 1 else ''}weight {weight.mean():.3g}"
    return Targets(probs, votes.item_ids, votes.classes, how)


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
