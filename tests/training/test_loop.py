"""The training loop: the same page for every delivery."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from small_runs import IMAGES, disputed_votes, features, images
from votewise import SLS, Delivery, InputError, LabelSmoothing, Majority, Multipass, Soft, Votes, metrics
from votewise._errors import DivergedError
from votewise.models import NgramNet, hash_ngrams
from votewise.models.resnet import ResNet18
from votewise.training import TrainConfig, build_model, predict_probs, soft_cross_entropy, train_classifier
from votewise.training.loop import make_optimizer

CONFIG = TrainConfig(epochs=6, batch_size=16)


def words(n: int, seed: int = 0) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(hash_ngrams(["".join(rng.choice(list("abcdef"), size=6)) for _ in range(n)], buckets=256))


def train(inputs: torch.Tensor, delivery: Delivery, seed: int = 0) -> tuple[nn.Module, list[np.ndarray]]:
    history: list[np.ndarray] = []
    model = build_model(lambda: NgramNet(len(delivery.classes), buckets=256, width=16), seed=seed)
    train_classifier(
        model, inputs, delivery, CONFIG, seed=seed, on_epoch=lambda *_: history.append(predict_probs(model, inputs))
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


class Watcher(nn.Module):
    """Keeps every batch it is shown in training."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(16 * 16 * 3, 4))
        self.seen: list[bytes] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.training:
            self.seen += [x.numpy().tobytes(), self.net[1](x.flatten(1)).numpy().tobytes()]
        return self.net(x)


@pytest.mark.parametrize("mixup", [0.0, 1.0])
def test_two_methods_of_a_seed_see_the_same_batches_and_dropout(mixup: float) -> None:
    """Only the labels differ: items, order, crops, mirrors, mixes and dropped units are the same bits."""
    people, recipe = disputed_votes(), replace(IMAGES, mixup=mixup)
    seen = []
    for delivery in (Soft(people), SLS(people, seed=0), LabelSmoothing(people)):
        model = build_model(Watcher, seed=0)
        train_classifier(model, images(), delivery, recipe, seed=0)
        seen.append(model.seen)
    assert seen[0] == seen[1] == seen[2]
    assert len(set(seen[0])) == 2 * 3 * 5  # no batch twice: 3 epochs of 5
    other = build_model(Watcher, seed=0)
    train_classifier(other, images(), Soft(people), recipe, seed=1)
    assert not set(other.seen) & set(seen[0])


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("decayed", ["all", "weights"])
def test_what_decays(optimizer: str, decayed: str) -> None:
    """One step without any gradient: what decays shrinks by learning rate times decay, the rest stays."""
    recipe = TrainConfig(optimizer=optimizer, learning_rate=0.5, weight_decay=0.1, decayed=decayed)
    model = build_model(lambda: ResNet18(4, width=4), seed=0)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    make_optimizer(model, recipe, recipe.learning_rate).step()
    for name, value in model.named_parameters():
        spared = decayed == "weights" and value.ndim < 2
        torch.testing.assert_close(value.detach(), before[name] * (1.0 if spared else 0.95), rtol=1e-6, atol=0)
    assert sum(value.ndim < 2 for value in before.values()) == 20 * 2 + 1  # scales and shifts of 20 norms, one bias


def test_parameters_that_are_frozen_stay() -> None:
    model = build_model(lambda: nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 4)), seed=0)
    model[0].requires_grad_(requires_grad=False)
    first, second = model[0].weight.clone(), model[1].weight.clone()
    train_classifier(model, features(), Soft(disputed_votes()), TrainConfig(epochs=1), seed=0)
    assert torch.equal(model[0].weight, first)
    assert not torch.equal(model[1].weight, second)


def test_the_loss_told_is_the_mean_over_items() -> None:
    """With a learning rate of nearly nothing the epoch's loss is the loss of the start, whatever the batches."""
    told: list[tuple[int, float]] = []
    people, model = disputed_votes(), build_model(lambda: nn.Linear(6, 4), seed=0)
    with torch.no_grad():
        expected = soft_cross_entropy(model(features()), torch.tensor(people.probs).float()).mean().item()
    recipe = TrainConfig(epochs=2, batch_size=32, learning_rate=1e-12, optimizer="sgd")  # 70 items: 32, 32, 6
    train_classifier(model, features(), Soft(people), recipe, seed=0, on_epoch=lambda *one: told.append(one))
    assert [epoch for epoch, _ in told] == [0, 1]
    assert [loss for _, loss in told] == pytest.approx([expected] * 2, rel=1e-6)


def test_inputs_of_other_items() -> None:
    with pytest.raises(InputError) as error:
        train_classifier(nn.Linear(6, 4), features(69), Soft(disputed_votes()), TrainConfig(), seed=0)
    assert str(error.value) == (
        "inputs must have one row for each item of the delivery, but got 69 rows and 70 items. Take the same items of both."
    )


def test_a_loss_that_is_no_number_names_its_epoch() -> None:
    broken = features()
    broken[3, 2] = np.inf
    with pytest.raises(DivergedError) as error:
        train_classifier(nn.Linear(6, 4), broken, Soft(disputed_votes()), TrainConfig(), seed=0)
    assert error.value.epoch == 0
    assert str(error.value) == (
        "the training loss became NaN or infinite in epoch 1. Lower the learning rate, or check the inputs."
    )


def refusal(model: nn.Module, inputs: Any = None, delivery: Any = None, config: TrainConfig = CONFIG) -> str:
    given = features() if inputs is None else inputs
    with pytest.raises(InputError) as error:
        train_classifier(model, given, Soft(disputed_votes()) if delivery is None else delivery, config, seed=0)
    return str(error.value)


class Pair(nn.Linear):
    """Gives two things instead of logits."""

    def forward(self, x: torch.Tensor) -> Any:
        return super().forward(x), x


def test_logits_of_another_shape_are_refused() -> None:
    """One output for four classes would broadcast, and train at a loss of 0."""
    must, remedy = (
        "the model must give logits of shape (16, 4), but got",
        "Give its last layer one output for each of the 4 classes.",
    )
    assert refusal(nn.Linear(6, 1)) == f"{must} (16, 1). {remedy}"
    assert refusal(nn.Linear(6, 5)) == f"{must} (16, 5). {remedy}"
    assert refusal(nn.Sequential(nn.Linear(6, 4), nn.Flatten(0))) == f"{must} (64,). {remedy}"
    assert refusal(Pair(6, 4)) == f"{must} tuple. {remedy}"


def test_models_without_parameters_to_train() -> None:
    must = "the model must have parameters to train, but"
    assert refusal(nn.Flatten()) == f"{must} it has none. Pass a network."
    frozen = nn.Linear(6, 4).requires_grad_(requires_grad=False)
    assert refusal(frozen) == f"{must} all of them are frozen. Call requires_grad_() on those to train."
    function: Any = torch.relu
    assert refusal(function) == "the model must be Module, but got builtin_function_or_method. Pass a torch.nn.Module."


def test_inputs_and_labels_of_other_types() -> None:
    model = nn.Linear(6, 4)
    assert refusal(model, features().numpy()) == (
        "inputs must be Tensor, but got ndarray. Pass torch.from_numpy(inputs)."
    )
    assert refusal(model, delivery=disputed_votes()) == (
        "the delivery must be Delivery, but got Votes. Deliver votes with votewise.Soft(votes) or another delivery."
    )
    assert re.fullmatch(
        r"inputs must be of the type of the model's weights, but they are float64 \(.*\)\. Pass inputs\.float\(\)\.",
        refusal(model, features().double()),
    )

    class Casting(nn.Linear):
        def forward(self, values: torch.Tensor) -> torch.Tensor:
            return super().forward(values.float())

    train_classifier(Casting(6, 4), features().double(), Soft(disputed_votes()), TrainConfig(epochs=1), seed=0)
    train_classifier(
        nn.Linear(6, 4).double(), features().double(), Soft(disputed_votes()), TrainConfig(epochs=1), seed=0
    )


def test_a_last_batch_of_one_item_that_a_batch_norm_cannot_take() -> None:
    def model() -> nn.Module:
        return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))

    message = refusal(model(), config=TrainConfig(epochs=1, batch_size=23))  # 70 items: 23, 23, 23, 1
    assert message.startswith(
        "the model must take a batch of one item, which is what remains for the last batch of an epoch, but it refused it "
        "(Expected more than 1 value per channel when training"
    )
    assert message.endswith("Choose a batch_size that leaves no single item over, or train on one item fewer.")
    train_classifier(model(), features(), Soft(disputed_votes()), TrainConfig(epochs=1, batch_size=24), seed=0)
