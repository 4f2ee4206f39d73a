"""Real loaders and trainers in two processes: every item in every epoch with its label, and the weights of one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from limits import HANGS
from votewise import Multipass, Votes

ITEMS, EPOCHS = 16, range(3)  # four batches of four, two for each process

Seen = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return np.random.default_rng(0).multinomial(5, [0.5, 0.3, 0.2], size=ITEMS) + np.array([1, 1, 0])


@pytest.fixture(scope="module")
def seen(counts: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Seen]:
    """What the two processes saw, and a process on its own."""
    folder = tmp_path_factory.mktemp("processes")
    np.save(folder / "counts.npy", counts)
    command = [sys.executable, str(Path(__file__).with_name("gloo_work.py")), str(folder)]
    subprocess.run(command, env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=True, timeout=HANGS)
    return {name: dict(np.load(folder / f"{name}.npz")) for name in ("0", "1", "alone")}


@pytest.fixture
def delivery(counts: np.ndarray) -> Multipass:
    return Multipass(Votes.from_counts(counts), seed=3)


@pytest.mark.slow
def test_loops_share_the_items_and_see_the_labels_of_each_epoch(seen: dict[str, Seen], delivery: Multipass) -> None:
    halves = [seen["0"], seen["1"]]
    for epoch in EPOCHS:
        assert sorted(row for half in halves for row in half["share_rows"][epoch]) == list(range(ITEMS))
        for half in halves:
            rows, targets = half["share_rows"][epoch], half["share_targets"][epoch]
            np.testing.assert_array_equal(targets, delivery.targets(epoch, rows))
            np.testing.assert_array_equal(targets.argmax(axis=1), delivery.labels(epoch, rows))
    assert not np.array_equal(*halves[0]["share_rows"][:2]), "the sampler was not told of the epoch"


@pytest.mark.slow
def test_trainers_see_the_labels_of_each_epoch(seen: dict[str, Seen], delivery: Multipass) -> None:
    for one in seen.values():
        for epoch in EPOCHS:
            now = one["epochs"] == epoch
            np.testing.assert_array_equal(one["targets"][now], delivery.targets(epoch, one["rows"][now]))
    for epoch in EPOCHS:
        rows = [row for rank in "01" for row in seen[rank]["rows"][seen[rank]["epochs"] == epoch]]
        assert sorted(rows) == sorted([*range(ITEMS)] * 2)  # by Trainer and by Lightning


@pytest.mark.slow
def test_two_processes_train_as_one(seen: dict[str, Seen]) -> None:
    for model in ("transformer", "linear"):
        np.testing.assert_array_equal(seen["0"][model], seen["1"][model])
    # Lightning, unlike Trainer, takes the items in another order when there are several processes.
    np.testing.assert_allclose(seen["0"]["transformer"], seen["alone"]["transformer"], atol=1e-6)
