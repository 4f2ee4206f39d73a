"""Training images per second: the engine against a plain loop, eager and compiled, in the same process.

    python benchmarks/engine.py [--at-once 8] [--epochs 30] [--toy]

The recipe is that of arXiv 2605.20642 (ResNet-18, 8,000 training and 2,000 held-out images of 32 x 32, batches of 128);
the engine crops, flips and evaluates after every epoch, the plain loop only trains. The images are random, since the
work does not depend on their content. --toy trains a single layer on a few images, and needs no GPU.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch._dynamo.exc import BackendCompilerFailed

from votewise import SLS, Votes
from votewise.models import ResNet18
from votewise.papers.same_target.suites import paper_recipe
from votewise.training import Job, TrainConfig, soft_cross_entropy, train_jobs

FLOP_PER_IMAGE = 3.33e9  # forward and backward of a training image
PEAK = 790e12  # bf16 products an H200 was measured to reach, per second

RECIPE = replace(paper_recipe(), precision="bf16")


@dataclass(frozen=True)
class Size:
    """How much to train.

    Attributes:
        make: builds the network.
        train: number of training images.
        held_out: number of images predicted after every epoch.
        side: height and width of an image.
        batch: images per step.
        at_once: runs that the engine trains at once.
        epochs: epochs of the engine that are timed.
        steps: steps of the plain loop that are timed.
    """

    make: Callable[[], nn.Module]
    train: int
    held_out: int
    side: int
    batch: int
    at_once: int
    epochs: int
    steps: int

    def recipe(self, epochs: int) -> TrainConfig:
        """The recipe for this many epochs."""
        return replace(RECIPE, epochs=epochs, batch_size=self.batch)


FULL = Size(ResNet18, train=8000, held_out=2000, side=32, batch=128, at_once=8, epochs=30, steps=60)
TOY = Size(
    lambda: nn.Sequential(nn.Flatten(), nn.Linear(3 * 8**2, 10)),
    train=40,
    held_out=16,
    side=8,
    batch=16,
    at_once=2,
    epochs=2,
    steps=3,
)


def main() -> None:
    """Measure, print a table, and show what the device spends its time on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--at-once", type=int, nargs="+")
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--toy", action="store_true", help="a single layer, to see that all runs, on a CPU as well")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cpu" and not arguments.toy:
        parser.error("torch finds no GPU; --toy runs without one")
    size = TOY if arguments.toy else FULL
    loops = plain_loops(size, device)
    for at_once in arguments.at_once or [size.at_once]:
        rate, setup = engine_rate(size, device, at_once, arguments.epochs or size.epochs)
        ratios = [f"{rate / loop:.2f} x the {name} loop" for name, loop in loops.items()]
        if size is FULL:
            ratios.append(f"{rate * FLOP_PER_IMAGE / PEAK:.1%} of {PEAK / 1e12:.0f} TFLOP/s")
        print(
            f"engine, {at_once} runs at once: {rate:,.0f} training images/s with evaluation every epoch, "
            f"{', '.join(ratios)} (ready after {setup:.0f} s)",
            flush=True,
        )
    if device.type == "cuda":
        print_profile()
    else:
        print("no GPU: the engine took its steps one by one, without CUDA graphs; the time of its kernels is left out")


def plain_loops(size: Size, device: torch.device) -> dict[str, float]:
    """Images per second of the plain loop by name: "eager", and "compiled" where the compiler works; both printed."""
    model = size.make().to(device)

    def loss_of(images: Tensor, targets: Tensor) -> Tensor:
        return soft_cross_entropy(model(images), targets).mean()

    rates = {"eager": loop_rate(model, loss_of, size, device)}
    print(f"plain loop, eager, TF32: {rates['eager']:,.0f} images/s", flush=True)
    try:
        rates["compiled"] = loop_rate(model, torch.compile(loss_of, mode="reduce-overhead"), size, device)
    except BackendCompilerFailed as error:
        print(f"plain loop, compiled: left out, since torch.compile failed: {str(error).splitlines()[0]}", flush=True)
    else:
        print(
            f"plain loop, compiled (reduce-overhead), TF32: {rates['compiled']:,.0f} images/s, "
            f"{rates['compiled'] / rates['eager']:.2f} x the eager loop",
            flush=True,
        )
    return rates


def loop_rate(model: nn.Module, loss_of: Callable[[Tensor, Tensor], Tensor], size: Size, device: torch.device) -> float:
    """Images per second of the loop most people write, its tensors already on the device; the best of three times.

    Args:
        model: the network to train.
        loss_of: its mean loss on images and targets, eager or compiled.
        size: how much to train.
        device: where to train.
    """
    optimizer = torch.optim.SGD(
        model.parameters(), RECIPE.learning_rate, RECIPE.momentum, weight_decay=RECIPE.weight_decay
    )
    images = torch.randn(size.train, 3, size.side, size.side, device=device)
    targets = torch.rand(size.train, 10, device=device).softmax(dim=1)

    def train(steps: int) -> float:
        start = time.perf_counter()
        for _ in range(steps):
            batch = torch.randint(0, size.train, (size.batch,), device=device)
            optimizer.zero_grad()
            loss_of(images[batch], targets[batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        torch.get_device_module(device).synchronize()
        return time.perf_counter() - start

    with ExitStack() as stack:
        stack.enter_context(torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=True))
        stack.callback(torch.set_float32_matmul_precision, torch.get_float32_matmul_precision())
        torch.set_float32_matmul_precision("high")
        train(10)  # compiles, captures and chooses algorithms
        return size.steps * size.batch / min(train(size.steps) for _ in range(3))


def engine_rate(size: Size, device: torch.device, at_once: int, epochs: int) -> tuple[float, float]:
    """Training images per second of runs at once, evaluation included, and seconds until the first epoch ended."""
    inputs, jobs = random_jobs(size, at_once)
    times: list[float] = []

    def tick(place: int) -> None:
        if place == at_once - 1:
            times.append(time.perf_counter())

    start = time.perf_counter()
    recipe = size.recipe(epochs + 3)
    for _ in train_jobs(size.make, inputs, jobs, recipe, device=device, at_once=at_once, on_epoch=tick):
        pass
    # Without the first epochs and the last, at whose end nothing more is queued: each would flatter the rate.
    return at_once * size.train * epochs / (times[-2] - times[1]), times[0] - start


def random_jobs(size: Size, number: int) -> tuple[Tensor, list[Job]]:
    """Random images and votes, and runs on them."""
    rng = np.random.default_rng(0)
    n_items = size.train + size.held_out
    votes = Votes.from_counts(rng.integers(0, 6, (n_items, 10)) + np.eye(10, dtype=int)[rng.integers(0, 10, n_items)])
    train, held_out = np.arange(size.train), np.arange(size.train, n_items)
    images = torch.from_numpy(rng.integers(0, 256, (n_items, size.side, size.side, 3), dtype=np.uint8))
    jobs = [
        Job(seed, train, SLS(votes.take(train), seed=seed), held_out, votes.probs[held_out]) for seed in range(number)
    ]
    return images, jobs


def print_profile(runs: int = 8, steps: int = 5) -> None:
    """Device time of one step of stacked runs by kind of kernel; streams overlap, so the sum exceeds the step."""
    from torch.profiler import ProfilerActivity, profile

    from votewise.training.stacked import StackedResNet

    device = torch.device("cuda")
    network = StackedResNet(ResNet18(), runs, RECIPE, device)
    images = torch.randn(runs, 128, 3, 32, 32, device=device)
    targets = torch.rand(runs, 128, 10, device=device).softmax(dim=2)
    rate = torch.tensor(0.01, device=device)
    for _ in range(3):
        network.train_step(images, targets, rate)
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        for _ in range(steps):
            network.train_step(images, targets, rate)
        torch.cuda.synchronize()
    spent: dict[str, float] = defaultdict(float)
    for event in record.key_averages():
        spent[kind_of(event.key)] += event.self_device_time_total / steps / 1000
    print(f"kernel time of one step of {runs} runs, ms: ", end="")
    print(", ".join(f"{kind} {ms:.2f}" for kind, ms in sorted(spent.items(), key=lambda pair: -pair[1])))


def kind_of(kernel: str) -> str:
    """A name for what a kernel does."""
    kinds = {
        "weight gradients": ("wgrad", "cutlass", "cudnn", "convolve_common"),
        "convolutions": ("_convolve",),
        "norms": ("_norm",),
        "update": ("_update",),
        "copies": ("Memcpy", "Memset"),
    }
    return next((kind for kind, marks in kinds.items() if any(mark in kernel for mark in marks)), "rest")


if __name__ == "__main__":
    main()
