"""Everything the golden tests take from inside votewise: when names move, only this file follows them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from paper_runs import named_runs, paper_material, paper_record, suite_runs, tiny_material, write_store
from votewise import Votes, read_votes
from votewise.cli.main import COMMANDS, load_command
from votewise.cli.main import main as main
from votewise.data import Dataset, InputSource, Prepared, join_inputs, open_features, open_images, open_texts, prepare
from votewise.data.images import ImageArrays
from votewise.experiments.defaults import default_recipe
from votewise.experiments.grid import Grid
from votewise.experiments.run import Run, split_items, train_run
from votewise.models import default_model, find_model, hash_ngrams
from votewise.papers import same_target
from votewise.papers.work import paper_measurements
from votewise.records import RecordStore, RunRecord
from votewise.training import TrainConfig

CIFAR10H = "67743ebdf5655495cb43087cb2f84e255638a5561ba4970c54a8b7fff4619e51"  # checksum of images, labels and counts
N_IMAGES = 10_000

Strings = dict[str, str]


# --- the command line


def command_options() -> dict[str, dict[str, Any]]:
    """Each command's arguments and options with their defaults."""
    return {
        name: {"/".join([*each.opts, *each.secondary_opts]): _default(each) for each in load_command(name).params}
        for name in COMMANDS
    }


def _default(parameter: Any) -> Any:
    default = parameter.default
    if parameter.required:
        return "<required>"
    return default if isinstance(default, (bool, int, float, str)) else None if default is None else str(default)


@contextmanager
def cifar10h_as(material: Any) -> Iterator[None]:
    """CIFAR-10H as these data, for commands that would read the released files."""
    images = ImageArrays(None, material.inputs)
    data = Dataset("cifar10h", images, material.votes, material.checksum, material.labels)
    with patch.object(same_target, "PAPER", replace(same_target.PAPER, datasets={"cifar10h": lambda _: data})):
        yield


# --- the paper's runs


def cifar10h_without_images() -> Prepared:
    """The size and the checksum of CIFAR-10H, all that its runs' ids depend on."""
    votes = Votes.from_counts(np.tile(np.eye(10, dtype=np.int64) * 50 + 1, (N_IMAGES // 10, 1)))
    pixels = np.broadcast_to(np.zeros(1, np.uint8), (N_IMAGES, 32, 32, 3))
    return Prepared("cifar10h", "images", CIFAR10H, pixels, votes, votes.probs.argmax(axis=1))


def paper_ids(suite: str, precision: str) -> dict[str, Strings]:
    """The ids of a suite's runs, of what is measured of each, and of the barriers between two."""
    material, paper = cifar10h_without_images(), same_target.PAPER
    runs = named_runs(suite, tiny_material(material) if suite == "tiny" else material, precision=precision)
    measured = paper_measurements(paper, runs, paper.find_suites(suite)[0].plan)
    keys = {each: " | ".join(_paper_key(runs[run]) for run in each.runs) for each in measured}
    return {
        "runs": {_paper_key(name): run.id for run, name in runs.items()},
        "diagnoses": {keys[each]: each.id for each in measured if len(each.runs) == 1},
        "barriers": {keys[each]: each.id for each in measured if len(each.runs) > 1},
    }


def _paper_key(run: Any) -> str:
    votes = "all votes" if run["votes"] is None else f"{run['votes']} votes"
    return f"{run['method']}, {votes}, kept {run['hold']}, seed {run['seed']}"


def write_one_paper_run(folder: Path) -> Prepared:
    """One finished run of CIFAR-10H in a folder, so that no time needs to be measured; returns the data."""
    material = cifar10h_without_images()
    record = paper_record(suite_runs("all", material)[0], material)
    kind = {"device_kind": "cpu", "device": "one"}
    RecordStore(folder).write(replace(record, environment=kind, timing={"seconds": 1000.0, "at_once": 1.0}))
    return material


def write_paper_runs(folder: Path) -> Prepared:
    """Three seeds of the paper's runs with made-up numbers, and everything measured of them; returns the data."""
    material = paper_material()
    write_store(RecordStore(folder), material, seeds=3)
    write_store(RecordStore(folder), material, seeds=1, suite="mixup")
    return material


def write_trained_paper_runs(folder: Path) -> Prepared:
    """The paper's main runs on two seeds in fp32 with made-up numbers; returns the data."""
    material = paper_material()
    for config in suite_runs("main", material, seeds=2):
        RecordStore(folder).write(paper_record(config, material))
    return material


# --- runs of users' own data


def comparison_ids(votes: Path, inputs: Path, kind: str) -> Strings:
    """The ids of the runs that `compare` makes of files, with its own defaults and at the best epoch with others."""
    read = read_votes(votes)
    methods = ("soft", "multipass", "sls")
    model = find_model(default_model(kind), kind)
    material = prepare(join_inputs(read, _open(inputs, kind, read), name=votes.stem), model)
    changed = default_recipe(material, epochs=7, batch_size=16, learning_rate=3e-3, augment=False)
    grids = {
        "defaults": (Grid(methods, range(2), folds=5), default_recipe(material)),
        "changed": (Grid(methods, range(2), held_out=0.3, selected=0.1), changed),
    }
    return {
        f"{kind}, {name}: {run.method}, seed {run.seed}": run.id
        for name, (grid, recipe) in grids.items()
        for run in grid.runs(material, recipe)
    }


def _open(inputs: Path, kind: str, votes: Votes) -> InputSource:
    if kind == "images":
        return open_images(inputs, voted=votes.item_ids)
    return open_features(inputs) if kind == "features" else open_texts(inputs)


def write_made_up_runs(folder: Path) -> None:
    """Finished runs under two conditions, one that diverged and one that cannot be read; numbers of no model."""
    rng, store = np.random.default_rng(11), RecordStore(folder)
    votes = Votes.from_counts(rng.multinomial(6, [0.5, 0.3, 0.2], size=40), classes=["cat", "dog", "bird"])
    material = Prepared("pets", "features", "d" * 64, np.zeros((40, 2), np.float32), votes)
    recipe = TrainConfig(epochs=4, batch_size=16)
    for few in (None, 3):
        for method in ("soft", "sls", "majority"):
            for seed in range(4 if few is None else 2):
                config = Run("pets", "d" * 64, method, seed, recipe, "mlp", votes=few)
                store.write(_made_up(config, material, rng))
    failed = Run("pets", "d" * 64, "sls", 9, recipe, "mlp")
    store.write(RunRecord(config=failed.to_dict(), status="failed", failure="The loss became NaN in epoch 2."))
    (folder / ("f" * 32)).mkdir()
    (folder / ("f" * 32) / "record.json").write_text("{}\n")


def _made_up(config: Run, material: Prepared, rng: np.random.Generator) -> RunRecord:
    rows, epochs = split_items(config, material).held_out, config.recipe.epochs
    scores = ("soft_nll", "kl", "soft_brier", "accuracy", "accuracy_majority", "ece", "ece_floor", "smooth_ece")
    numbers = {"best_epoch": float(rng.integers(1, epochs + 1))}
    for at in ("best", "last"):
        numbers |= {f"{name}_{at}": float(rng.random()) for name in (*scores, "entropy_correlation")}
    numbers["entropy_correlation_last"] = float("nan") if config.seed == 1 else 0.25
    logits = {f"{at}_logits": rng.normal(size=(len(rows), 3)).astype(np.float32) for at in ("best", "last")}
    return RunRecord(
        config=config.to_dict(),
        status="done",
        curves={
            name: rng.random(epochs)
            for name in ("train_loss", "soft_nll", "accuracy", "ece", "entropy_correlation")
        },
        numbers=numbers,
        arrays={"held_out": rows, **logits, "train_soft_nll": rng.random(40 - len(rows)).astype(np.float16)},
        environment={"votewise": "0", "python": "3", "device_kind": "cpu", "device": "a fast one"},
        timing={"seconds": 2.5 + config.seed, "at_once": 1.0},
    )  # fmt: skip


# --- what a CPU computes, bit for bit

_IMAGES = TrainConfig(
    epochs=3, batch_size=16, optimizer="sgd", learning_rate=0.05, weight_decay=5e-4, crop=2, flip=True,
    mean=(0.5, 0.4, 0.3), std=(0.25, 0.2, 0.3),
)  # fmt: skip
_TABLES = TrainConfig(epochs=4, batch_size=16)
_TRAININGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "soft on features": ("soft", "mlp", {}),
    "sls on features, few votes, best of a tenth": (
        "sls",
        "mlp",
        {"votes": 3, "options": (("hold", 2),), "selected": 0.1},
    ),
    "multipass on images": ("multipass", "small-cnn", {}),
    "majority on images": ("majority", "small-cnn", {}),
    "soft on texts": ("soft", "ngram", {}),
}
TRAININGS = tuple(_TRAININGS)


def trained_arrays(name: str) -> dict[str, np.ndarray[Any, Any]]:
    """What one small run gives on the CPU: losses, and logits of the held-out items at the best and last epoch."""
    method, model, changes = _TRAININGS[name]
    rng = np.random.default_rng(21)
    votes = Votes.from_counts(rng.multinomial(6, [0.4, 0.3, 0.2, 0.1], size=60))
    forms: dict[str, tuple[str, TrainConfig, Any]] = {
        "mlp": ("features", _TABLES, rng.normal(size=(60, 5)).astype(np.float32)),
        "small-cnn": ("images", _IMAGES, rng.integers(0, 256, size=(60, 12, 12, 3), dtype=np.uint8)),
        "ngram": ("text", _TABLES, hash_ngrams([f"item {row} of {row % 7}" for row in range(60)])),
    }
    kind, recipe, inputs = forms[model]
    material = Prepared("toy", kind, "e" * 64, inputs, votes)
    record = train_run(Run("toy", "e" * 64, method, 4, recipe, model, **changes), material)
    return {
        "losses": record.curves["train_loss"],
        "best logits": record.arrays["best_logits"],
        "last logits": record.arrays["last_logits"],
    }
