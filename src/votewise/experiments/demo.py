"""The demo: deliveries compared on real votes in a minute, with many votes per item and with few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache

import numpy as np

from votewise import __version__, metrics
from votewise._checks import FloatArray, IntArray
from votewise.datasets import load_vader
from votewise.experiments.catalog import find_method
from votewise.experiments.processes import ended_unexpectedly, in_processes
from votewise.experiments.summarise import Outcome, compare_methods, hardest_items, in_words, least_p
from votewise.report.content import Content
from votewise.report.numbers import counted
from votewise.votes import Votes

DEMO_METHODS = ("soft", "multipass", "sls", "majority")

# All ten votes, and three of them. arXiv 2605.20642 finds soft and hard labels level with many votes, apart with few.
DEMO_VOTES = (10, 3)

HELD_OUT = 0.2


@dataclass(frozen=True, order=True)
class DemoRun:
    """One training run: `votes` votes per item, a method, a seed."""

    votes: int
    method: str
    seed: int


@dataclass(frozen=True, eq=False)
class DemoOutcome:
    """The result of a run: predictions for the held-out items after the last epoch, and its learning curve.

    Attributes:
        run: the run.
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
    """Train every method on every seed, with many votes and with few, and return the outcomes in order.

    Args:
        seeds: how many, counted from 0; with the same seed, methods share everything but the labels.
        jobs: processes; all cores if left out.
        on_done: called with each outcome as it arrives.
    """
    runs = [DemoRun(votes, method, seed) for seed in range(seeds) for votes in DEMO_VOTES for method in DEMO_METHODS]
    outcomes: dict[int, DemoOutcome] = {}
    for place, future in in_processes(train_demo_run, runs, jobs=jobs):
        try:
            outcomes[place] = future.result()
        except BrokenProcessPool:
            raise ended_unexpectedly("Add that line, or call again with fewer jobs.") from None
        if on_done is not None:
            on_done(outcomes[place])
    return [outcomes[place] for place in range(len(runs))]


def train_demo_run(run: DemoRun, *, epochs: int = 20, dropout: float = 0.2) -> DemoOutcome:
    """One run, from votes to predictions.

    Args:
        run: the run.
        epochs: how many to train for.
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


def summarise_demo(votes: Votes, outcomes: Sequence[DemoOutcome]) -> Content:
    """The demo's report: a comparison for each number of votes, and the items people disagree on most."""
    seeds = len({outcome.run.seed for outcome in outcomes})
    by_votes = {
        number: [
            Outcome(one.run.method, one.run.seed, one.held_out, one.probs, one.curve)
            for one in outcomes
            if one.run.votes == number
        ]
        for number in DEMO_VOTES
    }
    comparisons = tuple(
        compare_methods(votes, runs, DEMO_METHODS, f"{number} votes per item") for number, runs in by_votes.items()
    )
    return Content(
        title="Train on votes, not verdicts",
        summary=tuple(f"{comparison.title}: {in_words(comparison)}" for comparison in comparisons),
        data=(
            f"{votes.n_items:,} words and emoticons, each rated by ten people (Hutto and Gilbert 2014), "
            f"in {votes.n_classes} classes.",
            f"{counted(seeds, 'seed')}; each holds out {HELD_OUT:.0%} of the items and scores against all ten votes. "
            "With the same seed, methods share split, initial weights and order: only the labels differ.",
            f"A small network on character n-grams, scored after its last epoch. {least_p(seeds)}",
        ),
        classes=votes.classes,
        comparisons=comparisons,
        examples_title=f"Where people disagree most (held-out items; models of {DEMO_VOTES[-1]} votes, first seed)",
        examples=hardest_items(votes, by_votes[DEMO_VOTES[-1]]),
        version=__version__,
    )


@cache
def _demo_data():  # type: ignore[no-untyped-def]
    """Votes and hashed texts, loaded once per process."""
    import torch

    from votewise.models import hash_ngrams

    votes = load_vader()
    return votes, torch.from_numpy(hash_ngrams(votes.item_ids.tolist()))
