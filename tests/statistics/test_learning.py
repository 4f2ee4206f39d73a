"""The shape of learning curves, and what is advised, by hand and on real small trainings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from small_runs import feature_material
from votewise import Votes
from votewise.data.dataset import Prepared
from votewise.experiments import compare_methods, default_grid
from votewise.experiments.run import Run
from votewise.experiments.train import train_model
from votewise.records import ItemData, results_of
from votewise.report import compare_results, to_html, to_json, to_markdown, to_terminal
from votewise.statistics import learning_shape
from votewise.training import TrainConfig


@pytest.mark.parametrize(
    ("curve", "shape", "lowest"),
    [
        ([1.0], "flat", 1),
        ([1.0, 0.9], "falling", 2),
        ([1.0, 0.5, 0.5, 0.5], "flat", 2),
        ([1.0, 0.6, 0.55, 0.5], "falling", 4),
        ([1.0, 0.5, 0.5, 0.505], "flat", 2),  # turned by less than choosing may cost
        ([1.0, 0.5, 0.52], "turned", 2),
        ([1.0, 0.5, math.inf], "turned", 2),
        ([1.0, 0.5, math.nan], "turned", 2),
        ([math.inf, 1.0, 0.5, 0.4], "falling", 4),
        ([0.5, 0.5], "flat", 1),
        ([math.inf, math.inf], "turned", 1),
    ],
)
def test_shapes(curve: list[float], shape: str, lowest: int) -> None:
    found = learning_shape(curve)
    assert (found.shape, found.lowest) == (shape, lowest)


@given(st.lists(st.floats(0, 5), min_size=2, max_size=40), st.floats(-3, 3))
def test_a_shape_does_not_depend_on_the_level(curve: list[float], level: float) -> None:
    found, moved = learning_shape(curve), learning_shape(np.array(curve) + 8 + level)
    assert found.lost >= 0
    assert math.isclose(moved.lost, found.lost, abs_tol=1e-9)
    assert math.isclose(moved.gained, found.gained, abs_tol=1e-9)
    assert curve[found.lowest - 1] == min(curve)


# --- real trainings


def learnable(n: int = 200, *, noise: float = 0.0, seed: int = 0, votes: int = 5, width: int = 4) -> Prepared:
    """Features that tell the shares of three classes, less so the more noise there is."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([0.5] * 3, size=n)
    told = np.log(shares + 0.05) @ rng.normal(size=(3, width))
    inputs = ((1 - noise) * told + noise * 3 * rng.normal(size=told.shape)).astype(np.float32)
    counts = np.array([rng.multinomial(votes, row) for row in shares])
    return feature_material(kind="features", inputs=inputs, votes=Votes.from_counts(counts))


def said(data: Prepared, recipe: TrainConfig, *, at: str = "best", seeds: int = 3, votes: int | None = None) -> Any:
    """The one comparison of three methods on real runs: its data, and the document."""
    torch.set_num_threads(1)
    grid = replace(default_grid(("soft", "multipass", "sls"), seeds, model="mlp", at=at), votes=(votes,))
    records = compare_methods(grid, data, recipe).records
    document = compare_results(results_of(records), {data.checksum: ItemData("toy", data.votes)})
    (comparison,) = to_json(document)["comparisons"]
    return comparison, document


def kinds(comparison: dict[str, Any]) -> list[str]:
    return [one["kind"] for one in comparison["advice"]]


OVERFITTING = TrainConfig(epochs=40, batch_size=16, learning_rate=1e-2, weight_decay=0.0)


def test_overfitting_is_told_with_fewer_epochs_and_the_baseline_is_named() -> None:
    data = learnable(noise=0.5, width=40)
    comparison, document = said(data, OVERFITTING, at="last")
    assert comparison["at"] == "last"
    assert {"overfits", "baseline overfits"} <= set(kinds(comparison))
    told = next(one for one in comparison["advice"] if one["kind"] == "overfits")
    assert "soft" in told["methods"]
    assert "--at best, or --epochs " in told["sentence"]
    for text in (to_terminal(document, width=400), to_html(document), to_markdown(document)):
        assert "Within 40 epochs these overfit: soft labels (lowest after " in text
        assert "The baseline, soft labels, is one of them" in text
    # At the best epoch the same is told, but the baseline is no matter.
    comparison, _ = said(data, OVERFITTING)
    assert comparison["at"] == "best"
    assert "baseline overfits" not in kinds(comparison)
    assert "Scores are from before." in next(
        one["sentence"] for one in comparison["advice"] if one["kind"] == "overfits"
    )


def test_a_model_that_is_still_learning_is_told_to_go_on() -> None:
    slow = TrainConfig(epochs=4, batch_size=16, learning_rate=2e-3)
    comparison, document = said(learnable(), slow)
    assert "still learning" in kinds(comparison)
    assert "Pass more, such as --epochs 8." in to_terminal(document, width=400)
    longer, _ = said(learnable(), replace(slow, epochs=8))
    first, second = (one["rows"][0]["metrics"]["soft NLL"]["mean"] for one in (comparison, longer))
    assert second < first - 0.02, "and it was right"


def test_a_model_that_learnt_nothing_is_told_to_be_another() -> None:
    comparison, document = said(learnable(noise=1.0), TrainConfig(epochs=3, learning_rate=1e-3, batch_size=16))
    assert kinds(comparison)[0] == "nothing learnt"
    assert "none learnt anything. Give features that say more of the items, or more items." in to_terminal(
        document, width=400
    )


def test_a_weak_model_that_makes_methods_level_is_told() -> None:
    comparison, document = said(
        learnable(600, noise=0.6, votes=40),
        TrainConfig(epochs=20, learning_rate=3e-3, weight_decay=3.0, decayed="weights"),
    )
    assert kinds(comparison) == ["too weak"]
    assert "The model is too weak to tell methods apart: the best closes " in to_terminal(document, width=400)


def test_nothing_is_told_of_a_training_that_went_well() -> None:
    comparison, document = said(learnable(400), TrainConfig(epochs=30, learning_rate=5e-3, batch_size=16))
    assert kinds(comparison) == []
    assert "Pass " not in to_terminal(document, width=400)


def test_train_says_the_same_of_one_model() -> None:
    torch.set_num_threads(1)

    def doubts(recipe: TrainConfig, data: Prepared, *, at: str) -> str:
        run = Run("toy", "c" * 64, "soft", 0, recipe, "mlp", held_out=0.2, selected=0.1, blind=True)
        return " ".join(train_model(run, data, at=at, device="cpu").doubts)

    data = learnable(noise=0.5, width=40)
    assert "the model overfits: its loss was lowest after epoch" in doubts(OVERFITTING, data, at="last")
    assert "overfits" not in doubts(OVERFITTING, data, at="best")
    assert "still learning" in doubts(TrainConfig(epochs=4, batch_size=16, learning_rate=2e-3), learnable(), at="best")
    nothing = doubts(TrainConfig(epochs=40, batch_size=16, weight_decay=0.0), learnable(noise=1.0, width=40), at="last")
    assert "does no better than the average vote shares, which need no model" in nothing
    assert doubts(TrainConfig(epochs=30, learning_rate=5e-3, batch_size=16), learnable(400), at="best") == ""
