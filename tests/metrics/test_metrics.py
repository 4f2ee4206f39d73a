"""Metrics against slow oracles and other people's packages, and laws over the whole catalogue."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
import relplot
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr
from scipy.stats import pearsonr, spearmanr
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from oracles import scores
from strategies import distributions, labelled, pairs
from votewise import InputError, metrics
from votewise.data import load_popquorn, load_vader
from votewise.metrics.ranking import pearson_influence, spearman_influence

Pair = tuple[np.ndarray, np.ndarray]

DISTANCES: dict[str, Callable[..., float]] = {
    name: getattr(metrics, name)
    for name in ("soft_nll", "kl", "soft_brier", "jsd", "js_distance", "manhattan", "soft_accuracy")
}
OF_LABELS = {name: getattr(metrics, name) for name in ("accuracy", "ece", "ece_equal_width", "smooth_ece")}
OF_VOTES = {"vote_ece", "vote_ece_floor", "classwise_vote_ece", "vote_reliability"}
OF_LOGITS = {"fit_temperature", "scaled_softmax"}
OTHERS = {"entropy_correlation", "entropy_pearson", "ece_floor", "reliability_curve", "spearman", "entropy_per_item"}
DECOMPOSITIONS = {"brier_parts", "correctness_brier_parts"}


def test_every_metric_is_classified() -> None:
    public = {name for name, value in vars(metrics).items() if inspect.isfunction(value)} - {"headlines"}
    per_item = {f"{name}_per_item" for name in (*DISTANCES, "accuracy")}
    assert public == {*DISTANCES, *OF_LABELS, *OF_VOTES, *OF_LOGITS, *OTHERS, *DECOMPOSITIONS, *per_item}


@pytest.mark.parametrize("name", DISTANCES)
@given(pair=pairs())
def test_distances_are_the_slow_ones(name: str, pair: Pair) -> None:
    slow = {
        "soft_nll": scores.cross_entropy,
        "kl": scores.kl,
        "soft_brier": lambda p, q: math.fsum((a - b) ** 2 for a, b in zip(p, q, strict=True)),
        "jsd": scores.jsd,
        "js_distance": lambda p, q: math.sqrt(max(scores.jsd(p, q), 0)),
        "manhattan": lambda p, q: math.fsum(abs(a - b) for a, b in zip(p, q, strict=True)),
        "soft_accuracy": lambda p, q: math.fsum(min(a, b) for a, b in zip(p, q, strict=True)),
    }[name]
    expected = [slow(p.tolist(), q.tolist()) for p, q in zip(*pair, strict=True)]
    found = getattr(metrics, f"{name}_per_item")(*pair)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    value = DISTANCES[name](*pair)
    assert isinstance(value, float)
    assert math.isclose(value, float(np.mean(expected)), abs_tol=1e-10) or (
        math.isinf(value) and math.isinf(np.mean(expected))
    )


@given(pairs())
def test_kl_and_jsd_are_those_of_scipy(pair: Pair) -> None:
    p, q = pair
    np.testing.assert_allclose(metrics.kl_per_item(p, q), rel_entr(p, q).sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(
        np.sqrt(metrics.jsd_per_item(p, q)), [jensenshannon(a, b) for a, b in zip(p, q, strict=True)], atol=1e-7
    )


@pytest.mark.parametrize("name", DISTANCES)
@given(pair=pairs(), data=st.data())
def test_items_and_classes_may_stand_in_any_order(name: str, pair: Pair, data: st.DataObject) -> None:
    p, q = pair
    items, classes = data.draw(st.permutations(range(p.shape[0]))), data.draw(st.permutations(range(p.shape[1])))
    moved = DISTANCES[name](p[items][:, classes], q[items][:, classes])
    np.testing.assert_allclose(moved, DISTANCES[name](p, q), atol=1e-10)


@pytest.mark.parametrize("name", ["soft_nll", "kl", "soft_brier", "jsd", "manhattan"])
@given(pair=pairs())
def test_nothing_beats_saying_what_people_said(name: str, pair: Pair) -> None:
    p, q = pair
    assert DISTANCES[name](p, p) <= DISTANCES[name](p, q) + 1e-10


@given(labelled())
def test_one_hot_references_give_the_hard_scores(case: tuple[np.ndarray, np.ndarray]) -> None:
    y, q = case
    k = q.shape[1]
    q = 0.99 * q + 0.01 / k
    one_hot = np.eye(k)[y]
    if k > 1:
        assert math.isclose(metrics.soft_nll(one_hot, q), log_loss(y, q, labels=range(k)), abs_tol=1e-9)
        brier = brier_score_loss(y, q, labels=list(range(k)), scale_by_half=False)
        assert math.isclose(metrics.soft_brier(one_hot, q), brier, abs_tol=1e-9)
    assert math.isclose(
        metrics.soft_accuracy(one_hot, np.eye(k)[q.argmax(axis=1)]), metrics.accuracy(y, q), abs_tol=1e-12
    )


def weighs_items(p: np.ndarray, q: np.ndarray) -> float:
    """Depends on the order of the items."""
    return float(np.average(((p - q) ** 2).sum(axis=1), weights=np.arange(1, len(p) + 1)))


def sees_the_first_class(p: np.ndarray, q: np.ndarray) -> float:
    """Depends on the order of the classes."""
    return float(np.abs(p - q)[:, 0].mean())


def likes_to_be_wrong(p: np.ndarray, q: np.ndarray) -> float:
    """Least furthest away from the reference."""
    return -float(np.abs(p - q).sum(axis=1).mean())


@pytest.mark.parametrize(
    ("law", "broken"),
    [
        ("items_and_classes_may_stand_in_any_order", weighs_items),
        ("items_and_classes_may_stand_in_any_order", sees_the_first_class),
        ("distances_are_the_slow_ones", likes_to_be_wrong),
        ("nothing_beats_saying_what_people_said", likes_to_be_wrong),
    ],
)
def test_the_laws_can_fail(law: str, broken: Callable[..., float], monkeypatch: pytest.MonkeyPatch) -> None:
    """A law that no metric could break proves nothing."""
    monkeypatch.setitem(DISTANCES, "soft_brier", broken)
    test = globals()[f"test_{law}"]
    # The same examples every time, and the first that fails is enough: making it small would take half a minute.
    quick = settings(derandomize=True, database=None, phases=[Phase.generate])
    monkeypatch.setattr(test, "_hypothesis_internal_use_settings", quick, raising=False)
    with pytest.raises((AssertionError, ExceptionGroup)):
        test(name="soft_brier")


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (
            [1.0, math.nan],
            [1.0, 2.0],
            "x must be a list of finite numbers, but got [1.0, nan]. Pass at least one number.",
        ),
        ([1.0], [], "y must be a list of finite numbers, but got []. Pass at least one number."),
        ([1.0, 2.0], [1.0], "x and y must have the same length, but got 2 and 1. Line up the items."),
    ],
)
def test_what_cannot_be_ranked_is_refused(x: list[float], y: list[float], message: str) -> None:
    with pytest.raises(InputError) as error:
        metrics.spearman(x, y)
    assert str(error.value) == message


@pytest.mark.parametrize("points", [1, 7, 256, 300, 4096])
def test_a_curve_has_the_points_asked_for(points: int) -> None:
    y, q = simulate(0, 200)
    curve = metrics.reliability_curve(y, q, points=points)
    assert [len(part) for part in (curve.confidence, curve.accuracy, curve.density)] == [points] * 3
    assert (np.diff(curve.confidence) > 0).all()


def test_a_curve_cannot_be_finer_than_its_grid() -> None:
    with pytest.raises(InputError) as error:
        metrics.reliability_curve([0], [[1.0]], points=4097)
    assert str(error.value) == "a curve can have at most 4,096 points, but got 4,097. Ask for fewer."


@given(labelled(), st.integers(1, 25))
def test_equal_mass_ece_is_the_slow_one(case: tuple[np.ndarray, np.ndarray], bins: int) -> None:
    y, q = case
    confidence, correct = q.max(axis=1), (q.argmax(axis=1) == y).astype(float)
    expected = scores.equal_mass_ece(confidence.tolist(), correct.tolist(), bins)
    assert math.isclose(metrics.ece(y, q, bins=bins), expected, abs_tol=1e-10)


@pytest.mark.parametrize("bins", [5, 10, 20])
def test_equal_mass_ece_is_that_of_scikit_learn_bins(bins: int) -> None:
    rng = np.random.default_rng(bins)
    top = rng.uniform(0.5, 1, size=1000)  # no two equal, and as many in each bin
    q = np.column_stack([top, 1 - top])
    y = (rng.random(1000) > top**2).astype(int)
    true, predicted = calibration_curve(y == 0, top, n_bins=bins, strategy="quantile")
    assert math.isclose(metrics.ece(y, q, bins=bins), np.abs(true - predicted).mean(), abs_tol=2e-3)


def simulate(seed: int, n: int, sharp: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """A model whose confidence is right (sharp = 1) or overstated (sharp > 1)."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(4, 0.4), size=n)
    y = (q.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    stated = q**sharp
    return y, stated / stated.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("seed", "n", "sharp"), [(0, 40, 1.0), (1, 150, 1.0), (2, 150, 3.0), (3, 300, 0.4)])
def test_smooth_ece_is_its_definition(seed: int, n: int, sharp: float) -> None:
    y, q = simulate(seed, n, sharp)
    expected = scores.smooth_ece(q.max(axis=1), (q.argmax(axis=1) == y).astype(float))
    assert math.isclose(metrics.smooth_ece(y, q), expected, rel_tol=2e-3)


@pytest.mark.parametrize(("n", "sharp"), [(500, 1.0), (2000, 1.0), (2000, 2.5), (5000, 0.5)])
def test_smooth_ece_is_that_of_its_authors(n: int, sharp: float) -> None:
    y, q = simulate(n, n, sharp)
    confidence, correct = q.max(axis=1), (q.argmax(axis=1) == y).astype(float)
    # Theirs searches the bandwidth in steps of 0.001 and sums over a mesh of 200 points, which overstates the integral by
    # up to 3 % where the error is large; where all residuals have one sign the exact value is their mean.
    assert math.isclose(metrics.smooth_ece(y, q), relplot.smECE(confidence, correct), rel_tol=0.03, abs_tol=2e-3)
    if sharp == 2.5:
        assert math.isclose(metrics.smooth_ece(y, q), abs((correct - confidence).mean()), rel_tol=1e-6)


@settings(max_examples=30)
@given(labelled(), st.randoms())
def test_smooth_ece_is_bounded_and_order_free(case: tuple[np.ndarray, np.ndarray], random) -> None:  # type: ignore[no-untyped-def]
    y, q = case
    error = metrics.smooth_ece(y, q)
    assert -1e-12 <= error <= np.abs(q.max(axis=1) - (q.argmax(axis=1) == y)).mean() + 1e-6
    order = list(range(len(y)))
    random.shuffle(order)
    assert math.isclose(metrics.smooth_ece(y[order], q[order]), error, abs_tol=1e-9)


@pytest.mark.parametrize("bins", [10, 15, 20])
def test_the_floor_is_what_calibrated_models_show(bins: int) -> None:
    floor = metrics.ece_floor(simulate(0, 600)[1], bins=bins)
    _, q = simulate(0, 600)
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(400):  # the floor again, by drawing labels from the predictions themselves
        y = np.where(rng.random(600) < q.max(axis=1), q.argmax(axis=1), q.argmin(axis=1))
        drawn.append(metrics.ece(y, q, bins=bins))
    assert math.isclose(floor.mean, np.mean(drawn), rel_tol=0.05)
    np.testing.assert_allclose([floor.low, floor.high], np.quantile(drawn, [0.025, 0.975]), rtol=0.12)


def test_the_floor_of_many_items_falls_with_the_root_of_their_number() -> None:
    small, large = (metrics.ece_floor(simulate(0, n)[1]).mean for n in (10_000, 160_000))
    assert 3.6 < small / large < 4.4


@given(pairs(), st.integers(1, 25))
def test_vote_ece_is_the_slow_one(pair: Pair, bins: int) -> None:
    p, q = pair
    top = [max(range(len(row)), key=row.__getitem__) for row in q.tolist()]
    share = [row[place] for row, place in zip(p.tolist(), top, strict=True)]
    expected = scores.equal_mass_ece([max(row) for row in q.tolist()], share, bins)
    assert math.isclose(metrics.vote_ece(p, q, bins=bins), expected, abs_tol=1e-10)


@given(labelled(), st.integers(1, 25))
def test_vote_ece_of_a_single_vote_is_ece(case: tuple[np.ndarray, np.ndarray], bins: int) -> None:
    y, q = case
    votes = np.eye(q.shape[1])[y]
    assert math.isclose(metrics.vote_ece(votes, q, bins=bins), metrics.ece(y, q, bins=bins), abs_tol=1e-12)


@given(pairs(), st.integers(1, 25))
def test_saying_what_people_said_has_no_vote_ece(pair: Pair, bins: int) -> None:
    """Though their majority is not always what they say, so that the error against a label is not zero."""
    p, q = pair
    assert math.isclose(metrics.vote_ece(p, p, bins=bins), 0, abs_tol=1e-12)
    assert 0 <= metrics.vote_ece(p, q, bins=bins) <= 1 + 1e-12


@given(pairs(), st.integers(1, 25), st.randoms())
def test_vote_ece_does_not_depend_on_the_order_of_items_and_classes(pair: Pair, bins: int, random) -> None:  # type: ignore[no-untyped-def]
    p, q = pair
    items, classes = list(range(p.shape[0])), list(range(p.shape[1]))
    random.shuffle(items)
    random.shuffle(classes)
    if (np.sort(q, axis=1)[:, -2:-1] == q.max(axis=1, keepdims=True)).any():
        classes.sort()  # which of two equally likely classes is predicted goes by their order
    moved = metrics.vote_ece(p[items][:, classes], q[items][:, classes], bins=bins)
    assert math.isclose(moved, metrics.vote_ece(p, q, bins=bins), abs_tol=1e-10)


@pytest.mark.parametrize("votes", [1, 3, 50, "unequal"])
def test_the_floor_against_votes_is_what_right_models_show(votes: int | str) -> None:
    """By drawing every item's votes from its prediction."""
    rng, (_, q) = np.random.default_rng(1), simulate(0, 600)
    each = rng.integers(1, 30, 600) if votes == "unequal" else np.full(600, votes)
    floor = metrics.vote_ece_floor(q, each)
    drawn = [metrics.vote_ece(rng.multinomial(each, q) / each[:, None], q) for _ in range(400)]
    assert math.isclose(floor.mean, np.mean(drawn), rel_tol=0.05)
    np.testing.assert_allclose([floor.low, floor.high], np.quantile(drawn, [0.025, 0.975]), rtol=0.12)
    if votes != "unequal":
        assert metrics.vote_ece_floor(q, int(votes)) == floor


def test_the_floor_against_votes_falls_with_the_root_of_their_number() -> None:
    """Of single votes, it is that against labels; in cells of items, with as many votes each or not, too."""
    _, q = simulate(0, 20_000)
    one, sixteen = (metrics.vote_ece_floor(q, votes).mean for votes in (1, 16))
    assert math.isclose(one, metrics.ece_floor(q).mean, rel_tol=0.02)
    assert 3.8 < one / sixteen < 4.2
    either = np.where(np.arange(20_000) % 2, 1, 16)  # a mean variance of 17/32 of that of single votes
    assert math.isclose(metrics.vote_ece_floor(q, either).mean, one * math.sqrt(17 / 32), rel_tol=0.02)


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        ([3, 0], "votes_per_item must be at least 1, but got 0. Leave out items without votes."),
        (
            [1, 2, 3],
            "votes_per_item must be a whole number, or one for each of the 2 items, but got int64 of shape (3,). Pass "
            "votes.counts.sum(axis=1).",
        ),
        (
            [0.5, 0.5],
            "votes_per_item must be a whole number, or one for each of the 2 items, but got float64 of shape (2,). Pass "
            "votes.counts.sum(axis=1).",
        ),
    ],
)
def test_numbers_of_votes_that_make_no_floor(votes: list[float], message: str) -> None:
    with pytest.raises(InputError) as error:
        metrics.vote_ece_floor([[0.5, 0.5], [0.9, 0.1]], votes)
    assert str(error.value) == message


@given(pairs(min_items=2, min_classes=2))
def test_entropy_correlation_is_that_of_scipy(pair: Pair) -> None:
    people, model = (metrics.entropy_per_item(table).round(12) for table in pair)
    found = metrics.spearman(people, model)
    if len(set(people)) == 1 or len(set(model)) == 1:
        assert math.isnan(found)
    else:
        assert math.isclose(found, spearmanr(people, model).statistic, abs_tol=1e-10)
        slow = np.corrcoef(scores.average_ranks(people.tolist()), scores.average_ranks(model.tolist()))[0, 1]
        assert math.isclose(found, slow, abs_tol=1e-10)


@given(pairs(min_items=2, min_classes=2))
def test_pearson_correlation_of_entropies_is_that_of_scipy(pair: Pair) -> None:
    people, model = (metrics.entropy_per_item(table).round(12) for table in pair)
    found = metrics.entropy_pearson(*pair)
    if len(set(people)) == 1 or len(set(model)) == 1:
        assert math.isnan(found)
    else:
        assert math.isclose(found, pearsonr(people, model).statistic, abs_tol=1e-6)
        centred = [[value - math.fsum(values) / len(values) for value in values] for values in (people, model)]
        above = math.fsum(a * b for a, b in zip(*centred, strict=True))
        below = math.sqrt(math.fsum(a * a for a in centred[0]) * math.fsum(b * b for b in centred[1]))
        assert math.isclose(found, above / below, abs_tol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_influence_on_pearson_is_the_effect_of_one_item(seed: int) -> None:
    """Against the jackknife: leaving an item out moves the correlation by its influence over n, to first order."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=400)
    y = 0.6 * x + rng.normal(size=400)
    whole = np.corrcoef(x, y)[0, 1]
    left = np.array([np.corrcoef(np.delete(x, i), np.delete(y, i))[0, 1] for i in range(400)])
    influence = pearson_influence(x, y)
    assert abs(influence.mean()) < 1e-12
    np.testing.assert_allclose(399 * (whole - left), influence, atol=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_influence_is_the_effect_of_one_item(seed: int) -> None:
    """Against the jackknife: leaving an item out moves the correlation by its influence over n, to first order."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 30, size=400).astype(float)
    y = x + rng.normal(size=400) * 15
    influence = spearman_influence(x, y)
    whole = metrics.spearman(x, y)
    left_out = np.array([metrics.spearman(np.delete(x, i), np.delete(y, i)) for i in range(400)])
    assert np.corrcoef(influence, 399 * (whole - left_out))[0, 1] > 0.999
    assert math.isclose(influence.std(), (399 * (whole - left_out)).std(), rel_tol=0.02)


def test_the_reliability_curve_follows_the_truth() -> None:
    y, q = simulate(0, 40_000)
    curve = metrics.reliability_curve(y, q)
    busy = curve.density > 0.3
    assert busy.sum() > 50
    assert np.abs(curve.accuracy - curve.confidence)[busy].max() < 0.05
    assert math.isclose(curve.density.mean(), 1, rel_tol=0.02)


def test_reliability_curves_of_all_seeds_lie_on_one_grid() -> None:
    curves = [metrics.reliability_curve(*simulate(seed, 2000 + seed, 1 + seed)) for seed in range(3)]
    for curve in curves[1:]:
        np.testing.assert_array_equal(curve.confidence, curves[0].confidence)
    assert curves[0].accuracy.shape == curves[0].density.shape == (256,)
    assert np.isnan(curves[0].accuracy[0])  # no top class of four has a confidence below a quarter


@given(labelled(), st.integers(1, 25), st.randoms())
def test_brier_parts_of_correctness_make_up_the_score(case: Pair, bins: int, random) -> None:  # type: ignore[no-untyped-def]
    y, q = case
    confidence, correct = q.max(axis=1), (q.argmax(axis=1) == y).astype(float)
    parts = metrics.correctness_brier_parts(y, q, bins=bins)
    assert math.isclose(parts.total, ((confidence - correct) ** 2).mean(), abs_tol=1e-12)
    assert math.isclose(parts.uncertainty, correct.mean() * (1 - correct.mean()), abs_tol=1e-12)
    assert min(parts.reliability, parts.resolution, parts.spread) >= 0
    order = list(range(len(y)))
    random.shuffle(order)
    again = metrics.correctness_brier_parts(y[order], q[order], bins=bins)
    assert math.isclose(again.reliability, parts.reliability, abs_tol=1e-12)
    assert math.isclose(again.resolution, parts.resolution, abs_tol=1e-12)


@pytest.mark.parametrize(("n", "bins"), [(300, 15), (7, 3), (301, 10), (5, 40)])
def test_brier_parts_of_correctness_are_the_slow_ones(n: int, bins: int) -> None:
    y, q = simulate(n, n, 2.0)  # no two confidences are equal
    confidence, correct = q.max(axis=1).tolist(), (q.argmax(axis=1) == y).astype(float).tolist()
    np.testing.assert_allclose(
        astuple(metrics.correctness_brier_parts(y, q, bins=bins)),
        scores.correctness_brier_parts(confidence, correct, bins),
        atol=1e-12,
    )


def test_equal_confidence_within_bins_leaves_three_parts() -> None:
    parts = metrics.correctness_brier_parts([0, 1, 0, 0], [[0.5, 0.5], [0.5, 0.5], [1, 0], [1, 0]], bins=2)
    assert astuple(parts) == (0, 0.0625, 0.1875, 0, 0)


def test_equal_confidences_stay_in_the_bin_of_the_middle_one() -> None:
    """Four of 0.5 and two of 1 in two bins: the four go into the first together, though it ends after three."""
    parts = metrics.correctness_brier_parts([0, 0, 1, 1, 0, 0], [[0.5, 0.5]] * 4 + [[1, 0]] * 2, bins=2)
    np.testing.assert_allclose(astuple(parts), (0, 1 / 18, 2 / 9, 0, 0), atol=1e-12)


def test_fewer_items_than_bins() -> None:
    y, q = np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]])
    assert math.isclose(metrics.ece(y, q, bins=15), (0.1 + 0.8) / 2)
    assert metrics.ece_floor(q, bins=15).mean > 0
    assert metrics.ece(np.array([0]), np.array([[1.0]])) == 0


BAD_PAIRS = {
    "shapes": ([[0.5, 0.5]], [[1.0]], "reference and probs must have the same shape, items x classes, but they are (1, 2) and (1, 1)"),
    "logits": ([[0.5, 0.5]], [[2.0, -1.0]], "each row of probs must be non-negative and sum to 1, but 1 of 1 do not (rows 0; the first holds -1)"),
    "sums": ([[0.5, 0.5]], [[0.5, 0.6]], "each row of probs must be non-negative and sum to 1, but 1 of 1 do not (rows 0; the first sums to 1.1)"),
    "nan": ([[0.5, 0.5]], [[math.nan, 1.0]], "probs must be finite, but 1 rows hold NaN or infinity (rows 0)"),
    "labels": ([0, 1], [[0.5, 0.5], [0.5, 0.5]], "reference must have two dimensions, items x classes, both at least 1, but its shape is (2,)"),
    "empty": (np.zeros((0, 2)), np.zeros((0, 2)), "reference must have two dimensions, items x classes, both at least 1, but its shape is (0, 2)"),
    "text": ([["a"]], [["b"]], "reference must be a table of numbers (items x classes), but its entries are of type <U1"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*DISTANCES, "entropy_correlation", "brier_parts"])
@pytest.mark.parametrize("case", BAD_PAIRS)
def test_wrong_pairs_are_named(name: str, case: str) -> None:
    reference, probs, message = BAD_PAIRS[case]
    with pytest.raises(InputError) as error:
        getattr(metrics, name)(reference, probs)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("name", [*OF_LABELS, "reliability_curve", "correctness_brier_parts"])
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0], "labels must be 2 whole numbers, one for each row of probs, but got an array of shape (1,)"),
        (
            [0.0, 1.0],
            "labels must be 2 whole numbers, one for each row of probs, but got an array of shape (2,) and type float64",
        ),
        ([0, 2], "labels must lie between 0 and 1, but 1 do not (rows 1; the first is 2)"),
    ],
)
def test_wrong_labels_are_named(name: str, labels: list[float], message: str) -> None:
    with pytest.raises(InputError) as error:
        getattr(metrics, name)(labels, [[0.5, 0.5], [0.5, 0.5]])
    assert str(error.value).startswith(message)


@given(distributions())
def test_bins_must_be_counted(q: np.ndarray) -> None:
    with pytest.raises(InputError, match="bins must be a whole number of at least 1, but got 0"):
        metrics.ece(np.zeros(len(q), dtype=int), q, bins=0)
    with pytest.raises(InputError, match="bins must be a whole number of at least 1, but got 0"):
        metrics.correctness_brier_parts(np.zeros(len(q), dtype=int), q, bins=0)


def test_a_wrong_width_is_told_as_one_whatever_the_rows_sum_to() -> None:
    with pytest.raises(InputError) as error:
        metrics.kl([[0.5, 0.5]], [[0.2, 0.9, 0.5]])
    assert str(error.value) == (
        "reference and probs must have the same shape, items x classes, but they are (1, 2) and (1, 3). "
        "Line up items and classes before scoring."
    )


def test_a_tensor_that_needs_gradients_is_refused_with_the_way_out() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError) as error:
        metrics.kl([[0.5, 0.5]], torch.tensor([[0.5, 0.5]], requires_grad=True))
    assert str(error.value) == (
        "probs must be a table of numbers (items x classes), but Can't call numpy() on Tensor that requires grad. "
        "Pass a 2-D numeric array, such as tensor.detach().numpy()."
    )


@given(pair=pairs(), bins=st.integers(1, 20))
def test_classwise_vote_ece_is_the_slow_one_class_by_class(pair: Pair, bins: int) -> None:
    p, q = pair
    each = [scores.equal_mass_ece(q[:, k].tolist(), p[:, k].tolist(), bins) for k in range(p.shape[1])]
    assert math.isclose(metrics.classwise_vote_ece(p, q, bins=bins), math.fsum(each) / len(each), abs_tol=1e-10)
    assert math.isclose(metrics.classwise_vote_ece(p, p, bins=bins), 0, abs_tol=1e-12)


def test_classwise_sees_what_the_top_class_hides() -> None:
    people, model = [[0.6, 0.4, 0.0]] * 4, [[0.6, 0.0, 0.4]] * 4
    assert metrics.vote_ece(people, model) == 0
    assert math.isclose(metrics.classwise_vote_ece(people, model), 0.8 / 3, abs_tol=1e-12)


@given(case=labelled(), bins=st.integers(1, 20))
def test_equal_width_ece_is_the_slow_one(case: tuple[np.ndarray, np.ndarray], bins: int) -> None:
    y, q = case
    confidence, correct = q.max(axis=1), q.argmax(axis=1) == y
    expected = scores.equal_width_ece(confidence.tolist(), correct.tolist(), bins)
    assert math.isclose(metrics.ece_equal_width(y, q, bins=bins), expected, abs_tol=1e-10)


@pytest.mark.parametrize("bins", [5, 10, 15])
def test_equal_width_ece_is_that_of_torchmetrics(bins: int) -> None:
    torch = pytest.importorskip("torch")
    calibration = pytest.importorskip("torchmetrics.functional.classification")
    y, q = simulate(1, 2000, sharp=1.5)
    theirs = calibration.multiclass_calibration_error(
        torch.tensor(q), torch.tensor(y), num_classes=q.shape[1], n_bins=bins, norm="l1"
    )
    assert math.isclose(metrics.ece_equal_width(y, q, bins=bins), float(theirs), abs_tol=1e-6)


@given(pair=pairs(), bins=st.integers(1, 20))
def test_the_reliability_curve_has_the_items_of_each_bin_once(pair: Pair, bins: int) -> None:
    p, q = pair
    curve = metrics.vote_reliability(p, q, bins=bins)
    confidence, share = q.max(axis=1), p[np.arange(len(q)), q.argmax(axis=1)]
    weight = curve.items / len(q)
    assert curve.items.sum() == len(q)
    assert (np.diff(curve.confidence) > 0).all()
    assert math.isclose(float(weight @ curve.confidence), confidence.mean(), abs_tol=1e-10)
    assert math.isclose(float(weight @ curve.share), share.mean(), abs_tol=1e-10)
    assert len(curve.items) <= min(bins, len(np.unique(confidence)))


def test_the_reliability_curve_is_the_slow_one_without_ties() -> None:
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(4), size=103), rng.dirichlet(np.ones(4), size=103)
    ordered = sorted(range(103), key=lambda row: q[row].max())
    parts, start = [], 0
    for number in range(10):
        size = 103 // 10 + (number < 103 % 10)
        parts.append(ordered[start : start + size])
        start += size
    curve = metrics.vote_reliability(p, q, bins=10)
    shares = [math.fsum(p[row, q[row].argmax()] for row in part) / len(part) for part in parts]
    np.testing.assert_allclose(curve.share, shares, atol=1e-12)
    gaps = np.abs(curve.confidence - curve.share) * curve.items / 103
    assert math.isclose(float(gaps.sum()), metrics.vote_ece(p, q, bins=10), abs_tol=1e-12)


@pytest.mark.parametrize(("name", "against_the_majority"), [("words", 0.295), ("POPQUORN", 0.366)])
def test_the_votes_themselves_are_calibrated_against_votes_and_not_against_the_majority(
    name: str, against_the_majority: float, data_folder: Path
) -> None:
    if name == "POPQUORN" and not (data_folder / "popquorn_offensiveness.csv").is_file():
        pytest.skip(f"{data_folder} lacks POPQUORN")
    shares = (load_vader() if name == "words" else load_popquorn("offensiveness", data_folder)).votes.probs
    majority = shares.argmax(axis=1)
    assert metrics.vote_ece(shares, shares) < 1e-12
    assert metrics.classwise_vote_ece(shares, shares) < 1e-12
    assert np.allclose((curve := metrics.vote_reliability(shares, shares)).share, curve.confidence)
    for error in (metrics.ece, metrics.ece_equal_width):
        assert math.isclose(error(majority, shares), against_the_majority, abs_tol=0.002)
