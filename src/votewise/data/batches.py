"""The image batches of CIFAR-10 and CIFAR-100, from the unpacked folder or straight from the released archive."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from votewise._checks import IntArray
from votewise._errors import InputError
from votewise.data.images import ImageArray
from votewise.data.pickled import PickleError, read_pickle

_CHANNELS_FIRST = (3, 32, 32)
_PIXELS = 3072

# A released test batch has 31 MB, a whole archive 186 MB unpacked and 9 members; more would be something else.
_MOST_BATCH_BYTES = 1 << 28
_MOST_ARCHIVE_BYTES = 1 << 28
_MOST_MEMBERS = 1000

_BLOCK = 1 << 16


def read_cifar_batch(path: Path, member: str, label_key: str, n_classes: int) -> tuple[ImageArray, IntArray]:
    """Images (N, 32, 32, 3) and labels (N,) of one batch; a pickle's bytes cannot run code here.

    Args:
        path: the batch itself, or a .tar.gz that contains it.
        member: the name of the batch in an archive.
        label_key: the key of the labels in the batch.
        n_classes: labels run from 0 to one less.
    """
    if path.name.endswith(".tar.gz"):
        raw = _read_cifar_member(path, member)
    else:
        with path.open("rb") as file:
            raw = _check_cifar_size(path, file.read(_MOST_BATCH_BYTES + 1))
    try:
        batch: Any = read_pickle(raw)
    except PickleError as error:
        raise _damaged_cifar_file(path, str(error)) from None
    data = batch.get("data") if isinstance(batch, dict) else None
    if not isinstance(data, np.ndarray) or data.shape[1:] != (_PIXELS,) or not len(data):
        raise _damaged_cifar_file(path, f"it has no 'data' of images x {_PIXELS} bytes")
    labels = batch.get(label_key)
    if not isinstance(labels, list) or len(labels) != len(data):
        raise _damaged_cifar_file(path, f"it has no {label_key!r} with one label per image")
    if not all(type(label) is int and 0 <= label < n_classes for label in labels):
        raise _damaged_cifar_file(path, f"its {label_key!r} are not all whole numbers from 0 to {n_classes - 1}")
    images = np.ascontiguousarray(data.reshape(-1, *_CHANNELS_FIRST).transpose(0, 2, 3, 1))
    return images, np.array(labels, dtype=np.int64)


def _read_cifar_member(path: Path, member: str) -> bytes:
    """The bytes of one member of an archive, read in memory; nothing is unpacked onto the disk.

    Headers are taken one by one: `tarfile` would keep all of them, and whatever long names they announce.
    """
    try:
        with gzip.open(path) as unzipped:
            left = _MOST_ARCHIVE_BYTES
            for _ in range(_MOST_MEMBERS):
                header = unzipped.read(tarfile.BLOCKSIZE)
                if header and not any(header):
                    break
                entry = tarfile.TarInfo.frombuf(header, tarfile.ENCODING, "surrogateescape")
                if entry.name == member and entry.isreg():
                    return _check_cifar_size(path, unzipped.read(min(entry.size, _MOST_BATCH_BYTES + 1)))
                padded = -(-entry.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
                left -= tarfile.BLOCKSIZE + padded
                if entry.size < 0 or left < 0:
                    raise ValueError(f"it unpacks to more than {_MOST_ARCHIVE_BYTES:,} bytes")
                while padded:
                    padded -= (got := len(unzipped.read(min(padded, _BLOCK))))
                    if not got:
                        raise EOFError("it is cut off")
            else:
                raise ValueError(f"it has more than {_MOST_MEMBERS:,} members")
    # gzip's own errors are kinds of OSError, EOFError and zlib.error; misleading headers raise the others.
    except (tarfile.TarError, OSError, EOFError, zlib.error, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise _damaged_cifar_file(path, f"reading it failed: {str(error) or type(error).__name__}") from None
    raise _damaged_cifar_file(path, f"it has no file {member}")


def _check_cifar_size(path: Path, raw: bytes) -> bytes:
    if len(raw) > _MOST_BATCH_BYTES:
        raise _damaged_cifar_file(path, f"it has more than {_MOST_BATCH_BYTES:,} bytes")
    return raw


def _damaged_cifar_file(path: Path, reason: str) -> InputError:
    return InputError(
        f"{str(path)!r} must be images as CIFAR releases them", reason, "Remove it and get the released file again"
    )
