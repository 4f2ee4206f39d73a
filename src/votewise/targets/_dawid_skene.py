"""Dawid and Skene (1979): each annotator's confusions and each item's class, by expectation-maximisation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from votewise._checks import FloatArray, check_number, check_whole_number
from votewise.targets.table import Targets
from votewise.votes import Votes, check_votes

# Keeps the logarithm of an impossible confusion finite, so that one odd vote cannot rule a class out for ever.
_TINY = 1e-10


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """A fitted model.

    Attributes:
        targets: posterior of each item's class.
        prior: (K,) share of each class.
        confusion: (A, K, K): confusion[a, true, said], rows sum to one; the prior-weighted view of annotator a.
        annotator_ids: (A,) text.
        log_likelihood: mean log-likelihood of an item's votes, nats, after each step.
        converged: whether the last step gained less than the tolerance.
    """

    targets: Targets
    prior: FloatArray
    confusion: FloatArray
    annotator_ids: np.ndarray[tuple[int], np.dtype[np.str_]]
    log_likelihood: tuple[float, ...]
    converged: bool


def dawid_skene(
    votes: Votes,
    *,
    tolerance: float = 1e-6,
    most_steps: int = 100,
    smoothing: float = 0.0,
    on_step: Callable[[int, float], None] | None = None,
) -> DawidSkene:
    """Estimate each item's class and each annotator's confusion matrix together.

    Starts from the vote shares. Votes are held as one sparse matrix, items x (annotator, said), so a step is
    two sparse products regardless of the number of annotators.

    Args:
        votes: single votes with annotators are needed.
        tolerance: stop when a step gains less than this in mean log-likelihood per item.
        most_steps: stop after at most this many steps.
        smoothing: pseudo-votes added to every cell of every confusion matrix; a little (0.1) helps where
            annotators gave few votes.
        on_step: called after each step with its number and log-likelihood, for a progress display.
    """
    from scipy.sparse import csr_array

    ballots = check_votes(votes).require_ballots("Dawid-Skene")
    check_number("smoothing", smoothing, 0, 1e6)
    check_number("tolerance", tolerance, 0, math.inf)
    check_whole_number("most_steps", most_steps, least=1)
    n, k, a = votes.n_items, votes.n_classes, len(ballots.annotator_ids)
    column = ballots.annotator.astype(np.int32) * k + ballots.label
    given = csr_array((np.ones(len(ballots)), (ballots.item, column)), shape=(n, a * k))
    by_cell = csr_array(given.T)

    posterior = votes.probs.copy()
    history: list[float] = []
    converged = False
    while len(history) < most_steps and not converged:
        prior = posterior.mean(axis=0)
        confusion = _normalise(np.asarray(by_cell @ posterior).reshape(a, k, k) + smoothing)
        joint = given @ np.log(np.maximum(confusion, _TINY)).reshape(a * k, k) + np.log(np.maximum(prior, _TINY))
        peak = joint.max(axis=1, keepdims=True)
        np.exp(np.subtract(joint, peak, out=joint), out=joint)
        total = joint.sum(axis=1, keepdims=True)
        posterior = joint / total
        history.append(float((peak + np.log(total)).mean()))
        converged = len(history) > 1 and history[-1] - history[-2] < tolerance
        if on_step is not None:
            on_step(len(history), history[-1])
    targets = Targets(posterior, votes.item_ids, votes.classes, f"Dawid-Skene, {len(history)} steps")
    return DawidSkene(targets, prior, confusion.transpose(0, 2, 1), ballots.annotator_ids, tuple(history), converged)


def _normalise(cells: FloatArray) -> FloatArray:
    """Cells (A, said, true) so that each true class's column sums to one; uniform where it got no weight."""
    total = cells.sum(axis=1, keepdims=True)
    return np.divide(cells, total, out=np.full_like(cells, 1 / cells.shape[1]), where=total > 0)
