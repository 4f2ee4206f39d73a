"""Default recipes for users' data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from own_data import votes_on
from votewise import Votes
from votewise.data import join_inputs, open_features, open_images, prepare
from votewise.experiments.defaults import default_grid, default_recipe
from votewise.training import TrainConfig

RNG = np.random.default_rng(0)


def test_recipes_fit_the_data(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, size=(40, 16, 24, 3), dtype=np.uint8)
    images[..., 1] = 51
    np.savez(tmp_path / "a.npz", images=images)
    votes = votes_on(*map(str, range(40)))
    material = prepare(join_inputs(votes, open_images(tmp_path / "a.npz"), name="d"))
    recipe = default_recipe(material)
    assert (recipe.batch_size, recipe.crop, recipe.flip) == (16, 2, True)
    expected = images.reshape(-1, 3) / 255
    np.testing.assert_allclose(recipe.mean, expected.mean(axis=0), atol=1e-4)
    np.testing.assert_allclose(recipe.std, np.maximum(expected.std(axis=0), 1 / 255), atol=1e-4)
    plain = default_recipe(material, epochs=3, batch_size=7, learning_rate=0.5, augment=False)
    assert (plain.epochs, plain.batch_size, plain.learning_rate, plain.crop, plain.flip) == (3, 7, 0.5, 0, False)
    np.save(tmp_path / "f.npy", RNG.normal(size=(40, 2)))
    assert default_recipe(prepare(join_inputs(votes, open_features(tmp_path / "f.npy"), name="d"))).mean == ()


def test_recipes_by_kind_width_and_number_of_items(tmp_path: Path) -> None:
    def recipe(items: int, columns: int) -> TrainConfig:
        np.save(tmp_path / "f.npy", np.zeros((items, columns)))
        votes = Votes.from_counts(np.ones((items, 2), dtype=int), item_ids=[str(row) for row in range(items)])
        return default_recipe(prepare(join_inputs(votes, open_features(tmp_path / "f.npy"), name="d")))

    narrow, wide = recipe(400, 20), recipe(400, 384)
    assert (narrow.learning_rate, narrow.weight_decay, narrow.decayed) == (3e-3, 1.0, "weights")
    assert (wide.learning_rate, wide.weight_decay, wide.decayed) == (1e-3, 7.0, "weights")
    assert [recipe(items, 20).batch_size for items in (40, 400, 1500, 10_000)] == [16, 16, 64, 256]


def test_a_comparison_chooses_on_items_that_are_not_scored_unless_told_otherwise() -> None:
    grid = default_grid(("soft",), 5, model="mlp")
    assert (grid.selected, grid.folds, grid.blind) == (0.1, 5, True)
    last = default_grid(("soft",), 5, model="mlp", at="last", held_out=0.3)
    assert (last.selected, last.folds, last.held_out, last.blind) == (0.0, 0, 0.3, True)
