"""The main job in a minute: deliveries compared on real votes, with many votes an item and with few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from votewise import metrics
from votewise._checks import FloatArray, IntArray
from votewise.datasets import load_vader
from votewise.experiments.catalog import find_method
from votewise.experiments.processes import in_processes

DEMO_METHODS = ("soft", "multipass", "sls", "majority")

# All ten votes, and three of them: many and few, where arXiv 2605.20642 finds soft and hard level, and apart.
DEMO_VOTES = (10, 3)

HELD_OUT = 0.2


@dataclass(frozen=True, order=True)
class DemoRun:
    """One training run: `votes` votes an item, a method, a seed."""

    votes: int
    method: str
    seed: int


@dataclass(frozen=True, eq=False)
class DemoOutcome:
    """What a run left: predictions for the held-out items after the last epoch, and the curve until then.

    Attributes:
        run: which one.
        held_out: (N,) rows of the held-out items.
        probs: (N, K) predictions.
        curve: (epochs,) soft NLL on the held-out items after each epoch.
    """

    run: DemoRun
    held_out: IntArray
    probs: FloatArray
    curve: FloatArray


def run_demo(
    seeds: int, *, jobs: int | None = None, on_done: Callable[[DemoOutcome], None] | None = None
) -> list[DemoOutcome]:
    """Train every method on every seed in both regimes, on all cores, and return the outcomes in order.

    Args:
        seeds: how many, from 0; two methods with one seed share everything but the labels.
        jobs: processes; all cores if left out.
        on_done: called with each outcome as it arrives.
    """
    runs = [DemoRun(votes, method, seed) for seed in range(seeds) for votes in DEMO_VOTES for method in DEMO_METHODS]
    outcomes: dict[int, DemoOutcome] = {}
    for place, future in in_processes(train_demo_run, runs, jobs=jobs):
        outcomes[place] = future.result()
        if on_done is not None:
            on_done(outcomes[place])
    return [outcomes[place] for place in range(len(runs))]


def train_demo_run(run: DemoRun, *, epochs: int = 20, dropout: float = 0.2) -> DemoOutcome:
    """One run, from votes to predictions.

    Args:
        run: which one.
        epochs: of training.
        dropout: of the network.
    """
    from votewise.models import NgramNet
    from votewise.training import TrainConfig, build_model, predict_probs, train_classifier

    votes, grams = _demo_data()
    kept, held_out = votes.split(HELD_OUT, seed=run.seed)
    given = votes.take(kept)
    if run.votes < 10:
        given = given.subsample(run.votes, seed=run.seed, replace=False)
    curve: list[float] = []
    model = build_model(lambda: NgramNet(votes.n_classes, dropout=dropout), seed=run.seed)
    train_classifier(
        model,
        grams[kept],
        find_method(run.method).build(given, run.seed, 1),
        TrainConfig(epochs=epochs),
        seed=run.seed,
        on_epoch=lambda *_: curve.append(
            metrics.soft_nll(votes.probs[held_out], predict_probs(model, grams[held_out]))
        ),
    )
    return DemoOutcome(run, held_out, predict_probs(model, grams[held_out]), np.array(curve))


@cache
def _demo_data():  # type: ignore[no-untyped-def]
    """Votes and hashed texts, once a process."""
    import torch

    from votewise.models import hash_ngrams

    votes = load_vader()
    return votes, torch.from_numpy(hash_ngrams(votes.item_ids.tolist()))
