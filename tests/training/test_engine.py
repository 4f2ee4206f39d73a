"""The engine without a GPU: its lanes call the steps that a GPU would replay, and give what the plain loop gives."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from small_runs import IMAGES, disputed_votes, features, images, make_job, unanimous_votes, unequal_parts
from votewise import SLS, Delivery, InputError, LabelSmoothing, Majority, Multipass, Soft, Votes, metrics
from votewise._errors import DivergedError
from votewise.experiments.run import softmax
from votewise.models import MLP, SmallCNN
from votewise.models.resnet import ResNet18
from votewise.training import Job, TrainConfig, Trained, engine, train_job, train_jobs

FEATURES = TrainConfig(epochs=3, batch_size=16, optimizer="sgd", learning_rate=0.05)  # 50 items: 16, 16, 16, 2

Deliver = Callable[[Votes, int], Delivery]
DELIVERIES: dict[str, Deliver] = {
    "soft": lambda votes, _: Soft(votes),
    "sls": lambda votes, seed: SLS(votes, seed=seed),
    "multipass": lambda votes, seed: Multipass(votes, seed=seed),
    "majority": lambda votes, _: Majority(votes),
}


def mlp() -> nn.Module:
    return MLP(4, inputs=6, dropout=0.0)


def outcomes(make: Any, inputs: torch.Tensor, jobs: list[Job], config: TrainConfig, **options: Any) -> list[Any]:
    """What the engine gives, in the order of the jobs."""
    found = {place: outcome for place, outcome, _, _ in train_jobs(make, inputs, jobs, config, device="cpu", **options)}
    assert sorted(found) == list(range(len(jobs)))
    return [found[place] for place in range(len(jobs))]


def assert_as_the_plain_loop(make: Any, inputs: torch.Tensor, jobs: list[Job], config: TrainConfig, **options: Any) -> None:  # fmt: skip
    for job, found in zip(jobs, outcomes(make, inputs, jobs, config, **options), strict=True):
        assert unequal_parts(train_job(make, inputs, job, config), found) == []


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("mixup", [0.0, 1.0])
@pytest.mark.parametrize("method", ["soft", "sls", "multipass"])
def test_lanes_train_as_the_plain_loop_does(method: str, mixup: float, optimizer: str) -> None:
    """Five runs through two lanes, so that lanes are used again, the last batch of an epoch smaller than the others."""
    config = replace(FEATURES, optimizer=optimizer, mixup=mixup, learning_rate=0.05 if optimizer == "sgd" else 1e-2)
    jobs = [make_job(seed, DELIVERIES[method]) for seed in range(5)]
    assert_as_the_plain_loop(mlp, features(), jobs, config, at_once=2)


@pytest.mark.parametrize(
    "changes",
    [
        {"batch_size": 25},
        {"batch_size": 7, "schedule": "step"},
        {"batch_size": 500},
        {"decayed": "weights", "weight_decay": 0.1},
        {"nesterov": True},
        {"epochs": 1},
        {"precision": "bf16"},
        {"momentum": 0.0},
    ],
)
def test_recipes_of_every_kind(changes: dict[str, Any]) -> None:
    jobs = [make_job(seed, DELIVERIES["sls"], selection=8) for seed in range(3)]
    assert_as_the_plain_loop(mlp, features(), jobs, replace(FEATURES, **changes), at_once=2)


@pytest.mark.parametrize("make", [lambda: SmallCNN(4), lambda: ResNet18(4, width=8)], ids=["small-cnn", "resnet18"])
@pytest.mark.parametrize("mixup", [0.0, 0.4])
def test_images_cropped_and_mirrored(make: Callable[[], nn.Module], mixup: float) -> None:
    """Also with batch norms, whose running statistics must be reset when a lane is used again."""
    jobs = [make_job(seed, DELIVERIES["sls"], selection=8) for seed in range(3)]
    assert_as_the_plain_loop(make, images(), jobs, replace(IMAGES, mixup=mixup, epochs=2), at_once=2)


def test_methods_together_in_one_call() -> None:
    jobs = [make_job(1, deliver) for deliver in DELIVERIES.values()]
    assert_as_the_plain_loop(mlp, features(), jobs, FEATURES, at_once=3)


@pytest.mark.parametrize("engine_too", [False, True])
def test_on_unanimous_votes_all_methods_give_one_run_bit_for_bit(engine_too: bool) -> None:
    jobs = [make_job(2, deliver, votes=unanimous_votes()) for deliver in DELIVERIES.values()]
    config = replace(IMAGES, epochs=2)

    def make() -> nn.Module:
        return SmallCNN(4)

    if engine_too:
        runs = outcomes(make, images(), jobs, config, at_once=3)
    else:
        runs = [train_job(make, images(), job, config) for job in jobs]
    for run in runs[1:]:
        assert unequal_parts(runs[0], run) == []


def test_on_disputed_votes_methods_share_nothing_but_their_start() -> None:
    runs = [train_job(mlp, features(), make_job(2, deliver), FEATURES) for deliver in DELIVERIES.values()]
    assert len({run.last_logits.tobytes() for run in runs}) == 4


def selection_curve(job: Job, run: Trained) -> np.ndarray:
    n = len(job.selection)
    return np.array([metrics.soft_nll(job.selection, softmax(logits[:n])) for logits in run.logits])


@pytest.mark.parametrize("plain", [True, False])
def test_the_best_epoch_is_that_of_the_lowest_selection_nll(plain: bool) -> None:
    config = replace(FEATURES, epochs=8, learning_rate=0.5)
    jobs = [make_job(seed, selection=selection) for seed in range(4) for selection in (6, 20)]
    best = set()
    for job in jobs:
        run = train_job(mlp, features(), job, config) if plain else outcomes(mlp, features(), [job], config)[0]
        curve = selection_curve(job, run)
        assert run.best_epoch == curve.argmin()
        np.testing.assert_array_equal(run.best_logits, run.logits[run.best_epoch])
        np.testing.assert_array_equal(run.last_logits, run.logits[-1])
        best.add(run.best_epoch)
    assert len(best) > 2  # overfitting: not always the last


class Unmoved(nn.Module):
    """Says the same of everything, and learns something else."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(x), 4) + (self.weight - self.weight.detach())


def test_of_equal_epochs_the_first_is_the_best() -> None:
    config = replace(FEATURES, epochs=3, learning_rate=0.5)
    for run in (
        train_job(Unmoved, features(), make_job(0), config),
        outcomes(Unmoved, features(), [make_job(0)], config)[0],
    ):
        assert run.best_epoch == 0
        assert not torch.equal(run.best["weight"], run.last["weight"])


def test_bf16_on_a_cpu_trains_to_about_the_same_loss() -> None:
    def make() -> nn.Module:
        return SmallCNN(4)

    config = replace(IMAGES, epochs=4, learning_rate=0.01)
    exact, rounded = (train_job(make, images(), make_job(0), replace(config, precision=p)) for p in ("fp32", "bf16"))
    assert 0 < np.abs(exact.losses - rounded.losses).max() < 0.02
    assert exact.losses[-1] < exact.losses[0]
    assert {value.dtype for value in rounded.last.values()} == {torch.float32}


class FromEpoch(Soft):
    """Soft labels that are no numbers from some epoch on."""

    def __init__(self, votes: Votes, first: int) -> None:
        super().__init__(votes)
        self.first = first

    def targets(self, epoch: int, items: Any = None) -> Any:
        return super().targets(epoch, items) * (np.float32(np.nan) if epoch >= self.first else np.float32(1))


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_a_run_that_diverges_leaves_the_others_alone(first: int, at_once: int) -> None:
    config = replace(FEATURES, epochs=4)
    sound = [make_job(seed) for seed in range(3)]
    jobs = [sound[0], make_job(9, lambda votes, _: FromEpoch(votes, first)), *sound[1:]]
    found = outcomes(mlp, features(), jobs, config, at_once=at_once)
    failed = found.pop(1)
    assert isinstance(failed, DivergedError)
    assert failed.epoch == first
    for job, run in zip(sound, found, strict=True):
        assert unequal_parts(train_job(mlp, features(), job, config), run) == []


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["train", "held_out"])
def test_inputs_that_are_no_numbers(value: float, where: str) -> None:
    """Also among the rows that choose the epoch: without a choice there is no run."""
    votes, inputs = disputed_votes(140), features(140)
    jobs = [_job_on(np.arange(first, first + 70), votes) for first in (0, 70)]
    inputs[getattr(jobs[0], where)[0], 1] = value

    def make() -> nn.Module:
        return nn.Linear(6, 4)

    bad, good = outcomes(make, inputs, jobs, FEATURES)
    assert isinstance(bad, DivergedError)
    assert bad.epoch == 0
    assert unequal_parts(train_job(make, features(140), jobs[1], FEATURES), good) == []
    with pytest.raises(DivergedError, match="epoch 1"):
        train_job(make, inputs, jobs[0], FEATURES)


def _job_on(rows: np.ndarray, votes: Votes) -> Job:
    return Job(0, rows[:50], Soft(votes.take(rows[:50])), rows[50:], votes.probs[rows[50:]])


@pytest.mark.parametrize("learning_rate", [1e30, 1e5, 1e3])
@pytest.mark.parametrize("batch_size", [16, 50])
def test_learning_rates_that_are_too_high_end_as_in_the_plain_loop(learning_rate: float, batch_size: int) -> None:
    config = replace(FEATURES, learning_rate=learning_rate, batch_size=batch_size, epochs=5)
    job = make_job(0)
    (found,) = outcomes(mlp, features(), [job], config)
    if isinstance(found, DivergedError):
        with pytest.raises(DivergedError, match=rf"epoch {found.epoch + 1}\."):
            train_job(mlp, features(), job, config)
    else:
        assert learning_rate < 1e30
        assert unequal_parts(train_job(mlp, features(), job, config), found) == []


def test_what_the_caller_is_told() -> None:
    jobs, ends = [make_job(seed) for seed in range(5)], Counter[int]()
    told = list(
        train_jobs(mlp, features(), jobs, FEATURES, device="cpu", at_once=2, on_epoch=lambda p: ends.update([p]))
    )
    assert ends == dict.fromkeys(range(5), 3)
    assert [(place, at_once) for place, _, _, at_once in told] == [(0, 2), (1, 2), (2, 2), (3, 2), (4, 1)]
    assert all(seconds > 0 for _, _, seconds, _ in told)
    assert list(train_jobs(mlp, features(), [], FEATURES, device="cpu")) == []


def test_torch_and_the_inputs_are_left_alone() -> None:
    inputs = images()
    state = torch.random.get_rng_state()
    outcomes(lambda: SmallCNN(4), inputs, [make_job(0)], IMAGES)
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.equal(inputs, images())


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """A device that holds only this many lanes at a time; each is counted until it is freed."""
    real = engine.Lane

    def limit(most: int) -> None:
        alive: weakref.WeakSet[engine.Lane] = weakref.WeakSet()

        def make(*args: Any, **options: Any) -> engine.Lane:
            if len(alive) >= most:
                raise torch.OutOfMemoryError
            lane = real(*args, **options)
            alive.add(lane)
            return lane

        monkeypatch.setattr(engine, "Lane", make)

    return limit


@pytest.mark.parametrize(("fit", "steps"), [(3, [4, 2]), (2, [4, 2]), (1, [4, 2, 1])])
def test_short_of_memory_fewer_go_at_once(little_memory: Callable[[int], None], fit: int, steps: list[int]) -> None:
    jobs, notes = [make_job(seed, DELIVERIES["sls"]) for seed in range(8)], []
    expected = outcomes(mlp, features(), jobs, FEATURES, at_once=4)
    little_memory(fit)
    told = list(train_jobs(mlp, features(), jobs, FEATURES, device="cpu", at_once=4, on_note=notes.append))
    assert notes == [
        f"the GPU has too little memory for {more} runs at once: continuing with {fewer}."
        for more, fewer in pairwise(steps)
    ]
    assert max(at_once for *_, at_once in told) == steps[-1]
    for place, run, _, _ in told:
        assert unequal_parts(expected[place], run) == []


def test_no_memory_for_a_single_run(little_memory: Callable[[int], None]) -> None:
    little_memory(0)
    with pytest.raises(InputError) as error:
        outcomes(mlp, features(), [make_job(0)], FEATURES)
    assert str(error.value) == (
        "the GPU must have enough memory for one run, but it ran out. Free memory on it, or lower the batch size."
    )


def test_runs_that_are_not_alike() -> None:
    jobs = [make_job(0), make_job(1, train=49)]
    with pytest.raises(InputError) as error:
        outcomes(mlp, features(), jobs, FEATURES)
    assert str(error.value) == (
        "runs trained together must have equal numbers of training items, held-out items and classes, but they differ: "
        "[(49, 20, (20, 4), 4), (50, 20, (20, 4), 4)]. Train them in separate calls."
    )


def test_dropout_is_refused() -> None:
    """All lanes would draw from one generator, so a run would depend on those beside it."""
    with pytest.raises(InputError) as error:
        outcomes(lambda: MLP(4, inputs=6), features(), [make_job(0)], FEATURES)
    assert str(error.value) == (
        "the model of runs trained together must have no dropout, but it has, and all runs would draw from the device's "
        "one generator. Train them one by one, with train_job."
    )


def test_label_smoothing_and_one_class_more_in_the_votes() -> None:
    """A class that nobody chose is a class: its column is trained and predicted."""
    counts = np.c_[np.random.default_rng(0).multinomial(5, [0.6, 0.4], size=70), np.zeros((70, 2), dtype=np.int64)]
    job = make_job(0, lambda votes, _: LabelSmoothing(votes), votes=Votes.from_counts(counts))
    assert_as_the_plain_loop(mlp, features(), [job], FEATURES)


def test_logits_of_another_shape_are_refused_by_the_engine() -> None:
    with pytest.raises(InputError, match=r"^the model must give logits of shape \(16, 4\), but got \(16, 1\)"):
        outcomes(lambda: nn.Linear(6, 1), features(), [make_job(0)], FEATURES)


@pytest.mark.parametrize(
    ("make", "inputs", "config"),
    [(mlp, features(), FEATURES), (lambda: SmallCNN(4), images(), IMAGES)],
    ids=["features", "images"],
)
def test_without_held_out_rows_the_last_epoch_is_the_best(
    make: Callable[[], nn.Module], inputs: torch.Tensor, config: TrainConfig
) -> None:
    votes = disputed_votes()
    rows, nothing = np.arange(len(inputs)), np.zeros(0, dtype=np.int64)
    job = Job(3, rows, Soft(votes), nothing, votes.probs[nothing])
    run = train_job(make, inputs, job, config)
    assert run.best_epoch == config.epochs - 1
    assert all(torch.equal(run.best[name], run.last[name]) for name in run.last)
    assert (run.logits.shape, run.last_logits.shape) == ((config.epochs, 0, 4), (0, 4))
    assert run.train_logits.shape == (len(rows), 4)
    (found,) = outcomes(make, inputs, [job], config)
    assert unequal_parts(run, found) == []
    some = train_job(make, inputs, replace(job, held_out=rows[:5], selection=votes.probs[rows[:5]]), config)
    assert all(torch.equal(run.last[name], some.last[name]) for name in run.last), "predicting changes nothing"


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (np.ones((20, 1)), "selection must be vote shares over 4 classes of at most 20 held-out rows, but its shape is (20, 1). Pass votes.probs[held_out]."),
        (np.full((21, 4), 0.25), "selection must be vote shares over 4 classes of at most 20 held-out rows, but its shape is (21, 4). Pass votes.probs[held_out]."),
        (np.ones((20, 4)), "each row of selection must be non-negative and sum to 1, but 20 of 20 do not (rows 0, 1, 2, 3, 4 and 15 more; the first sums to 4). Divide rounded rows by their sum (--normalize for predictions); apply softmax first if these are logits."),
    ],
)  # fmt: skip
def test_jobs_whose_selection_is_of_other_rows_or_classes(selection: np.ndarray, message: str) -> None:
    job = make_job(0)
    with pytest.raises(InputError) as error:
        replace(job, selection=selection)
    assert str(error.value) == message


def test_jobs_whose_labels_are_of_other_items() -> None:
    job = make_job(0)
    with pytest.raises(InputError) as error:
        replace(job, train=job.train[:-1])
    assert str(error.value) == (
        "a job must have one training row for each item of its delivery, but got 49 rows and 50 items. "
        "Deliver votes.take(train)."
    )
    with pytest.raises(InputError, match=r"^the delivery must be Delivery, but got Votes\."):
        replace(job, delivery=disputed_votes())
