"""Saved models: what is loaded is what was saved, and nothing else is loaded."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from votewise import InputError
from votewise.models import MODELS
from votewise.training import TrainConfig
from votewise.training.checkpoint import ModelConfig, load_model, save_model

SHAPES = {"images": (16, 16, 3), "features": (5,), "text": (9,)}
MLP_CONFIG = ModelConfig("mlp", "features", (5,), ("ä", "b"), TrainConfig(epochs=3), {"columns": ["x"]}, {"seed": 0})


def saved(folder: Path, config: ModelConfig = MLP_CONFIG) -> tuple[Path, torch.nn.Module]:
    path = folder / "model.safetensors"
    model = config.build()
    save_model(path, model, config)
    return path, model


def with_config(path: Path, **changes: object) -> None:
    """Write the same weights under another config."""
    with safe_open(path, framework="pt") as file:
        values = json.loads(file.metadata()["votewise"])
    state = load_file(path)
    save_file(state, path, metadata={"votewise": json.dumps({**values, **changes})})


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(tmp_path: Path, name: str) -> None:
    kind = MODELS[name].kind
    recipe = TrainConfig(mean=(0.5,) * 3, std=(0.2,) * 3, crop=2) if kind == "images" else TrainConfig()
    config = ModelConfig(name, kind, SHAPES[kind], ("x", "y", "z"), recipe, {"size": 16}, {"method": "sls"})
    path, model = saved(tmp_path, config)
    again, read = load_model(path)
    assert read == config
    assert not again.training
    for (key, value), (other, found) in zip(model.state_dict().items(), again.state_dict().items(), strict=True):
        assert key == other
        assert torch.equal(value, found)
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


def test_saving_is_whole_or_not_at_all(tmp_path: Path) -> None:
    path, _ = saved(tmp_path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save_model(path, MLP_CONFIG.build(), replace(MLP_CONFIG, training={"seed": object()}))
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]
    with pytest.raises(InputError, match="the output folder must exist"):
        save_model(tmp_path / "no" / "m.safetensors", MLP_CONFIG.build(), MLP_CONFIG)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": 1}, "its config is invalid: a name in the config must be one of .* but got 'colour'"),
        ({"format": 2}, "its config is invalid: the model must have format 1, but got format 2"),
        ({"model": "resnet"}, "the model must be one of"),
        ({"model": ["mlp"]}, "a name with options must be str, but got list"),
        ({"model": "mlp:size=3"}, "mlp has no options, but got 'size'"),
        ({"kind": "images"}, "the model must take images, but 'mlp' takes features"),
        ({"kind": "sounds"}, "its config is invalid: the kind of inputs must be one of"),
        ({"input_shape": [6]}, r"'standardise.mean' has the shape \(5,\) instead of \(6,\)"),
        ({"input_shape": [2**30]}, r"'standardise.mean' has the shape \(5,\) instead of \(1073741824,\)"),
        ({"input_shape": [2**40]}, "a shape must be positive whole numbers, but got 1099511627776"),
        ({"input_shape": [True]}, "a shape must be positive whole numbers, but got True"),
        ({"input_shape": []}, "its config describes no network"),
        ({"input_shape": 5}, "its config is invalid: 'int' object is not iterable"),
        ({"classes": ["a", "b", "c"]}, r"'head.weight' has the shape \(2, 64\) instead of \(3, 64\)"),
        ({"classes": ["a", "a"]}, "its config is invalid: class names must be different"),
        ({"classes": []}, "its config is invalid: class names must be different"),
        ({"recipe": {"epoch": 3}}, "its config is invalid: a name in the recipe must be one of"),
        ({"recipe": []}, "its config is invalid"),
        ({"recipe": {"epochs": "x"}}, "its config is invalid: epochs must be a whole number"),
        ({"reading": 5}, "its config is invalid"),
    ],
)  # fmt: skip
def test_configs_that_do_not_fit(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    path, _ = saved(tmp_path)
    with_config(path, **changes)
    with pytest.raises(InputError, match=message):
        load_model(path)


def test_foreign_files(tmp_path: Path) -> None:
    path, model = saved(tmp_path)
    state = model.state_dict()
    save_file(state, path)
    with pytest.raises(
        InputError,
        match=r"^'.*' must be a model saved by votewise train, but it has no votewise config\. Check the path, or train it again\.$",
    ):
        load_model(path)
    save_file({"other": torch.zeros(2), **state}, path, metadata={"votewise": MLP_CONFIG.to_json()})
    with pytest.raises(InputError, match="weights are missing or unknown: 'other'"):
        load_model(path)
    for text in ("[]", "{", "null", "1" * 5000, "[" * 100_000):
        save_file(state, path, metadata={"votewise": text})
        with pytest.raises(InputError, match="its config is invalid"):
            load_model(path)
    with pytest.raises(
        InputError, match=r"^the model must be a file, but '.*nothing' was not found\. Check the path\.$"
    ):
        load_model(tmp_path / "nothing")
    with pytest.raises(InputError, match="the model must be a file"):
        load_model(tmp_path)


class Trap:
    """Leaves a file behind if anyone unpickles it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return (Path.touch, (self.path,))


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    path, sprung = tmp_path / "model.safetensors", tmp_path / "sprung"
    path.write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(InputError, match="reading it failed"):
        load_model(path)
    torch.save({"weights": Trap(sprung)}, path)
    with pytest.raises(InputError, match="reading it failed"):
        load_model(path)
    assert not sprung.exists()


@given(cut=st.integers(0, 2000), flip=st.integers(0, 2000), bits=st.integers(1, 255))
@settings(max_examples=150)
def test_damaged_files_never_give_another_error(
    tmp_path_factory: pytest.TempPathFactory, cut: int, flip: int, bits: int
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    path, _ = saved(folder)
    whole = bytearray(path.read_bytes())
    path.write_bytes(whole[: min(cut, len(whole) - 1)])
    with pytest.raises(InputError):
        load_model(path)
    whole[flip % len(whole)] ^= bits
    path.write_bytes(whole)
    with suppress(InputError):  # a flipped bit of a weight is a weight
        load_model(path)


def test_a_temperature_is_saved_and_one_that_is_none_is_refused(tmp_path: Path) -> None:
    path, _ = saved(tmp_path, replace(MLP_CONFIG, temperature=1.75))
    assert load_model(path)[1].temperature == 1.75
    for wrong in (0, -1, 1e9, True, "2", None, [2]):
        with_config(path, temperature=wrong)
        with pytest.raises(
            InputError, match=r"its config is invalid: the temperature must be a number from 0\.01 to 100"
        ):
            load_model(path)


def test_a_model_older_than_temperatures_has_none(tmp_path: Path) -> None:
    path, _ = saved(tmp_path)
    with safe_open(path, framework="pt") as file:
        values = json.loads(file.metadata()["votewise"])
    del values["temperature"]
    save_file(load_file(path), path, metadata={"votewise": json.dumps(values)})
    assert load_model(path)[1].temperature == 1.0
