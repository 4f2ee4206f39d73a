"""Arrays to the bytes of a .npz and back: equal arrays give equal bytes, and pickle is never used."""

from __future__ import annotations

import io
from collections.abc import Mapping
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from votewise._npz import check_letters
from votewise.records.record import Array, is_storable

_SUFFIX = ".npy"
_UNIX = 3

# Arrays may be at most so many times as large as the file: far more than floats can be deflated.
_MOST_INFLATED = 8


def encode_arrays(arrays: Mapping[str, Array], *, compressed: bool = False) -> bytes:
    """A .npz that `numpy.load` reads: sorted, without the time of writing, and deflated if asked for."""
    stored = _pack_arrays(arrays, ZIP_STORED)
    if not compressed:
        return stored
    deflated = _pack_arrays(arrays, ZIP_DEFLATED)
    # A reader would refuse what shrinks more than that.
    return deflated if len(stored) <= _MOST_INFLATED * len(deflated) else stored


def decode_arrays(packed: bytes) -> dict[str, Array]:
    """The arrays of a .npz written by `encode_arrays`; anything else raises, in memory of a few times its size."""
    with ZipFile(io.BytesIO(packed)) as archive:
        members = archive.infolist()
        if any(member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for member in members):
            raise ValueError("its members are compressed in another way")
        most = _MOST_INFLATED if any(member.compress_type == ZIP_DEFLATED for member in members) else 1
        if sum(member.file_size for member in members) > most * len(packed):
            raise ValueError("its members claim to be larger than the file")
        arrays = {}
        for member in members:
            with archive.open(member) as file:
                content = file.read(member.file_size)  # without a limit, more than it claims to hold would be inflated
            arrays[member.filename.removesuffix(_SUFFIX)] = _decode_array(content)
        return arrays


def _pack_arrays(arrays: Mapping[str, Array], method: int) -> bytes:
    packed = io.BytesIO()
    with ZipFile(packed, "w", method) as archive:
        for name in sorted(arrays):
            member = ZipInfo(name + _SUFFIX)  # dated 1980 by default
            member.create_system = _UNIX  # zipfile would write the platform here
            content = io.BytesIO()
            np.lib.format.write_array(content, arrays[name], version=(1, 0), allow_pickle=False)
            archive.writestr(member, content.getvalue(), method)
    return packed.getvalue()


def _decode_array(content: bytes) -> Array:
    """A view of the bytes behind a .npy header, after checking that they match the type and shape it states."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("it has an array in an unsupported format")
    shape, in_fortran_order, dtype = np.lib.format.read_array_header_1_0(stream)
    if in_fortran_order or not is_storable(dtype):
        raise ValueError(f"it has an array of type {dtype}")
    start = stream.tell()
    array: Array = np.ndarray(shape, dtype, buffer=content, offset=start)
    if array.shape != shape or array.nbytes != len(content) - start:
        raise ValueError("it has an array whose size does not match its bytes")
    check_letters(array)
    return array
