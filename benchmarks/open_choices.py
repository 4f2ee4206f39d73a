"""Settings that the paper leaves open, tested with paired runs: each choice against the default, seed by seed.

    python benchmarks/open_choices.py --data DIR --runs DIR --seeds 4 --methods soft --choices std fill [--toy]

Finished runs are kept in the folder of runs, so a larger call continues where a smaller one stopped. --toy trains a
small network on a few random images, without data or a GPU, and keeps its runs only if --runs is given.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from votewise import Votes, VotewiseError
from votewise.data import Dataset, load_cifar10h, prepare
from votewise.data.images import ImageArrays
from votewise.data.joining import data_checksum
from votewise.experiments.backends import Event, Finished, Note, find_backend
from votewise.experiments.execution import execute
from votewise.experiments.run import Run, choose_device
from votewise.papers.same_target.suites import paper_recipe
from votewise.records import RecordStore, RunRecord

CHOICES: dict[str, dict[str, Any]] = {
    "default": {},
    "std": {"std": (0.2023, 0.1994, 0.2010)},
    "fill": {"fill": "mean"},
    "schedule": {"schedule": "step"},
    "decay": {"decayed": "weights"},
    "nesterov": {"nesterov": True},
    "fp32": {"precision": "fp32"},
}
METRICS = ("soft_nll_best", "soft_nll_last", "accuracy_best", "ece_best", "entropy_correlation_best", "best_epoch")


def main() -> None:
    """Do the runs that are missing, and print every choice against the default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=Path, help='"runs" if left out')
    parser.add_argument("--seeds", type=int, help="4 if left out")
    parser.add_argument("--epochs", type=int, help="200 if left out")
    parser.add_argument("--methods", nargs="+", default=["soft"])
    parser.add_argument("--choices", nargs="+", default=list(CHOICES), choices=list(CHOICES))
    parser.add_argument("--toy", action="store_true", help="a small network and few images, to see that all runs")
    arguments = parser.parse_args()
    try:
        data = random_images() if arguments.toy else load_cifar10h(arguments.data)
    except VotewiseError as error:
        parser.error(str(error))
    material = prepare(data)
    precision = "bf16" if choose_device("auto") == "cuda" else "fp32"
    base = replace(paper_recipe(), epochs=arguments.epochs or 200, precision=precision)
    model, seeds, store, processes = "resnet18", arguments.seeds or 4, RecordStore(arguments.runs or Path("runs")), None
    if arguments.toy:
        base = replace(base, epochs=arguments.epochs or 2, batch_size=16)
        model, seeds, processes = "small-cnn", arguments.seeds or 2, 1
        store = arguments.runs and RecordStore(arguments.runs)
    groups = {
        (choice, method): [
            Run("cifar10h", material.checksum, method, seed, replace(base, **CHOICES[choice]), model)
            for seed in range(seeds)
        ]
        for choice in dict.fromkeys(["default", *arguments.choices])
        for method in arguments.methods
    }
    start = time.perf_counter()

    def tell(event: Event) -> None:
        if isinstance(event, Finished):
            print(f"{time.perf_counter() - start:.0f} s: {describe(event.record)}", flush=True)
        elif isinstance(event, Note):
            print(event.text, flush=True)

    runs = [run for group in groups.values() for run in group]
    backend = find_backend(jobs=processes)
    records = dict(zip(runs, execute(runs, material, store, backend=backend, tell=tell), strict=True))
    for (choice, method), group in groups.items():
        print_group(
            choice, method, [records[run] for run in group], [records[run] for run in groups["default", method]]
        )


def random_images(items: int = 60, side: int = 16) -> Dataset:
    """Random images and votes, for --toy.

    Args:
        items: number of images.
        side: their height and width.
    """
    rng = np.random.default_rng(0)
    counts = rng.multinomial(10, rng.dirichlet(np.ones(10), size=items))
    images = rng.integers(0, 256, (items, side, side, 3), dtype=np.uint8)
    votes, source = Votes.from_counts(counts), ImageArrays(None, images)
    return Dataset("random", source, votes, data_checksum(source, votes), counts.argmax(axis=1))


def describe(record: RunRecord) -> str:
    """One run in a line."""
    if record.status == "failed":
        return f"{record.config['method']} {record.config['seed']} failed: {record.failure}"
    numbers = " ".join(f"{name} {record.numbers[name]:.4f}" for name in METRICS)
    return f"{record.config['method']} seed {record.config['seed']}: {numbers}"


def print_group(choice: str, method: str, ours: list[RunRecord], default: list[RunRecord]) -> None:
    """Means over seeds, and the paired difference from the default with its standard error."""
    for metric in METRICS:
        pairs = [
            (one.numbers[metric], other.numbers[metric])
            for one, other in zip(ours, default, strict=True)
            if one.status == other.status == "done"
        ]
        values = np.array(pairs).reshape(-1, 2)
        difference = values[:, 0] - values[:, 1]
        error = difference.std(ddof=1) / math.sqrt(len(pairs)) if len(pairs) > 1 else math.nan
        spread = values[:, 0].std(ddof=1) if len(pairs) > 1 else math.nan
        print(
            f"{choice:10} {method:10} {metric:25} {values[:, 0].mean():.4f} ± {spread:.4f} (n = {len(pairs)}), "
            f"against the default {difference.mean():+.4f} ± {error:.4f}"
        )


if __name__ == "__main__":
    main()
