"""How much the demo's result depends on its recipe: `python benchmarks/recipes.py [SEEDS] [--toy]`.

Prints soft NLL on held-out items for several lengths of training with the demo's recipe, and with one that hardly
regularises, with many and few votes per item, and how much hard deliveries and smoothed shares gain over soft labels:
at the epoch that a tenth of the items chose, and after the last (means over seeds). This takes some minutes on 2 cores;
--toy trains every network for one epoch, to see that all runs.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from votewise.data.dataset import Prepared
from votewise.experiments import default_recipe
from votewise.experiments.backends.processes import in_processes
from votewise.experiments.demo import VOTES, demo_data, demo_grid
from votewise.experiments.run import train_run

METHODS = ("soft", "multipass", "sls", "soft-smoothed", "dirichlet-fitted")
LIGHT: dict[str, Any] = {"learning_rate": 1e-2, "weight_decay": 1e-4}
RECIPES = ((20, "demo"), (20, "light"))
TOY_RECIPES = ((1, "demo"),)
POINTS = ("best", "last")


class Job(NamedTuple):
    """One run: epochs, "demo" for the demo's recipe or "light", votes per item (None for all ten), method and seed."""

    epochs: int
    recipe: str
    votes: int | None
    method: str
    seed: int


@cache
def words() -> Prepared:
    """The demo's data, loaded once per process."""
    return demo_data()[1]


def nll(job: Job) -> tuple[float, ...]:
    """Soft NLL of one run at each of `POINTS`; the demo's own where recipe and epochs are."""
    recipe = default_recipe(words(), epochs=job.epochs)
    grid = replace(demo_grid(1), methods=(job.method,), seeds=range(job.seed, job.seed + 1), votes=(job.votes,))
    (run,) = grid.runs(words(), replace(recipe, **LIGHT) if job.recipe == "light" else recipe)
    record = train_run(run, words())
    return tuple(record.numbers[f"soft_nll_{at}"] for at in POINTS)


def main() -> None:
    """Train every recipe and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("seeds", type=int, nargs="?", metavar="SEEDS", help="seeds per method; 3 if left out")
    parser.add_argument("--toy", action="store_true", help="one epoch, to see that all runs")
    arguments = parser.parse_args()
    recipes, jobs_at_once = (TOY_RECIPES, 1) if arguments.toy else (RECIPES, None)
    seeds = arguments.seeds or (1 if arguments.toy else 3)
    jobs = [
        Job(*recipe, votes, method, seed)
        for recipe in recipes
        for votes in VOTES
        for method in METHODS
        for seed in range(seeds)
    ]
    scores = np.zeros((len(jobs), len(POINTS)))
    for place, future in in_processes(nll, jobs, jobs=jobs_at_once):
        scores[place] = future.result()
    means = scores.reshape(len(recipes), len(VOTES), len(METHODS), seeds, len(POINTS)).mean(axis=3)
    print(f"seeds: {seeds}; gain: soft NLL of soft labels minus that of {' / '.join(METHODS[1:])}")
    for (epochs, recipe), regimes in zip(recipes, means, strict=True):
        for place, at in enumerate(("chosen epoch", "last epoch")):
            lines = []
            for votes, (soft, *others) in zip(VOTES, regimes[..., place], strict=True):
                gains = " / ".join(f"{soft - other:+.3f}" for other in others)
                lines.append(f"{votes or 10:2} votes: soft {soft:.3f}, gain {gains}")
            print(f"{epochs} epochs, {recipe}, {at}: {'; '.join(lines)}")


if __name__ == "__main__":
    main()
