"""The runs and the printed numbers of arXiv 2605.20642, typed in a second time."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from votewise import InputError, Votes
from votewise.experiments.material import Material
from votewise.experiments.run import RunConfig
from votewise.papers.same_target import (
    PUBLISHED,
    SUITES,
    Line,
    Published,
    compare_with_paper,
    paper_recipe,
    suite_names,
    suite_runs,
    tiny_material,
)
from votewise.papers.same_target.diagnoses import barrier_pairs, common_epoch, plan_of
from votewise.papers.same_target.suites import find_suites, run_of
from votewise.records import RunRecord, run_id


@pytest.fixture(scope="module")
def material() -> Material:
    votes = Votes.from_counts(np.eye(10, dtype=np.int64)[np.arange(2000) % 10])
    return Material("cifar10h", "images", "c" * 64, np.zeros((2000, 32, 32, 3), np.uint8), votes, np.arange(2000) % 10)


@pytest.mark.parametrize(
    ("name", "runs"), [("main", 50), ("family", 20), ("sweep", 80), ("resampling", 20), ("all", 160), ("tiny", 8)]
)
def test_each_suite_has_as_many_runs_as_the_paper(material: Material, name: str, runs: int) -> None:
    configs = suite_runs(name, material)
    assert len({run_id(config.to_dict()) for config in configs}) == len(configs) == runs
    assert [config.seed for config in configs] == sorted(config.seed for config in configs)


def test_all_suites_together_share_their_common_runs(material: Material) -> None:
    everything = suite_runs("all", material)
    assert set(everything) == {config for name in SUITES for config in suite_runs(name, material)}
    assert Counter(config.method for config in everything) == {
        "soft": 10 + 20,
        "sls": 10 + 20 + 15,
        "multipass": 5 + 20,
        "deterministic-control": 5 + 20,
        "shuffled-sls": 5,
        "majority": 10,
        "label-smoothing": 10,
        "mixup": 10,
    }


def cells(configs: list[RunConfig]) -> Counter[tuple[str, int | None, int]]:
    return Counter((config.method, config.votes, config.hold) for config in configs)


def test_which_runs_the_suites_have(material: Material) -> None:
    main = ("soft", "sls", "majority", "label-smoothing", "mixup")
    assert cells(suite_runs("main", material)) == {(method, None, 1): 10 for method in main}
    family = ("sls", "multipass", "deterministic-control", "shuffled-sls")
    assert cells(suite_runs("family", material)) == {(method, None, 1): 5 for method in family}
    sweep = ("soft", "sls", "multipass", "deterministic-control")
    assert cells(suite_runs("sweep", material)) == {(method, k, 1): 5 for method in sweep for k in (5, 10, 25, 50)}
    assert cells(suite_runs("resampling", material)) == {("sls", None, period): 5 for period in (1, 5, 10, 50)}
    for name, seeds in (("main", 10), ("family", 5), ("sweep", 5), ("resampling", 5)):
        assert {config.seed for config in suite_runs(name, material)} == set(range(seeds))


def test_the_recipe_of_the_paper(material: Material) -> None:
    recipe = paper_recipe()
    assert (recipe.epochs, recipe.batch_size, recipe.optimizer, recipe.learning_rate) == (200, 128, "sgd", 0.1)
    assert (recipe.momentum, recipe.weight_decay, recipe.mixup, recipe.crop, recipe.flip) == (0.9, 5e-4, 0.0, 4, True)
    for config in suite_runs("all", material, precision="bf16"):
        assert (config.dataset, config.data, config.model) == ("cifar10h", material.checksum, "resnet18")
        assert (config.held_out, config.selected) == (0.2, 0.0)
        mixed = 1.0 if config.method == "mixup" else 0.0
        assert config.recipe == replace(recipe, precision="bf16", mixup=mixed)


def test_seeds_asked_for(material: Material) -> None:
    assert cells(suite_runs("main", material, seeds=2))["soft", None, 1] == 2
    assert len(suite_runs("all", material, seeds=1)) == 5 + 3 + 16 + 3
    assert set(suite_runs("main", material, seeds=3)) <= set(suite_runs("main", material))
    more = suite_runs("family", material, seeds=12)
    assert {config.seed for config in more} == set(range(12))


def test_the_tiny_suite(material: Material) -> None:
    small = tiny_material(material)
    assert small.votes.n_items == 2000
    assert small.checksum != material.checksum
    runs = suite_runs("tiny", small)
    assert cells(runs) == {(method, None, 1): 2 for method in ("soft", "sls", "multipass", "majority")}
    assert {(config.model, config.recipe.epochs, config.data) for config in runs} == {("small-cnn", 12, small.checksum)}


def test_unknown_suites(material: Material) -> None:
    assert suite_names() == ("main", "family", "sweep", "resampling", "all", "sparse", "mixup", "tiny")
    with pytest.raises(InputError) as error:
        suite_runs("swep", material)
    assert str(error.value) == (
        "the suite must be one of main, family, sweep, resampling, all, sparse, mixup, tiny, but got 'swep'. Did you mean 'sweep'?"
    )
    assert find_suites("all") == tuple(SUITES.values())


# Soft NLL, accuracy, ECE, entropy correlation; each mean and SD.
TABLES = """
Table 2, 10 seeds
label-smoothing 0.6263 0.0204 0.8590 0.0088 0.0598 0.0059 0.2117 0.0218
majority        0.7284 0.0401 0.8570 0.0107 0.0704 0.0058 0.2902 0.0219
mixup           0.5526 0.0129 0.8824 0.0046 0.0977 0.0063 0.2499 0.0145
sls             0.5052 0.0263 0.8695 0.0105 0.0186 0.0039 0.3946 0.0192
soft            0.5096 0.0233 0.8687 0.0081 0.0185 0.0040 0.3909 0.0190
Table 3, 5 seeds
deterministic-control 0.4921 0.0162 0.8724 0.0050 0.0209 0.0022 0.3963 0.0160
multipass             0.4942 0.0123 0.8714 0.0063 0.0191 0.0044 0.4000 0.0287
shuffled-sls          2.2973 0.0024 0.1199 0.0128 0.0293 0.0099 -0.0058 0.0556
"""


def test_the_printed_numbers() -> None:
    expected = {}
    for line in TABLES.strip().splitlines():
        if line.startswith("Table"):
            table, seeds = line.split(", ")
            continue
        method, *numbers = line.split()
        values = list(map(float, numbers))
        for place, metric in enumerate(("soft_nll", "accuracy", "ece", "entropy_correlation")):
            mean, sd = values[2 * place : 2 * place + 2]
            expected[method, None, 1, metric] = Published(mean, sd, int(seeds.split()[0]), f"{table}, {method}")
    assert expected == {key: found for key, found in PUBLISHED.items() if key[1:3] == (None, 1)}
    few = {key[:3]: found.mean for key, found in PUBLISHED.items() if key[1:3] != (None, 1)}
    assert (len(few), few["soft", 50, 1], few["sls", None, 10]) == (19, 0.5628, 0.6054)


def test_every_printed_number_belongs_to_a_run(material: Material) -> None:
    runs = cells(suite_runs("all", material))
    assert {key[:3] for key in PUBLISHED} <= set(runs)
    assert all(runs[key[:3]] == published.seeds for key, published in PUBLISHED.items())


@pytest.mark.parametrize(
    ("ours", "seeds", "paper", "distance"),
    [
        (0.5, 10, Published(0.4, 0.1, 10, ""), 1.0),
        (0.3, 5, Published(0.4, 0.1, 10, ""), -0.1 / math.sqrt(0.3 * (4 * 0.09 + 9 * 0.01) / 13)),
        (0.5, 1, Published(0.4, 0.1, 10, ""), 0.1 / (0.1 * math.sqrt(1.1))),
        (0.5, 10, Published(0.4, None, 10, ""), 0.1 / (0.3 * math.sqrt(0.2))),
        (0.5, 10, None, None),
    ],
)
def test_the_distance_to_the_paper(ours: float, seeds: int, paper: Published | None, distance: float | None) -> None:
    line = Line("soft", None, 1, "soft_nll", seeds, ours, 0.3, 9.0, 0.4, paper)
    assert line.distance == (None if distance is None else pytest.approx(distance))


def record(config: RunConfig, value: float, status: str = "done") -> RunRecord:
    numbers = {
        f"{metric}_{at}": value + step * (at == "last")
        for step, metric in enumerate(("soft_nll", "accuracy", "ece", "entropy_correlation"))
        for at in ("best", "last")
    }
    failure = None if status == "done" else "it broke"
    return RunRecord(config=config.to_dict(), status=status, failure=failure, numbers=numbers)


def test_records_beside_the_paper(material: Material) -> None:
    runs = [config for config in suite_runs("all", material, seeds=3) if config.method in ("soft", "sls")]
    records = [record(config, 0.5 + 0.01 * config.seed) for config in runs]
    lines = compare_with_paper([*records, record(replace(runs[0], seed=9), 77.0, "failed")])
    assert len(lines) == 4 * len(cells(runs))
    first = lines[0]
    assert (first.method, first.votes, first.hold, first.metric, first.seeds) == ("soft", None, 1, "soft_nll", 3)
    assert (first.best, first.best_sd) == pytest.approx((0.51, 0.01))
    assert first.published == PUBLISHED["soft", None, 1, "soft_nll"]
    accuracy = lines[1]
    assert (accuracy.metric, accuracy.best, accuracy.last) == ("accuracy", pytest.approx(0.51), pytest.approx(1.51))
    elsewhere = {line.metric: line.published for line in lines if line.votes is not None or line.hold > 1}
    assert [metric for metric, published in elsewhere.items() if published] == ["soft_nll"]
    (single,) = [line for line in compare_with_paper(records[:1]) if line.metric == "ece"]
    assert math.isnan(single.best_sd)
    assert single.distance is not None
    assert compare_with_paper([]) == []


def test_what_is_measured_of_each_run(material: Material) -> None:
    """Curvature of all 160; slices where Tables 4 and 6 print them; SVHN and CIFAR-100 on all votes."""
    plans = {run: plan_of(run_of(run.to_dict())) for run in suite_runs("all", material)}
    parts = Counter((run.method, run.votes is None, len(plan.curvature["best"])) for run, plan in plans.items())
    assert {key: runs for key, runs in parts.items() if key[2] > 1} == {
        ("soft", True, 5): 3, ("sls", True, 5): 3, ("soft", True, 3): 7, ("sls", True, 3): 7, ("multipass", True, 3): 5, ("deterministic-control", True, 3): 5,
        ("shuffled-sls", True, 3): 5, ("soft", False, 3): 20, ("sls", False, 3): 20,
    }  # fmt: skip
    assert all("full" in plan.curvature["best"] for plan in plans.values())
    assert sum(plan.ood for plan in plans.values()) == 65
    assert Counter(run.method for run, plan in plans.items() if plan.features) == {"soft": 10, "sls": 10}
    assert [
        (first.method, second.method, first.seed == second.seed) for first, second in barrier_pairs(list(plans))
    ] == [("sls", "soft", True)] * 10
    assert (common_epoch(200), common_epoch(12)) == (149, 8)
