"""The runs of arXiv 2605.20642 by name: which methods, votes, periods and seeds each of its comparisons needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise._checks import check_choice
from votewise.datasets import OutlierImages
from votewise.experiments.material import Material
from votewise.experiments.run import RunConfig
from votewise.papers.same_target.evidence import Run

if TYPE_CHECKING:
    from votewise.training import TrainConfig


@dataclass(frozen=True)
class Suite:
    """One comparison.

    Attributes:
        methods: by name.
        seeds: how many, from 0; suites share the runs of their common seeds.
        votes: numbers of votes per item, each its own condition; None for all.
        holds: epochs a drawn label is kept, likewise.
    """

    methods: tuple[str, ...]
    seeds: int
    votes: tuple[int | None, ...] = (None,)
    holds: tuple[int, ...] = (1,)


SUITES: dict[str, Suite] = {
    # Soft labels, SLS and the usual baselines (Tables 2, 4, 5, 8).
    "main": Suite(
        ("soft", "sls", "majority", "label-smoothing", "mixup"),
        10,
    ),
    # The hard deliveries and their controls (Tables 3, 4, 7, 9).
    "family": Suite(
        ("sls", "multipass", "deterministic-control", "shuffled-sls"),
        5,
    ),
    # Few votes per item (Tables 1, 6).
    "sweep": Suite(
        ("soft", "sls", "multipass", "deterministic-control"),
        5,
        votes=(5, 10, 25, 50),
    ),
    # SLS whose labels are kept for some epochs (Figure 4).
    "resampling": Suite(("sls",), 5, holds=(1, 5, 10, 50)),
}

# Variants of mixup by name: the method that is mixed, and alpha. The paper gives neither; `choices` shows why its mixup
# is taken to be the first.
MIXUPS: dict[str, tuple[str, float]] = {
    "mixup": ("mixup", 1.0),
    **{f"mixup-{alpha}": ("mixup", alpha) for alpha in (0.2, 0.3, 0.4, 0.5)},
    **{f"mixup-soft-{alpha}": ("soft", alpha) for alpha in (0.2, 0.4, 1.0)},
}

# Beyond the paper: what else might help with few votes, and what its mixup may have been.
BEYOND: dict[str, Suite] = {
    # Few votes per item: smoothed shares beside the paper's methods.
    "sparse": Suite(
        ("soft", "sls", "multipass", "soft-smoothed", "dirichlet", "dirichlet-fitted"),
        5,
        votes=(5, 10),
    ),
    # Mixup's alpha and targets, neither of which the paper gives.
    "mixup": Suite(tuple(MIXUPS), 1),
}


def all_runs(suites: Sequence[Suite] = tuple(SUITES.values())) -> tuple[Run, ...]:
    """Every run of some suites, each once; of all of the paper's if none are named."""
    runs = (
        Run(method, votes, hold, seed)
        for suite in suites
        for method in suite.methods
        for votes in suite.votes
        for hold in suite.holds
        for seed in range(suite.seeds)
    )
    return tuple(dict.fromkeys(runs))


# The whole pipeline on a small subset of the data, in minutes on a CPU.
TINY = Suite(("soft", "sls", "multipass", "majority"), 2)
_TINY_ITEMS, _TINY_EPOCHS, _TINY_OUTLIERS = 2000, 12, 1000


def suite_names() -> tuple[str, ...]:
    """Every name that `find_suites` takes."""
    return (*SUITES, "all", *BEYOND, "tiny")


def find_suites(name: str) -> tuple[Suite, ...]:
    """The suites of a name; "all" is every one of the paper's."""
    check_choice("the suite", name, suite_names())
    if name == "tiny":
        return (TINY,)
    return tuple(SUITES.values()) if name == "all" else ({**SUITES, **BEYOND}[name],)


def paper_recipe() -> TrainConfig:
    """Section 4 of the paper; what it leaves open was settled by measurement (docs/reproduction.md)."""
    from votewise.training import TrainConfig

    return TrainConfig(
        epochs=200,
        batch_size=128,
        optimizer="sgd",
        learning_rate=0.1,
        weight_decay=5e-4,
        momentum=0.9,
        crop=4,
        flip=True,
        mean=(0.4914, 0.4822, 0.4465),
        std=(0.2470, 0.2435, 0.2616),
    )


def run_of(config: Mapping[str, Any]) -> Run:
    """The run of the paper, or of the suites beyond it, that a stored config describes."""
    names = {way: name for name, way in MIXUPS.items()}
    name = names.get((config["method"], config["recipe"]["mixup"]), config["method"])
    return Run(name, config["votes"], config["hold"], config["seed"])


def suite_runs(name: str, material: Material, *, seeds: int | None = None, precision: str = "fp32") -> list[RunConfig]:
    """Every run of a suite once, ordered by seed, so that interrupted work has complete seeds.

    Args:
        name: of the suite.
        material: CIFAR-10H; for "tiny" what `tiny_material` makes of it.
        seeds: how many; each suite's own number if left out.
        precision: of training.
    """
    recipe, model = replace(paper_recipe(), precision=precision), "resnet18"
    if name == "tiny":
        recipe, model = replace(recipe, epochs=_TINY_EPOCHS), "small-cnn"
    runs = [run for suite in find_suites(name) for run in _runs(suite, material, recipe, model, seeds)]
    return sorted(dict.fromkeys(runs), key=lambda run: run.seed)


def tiny_material(material: Material) -> Material:
    """The first items of the data."""
    return material.take(np.arange(_TINY_ITEMS))


def tiny_outliers(outliers: OutlierImages) -> OutlierImages:
    """The first OOD images."""
    return replace(outliers, images=outliers.images[:_TINY_OUTLIERS], labels=outliers.labels[:_TINY_OUTLIERS])


def _runs(suite: Suite, material: Material, recipe: TrainConfig, model: str, seeds: int | None) -> Iterator[RunConfig]:
    for seed in range(suite.seeds if seeds is None else seeds):
        for votes in suite.votes:
            for hold in suite.holds:
                for method in suite.methods:
                    base, alpha = MIXUPS.get(method, (method, 0.0))
                    mixed = replace(recipe, mixup=alpha)
                    yield RunConfig(material.name, material.checksum, base, seed, mixed, model, votes=votes, hold=hold)
