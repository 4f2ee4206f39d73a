"""The plain loop on a CPU, the same loop on a GPU, and the engine's captured steps: one run, three ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from small_runs import disputed_votes, feature_material, feature_run, images, make_job, unequal_parts
from votewise import SLS, Multipass, Soft, Votes
from votewise._errors import DivergedError
from votewise.experiments.backends.device import Device
from votewise.experiments.execution import execute
from votewise.models.resnet import ResNet18, _convolve_few_channels
from votewise.records import record_differences
from votewise.training import Job, TrainConfig, Trained, train_job, train_jobs

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU"),
    pytest.mark.filterwarnings("default"),  # what a driver or the compiler has to say is not of interest here
]

GPU = "cuda"
ITEMS = 48

# One step an epoch, so that the losses told are those of the steps.
RECIPE = TrainConfig(
    epochs=4, batch_size=32, optimizer="sgd", learning_rate=1e-3, weight_decay=5e-4, crop=4, flip=True,
    mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616),
)  # fmt: skip


def resnet() -> nn.Module:
    return ResNet18(4, width=16)


def job(seed: int, deliver: Callable[..., Any] = lambda votes, seed: SLS(votes, seed=seed)) -> Job:
    return make_job(seed, deliver, votes=disputed_votes(ITEMS), train=32, held_out=16)


def engine(jobs: list[Job], recipe: TrainConfig = RECIPE, **options: Any) -> list[Any]:
    told = train_jobs(resnet, images(ITEMS, side=32), jobs, recipe, device=GPU, **options)
    found = {place: outcome for place, outcome, _, _ in told}
    return [found[place] for place in range(len(jobs))]


def plain(one: Job, device: str, recipe: TrainConfig = RECIPE) -> Trained:
    return train_job(resnet, images(ITEMS, side=32), one, recipe, device=device)


@pytest.mark.parametrize("mixup", [0.0, 1.0])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_step_by_step_all_three_agree(optimizer: str, mixup: float) -> None:
    recipe = replace(RECIPE, optimizer=optimizer, mixup=mixup)
    on_cpu, eager, (captured,) = plain(job(0), "cpu", recipe), plain(job(0), GPU, recipe), engine([job(0)], recipe)
    assert unequal_parts(eager, captured) == []
    # Adam divides by the size of a gradient, which near 0 is a matter of rounding.
    tolerance = 1e-5 if optimizer == "sgd" else 1e-3
    np.testing.assert_allclose(eager.losses, on_cpu.losses, rtol=0, atol=tolerance)
    np.testing.assert_allclose(eager.logits[0], on_cpu.logits[0], rtol=0, atol=100 * tolerance)
    assert np.ptp(on_cpu.losses) > 1e-3  # it moved


def test_a_last_batch_that_is_smaller() -> None:
    recipe = replace(RECIPE, batch_size=13, epochs=2)
    assert unequal_parts(plain(job(0), GPU, recipe), engine([job(0)], recipe)[0]) == []


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_a_lane_that_is_used_again_is_as_good_as_new(at_once: int) -> None:
    jobs = [job(seed) for seed in range(5)]
    for one, found in zip(jobs, engine(jobs, at_once=at_once), strict=True):
        assert unequal_parts(engine([one])[0], found) == []


def test_two_calls_give_the_same_bits() -> None:
    jobs = [job(0), job(0, lambda votes, _: Soft(votes)), job(1, lambda votes, seed: Multipass(votes, seed=seed))]
    for first, second in zip(engine(jobs), engine(jobs), strict=True):
        assert unequal_parts(first, second) == []


class Broken(Soft):
    """Soft labels that are no numbers from the second epoch on."""

    def targets(self, epoch: int, items: Any = None) -> Any:
        return super().targets(epoch, items) * np.float32(np.nan if epoch else 1)


def broken(votes: Votes, _: int) -> Broken:
    return Broken(votes)


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_run_that_diverges_leaves_those_beside_and_behind_it_alone(at_once: int) -> None:
    """When all of a wave diverge, their last steps may still be under way as the next wave comes."""
    found = engine([job(8, broken), job(9, broken), job(0), job(1)], at_once=at_once)
    assert [one.epoch for one in found[:2] if isinstance(one, DivergedError)] == [1, 1]
    for seed, run in enumerate(found[2:]):
        assert unequal_parts(plain(job(seed), GPU), run) == []


def test_bf16_stays_near_fp32() -> None:
    exact, (rounded,) = plain(job(0), GPU), engine([job(0)], replace(RECIPE, precision="bf16"))
    np.testing.assert_allclose(rounded.losses, exact.losses, rtol=0.02)
    assert {value.dtype for value in rounded.last.values()} == {torch.float32, torch.int64}


def test_channels_of_zeros_change_nothing() -> None:
    conv, given = nn.Conv2d(3, 16, 3, padding=1, bias=False).to(GPU), torch.randn(4, 3, 8, 8, device=GPU)
    with torch.backends.cudnn.flags(allow_tf32=False):
        torch.testing.assert_close(_convolve_few_channels(given, conv), conv(given))


@pytest.mark.parametrize("model", ["small-cnn", "mlp"])
def test_a_suite_done_twice_gives_the_same_records(model: str) -> None:
    """The engine's, and those of a model with dropout, which go one by one."""
    material, recipe = feature_material(), TrainConfig(epochs=2, batch_size=16)
    if model == "small-cnn":
        pixels = np.random.default_rng(0).integers(0, 256, size=(60, 16, 16, 3), dtype=np.uint8)
        material, recipe = feature_material(kind="images", inputs=pixels), replace(RECIPE, epochs=2)
    runs = [
        replace(feature_run(material, method, seed), model=model, recipe=recipe)
        for seed in (0, 1)
        for method in ("soft", "sls")
    ]
    first, second = (execute(runs, material, backend=Device(GPU)) for _ in range(2))
    assert [record_differences(one, other) for one, other in zip(first, second, strict=True)] == [[]] * 4
    assert {record.environment["device_kind"] for record in first} == {"cuda"}
