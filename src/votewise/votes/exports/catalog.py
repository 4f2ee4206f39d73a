"""Which exports are known, and how one is told from another: never by a guess among several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from votewise._checks import first_few
from votewise._errors import InputError
from votewise.votes.exports import (
    argilla,
    chaosnli,
    doccano,
    label_studio,
    lewidi,
    nested,
    peerannot,
    popquorn,
    potato,
    prodigy,
    zooniverse,
)
from votewise.votes.exports.asked import Asked
from votewise.votes.exports.platforms import PLATFORMS
from votewise.votes.exports.trees import Tree, load_tree, sample_tree
from votewise.votes.table import Votes

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class TreeFormat:
    """An export of JSON objects.

    Attributes:
        root: what holds them: list or dict.
        fits: whether a tree, or its beginning, is clearly such an export.
        read: its votes.
        file: the name of such a file, where content alone shows too little.
    """

    root: type
    fits: Callable[[Tree], bool]
    read: Callable[[Tree, Asked], Votes]
    file: str | None = None


@dataclass(frozen=True)
class TableFormat:
    """An export of rows.

    Attributes:
        fits: whether columns are those of such an export.
        read: its votes.
    """

    fits: Callable[[Sequence[str]], bool]
    read: Callable[[pl.LazyFrame, Sequence[str], Asked], Votes]


TREES = {
    "label-studio": TreeFormat(list, label_studio.fits, label_studio.read),
    "label-studio-min": TreeFormat(list, label_studio.fits_short_tree, label_studio.read_short_tree),
    "argilla": TreeFormat(list, argilla.fits, argilla.read),
    "argilla-1": TreeFormat(list, argilla.fits_1, argilla.read_1),
    "prodigy": TreeFormat(list, prodigy.fits, prodigy.read),
    "doccano": TreeFormat(list, doccano.fits, doccano.read),
    "lewidi": TreeFormat(dict, lewidi.fits, lewidi.read),
    "chaosnli": TreeFormat(list, chaosnli.fits, chaosnli.read),
    "peerannot": TreeFormat(dict, peerannot.fits, peerannot.read, file="answers.json"),
    "potato-jsonl": TreeFormat(list, potato.fits, potato.read),
}

# What is tried where nothing else fits, as it belongs to no tool.
FALLBACKS = (
    TreeFormat(object, nested.fits, nested.read),
    TreeFormat(dict, nested.fits_keyed, nested.read_keyed),
)

TABLES = {
    "label-studio-min": TableFormat(label_studio.fits_short, label_studio.read_short),
    "argilla": TableFormat(argilla.fits_columns, argilla.read_table),
    "argilla-1": TableFormat(argilla.fits_columns_1, argilla.read_table_1),
    "popquorn": TableFormat(popquorn.fits_columns, popquorn.read_table),
    "zooniverse": TableFormat(zooniverse.fits_columns, zooniverse.read_table),
}
FORMATS = (*TREES, "popquorn", "zooniverse", *PLATFORMS)


def read_tree(path: Path, chosen: str | None, asked: Asked) -> Votes | None:
    """Votes from a .json or .jsonl export; None if it is a table instead, an object for each row.

    Args:
        path: the file.
        chosen: its format among `FORMATS`, if the caller knows.
        asked: how to read it.
    """
    if chosen is None and path.suffix.lower() == ".jsonl":
        sample = sample_tree(path)
        chosen = _find(sample, path.name)
        if chosen is None:
            return FALLBACKS[0].read(load_tree(path), asked) if sample and FALLBACKS[0].fits(sample) else None
    tree = load_tree(path)
    name = chosen or _find(tree, path.name)
    for known in FALLBACKS if name is None else ():
        if known.fits(tree):
            return known.read(tree, asked)
    if name is None and isinstance(tree, list) and len(tree[0]) > 1:
        return None
    if name is None:
        some = tree[0] if isinstance(tree, list) else next(iter(tree.values()))
        raise InputError(
            "a .json file must be a known export",
            f"this one is not (its objects have {first_few(some)})",
            f"Name the format with format= (--format: {', '.join(TREES)}), or make a long table (.csv, .jsonl) of it",
        )
    if name not in TREES or not isinstance(tree, TREES[name].root):
        raise InputError(
            f"this file must be an export in the format {name!r}",
            f"it is another {path.suffix} file",
            "Leave format out",
        )
    return TREES[name].read(tree, asked)


def read_table(table: pl.LazyFrame, names: Sequence[str], chosen: str | None, asked: Asked) -> Votes | None:
    """Votes from a table that is an export; None if it is a plain one.

    Args:
        table: a table from any source.
        names: its columns.
        chosen: its format among `FORMATS`, if the caller knows.
        asked: how to read it.
    """
    fitting = [name for name, known in TABLES.items() if known.fits(names)]
    if chosen is not None and chosen not in fitting:
        raise InputError(
            f"this table must be an export in the format {chosen!r}",
            f"its columns are {first_few(names)}",
            "Leave format out",
        )
    name = chosen or _only(fitting)
    return None if name is None else TABLES[name].read(table, names, asked)


def _find(tree: Tree, file: str) -> str | None:
    return _only([name for name, known in TREES.items() if known.file in (None, file) and known.fits(tree)])


def _only(fitting: list[str]) -> str | None:
    """The one format that fits; None if none does."""
    if len(fitting) > 1:
        raise InputError(
            "the content must show which export it is",
            f"it may be {' or '.join(fitting)}",
            f"Choose one with format= (--format {fitting[0]})",
        )
    return fitting[0] if fitting else None
