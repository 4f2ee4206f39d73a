"""Text columns to small integers, fast: the inner loop of reading a long table.

Which of three ways is fastest depends on the column. Few distinct values fit a hash table that stays in the
cache (`encode_few`). Millions do not, and every look-up would wait for memory; there, whole numbers address
a table directly, and other values are sorted by their hashes (`encode_many`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

IndexArray = npt.NDArray[np.int32]

# Whole numbers address a table directly while their range is at most this many times their number.
_SPREAD = 8

_NO_BITS = np.uint64(0)

# Passes over a whole column go in blocks of this many rows, which stay in the cache.
_BLOCK = 1 << 16

# Runs of equal values are looked for only where this many rows at the start suggest them.
_PROBE = 10_000


@dataclass(frozen=True)
class Dictionary:
    """A column of few distinct texts.

    Attributes:
        names: the distinct texts.
        codes: (V,) a number for each text; any number where the row is null.
        code_of_name: the number of each of `names`.
        present: (V,) whether a row is not null; None if all are.
    """

    names: list[str]
    codes: npt.NDArray[np.integer[Any]]
    code_of_name: npt.NDArray[np.integer[Any]]
    present: npt.NDArray[np.bool_] | None

    def translate(self, meaning: npt.ArrayLike, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The meaning of each row's text, (V,), given that of each of `names`."""
        table = np.zeros(int(self.code_of_name.max(initial=0)) + 1, dtype=dtype)
        table[self.code_of_name] = meaning
        return table[self.codes]


def encode_few(column: pl.Series) -> Dictionary:
    """Number the distinct values of a column of text, categories or whole numbers that has few of them."""
    import polars as pl

    if _is_dense(column) and not column.null_count():
        codes, first = _encode_by_address(column)
        return Dictionary(column.gather(first).cast(pl.String).to_list(), codes, np.arange(len(first)), None)
    categories = (
        column
        if isinstance(column.dtype, pl.Categorical)
        else column.cast(pl.String).cast(pl.Categorical(pl.Categories.random()))
    )
    distinct = categories.unique().drop_nulls()
    return Dictionary(
        distinct.cast(pl.String).to_list(),
        categories.to_physical().fill_null(0).to_numpy(),
        distinct.to_physical().to_numpy(),
        categories.is_not_null().to_numpy() if categories.null_count() else None,
    )


def encode_many(column: pl.Series) -> tuple[IndexArray, pl.Series]:
    """Number the distinct values of a column without nulls in order of first appearance.

    Args:
        column: text or whole numbers, (V,), V at least one.

    Returns:
        Code of each row, (V,) int32, and the distinct values, as text, in the order of their codes.
    """
    import polars as pl

    starts = _run_starts(column)
    heads = column if starts is None else column.gather(starts)
    numbers = heads if heads.dtype.is_integer() else _as_canonical_integers(heads)
    codes, first = _encode_by_address(numbers) if _is_dense(numbers) else _encode_by_hash(heads)
    names = heads.gather(first).cast(pl.String)
    return (codes if starts is None else np.repeat(codes, np.diff(np.append(starts, len(column))))), names


def _run_starts(column: pl.Series) -> npt.NDArray[np.int64] | None:
    """Where each run of equal values starts, if there are fewer than half as many as rows, else None."""
    probe = column.head(_PROBE)
    if 2 * int((probe != probe.shift(1)).sum()) > len(probe):
        return None
    starts = np.flatnonzero((column != column.shift(1)).fill_null(True).to_numpy())
    return starts if 2 * len(starts) < len(column) else None


def _as_canonical_integers(column: pl.Series) -> pl.Series | None:
    """The column as int64 if each text is just how its number is written ('7', not '07'), else None."""
    import polars as pl

    if column.head(1).str.to_integer(strict=False).null_count():
        return None
    numbers = column.str.to_integer(strict=False)
    if numbers.null_count() or (numbers < 0).any():
        return None
    # Every other way of writing a number is longer, so equal total lengths mean equal texts.
    values = numbers.to_numpy()
    digits = len(values) + sum(int((values >= 10**power).sum()) for power in range(1, len(str(values.max()))))
    return numbers if digits == int(column.str.len_bytes().cast(pl.Int64).sum()) else None


def _is_dense(numbers: pl.Series | None) -> bool:
    """Whether a column is of whole numbers whose range is small enough to address a table."""
    if numbers is None or not numbers.dtype.is_integer() or numbers.null_count() == len(numbers):
        return False
    least, most = int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
    return most - least <= _SPREAD * len(numbers) and most < 2**63


def _encode_by_address(numbers: pl.Series | None) -> tuple[IndexArray, npt.NDArray[Any]]:
    """Codes of whole numbers and the first row of each code, by a table with a cell for each possible number."""
    import polars as pl

    assert numbers is not None
    # Widened first: a narrow type would overflow where numbers of both signs are shifted to start at 0.
    values = numbers.cast(pl.Int64).to_numpy() - int(numbers.min())  # type: ignore[arg-type]
    first = np.full(int(values.max()) + 1, len(values), dtype=np.int64)
    first[values[::-1]] = np.arange(len(values) - 1, -1, -1)  # the last write wins, and it is the first row's
    present = np.flatnonzero(first < len(values))
    ordered = present[np.argsort(first[present])]
    code = np.empty(len(first), dtype=np.int32)
    code[ordered] = np.arange(len(ordered), dtype=np.int32)
    return code[values], first[ordered]


def _encode_by_hash(column: pl.Series) -> tuple[IndexArray, npt.NDArray[Any]]:
    """Codes of any values and the first row of each code, by sorting hashes.

    What is sorted is one 64-bit word per row, the leading bits of a hash above the row number: equal values end
    up side by side, in the order of their rows. The few different values whose leading bits agree are
    told apart by a second hash; for both to agree has a chance below 1e-15 in the largest table memory holds.
    """
    import polars as pl

    rows = len(column)
    low = np.uint64(max(rows - 1, 1).bit_length())
    words = column.hash(0).to_numpy() >> low
    words <<= low
    for start in range(0, rows, _BLOCK):  # in blocks: a second array of this size would cost more than the work
        words[start : start + _BLOCK] |= np.arange(start, min(start + _BLOCK, rows), dtype=np.uint64)
    words = pl.Series(words).sort().to_numpy(writable=True)
    is_start = _starts_of_runs(words, low)
    words &= (np.uint64(1) << low) - np.uint64(1)
    order = words.view(np.int64)
    witness = _take(column.hash(1).to_numpy(), order)
    clashes = np.flatnonzero(_starts_of_runs(witness) & ~is_start)
    if len(clashes):
        starts = np.append(np.flatnonzero(is_start), rows)
        for run in np.unique(np.searchsorted(starts, clashes, side="right") - 1):
            span = slice(starts[run], starts[run + 1])
            apart = np.argsort(witness[span], kind="stable")
            order[span] = order[span][apart]
            is_start[span] |= _starts_of_runs(witness[span][apart])
    starts = np.flatnonzero(is_start)
    first = order[starts]
    by_appearance = np.argsort(first)
    code = np.empty(len(starts), dtype=np.int32)
    code[by_appearance] = np.arange(len(starts), dtype=np.int32)
    codes = np.empty(rows, dtype=np.int32)
    codes[order] = np.repeat(code, np.diff(np.append(starts, rows)))
    return codes, first[by_appearance]


def text_array(names: pl.Series) -> npt.NDArray[np.str_]:
    """Texts without NULs as a NumPy array of text; plain ASCII without a Python object for each."""
    lengths = names.str.len_bytes().to_numpy()
    if not len(names) or not lengths.max() or (lengths != names.str.len_chars().to_numpy()).any():
        return names.to_numpy().astype(np.str_)
    letters = np.frombuffer(names.str.join("").item().encode(), dtype=np.uint8)
    points = np.zeros((len(names), int(lengths.max())), dtype=np.uint32)
    points[np.arange(points.shape[1]) < lengths[:, None]] = letters
    return points.view(f"=U{points.shape[1]}")[:, 0]


def _take(values: npt.NDArray[np.uint64], order: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """`values[order]` in two threads: a random walk through memory mostly waits, and NumPy releases the lock."""
    taken = np.empty(len(order), dtype=values.dtype)
    halves = (slice(None, len(order) // 2), slice(len(order) // 2, None))
    with ThreadPoolExecutor(2) as pool:
        # With an output array only mode="clip" writes to it directly; all indices are in range.
        list(pool.map(lambda half: np.take(values, order[half], out=taken[half], mode="clip"), halves))
    return taken


def _starts_of_runs(words: npt.NDArray[np.uint64], low: np.uint64 = _NO_BITS) -> npt.NDArray[np.bool_]:
    """Where a word differs from the one before in a bit above the lowest `low`; the first always does."""
    starts = np.ones(len(words), dtype=np.bool_)
    for start in range(1, len(words), _BLOCK):
        block = slice(start, start + _BLOCK)
        before = words[start - 1 : start - 1 + len(words[block])]
        starts[block] = (words[block] ^ before) >> low != 0
    return starts
