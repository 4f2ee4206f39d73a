"""What helps when votes are few, on several text data sets: `python benchmarks/few_votes.py [--seeds 5] [--toy]`.

The demo's words, and ChaosNLI and POPQUORN if they are in --data ($VOTEWISE_DATA if left out) as released. The demo's
network is trained on few votes per item and scored on held-out items against all their votes. Prints how much each
method gains over soft labels in soft NLL (mean over seeds, and seeds on which it is ahead), at the last and best epoch.
This takes some minutes on 2 cores; --toy trains on a few items for one epoch, to see that all runs.
"""

from __future__ import annotations

import argparse
import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from votewise import Votes, metrics, read_votes
from votewise.data import data_folder, load_vader
from votewise.delivery.methods import find_method
from votewise.experiments.backends.processes import in_processes
from votewise.models import NgramNet, hash_ngrams
from votewise.training import TrainConfig, build_model, predict_probs, train_classifier

METHODS = ("soft", "multipass", "sls", "soft-smoothed", "dirichlet-fitted")
VOTES, DROPOUTS = (3, 5), (0.2, 0.5)
HELD_OUT = 0.2

CHAOS = ("chaosNLI_snli.jsonl", "chaosNLI_mnli_m.jsonl")
POPQUORN = "popquorn_offensiveness.csv"


class Size(NamedTuple):
    """How much to train: epochs, the first items of each source (None for all), and processes (None for all cores)."""

    epochs: int
    items: int | None
    processes: int | None


FULL, TOY = Size(20, None, None), Size(1, 200, 1)


class Job(NamedTuple):
    """One run: the source of its texts, votes per item, dropout, method, seed and size."""

    source: Path | None
    votes: int
    dropout: float
    method: str
    seed: int
    size: Size


def sources(folder: Path) -> dict[str, Path | None]:
    """Files of texts by name; None for the words that are part of votewise."""
    files = {"ChaosNLI SNLI": CHAOS[0], "ChaosNLI MNLI": CHAOS[1], "POPQUORN": POPQUORN}
    there = {name: folder / file for name, file in files.items() if (folder / file).is_file()}
    return {"words": None, **there}


@cache
def material(source: Path | None, items: int | None) -> tuple[Votes, Tensor]:
    """Votes and hashed texts of the first items, loaded once per process."""
    votes = load_vader().votes if source is None else read_votes(source)
    votes = votes.take(np.arange(votes.n_items)[:items])
    texts = {} if source is None else texts_of(source)
    return votes, torch.from_numpy(hash_ngrams([texts.get(item, item) for item in votes.item_ids.tolist()]))


def texts_of(source: Path) -> dict[str, str]:
    """Texts by item."""
    if source.suffix == ".csv":
        table = pd.read_csv(source, dtype=str)
        return dict(zip(table["instance_id"], table["text"], strict=True))
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    return {row["uid"]: f"{row['example']['premise']} # {row['example']['hypothesis']}" for row in rows}


def nll(job: Job) -> tuple[float, float]:
    """Soft NLL after the last epoch and at the best."""
    votes, grams = material(job.source, job.size.items)
    kept, held_out = votes.split(HELD_OUT, seed=job.seed)
    given = votes.take(kept).subsample(job.votes, seed=job.seed, replace=False)
    model = build_model(lambda: NgramNet(votes.n_classes, dropout=job.dropout), seed=job.seed)
    curve: list[float] = []
    train_classifier(
        model,
        grams[kept],
        find_method(job.method).deliver(given, seed=job.seed),
        TrainConfig(epochs=job.size.epochs),
        seed=job.seed,
        on_epoch=lambda *_: curve.append(
            metrics.soft_nll(votes.probs[held_out], predict_probs(model, grams[held_out]))
        ),
    )
    return curve[-1], min(curve)


def main() -> None:
    """Train all and print the gains."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--seeds", type=int, help="seeds per method; 5 if left out")
    parser.add_argument("--toy", action="store_true", help="a few items for one epoch, to see that all runs")
    arguments = parser.parse_args()
    size, seeds = (TOY, arguments.seeds or 1) if arguments.toy else (FULL, arguments.seeds or 5)
    found = sources(arguments.data)
    if len(found) == 1:
        print(f"neither ChaosNLI nor POPQUORN is in {arguments.data}: the demo's words alone", flush=True)
    rows = [(name, source, votes, dropout) for name, source in found.items() for votes in VOTES for dropout in DROPOUTS]
    jobs = [Job(*row[1:], method, seed, size) for row in rows for method in METHODS for seed in range(seeds)]
    scores_of = np.zeros((len(jobs), 2))
    for place, future in in_processes(nll, jobs, jobs=size.processes):
        scores_of[place] = future.result()
    table = scores_of.reshape(len(rows), len(METHODS), seeds, 2)
    print(f"seeds: {seeds}; gain over soft labels (seeds ahead) of {' / '.join(METHODS[1:])}")
    for (name, _, votes, dropout), scores in zip(rows, table, strict=True):
        for when, values in (("last", scores[..., 0]), ("best", scores[..., 1])):
            soft, *others = values
            gains = " / ".join(f"{(soft - other).mean():+.3f} ({(other < soft).sum()})" for other in others)
            print(f"{name}, {votes} votes, dropout {dropout}, {when} epoch: soft {soft.mean():.3f}, gain {gains}")


if __name__ == "__main__":
    main()
