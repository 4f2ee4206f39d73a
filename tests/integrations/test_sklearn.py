"""scikit-learn: weighted rows are soft cross-entropy, and the classifier around them is a good citizen."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from strategies import votes as vote_tables
from votewise import InputError, Votes, metrics, vote_share
from votewise.integrations.sklearn import VotesClassifier, VotesScorer, weighted_rows


@pytest.fixture
def inputs() -> np.ndarray:
    return np.random.default_rng(1).normal(size=(20, 2))


def softmax(scores: np.ndarray) -> np.ndarray:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


@given(table=vote_tables(), seed=st.integers(0, 9))
def test_weighted_log_losses_of_rows_are_the_soft_cross_entropy(table: Votes, seed: int) -> None:
    probs = np.random.default_rng(seed).dirichlet(np.ones(table.n_classes), size=table.n_items)
    rows, columns, weight = weighted_rows(np.arange(table.n_items), table)
    assert -(weight * np.log(probs[rows, columns])).sum() == pytest.approx(
        table.n_items * metrics.soft_nll(table.probs, probs)
    )
    np.testing.assert_allclose(np.bincount(rows, weight), 1)
    assert (weight > 0).all()


def test_logistic_regression_on_rows_minimises_soft_cross_entropy(inputs: np.ndarray, votes: Votes) -> None:
    """Against L-BFGS on the penalised soft cross-entropy itself; scikit-learn leaves intercepts unpenalised."""
    penalty = 0.5

    def objective(flat: np.ndarray) -> float:
        slope, intercept = flat[:6].reshape(2, 3), flat[6:]
        log_probs = np.log(softmax(inputs @ slope + intercept))
        return float(-(votes.probs * log_probs).sum() + 0.5 / penalty * (slope**2).sum())

    best = minimize(objective, np.zeros(9), method="BFGS", options={"gtol": 1e-7}).x
    expected = softmax(inputs @ best[:6].reshape(2, 3) + best[6:])
    features, labels, weight = weighted_rows(inputs, votes)
    plain = LogisticRegression(C=penalty, tol=1e-9, max_iter=1000).fit(features, labels, sample_weight=weight)
    np.testing.assert_allclose(plain.predict_proba(inputs), expected, atol=1e-4)
    wrapped = VotesClassifier(LogisticRegression(C=penalty, tol=1e-9, max_iter=1000)).fit(inputs, votes)
    np.testing.assert_allclose(wrapped.predict_proba(inputs), expected, atol=1e-4)


def test_check_estimator_passes() -> None:
    check_estimator(VotesClassifier(LogisticRegression()), on_skip=None)


def test_votes_targets_and_shares_are_the_same(inputs: np.ndarray, votes: Votes) -> None:
    by_votes, by_targets, by_shares = (
        VotesClassifier(LogisticRegression()).fit(inputs, y) for y in (votes, vote_share(votes), votes.probs)
    )
    np.testing.assert_array_equal(by_votes.predict_proba(inputs), by_targets.predict_proba(inputs))
    np.testing.assert_array_equal(by_votes.predict_proba(inputs), by_shares.predict_proba(inputs))
    assert by_votes.classes_.tolist() == ["0", "1", "2"]
    assert by_shares.classes_.tolist() == [0, 1, 2]
    assert by_votes.predict(inputs).tolist() == by_shares.predict(inputs).astype(str).tolist()


def test_labels_are_votes_of_one(inputs: np.ndarray) -> None:
    labels = np.array(["a", "b"] * 10)
    wrapped = VotesClassifier(LogisticRegression()).fit(inputs, labels)
    plain = LogisticRegression().fit(inputs, labels)
    np.testing.assert_allclose(wrapped.predict_proba(inputs), plain.predict_proba(inputs))
    assert wrapped.score(inputs, labels) == plain.score(inputs, labels)
    assert wrapped.score(inputs, Votes.from_counts(np.eye(2)[[0, 1] * 10], classes=["a", "b"])) == plain.score(
        inputs, labels
    )


def test_weights_of_items_multiply_those_of_their_rows(inputs: np.ndarray, votes: Votes) -> None:
    weight = np.array([2.0] * 5 + [0.0] * 3 + [1.0] * 12)
    weighted = VotesClassifier(LogisticRegression(tol=1e-9)).fit(inputs, votes, sample_weight=weight)
    repeated = np.repeat(np.arange(20), weight.astype(int))
    plain = VotesClassifier(LogisticRegression(tol=1e-9)).fit(inputs[repeated], votes.probs[repeated])
    np.testing.assert_allclose(weighted.predict_proba(inputs), plain.predict_proba(inputs), atol=1e-6)


@pytest.mark.parametrize("kind", [csr_array, coo_array, pd.DataFrame, np.ndarray.tolist])
def test_any_table_will_do(kind: Any, inputs: np.ndarray, votes: Votes) -> None:
    by_array = VotesClassifier(LogisticRegression()).fit(inputs, votes).predict_proba(inputs)
    given = kind(inputs)
    by_kind = VotesClassifier(LogisticRegression()).fit(given, votes).predict_proba(given)
    np.testing.assert_allclose(by_kind, by_array, atol=1e-3)
    assert len(weighted_rows(given, votes)[1]) == (votes.probs > 0).sum()


def test_frames_reach_the_classifier_as_frames(inputs: np.ndarray, votes: Votes) -> None:
    fitted = VotesClassifier(LogisticRegression()).fit(pd.DataFrame(inputs, columns=["x", "y"]), votes)
    assert fitted.estimator_.feature_names_in_.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    "estimator",
    [
        LGBMClassifier(n_estimators=100, min_child_samples=1, verbose=-1, n_jobs=1),
        RandomForestClassifier(n_estimators=20, random_state=0),
    ],
)
def test_trees_learn_the_shares_of_groups(estimator: Any) -> None:
    """60 items of three kinds; trees can do no better than each kind's mean share."""
    kinds, rng = np.repeat([0, 1, 2], 20), np.random.default_rng(0)
    likely = np.array([[0.8, 0.1, 0.1], [0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
    votes = Votes.from_counts(rng.multinomial(5, likely[kinds]))
    means = np.stack([votes.probs[kinds == kind].mean(axis=0) for kind in range(3)])
    fitted = VotesClassifier(estimator).fit(np.eye(3)[kinds], votes)
    np.testing.assert_allclose(fitted.predict_proba(np.eye(3)), means, atol=0.05)


def test_a_class_without_votes_keeps_its_column(inputs: np.ndarray) -> None:
    votes = Votes.from_counts([[2, 0, 1], [1, 0, 3]] * 10, classes=["a", "b", "c"])
    fitted = VotesClassifier(LogisticRegression()).fit(inputs, votes)
    probs = fitted.predict_proba(inputs)
    assert probs.shape == (20, 3)
    assert (probs[:, 1] == 0).all()
    assert set(fitted.predict(inputs)) <= {"a", "c"}


def test_score_is_the_mean_share_for_the_predicted_class(inputs: np.ndarray, votes: Votes) -> None:
    fitted = VotesClassifier(LogisticRegression()).fit(inputs, votes)
    chosen = fitted.predict_proba(inputs).argmax(axis=1)
    shares = votes.probs[np.arange(20), chosen]
    assert fitted.score(inputs, votes) == pytest.approx(shares.mean())
    weight = np.arange(20.0)
    assert fitted.score(inputs, votes, weight) == pytest.approx((shares * weight).sum() / weight.sum())


def test_classifiers_without_probabilities_predict(inputs: np.ndarray, votes: Votes) -> None:
    fitted = VotesClassifier(LinearSVC()).fit(inputs, votes)
    assert set(fitted.predict(inputs)) <= {"0", "1", "2"}
    assert not hasattr(fitted, "predict_proba")


def test_scorers_select_by_soft_nll(inputs: np.ndarray, votes: Votes) -> None:
    scorer = VotesScorer(metrics.soft_nll, greater_is_better=False)
    pipeline = make_pipeline(StandardScaler(), VotesClassifier(LogisticRegression()))
    grid = {"votesclassifier__estimator__C": [1e-4, 10.0]}
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=4).fit(inputs, votes.probs)
    assert search.best_params_ == {"votesclassifier__estimator__C": 1e-4}  # the inputs are noise
    by_hand = -metrics.soft_nll(votes.probs, search.predict_proba(inputs))
    assert scorer(search, inputs, votes) == scorer(search, inputs, votes.probs) == pytest.approx(by_hand)
    better = VotesScorer(metrics.soft_accuracy, greater_is_better=True)
    assert (cross_val_score(pipeline, inputs, votes.probs, scoring=better) > 0).all()


def test_scikit_learns_own_scorer_gives_a_metric_one_column_of_two(inputs: np.ndarray) -> None:
    votes = Votes.from_counts([[2, 1], [1, 3]] * 10)
    fitted = VotesClassifier(LogisticRegression()).fit(inputs, votes)
    own = make_scorer(lambda y, probs: probs.ndim, response_method="predict_proba")
    assert own(fitted, inputs, votes.probs) == 1
    assert VotesScorer(metrics.soft_nll, greater_is_better=False)(fitted, inputs, votes) < 0


def test_it_can_be_cloned_before_it_is_fitted() -> None:
    copy = clone(VotesClassifier(LogisticRegression(C=3.0)))
    assert copy.get_params()["estimator__C"] == 3.0


def test_estimators_without_weights_are_refused(inputs: np.ndarray, votes: Votes) -> None:
    with pytest.raises(InputError) as error:
        VotesClassifier(KNeighborsClassifier()).fit(inputs, votes)
    assert str(error.value) == (
        "the estimator must take sample_weight in fit, but KNeighborsClassifier does not. "
        "Choose another, or put VotesClassifier around the last step of a pipeline."
    )


def test_one_row_an_item_is_needed(inputs: np.ndarray, votes: Votes) -> None:
    message = (
        "X must have one row for each item of the votes, but got 19 rows and 20 items. Take the same items of both."
    )
    fitted = VotesClassifier(LogisticRegression()).fit(inputs, votes)
    for ask in (weighted_rows, fitted.score, clone(fitted).fit):
        with pytest.raises(InputError) as error:
            ask(inputs[:19], votes)
        assert str(error.value) == message


def test_tables_that_are_no_shares_are_refused(inputs: np.ndarray, votes: Votes) -> None:
    with pytest.raises(InputError, match="each row of y must be non-negative and sum to 1, but 20 of 20 do not"):
        VotesClassifier(LogisticRegression()).fit(inputs, votes.counts)
    with pytest.raises(InputError, match="what is delivered must be Votes or Targets, but got ndarray"):
        weighted_rows(inputs, votes.probs)


def test_votes_of_other_classes_are_not_scored(inputs: np.ndarray, votes: Votes) -> None:
    fitted = VotesClassifier(LogisticRegression()).fit(inputs, votes)
    turned = votes.with_classes(["2", "1", "0"])
    for ask in (fitted.score, partial(VotesScorer(metrics.kl, greater_is_better=False), fitted)):
        with pytest.raises(InputError) as error:
            ask(inputs, turned)
        assert str(error.value) == (
            "y must have the classes of the fit, '0', '1', '2', but got '2', '1', '0'. "
            "Reorder the votes with with_classes."
        )
        with pytest.raises(InputError, match="but got 0, 1, 2, 3"):
            ask(inputs, np.eye(4)[[0] * 20])


def test_what_of_scikit_learn_refuses_shares(inputs: np.ndarray, votes: Votes) -> None:
    """docs/scikit-learn.md names these, and says to loop over `KFold` instead."""
    model = VotesClassifier(LogisticRegression())
    with pytest.raises(InputError, match="each row of y must be"):
        cross_val_predict(model, inputs, votes.probs, cv=KFold(2), method="predict_proba")
    with pytest.raises(ValueError, match="Supported target types"):
        next(StratifiedKFold(2).split(inputs, votes.probs))
    with pytest.raises(ValueError, match="Unknown label type"):
        CalibratedClassifierCV(model).fit(inputs, votes.probs)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        BaggingClassifier(model).fit(inputs, votes.probs)
