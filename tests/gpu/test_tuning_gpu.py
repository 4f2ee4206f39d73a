"""Encoders on a GPU: tuned as on a CPU, through the backend that users get there, and frozen features equal to a CPU's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from encoders import WORDS, tiny_bert
from votewise import Votes
from votewise.data import Dataset, Prepared, prepare
from votewise.data.texts import Texts
from votewise.experiments import Grid, default_recipe, execute
from votewise.experiments.backends.device import Device
from votewise.models import find_model
from votewise.training import TrainConfig

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU"),
    pytest.mark.filterwarnings("default"),  # what a driver has to say is not of interest here
]


def prepared(folder: Path, way: str) -> Prepared:
    rng = np.random.default_rng(0)
    texts = tuple(" ".join(rng.choice(WORDS, size=rng.integers(0, 20))) for _ in range(60))
    counts = np.where(np.array(["dog" in text for text in texts])[:, None], [4, 1, 0], [0, 2, 3])
    data = Dataset("dogs", Texts(None, texts), Votes.from_counts(counts), "checksum")
    return prepare(data, find_model(f"encoder:{folder}:way={way}", "text"))


def losses(data: Prepared, recipe: TrainConfig, device: str) -> list[np.ndarray]:
    runs = Grid(("soft", "majority"), range(2)).runs(data, recipe)
    records = execute(runs, data, backend=Device(device))
    assert [record.status for record in records] == ["done"] * 4
    return [record.curves["train_loss"] for record in records]


@pytest.mark.parametrize("micro_batch", [0, 5])
def test_tuning_on_a_gpu_is_that_on_a_cpu(tmp_path: Path, micro_batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Dropout draws other numbers on a GPU.
    monkeypatch.setattr(torch.nn.Dropout, "forward", lambda _, values: values)
    data = prepared(tiny_bert(tmp_path / "bert"), "tuned")
    recipe = replace(default_recipe(data, epochs=3), micro_batch=micro_batch, precision="fp32")
    for of_cpu, of_gpu in zip(losses(data, recipe, "cpu"), losses(data, recipe, "cuda"), strict=True):
        np.testing.assert_allclose(of_gpu, of_cpu, rtol=1e-3)


def test_bf16_learns(tmp_path: Path) -> None:
    data = prepared(tiny_bert(tmp_path / "bert"), "tuned")
    recipe = default_recipe(data, epochs=30, learning_rate=5e-3, device="cuda")
    assert recipe.precision == "bf16"
    assert all(curve[-1] < curve[0] - 0.1 for curve in losses(data, recipe, "cuda"))


def test_features_are_those_of_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_bert(tmp_path / "bert")
    monkeypatch.setenv("VOTEWISE_CACHE", str(tmp_path / "one"))
    on_gpu = prepared(folder, "frozen").inputs
    monkeypatch.setenv("VOTEWISE_CACHE", str(tmp_path / "two"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    np.testing.assert_allclose(on_gpu, prepared(folder, "frozen").inputs, atol=1e-5)
