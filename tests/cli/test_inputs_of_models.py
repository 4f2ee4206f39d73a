"""How the command line brings inputs to a model: the size of images, and models saved without it in their name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from own_data import picture
from votewise.cli.main import main
from votewise.training import load_model, save_model

Screen = pytest.CaptureFixture[str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Votes on twelve items, and their images in files and in an archive."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{item},{('yes', 'no')[(item + voter) % 2 if voter else item % 2]}" for item in range(12) for voter in range(3)
    ]
    (tmp_path / "votes.csv").write_text("\n".join(["item,label", *rows]) + "\n", encoding="utf-8")
    for item in range(12):
        picture(tmp_path / "images" / f"{item}.png", (20 * item, 9, 9), (30, 20))
    np.savez("images.npz", images=np.random.default_rng(0).integers(0, 256, (12, 9, 9, 3), dtype=np.uint8))
    return tmp_path


def told(capsys: Screen, *arguments: str) -> dict[str, object]:
    assert main([*arguments, "--json", "-q"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def complaint(capsys: Screen, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.removeprefix("votewise: ").strip()


TRAIN = ("train", "votes.csv", "--epochs", "1", "--held-out", "0.25", "--device", "cpu")
COMPARE = ("compare", "votes.csv", "--images", "images", "--epochs", "1", "--seeds", "1", "--methods", "soft", "--jobs", "1", "--device", "cpu")  # fmt: skip


def test_the_size_of_images_is_an_option_of_the_model(here: Path, capsys: Screen) -> None:
    models = []
    for number, size in enumerate((("--size", "8"), ("--model", "small-cnn:size=8"))):
        said = told(capsys, *TRAIN, "--images", "images", *size, "-o", f"{number}.safetensors")
        assert said["network"] == "small-cnn:size=8"
        models.append(load_model(f"{number}.safetensors")[1])
    assert models[0] == models[1]
    assert (models[0].reading["size"], models[0].input_shape) == (8, (8, 8, 3))
    said = told(capsys, *TRAIN, "--images", "images", "--size", "32", "-o", "2.safetensors")
    assert said["network"] == "small-cnn"
    assert load_model("2.safetensors")[1].training["data"] == models[0].training["data"]


def test_runs_at_two_sizes_are_two_runs_on_the_same_data(here: Path, capsys: Screen) -> None:
    for size in ("8", "9"):
        assert told(capsys, *COMPARE, "--size", size, "--runs", "runs")["trained"] == 1
    configs = [
        json.loads(path.read_text(encoding="utf-8"))["record"]["config"]
        for path in (here / "runs").glob("*/record.json")
    ]
    assert sorted(config["model"] for config in configs) == ["small-cnn:size=8", "small-cnn:size=9"]
    assert len({config["data"] for config in configs}) == 1


def test_sizes_that_contradict_each_other(here: Path, capsys: Screen) -> None:
    assert complaint(capsys, *COMPARE, "--size", "8", "--model", "small-cnn:size=8") == (
        "the size of images must be given once, but got it in --size and --model. Leave one out."
    )
    for size in ("8", "32"):
        assert complaint(capsys, *TRAIN, "--images", "images.npz", "--size", size, "-o", "m.safetensors") == (
            "the size of a model (--size) is for images in a folder; those in a .npz stay as they are, but they are "
            f"9 x 9 pixels and the size is {size}. Leave it out, or resize them yourself."
        )
    assert complaint(capsys, *COMPARE, "--model", "small-cnn:sise=8") == (
        "an option of small-cnn must be one of size, but got 'sise'. Did you mean 'size'?"
    )


def test_a_model_of_images_in_memory_gets_files_in_their_size(here: Path, capsys: Screen) -> None:
    assert told(capsys, *TRAIN, "--images", "images.npz", "-o", "m.safetensors")["network"] == "small-cnn"
    assert load_model("m.safetensors")[1].reading["size"] == 9
    said = told(capsys, "predict", "m.safetensors", "--images", "images", "-o", "p.csv")
    assert said["notes"] == ["12 of 12 images were resized and cropped to 9 x 9 pixels."]


def test_models_whose_names_lack_the_size_still_predict(here: Path, capsys: Screen) -> None:
    """As they were saved when the size was known from how their inputs were read alone."""
    told(capsys, *TRAIN, "--images", "images", "--size", "8", "-o", "new.safetensors")
    network, config = load_model("new.safetensors")
    save_model("old.safetensors", network, replace(config, model="small-cnn"))
    for name in ("new", "old"):
        told(capsys, "predict", f"{name}.safetensors", "--images", "images", "-o", f"{name}.csv")
    assert (here / "old.csv").read_bytes() == (here / "new.csv").read_bytes()
