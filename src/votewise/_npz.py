"""Arrays from a .npz that anyone may have written: what it claims is checked before memory is taken for it."""

from __future__ import annotations

import math
import os
import sys
import warnings
from collections.abc import Collection
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# An archive may unpack to as many times its size; pictures of drawings shrink to about a twentieth. Below the second
# limit, in bytes, it may be anything.
_MOST_INFLATED = 100
_SMALL = 1 << 26

_BLOCK = 1 << 20


def read_npz(path: str | os.PathLike[str], names: Collection[str]) -> dict[str, Array]:
    """The arrays of some names; those that are not there are left out, and other members are not read.

    A damaged archive can raise anything; one that is whole, but holds no plain arrays or claims too much, a ValueError.

    Args:
        path: the archive.
        names: what to read, without the suffix that NumPy adds.
    """
    with open(path, "rb") as file, ZipFile(file) as archive:  # noqa: PTH123  # a path may be text
        members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
        wanted = {name: members[name] for name in names if name in members}
        most = max(_MOST_INFLATED * os.fstat(file.fileno()).st_size, _SMALL)
        if sum(member.file_size for member in wanted.values()) > most:
            raise ValueError(f"its arrays claim to have more than {most:,} bytes, {_MOST_INFLATED} times as many as it")
        arrays = {}
        for name, member in wanted.items():
            if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise ValueError(f"{name!r} is compressed in another way than NumPy's")
            with archive.open(member) as stream:
                arrays[name] = _read_array(stream, member.file_size)
        return arrays


def read_npy(path: str | os.PathLike[str]) -> Array:
    """The array of a .npy; whatever is wrong with it is an error, of any kind if its header is damaged."""
    with open(path, "rb") as file:  # noqa: PTH123  # a path may be text
        if file.read(2) == b"PK":
            raise ValueError("it is an archive of several")
        file.seek(0)
        return _read_array(file, os.fstat(file.fileno()).st_size)


def check_letters(array: Array) -> None:
    """Refuse an array of text with numbers that are no letters: NumPy would raise errors of its own on every use."""
    if array.dtype.kind != "U" or not array.dtype.itemsize:
        return
    codes = np.ascontiguousarray(array).view(array.dtype.byteorder.replace("|", "=") + "u4")
    if ((codes > sys.maxunicode) | ((codes >= 0xD800) & (codes < 0xE000))).any():
        raise ValueError("it has an array of text with letters that do not exist")


def _read_array(stream: IO[bytes], size: int) -> Array:
    """An array from a .npy of a stated size, after checking that its header states the same."""
    version = np.lib.format.read_magic(stream)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read_header is None:
        raise ValueError(f"it has an array in version {version} of the format")
    with warnings.catch_warnings(action="ignore"):  # of headers that Python 2 wrote
        shape, in_fortran_order, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded, since they could run code")
    if dtype.kind not in "biufcSUmM":
        raise ValueError(f"it has an array of type {dtype}")
    if not dtype.itemsize and math.prod(shape) > _SMALL:  # takes no byte in the file, and much everywhere else
        raise ValueError("it has an array of texts without letters")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - stream.tell():
        raise ValueError("it has an array whose size does not match its bytes")
    content = np.empty(size - stream.tell(), dtype=np.uint8)
    for start in range(0, len(content), _BLOCK):
        block = stream.read(min(_BLOCK, len(content) - start))
        content[start : start + len(block)] = np.frombuffer(block, dtype=np.uint8)
        if len(block) < min(_BLOCK, len(content) - start):
            raise ValueError("it is cut off")
    array: Array = np.ndarray(shape, dtype, buffer=content, order="F" if in_fortran_order else "C")
    check_letters(array)
    return array
