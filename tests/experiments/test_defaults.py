"""Default recipes for users' data."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from own_data import votes_on
from votewise.data import join_inputs, open_features, open_images, prepare
from votewise.experiments.defaults import default_recipe

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
