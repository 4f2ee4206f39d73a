"""Recipes: what they refuse, how they are stored, and the learning rate."""

from __future__ import annotations

import json
import math
import warnings
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from votewise import InputError
from votewise.training import TrainConfig
from votewise.training.config import DECAYED, FILLS, OPTIMIZERS, PRECISIONS, SCHEDULES


def whole(name: str, least: int, got: str) -> str:
    return f"{name} must be a whole number of at least {least}, but got {got}. Pass an int, {least} or more."


def rates(got: str) -> str:
    return f"learning_rate must be positive and weight_decay not negative, but got {got}. Pass e.g. 1e-2 and 1e-4."


def channels(got: str) -> str:
    return (
        f"mean and std must have one number for each channel, and std be positive, but got {got}. "
        "Pass e.g. (0.5, 0.5, 0.5) and (0.25, 0.25, 0.25)."
    )


NO_IMAGES = "crop and flip need images, which are normalised, but mean and std are empty. Pass both, or neither."


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epochs": 0}, whole("epochs", 1, "0")),
        ({"epochs": 2.0}, whole("epochs", 1, "2.0")),
        ({"epochs": True}, whole("epochs", 1, "True")),
        ({"batch_size": 0}, whole("batch_size", 1, "0")),
        ({"crop": -1}, whole("crop", 0, "-1")),
        ({"optimizer": "adam"}, "optimizer must be one of adamw, sgd, but got 'adam'. Did you mean 'adamw'?"),
        ({"schedule": "batch"}, "schedule must be one of epoch, step, but got 'batch'. Pick one of those."),
        ({"decayed": "none"}, "decayed must be one of all, weights, but got 'none'. Pick one of those."),
        ({"fill": "white"}, "fill must be one of black, mean, but got 'white'. Pick one of those."),
        ({"precision": "fp16"}, "precision must be one of fp32, bf16, but got 'fp16'. Did you mean 'bf16'?"),
        ({"momentum": 1.5}, "momentum must be a number from 0 to 1, but got 1.5. Pass one in that range."),
        ({"momentum": math.nan}, "momentum must be a number from 0 to 1, but got nan. Pass one in that range."),
        ({"mixup": -0.5}, "mixup must be a number from 0 to 1e+06, but got -0.5. Pass one in that range."),
        ({"learning_rate": 0.0}, rates("0.0 and 0.0001")),
        ({"learning_rate": math.inf}, rates("inf and 0.0001")),
        ({"learning_rate": math.nan}, rates("nan and 0.0001")),
        ({"weight_decay": -1.0}, rates("0.01 and -1.0")),
        ({"learning_rate": True}, rates("True and 0.0001")),
        ({"learning_rate": "fast"}, rates("'fast' and 0.0001")),
        ({"mean": (0.5,)}, channels("(0.5,) and ()")),
        ({"mean": (0.5,), "std": (0.0,)}, channels("(0.5,) and (0.0,)")),
        ({"mean": (0.5,), "std": (math.nan,)}, channels("(0.5,) and (nan,)")),
        ({"mean": (math.nan,), "std": (1.0,)}, channels("(nan,) and (1.0,)")),
        ({"mean": 0.5}, channels("0.5 and ()")),
        ({"mean": "a", "std": "b"}, channels("'a' and 'b'")),
        ({"crop": 4}, NO_IMAGES),
        ({"flip": True}, NO_IMAGES),
        (
            {"optimizer": "sgd", "nesterov": True, "momentum": 0.0},
            "nesterov needs momentum, but it is 0. Pass e.g. momentum=0.9.",
        ),
    ],
)
def test_wrong_recipes(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        TrainConfig(**values)
    assert str(error.value) == message


@st.composite
def recipes(draw: st.DrawFn) -> TrainConfig:
    shares = st.floats(0, 1)
    mean = draw(st.lists(shares, max_size=4))
    schedule = draw(st.sampled_from(SCHEDULES))
    return TrainConfig(
        epochs=draw(st.integers(1, 10**6)),
        batch_size=draw(st.integers(1, 10**6)),
        optimizer=draw(st.sampled_from(OPTIMIZERS)),
        learning_rate=draw(st.floats(1e-300, 1e30)),
        weight_decay=draw(st.floats(0, 1e30)),
        momentum=draw(st.floats(1e-3, 1)),
        nesterov=draw(st.booleans()),
        decayed=draw(st.sampled_from(DECAYED)),
        schedule=schedule,
        crop=draw(st.integers(0, 9)) if mean else 0,
        fill=draw(st.sampled_from(FILLS)),
        flip=draw(st.booleans()) if mean else False,
        mean=tuple(mean),
        std=tuple(draw(st.lists(st.floats(1e-3, 9), min_size=len(mean), max_size=len(mean)))),
        mixup=draw(st.floats(0, 1e6)),
        precision=draw(st.sampled_from(PRECISIONS)),
        warm_up=draw(st.floats(0, 0.9)) if schedule == "step" else 0.0,
        micro_batch=draw(st.integers(0, 99)),
    )


@given(recipes())
def test_a_recipe_survives_being_stored(recipe: TrainConfig) -> None:
    stored = json.loads(json.dumps(recipe.to_dict(), allow_nan=False))
    again = TrainConfig.from_dict(stored)
    assert again == recipe
    assert hash(again) == hash(recipe)


def test_what_a_stored_recipe_leaves_out_has_its_default() -> None:
    assert TrainConfig.from_dict({"epochs": 3}) == TrainConfig(epochs=3)
    assert TrainConfig.from_dict({}) == TrainConfig()


def test_an_unknown_name_in_a_stored_recipe() -> None:
    names = ", ".join(field.name for field in fields(TrainConfig))
    with pytest.raises(InputError) as error:
        TrainConfig.from_dict({"epochs": 3, "learning_rte": 0.1})
    assert str(error.value) == (
        f"a name in the recipe must be one of {names}, but got 'learning_rte'. Did you mean 'learning_rate'?"
    )


def torch_rates(recipe: TrainConfig, changes: int) -> list[float]:
    """The learning rates of torch's own schedule."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=recipe.learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=changes)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about steps of the optimizer, of which there are none
        for _ in range(changes):
            found.append(schedule.get_last_lr()[0])
            schedule.step()
    return found


@given(st.integers(1, 300), st.integers(1, 7), st.floats(1e-6, 10))
def test_the_learning_rate_is_the_cosine_of_torch(epochs: int, steps: int, start: float) -> None:
    recipe = TrainConfig(epochs=epochs, learning_rate=start)
    ours = [recipe.learning_rate_at(epoch, step, steps) for epoch in range(epochs) for step in range(steps)]
    assert ours[::steps] == pytest.approx(torch_rates(recipe, epochs), abs=1e-9 * start)
    assert all(ours[place] == ours[place - place % steps] for place in range(len(ours)))


@given(st.integers(1, 60), st.integers(1, 7), st.floats(1e-6, 10))
def test_the_learning_rate_may_fall_every_step(epochs: int, steps: int, start: float) -> None:
    recipe = TrainConfig(epochs=epochs, learning_rate=start, schedule="step")
    ours = [recipe.learning_rate_at(epoch, step, steps) for epoch in range(epochs) for step in range(steps)]
    assert ours == pytest.approx(torch_rates(recipe, epochs * steps), abs=1e-9 * start)


@given(st.integers(1, 60), st.integers(1, 7), st.floats(0.01, 0.9), st.floats(1e-6, 10))
def test_a_warm_up_is_that_of_transformers(epochs: int, steps: int, share: float, start: float) -> None:
    from transformers import get_cosine_schedule_with_warmup

    recipe = TrainConfig(epochs=epochs, learning_rate=start, schedule="step", warm_up=share)
    ours = [recipe.learning_rate_at(epoch, step, steps) for epoch in range(epochs) for step in range(steps)]
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=start)
    schedule = get_cosine_schedule_with_warmup(optimizer, int(share * epochs * steps), epochs * steps)
    theirs = []
    for _ in ours:
        theirs += schedule.get_last_lr()
        optimizer.step()
        schedule.step()
    assert ours == pytest.approx(theirs, abs=1e-9 * start)


def test_a_warm_up_needs_steps() -> None:
    with pytest.raises(
        InputError, match=r"^a warm-up needs the schedule 'step', but got 'epoch'\. Pass schedule='step'\.$"
    ):
        TrainConfig(warm_up=0.1)


def test_what_is_newer_than_stored_runs_is_stored_only_if_set() -> None:
    assert not {"warm_up", "micro_batch"} & set(TrainConfig().to_dict())
    stored = TrainConfig(schedule="step", warm_up=0.1, micro_batch=4).to_dict()
    assert (stored["warm_up"], stored["micro_batch"]) == (0.1, 4)


def test_numpy_numbers_and_lists_become_plain_ones() -> None:
    given = TrainConfig(
        epochs=np.int64(3), learning_rate=np.float32(0.5), mean=np.full(3, 0.25), std=[np.float64(0.5)] * 3, crop=2
    )  # type: ignore[arg-type]
    plain = TrainConfig(epochs=3, learning_rate=0.5, mean=(0.25,) * 3, std=(0.5,) * 3, crop=2)
    assert given == plain
    assert hash(given) == hash(plain)
    assert json.dumps(given.to_dict()) == json.dumps(plain.to_dict())


def test_whole_numbers_stay_as_they_are_since_runs_are_named_by_them() -> None:
    assert json.dumps(TrainConfig(learning_rate=1, weight_decay=0).to_dict()["learning_rate"]) == "1"
