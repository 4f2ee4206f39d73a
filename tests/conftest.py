"""Shared fixtures. Real data lie in $VOTEWISE_DATA or ../shared/data; without them the tests that need them skip."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from votewise import Votes

settings.register_profile("votewise", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("votewise")

CIFAR10_CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = Path(os.environ.get("VOTEWISE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    if not (folder / "cifar10h-counts.npy").is_file():
        pytest.skip(f"no data: {folder} has no cifar10h-counts.npy (licences forbid shipping it; set VOTEWISE_DATA)")
    return folder


@pytest.fixture(scope="session")
def cifar10h(data_folder: Path) -> Votes:
    return Votes.from_counts(np.load(data_folder / "cifar10h-counts.npy"), classes=CIFAR10_CLASSES)


@pytest.fixture(scope="session")
def cifar10_labels(data_folder: Path) -> np.ndarray:
    return np.load(data_folder / "cifar10_test_labels.npy").astype(np.int64)
