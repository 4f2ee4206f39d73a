"""Real trainers in two processes: every item in every epoch with its label, and the weights of one process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from votewise import Multipass, Votes

SCRIPT = Path(__file__).with_name("gloo_trainers.py")


def start(name: str, folder: Path, processes: int, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(SCRIPT), name, str(folder), str(processes)]
    return subprocess.Popen(command, env={**os.environ, "HF_HUB_OFFLINE": "1", **environment})


def free_port() -> str:
    with socket.socket() as waiting:
        waiting.bind(("127.0.0.1", 0))
        return str(waiting.getsockname()[1])


@pytest.mark.slow
def test_two_processes_deliver_and_train_as_one(votes: Votes, tmp_path: Path) -> None:
    counts = votes.counts[:16]  # four batches of four, two for each process
    np.save(tmp_path / "counts.npy", counts)
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    processes = [
        start("0", tmp_path, 2, {**shared, "RANK": "0", "LOCAL_RANK": "0"}),
        start("1", tmp_path, 2, {**shared, "RANK": "1", "LOCAL_RANK": "1"}),
        start("alone", tmp_path, 1, {}),
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    first, second, alone = (np.load(tmp_path / f"{name}.npz") for name in ("0", "1", "alone"))
    delivery = Multipass(Votes.from_counts(counts), seed=3)
    for seen in (first, second, alone):
        for epoch in range(3):
            now = seen["epochs"] == epoch
            np.testing.assert_array_equal(seen["targets"][now], delivery.targets(epoch, seen["rows"][now]))
    for epoch in range(3):
        rows = [row for seen in (first, second) for row in seen["rows"][seen["epochs"] == epoch]]
        assert sorted(rows) == sorted([*range(16)] * 2)  # by Trainer and by Lightning
    for model in ("transformer", "linear"):
        np.testing.assert_array_equal(first[model], second[model])
    # Lightning, unlike Trainer, takes the items in another order where there are several processes.
    np.testing.assert_allclose(first["transformer"], alone["transformer"], atol=1e-6)
