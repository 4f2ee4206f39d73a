"""Seconds that the diagnostics of one ResNet-18 take on a GPU: curvature against the plain way, OOD scores, maps.

    python benchmarks/diagnostics.py [--data FOLDER] [--epochs 10] [--toy]

The network is first trained on CIFAR-10H for some epochs with soft labels; 2,000 images are held out. The plain way is
what is usually written: 30 steps of power iteration and 20 Hutchinson probes, each a double backward pass in fp32.
--toy takes a small network and a few random images, and needs neither data nor a GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from votewise import Votes, VotewiseError
from votewise.data import Dataset, Outliers, Prepared, load_cifar10h, load_cifar100, load_svhn, prepare
from votewise.data.images import ImageArrays
from votewise.data.joining import data_checksum
from votewise.diagnostics import curvature, high_disagreement_slices
from votewise.experiments.measure import MeasuredRun, Plan, measure_run
from votewise.experiments.run import Run, choose_device, make_job, model_maker_of_run, split_items
from votewise.papers.same_target.suites import paper_recipe
from votewise.training import soft_cross_entropy, train_jobs

POWER_STEPS, PROBES = 30, 20
DEVICE = choose_device("auto")

Result = TypeVar("Result")


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--epochs", type=int, help="epochs of training; 10 if left out")
    parser.add_argument("--toy", action="store_true", help="a small network and few images, to see that all runs")
    arguments = parser.parse_args()
    if DEVICE == "cpu" and not arguments.toy:
        parser.error("torch finds no GPU; --toy runs without one")
    try:
        data, others = random_data() if arguments.toy else released_data(arguments.data)
    except VotewiseError as error:
        parser.error(str(error))
    material = prepare(data)
    if arguments.toy:
        recipe, model_name = replace(paper_recipe(), epochs=arguments.epochs or 1, batch_size=16), "small-cnn"
    else:
        recipe, model_name = replace(paper_recipe(), epochs=arguments.epochs or 10, precision="bf16"), "resnet18"
    config = Run("cifar10h", material.checksum, "soft", 0, recipe, model_name)
    state = trained(config, material)
    subject = MeasuredRun(config, material, DEVICE, others)
    rows = split_items(config, material).held_out
    people, inputs, model = material.votes.probs[rows], subject.network_inputs(rows), subject.model(state)
    slices = {"top-10%": high_disagreement_slices(people)["top-10%"]}
    timed("warm-up", lambda: curvature(model, inputs, people, slices=slices, tf32=True))
    ours, found = timed("curvature", lambda: curvature(model, inputs, people, slices=slices, tf32=True))
    for name, one in found.items():
        print(
            f"  {name}: largest {one.largest:.1f} (residual {one.largest_residual:.1e}), trace {one.trace:.0f} "
            f"± {one.trace_error:.0f}, {one.products} products, converged: {one.converged}"
        )
    plain, _ = timed(
        "plain way",
        lambda: [
            plain_curvature(
                model, inputs[torch.from_numpy(part).to(DEVICE)], torch.tensor(people[part]).float().to(DEVICE)
            )
            for part in (np.arange(len(rows)), slices["top-10%"])
        ],
    )
    print(f"curvature on all and a slice: {ours:.3g} s, {plain / ours:.3g} x as fast as the plain way ({plain:.3g} s)")
    timed("out of distribution", lambda: measure_run(subject, {"best": state}, Plan(ood=True)))
    timed("features and maps", lambda: measure_run(subject, {"best": state}, Plan(features=True)))


def released_data(folder: Path | None) -> tuple[Dataset, list[Outliers]]:
    """CIFAR-10H, and the images out of distribution.

    Args:
        folder: where the released files lie; the usual place if left out.
    """
    return load_cifar10h(folder), [load_svhn(folder), load_cifar100(folder)]


def random_data(items: int = 50, side: int = 8) -> tuple[Dataset, list[Outliers]]:
    """Random images with votes, and others without, for --toy.

    Args:
        items: number of images of each kind.
        side: their height and width.
    """
    rng = np.random.default_rng(0)
    counts = rng.multinomial(10, rng.dirichlet(np.ones(10), size=items))
    labels = counts.argmax(axis=1)
    images, others = rng.integers(0, 256, (2, items, side, side, 3), dtype=np.uint8)
    votes, source = Votes.from_counts(counts), ImageArrays(None, images)
    data = Dataset("random", source, votes, data_checksum(source, votes), labels)
    return data, [Outliers("random", others, labels, "none")]


def trained(config: Run, material: Prepared) -> dict[str, Tensor]:
    """The weights of a short run."""
    job = make_job(config, material)
    make = model_maker_of_run(config, material)
    (outcome,) = train_jobs(make, torch.tensor(material.inputs), [job], config.recipe, device=DEVICE)
    result = outcome[1]
    if isinstance(result, Exception):
        raise result
    return result.last


def timed(name: str, work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds that a piece of work takes on the device, printed."""
    torch.get_device_module(DEVICE).synchronize()
    start = time.perf_counter()
    result = work()
    torch.get_device_module(DEVICE).synchronize()
    seconds = time.perf_counter() - start
    print(f"{name}: {seconds:.2f} s", flush=True)
    return seconds, result


def plain_curvature(model: nn.Module, inputs: Tensor, targets: Tensor) -> tuple[float, float]:
    """Power iteration and Hutchinson's estimate as usually written."""
    model.eval()
    parameters = list(model.parameters())

    def product(vector: list[Tensor]) -> list[Tensor]:
        loss = soft_cross_entropy(model(inputs), targets).mean()
        gradient = torch.autograd.grad(loss, parameters, create_graph=True)
        along = sum((part * piece).sum() for part, piece in zip(gradient, vector, strict=True))
        return list(torch.autograd.grad(along, parameters))  # type: ignore[arg-type]

    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        vector = [torch.randn_like(parameter) for parameter in parameters]
        for _ in range(POWER_STEPS):
            size = torch.sqrt(sum((piece**2).sum() for piece in vector))  # type: ignore[arg-type]
            vector = product([piece / size for piece in vector])
        largest = torch.sqrt(sum((piece**2).sum() for piece in vector)).item()  # type: ignore[arg-type]
        traces = []
        for _ in range(PROBES):
            signs = [torch.randint_like(parameter, 2) * 2 - 1 for parameter in parameters]
            traces.append(sum((a * b).sum().item() for a, b in zip(signs, product(signs), strict=True)))
    return largest, sum(traces) / PROBES


if __name__ == "__main__":
    main()
