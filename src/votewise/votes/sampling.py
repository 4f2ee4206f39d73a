"""Draws from votes that depend on the seed and the item's id alone: redraws, shuffles, splits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_number, check_whole_number
from votewise._errors import InputError
from votewise._random import KeyArray, cumulative, draw_classes, item_keys, random_bits, stream_key, unit_interval

# A shuffle holds one or two bytes per vote, and sorts 8-byte words one block at a time. Larger counts are a
# mistake of units, or votes that nobody would deliver one by one.
_MOST_SHUFFLED = 2**31
_MOST_SHUFFLED_AN_ITEM = 2**20
_MOST_DRAWN = 2**16
_BLOCK = 2**20
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def redraw_counts(probs: FloatArray, item_ids: npt.NDArray[np.str_], k: int, seed: int) -> IntArray:
    """A multinomial redraw of size k for each row of `probs`, (N, K) int64.

    Each of the k draws is its own stream, so draws for different k are independent, not nested.
    """
    k = check_whole_number("k, the votes to draw per item,", k, least=1)
    if k > _MOST_DRAWN or k * len(probs) > _MOST_SHUFFLED:
        raise InputError(
            f"votes to draw must number at most {_MOST_DRAWN:,} per item, and {_MOST_SHUFFLED:,} in all",
            f"{k:,} from each of {len(probs):,} items are asked for",
            "Draw fewer; so many differ from the shares themselves by almost nothing",
        )
    cdf, keys = cumulative(probs), item_keys(item_ids)
    counts = np.zeros(probs.shape, dtype=np.int64)
    rows = np.arange(len(probs))
    for draw in range(k):
        bits = random_bits(stream_key(seed, "subsample", k, draw), keys)
        counts[rows, draw_classes(cdf, unit_interval(bits))] += 1
    return counts


def draw_without_replacement(counts: IntArray, item_ids: npt.NDArray[np.str_], k: int, seed: int) -> IntArray:
    """The first k votes of each item's shuffled votes, counted, (N, K) int64; all of them if there are fewer."""
    k = check_whole_number("k, the votes to draw per item,", k, least=1)
    order, start, length = shuffled_votes(counts, item_ids, stream_key(seed, "subsample without replacement"))
    drawn = np.zeros(counts.shape, dtype=np.int64)
    rows = np.arange(len(counts))
    for position in range(min(k, int(length.max()))):
        has = length > position
        drawn[rows[has], order[start[has] + position]] += 1
    return drawn


def shuffled_votes(
    counts: IntArray, item_ids: npt.NDArray[np.str_], key: int
) -> tuple[npt.NDArray[np.unsignedinteger[Any]], IntArray, IntArray]:
    """Each item's votes in a random order of its own.

    Args:
        counts: (N, K) int64.
        item_ids: (N,) text; the order of an item depends on the key, its id and its counts alone.
        key: 64-bit stream key.

    Returns:
        The class of every vote in one flat array of the smallest type that holds K, where each item's
        votes start, (N,), and how many there are, (N,).
    """
    length = counts.sum(axis=1)
    if length.sum() > _MOST_SHUFFLED or length.max() > _MOST_SHUFFLED_AN_ITEM:
        raise InputError(
            f"votes to shuffle must number at most {_MOST_SHUFFLED:,}, and {_MOST_SHUFFLED_AN_ITEM:,} per item",
            f"the counts sum to {length.sum():,} with up to {length.max():,} per item",
            "Use soft or sls, which need shares only, or check the units of the counts",
        )
    start = np.concatenate([[0], np.cumsum(length)[:-1]])
    order = np.empty(int(length.sum()), dtype=np.min_scalar_type(counts.shape[1] - 1))
    keys = item_keys(item_ids)
    for rows in _rows_by_length(length):
        m = int(length[rows[0]])
        block = max(_BLOCK // m, 1)
        for first in range(0, len(rows), block):
            some = rows[first : first + block]
            order[start[some][:, None] + np.arange(m)] = _shuffle_rows(counts[some], keys[some], m, key)
    return order, start, length


def stratified_split(
    strata: npt.NDArray[Any], item_ids: npt.NDArray[np.str_], fraction: float, seed: int
) -> tuple[IntArray, IntArray]:
    """Row numbers kept and held out, each sorted; every stratum gives its share, to the nearest item.

    The shares are rounded by largest remainder, so that the number held out is `round(fraction * N)`.
    """
    check_number("the fraction held out", fraction, 0, 1)
    if not 0 < round(fraction * len(item_ids)) < len(item_ids):
        raise InputError(
            "a split must leave at least one item on each side",
            f"{fraction!r} of {len(item_ids)} items does not",
            "Choose another fraction",
        )
    group = _group_numbers(strata, len(item_ids))
    quota = np.bincount(group) * fraction
    held = np.floor(quota).astype(np.int64)
    short = round(fraction * len(group)) - int(held.sum())
    held[np.argsort(held - quota, kind="stable")[:short]] += 1
    bits = random_bits(stream_key(seed, "split"), item_keys(item_ids))
    order = np.lexsort((bits, group))
    rank = np.empty(len(group), dtype=np.int64)
    first = np.concatenate([[0], np.cumsum(np.bincount(group))[:-1]])
    rank[order] = np.arange(len(group)) - first[group[order]]
    out = rank < held[group]
    return np.flatnonzero(~out), np.flatnonzero(out)


def stratified_folds(strata: npt.NDArray[Any], item_ids: npt.NDArray[np.str_], n: int, seed: int) -> IntArray:
    """The fold of each item, (N,) from 0 to n - 1; of all items and of every stratum, folds differ by at most one."""
    n = check_whole_number("the number of folds", n, least=2)
    if n > len(item_ids):
        raise InputError(
            f"{n} folds need at least {n} items, so that each holds out some",
            f"got {len(item_ids)}",
            "Choose fewer folds, or draw what is held out (--held-out)",
        )
    group = _group_numbers(strata, len(item_ids))
    order = np.lexsort((random_bits(stream_key(seed, "folds"), item_keys(item_ids)), group))
    fold = np.empty(len(group), dtype=np.int64)
    fold[order] = np.arange(len(group)) % n
    return fold


def _group_numbers(strata: npt.NDArray[Any], n_items: int) -> IntArray:
    """The strata numbered in their order, (N,)."""
    if strata.shape != (n_items,):
        raise InputError(
            f"strata must hold one group for each of {n_items} items", f"got shape {strata.shape}", "Line them up"
        )
    try:
        return np.unique(strata, return_inverse=True)[1]
    except TypeError:
        raise InputError(
            "strata must be all text or all numbers",
            "they cannot be put into order",
            "Give each item a group of one kind",
        ) from None


def _rows_by_length(length: IntArray) -> Iterator[IntArray]:
    """Row numbers of items with equally many votes, so that one matrix sort shuffles them all."""
    order = np.argsort(length, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(length[order])) + 1)


def _shuffle_rows(counts: IntArray, keys: KeyArray, m: int, key: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Shuffle the m votes of each row by sorting random words that carry the vote in their low bits."""
    n, n_classes = counts.shape
    low = np.uint64(max(n_classes - 1, 1).bit_length())
    votes = np.repeat(np.tile(np.arange(n_classes, dtype=np.uint64), n), counts.ravel()).reshape(n, m)
    places = keys[:, None] + _GOLDEN * np.arange(m, dtype=np.uint64)
    words = random_bits(key, places.ravel()).reshape(n, m) >> low << low | votes
    words.sort(axis=1)
    return (words & ((np.uint64(1) << low) - np.uint64(1))).astype(np.min_scalar_type(n_classes - 1))
