"""A student of a teacher trained on votes: `python benchmarks/teacher.py [--seeds 10] [--toy]`.

The demo's words in four parts: a teacher is trained on the votes of the first (soft labels), students on the words of
the second, of which the teacher has seen nothing, each is scored on the third against all votes, and the fourth chooses
the epoch. Students get the teacher's predictions alone (as soft labels, or one draw an epoch by SLS), three votes an
item alone (as soft labels, or multipass), or both: multipass with the teacher as prior, whose weight and temperature
are fitted to the three votes. Prints soft NLL at the chosen and the last epoch, the mean over seeds, and the paired
difference of each from soft labels of the teacher. A minute on 2 cores; --toy trains on a few words for one epoch.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from votewise import SLS, Delivery, Multipass, Soft, Targets, Votes, fit_prior, metrics
from votewise.data import load_vader
from votewise.experiments.backends.processes import in_processes
from votewise.models import NgramNet, hash_ngrams
from votewise.statistics import Sample
from votewise.training import TrainConfig, build_model, predict_probs, train_classifier

FEW = 3
STUDENTS = (
    "soft labels of the teacher",
    "SLS from the teacher",
    "soft labels of three votes",
    "multipass on three votes",
    "multipass, the teacher as prior",
)


class Job(NamedTuple):
    """The teacher and students of a seed: every how many words, and epochs."""

    seed: int
    step: int
    epochs: int


class Material(NamedTuple):
    """Votes and hashed words of one part."""

    votes: Votes
    grams: Tensor


class Student(NamedTuple):
    """Soft NLL at the chosen and the last epoch, and the model after the last."""

    chosen: float
    last: float
    model: nn.Module


def parts_of(votes: Votes, seed: int) -> list[Material]:
    """Four parts: for the teacher, for students, to score on, to choose the epoch by."""
    fold = votes.folds(8, seed=seed)
    grams = torch.from_numpy(hash_ngrams(votes.item_ids.tolist()))
    rows = [np.flatnonzero(np.isin(fold, folds)) for folds in ((0, 1, 2), (3, 4, 5), (6,), (7,))]
    return [Material(votes.take(each), grams[each]) for each in rows]


def train(delivery: Delivery, given: Material, chosen: Material, scored: Material, job: Job) -> Student:
    """Train a model on the words of one part, score it on another, and choose the epoch on a third."""
    model = build_model(lambda: NgramNet(len(delivery.classes)), seed=job.seed)
    curve: list[tuple[float, ...]] = []

    def score(*_: float) -> None:
        nll = [metrics.soft_nll(part.votes.probs, predict_probs(model, part.grams)) for part in (chosen, scored)]
        curve.append(tuple(nll))

    train_classifier(model, given.grams, delivery, TrainConfig(epochs=job.epochs), seed=job.seed, on_epoch=score)
    return Student(min(curve)[1], curve[-1][1], model)


def scores_of(job: Job) -> list[tuple[float, float]]:
    """Soft NLL at the chosen and the last epoch, of the teacher and of each student."""
    votes = load_vader().votes
    first, second, scored, chosen = parts_of(votes.take(np.arange(0, votes.n_items, job.step)), job.seed)
    short = job._replace(epochs=max(1, job.epochs // 2))  # a teacher that overfits tells little
    teacher = train(Soft(first.votes), first, chosen, scored, short)
    probs = np.asarray(predict_probs(teacher.model, second.grams), dtype=np.float64)
    told = Targets(probs, second.votes.item_ids, second.votes.classes, "a teacher")
    few = second.votes.subsample(FEW, seed=job.seed, replace=False)
    prior = fit_prior(few, np.log(probs))
    students = (
        Soft(told),
        SLS(told, seed=job.seed),
        Soft(few),
        Multipass(few, seed=job.seed),
        Multipass(few, seed=job.seed, prior=prior.pseudo_votes),
    )
    everyone = [teacher, *(train(delivery, second, chosen, scored, job) for delivery in students)]
    return [(each.chosen, each.last) for each in everyone]


def main() -> None:
    """Train all and print the scores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, help="10 if left out")
    parser.add_argument("--jobs", type=int, help="processes; one per core if left out")
    parser.add_argument("--toy", action="store_true", help="a few words for one epoch, to see that all runs")
    arguments = parser.parse_args()
    seeds = arguments.seeds or (2 if arguments.toy else 10)
    jobs = [Job(seed, 50 if arguments.toy else 1, 1 if arguments.toy else 20) for seed in range(seeds)]
    table = np.zeros((seeds, 1 + len(STUDENTS), 2))
    for place, future in in_processes(scores_of, jobs, jobs=1 if arguments.toy else arguments.jobs):
        table[place] = future.result()
    print("| | chosen epoch | against soft labels of the teacher | last epoch | against soft labels of the teacher |")
    print("|---|---|---|---|---|")
    for row, name in enumerate(("teacher", *STUDENTS)):
        cells = [name]
        for at in range(2):
            apart = Sample(dict(enumerate(table[:, row, at] - table[:, 1, at])))
            ahead = f"{apart.mean:+.4f} ± {apart.error:.4f}, below on {(apart.values < 0).sum()} of {seeds}"
            cells += [f"{table[:, row, at].mean():.4f}", "" if row == 1 else ahead]
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
