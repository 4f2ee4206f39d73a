"""The identities of the papers' mathematics, each as a property test (numbers as in docs/laws.md)."""

from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from strategies import counts, distributions, labelled, pairs, votes
from votewise import (
    SLS,
    LabelSmoothing,
    Majority,
    Mixup,
    Multipass,
    Soft,
    Votes,
    deterministic_control,
    metrics,
    shuffled_sls,
)
from votewise.statistics import holm, wilcoxon
from votewise.training import soft_cross_entropy

EXACT = {"rtol": 0, "atol": 1e-10}


def floored(q: np.ndarray) -> np.ndarray:
    """Predictions as a softmax makes them: no class impossible."""
    return 0.999 * q + 0.001 / q.shape[1]


@given(pairs())
def test_1_expected_vote_loss_is_cross_entropy(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = pair[0], floored(pair[1])
    np.testing.assert_allclose((p * -np.log(q)).sum(axis=1), metrics.soft_nll_per_item(p, q), **EXACT)


@given(pairs())
def test_2_expected_vote_gradient_is_the_soft_gradient(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = pair[0], floored(pair[1])
    logits = torch.tensor(np.log(q), requires_grad=True)
    soft_cross_entropy(logits, torch.tensor(p)).sum().backward()
    one_hot = np.eye(p.shape[1])
    of_votes = sum(p[:, [y]] * (q - one_hot[y]) for y in range(p.shape[1]))
    np.testing.assert_allclose(of_votes, q - p, **EXACT)
    np.testing.assert_allclose(logits.grad.numpy(), q - p, **EXACT)


@given(pairs())
def test_3_gradient_noise_is_the_covariance_of_the_votes(pair: tuple[np.ndarray, np.ndarray]) -> None:
    for p, q in zip(*pair, strict=True):
        one_hot = np.eye(len(p))
        noise = sum(p[y] * np.outer(q - one_hot[y], q - one_hot[y]) for y in range(len(p))) - np.outer(q - p, q - p)
        np.testing.assert_allclose(noise, np.diag(p) - np.outer(p, p), **EXACT)
        np.testing.assert_allclose(noise.sum(axis=1), 0, **EXACT)
        assert np.linalg.eigvalsh(noise).min() > -1e-10
        assert math.isclose(np.trace(noise), 1 - p @ p, abs_tol=1e-10)
        assert (np.abs(noise).max() < 1e-10) == (p.max() > 1 - 1e-10)


@given(pairs())
def test_4_vote_level_brier_is_soft_brier_plus_vote_variance(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = pair
    one_hot = np.eye(p.shape[1])
    of_votes = sum(p[:, y] * ((q - one_hot[y]) ** 2).sum(axis=1) for y in range(p.shape[1]))
    np.testing.assert_allclose(of_votes, metrics.soft_brier_per_item(p, q) + 1 - (p**2).sum(axis=1), **EXACT)


@given(votes(), st.integers(0, 50))
def test_6_a_multipass_cycle_delivers_every_vote_once(table: Votes, seed: int) -> None:
    delivery = Multipass(table, seed=seed)
    for item, row in enumerate(table.counts):
        m = int(row.sum())
        for start in (0, m, 7 * m):
            cycle = [int(delivery.labels(start + step, [item])[0]) for step in range(m)]
            np.testing.assert_array_equal(np.bincount(cycle, minlength=table.n_classes), row)
        mean = np.mean([delivery.targets(step, [item])[0] for step in range(m)], axis=0)
        np.testing.assert_allclose(mean, table.probs[item], atol=1e-6)


@given(votes(max_items=4), st.integers(0, 50), st.integers(1, 40))
def test_6_multipass_counts_stay_within_one_cycle_of_the_votes(table: Votes, seed: int, epochs: int) -> None:
    delivery = Multipass(table, seed=seed)
    labels = np.stack([delivery.labels(epoch) for epoch in range(epochs)])
    for item, row in enumerate(table.counts):
        delivered, m = np.bincount(labels[:, item], minlength=table.n_classes), int(row.sum())
        assert (delivered >= epochs // m * row).all()
        assert (delivered <= -(-epochs // m) * row).all()


def test_6_fifty_votes_in_two_hundred_epochs_are_four_cycles() -> None:
    table = Votes.from_counts(np.random.default_rng(0).multinomial(50, [0.7, 0.2, 0.1], size=20))
    labels = np.stack([Multipass(table, seed=3).labels(epoch) for epoch in range(200)])
    delivered = np.stack([np.bincount(column, minlength=3) for column in labels.T])
    np.testing.assert_array_equal(delivered, 4 * table.counts)


@given(votes(max_items=4), st.integers(0, 50))
def test_7_the_control_delivers_the_same_votes(table: Votes, seed: int) -> None:
    ours, control, again = (
        Multipass(table, seed=seed),
        deterministic_control(table, seed=seed),
        Multipass(table, seed=seed),
    )
    for item, row in enumerate(table.counts):
        epochs = range(int(row.sum()))
        assert sorted(ours.labels(e, [item])[0] for e in epochs) == sorted(control.labels(e, [item])[0] for e in epochs)
    np.testing.assert_array_equal(ours.labels(5), again.labels(5))


def test_7_the_control_has_another_order() -> None:
    table = Votes.from_counts(np.full((50, 4), 5))
    differ = [
        np.mean(Multipass(table, seed=0).labels(e) != deterministic_control(table, seed=0).labels(e)) for e in range(20)
    ]
    assert 0.6 < np.mean(differ) < 0.9  # two independent uniform labels of four classes differ three times in four


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), min_size=1, max_size=10),
    st.integers(0, 9),
    st.integers(0, 99),
)
def test_7_on_unanimous_items_all_deliveries_agree(rows: list[tuple[int, int]], seed: int, epoch: int) -> None:
    table = np.zeros((len(rows), 4), dtype=np.int64)
    for index, (label, size) in enumerate(rows):
        table[index, label] = size
    people = Votes.from_counts(table)
    expected = Soft(people).targets(epoch)
    for delivery in (Majority(people), Multipass(people, seed=seed), SLS(people, seed=seed)):
        np.testing.assert_array_equal(delivery.targets(epoch), expected)


@given(st.integers(0, 1000))
def test_8_sls_frequencies_have_the_variance_of_the_votes(seed: int) -> None:
    probs = np.random.default_rng(seed).dirichlet(np.ones(4), size=400)
    epochs = 60
    delivery = SLS(Votes.from_probabilities(probs), seed=seed)
    labels = np.stack([delivery.labels(epoch) for epoch in range(epochs)])
    freq = np.stack([(labels == k).mean(axis=0) for k in range(4)], axis=1)
    ratio = ((freq - probs) ** 2).sum(axis=1).mean() * epochs / (1 - (probs**2).sum(axis=1)).mean()
    # A mean over 400 items, each with about three degrees of freedom: SD about sqrt(2 / (3 * 400)) = 0.04; 5 SD.
    assert abs(ratio - 1) < 0.21


@given(votes(), st.integers(0, 20), st.integers(1, 9), st.integers(0, 60))
def test_8_held_draws_change_only_between_periods(table: Votes, seed: int, hold: int, epoch: int) -> None:
    held, free = SLS(table, seed=seed, hold=hold), SLS(table, seed=seed)
    np.testing.assert_array_equal(held.labels(epoch), held.labels(epoch // hold * hold))
    np.testing.assert_array_equal(held.labels(epoch), free.labels(epoch // hold))


@given(pairs())
def test_9_cross_entropy_is_divergence_plus_entropy(pair: tuple[np.ndarray, np.ndarray]) -> None:
    p, q = pair[0], floored(pair[1])
    divergence = metrics.kl_per_item(p, q)
    np.testing.assert_allclose(metrics.soft_nll_per_item(p, q), divergence + metrics.entropy_per_item(p), **EXACT)
    assert (divergence >= 0).all()
    np.testing.assert_allclose(metrics.kl_per_item(p, p), 0, atol=1e-12)
    assert (metrics.manhattan_per_item(p, q) ** 2 <= 2 * divergence + 1e-9).all()  # Pinsker


@given(pairs(), distributions(min_items=1, max_items=1))
def test_10_jensen_shannon_is_a_bounded_symmetric_metric(
    pair: tuple[np.ndarray, np.ndarray], third: np.ndarray
) -> None:
    p, q = pair
    divergence = metrics.jsd_per_item(p, q)
    np.testing.assert_allclose(divergence, metrics.jsd_per_item(q, p), **EXACT)
    assert (divergence <= math.log(2) + 1e-12).all()
    assert (divergence <= metrics.manhattan_per_item(p, q) / 2 * math.log(2) + 1e-9).all()
    np.testing.assert_allclose(metrics.jsd_per_item(p, p), 0, atol=1e-12)
    if third.shape[1] == p.shape[1]:
        r = np.repeat(third, len(p), axis=0)
        over = np.sqrt(metrics.jsd_per_item(p, r)) + np.sqrt(metrics.jsd_per_item(r, q))
        assert (np.sqrt(divergence) <= over + 1e-7).all()


@given(votes(), st.integers(1, 12), st.integers(0, 99), st.booleans())
def test_10_subsamples_have_their_size_and_no_impossible_votes(table: Votes, k: int, seed: int, replace: bool) -> None:
    drawn = table.subsample(k, seed=seed, replace=replace)
    wanted = np.full(table.n_items, k) if replace else np.minimum(k, table.counts.sum(axis=1))
    np.testing.assert_array_equal(drawn.counts.sum(axis=1), wanted)
    assert (drawn.counts[table.counts == 0] == 0).all()
    if not replace:
        assert (drawn.counts <= table.counts).all()


def test_10_redraws_have_the_multinomial_variance_and_too_little_entropy() -> None:
    rng = np.random.default_rng(1)
    people = Votes.from_probabilities(rng.dirichlet(np.ones(5), size=4000))
    for k in (1, 5, 20):
        drawn = people.subsample(k, seed=k)
        ratio = ((drawn.probs - people.probs) ** 2).sum(axis=1).mean() * k / (1 - (people.probs**2).sum(axis=1)).mean()
        assert abs(ratio - 1) < 0.06  # SD about 0.012
        assert metrics.entropy_per_item(drawn.probs).mean() < metrics.entropy_per_item(people.probs).mean()


@given(pairs(max_items=40), st.integers(1, 20))
def test_11_the_parts_make_up_the_brier_score(pair: tuple[np.ndarray, np.ndarray], bins: int) -> None:
    p, q = pair
    parts = metrics.brier_parts(p, q, bins=bins)
    assert math.isclose(parts.total, metrics.soft_brier(p, q), abs_tol=1e-10)
    assert min(parts.reliability, parts.resolution, parts.uncertainty, parts.spread) >= 0
    assert parts.resolution <= parts.uncertainty + 1e-12


@given(st.integers(0, 1000))
def test_11_three_parts_are_enough_where_groups_are_constant(seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = rng.dirichlet(np.ones(4), size=3)
    q = levels[rng.integers(0, 3, size=90)]
    p = rng.dirichlet(np.ones(4), size=90)
    parts = metrics.brier_parts(p, q, bins=90)
    assert math.isclose(
        parts.reliability - parts.resolution + parts.uncertainty, metrics.soft_brier(p, q), abs_tol=1e-10
    )


@given(labelled(), st.integers(1, 20), st.randoms())
def test_12_equal_mass_ece(case: tuple[np.ndarray, np.ndarray], bins: int, random) -> None:  # type: ignore[no-untyped-def]
    y, q = case
    error = metrics.ece(y, q, bins=bins)
    confidence, correct = q.max(axis=1), (q.argmax(axis=1) == y).astype(float)
    assert error <= np.abs(confidence - correct).mean() + 1e-12
    assert error >= abs(confidence.mean() - correct.mean()) - 1e-12
    assert math.isclose(metrics.ece(y, q, bins=1), abs(confidence.mean() - correct.mean()), abs_tol=1e-12)
    order = list(range(len(y)))
    random.shuffle(order)
    assert math.isclose(metrics.ece(y[order], q[order], bins=bins), error, abs_tol=1e-12)


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 20))
def test_12_constant_confidence_that_is_earned_has_no_error(right: int, wrong: int, bins: int) -> None:
    share = max(right, wrong) / (right + wrong)
    q = np.tile([share, 1 - share], (right + wrong, 1))
    y = np.array([0] * max(right, wrong) + [1] * min(right, wrong))
    assert metrics.ece(y, q, bins=bins) < 1e-12


@given(pairs(min_items=3, min_classes=2), st.floats(0.1, 5))
def test_13_entropy_correlation_sees_ranks_only(pair: tuple[np.ndarray, np.ndarray], power: float) -> None:
    p, q = pair
    people, model = metrics.entropy_per_item(p), metrics.entropy_per_item(q).round(9)
    value = metrics.spearman(people, model)
    again = metrics.spearman(people / math.log(2), np.exp(power * model))
    assert (math.isnan(value) and math.isnan(again)) or math.isclose(value, again, abs_tol=1e-12)


def test_19_the_grid_of_exact_p_values() -> None:
    rng = np.random.default_rng(0)
    for n in (5, 10):
        for _ in range(50):
            d = rng.normal(size=n)
            less, greater = wilcoxon(d, alternative="less").p_value, wilcoxon(d, alternative="greater").p_value
            assert (less * 2**n).is_integer()
            at_least_once = less + greater - 1
            assert at_least_once > 0
            assert (at_least_once * 2**n).is_integer()
    assert wilcoxon([-1, -2, -3, -4, -5], alternative="less").p_value == 1 / 32
    assert wilcoxon([-1, -2, -3, -4, -5]).p_value == 1 / 16
    np.testing.assert_allclose(holm([1 / 32] * 12), 0.375)


def test_19_published_p_values_belong_to_their_rank_sums() -> None:
    """arXiv 2605.20642: two-sided n = 10 values of Table 2, one-sided ones of Tables 1 and 8."""

    def of_rank_sum(n: int, w: int, alternative: str) -> float:
        signs = np.full(n, -1)
        for rank in range(n, 0, -1):  # the largest ranks that still fit make up w
            if rank <= w:
                signs[rank - 1], w = 1, w - rank
        return wilcoxon(signs * np.arange(1, n + 1), alternative=alternative).p_value

    for w, p in ((23, 0.6953), (22, 0.6250), (26, 0.9219), (18, 0.3750)):
        assert round(of_rank_sum(10, w, "two-sided"), 4) == p
    for w, p in ((7, 0.0186), (13, 0.0801), (12, 0.0654), (22, 0.3125)):
        assert round(of_rank_sum(10, w, "less"), 4) == p
    for w, p in ((0, 0.03125), (1, 0.0625), (2, 0.09375)):
        assert of_rank_sum(5, w, "less") == p
    assert (of_rank_sum(5, 4, "two-sided"), of_rank_sum(5, 5, "two-sided")) == (0.4375, 0.625)


@given(votes(), st.floats(0, 1), st.integers(0, 9))
def test_21_label_smoothing_mixes_hard_and_uniform_losses(table: Votes, epsilon: float, epoch: int) -> None:
    hard = Majority(table).targets(epoch).astype(np.float64)
    smooth = LabelSmoothing(table, epsilon=epsilon).targets(epoch).astype(np.float64)
    log_q = np.log(floored(np.random.default_rng(0).dirichlet(np.ones(table.n_classes), size=table.n_items)))
    uniform = np.full_like(hard, 1 / table.n_classes)
    loss = {name: -(target * log_q).sum(axis=1) for name, target in (("s", smooth), ("h", hard), ("u", uniform))}
    np.testing.assert_allclose(loss["s"], (1 - epsilon) * loss["h"] + epsilon * loss["u"], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(LabelSmoothing(table, epsilon=0).targets(epoch), Majority(table).targets(epoch))


@given(st.integers(1, 16), st.integers(0, 99), st.floats(0.05, 5))
def test_21_mixup_is_linear(size: int, seed: int, alpha: float) -> None:
    rng = np.random.default_rng(seed)
    mix = Mixup(alpha=alpha, seed=seed).plan(epoch=1, step=2, size=size)
    assert 0 <= mix.weight <= 1
    assert sorted(mix.partner.tolist()) == list(range(size))
    targets, log_q = rng.dirichlet(np.ones(3), size=size), np.log(rng.dirichlet(np.ones(3), size=size))
    mixed = -(mix(targets) * log_q).sum(axis=1)
    apart = mix.weight * -(targets * log_q).sum(axis=1) + (1 - mix.weight) * -(targets[mix.partner] * log_q).sum(axis=1)
    np.testing.assert_allclose(mixed, apart, **EXACT)
    np.testing.assert_allclose(type(mix)(1.0, mix.partner)(targets), targets)
    np.testing.assert_allclose(mix(torch.tensor(targets)).numpy(), mix(targets))


@given(counts(min_items=2))
def test_22_shuffled_sls_permutes_rows(table: np.ndarray) -> None:
    people = Votes.from_counts(table)
    permuted = shuffled_sls(people, seed=0)
    rows = np.diff(permuted._cdf.T, axis=1, prepend=0)
    np.testing.assert_allclose(np.sort(rows.round(9), axis=0), np.sort(people.probs.round(9), axis=0), atol=2e-9)
    np.testing.assert_array_equal(people.probs, Votes.from_counts(table).probs)


def test_22_shuffled_sls_moves_nearly_all_and_ignores_row_order() -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(10), size=1000)
    people = Votes.from_probabilities(probs)
    rows = np.diff(shuffled_sls(people, seed=0)._cdf.T, axis=1, prepend=0)
    assert (
        np.abs(rows - probs).max(axis=1) < 1e-9
    ).sum() < 8  # a random permutation leaves one item in place on average
    order = np.random.default_rng(1).permutation(1000)
    again = shuffled_sls(people.take(order), seed=0)
    np.testing.assert_array_equal(again.labels(3), shuffled_sls(people, seed=0).labels(3)[order])
