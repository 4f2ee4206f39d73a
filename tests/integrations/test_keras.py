"""Keras 3 on torch, in processes of its own: its backend is named before it is imported, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from votewise import Multipass, Votes


def test_fits_see_the_labels_of_each_epoch_through_soft_cross_entropy_and_mistakes_are_refused(
    votes: Votes, tmp_path: Path
) -> None:
    np.save(tmp_path / "counts.npy", votes.counts)
    command = [sys.executable, "-W", "error", str(Path(__file__).with_name("keras_work.py")), str(tmp_path)]
    environment = {**os.environ, "KERAS_BACKEND": "torch", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = np.load(tmp_path / "seen.npz")
    delivery = Multipass(Votes.from_counts(votes.counts), seed=3)
    rows, targets = seen["rows"].reshape(5, 20), seen["targets"].reshape(5, 20, 3)
    for epoch in range(5):
        assert sorted(rows[epoch]) == list(range(20))
        np.testing.assert_array_equal(targets[epoch], delivery.targets(epoch, rows[epoch]))
    assert not np.array_equal(rows[0], rows[1])
    with_prior = np.load(tmp_path / "prior.npz")
    delivery = Multipass(Votes.from_counts(votes.counts), seed=3, prior=0.5)
    for epoch, (rows, targets) in enumerate(zip(with_prior["rows"], with_prior["targets"], strict=True)):
        np.testing.assert_array_equal(targets, delivery.targets(epoch, rows))
    assert epoch == 1
