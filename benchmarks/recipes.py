"""How much the demo's result depends on its recipe: `python benchmarks/recipes.py [SEEDS] [--toy]`.

Prints soft NLL on held-out items after the last epoch (mean over seeds) for several lengths of training and strengths
of dropout, with many and few votes per item, and how much hard deliveries and smoothed shares gain over soft labels.
This takes a few minutes on 2 cores; --toy trains every network for one epoch, to see that all runs.
"""

from __future__ import annotations

import argparse
from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from votewise import metrics
from votewise.data.dataset import Prepared
from votewise.delivery.methods import find_method
from votewise.experiments.backends.processes import in_processes
from votewise.experiments.demo import VOTES, demo_data
from votewise.models import NgramNet
from votewise.training import TrainConfig, build_model, predict_probs, train_classifier

METHODS = ("soft", "multipass", "sls", "soft-smoothed", "dirichlet", "dirichlet-fitted")
RECIPES = ((10, 0.2), (20, 0.2), (60, 0.2), (20, 0.0), (20, 0.5))
TOY_RECIPES = ((1, 0.2),)


class Job(NamedTuple):
    """One run: epochs, dropout, votes per item (None for all ten), method and seed."""

    epochs: int
    dropout: float
    votes: int | None
    method: str
    seed: int


@cache
def words() -> Prepared:
    """The demo's data, loaded once per process."""
    return demo_data()[1]


def last_nll(job: Job) -> float:
    """Soft NLL of one run after its last epoch; the demo's own where recipe and dropout are."""
    votes, grams = words().votes, torch.tensor(words().inputs)
    kept, held_out = votes.split(0.2, seed=job.seed)
    given = votes.take(kept)
    if job.votes is not None:
        given = given.subsample(job.votes, seed=job.seed)
    delivery = find_method(job.method).deliver(given, seed=job.seed)
    model = build_model(lambda: NgramNet(votes.n_classes, dropout=job.dropout), seed=job.seed)
    train_classifier(model, grams[kept], delivery, TrainConfig(epochs=job.epochs), seed=job.seed)
    return metrics.soft_nll(votes.probs[held_out], predict_probs(model, grams[held_out]))


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
    nll = np.zeros(len(jobs))
    for place, future in in_processes(last_nll, jobs, jobs=jobs_at_once):
        nll[place] = future.result()
    means = nll.reshape(len(recipes), len(VOTES), len(METHODS), seeds).mean(axis=3)
    print(f"seeds: {seeds}; gain: soft NLL of soft labels minus that of {' / '.join(METHODS[1:])}")
    for (epochs, dropout), regimes in zip(recipes, means, strict=True):
        lines = []
        for votes, (soft, *others) in zip(VOTES, regimes, strict=True):
            gains = " / ".join(f"{soft - other:+.3f}" for other in others)
            lines.append(f"{votes or 10:2} votes: soft {soft:.3f}, gain {gains}")
        print(f"{epochs} epochs, dropout {dropout}: {'; '.join(lines)}")


if __name__ == "__main__":
    main()
