"""Images and votes from the released files, whole, damaged, out of order or absent."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import pickle
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.io import savemat

from batch_files import python2_batch, write_archive
from limits import at_most
from votewise import Votes
from votewise._errors import InputError
from votewise.data import RELEASES, load_cifar10h, load_cifar100, load_svhn, prepare
from votewise.data.batches import read_cifar_batch

TEST_BATCH = "cifar-10-batches-py/test_batch"
LABELS = np.arange(40) % 10
IMAGES = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), dtype=np.uint8)
COUNTS = np.eye(10, dtype=np.int64)[LABELS] * 5 + 1


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The released layout with forty images."""
    (tmp_path / "cifar-10-batches-py").mkdir()
    (tmp_path / TEST_BATCH).write_bytes(python2_batch(IMAGES, labels=LABELS.tolist()))
    np.save(tmp_path / "cifar10h-counts.npy", COUNTS)
    return tmp_path


def test_cifar10h_as_released(released: Path, cifar10_labels: np.ndarray, cifar10h: Votes) -> None:
    data = prepare(load_cifar10h(released))
    assert (data.name, data.kind, data.form.size, data.notes) == ("cifar10h", "images", 32, ())
    assert (data.inputs.shape, data.inputs.dtype, data.labels.dtype) == ((10_000, 32, 32, 3), np.uint8, np.int64)
    np.testing.assert_allclose(data.inputs.mean(axis=(0, 1, 2)) / 255, [0.4942, 0.4851, 0.4504], atol=5e-5)
    np.testing.assert_allclose(data.inputs.std(axis=(0, 1, 2)) / 255, [0.2467, 0.2429, 0.2616], atol=5e-5)
    assert (np.bincount(data.labels) == 1000).all()
    np.testing.assert_array_equal(data.labels, cifar10_labels)
    np.testing.assert_array_equal(data.votes.counts, cifar10h.counts)
    np.testing.assert_array_equal(data.votes.item_ids, cifar10h.item_ids)
    assert data.votes.classes == cifar10h.classes
    assert (data.votes.probs.argmax(axis=1) != data.labels).sum() == 79
    # Run records name the data by it; changing this constant orphans every record.
    assert data.checksum == "67743ebdf5655495cb43087cb2f84e255638a5561ba4970c54a8b7fff4619e51"


def test_the_archive_gives_the_same(released: Path, tmp_path: Path) -> None:
    shutil.copyfile(released / "cifar10h-counts.npy", tmp_path / "cifar10h-counts.npy")
    raw = (released / TEST_BATCH).read_bytes()
    write_archive(
        tmp_path / "cifar-10-python.tar.gz", {"cifar-10-batches-py/readme.html": b"x" * 10**6, TEST_BATCH: raw}
    )
    one, other = prepare(load_cifar10h(released)), prepare(load_cifar10h(tmp_path))
    np.testing.assert_array_equal(one.inputs, other.inputs)
    assert one.checksum == other.checksum
    assert len(list(tmp_path.iterdir())) == 2  # nothing was unpacked


def test_the_default_folder_is_the_data_folder(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOTEWISE_DATA", str(small))
    data = prepare(load_cifar10h())
    np.testing.assert_array_equal(data.inputs, IMAGES)
    np.testing.assert_array_equal(data.labels, LABELS)


@pytest.mark.parametrize("keys", [str, str.encode])
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_batches_pickled_again_are_the_same_data(small: Path, protocol: int, keys: Callable[[str], object]) -> None:
    before = load_cifar10h(small).checksum
    rows = IMAGES.transpose(0, 3, 1, 2).reshape(40, 3072)
    batch = {keys("data"): np.asfortranarray(rows), keys("labels"): LABELS.tolist(), keys("filenames"): [b"x.png"] * 40}
    (small / TEST_BATCH).write_bytes(pickle.dumps(batch, protocol=protocol))
    assert load_cifar10h(small).checksum == before


def test_the_checksum_tells_data_apart(small: Path) -> None:
    data = load_cifar10h(small)
    brighter, moved, more = IMAGES.copy(), LABELS.copy(), COUNTS.copy()
    brighter[0, 0, 0, 0] ^= 1
    moved[0] += 1
    more[0, 0] += 1
    checksums = {data.checksum}
    for images, labels, counts in (
        (brighter, LABELS, COUNTS),
        (IMAGES, moved, COUNTS),
        (IMAGES, LABELS, more),
        (IMAGES[::-1], LABELS, COUNTS),
    ):
        (small / TEST_BATCH).write_bytes(python2_batch(images, labels=labels.tolist()))
        np.save(small / "cifar10h-counts.npy", counts)
        checksums.add(load_cifar10h(small).checksum)
    assert len(checksums) == 5


def test_loaded_arrays_are_read_only(small: Path) -> None:
    data = prepare(load_cifar10h(small))
    for array in (data.inputs, data.labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0  # type: ignore[index]


def complaint(load: Callable[[], object]) -> str:
    with pytest.raises(InputError) as caught:
        load()
    return str(caught.value)


def test_missing_files_are_named_with_what_to_do(tmp_path: Path) -> None:
    counts = "https://raw.githubusercontent.com/jcpeterson/cifar-10h/master/data/cifar10h-counts.npy"
    archive = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    assert complaint(lambda: load_cifar10h(tmp_path)) == (
        f"the data set cifar10h must be in {str(tmp_path)!r}, but it lacks cifar10h-counts.npy and "
        "cifar-10-python.tar.gz (or cifar-10-batches-py/test_batch). Run 'votewise datasets fetch cifar10h', or get "
        f"cifar10h-counts.npy and cifar-10-python.tar.gz by hand from {counts} and {archive} and place them in "
        f"{str(tmp_path)!r}; if they are elsewhere, name that folder (--data on the command line) or set VOTEWISE_DATA to it."
    )
    np.save(tmp_path / "cifar10h-counts.npy", COUNTS)
    assert "it lacks cifar-10-python.tar.gz (or" in complaint(lambda: load_cifar10h(tmp_path))
    assert "it lacks test_32x32.mat (or svhn_test_10k.npz)" in complaint(lambda: load_svhn(tmp_path))
    assert "or cifar-100-python/test or cifar100_part.npz)" in complaint(lambda: load_cifar100(tmp_path / "nowhere"))


def test_another_order_is_refused(small: Path) -> None:
    np.save(small / "cifar10h-counts.npy", COUNTS[::-1])
    assert complaint(lambda: load_cifar10h(small)) == (
        "votes and images must be in the same order, but people's first choice is the label of only 0.0% of the images, so "
        f"the orders of {str(small / 'cifar10h-counts.npy')!r} and {str(small / TEST_BATCH)!r} differ. "
        "Take both files as released."
    )


WRONG_COUNTS: dict[str, tuple[Any, str]] = {
    "too few": (COUNTS[:30], "images must have a row for each of 30 items, but got 40"),
    "fractions": (COUNTS / 2, "got float64 of shape (40, 10)"),
    "other classes": (COUNTS[:, :9], "got int64 of shape (40, 9)"),
    "flat": (COUNTS.ravel(), "got int64 of shape (400,)"),
    "a scalar": (np.array(3), "got int64 of shape ()"),
    "negative": (-COUNTS, "none negative"),
    "nobody voted": (COUNTS * 0, "40 have none"),
    "text": (COUNTS.astype(str), "got <U21 of shape (40, 10)"),
}


@pytest.mark.parametrize("case", WRONG_COUNTS)
def test_wrong_counts(small: Path, case: str) -> None:
    counts, expected = WRONG_COUNTS[case]
    np.save(small / "cifar10h-counts.npy", counts)
    assert expected in complaint(lambda: load_cifar10h(small))


def test_counts_that_could_run_code_are_refused(small: Path) -> None:
    np.save(small / "cifar10h-counts.npy", np.array([Sneaky(small / "ran")], dtype=object), allow_pickle=True)
    assert "must be a NumPy array of numbers" in complaint(lambda: load_cifar10h(small))
    (small / TEST_BATCH).write_bytes(pickle.dumps({"data": Sneaky(small / "ran")}))
    np.save(small / "cifar10h-counts.npy", COUNTS)
    assert complaint(lambda: load_cifar10h(small)) == (
        f"{str(small / TEST_BATCH)!r} must be images as CIFAR releases them, but it asks to call 'posix.mkdir', which "
        "could run code. Remove it and get the released file again."
    )
    assert not (small / "ran").exists()


class Sneaky:
    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


ROWS = IMAGES.reshape(40, 3072)
WRONG_BATCHES: dict[str, tuple[Any, str]] = {
    "no dict": ([ROWS], "it has no 'data' of images x 3072 bytes"),
    "no data": ({"labels": [1]}, "it has no 'data' of images x 3072 bytes"),
    "flat data": ({"data": ROWS.ravel(), "labels": [1]}, "it has no 'data' of images x 3072 bytes"),
    "other pixels": ({"data": ROWS[:, :3071].copy(), "labels": [1]}, "it has no 'data' of images x 3072 bytes"),
    "no images": ({"data": ROWS[:0], "labels": []}, "it has no 'data' of images x 3072 bytes"),
    "floats": ({"data": ROWS / 255, "labels": [1]}, "it holds an array that is not one of bytes (uint8)"),
    "no labels": ({"data": ROWS}, "it has no 'labels' with one label per image"),
    "too few labels": ({"data": ROWS, "labels": [1] * 39}, "it has no 'labels' with one label per image"),
    "a class too many": ({"data": ROWS, "labels": [10] * 40}, "its 'labels' are not all whole numbers from 0 to 9"),
    "below zero": ({"data": ROWS, "labels": [-1] * 40}, "its 'labels' are not all whole numbers from 0 to 9"),
    "booleans": ({"data": ROWS, "labels": [True] * 40}, "its 'labels' are not all whole numbers from 0 to 9"),
    "lists": ({"data": ROWS, "labels": [[1]] * 40}, "its 'labels' are not all whole numbers from 0 to 9"),
}


@pytest.mark.parametrize("case", WRONG_BATCHES)
def test_wrong_batches(small: Path, case: str) -> None:
    batch, expected = WRONG_BATCHES[case]
    (small / TEST_BATCH).write_bytes(pickle.dumps(batch))
    assert f"must be images as CIFAR releases them, but {expected}." in complaint(lambda: load_cifar10h(small))


def tar_of(*entries: tarfile.TarInfo) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as archive:
        for entry in entries:
            archive.addfile(entry, io.BytesIO(bytes(entry.size)))
    return buffer.getvalue()


def entry(name: str, **fields: Any) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(made, field, value)
    return made


GOOD_ARCHIVE = tar_of(entry(TEST_BATCH, size=9999))
WRONG_ARCHIVES = {
    "nothing": (b"", "reading it failed"),
    "a web page": (b"<html>no such file</html>", "reading it failed: Not a gzipped file (b'<h')"),
    "no archive inside": (gzip.compress(b"x" * 2000), "reading it failed: invalid header"),
    "cut off": (GOOD_ARCHIVE[: len(GOOD_ARCHIVE) // 2], "reading it failed"),
    "without the batch": (tar_of(entry("other")), f"it has no file {TEST_BATCH}"),
    "a link": (tar_of(entry(TEST_BATCH, type=tarfile.SYMTYPE, linkname="/etc/passwd")), f"it has no file {TEST_BATCH}"),
    "a hard link": (tar_of(entry(TEST_BATCH, type=tarfile.LNKTYPE, linkname="x")), f"it has no file {TEST_BATCH}"),
    "a folder": (tar_of(entry(TEST_BATCH, type=tarfile.DIRTYPE)), f"it has no file {TEST_BATCH}"),
    "a path outside": (tar_of(entry(f"../{TEST_BATCH}")), f"it has no file {TEST_BATCH}"),
    "an empty batch": (tar_of(entry(TEST_BATCH)), "it is damaged"),
    "zeros for a batch": (GOOD_ARCHIVE, "it is damaged"),
}


@pytest.mark.parametrize("case", WRONG_ARCHIVES)
def test_wrong_archives(small: Path, case: str) -> None:
    raw, expected = WRONG_ARCHIVES[case]
    (small / TEST_BATCH).unlink()
    (small / "cifar-10-python.tar.gz").write_bytes(raw)
    assert f"must be images as CIFAR releases them, but {expected}" in complaint(lambda: load_cifar10h(small))


def test_an_archive_that_unpacks_without_end(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("votewise.data.batches._MOST_ARCHIVE_BYTES", 10**6)
    (small / TEST_BATCH).unlink()
    (small / "cifar-10-python.tar.gz").write_bytes(tar_of(entry("zeros", size=2 * 10**6), entry(TEST_BATCH, size=9)))
    assert "it unpacks to more than 1,000,000 bytes" in complaint(lambda: load_cifar10h(small))


def test_an_archive_that_states_an_endless_size(small: Path) -> None:
    """A header of 2**80 bytes, which would be skipped for years."""
    header = bytearray(entry("endless").tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\x80" + (1 << 80).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    (small / TEST_BATCH).unlink()
    (small / "cifar-10-python.tar.gz").write_bytes(gzip.compress(bytes(header)))
    assert "it unpacks to more than 268,435,456 bytes" in complaint(lambda: load_cifar10h(small))


def test_a_batch_too_long(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("votewise.data.batches._MOST_BATCH_BYTES", 1000)
    assert "it has more than 1,000 bytes" in complaint(lambda: load_cifar10h(small))
    write_archive(small / "cifar-10-python.tar.gz", {TEST_BATCH: (small / TEST_BATCH).read_bytes()})
    (small / TEST_BATCH).unlink()
    assert "it has more than 1,000 bytes" in complaint(lambda: load_cifar10h(small))


TINY_ARCHIVE = gzip.decompress(tar_of(entry("readme"), entry(TEST_BATCH, size=600)))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, len(TINY_ARCHIVE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_any_archive_gives_our_error(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    raw = bytearray(TINY_ARCHIVE)
    for at, value in changes:
        raw[at] = value
    path = tmp_path / "a.tar.gz"
    path.write_bytes(gzip.compress(bytes(raw), compresslevel=1))
    with pytest.raises(InputError):
        read_cifar_batch(path, TEST_BATCH, "labels", 10)


def publish(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Let the catalogue know a file of these tests as the released one."""
    ((released, part),) = RELEASES["svhn"].parts
    known = replace(released, checksum=f"md5:{hashlib.md5(path.read_bytes()).hexdigest()}")
    monkeypatch.setitem(RELEASES, "svhn", replace(RELEASES["svhn"], parts=((known, part),)))


def test_svhn_from_matlab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digits, path = np.where(LABELS == 0, 10, LABELS), tmp_path / "test_32x32.mat"
    savemat(path, {"X": np.moveaxis(IMAGES, 0, -1), "y": digits[:, None].astype(np.uint8)}, do_compression=True)
    np.savez(tmp_path / "svhn_test_10k.npz", images=IMAGES[:5], label=LABELS[:5])
    publish(monkeypatch, path)
    found = load_svhn(tmp_path)  # the whole set is preferred to a part
    np.testing.assert_array_equal(found.images, IMAGES)
    np.testing.assert_array_equal(found.labels, LABELS)
    assert (found.name, found.source, found.labels.dtype) == ("svhn", "test_32x32.mat", np.int64)


def test_other_matlab_files_never_reach_the_parser(tmp_path: Path) -> None:
    """Its parser ends the process on some of them."""
    path = tmp_path / "test_32x32.mat"
    savemat(path, {"X": np.moveaxis(IMAGES, 0, -1), "y": LABELS[:, None].astype(np.uint8)})
    assert complaint(lambda: load_svhn(tmp_path)) == (
        f"{str(path)!r} must have the published bytes (md5:eb5a983be6a315427106f1b164d9cef3), but it has others. "
        "Remove it and get the released file again."
    )


@pytest.mark.parametrize(
    ("load", "name", "key"), [(load_svhn, "svhn_test_10k.npz", "label"), (load_cifar100, "cifar100_part.npz", "fine")]
)
def test_parts_as_arrays(tmp_path: Path, load: Callable[..., Any], name: str, key: str) -> None:
    np.savez(tmp_path / name, images=IMAGES, more=np.zeros(3), **{key: LABELS.astype(np.uint8)})  # type: ignore[arg-type]
    found = load(tmp_path)
    np.testing.assert_array_equal(found.images, IMAGES)
    np.testing.assert_array_equal(found.labels, LABELS)
    assert found.source == name
    with pytest.raises(ValueError, match="read-only"):
        found.images[0] = 0
    np.savez(tmp_path / name, **{key: LABELS})  # type: ignore[arg-type]
    assert complaint(lambda: load(tmp_path)) == (
        f"{str(tmp_path / name)!r} must hold the arrays 'images' and {key!r}, but it lacks 'images'. "
        "Save both with np.savez."
    )


@pytest.mark.parametrize("layout", ["cifar-100-python/test", "cifar-100-python.tar.gz"])
def test_cifar100_as_released(tmp_path: Path, layout: str) -> None:
    raw = python2_batch(IMAGES, coarse_labels=[1] * 40, fine_labels=(LABELS + 90).tolist())
    if layout.endswith(".gz"):
        write_archive(tmp_path / layout, {"cifar-100-python/test": raw})
    else:
        (tmp_path / "cifar-100-python").mkdir()
        (tmp_path / layout).write_bytes(raw)
    found = load_cifar100(tmp_path)
    np.testing.assert_array_equal(found.images, IMAGES)
    np.testing.assert_array_equal(found.labels, LABELS + 90)
    assert found.source == Path(layout).name


WRONG_OUTLIERS: dict[str, tuple[dict[str, Any], str]] = {
    "floats": ({"images": IMAGES / 255, "label": LABELS}, "got float64 of shape (40, 32, 32, 3)"),
    "grey": ({"images": IMAGES[..., 0], "label": LABELS}, "got uint8 of shape (40, 32, 32)"),
    "none": ({"images": IMAGES[:0], "label": LABELS[:0]}, "got uint8 of shape (0, 32, 32, 3)"),
    "labels missing": ({"images": IMAGES, "label": LABELS[:3]}, "a label from 0 to 9 for each image"),
    "labels of fractions": ({"images": IMAGES, "label": LABELS / 2}, "a label from 0 to 9 for each image"),
    "labels beyond": ({"images": IMAGES, "label": LABELS + 1}, "a label from 0 to 9 for each image"),
    "objects": ({"images": np.array([None]), "label": LABELS}, "reading it failed: Object arrays cannot be loaded"),
}


@pytest.mark.parametrize("case", WRONG_OUTLIERS)
def test_wrong_outliers(tmp_path: Path, case: str) -> None:
    arrays, expected = WRONG_OUTLIERS[case]
    np.savez(tmp_path / "svhn_test_10k.npz", **arrays)
    assert expected in complaint(lambda: load_svhn(tmp_path))


@pytest.mark.parametrize(
    "raw", [b"", b"PK\x03\x04 no more", b"<html>", b"\x93NUMPY"], ids=["empty", "zip", "page", "npy"]
)
def test_arrays_that_are_none(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "cifar100_part.npz").write_bytes(raw)
    assert "cifar100_part.npz' must be readable, but reading it failed: " in complaint(lambda: load_cifar100(tmp_path))


def test_arrays_that_unpack_without_end(tmp_path: Path) -> None:
    images = np.zeros((60_000, 32, 32, 3), dtype=np.uint8)
    np.savez_compressed(tmp_path / "cifar100_part.npz", images=images, fine=LABELS)
    assert "its arrays claim to have more than 67,108,864 bytes, 100 times as many as it" in complaint(
        lambda: load_cifar100(tmp_path)
    )


def test_an_archive_of_members_without_end(small: Path) -> None:
    """Two million empty files, of which each would be remembered."""
    (small / TEST_BATCH).unlink()
    header = entry("empty").tobuf(tarfile.GNU_FORMAT)
    path = small / "cifar-10-python.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(header * 10_000)
    with at_most(megabytes=100):
        assert "it has more than 1,000 members" in complaint(lambda: load_cifar10h(small))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME], ids=["attributes", "name"])
def test_an_archive_with_a_header_without_end(small: Path, kind: bytes) -> None:
    """A name of 200 MB, as a kind of header that is read into memory whole."""
    (small / TEST_BATCH).unlink()
    size = 200 << 20
    with gzip.open(small / "cifar-10-python.tar.gz", "wb", compresslevel=1) as file:
        file.write(entry("name", type=kind, size=size).tobuf(tarfile.GNU_FORMAT))
        for _ in range(size >> 20):
            file.write(b"a" * (1 << 20))
        file.write(entry("other").tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with at_most(megabytes=100):
        assert f"it has no file {TEST_BATCH}" in complaint(lambda: load_cifar10h(small))
