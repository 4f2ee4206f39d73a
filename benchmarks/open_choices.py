"""Settings that the paper leaves open, tested with paired runs: each choice against the default, seed by seed.

    python benchmarks/open_choices.py --data DIR --runs DIR --seeds 4 --methods soft --choices std fill

Finished runs are kept in the folder of runs, so a larger call continues where a smaller one stopped.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from votewise.datasets import load_cifar10h
from votewise.experiments.execution import Listener, execute
from votewise.experiments.material import Material
from votewise.experiments.run import RunConfig, choose_device
from votewise.papers.same_target import paper_recipe
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
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--methods", nargs="+", default=["soft"])
    parser.add_argument("--choices", nargs="+", default=list(CHOICES), choices=list(CHOICES))
    arguments = parser.parse_args()
    material = Material.of_images("cifar10h", load_cifar10h(arguments.data))
    precision = "bf16" if choose_device("auto") == "cuda" else "fp32"
    base = replace(paper_recipe(), epochs=arguments.epochs, precision=precision)
    groups = {
        (choice, method): [
            RunConfig("cifar10h", material.checksum, method, seed, replace(base, **CHOICES[choice]), "resnet18")
            for seed in range(arguments.seeds)
        ]
        for choice in dict.fromkeys(["default", *arguments.choices])
        for method in arguments.methods
    }
    start = time.perf_counter()
    listener = Listener(
        on_done=lambda record: print(f"{time.perf_counter() - start:.0f} s: {describe(record)}", flush=True),
        on_note=lambda note: print(note, flush=True),
    )
    runs = [run for group in groups.values() for run in group]
    records = dict(zip(runs, execute(runs, material, RecordStore(arguments.runs), listener=listener), strict=True))
    for (choice, method), group in groups.items():
        print_group(
            choice, method, [records[run] for run in group], [records[run] for run in groups["default", method]]
        )


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
