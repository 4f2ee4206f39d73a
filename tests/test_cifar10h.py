"""Every figure on CIFAR-10H that needs no model, recomputed from the counts (see docs/laws.md)."""

from __future__ import annotations

import math

import numpy as np
import pytest

from votewise import Votes, majority_labels, metrics
from votewise._overview import overview
from votewise.votes import entropy_per_item, entropy_reliability, tied, unanimous


def test_votes(cifar10h: Votes, cifar10_labels: np.ndarray) -> None:
    length = cifar10h.counts.sum(axis=1)
    assert (length.min(), np.median(length), length.mean(), length.max(), length.sum()) == (47, 51, 51.1, 63, 511_000)
    assert set(length.tolist()) == {*range(47, 62), 63}
    assert (np.bincount(cifar10_labels) == 1000).all()


def test_entropy(cifar10h: Votes, cifar10_labels: np.ndarray) -> None:
    entropy = entropy_per_item(cifar10h)
    assert round(entropy.mean(), 5) == 0.15446
    assert round(entropy.mean() / math.log(2), 5) == 0.22284
    assert round(entropy.std(), 4) == 0.2353
    assert round(entropy.max(), 4) == 1.9825
    quantiles = np.quantile(entropy, [0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99])
    np.testing.assert_allclose(
        quantiles, [0, 0.0950, 0.0980, 0.1654, 0.1926, 0.2573, 0.4643, 0.6767, 1.1067], atol=5.1e-5
    )
    shares = [(entropy >= 0.25).mean(), (entropy >= 0.25 * math.log(2)).mean(), (entropy > 0.5).mean()]
    np.testing.assert_allclose(shares, [0.2064, 0.2826, 0.0893], atol=1e-9)
    by_class = [entropy[cifar10_labels == k].mean() for k in range(10)]
    np.testing.assert_allclose(
        by_class, [0.1741, 0.0889, 0.1754, 0.2458, 0.2784, 0.1572, 0.1394, 0.0750, 0.1051, 0.1053], atol=5.1e-5
    )


def test_agreement(cifar10h: Votes, cifar10_labels: np.ndarray) -> None:
    probs, rows = cifar10h.probs, np.arange(10_000)
    assert unanimous(cifar10h).mean() == 0.4393
    assert (cifar10h.counts.sum(axis=1) - cifar10h.counts.max(axis=1) == 1).mean() == 0.2356
    top = probs.max(axis=1)
    np.testing.assert_allclose(
        [(top < cut).mean() for cut in (0.9, 0.8, 0.75, 0.6)], [0.1211, 0.0603, 0.0445, 0.0172], atol=1e-9
    )
    assert round(top.mean(), 5) == 0.95444
    assert round(probs[rows, cifar10_labels].mean(), 5) == 0.95235
    assert round((1 - (probs**2).sum(axis=1)).mean(), 5) == 0.07497
    ties = tied(cifar10h)
    assert ties.sum() == 3
    assert (cifar10h.counts[ties, cifar10_labels[ties]] == cifar10h.counts[ties].max(axis=1)).all()
    wrong = majority_labels(cifar10h) != cifar10_labels
    assert (wrong.sum(), (wrong & ~ties).sum()) == (79, 77)


def test_reference_predictors(cifar10h: Votes, cifar10_labels: np.ndarray) -> None:
    probs = cifar10h.probs
    assert round(metrics.soft_nll(probs, np.full((10_000, 10), 0.1)), 4) == 2.3026
    assert round(metrics.soft_nll(probs, np.tile(probs.mean(axis=0), (10_000, 1))), 4) == 2.3022
    of_class = np.stack([probs[cifar10_labels == k].mean(axis=0) for k in range(10)])[cifar10_labels]
    found = [
        f(probs, of_class) for f in (metrics.soft_nll, metrics.kl, metrics.soft_brier, metrics.entropy_correlation)
    ]
    np.testing.assert_allclose(found, [0.2565, 0.1021, 0.0166, 0.236], atol=6e-4)
    for epsilon, expected in ((0.05, 0.2963), (0.1, 0.3093), (0.2, 0.3754)):
        smoothed = (1 - epsilon) * np.eye(10)[cifar10_labels] + epsilon / 10
        assert round(metrics.soft_nll(probs, smoothed), 4) == expected


def test_reliability_of_the_entropies(cifar10h: Votes) -> None:
    found = entropy_reliability(cifar10h)
    assert found is not None
    assert abs(found.split_half - 0.537) < 0.012  # one split scatters by about 0.005
    assert round(found.reliability, 1) == 0.7
    assert round(found.ceiling, 2) == 0.84


@pytest.mark.parametrize(
    ("k", "distance", "same", "manhattan", "spearman", "one_hot", "moved", "entropy"),
    [
        (5, 0.0984, 0.439, 0.0981, 0.957, 0.850, 0.0135, 0.0907),
        (10, 0.0841, 0.440, 0.0753, 0.934, 0.768, 0.0080, 0.1146),
        (25, 0.0601, 0.446, 0.0493, 0.884, 0.636, 0.0049, 0.1366),
        (50, 0.0407, 0.475, 0.0333, 0.843, 0.544, 0.0039, 0.1433),
    ],
)
def test_one_redraw_of_k_votes(
    cifar10h: Votes,
    k: int,
    distance: float,
    same: float,
    manhattan: float,
    spearman: float,
    one_hot: float,
    moved: float,
    entropy: float,
) -> None:
    found = np.array([_effect_of_a_redraw(cifar10h, k, seed) for seed in range(12)])
    # The published figures are of one draw; ours are twelve, so the difference of one from their mean is known.
    spread = found.std(axis=0, ddof=1) * math.sqrt(1 + 1 / 12)
    published = np.array([distance, same, manhattan, spearman, one_hot, moved, entropy])
    assert (np.abs(found.mean(axis=0) - published) < 3.5 * spread + 5e-4).all()
    assert math.isclose(found[:, 4].mean(), (cifar10h.probs**k).sum(axis=1).mean(), abs_tol=0.003)  # all k votes alike


def _effect_of_a_redraw(people: Votes, k: int, seed: int) -> list[float]:
    drawn = people.subsample(k, seed=seed)
    js = np.sqrt(metrics.jsd_per_item(people.probs, drawn.probs) / math.log(2))
    identical = np.abs(drawn.probs - people.probs).max(axis=1) < 1e-12
    return [
        float(js.mean()),
        float(identical.mean()),
        metrics.manhattan(people.probs, drawn.probs),
        metrics.spearman(entropy_per_item(people).round(12), np.where(identical, 0.0, js)),
        float(unanimous(drawn).mean()),
        float((majority_labels(drawn) != majority_labels(people)).mean()),
        float(entropy_per_item(drawn).mean()),
    ]


def test_vote_level_brier_exceeds_soft_brier_by_the_vote_variance(cifar10h: Votes) -> None:
    guess = np.full((10_000, 10), 0.1)
    of_votes = (cifar10h.probs[:, :, None] * ((guess[:, None, :] - np.eye(10)) ** 2)).sum(axis=(1, 2)).mean()
    assert round(of_votes - metrics.soft_brier(cifar10h.probs, guess), 5) == 0.07497


def test_overview(cifar10h: Votes) -> None:
    seen = overview(cifar10h)
    assert (seen.items, seen.votes, seen.ties, seen.unanimous, seen.annotators) == (10_000, 511_000, 3, 0.4393, None)
    assert seen.advice.method == "multipass"
    assert overview(cifar10h.subsample(5, seed=0)).advice.method == "multipass"
    assert overview(cifar10h.subsample(10, seed=0)).advice.method == "multipass"


def test_a_class_stratified_split_is_as_large_as_published(cifar10h: Votes, cifar10_labels: np.ndarray) -> None:
    kept, held = cifar10h.split(0.2, seed=0, strata=cifar10_labels)
    assert (len(kept), len(held)) == (8000, 2000)
    assert (np.bincount(cifar10_labels[held]) == 200).all()
    means = [
        entropy_per_item(cifar10h)[cifar10h.split(0.2, seed=seed, strata=cifar10_labels)[1]].mean()
        for seed in range(30)
    ]
    assert abs(np.mean(means) - 0.15446) < 0.003
    assert 0.0025 < np.std(means) < 0.0065  # SD over seeds about .0045


def test_other_released_files(data_folder) -> None:  # type: ignore[no-untyped-def]
    from votewise import read_votes

    people = read_votes(data_folder / "popquorn_offensiveness.csv", label="offensiveness")
    assert (people.n_items, people.classes) == (1500, ("1", "2", "3", "4", "5"))
    assert people.counts.sum(axis=0).tolist() == [7516, 2190, 1590, 1039, 701]
    seen = overview(people)
    assert (seen.annotators, seen.votes, seen.ties) == (262, 13_036, 160)
    assert (seen.votes_per_item["min"], seen.votes_per_item["median"], seen.votes_per_item["max"]) == (5, 9, 10)
    assert round(entropy_per_item(people).mean() / math.log(5), 3) == 0.522
