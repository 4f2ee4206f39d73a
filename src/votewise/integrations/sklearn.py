"""scikit-learn: each item becomes one row per class that got votes, weighted by the class's share.

For any loss that is a weighted sum of log-probabilities, this is exactly soft cross-entropy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_choice, check_simplex, first_few
from votewise._errors import InputError, MissingExtraError
from votewise.targets import Targets, as_targets, cross_fit, dirichlet_smoothed
from votewise.targets.prior import Prior
from votewise.votes import Votes

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.utils import assert_all_finite, get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _check_sample_weight,
        _num_samples,
        check_is_fitted,
        column_or_1d,
        has_fit_parameter,
        validate_data,
    )
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "sklearn":
        raise  # it is there, and lacks something itself
    raise MissingExtraError("votewise.integrations.sklearn", "scikit-learn", "sklearn") from error

# What is taken for the probability of a class that a classifier rules out, as trees and neighbours often do.
_LEAST_PROBABILITY = 1e-6


def weighted_rows(X: Any, votes: Votes | Targets) -> tuple[Any, IntArray, FloatArray]:
    """Inputs, class numbers and sample weights with which any classifier is fitted on votes.

    Classes are numbered, not named: scikit-learn would sort the names, and the columns of `predict_proba` with them.

    Args:
        X: N inputs, one for each item: an array, a sparse matrix or a frame.
        votes: votes or targets of N items; the weights of an item's rows sum to one.

    Example:
        >>> import numpy as np
        >>> weighted_rows(np.array([[5.0], [6.0]]), Votes.from_counts([[3, 1], [0, 4]]))[1:]
        (array([0, 1, 1]), array([0.75, 0.25, 1.  ]))
    """
    targets = as_targets(votes)
    _check_rows(X, len(targets.probs))
    items, classes = np.nonzero(targets.probs)
    return _take(X, items), classes, targets.probs[items, classes]


class VotesClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier that takes sample weights, fitted on vote shares, or where votes are few on their posterior mean.

    Attributes:
        classes_: K labels, the columns of `predict_proba`; those without a vote have probability 0.
        estimator_: the fitted classifier, whose classes are column numbers.
    """

    def __init__(
        self, estimator: Any, *, prior: Prior | str | None = None, folds: int = 2, seeds: int = 1, seed: int = 0
    ) -> None:
        """Wrap a classifier, e.g. `LogisticRegression()` or `LGBMClassifier()`.

        Args:
            estimator: takes `sample_weight` in `fit`.
            prior: pseudo-votes beside those of each item: one number for every class, (K,) numbers, or (N, K) for the
                items of `fit`; "fitted" to all items alike; or "crossfit", made of what clones of the classifier
                predict for items they were not fitted on. None for the shares as they are.
            folds: parts that are predicted in turn, for "crossfit".
            seeds: how often items are put into new parts, for "crossfit".
            seed: root seed of the parts.
        """
        self.estimator = estimator
        self.prior = prior
        self.folds = folds
        self.seeds = seeds
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit a clone of the classifier.

        Args:
            X: N inputs, one for each item.
            y: votes, targets, a frame of counts with a column for each class, (N, K) shares that sum to one, or (N,)
                labels. A prior needs votes or counts; labels count as one vote each.
            sample_weight: (N,) weight of each item; one if left out.
        """
        _check_weighable(self.estimator)
        validate_data(self, X, skip_check_array=True)  # the classifier checks the rest
        self.classes_, shares = _shares(y)
        _check_rows(X, len(shares))
        item_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if self.prior is not None:
            shares = self._posterior_mean(X, _votes(y, shares), item_weight)
        self.estimator_ = self._fitted(X, shares, item_weight)
        return self

    def _fitted(self, X: Any, shares: FloatArray, item_weight: FloatArray) -> Any:
        """A clone of the classifier, fitted on a row for each item and class with a share."""
        items, classes = np.nonzero(shares)
        return clone(self.estimator).fit(
            _take(X, items), classes, sample_weight=item_weight[items] * shares[items, classes]
        )

    def _posterior_mean(self, X: Any, votes: Votes, item_weight: FloatArray) -> FloatArray:
        """Shares with the pseudo-votes of the prior, (N, K)."""
        if not isinstance(self.prior, str):
            return dirichlet_smoothed(votes, prior=self.prior).probs
        if check_choice("prior", self.prior, ("fitted", "crossfit")) == "fitted":
            return dirichlet_smoothed(votes).probs
        if not hasattr(self.estimator, "predict_proba"):
            raise InputError(
                "the estimator must have predict_proba for prior='crossfit'",
                f"{type(self.estimator).__name__} has none",
                "Choose another estimator, or prior='fitted'",
            )

        def predict(rows: IntArray, others: IntArray) -> FloatArray:
            fitted = self._fitted(_take(X, rows), votes.probs[rows], item_weight[rows])
            probs = np.zeros((len(others), votes.n_classes))
            probs[:, fitted.classes_] = fitted.predict_proba(_take(X, others))
            return np.log(np.maximum(probs, _LEAST_PROBABILITY))

        prior = cross_fit(votes, predict, seed=self.seed, folds=self.folds, seeds=self.seeds)
        return dirichlet_smoothed(votes, prior=prior.pseudo_votes).probs

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of each input, (N,)."""
        columns = self._columns(X)
        return self.classes_[columns]

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities, (N, K)."""
        check_is_fitted(self)
        given = self.estimator_.predict_proba(X)
        probs = np.zeros((len(given), len(self.classes_)))
        probs[:, self.estimator_.classes_] = given
        return probs

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Mean share of the votes for the predicted class: the accuracy where everyone agrees.

        Args:
            X: N inputs.
            y: votes or shares, in any form that `fit` takes.
            sample_weight: (N,) weight of each item; one if left out.
        """
        if _is_labels(y):
            return float(super().score(X, y, sample_weight))
        classes, shares = _shares(y)
        _check_rows(X, len(shares))
        columns = self._columns(X)
        _check_classes(classes, self.classes_)
        agreeing = shares[np.arange(len(shares)), columns]
        return float(np.average(agreeing, weights=_check_sample_weight(sample_weight, X)))

    def _columns(self, X: Any) -> npt.NDArray[np.int64]:
        """The likeliest column of each input, (N,)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X)).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        """Inputs that the classifier accepts are accepted here."""
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.input_tags.sparse, inner.input_tags.allow_nan
        return tags


@dataclass(frozen=True)
class VotesScorer:
    """A `scoring` of predicted probabilities against vote shares, for `cross_val_score`, `GridSearchCV` and the like.

    Needed because scikit-learn's own scorers refuse distributions, and pass a metric one column where K is two.

    Attributes:
        metric: a function of (reference, probs), both (N, K).
        greater_is_better: if not, the score is the metric's negative, as scikit-learn wants it.
    """

    metric: Callable[[Any, Any], float]
    greater_is_better: bool

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The score of a fitted classifier on votes, targets or (N, K) shares."""
        classes, shares = _shares(y)
        _check_classes(classes, estimator.classes_)
        score = self.metric(shares, estimator.predict_proba(X))
        return score if self.greater_is_better else -score


def _votes(y: Any, shares: FloatArray) -> Votes:
    """The votes behind shares, where `y` tells their number."""
    if isinstance(y, Votes):
        return y
    if isinstance(y, Targets) or not (_is_labels(y) or _is_counts(y)):
        raise InputError(
            "a prior needs votes, whose number says what it weighs beside them",
            "y has shares",
            "Pass votes; or, where y is sliced, pandas.DataFrame(votes.counts, columns=votes.classes)",
        )
    return _votes_of_counts(y) if _is_counts(y) else Votes.from_counts(shares)


def _votes_of_counts(y: Any) -> Votes:
    return Votes.from_counts(np.asarray(y), classes=list(y.columns))


def _is_counts(y: Any) -> bool:
    """Whether it is a frame of whole numbers. An array is none: `cross_val_predict` turns any table into numbers."""
    return hasattr(y, "columns") and not _is_labels(y) and np.asarray(y).dtype.kind in "iu"


def _is_labels(y: Any) -> bool:
    """Whether there is one label per item, perhaps as a column."""
    if isinstance(y, (Votes, Targets)):
        return False
    table = np.asarray(y)
    return table.ndim != 2 or table.shape[1] == 1


def _shares(y: Any) -> tuple[npt.NDArray[Any], FloatArray]:
    """Classes (K,) and the share each item gives them, (N, K)."""
    if isinstance(y, (Votes, Targets)):
        targets = as_targets(y)
        return np.array(targets.classes), targets.probs
    if _is_counts(y):
        return _shares(_votes_of_counts(y))
    if not _is_labels(y):
        shares = check_simplex("y", y)
        return np.arange(shares.shape[1]), shares
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return classes, np.eye(len(classes))[codes]


def _take(X: Any, rows: npt.NDArray[np.int64]) -> Any:
    """Rows of an array, a sparse matrix or a frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return (X if hasattr(X, "shape") else np.asarray(X))[rows]


def _check_rows(X: Any, n_items: int) -> None:
    if (n_rows := _num_samples(X)) != n_items:
        raise InputError(
            "X must have one row for each item of the votes",
            f"got {n_rows:,} rows and {n_items:,} items",
            "Take the same items of both",
        )


def _check_classes(given: npt.NDArray[Any], fitted: npt.NDArray[Any]) -> None:
    """Refuse classes other than the fitted ones: other names, or another number if only one side has names."""
    comparable = given.dtype.kind == fitted.dtype.kind
    if len(given) != len(fitted) or (comparable and (given != fitted).any()):
        raise InputError(
            f"y must have the classes of the fit, {first_few(fitted)}",
            f"got {first_few(given)}",
            "Reorder the votes with with_classes",
        )


def _check_weighable(estimator: Any) -> None:
    if not has_fit_parameter(estimator, "sample_weight"):
        raise InputError(
            "the estimator must take sample_weight in fit",
            f"{type(estimator).__name__} does not",
            "Choose another, or put VotesClassifier around the last step of a pipeline",
        )
