"""The reference networks: shapes, sizes, what their statistics are, and their names."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from votewise import InputError
from votewise.models import (
    KINDS,
    MLP,
    MODELS,
    SmallCNN,
    Standardise,
    default_model,
    find_model,
    model_label,
)
from votewise.models import hash_ngrams as hash_texts

SHAPES = {"images": (17, 16, 1), "features": (5,), "text": (9,)}


def inputs_of(kind: str, n: int) -> torch.Tensor:
    height, width, channels = SHAPES["images"]
    return {
        "images": torch.rand(n, channels, height, width),
        "features": torch.randn(n, 5),
        "text": torch.randint(0, 8192, (n, 9)),
    }[kind]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [1, 3])
def test_every_model_of_the_catalogue_trains_on_its_kind(name: str, batch: int) -> None:
    row = MODELS[name]
    model = row.build(4, SHAPES[row.kind]).train()
    logits = model(inputs_of(row.kind, batch))
    assert logits.shape == (batch, 4)
    logits.sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters())
    assert find_model(name, row.kind).build is row.build


def test_defaults_and_wrong_names() -> None:
    assert [default_model(kind) for kind in KINDS] == ["small-cnn", "mlp", "ngram"]
    with pytest.raises(
        InputError,
        match=r"^the model must be one of small-cnn, resnet18, mlp, ngram, encoder, but got 'resnet'\. Did you mean 'resnet18'\?$",
    ):
        find_model("resnet", "images")
    with pytest.raises(
        InputError, match=r"^the model must take images, but 'mlp' takes features\. Pick one of small-cnn, resnet18\.$"
    ):
        find_model("mlp", "images")
    with pytest.raises(
        InputError,
        match=r"^resnet18 needs images of at least 16 pixels on each side, but they are 12 x 64\. Choose a larger --size\.$",
    ):
        find_model("resnet18", "images").check((12, 64, 3))
    find_model("small-cnn", "images").check((8, 8, 3))


def test_the_size_of_images_is_an_option() -> None:
    assert find_model("small-cnn", "images").size == find_model("small-cnn:size=32", "images").size == 32
    assert find_model("resnet18:size=48", "images").size == 48
    assert find_model("mlp", "features").size is None
    assert [model_label(name) for name in ("small-cnn", "small-cnn:size=32", "resnet18:size=48")] == [
        "small-cnn",
        "small-cnn",
        "resnet18:size=48",
    ]
    assert model_label("small-cnn:size=48", size=64) == "small-cnn:size=64"
    for label, message in (
        ("small-cnn:size=big", r"^small-cnn:size must be a whole number, but got 'big'\. The default is 32\.$"),
        ("small-cnn:sise=48", r"^an option of small-cnn must be one of size, but got 'sise'\. Did you mean 'size'\?$"),
    ):
        with pytest.raises(InputError, match=message):
            find_model(label, "images")
    with pytest.raises(InputError, match=r"^mlp has no options, but got 'size'\. Leave them out\.$"):
        find_model("mlp:size=4", "features")


def test_images_in_memory_may_not_contradict_the_size() -> None:
    find_model("small-cnn", "images").check((20, 30, 3))
    find_model("small-cnn:size=20", "images").check((20, 20, 3))
    for label in ("small-cnn:size=32", "small-cnn:size=20"):
        with pytest.raises(
            InputError,
            match=r"^the size of a model \(--size\) is for images in a folder; those in a \.npz stay as they are, but they "
            r"are 20 x 30 pixels and the size is \d\d\. Leave it out, or resize them yourself\.$",
        ):
            find_model(label, "images").check((20, 30, 3))


def test_a_model_of_texts_encodes_them() -> None:
    encode = find_model("ngram", "text").encode
    assert encode is not None
    np.testing.assert_array_equal(encode(["ab", "c"], iter)[0], hash_texts(["ab", "c"]))
    assert encode(["x" * 9999], iter)[0].shape == (1, 512)
    assert all(row.encode is None for row in MODELS.values() if row.kind != "text")


@pytest.mark.parametrize("side", [8, 9, 33])
def test_the_small_network_takes_any_size_and_is_small(side: int) -> None:
    model = SmallCNN(10)
    assert model(torch.rand(2, 3, side, side)).shape == (2, 10)
    assert model.features(torch.rand(2, 3, side, side + 5)).shape == (2, 128)
    assert sum(p.numel() for p in model.parameters()) == 94_762


def test_an_image_is_judged_alone() -> None:
    """No statistic of the batch: the same image gives the same logits among others, training or not."""
    model, images = SmallCNN(3), torch.rand(5, 3, 12, 12)
    torch.testing.assert_close(model.train()(images)[:1], model.eval()(images[:1]))


@given(st.integers(1, 40), st.integers(1, 17), st.integers(0, 10**6))
def test_standardise_learns_the_training_rows_in_whatever_batches(n: int, batch: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = torch.from_numpy((rng.normal(size=(n, 3)) * [1, 1e-3, 50] + [0, 4, 1e5]).astype(np.float32))
    layer = Standardise(3).train()
    for _ in range(3):
        for part in rows[torch.from_numpy(rng.permutation(n))].split(batch):
            assert torch.isfinite(layer(part)).all()
    np.testing.assert_allclose(layer.mean, rows.double().mean(dim=0), rtol=1e-9, atol=1e-9)
    deviation = rows.double().std(dim=0, correction=0)
    expected = torch.where(deviation > 0, (rows - rows.double().mean(dim=0)) / deviation.clamp(min=1e-300), 0.0)
    np.testing.assert_allclose(layer.eval()(rows), expected, atol=2e-4)


def test_standardise_knows_no_rows_but_those_of_training() -> None:
    layer = Standardise(2)
    layer.train()(torch.tensor([[0.0, 7.0], [2.0, 7.0]]))
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    out = layer.eval()(torch.tensor([[100.0, 8.0]]))
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())
    assert out.tolist() == [[99.0, 0.0]]  # a column that never varied says nothing


def test_an_mlp_does_not_care_for_units() -> None:
    torch.manual_seed(0)
    rows = torch.randn(64, 4)
    models = [MLP(3, inputs=4, dropout=0.0) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    scaled = rows * torch.tensor([1e4, 1e-4, 1.0, 3.0]) + torch.tensor([1e6, 0.0, -5.0, 2.0])
    torch.testing.assert_close(models[0].train()(rows), models[1].train()(scaled), atol=1e-2, rtol=1e-2)
    assert MLP(3, inputs=4, hidden_layers=2, width=16).features(rows).shape == (64, 16)


def test_a_long_text_is_sampled_to_its_end() -> None:
    head, tail = "a" * 5000, "z" * 5000
    short, long = hash_texts([head + tail], most=100)[0], hash_texts([tail], most=100)[0]
    assert len(short) == 100
    assert set(short) & set(long)  # n-grams of the end are among those kept
    assert (hash_texts(text for text in ["ab", "c"]) == hash_texts(["ab", "c"])).all()
