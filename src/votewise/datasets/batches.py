"""The image batches of CIFAR-10 and CIFAR-100, from the unpacked folder or straight from the released archive."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from votewise._checks import IntArray
from votewise._errors import InputError
from votewise.datasets.images import ImageArray
from votewise.datasets.pickled import PickleError, read_pickle

_CHANNELS_FIRST = (3, 32, 32)
_PIXELS = 3072

# A released test batch has 31 MB, a whole archive 186 MB unpacked; more would be something else.
_MOST_BATCH_BYTES = 1 << 28
_MOST_ARCHIVE_BYTES = 1 << 30


def read_batch(path: Path, member: str, label_key: str, n_classes: int) -> tuple[ImageArray, IntArray]:
    """Images (N, 32, 32, 3) and labels (N,) of one batch; a pickle's bytes cannot run code here.

    Args:
        path: the batch itself, or a .tar.gz that contains it.
        member: the name of the batch in an archive.
        label_key: the key of the labels in the batch.
        n_classes: labels run from 0 to one less.
    """
    raw = _read_member(path, member) if path.name.endswith(".tar.gz") else _read_file(path)
    try:
        batch = read_pickle(raw)
        return _images(batch), _labels(batch, label_key, n_classes)
    except PickleError as error:
        raise _damaged(path, str(error)) from None


def _images(batch: Any) -> ImageArray:
    data = batch.get("data") if isinstance(batch, dict) else None
    if not isinstance(data, np.ndarray) or data.shape[1:] != (_PIXELS,) or not len(data):
        raise PickleError(f"it has no 'data' of images x {_PIXELS} bytes")
    return np.ascontiguousarray(data.reshape(-1, *_CHANNELS_FIRST).transpose(0, 2, 3, 1))


def _labels(batch: dict[str, Any], key: str, n_classes: int) -> IntArray:
    labels = batch.get(key)
    if not isinstance(labels, list) or len(labels) != len(batch["data"]):
        raise PickleError(f"it has no {key!r} with one label per image")
    if not all(type(label) is int and 0 <= label < n_classes for label in labels):
        raise PickleError(f"its {key!r} are not all whole numbers from 0 to {n_classes - 1}")
    return np.array(labels, dtype=np.int64)


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        raw = file.read(_MOST_BATCH_BYTES + 1)
    return _not_too_long(path, raw)


def _read_member(path: Path, member: str) -> bytes:
    """The bytes of one member of an archive, read in memory; nothing is unpacked onto the disk."""
    try:
        with (
            gzip.open(path) as unzipped,
            tarfile.open(fileobj=_Bounded(unzipped, _MOST_ARCHIVE_BYTES), mode="r|") as archive,  # type: ignore[call-overload]
        ):
            for entry in archive:
                if entry.name == member and entry.isreg():
                    file = archive.extractfile(entry)
                    assert file is not None  # entries that are not regular files were skipped
                    return _not_too_long(path, file.read(_MOST_BATCH_BYTES + 1))
    # tarfile's own errors are kinds of OSError and TarError; misleading headers raise the others.
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError, OverflowError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise _damaged(path, f"reading it failed: {str(error) or type(error).__name__}") from None
    raise _damaged(path, f"it has no file {member}")


class _Bounded:
    """A stream that raises an error once more is requested than any release holds.

    Requested bytes count, not received ones: a header can state a size that tarfile would skip over for years.
    """

    def __init__(self, stream: BinaryIO | gzip.GzipFile, most: int) -> None:
        self._stream = stream
        self._left = most

    def read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise ValueError(f"it unpacks to more than {_MOST_ARCHIVE_BYTES:,} bytes")
        return self._stream.read(size)


def _not_too_long(path: Path, raw: bytes) -> bytes:
    if len(raw) > _MOST_BATCH_BYTES:
        raise _damaged(path, f"it has more than {_MOST_BATCH_BYTES:,} bytes")
    return raw


def _damaged(path: Path, reason: str) -> InputError:
    return InputError(
        f"{str(path)!r} must be images as CIFAR releases them", reason, "Remove it and get the released file again"
    )
