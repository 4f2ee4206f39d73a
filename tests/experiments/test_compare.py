"""Comparisons without training: which runs they need, and the summary of handmade outcomes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from votewise import InputError, Votes, metrics
from votewise.experiments.compare import ComparisonPlan, comparison_runs
from votewise.experiments.inputs import join_inputs
from votewise.experiments.material import Material
from votewise.experiments.recipes import default_recipe
from votewise.experiments.summarise import Outcome, compare_methods, hardest_items, in_words, least_p
from votewise.experiments.table_inputs import open_features
from votewise.statistics import compare_paired, holm

METHODS = ("soft", "sls", "majority")


@pytest.fixture
def material(tmp_path: Path) -> Material:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "f.npy", rng.normal(size=(50, 2)))
    votes = Votes.from_counts(rng.multinomial(6, [0.5, 0.3, 0.2], size=50), classes=["a", "b", "c"])
    return join_inputs(votes, open_features(tmp_path / "f.npy"), name="mine")


def outcomes(votes: Votes, sharpness: dict[str, float], seeds: int = 4) -> list[Outcome]:
    """Models that know the votes, some better than others."""
    found = []
    for seed in range(seeds):
        held_out = votes.split(0.4, seed=seed)[1]
        for method, weight in sharpness.items():
            noise = np.random.default_rng([seed, len(method)]).dirichlet([1, 1, 1], size=len(held_out))
            probs = weight * votes.probs[held_out] + (1 - weight) * noise
            found.append(Outcome(method, seed, held_out, probs, np.array([2.0, 1.0 + seed])))
    return found


def test_the_runs_of_a_comparison(material: Material) -> None:
    plan = ComparisonPlan(METHODS, 2, "mlp", default_recipe(material, epochs=3), held_out=0.3)
    runs = comparison_runs(plan, material)
    assert [(run.seed, run.method) for run in runs] == [(seed, method) for seed in (0, 1) for method in METHODS]
    assert {replace(run, method="", seed=0) for run in runs} == {replace(runs[0], method="", seed=0)}
    assert (runs[0].data, runs[0].dataset, runs[0].held_out, runs[0].selected) == (material.checksum, "mine", 0.3, 0.0)
    assert comparison_runs(replace(plan, at="best"), material)[0].selected == 0.1
    with pytest.raises(InputError, match="the model must take features, but 'ngram' takes text"):
        comparison_runs(replace(plan, model="ngram"), material)
    with pytest.raises(
        InputError, match=r"a comparison needs at least one method, but got none\. Name some of soft, multipass, "
    ):
        replace(plan, methods=())
    alone = replace(material, votes=Votes.from_counts([[3]] * 50, classes=["a"]))
    with pytest.raises(InputError, match=r"at least two classes, but the votes have only 'a'\. Name those that nobody"):
        comparison_runs(plan, alone)


def test_numbers_are_those_of_the_metrics_and_the_paired_test(material: Material) -> None:
    votes = material.votes
    runs = outcomes(votes, {"soft": 0.6, "sls": 0.7, "majority": 0.3})
    result = compare_methods(votes, runs[::-1], METHODS, "here")  # the order of outcomes does not matter
    nll = {
        method: np.array([metrics.soft_nll(votes.probs[run.held_out], run.probs) for run in runs if run.method == method])
        for method in METHODS
    }  # fmt: skip
    tests = {method: compare_paired(nll[method], nll["soft"]) for method in METHODS[1:]}
    adjusted = holm([test.test.p_value for test in tests.values()])
    baseline, *others = result.rows
    assert (baseline.method, baseline.difference, baseline.wins, baseline.p_value) == ("soft", None, None, None)
    for row, p in zip(others, adjusted, strict=True):
        test = tests[row.method]
        assert (row.difference, row.wins, row.p_value, row.p_holm) == (test.mean, test.wins, test.test.p_value, p)
        assert row.per_seed == tuple(nll[row.method])
        assert row.metrics["soft NLL"].sd == pytest.approx(nll[row.method].std(ddof=1))
    assert result.learning[0].low.tolist() == [2.0, 1.0]
    assert result.learning[0].high.tolist() == [2.0, 4.0]


def test_a_comparison_in_words(material: Material) -> None:
    runs = outcomes(material.votes, {"soft": 0.6, "sls": 0.7, "majority": 0.3})
    said = in_words(compare_methods(material.votes, runs, METHODS, "here"))
    assert said.startswith("Lowest soft NLL: sls, ")
    assert "below soft labels (better on 4 of 4 seeds); majority labels end at " in said
    assert "No difference from soft labels is significant: the smallest p after Holm is 0.2500." in said
    turned = in_words(compare_methods(material.votes, runs, ("sls", "majority"), "here"))
    assert re.match(
        r"Lowest soft NLL: sls, 0\.\d{3}; next majority labels, 1\.\d{3}, 0\.\d{3} above sls \(better on 0 of 4", turned
    )
    assert " above sls (better on 0 of 4 seeds). No difference from sls is significant" in turned
    assert in_words(compare_methods(material.votes, runs, ("soft",), "here")).startswith("Soft NLL of soft labels: ")


def test_what_differs_by_more_than_chance_is_named(material: Material) -> None:
    runs = outcomes(material.votes, {"soft": 0.6, "majority": 0.1}, seeds=7)
    said = in_words(compare_methods(material.votes, runs, ("soft", "majority"), "here"))
    assert "Significantly different from soft labels at 0.05 after Holm: majority (p = 0.0156)." in said


def test_methods_that_learnt_nothing_are_named(material: Material) -> None:
    """They are no better than the mean shares of the items not held out."""
    votes, runs = material.votes, outcomes(material.votes, {"soft": 0.9, "sls": 0.0, "majority": 0.1})
    result = compare_methods(votes, runs, METHODS, "here")
    losses = []
    for seed in range(4):
        rest, held_out = votes.split(0.4, seed=seed)
        mean = votes.probs[rest].mean(axis=0)
        losses.append(-(votes.probs[held_out] * np.log(mean)).sum(axis=1).mean())
    assert result.no_model is not None
    assert (result.no_model.mean, result.no_model.n) == (pytest.approx(np.mean(losses)), 4)
    assert result.no_model.sd == pytest.approx(np.std(losses, ddof=1))
    assert in_words(result).endswith(
        f" The mean vote shares of the other items, without a model, give {np.mean(losses):.3f}. No better: sls, majority "
        "labels."
    )
    all_behind = compare_methods(votes, runs, ("sls", "majority"), "here")
    assert in_words(all_behind).endswith(". No better: sls, majority labels. Change the recipe before comparing.")
    good = compare_methods(votes, runs, ("soft",), "here")
    assert "without a model" not in in_words(good)


def test_mean_shares_that_rule_out_what_people_chose_are_no_measure() -> None:
    votes = Votes.from_counts([[3, 0]] * 9 + [[0, 3]], classes=["a", "b"])
    held_out = np.array([8, 9])
    run = Outcome("soft", 0, held_out, np.full((2, 2), 0.5), np.array([1.0]))
    assert compare_methods(votes, [run], ("soft",), "here").no_model is None


def test_a_gap_too_small_to_print_is_level(material: Material) -> None:
    runs = outcomes(material.votes, {"soft": 0.6})
    result = compare_methods(
        material.votes, [*runs, *(replace(run, method="sls") for run in runs)], ("soft", "sls"), ""
    )
    assert ", level with soft labels (better on 0 of 4 seeds). " in in_words(result)


def test_one_seed_allows_no_test(material: Material) -> None:
    result = compare_methods(
        material.votes, outcomes(material.votes, {"soft": 0.6, "sls": 0.7}, 1), ("soft", "sls"), ""
    )
    row = result.rows[1]
    assert (row.wins, row.p_value, row.p_holm) == (1, None, None)
    assert in_words(result).endswith("below soft labels (better on 1 of 1 seed). One seed allows no test.")
    assert least_p(1) == "One seed allows no test."
    assert least_p(5) == "With 5 seeds no two-sided p can be below 0.0625."


def test_the_examples_are_the_held_out_items_people_disagree_on_most(material: Material) -> None:
    votes = material.votes
    runs = outcomes(votes, {"soft": 0.6, "sls": 0.7})
    shown = hardest_items(votes, runs)
    assert len(shown) == 12
    held_out = votes.item_ids[runs[0].held_out]
    entropy = dict(zip(votes.item_ids, metrics.entropy_per_item(votes.probs), strict=True))
    assert {one.item for one in shown} <= set(held_out)
    rest = [entropy[item] for item in held_out if item not in {one.item for one in shown}]
    assert min(entropy[one.item] for one in shown) >= max(rest)
    first = votes.item_ids.tolist().index(shown[0].item)
    assert shown[0].people == tuple(votes.probs[first])
    assert list(shown[0].models) == ["soft", "sls"]
