"""Finished runs without training: models that know the votes, some better than others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from votewise import Votes, metrics
from votewise.records import ItemData, Results, RunRecord, results_of

DATA = "c" * 64
CLASSES = ("cat", "dog", "bird")


def some_votes(n: int = 50, *, seed: int = 0) -> Votes:
    rng = np.random.default_rng(seed)
    counts = np.stack([rng.multinomial(6, shares) for shares in rng.dirichlet([1, 1, 1], size=n)])
    return Votes.from_counts(counts, classes=list(CLASSES), item_ids=[f"item {row}" for row in range(n)])


def predictions(votes: Votes, method: str, seed: int, weight: float, *, share: float = 0.4) -> tuple[Any, Any]:
    """Held-out rows (m,), and (m, K) predictions that are `weight` people's shares and the rest noise."""
    held_out = votes.split(share, seed=seed)[1]
    noise = np.random.default_rng([seed, len(method)]).dirichlet([1, 1, 1], size=len(held_out))
    probs = weight * votes.probs[held_out] + (1 - weight) * noise
    return held_out, probs / probs.sum(axis=1, keepdims=True)


def finished_run(
    votes: Votes, method: str, seed: int, weight: float = 0.6, /, *, numbers: Mapping[str, float] | None = None,
    **changes: Any,
) -> RunRecord:  # fmt: skip
    """A record as training leaves it; changes of its config by name."""
    held_out, probs = predictions(votes, method, seed, weight)
    people, labels = votes.probs[held_out], votes.probs[held_out].argmax(axis=1)
    scores = {
        "soft_nll": metrics.soft_nll(people, probs),
        "accuracy": metrics.accuracy(labels, probs),
        "accuracy_majority": metrics.accuracy(labels, probs),
        "ece": metrics.ece(labels, probs),
        "ece_floor": 0.1,
        "vote_ece": metrics.vote_ece(people, probs),
        "vote_ece_floor": 0.05,
        "entropy_correlation": metrics.entropy_correlation(people, probs),
    } | dict(numbers or {})
    config = {
        "dataset": "pets", "data": DATA, "method": method, "seed": seed, "votes": None, "hold": 1, "held_out": 0.4,
        "recipe": {"epochs": 3, "mixup": 0.0}, "selected": 0.0, "model": "mlp",
    }  # fmt: skip
    logits = np.log(probs)
    return RunRecord(
        config=config | changes,
        status="done",
        numbers={f"{name}_{at}": value for name, value in scores.items() for at in ("last", "best")},
        curves={"soft_nll": np.array([2.0 + seed, 1.5, scores["soft_nll"]])},
        arrays={"held_out": held_out, "last_logits": logits, "best_logits": logits},
        environment={"device": "an abacus"},
    )


def results_for(votes: Votes, weights: Mapping[str, float], /, *, seeds: int = 4, **changes: Any) -> Results:
    """The results of methods of different quality."""
    return results_of(
        finished_run(votes, method, seed, weight, **changes)
        for seed in range(seeds)
        for method, weight in weights.items()
    )


def items_of(votes: Votes, **parts: Any) -> dict[str, ItemData]:
    return {DATA: ItemData("pets", votes, **parts)}
