"""Votes to a plain long table, which every command reads without options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from votewise._errors import InputError
from votewise._files import whole_file
from votewise._text import safe_table
from votewise.votes.reading import Reading
from votewise.votes.table import Ballots, Votes

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".parquet", ".csv", ".jsonl")


def long_table(votes: Votes) -> pl.DataFrame:
    """One row per vote (item, annotator, label), or without annotators per item and class (item, label, count).

    Where an annotator has several votes on an item, annotators are left out: their rows would look repeated. Shares
    have one column for each class, as a long table of them would be a table of weights.
    """
    import polars as pl

    items = pl.Series("item", votes.item_ids.tolist(), dtype=pl.String)
    if votes.counts is None:
        return pl.DataFrame([items, *(pl.Series(name, votes.probs[:, k]) for k, name in enumerate(votes.classes))])
    classes = pl.Series("label", list(votes.classes), dtype=pl.String)
    if votes.ballots is None or _has_repeated(votes.ballots):
        item, label = np.nonzero(votes.counts)
        counts = pl.Series("count", votes.counts[item, label])
        return pl.DataFrame([items.gather(item), classes.gather(label), counts])
    ballots = votes.ballots
    people = pl.Series("annotator", ballots.annotator_ids.tolist(), dtype=pl.String)
    return pl.DataFrame(
        [items.gather(ballots.item), people.gather(ballots.annotator), classes.gather(ballots.label.astype(np.int64))]
    )


def _has_repeated(ballots: Ballots) -> bool:
    """Whether an annotator has several votes on an item."""
    pairs = ballots.item.astype(np.int64) * len(ballots.annotator_ids) + ballots.annotator
    return len(np.unique(pairs)) < len(pairs)


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """Refuse to write a table to a file of another kind."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"the table must end in {', '.join(SUFFIXES)}", f"got {os.fspath(path)!r}", "Rename it")
    return path


def write_votes(votes: Votes, path: str | os.PathLike[str], *, safe_cells: bool = False) -> Path:
    """Write votes as a plain table, and how they were read beside it.

    Args:
        votes: the votes.
        path: .parquet, .csv or .jsonl, written whole or not at all.
        safe_cells: whether a .csv has an apostrophe before texts that a spreadsheet would take for formulas; they are
            then no longer those of the votes.

    Returns:
        The file of the plan, called like the table but ending in .reading.toml.
    """
    path = check_table_path(path)
    table = long_table(votes)
    with whole_file(path) as partial:
        match path.suffix.lower():
            case ".parquet":
                table.write_parquet(partial)
            case ".csv":
                (safe_table(table) if safe_cells else table).write_csv(partial)
            case _:
                table.write_ndjson(partial)
    beside = path.with_suffix(".reading.toml")
    with whole_file(beside) as partial:
        (votes.reading or Reading()).save(partial)
    return beside
