"""Pretrained encoders on the command line: from votes and texts or images to report, model and predictions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from encoders import tiny_bert, tiny_vit
from votewise.cli.main import main

Tell = Callable[..., dict[str, object]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Votes on 40 texts and images, that depend on whether there is a dog in them, and encoders of both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOTEWISE_CACHE", str(tmp_path / "cache"))
    dogs = np.arange(40) % 2
    votes = [
        f"{item},{person},{'dog' if dog ^ (person == 0) else 'cat'}"
        for item, dog in enumerate(dogs)
        for person in range(5)
    ]
    Path("votes.csv").write_text("\n".join(["item,annotator,label", *votes]))
    texts = [f"{item},a very old {'dog' if dog else 'cat'} sat on the mat" for item, dog in enumerate(dogs)]
    Path("texts.csv").write_text("\n".join(["item,text", *texts]))
    Path("images").mkdir()
    for item, dog in enumerate(dogs):
        Image.new("L", (20, 24), 40 + 160 * int(dog)).save(f"images/{item}.png")
    tiny_bert(tmp_path / "bert")
    tiny_vit(tmp_path / "vit")
    return tmp_path


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Run a command that succeeds, and return what it says as JSON."""

    def run(*arguments: str) -> dict[str, object]:
        assert main([*arguments, "--json"]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def fail(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that fails, and return its message."""

    def run(*arguments: str) -> str:
        assert main([*arguments, "--quiet"]) == 2
        return capsys.readouterr().err.strip()

    return run


ONE_PROCESS = ("--methods", "soft,majority", "--seeds", "2", "--backend", "device", "--device", "cpu", "--runs", "runs")


def test_a_comparison_resumes_wherever_the_encoder_lies(here: Path, tell: Tell) -> None:
    command = ("compare", "votes.csv", "--text", "texts.csv", *ONE_PROCESS)
    said = tell(*command, "--model", "encoder:bert")
    assert (said["runs"], said["trained"]) == (4, 4)
    (here / "odd, place: a=b").mkdir()
    moved = shutil.move(here / "bert", here / "odd, place: a=b" / "mini")
    assert tell(*command, "--model", f"encoder:{moved}")["trained"] == 0
    (here / "texts.csv").write_text((here / "texts.csv").read_text().replace("0,a very old", "0,the old"))
    assert tell(*command, "--model", f"encoder:{moved}")["trained"] == 4


def test_processes_find_the_encoder_that_they_tune(here: Path, tell: Tell) -> None:
    said = tell(
        "compare", "votes.csv", "--text", "texts.csv", "--model", "encoder:bert:way=tuned", "--epochs", "1",
        "--methods", "soft,sls", "--seeds", "1", "--runs", "runs",
    )  # fmt: skip
    assert (said["trained"], said["failed"]) == (2, [])
    (folder,) = {json.loads(path.read_text())["record"]["config"].get("model") for path in Path("runs").rglob("record.json")} - {None}  # fmt: skip
    assert folder.startswith("encoder:sha256=")
    assert folder.endswith(",way=tuned")


@pytest.mark.parametrize(
    ("way", "kind"), [("frozen", "text"), ("tuned", "text"), ("frozen", "images"), ("tuned", "images")]
)
def test_a_model_is_trained_and_predicts_without_the_encoders_folder(
    here: Path, tell: Tell, way: str, kind: str
) -> None:
    name = {"text": "bert", "images": "vit"}[kind]
    given = {"text": ("--text", "texts.csv"), "images": ("--images", "images")}[kind]
    rate = {"frozen": "1e-2", "tuned": "5e-3"}[way]
    said = tell(
        "train", "votes.csv", *given, "--model", f"encoder:{name}:way={way}", "--learning-rate", rate, "--method",
        "soft", "--epochs", "30", "--predictions", "held.csv", "-o", "m.safetensors",
    )  # fmt: skip
    assert said["metrics"]["accuracy"]["value"] > 0.9  # type: ignore[index]
    shutil.rmtree(here / name)
    assert tell("predict", "m.safetensors", *given, "-o", "all.csv")["items"] == 40
    whole = dict(line.split(",", 1) for line in Path("all.csv").read_text().splitlines())
    for line in Path("held.csv").read_text().splitlines()[1:]:
        item, shares = line.split(",", 1)
        assert np.fromstring(whole[item], sep=",") == pytest.approx(np.fromstring(shares, sep=","), abs=1e-5)


def test_saved_models_that_are_damaged(here: Path, tell: Tell, fail: Callable[..., str]) -> None:
    tell("train", "votes.csv", "--text", "texts.csv", "--model", "encoder:bert", "--epochs", "1", "-o", "m.safetensors")
    weights = load_file("m.safetensors")
    with safe_open("m.safetensors", "pt") as file:
        metadata = file.metadata()
    predict = ("predict", "m.safetensors", "--text", "texts.csv", "-o", "p.csv")

    save_file(weights, "m.safetensors", {"votewise": metadata["votewise"]})
    assert fail(*predict) == (
        "votewise: 'm.safetensors' must be a model saved by votewise train, but its config is invalid: an encoder must "
        "be saved with its files, but they are missing. Save it again. Check the path, or train it again."
    )
    config = json.loads(metadata["votewise"])
    save_file(weights, "m.safetensors", {**metadata, "votewise": json.dumps({**config, "classes": ["a", "b", "c"]})})
    assert fail(*predict) == (
        "votewise: 'm.safetensors' must be a model saved by votewise train, but 'head.head.weight' has the shape (2, 256) "
        "instead of (3, 256). Check the path, or train it again."
    )
    encoder = json.loads(metadata["encoder"])
    for files, message in (
        ({"../evil": "x"}, "a saved encoder must consist of known files, but it has '../evil'. Train the model again."),
        (
            {"tokenizer.json": "{"},
            "transformers must be able to read the tokenizer of the encoder 'the saved model', but",
        ),
        ({"config.json": "{}"}, "transformers must be able to read the config of the encoder 'the saved model', but"),
    ):
        changed = {**encoder, "files": {**encoder["files"], **files}}
        save_file(weights, "m.safetensors", {**metadata, "encoder": json.dumps(changed)})
        assert fail(*predict).startswith(f"votewise: {message}")


def test_an_encoder_at_hand_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sentence = (
        "votewise: an encoder is at hand: its features usually predict votes on texts or images far better than a "
        "network that starts from nothing. To compare deliveries with it: --model 'encoder:my models/mini'\n"
    )
    compare = ("compare", "votes.csv", "--text", "texts.csv", *ONE_PROCESS, "--epochs", "1")
    for place, times in (("my models/mini", 1), ("", 0)):
        monkeypatch.setenv("VOTEWISE_ENCODER", place)
        for command in (("inspect", "votes.csv"), compare):
            assert main(command) == 0
            assert capsys.readouterr().err.count(sentence) == times
            assert main([*command, "--quiet"]) == 0
            assert sentence not in capsys.readouterr().err
    monkeypatch.setenv("VOTEWISE_ENCODER", "bert")
    assert main([*compare, "--model", "encoder:bert"]) == 0
    assert "at hand" not in capsys.readouterr().err


def test_wrong_choices_are_refused_before_anything_is_read(here: Path, fail: Callable[..., str]) -> None:
    command = ("compare", "no votes.csv", "--images", "images", "--model")
    assert fail(*command, "encoder:vit", "--size", "32") == (
        "votewise: --size is for networks that take images of any size, but got an encoder, which has its own. Leave it out."
    )
    assert fail(*command, "encoder:nothing/here/at all") == (
        "votewise: an encoder must be a folder, or a name on the Hugging Face hub (such as microsoft/mpnet-base), "
        "but 'nothing/here/at all' is neither. Check the path."
    )
