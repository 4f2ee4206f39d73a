"""What the paper computes of its runs beyond what was recorded of each; all of it needs the votes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from votewise import metrics
from votewise.data import Prepared
from votewise.experiments.run import softmax
from votewise.papers import derived
from votewise.papers.paper import Numbers, Series
from votewise.papers.reduce import TRAINING_LOSSES, PaperRun
from votewise.papers.same_target.suites import HELD_OUT
from votewise.records import Results


def paper_numbers_of_run(run: PaperRun, data: Prepared | None) -> Iterator[tuple[Numbers, Series]]:
    """Calibration of every run; reliability and gradient variance of the runs of which the paper shows them."""
    if data is None:
        return
    record, diagnosis = run.record, run.diagnosis
    people = data.votes.take(record.arrays["held_out"])
    yield derived.derive_scaled_nll(record, data), {}
    for at in ("best", "last"):
        yield derived.derive_calibration(people, softmax(record.arrays[f"{at}_logits"]), at), {}
    if (run.name["votes"], run.name["hold"]) == (None, 1):
        yield derived.derive_reliability(record, data)
    if run.name["method"] == "sls" and diagnosis is not None and "held_out_square_length" in diagnosis.arrays:
        seed: Any = run.name["seed"]
        yield derived.derive_gradient_variance(seed, diagnosis.arrays["held_out_square_length"], people.probs)


def paper_numbers_of_results(results: Results, row: int, data: Prepared) -> Iterator[Numbers]:
    """What can be computed of one run, and of one against soft labels on the same votes, from what results keep.

    Args:
        results: all runs.
        row: the row of the run.
        data: CIFAR-10H.
    """
    run: Any = results.run(row)
    absent = (None,) * len(results)
    predicted, losses = results.predicted.get("best", absent), results.series.get(TRAINING_LOSSES, absent)

    def lacks(number: str) -> bool:
        return number not in results.numbers or math.isnan(results.numbers[number][row])

    train, held_out = data.votes.split(HELD_OUT, seed=run["seed"], strata=data.hard_labels)
    people, log_probs = data.votes.take(held_out), predicted[row]
    if log_probs is not None and lacks("vote_ece_floor_best"):
        yield derived.derive_calibration(people, softmax(log_probs), "best")
    if run["votes"] is None or run["method"] == "soft":
        return
    newest = "js/spearman_of_other_redraw_given_entropy"
    for soft in results.rows({**run, "method": "soft"}):
        log_probs_of_soft, loss_of_soft, loss = predicted[soft], losses[soft], losses[row]
        found: dict[str, float] = {}
        if log_probs is not None and log_probs_of_soft is not None and lacks(newest):
            scores = [metrics.soft_nll_per_item(people.probs, softmax(one)) for one in (log_probs_of_soft, log_probs)]
            gain = scores[0] - scores[1]
            found |= derived.derive_improvement_by_redraw(gain, people, run["votes"], run["seed"])
        if loss is not None and loss_of_soft is not None and lacks(f"train/{newest}"):
            gain = loss_of_soft.astype(np.float64) - loss.astype(np.float64)
            trained = data.votes.take(train)
            on_trained = derived.derive_improvement_by_redraw(gain, trained, run["votes"], run["seed"])
            found |= {f"train/{name}": value for name, value in on_trained.items()}
        yield {name: value for name, value in found.items() if lacks(name)}
