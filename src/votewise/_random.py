"""Randomness as a pure function: one root seed, named streams, and random bits addressed by item.

Nothing here keeps state. The bits of an item depend on the seed, the name of the stream, a counter and
the item's id, never on its position, its batch, the process or the platform: only 64-bit integer
arithmetic and BLAKE2 are used, whose results are fixed by definition.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_whole_number

KeyArray = npt.NDArray[np.uint64]

# Multipliers of Stafford's variant 13 of the 64-bit finaliser ("Better bit mixing", 2011), as in SplitMix64.
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, the increment of SplitMix64

# Blocks of this many 8-byte words stay inside a core's second-level cache through all steps of a mix.
_BLOCK = 1 << 15


def stream_key(seed: int, *names: str | int) -> int:
    """A 64-bit key for one named stream of a root seed, e.g. `stream_key(0, "sls", epoch)`."""
    text = "/".join(str(part) for part in (check_whole_number("seed", seed), *names))
    return int.from_bytes(blake2b(text.encode(), digest_size=8, person=b"votewise").digest(), "little")


def stream_generator(seed: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator for one named stream, for draws that need no address by item."""
    return np.random.Generator(np.random.Philox(stream_key(seed, *names)))


def item_keys(item_ids: npt.NDArray[np.str_]) -> KeyArray:
    """Hash each id to 64 bits, (N,) uint64, from its code points alone (not the width of the array)."""
    width = item_ids.dtype.itemsize // 4
    points = np.ascontiguousarray(item_ids, dtype=f"=U{max(width, 1)}").view(np.uint32).reshape(len(item_ids), -1)
    keys = np.full(len(item_ids), _STEP, dtype=np.uint64)
    for column in range(points.shape[1]):
        code = points[:, column].astype(np.uint64)
        used = code != 0  # NumPy pads with zeros; skipping them makes the key independent of the padding
        keys[used] = _mix(keys[used] + _STEP * code[used])
    return keys


def random_bits(key: int, items: KeyArray) -> KeyArray:
    """64 random bits for each item key under one stream key, (N,) uint64."""
    bits = np.empty(len(items), dtype=np.uint64)
    offset = np.uint64(key)
    for start in range(0, len(items), _BLOCK):
        block = slice(start, start + _BLOCK)
        # Two rounds: one alone would leave the bits of two streams a simple function of each other.
        bits[block] = _mix(_mix(items[block] ^ offset) + offset)
    return bits


def unit_interval(bits: KeyArray) -> FloatArray:
    """Uniform float64 in [0, 1) from the top 53 of 64 bits; exact, so the same everywhere."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def cumulative(probs: FloatArray) -> FloatArray:
    """Cumulative distributions as (K, N), class-major, that reach exactly 1 at the last possible class.

    Dividing by the last partial sum, rather than trusting it to be one, makes a class of
    probability zero impossible to draw, even at the end of the row.
    """
    partial = np.cumsum(probs, axis=1)
    return np.ascontiguousarray((partial / partial[:, -1:]).T)


def draw_classes(cdf: FloatArray, uniforms: FloatArray) -> IntArray:
    """Class index (N,) for each uniform under its column of a (K, N) cumulative distribution."""
    drawn = np.zeros(len(uniforms), dtype=np.int64)
    for start in range(0, len(uniforms), _BLOCK):
        block = slice(start, start + _BLOCK)
        passed = np.zeros(len(uniforms[block]), dtype=np.min_scalar_type(len(cdf)))
        for threshold in cdf[:-1]:
            passed += uniforms[block] >= threshold[block]
        drawn[block] = passed
    return drawn


def _mix(words: KeyArray) -> KeyArray:
    """Scramble 64-bit words so that each input bit reaches every output bit (a bijection)."""
    words = words ^ (words >> np.uint64(30))
    words *= _MIX_1
    words ^= words >> np.uint64(27)
    words *= _MIX_2
    words ^= words >> np.uint64(31)
    return words
