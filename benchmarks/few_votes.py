"""What helps when votes are few, on several text data sets: `python benchmarks/few_votes.py`, some minutes on 2 cores.

The demo's words, and ChaosNLI and POPQUORN if they are in --data ($VOTEWISE_DATA if left out) as released. The demo's
network is trained on few votes per item and scored on held-out items against all their votes. Prints how much each
method gains over soft labels in soft NLL (mean over seeds, and seeds on which it is ahead), at the last and best epoch.
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
from votewise.datasets import data_folder, load_vader
from votewise.experiments.catalog import find_method
from votewise.experiments.processes import in_processes
from votewise.models import NgramNet, hash_ngrams
from votewise.training import TrainConfig, build_model, predict_probs, train_classifier

METHODS = ("soft", "multipass", "sls", "soft-smoothed", "dirichlet-fitted")
VOTES, DROPOUTS = (3, 5), (0.2, 0.5)
EPOCHS, HELD_OUT = 20, 0.2

CHAOS = ("chaosNLI_snli.jsonl", "chaosNLI_mnli_m.jsonl")
POPQUORN = "popquorn_offensiveness.csv"


class Job(NamedTuple):
    """One run: the source of its texts, votes per item, dropout, method and seed."""

    source: Path | None
    votes: int
    dropout: float
    method: str
    seed: int


def sources(folder: Path) -> dict[str, Path | None]:
    """Files of texts by name; None for the words that are part of votewise."""
    files = {"ChaosNLI SNLI": CHAOS[0], "ChaosNLI MNLI": CHAOS[1], "POPQUORN": POPQUORN}
    there = {name: folder / file for name, file in files.items() if (folder / file).is_file()}
    return {"words": None, **there}


@cache
def material(source: Path | None) -> tuple[Votes, Tensor]:
    """Votes and hashed texts, loaded once per process."""
    votes = load_vader() if source is None else read_votes(source)
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
    votes, grams = material(job.source)
    kept, held_out = votes.split(HELD_OUT, seed=job.seed)
    given = votes.take(kept).subsample(job.votes, seed=job.seed, replace=False)
    model = build_model(lambda: NgramNet(votes.n_classes, dropout=job.dropout), seed=job.seed)
    curve: list[float] = []
    train_classifier(
        model,
        grams[kept],
        find_method(job.method).build(given, job.seed, 1),
        TrainConfig(epochs=EPOCHS),
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
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    rows = [
        (name, source, votes, dropout)
        for name, source in sources(arguments.data).items()
        for votes in VOTES
        for dropout in DROPOUTS
    ]
    jobs = [Job(*row[1:], method, seed) for row in rows for method in METHODS for seed in range(arguments.seeds)]
    found = np.zeros((len(jobs), 2))
    for place, future in in_processes(nll, jobs):
        found[place] = future.result()
    table = found.reshape(len(rows), len(METHODS), arguments.seeds, 2)
    print(f"{arguments.seeds} seeds; gain over soft labels (seeds ahead) of {' / '.join(METHODS[1:])}")
    for (name, _, votes, dropout), scores in zip(rows, table, strict=True):
        for when, values in (("last", scores[..., 0]), ("best", scores[..., 1])):
            soft, *others = values
            gains = " / ".join(f"{(soft - other).mean():+.3f} ({(other < soft).sum()})" for other in others)
            print(f"{name}, {votes} votes, dropout {dropout}, {when} epoch: soft {soft.mean():.3f}, gain {gains}")


if __name__ == "__main__":
    main()
