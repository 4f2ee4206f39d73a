"""What arXiv 2605.20642 trains and measures: its comparisons, its recipe, and what is done beyond it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from votewise.experiments.measure import FULL, SLICES, Plan
from votewise.papers.suites import Suite, Where

if TYPE_CHECKING:
    from votewise.training import TrainConfig

# The methods that it studies most closely.
BOTH = ("sls", "soft")
SWEEP = (5, 10, 25, 50)
HOLDS = (1, 5, 10, 50)

# Every seed splits the same 10,000 images anew.
HELD_OUT = 0.2

# Variants of mixup: the method that is mixed, and alpha. The paper gives neither; `choices` shows why its mixup is the
# first.
MIXUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "mixup": ("mixup", {"mixup": 1.0}),
    **{f"mixup-{alpha}": ("mixup", {"mixup": alpha}) for alpha in (0.2, 0.3, 0.4, 0.5)},
    **{f"mixup-soft-{alpha}": ("soft", {"mixup": alpha}) for alpha in (0.2, 0.4, 1.0)},
}


def paper_recipe() -> TrainConfig:
    """Section 4 of the paper; what it leaves open was settled by measurement (docs/reproduction.md)."""
    from votewise.training import TrainConfig

    return TrainConfig(
        epochs=200, batch_size=128, optimizer="sgd", learning_rate=0.1, weight_decay=5e-4, momentum=0.9, crop=4,
        flip=True, mean=(0.4914, 0.4822, 0.4465), std=(0.2470, 0.2435, 0.2616),
    )  # fmt: skip


def tiny_suite_recipe() -> TrainConfig:
    """The same for a few epochs."""
    return replace(paper_recipe(), epochs=12)


suite = partial(Suite, "cifar10h", "resnet18", paper_recipe, variants=MIXUPS, held_out=HELD_OUT)

SUITES = {
    # Soft labels, SLS and the usual baselines (Tables 2, 4, 5, 8).
    "main": suite(("soft", "sls", "majority", "label-smoothing", "mixup"), 10),
    # The hard deliveries and their controls (Tables 3, 4, 7, 9).
    "family": suite(("sls", "multipass", "deterministic-control", "shuffled-sls"), 5),
    # Few votes per item (Tables 1, 6).
    "sweep": suite(("soft", "sls", "multipass", "deterministic-control"), 5, SWEEP),
    # SLS whose labels are kept for some epochs (Figure 4).
    "resampling": suite(("sls",), 5, holds=HOLDS),
    # Few votes per item: smoothed shares beside the paper's methods.
    "sparse": suite(
        ("soft", "sls", "multipass", "soft-smoothed", "dirichlet", "dirichlet-fitted"), 5, (5, 10), beyond=True
    ),
    # Few votes per item: priors inside multipass, beside the smoothed shares.
    "priors": suite(
        ("multipass-prior", "multipass-crossfit", "soft-smoothed", "dirichlet-fitted"), 10, (5, 10), beyond=True
    ),
    # Mixup's alpha and targets, neither of which the paper gives.
    "mixup": suite(tuple(MIXUPS), 1, beyond=True),
    # The whole pipeline on a small subset of the data, in minutes on a CPU; measured to see that everything works.
    "tiny": Suite(
        "cifar10h", "small-cnn", tiny_suite_recipe, ("soft", "sls", "multipass", "majority"), 2, held_out=HELD_OUT,
        beyond=True, items=2000, outliers=1000,
        plan=Plan({"best": (FULL,)}, ood=True, features=True, trace_error=0.1),
    ),
}  # fmt: skip

# The slice of high disagreement that fits the paper's numbers best (see `choices`); some runs measure all candidates.
SLICE = "top-5%"


def suite_measurement_plan(run: Where) -> Plan:
    """What is measured of a run: curvature (Tables 4, 6), OOD detection (7 to 9), features and maps (Figures 9, 12).

    The paper measures at the best epoch alone; of three seeds of soft labels and SLS the last epoch and one common to
    all are measured, too. With few votes it prints λmax alone, so a rougher trace will do.
    """
    if run["hold"] != 1:
        return Plan()
    both, closely = run["method"] in BOTH, run["seed"] < 3
    if run["votes"] is not None:
        return Plan({"best": (FULL, SLICE)}, trace_error=0.1) if both else Plan()
    if both and closely:
        return Plan({"best": (FULL, *SLICES), "last": (FULL,), "common": (FULL,)}, ood=True, features=True)
    in_table_4 = closely and run["method"] in ("multipass", "deterministic-control", "shuffled-sls")
    return Plan({"best": (FULL, "top-10%", SLICE)} if both or in_table_4 else {}, ood=True, features=both)
