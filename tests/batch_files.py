"""Image batches and archives as CIFAR releases them, of any size."""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

import numpy as np


def python2_batch(images: np.ndarray, **lists: list[int] | list[str]) -> bytes:
    """A batch as released: a protocol 2 pickle of Python 2, whose strings Python 3 cannot write."""

    def text(value: str) -> bytes:
        return b"U" + bytes([len(value)]) + value.encode("ascii")

    def value(entry: int | str) -> bytes:
        return text(entry) if isinstance(entry, str) else b"K" + bytes([entry])

    rows = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), -1)
    array = b"cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85" + text("b") + b"\x87R(K\x01"
    array += b"".join(b"J" + struct.pack("<i", size) for size in rows.shape) + b"\x86cnumpy\ndtype\n" + text("u1")
    array += b"K\x00K\x01\x87R(K\x03" + text("|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
    array += b"T" + struct.pack("<i", rows.nbytes) + rows.tobytes() + b"tb"
    members = b"".join(text(key) + b"](" + b"".join(map(value, entries)) + b"e" for key, entries in lists.items())
    return b"\x80\x02}q\x01(" + text("batch_label") + text("testing batch") + text("data") + array + members + b"u."


def write_archive(path: Path, members: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, raw in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
