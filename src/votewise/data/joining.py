"""Inputs and votes that were read separately, joined to a data set by item id."""

from __future__ import annotations

from hashlib import sha256

import numpy as np

from votewise._checks import check_choice, first_few
from votewise._errors import InputError
from votewise._text import counted
from votewise.data.dataset import Dataset
from votewise.data.inputs import InputSource, Track, input_pieces_for_checksum
from votewise.votes import Votes


def join_inputs(
    votes: Votes,
    source: InputSource,
    *,
    name: str,
    missing: str = "error",
    notes: tuple[str, ...] = (),
    track: Track[int] = iter,
) -> Dataset:
    """Match inputs with votes, by item id where there are ids.

    Args:
        votes: what people said.
        source: the inputs.
        name: name of the data, for reports and records.
        missing: what to do with items that have votes or inputs only: "error" or "drop".
        notes: what a reader should know about the data.
        track: shows progress over the rows, while files are hashed.
    """
    check_choice("missing", missing, ("error", "drop"))
    if source.item_ids is None:
        if len(source) != votes.n_items:
            raise InputError(
                f"{source.kind} without item ids must have one row for each of {votes.n_items:,} items, in their order",
                f"got {len(source):,}",
                "Add the ids, or put the rows in the order of the votes",
            )
        return Dataset(name, source, votes, data_checksum(source, votes, track), notes=notes)
    row_of = {item: row for row, item in enumerate(source.item_ids.tolist())}
    rows = np.array([row_of.get(item, -1) for item in votes.item_ids.tolist()], dtype=np.int64)
    without_input = votes.item_ids[rows < 0]
    without_votes = source.item_ids[np.setdiff1d(np.arange(len(source)), rows)]
    if len(without_input) == votes.n_items:
        raise InputError(
            f"votes and {source.kind} must share item ids",
            f"they share none: the votes have {first_few(votes.item_ids[:3], votes.n_items)}, the {source.kind} "
            f"{first_few(source.item_ids[:3], len(source))}",
            "Use the same ids in both; an image's id is its path inside the folder, with or without suffix",
        )
    its_input, one, several = source.words
    unmatched = " and ".join(
        f"{number} {lack} ({first_few(names[:5], len(names))})"
        for names, number, lack in (
            (without_input, counted(len(without_input), "item"), f"without {its_input}"),
            (without_votes, counted(len(without_votes), one, several), "without votes"),
        )
        if len(names)
    )
    if unmatched and missing == "error":
        raise InputError(
            f"votes and {source.kind} must have the same items",
            f"got {unmatched}",
            "Use the same ids in both, add what is missing, or leave these out with --missing-inputs drop",
        )
    kept = votes.take(np.flatnonzero(rows >= 0)) if len(without_input) else votes
    in_order = source.take(rows[rows >= 0])
    left_out = (f"Left out: {unmatched}.",) if unmatched else ()
    return Dataset(name, in_order, kept, data_checksum(in_order, kept, track), notes=(*notes, *left_out))


def data_checksum(source: InputSource, votes: Votes, track: Track[int] = iter) -> str:
    """SHA-256 of all that was given: classes, item ids, inputs as they were before any model changed them, and votes.

    Args:
        source: the inputs.
        votes: votes on the same items, in the same order.
        track: shows progress over the rows, while files are hashed.
    """
    digest = sha256("\x1f".join(votes.classes).encode(errors="surrogatepass"))
    ids = "\x1f".join(votes.item_ids.tolist()).encode(errors="surrogatepass")
    digest.update(sha256(ids).digest())
    for pieces in (source.raw(track), input_pieces_for_checksum(votes.probs if votes.counts is None else votes.counts)):
        for piece in pieces:
            digest.update(piece)
    return digest.hexdigest()
