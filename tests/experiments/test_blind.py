"""No choice looks at a vote on an item that is scored: nonsense in their place changes no model, bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from small_runs import CROSS_FITTED, feature_material
from votewise import Votes
from votewise.data.dataset import Prepared
from votewise.delivery.methods import METHODS
from votewise.experiments import default_grid, default_recipe, train_model
from votewise.experiments.demo import demo_grid
from votewise.experiments.run import Run, helpers, make_job, out_of_fold, split_items, train_run, train_run_with_weights

MATERIAL = feature_material(80)
RECIPE = default_recipe(MATERIAL, epochs=6, learning_rate=0.02)


def with_nonsense(data: Prepared, rows: np.ndarray, *, seed: int) -> Prepared:
    """The same data with other votes on some items: other shares, and other numbers of them."""
    counts = data.votes.counts.copy()
    rng = np.random.default_rng(seed)
    counts[rows] = rng.multinomial(31, [0.02, 0.03, 0.95], size=len(rows)) + rng.integers(1, 4, size=(len(rows), 3))
    votes = Votes.from_counts(counts, item_ids=data.votes.item_ids, classes=data.votes.classes)
    return replace(data, votes=votes, checksum="f" * 64)


def weights_equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.fixture(autouse=True)
def cross_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setitem(METHODS, "cross-fitted", CROSS_FITTED)


@pytest.mark.parametrize("votes", [None, 3])
@pytest.mark.parametrize("method", [*METHODS, "cross-fitted"])
def test_nonsense_on_scored_items_changes_no_model_and_no_choice(method: str, votes: int | None) -> None:
    grid = replace(default_grid((method,), 2, model="mlp"), votes=(votes,))
    for run in grid.runs(MATERIAL, RECIPE):
        split = split_items(run, MATERIAL)
        assert len(split.selection)
        other = with_nonsense(MATERIAL, split.held_out, seed=run.seed)
        found = []
        for data in (MATERIAL, other):
            logits = out_of_fold(data, [train_run(helper, data) for helper in helpers(run)])
            found.append((data, *train_run_with_weights(run, make_job(run, data, logits=logits), data)))
        (_, record, weights), (_, again, weights_again) = found
        for part in ("train", "selection", "held_out"):
            np.testing.assert_array_equal(getattr(split, part), getattr(split_items(run, other), part))
        for checkpoint in ("best", "last"):
            assert weights_equal(weights[checkpoint], weights_again[checkpoint])
            assert record.numbers[f"temperature_{checkpoint}"] == again.numbers[f"temperature_{checkpoint}"]
            np.testing.assert_array_equal(record.arrays[f"{checkpoint}_logits"], again.arrays[f"{checkpoint}_logits"])
        assert record.numbers["best_epoch"] == again.numbers["best_epoch"]
        for curve in ("train_loss", "selection_nll"):
            np.testing.assert_array_equal(record.curves[curve], again.curves[curve])
        assert record.numbers["soft_nll_best"] != again.numbers["soft_nll_best"], "the scores do look at them"


@pytest.mark.parametrize("held_out", [None, 0.3])
@pytest.mark.parametrize("at", ["best", "last"])
def test_no_default_looks_at_votes_that_are_scored(held_out: float | None, at: str) -> None:
    demo = replace(demo_grid(5), models=("mlp",))
    for grid in (default_grid(("soft",), 5, model="mlp", held_out=held_out, at=at), demo):
        for run in grid.runs(MATERIAL, RECIPE):
            split = split_items(run, MATERIAL)
            other = with_nonsense(MATERIAL, split.held_out, seed=1)
            for part in ("train", "selection", "held_out"):
                np.testing.assert_array_equal(getattr(split, part), getattr(split_items(run, other), part))
            assert default_recipe(MATERIAL) == default_recipe(other)


def test_a_split_by_majorities_would_look_at_them() -> None:
    """Why runs on users' data are blind, and what the tests above would find."""
    moved = 0
    for run in default_grid(("soft",), 5, model="mlp").runs(MATERIAL, RECIPE):
        stratified = replace(run, blind=False)
        held_out = split_items(stratified, MATERIAL).held_out
        other = with_nonsense(MATERIAL, held_out, seed=run.seed)
        moved += not np.array_equal(split_items(stratified, other).held_out, held_out)
    assert moved == 5


def test_true_labels_may_be_looked_at() -> None:
    labels = np.repeat([0, 1], [60, 20])
    data = replace(MATERIAL, labels=labels)
    for run in default_grid(("soft",), 5, model="mlp").runs(data, RECIPE):
        split = split_items(run, data)
        assert [int((labels[split.held_out] == label).sum()) for label in (0, 1)] == [12, 4]


@pytest.mark.parametrize("at", ["best", "last"])
@pytest.mark.parametrize("method", ["soft", "multipass", "cross-fitted"])
def test_nonsense_changes_no_saved_model(method: str, at: str) -> None:
    run = Run("toy", "c" * 64, method, 3, RECIPE, "mlp", held_out=0.25, selected=0.1, blind=True)
    held_out = split_items(run, MATERIAL).held_out
    models = [
        train_model(run, data, at=at, temperature=True, device="cpu")
        for data in (MATERIAL, with_nonsense(MATERIAL, held_out, seed=5))
    ]
    first, second = models
    assert weights_equal(first.model.state_dict(), second.model.state_dict())
    assert first.config.temperature == second.config.temperature
    assert first.config.training["epoch"] == second.config.training["epoch"]
    np.testing.assert_array_equal(first.probs, second.probs)
    np.testing.assert_array_equal(first.learning, second.learning)
