"""Arrays to the bytes of a .npz and back: equal arrays give equal bytes, and pickle is never used."""

from __future__ import annotations

import io
from collections.abc import Mapping
from zipfile import ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from votewise.records.record import Array, is_storable

_SUFFIX = ".npy"
_UNIX = 3


def encode_arrays(arrays: Mapping[str, Array]) -> bytes:
    """A .npz that `numpy.load` reads: sorted, uncompressed, without the time of writing."""
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_STORED) as archive:
        for name in sorted(arrays):
            member = ZipInfo(name + _SUFFIX)  # dated 1980 by default
            member.create_system = _UNIX  # zipfile would write the platform here
            content = io.BytesIO()
            np.lib.format.write_array(content, arrays[name], version=(1, 0), allow_pickle=False)
            archive.writestr(member, content.getvalue())
    return packed.getvalue()


def decode_arrays(packed: bytes) -> dict[str, Array]:
    """The arrays of a .npz written by `encode_arrays`; anything else raises, using no more memory than its size."""
    with ZipFile(io.BytesIO(packed)) as archive:
        members = archive.infolist()
        if any(member.compress_type != ZIP_STORED for member in members):
            raise ValueError("its members are compressed")
        if sum(member.file_size for member in members) > len(packed):
            raise ValueError("its members claim to be larger than the file")
        return {member.filename.removesuffix(_SUFFIX): _decode_array(archive.read(member)) for member in members}


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
    return array
