"""Seconds that the diagnostics of one ResNet-18 take on a GPU: curvature against the plain way, OOD scores, maps.

    python benchmarks/diagnostics.py [--data FOLDER] [--epochs 10]

The network is first trained on CIFAR-10H for some epochs with soft labels; 2,000 images are held out. The plain way is
what is usually written: 30 steps of power iteration and 20 Hutchinson probes, each a double backward pass in fp32.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from votewise.datasets import load_cifar10h, load_cifar100, load_svhn
from votewise.diagnostics import curvature, high_disagreement_slices
from votewise.experiments.material import Material
from votewise.experiments.measure import Plan, Subject, measure_run
from votewise.experiments.run import RunConfig, make_job, model_maker, split_items
from votewise.papers.same_target import paper_recipe
from votewise.training import soft_cross_entropy, train_jobs

POWER_STEPS, PROBES = 30, 20

Result = TypeVar("Result")


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--epochs", type=int, default=10)
    arguments = parser.parse_args()
    material = Material.of_images("cifar10h", load_cifar10h(arguments.data))
    recipe = replace(paper_recipe(), epochs=arguments.epochs, precision="bf16")
    config = RunConfig("cifar10h", material.checksum, "soft", 0, recipe, "resnet18")
    state = trained(config, material)
    subject = Subject(config, material, "cuda")
    rows = split_items(config, material).held_out
    people, inputs, model = material.votes.probs[rows], subject.inputs(rows), subject.model(state)
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
            plain_curvature(model, inputs[torch.from_numpy(part).cuda()], torch.tensor(people[part]).float().cuda())
            for part in (torch.arange(len(rows)).numpy(), slices["top-10%"])
        ],
    )
    print(f"curvature on all and a slice: {ours:.1f} s, {plain / ours:.1f} x as fast as the plain way ({plain:.1f} s)")
    others = [load_svhn(arguments.data), load_cifar100(arguments.data)]
    timed("out of distribution", lambda: measure_run(subject, {"best": state}, Plan(ood=True), others))
    timed("features and maps", lambda: measure_run(subject, {"best": state}, Plan(features=True)))


def trained(config: RunConfig, material: Material) -> dict[str, Tensor]:
    """The weights of a short run."""
    job = make_job(config, material)
    (outcome,) = train_jobs(model_maker(config, material), torch.tensor(material.inputs), [job], config.recipe)
    result = outcome[1]
    if isinstance(result, Exception):
        raise result
    return result.last


def timed(name: str, work: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds that a piece of work takes on the GPU, printed."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = work()
    torch.cuda.synchronize()
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
