"""The runs of arXiv 2605.20642, and what is measured of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from paper_runs import named_runs, suite_runs, tiny_material
from votewise import InputError, Votes
from votewise.data.dataset import Prepared
from votewise.experiments.measure import common_checkpoint_epoch
from votewise.experiments.planning import expected_training_items
from votewise.experiments.run import Run, helpers
from votewise.papers import work
from votewise.papers.same_target import PAPER
from votewise.papers.same_target.suites import SUITES, paper_recipe
from votewise.records import run_id


@pytest.fixture(scope="module")
def material() -> Prepared:
    votes = Votes.from_counts(np.eye(10, dtype=np.int64)[np.arange(2000) % 10])
    return Prepared("cifar10h", "images", "c" * 64, np.zeros((2000, 32, 32, 3), np.uint8), votes, np.arange(2000) % 10)


@pytest.mark.parametrize(
    ("name", "runs"),
    [("main", 50), ("family", 20), ("sweep", 80), ("resampling", 20), ("all", 160), ("priors", 80), ("tiny", 8)],
)
def test_each_suite_has_as_many_runs_as_the_paper(material: Prepared, name: str, runs: int) -> None:
    configs = suite_runs(name, material)
    assert len({run_id(config.to_dict()) for config in configs}) == len(configs) == runs
    assert [config.seed for config in configs] == sorted(config.seed for config in configs)


def test_all_suites_together_share_their_common_runs(material: Prepared) -> None:
    everything = suite_runs("all", material)
    assert set(everything) == {
        config for name in ("main", "family", "sweep", "resampling") for config in suite_runs(name, material)
    }
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


def cells(configs: list[Run]) -> Counter[tuple[str, int | None, int]]:
    return Counter((config.method, config.votes, config.to_dict()["hold"]) for config in configs)


def test_which_runs_the_suites_have(material: Prepared) -> None:
    main = ("soft", "sls", "majority", "label-smoothing", "mixup")
    assert cells(suite_runs("main", material)) == {(method, None, 1): 10 for method in main}
    family = ("sls", "multipass", "deterministic-control", "shuffled-sls")
    assert cells(suite_runs("family", material)) == {(method, None, 1): 5 for method in family}
    sweep = ("soft", "sls", "multipass", "deterministic-control")
    assert cells(suite_runs("sweep", material)) == {(method, k, 1): 5 for method in sweep for k in (5, 10, 25, 50)}
    assert cells(suite_runs("resampling", material)) == {("sls", None, period): 5 for period in (1, 5, 10, 50)}
    priors = ("multipass-prior", "multipass-crossfit", "soft-smoothed", "dirichlet-fitted")
    assert cells(suite_runs("priors", material)) == {(method, k, 1): 10 for method in priors for k in (5, 10)}
    for name, seeds in (("main", 10), ("family", 5), ("sweep", 5), ("resampling", 5), ("priors", 10)):
        assert {config.seed for config in suite_runs(name, material)} == set(range(seeds))


def test_priors_share_runs_with_smoothed_shares_and_cost_a_third_of_a_run_more(material: Prepared) -> None:
    priors = suite_runs("priors", material)
    assert len(set(priors) & set(suite_runs("sparse", material))) == 2 * 2 * 5
    assert not set(priors) & set(suite_runs("all", material))
    crossed = [run for run in priors if helpers(run)]
    needed = [helper for run in crossed for helper in helpers(run)]
    assert (len(crossed), len(needed)) == (20, 40)
    assert {(helper.method, helper.recipe.epochs, helper.votes) for helper in needed} == {
        ("soft", 60, 5),
        ("soft", 60, 10),
    }
    ratio = expected_training_items(needed, material) / expected_training_items(crossed, material)
    assert ratio == pytest.approx(0.3)


def test_the_recipe_of_the_paper(material: Prepared) -> None:
    recipe = paper_recipe()
    assert (recipe.epochs, recipe.batch_size, recipe.optimizer, recipe.learning_rate) == (200, 128, "sgd", 0.1)
    assert (recipe.momentum, recipe.weight_decay, recipe.mixup, recipe.crop, recipe.flip) == (0.9, 5e-4, 0.0, 4, True)
    for config in suite_runs("all", material, precision="bf16"):
        assert (config.dataset, config.data, config.model) == ("cifar10h", material.checksum, "resnet18")
        assert (config.held_out, config.selected) == (0.2, 0.0)
        mixed = 1.0 if config.method == "mixup" else 0.0
        assert config.recipe == replace(recipe, precision="bf16", mixup=mixed)


def test_seeds_asked_for(material: Prepared) -> None:
    assert cells(suite_runs("main", material, seeds=2))["soft", None, 1] == 2
    assert len(suite_runs("all", material, seeds=1)) == 5 + 3 + 16 + 3
    assert set(suite_runs("main", material, seeds=3)) <= set(suite_runs("main", material))
    more = suite_runs("family", material, seeds=12)
    assert {config.seed for config in more} == set(range(12))


def test_the_tiny_suite(material: Prepared) -> None:
    small = tiny_material(material)
    assert small.votes.n_items == 2000
    assert small.checksum != material.checksum
    runs = suite_runs("tiny", small)
    assert cells(runs) == {(method, None, 1): 2 for method in ("soft", "sls", "multipass", "majority")}
    assert {(config.model, config.recipe.epochs, config.data) for config in runs} == {("small-cnn", 12, small.checksum)}


def test_unknown_suites(material: Prepared) -> None:
    assert PAPER.suite_names == ("main", "family", "sweep", "resampling", "all", "sparse", "priors", "mixup", "tiny")
    with pytest.raises(InputError) as error:
        suite_runs("swep", material)
    assert str(error.value) == (
        "the suite must be one of main, family, sweep, resampling, all, sparse, priors, mixup, tiny, but got 'swep'. Did you mean 'sweep'?"
    )
    assert PAPER.find_suites("all") == tuple(SUITES.values())[:4]


def test_what_is_measured_of_each_run(material: Prepared) -> None:
    """Curvature where Tables 4 and 6 and Figure 1 print it; SVHN and CIFAR-100 on all votes; nothing of kept labels."""
    names = named_runs("all", material)
    plans = {run: PAPER.measure(name) for run, name in names.items()}
    parts = Counter((run.method, run.votes is None, len(plan.curvature.get("best", ()))) for run, plan in plans.items())
    assert {key: runs for key, runs in parts.items() if key[2] > 0} == {
        ("soft", True, 5): 3, ("sls", True, 5): 3, ("soft", True, 3): 7, ("sls", True, 3): 7,
        ("multipass", True, 3): 3, ("deterministic-control", True, 3): 3, ("shuffled-sls", True, 3): 3,
        ("soft", False, 2): 20, ("sls", False, 2): 20,
    }  # fmt: skip
    assert all("full" in plan.curvature["best"] for plan in plans.values() if plan.curvature)
    assert {run.to_dict()["hold"] for run, plan in plans.items() if plan.is_empty and run.votes is None} == {5, 10, 50}
    assert sum(plan.ood for plan in plans.values()) == 65
    assert Counter(run.method for run, plan in plans.items() if plan.features) == {"soft": 10, "sls": 10}
    pairs = [each.runs for each in work.paper_measurements(PAPER, names) if len(each.runs) == 2]
    assert [(one.method, other.method, one.seed == other.seed) for one, other in pairs] == [("sls", "soft", True)] * 10
    run = next(iter(plans))
    assert [common_checkpoint_epoch(replace(run, recipe=replace(run.recipe, epochs=n))) for n in (200, 12, 1)] == [
        149,
        8,
        0,
    ]
