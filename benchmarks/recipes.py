"""How much the demo's result depends on its recipe: `python benchmarks/recipes.py [SEEDS]`, a few minutes on 2 cores.

Prints soft NLL on held-out items after the last epoch (mean over seeds) for several lengths of training and strengths
of dropout, with many and few votes per item, and how much hard deliveries and smoothed shares gain over soft labels.
"""

from __future__ import annotations

import sys

import numpy as np

from votewise.experiments.demo import DEMO_VOTES, DemoRun, train_demo_run
from votewise.experiments.processes import in_processes

METHODS = ("soft", "multipass", "sls", "soft-smoothed", "dirichlet", "dirichlet-fitted")
RECIPES = ((10, 0.2), (20, 0.2), (60, 0.2), (20, 0.0), (20, 0.5))


def last_nll(job: tuple[DemoRun, int, float]) -> float:
    """Soft NLL of one run after its last epoch."""
    run, epochs, dropout = job
    return float(train_demo_run(run, epochs=epochs, dropout=dropout).curve[-1])


def main() -> None:
    """Train every recipe and print the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    jobs = [
        (DemoRun(votes, method, seed), epochs, dropout)
        for epochs, dropout in RECIPES
        for votes in DEMO_VOTES
        for method in METHODS
        for seed in range(seeds)
    ]
    nll = np.zeros(len(jobs))
    for place, future in in_processes(last_nll, jobs):
        nll[place] = future.result()
    means = nll.reshape(len(RECIPES), len(DEMO_VOTES), len(METHODS), seeds).mean(axis=3)
    print(f"{seeds} seeds; gain: soft NLL of soft labels minus that of {' / '.join(METHODS[1:])}")
    for (epochs, dropout), regimes in zip(RECIPES, means, strict=True):
        lines = []
        for votes, (soft, *others) in zip(DEMO_VOTES, regimes, strict=True):
            gains = " / ".join(f"{soft - other:+.3f}" for other in others)
            lines.append(f"{votes:2} votes: soft {soft:.3f}, gain {gains}")
        print(f"{epochs} epochs, dropout {dropout}: {'; '.join(lines)}")


if __name__ == "__main__":
    main()
