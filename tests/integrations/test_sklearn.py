"""scikit-learn: weighted rows are soft cross-entropy, and the classifier around them is a good citizen."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from strategies import votes as vote_tables
from votewise import InputError, Votes, dirichlet_smoothed, fit_prior, metrics, vote_share
from votewise.integrations.sklearn import VotesClassifier, VotesScorer, weighted_rows
from votewise.targets.prior import cross_fit_folds


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


# -- priors -------------------------------------------------------------------------------------------------------


def frame(votes: Votes) -> pd.DataFrame:
    """Counts that scikit-learn can slice."""
    return pd.DataFrame(votes.counts, columns=list(votes.classes))


def explicit_fit(inputs: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Probabilities of logistic regression on weighted rows, written out."""
    items, classes = np.nonzero(shares)
    fitted = LogisticRegression().fit(inputs[items], classes, sample_weight=shares[items, classes])
    return fitted.predict_proba(inputs)


@pytest.mark.parametrize("prior", [0.5, [0.1, 0.4, 1.0], np.random.default_rng(0).random((20, 3))])
def test_given_priors_are_added_to_the_counts(prior: object, inputs: np.ndarray, votes: Votes) -> None:
    pseudo = np.broadcast_to(prior, (20, 3))
    shares = (votes.counts + pseudo) / (votes.counts + pseudo).sum(axis=1, keepdims=True)
    for y in (votes, frame(votes), frame(votes).astype(np.int32)):
        model = clone(VotesClassifier(LogisticRegression(), prior=prior)).fit(inputs, y)
        np.testing.assert_allclose(model.predict_proba(inputs), explicit_fit(inputs, shares), rtol=1e-6)
    with pytest.raises(InputError):
        VotesClassifier(LogisticRegression(), prior=prior).fit(inputs, votes.probs)


def test_the_fitted_prior(inputs: np.ndarray, votes: Votes) -> None:
    model = VotesClassifier(LogisticRegression(), prior="fitted").fit(inputs, votes)
    np.testing.assert_allclose(
        model.predict_proba(inputs), explicit_fit(inputs, dirichlet_smoothed(votes).probs), rtol=1e-6
    )


def test_the_cross_fitted_prior_by_hand(inputs: np.ndarray, votes: Votes) -> None:
    fold = cross_fit_folds(votes, 3, seed=4)
    probs = np.zeros((20, 3))
    for number in range(3):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        items, classes = np.nonzero(votes.probs[inside])
        fitted = LogisticRegression().fit(
            inputs[inside][items], classes, sample_weight=votes.probs[inside][items, classes]
        )
        probs[np.ix_(outside, fitted.classes_)] = fitted.predict_proba(inputs[outside])
    pseudo = fit_prior(votes, np.log(np.maximum(probs, 1e-6))).pseudo_votes
    expected = explicit_fit(inputs, dirichlet_smoothed(votes, prior=pseudo).probs)
    model = VotesClassifier(LogisticRegression(), prior="crossfit", folds=3, seed=4).fit(inputs, votes)
    np.testing.assert_allclose(model.predict_proba(inputs), expected, rtol=1e-5)
    again = VotesClassifier(LogisticRegression(), prior="crossfit", folds=3, seeds=3, seed=4).fit(inputs, votes)
    assert (again.predict_proba(inputs) != model.predict_proba(inputs)).any()


def test_frames_of_counts_are_votes(inputs: np.ndarray) -> None:
    """Their columns name the classes; what `cross_val_predict` makes of them is refused, as other tables are."""
    votes = Votes.from_counts([[2, 0, 1], [1, 0, 3]] * 10, classes=["a", "b", "c"])
    of_votes, of_frame = (VotesClassifier(LogisticRegression()).fit(inputs, y) for y in (votes, frame(votes)))
    assert of_frame.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(of_votes.predict_proba(inputs), of_frame.predict_proba(inputs))
    assert of_votes.score(inputs, votes) == of_frame.score(inputs, frame(votes))


def test_what_cross_val_predict_makes_of_counts_is_refused(inputs: np.ndarray, votes: Votes) -> None:
    """It numbers the values of each column, which must not pass for votes."""
    for prior in (None, 1.0, "crossfit"):
        model = VotesClassifier(LogisticRegression(), prior=prior)
        with pytest.raises(InputError, match="each row of y must be non-negative and sum to 1"):
            cross_val_predict(model, inputs, frame(votes), cv=2, method="predict_proba")


class Remembering(ClassifierMixin, BaseEstimator):
    """Knows the labels of inputs it was fitted on, and of others what is common; notes both."""

    seen: ClassVar[list[tuple[set[float], set[float]]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Remembering:  # noqa: N803
        self.classes_, self.known_ = np.unique(y), set(X[:, 0].tolist())
        return self

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        self.seen.append((self.known_, set(X[:, 0].tolist())))
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        return self.classes_[np.zeros(len(X), dtype=int)]


def test_no_item_is_predicted_by_a_classifier_that_saw_it(inputs: np.ndarray, votes: Votes) -> None:
    Remembering.seen.clear()
    VotesClassifier(Remembering(), prior="crossfit", folds=4, seeds=2).fit(inputs, votes)
    assert len(Remembering.seen) == 8
    for known, asked in Remembering.seen:
        assert not known & asked
        assert known | asked == set(inputs[:, 0].tolist())


@pytest.mark.parametrize("prior", [None, 0.5, "fitted", "crossfit"])
def test_votes_of_scored_items_have_no_say(prior: Any, inputs: np.ndarray, votes: Votes) -> None:
    """Nonsense in their place leaves the classifier of each fold, bit for bit, and its predictions for every item."""
    model = VotesClassifier(LogisticRegression(), prior=prior)

    def fitted(counts: np.ndarray) -> list[tuple[bytes, float]]:
        found = cross_validate(model, inputs, frame(Votes.from_counts(counts)), cv=KFold(4), return_estimator=True)
        probs = [one.predict_proba(inputs).tobytes() for one in found["estimator"]]
        return list(zip(probs, found["test_score"].tolist(), strict=True))

    before = fitted(votes.counts)
    for fold, (_, scored) in enumerate(KFold(4).split(inputs)):
        counts = votes.counts.copy()
        counts[scored] = np.random.default_rng(fold).integers(0, 9, (len(scored), 3)) ** 2 + [1, 0, 0]
        after = fitted(counts)
        assert after[fold][0] == before[fold][0]
        assert after[fold][1] != before[fold][1], "the scores do look at them"
        assert all(after[other][0] != before[other][0] for other in range(4) if other != fold), "others learn from them"


def test_classifiers_that_rule_classes_out_can_be_cross_fitted(inputs: np.ndarray, votes: Votes) -> None:
    """Trees say 0, and a fold may lack a class."""
    rare = Votes.from_counts(np.vstack([votes.counts[:, :2].sum(axis=1), np.zeros(20), [*[0] * 19, 3]]).T.astype(int))
    for table in (votes, rare):
        model = VotesClassifier(RandomForestClassifier(5, random_state=0), prior="crossfit").fit(inputs, table)
        assert np.isfinite(model.predict_proba(inputs)).all()


@pytest.mark.filterwarnings("error")
def test_priors_can_be_searched_and_pipelined(inputs: np.ndarray, votes: Votes) -> None:
    search = GridSearchCV(
        make_pipeline(StandardScaler(), VotesClassifier(LogisticRegression())),
        {"votesclassifier__prior": [None, 0.5, [1.0, 1.0, 2.0], "fitted", "crossfit"]},
        scoring=VotesScorer(metrics.soft_nll, greater_is_better=False),
        cv=KFold(3),
    ).fit(inputs, frame(votes))
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert len(set(scores.tolist())) == 5
    shares = cross_val_score(
        VotesClassifier(LogisticRegression()), inputs, votes.probs,
        scoring=VotesScorer(metrics.soft_nll, greater_is_better=False), cv=KFold(3),
    )  # fmt: skip
    of_counts = cross_val_score(
        VotesClassifier(LogisticRegression()), inputs, frame(votes),
        scoring=VotesScorer(metrics.soft_nll, greater_is_better=False), cv=KFold(3),
    )  # fmt: skip
    np.testing.assert_allclose(shares, of_counts)


def test_wrong_priors(inputs: np.ndarray, votes: Votes) -> None:
    with pytest.raises(InputError, match="prior must be one of fitted, crossfit, but got 'croissant'"):
        VotesClassifier(LogisticRegression(), prior="croissant").fit(inputs, votes)
    with pytest.raises(InputError) as error:
        VotesClassifier(LinearSVC(), prior="crossfit").fit(inputs, votes)
    assert str(error.value) == (
        "the estimator must have predict_proba for prior='crossfit', but LinearSVC has none. Choose another estimator, or "
        "prior='fitted'."
    )
    for y in (votes.probs, vote_share(votes), pd.DataFrame(votes.probs)):
        with pytest.raises(InputError) as error:
            VotesClassifier(LogisticRegression(), prior="fitted").fit(inputs, y)
        assert str(error.value) == (
            "a prior needs votes, whose number says what it weighs beside them, but y has shares. Pass votes; or, "
            "where y is sliced, pandas.DataFrame(votes.counts, columns=votes.classes)."
        )
    with pytest.raises(InputError, match="needs items with two votes or more"):
        VotesClassifier(LogisticRegression(), prior="crossfit").fit(inputs, [0, 1, 2, 1] * 5)
    one_vote_each = VotesClassifier(LogisticRegression(), prior=1.0).fit(inputs, [0, 1, 2, 1] * 5)
    expected = explicit_fit(inputs, (np.eye(3)[[0, 1, 2, 1] * 5] + 1) / 4)
    np.testing.assert_allclose(one_vote_each.predict_proba(inputs), expected, rtol=1e-6)
