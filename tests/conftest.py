"""Shared fixtures. Real data lie in $VOTEWISE_DATA or ../shared/data; without them the tests that need them skip."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # one test a core: more threads only get in each other's way

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from batch_files import python2_batch
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


@pytest.fixture(scope="session")
def cifar10_images(data_folder: Path) -> np.ndarray:
    """(10000, 32, 32, 3), cut from the contact sheet of the data folder."""
    from PIL import Image

    sheet, most = data_folder / "cifar10_test.webp", Image.MAX_IMAGE_PIXELS
    if not sheet.is_file():
        pytest.skip(f"no data: {data_folder} has no cifar10_test.webp")
    try:
        Image.MAX_IMAGE_PIXELS = None
        with Image.open(sheet) as image:
            pixels = np.asarray(image.convert("RGB"))
    finally:
        Image.MAX_IMAGE_PIXELS = most
    return pixels.reshape(100, 32, 100, 32, 3).transpose(0, 2, 1, 3, 4).reshape(10_000, 32, 32, 3)


@pytest.fixture(scope="session")
def released(
    data_folder: Path, cifar10_images: np.ndarray, cifar10_labels: np.ndarray, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with the votes and the unpacked images of CIFAR-10H in the released layouts, from what the data hold."""
    folder = tmp_path_factory.mktemp("released")
    (folder / "cifar-10-batches-py").mkdir()
    names = [f"{number:05d}.png" for number in range(10_000)]
    batch = python2_batch(cifar10_images, labels=cifar10_labels.tolist(), filenames=names)
    (folder / "cifar-10-batches-py" / "test_batch").write_bytes(batch)
    shutil.copyfile(data_folder / "cifar10h-counts.npy", folder / "cifar10h-counts.npy")
    return folder


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("mounting a file system needs rights")
    yield folder
    subprocess.run(["umount", folder], check=True)
