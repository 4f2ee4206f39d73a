"""One model by a run: the one that its record describes, saved as it is after the last epoch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from small_runs import CROSS_FITTED, feature_material, feature_run
from votewise.data.dataset import Prepared
from votewise.delivery.methods import METHODS
from votewise.experiments.run import Run, softmax, train_run
from votewise.experiments.train import predict, train_model
from votewise.models import hash_ngrams
from votewise.training import TrainConfig

PIXELS = np.random.default_rng(0).integers(0, 256, size=(60, 16, 16, 3), dtype=np.uint8)
IMAGES = TrainConfig(epochs=2, batch_size=16, crop=2, flip=True, mean=(0.5,) * 3, std=(0.25,) * 3)
DATA = {
    "mlp": feature_material(),
    "ngram": feature_material(kind="text", inputs=hash_ngrams([f"item {row} of {row % 7}" for row in range(60)])),
    "small-cnn": feature_material(kind="images", inputs=PIXELS),
    "resnet18": feature_material(kind="images", inputs=PIXELS),
}


def run_of(data: Prepared, model: str) -> Run:
    recipe = replace(IMAGES, epochs=1) if model == "resnet18" else IMAGES if data.kind == "images" else None
    run = replace(feature_run(data, seed=2), model=model)
    return run if recipe is None else replace(run, recipe=recipe)


@pytest.mark.parametrize("model", DATA)
def test_the_model_is_that_of_its_run(model: str) -> None:
    torch.set_num_threads(1)
    data, epochs = DATA[model], []
    run = run_of(data, model)
    state = torch.random.get_rng_state()
    trained = train_model(run, data, device="cpu", on_epoch=lambda: epochs.append(1))
    assert torch.equal(torch.random.get_rng_state(), state)
    record = train_run(run, data)
    assert len(epochs) == run.recipe.epochs
    np.testing.assert_array_equal(trained.held_out, record.arrays["held_out"])
    np.testing.assert_allclose(trained.probs, softmax(record.arrays["last_logits"]), rtol=1e-5, atol=1e-7)
    assert (trained.config.model, trained.config.training["method"]) == (model, "sls")


@pytest.mark.parametrize("model", DATA)
def test_all_items_can_be_trained_on(model: str) -> None:
    data = DATA[model]
    run = replace(run_of(data, model), held_out=0.0)
    trained = train_model(run, data, device="cpu")
    assert (len(trained.held_out), trained.probs.shape) == (0, (0, 3))
    assert np.isfinite(predict(trained.model, trained.config, data.inputs)).all()
    some = train_model(replace(run, held_out=0.5), data, device="cpu")
    first, second = (next(each.model.parameters()) for each in (trained, some))
    assert (first != second).any()


def test_the_helpers_of_a_method_are_trained_first(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setitem(METHODS, "cross-fitted", CROSS_FITTED)
    run = feature_run(DATA["mlp"], "cross-fitted", options=(("folds", 2),))
    trained = train_model(run, DATA["mlp"], device="cpu")
    expected = softmax(train_run(run, DATA["mlp"]).arrays["last_logits"])
    np.testing.assert_allclose(trained.probs, expected, rtol=1e-5)
    assert trained.config.training["method"] == "cross-fitted:folds=2"
