"""The training loop: the same page for every delivery."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from votewise import SLS, Delivery, InputError, Majority, Multipass, Soft, Votes, metrics
from votewise.models import NgramNet, hash_ngrams
from votewise.training import TrainConfig, build_model, predict_probs, soft_cross_entropy, train_classifier

CONFIG = TrainConfig(epochs=6, batch_size=16)


def words(n: int, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(hash_ngrams(["".join(rng.choice(list("abcdef"), size=6)) for _ in range(n)], buckets=256))


def train(inputs: torch.Tensor, delivery: Delivery, seed: int = 0) -> tuple[nn.Module, list[np.ndarray]]:
    history: list[np.ndarray] = []
    model = build_model(lambda: NgramNet(len(delivery.classes), buckets=256, width=16), seed=seed)
    train_classifier(
        model, inputs, delivery, CONFIG, seed=seed, on_epoch=lambda _, m: history.append(predict_probs(m, inputs))
    )
    return model, history


def weights(model: nn.Module) -> list[bytes]:
    return [parameter.detach().numpy().tobytes() for parameter in model.parameters()]


def test_on_unanimous_votes_all_deliveries_give_one_run_bit_for_bit() -> None:
    rng = np.random.default_rng(0)
    counts = np.zeros((100, 4), dtype=np.int64)
    counts[np.arange(100), rng.integers(0, 4, size=100)] = rng.integers(1, 9, size=100)
    people, inputs = Votes.from_counts(counts), words(100)
    runs = [
        train(inputs, delivery)
        for delivery in (Soft(people), SLS(people, seed=0), Multipass(people, seed=0), Majority(people))
    ]
    for model, history in runs[1:]:
        assert weights(model) == weights(runs[0][0])
        assert all(np.array_equal(a, b) for a, b in zip(history, runs[0][1], strict=True))


def test_on_disputed_votes_the_runs_differ_and_share_their_start() -> None:
    counts = np.random.default_rng(1).multinomial(6, [0.4, 0.3, 0.2, 0.1], size=100)
    people, inputs = Votes.from_counts(counts), words(100)
    models = [
        train(inputs, make)[0]
        for make in (Soft(people), SLS(people, seed=0), Multipass(people, seed=0), Majority(people))
    ]
    assert len({weights(model)[0] for model in models}) == 4
    first, second = (build_model(lambda: NgramNet(4), seed=5) for _ in range(2))
    assert weights(first) == weights(second)


def test_the_same_seed_is_the_same_run_and_leaves_torch_alone() -> None:
    people, inputs = Votes.from_counts(np.random.default_rng(2).multinomial(5, [0.5, 0.3, 0.2], size=64)), words(64)
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    one = weights(train(inputs, SLS(people, seed=0))[0])
    assert torch.equal(before, torch.random.get_rng_state())
    torch.manual_seed(2)
    assert weights(train(inputs, SLS(people, seed=0))[0]) == one
    assert weights(train(inputs, SLS(people, seed=0), seed=1)[0]) != one


@pytest.mark.parametrize("make", [lambda v: Soft(v), lambda v: SLS(v, seed=0), lambda v: Multipass(v, seed=0)])
def test_training_learns_the_votes(make: Callable[[Votes], Delivery]) -> None:
    """Items of four kinds, each with its own distribution: the model must come near all four."""
    kinds = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.05, 0.05, 0.9]])
    kind = np.arange(400) % 4
    counts = np.array([np.random.default_rng(i).multinomial(20, kinds[k]) for i, k in enumerate(kind)])
    inputs = torch.nn.functional.one_hot(torch.from_numpy(kind), 4).float()
    model = build_model(lambda: nn.Linear(4, 3), seed=0)
    train_classifier(
        model, inputs, make(Votes.from_counts(counts)), TrainConfig(epochs=30, batch_size=50, learning_rate=0.1), seed=0
    )
    assert metrics.manhattan(kinds[kind], predict_probs(model, inputs)) < 0.12


def test_the_loss_is_torch_cross_entropy() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(50, 7, generator=generator, dtype=torch.float64)
    targets = torch.softmax(torch.randn(50, 7, generator=generator, dtype=torch.float64), dim=1)
    expected = nn.functional.cross_entropy(logits, targets, reduction="none")
    torch.testing.assert_close(soft_cross_entropy(logits, targets), expected)


def test_predictions_are_distributions_in_eval_mode() -> None:
    model = build_model(lambda: NgramNet(3, buckets=256, dropout=0.9), seed=0)
    first, second = predict_probs(model, words(50)), predict_probs(model, words(50), batch_size=7)
    np.testing.assert_allclose(first, second, atol=1e-6)
    np.testing.assert_allclose(first.sum(axis=1), 1, atol=1e-12)


def test_ngrams_know_the_ends_of_a_word() -> None:
    table = hash_ngrams(["ab", "ba", ""], sizes=(2,))
    assert table.shape == (3, 3)
    assert set(table[0]) != set(table[1])
    assert (table[2, 1:] == 0).all()
    assert (hash_ngrams(["x" * 1000], most=10) > 0).sum() == 10


@pytest.mark.parametrize("keywords", [{"epochs": 0}, {"batch_size": 0}, {"learning_rate": 0.0}, {"weight_decay": -1.0}])
def test_wrong_recipes(keywords: dict[str, float]) -> None:
    with pytest.raises(InputError):
        TrainConfig(**keywords)  # type: ignore[arg-type]
