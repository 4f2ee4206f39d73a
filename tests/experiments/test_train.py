"""One model by a run: the one that its record describes, saved as it is after the last epoch."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from small_runs import CROSS_FITTED, feature_material, feature_run
from votewise import InputError, Soft
from votewise.data.dataset import Prepared
from votewise.delivery.methods import METHODS
from votewise.experiments.run import Run, softmax, train_run
from votewise.experiments.train import predict, train_model
from votewise.metrics import soft_nll
from votewise.models import MLP, hash_ngrams
from votewise.training import TrainConfig, build_model, train_classifier

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


def choosing_run(**changes: Any) -> Run:
    recipe = TrainConfig(epochs=12, batch_size=8, learning_rate=0.05, weight_decay=0.0)
    values: dict[str, Any] = {"recipe": recipe, "held_out": 0.25, "selected": 0.2, "blind": True}
    return replace(feature_run(DATA["mlp"], "soft", seed=3), **{**values, **changes})


def test_the_best_epoch_is_that_of_the_record() -> None:
    torch.set_num_threads(1)
    run = choosing_run()
    trained, record = train_model(run, DATA["mlp"], at="best", device="cpu"), train_run(run, DATA["mlp"])
    assert trained.config.training["epoch"] == record.numbers["best_epoch"] < run.recipe.epochs
    np.testing.assert_allclose(trained.probs, softmax(record.arrays["best_logits"]), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(trained.learning, record.curves["selection_nll"], rtol=1e-6)
    assert trained.about["epoch"] == record.numbers["best_epoch"]


def test_a_refitted_model_is_one_trained_on_all_items_for_the_chosen_epochs() -> None:
    torch.set_num_threads(1)
    data, run, epochs = DATA["mlp"], choosing_run(), []
    first = train_model(run, data, at="best", temperature=True, device="cpu")
    again = train_model(
        run, data, at="best", temperature=True, refit=True, device="cpu", on_epoch=lambda: epochs.append(1)
    )
    chosen = first.config.training["epoch"]
    assert (first.trained_on, again.trained_on, len(epochs)) == (33, 60, run.recipe.epochs + chosen)
    np.testing.assert_array_equal(again.probs, first.probs)  # of the model that had not seen these items
    assert again.config.temperature == first.config.temperature
    assert (again.config.training["refitted"], first.config.training["refitted"]) == (True, False)
    model = build_model(lambda: MLP(3, inputs=4), seed=run.seed)
    losses = []
    train_classifier(
        model, torch.tensor(data.inputs), Soft(data.votes), run.recipe, seed=run.seed,
        on_epoch=lambda epoch, _: losses.append({k: v.clone() for k, v in model.state_dict().items()}),
    )  # fmt: skip
    for name, value in again.model.state_dict().items():
        assert torch.equal(value, losses[chosen - 1][name])


def test_a_temperature_is_fitted_on_the_items_that_choose_and_divides_logits() -> None:
    torch.set_num_threads(1)
    run = choosing_run(recipe=TrainConfig(epochs=30, batch_size=8, learning_rate=0.05, weight_decay=0.0))
    data = DATA["mlp"]
    plain, scaled = (train_model(run, data, at="last", temperature=which, device="cpu") for which in (False, True))
    temperature, record = scaled.config.temperature, train_run(run, data)
    assert plain.config.temperature == 1.0
    assert temperature > 1.2, "thirty epochs of noise make a model too sure"
    assert math.isclose(temperature, record.numbers["temperature_last"], rel_tol=1e-6)
    assert math.isclose(
        soft_nll(data.votes.probs[scaled.held_out], scaled.probs), record.numbers["scaled_soft_nll_last"], rel_tol=1e-5
    )
    expected = plain.probs ** (1 / temperature)
    np.testing.assert_allclose(scaled.probs, expected / expected.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(predict(scaled.model, scaled.config, data.inputs[scaled.held_out]), scaled.probs)


@pytest.mark.parametrize("asked", [{"at": "best"}, {"temperature": True}])
def test_what_chooses_needs_items(asked: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="takes items that are neither trained on nor scored, but got selected=0"):
        train_model(choosing_run(selected=0.0), DATA["mlp"], device="cpu", **asked)
