"""Training images per second on one GPU: the engine and a plain eager loop, in the same process.

    python benchmarks/engine.py [--at-once 8] [--epochs 30]

The recipe is that of arXiv 2605.20642 (ResNet-18, 8,000 training and 2,000 held-out images of 32 x 32, batches of 128,
evaluation after every epoch). The images are random, since the work does not depend on their content.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import replace

import numpy as np
import torch

from votewise import SLS, Votes
from votewise.models import ResNet18
from votewise.papers.same_target import paper_recipe
from votewise.training import Job, TrainConfig, soft_cross_entropy, train_jobs

FLOP_PER_IMAGE = 3.33e9  # forward and backward of a training image
PEAK = 790e12  # bf16 products an H200 was measured to reach, per second
TRAIN, HELD_OUT = 8000, 2000

RECIPE = replace(paper_recipe(), precision="bf16")


def main() -> None:
    """Measure, print a table, and show what the device spends its time on."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--at-once", type=int, nargs="+", default=[8])
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()
    plain = max(plain_loop_rate() for _ in range(3))
    print(f"plain eager loop, TF32: {plain:,.0f} images/s")
    for at_once in arguments.at_once:
        rate, setup = engine_rate(at_once, arguments.epochs)
        share = rate * FLOP_PER_IMAGE / PEAK
        print(
            f"engine, {at_once} runs at once: {rate:,.0f} training images/s with evaluation every epoch, "
            f"{rate / plain:.2f} x plain, {share:.1%} of {PEAK / 1e12:.0f} TFLOP/s (ready after {setup:.0f} s)",
            flush=True,
        )
    print_profile()


def plain_loop_rate(steps: int = 60) -> float:
    """Images per second of the loop most people write, with its tensors already on the GPU."""
    torch.backends.cudnn.benchmark = True
    with torch.backends.cudnn.flags(enabled=True, benchmark=True, allow_tf32=True):
        model = ResNet18().cuda()
        optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9, weight_decay=5e-4)
        images = torch.randn(TRAIN, 3, 32, 32, device="cuda")
        targets = torch.rand(TRAIN, 10, device="cuda").softmax(dim=1)
        for step in range(steps + 10):
            if step == 10:
                torch.cuda.synchronize()
                start = time.perf_counter()
            batch = torch.randint(0, TRAIN, (128,), device="cuda")
            loss = soft_cross_entropy(model(images[batch]), targets[batch]).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        torch.cuda.synchronize()
        return steps * 128 / (time.perf_counter() - start)


def engine_rate(at_once: int, epochs: int) -> tuple[float, float]:
    """Training images per second of runs at once, evaluation included, and seconds until the first epoch ended."""
    inputs, jobs = random_jobs(at_once)
    times: list[float] = []

    def tick(place: int) -> None:
        if place == at_once - 1:
            times.append(time.perf_counter())

    start = time.perf_counter()
    for _ in train_jobs(ResNet18, inputs, jobs, with_epochs(epochs + 3), at_once=at_once, on_epoch=tick):
        pass
    # Without the first epochs and the last, at whose end nothing more is queued: each would flatter the rate.
    return at_once * TRAIN * epochs / (times[-2] - times[1]), times[0] - start


def random_jobs(number: int) -> tuple[torch.Tensor, list[Job]]:
    """Random images and votes, and runs on them."""
    rng = np.random.default_rng(0)
    votes = Votes.from_counts(
        rng.integers(0, 6, (TRAIN + HELD_OUT, 10)) + np.eye(10, dtype=int)[rng.integers(0, 10, TRAIN + HELD_OUT)]
    )
    train, held_out = np.arange(TRAIN), np.arange(TRAIN, TRAIN + HELD_OUT)
    images = torch.from_numpy(rng.integers(0, 256, (TRAIN + HELD_OUT, 32, 32, 3), dtype=np.uint8))
    jobs = [
        Job(seed, train, SLS(votes.take(train), seed=seed), held_out, votes.probs[held_out]) for seed in range(number)
    ]
    return images, jobs


def with_epochs(epochs: int) -> TrainConfig:
    """The recipe, shortened."""
    return replace(RECIPE, epochs=epochs)


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
