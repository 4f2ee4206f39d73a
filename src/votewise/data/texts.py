"""Texts or pairs of texts, one per item. They stay what they are until a model turns them into arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from votewise._checks import IntArray, StrArray, first_few
from votewise._errors import InputError
from votewise._text import TextOrPair, text_parts
from votewise.data.inputs import InputForm, InputModel, InputSource, LoadedInputs, Track, name_input_rows, taken_ids
from votewise.data.tables import read_input_table
from votewise.votes import column_names, find_column, open_source
from votewise.votes.exports.trees import load_tree
from votewise.votes.sources import engine_errors
from votewise.votes.tally import as_text

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class Texts(InputSource):
    """A text, or a pair of texts, for each item.

    Attributes:
        item_ids: (N,) text; None where rows have no ids and are in the order of the votes.
        values: N texts, or N pairs of texts.
        form: name of the column, or of the two columns, they were in.
    """

    kind: ClassVar[str] = "text"
    words: ClassVar[tuple[str, str, str]] = ("text", "text", "texts")

    item_ids: StrArray | None
    values: tuple[TextOrPair, ...]
    form: InputForm = field(default_factory=InputForm)

    def __post_init__(self) -> None:
        """Refuse single texts among pairs, whose checksum could not tell where a pair begins."""
        if {len(text_parts(text)) for text in self.values} - {2 if self.has_pairs else 1}:
            raise InputError("items must be all single texts or all pairs of texts", "got others", "Separate them")

    def __len__(self) -> int:
        """N."""
        return len(self.values)

    def take(self, rows: IntArray) -> Texts:
        """The texts of some items."""
        return Texts(taken_ids(self.item_ids, rows), tuple(self.values[row] for row in rows.tolist()), self.form)

    def raw(self, track: Track[int] = iter) -> Iterator[bytes | memoryview]:
        """The SHA-256 of each text, so that no two lists of texts, or of pairs, give the same bytes."""
        yield f"{'pairs' if self.has_pairs else 'texts'}({len(self)},)".encode()
        for text in self.values:
            yield from (sha256(part.encode(errors="surrogatepass")).digest() for part in text_parts(text))

    @property
    def has_pairs(self) -> bool:
        """Whether each item is a pair of texts."""
        return bool(self.values) and not isinstance(self.values[0], str)

    @property
    def texts(self) -> tuple[TextOrPair, ...]:
        """The texts."""
        return self.values

    def load(self, model: InputModel | None = None, track: Track[int] = iter) -> LoadedInputs:
        """The texts as a model encodes them."""
        if model is None or model.encode is None:
            raise InputError("texts must be prepared for a model that takes texts", "got another or none", "Name one")
        values, notes = model.encode(self.values, track)
        return LoadedInputs(values, self.form, notes)


def open_texts(path: str | Path, *, column: str | Sequence[str] | None = None, item: str | None = None) -> Texts:
    """A table with one text, or one pair of texts, per item: .csv, .tsv, .jsonl or .parquet.

    Args:
        path: the file; also the votes themselves, where each row has its text, or a .json of items by name.
        column: name of the text column, "text" if left out; two names for pairs, such as ("premise", "hypothesis").
        item: name of the item column, if it is not a known one.
    """
    table = _texts_of_tree(Path(path)) if Path(path).suffix.lower() == ".json" else open_source(path)
    if isinstance(table, np.ndarray):
        raise InputError("texts must be in a table with named columns", "got an array", "Save them as .csv")
    chosen = ("text",) if column is None else (column,) if isinstance(column, str) else tuple(column)
    if len(chosen) not in (1, 2) or len(set(chosen)) < len(chosen):
        raise InputError(
            "texts must be in one column, and pairs of texts in two",
            f"got {first_few(chosen) if chosen else 'none'}",
            "Name one column, or two different ones",
        )
    names = column_names(table, "the table of texts")
    for name in chosen:
        if name not in names:
            raise InputError(
                f"the text column {name!r} must exist",
                f"the columns are {first_few(names)}",
                "Name it with --text-column",
            )
    named = find_column("item", names, item)
    if named is not None and named not in chosen:
        # A table of single votes repeats an item's text in every row.
        table = table.select([named, *chosen]).unique(maintain_order=True)
    frame, ids = read_input_table(table, "texts", item, only=chosen)
    with engine_errors("the table of texts"):
        columns = [as_text(frame[name], "text") for name in chosen]
    empty = np.flatnonzero(np.any([texts.is_null().to_numpy() for texts in columns], axis=0))
    if empty.size:
        wanted, lack = ("a text", "have none") if len(chosen) == 1 else ("both texts", "lack one")
        raise InputError(f"every item needs {wanted}", f"{name_input_rows(empty, ids)} {lack}", "Fill them in")
    if len(chosen) == 1:
        return Texts(ids, tuple(columns[0].to_list()), InputForm(text_column=chosen[0]))
    pairs = tuple(zip(columns[0].to_list(), columns[1].to_list(), strict=True))
    return Texts(ids, pairs, InputForm(text_column=(chosen[0], chosen[1])))


def _texts_of_tree(path: Path) -> pl.LazyFrame:
    """The texts of items in a .json file that has them by name, as LeWiDi has."""
    import polars as pl

    tree = load_tree(path)
    records = (
        list(tree.items()) if isinstance(tree, dict) else [(str(row.get("id", n)), row) for n, row in enumerate(tree)]
    )
    fields = dict.fromkeys(name for _, record in records for name, value in record.items() if isinstance(value, str))
    columns = {name: [record.get(name) for _, record in records] for name in fields if name not in ("item", "id")}
    words = {name: [value if isinstance(value, str) else None for value in cells] for name, cells in columns.items()}
    return pl.DataFrame({"item": [name for name, _ in records], **words}, strict=False).lazy()
