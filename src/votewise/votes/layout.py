"""How a text file is laid out: encoding, separator, quotes, rows of names. Seen in its first lines, or said."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from votewise._errors import InputError
from votewise._text import counted
from votewise.votes.bounds import check_cells, check_columns, check_memory, read_unpacked
from votewise.votes.reading import Reading

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".txt")
SEPARATORS = (",", "\t", ";", "|")

_NAMES = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}

# What is looked at to see the layout.
_LETTERS = 1 << 18
_LINES = 200

# A file is scanned for quotes in parts of this many bytes.
_PART = 1 << 24

# What a byte of a file may take when Python reads it, whose texts are objects.
_CSV_BYTES = 20

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Layout:
    """The layout of a text file.

    Attributes:
        encoding: "utf-8", or another one.
        separator: between cells.
        quote: '"', or "none" where quotes are text.
        header_rows: rows of names.
        skip_rows: rows above them.
        names: what several rows of names, or blank cells among them, make of the columns' names; empty where the first
            row names them.
        notes: what is unusual about it, one sentence each.
        columns: the most cells that one of its first lines has.
    """

    encoding: str = "utf-8"
    separator: str = ","
    quote: str = '"'
    header_rows: int = 1
    skip_rows: int = 0
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    columns: int = 1


def see_layout(path: Path, asked: Reading) -> Layout:
    """The layout of a text file: what was asked for, else what its first lines show."""
    notes = []
    with open_bytes(path) as file:
        start = file.read(_LETTERS)
    marked = next((name for mark, name in _MARKS.items() if start.startswith(mark)), "utf-8")
    encoding = asked.encoding or marked
    if marked == "utf-16" and asked.encoding is None:
        notes.append("the file is UTF-16")
    try:
        text = codecs.getincrementaldecoder(encoding)("replace").decode(start)
    except LookupError:
        raise InputError(
            "encoding must be the name of one", f"got {encoding!r}", "Say utf-8, latin-1, cp1252 or utf-16"
        ) from None
    quote = asked.quote or '"'
    lines = _lines(text, complete=len(start) < _LETTERS)
    separator = _NAMES.get(asked.separator or "", asked.separator) or _separator(path, lines, quote)
    columns = _separators(path, separator) + 1
    check_columns(columns)
    rows = list(_cells(lines, separator, quote))
    skipped = asked.skip_rows if asked.skip_rows is not None else _title_rows(rows)
    if skipped and asked.skip_rows is None:
        notes.append(f"left out: {counted(skipped, 'row')} above the column names")
    headers = asked.header_rows if asked.header_rows is not None else _header_rows(rows[skipped:])
    names = _joined_names(rows[skipped : skipped + headers])
    if headers > 1 and asked.header_rows is None:
        notes.append(
            f"the columns are named by {headers} rows together"
            if names
            else f"left out: {counted(headers - 1, 'row')} without data below the column names"
        )
    return Layout(encoding, separator, quote, headers, skipped, names, tuple(notes), columns)


def open_bytes(path: Path) -> IO[bytes]:
    """A file's bytes, decompressed if its name ends in .gz."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _separators(path: Path, separator: str) -> int:
    """The most separators in one of the first lines."""
    with open_bytes(path) as file:
        first = itertools.islice(iter(lambda: file.readline(_PART), b""), _LINES)
        return max((line.count(separator.encode()) for line in first), default=0)


def table_suffix(path: Path) -> str:
    """The suffix that says what a file holds: '.csv' of 'votes.csv.gz'."""
    return (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()


def has_odd_quotes(path: Path, separator: str) -> bool:
    """Whether a file in UTF-8 has quotes elsewhere than around whole cells, or line ends of old Macs.

    The table engine then reads cells other than RFC 4180 says. Inside a quoted cell a quote is written twice, so that
    each quote that opens a cell stands after a separator or line end, and each that closes one before them.
    """
    before, inside = b"\n", False
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        part = file.read(_PART).removeprefix(codecs.BOM_UTF8)
        while part:
            after = file.read(_PART)
            if not part.isascii() or decoder.getstate()[0]:
                try:
                    decoder.decode(part, final=not after)
                except UnicodeDecodeError:  # which the table engine finds late, or takes for text
                    raise ValueError("invalid utf-8 sequence") from None
            returns = part.count(b"\r")
            if returns and returns != part.count(b"\r\n") + (part[-1:] == b"\r" and after[:1] == b"\n"):
                return True
            if b'"' in part:
                letters = np.frombuffer(before + part + (after[:1] or b"\n"), dtype=np.uint8)
                places = np.flatnonzero(letters[1:-1] == ord('"')) + 1
                opens = (np.arange(len(places)) % 2 == 0) ^ inside
                outer = np.where(opens, letters[places - 1], letters[places + 1])
                if not np.isin(outer, [ord(separator), 10, 13, 34]).all():
                    return True
                inside ^= len(places) % 2 == 1
            before, part = part[-1:], after
    return inside


def read_by_csv(path: Path, layout: Layout, name: str) -> tuple[list[str], list[list[str]]]:
    """A text file as Python's csv module reads it, strictly: text after a closing quote is refused."""
    content = read_unpacked(path)
    check_memory(_CSV_BYTES * len(content))
    check_cells((content.count(b"\n") + 1) * layout.columns, len(content))
    text = decode(content, layout.encoding, name)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=layout.separator, strict=True)
    rows: list[list[str]] = []
    try:
        rows.extend(reader)
    except csv.Error as error:
        fault = "a quoted cell never ends" if "end of data" in str(error) else "text follows a closing quote"
        raise InputError(
            f"the cells of {name} must be quoted whole or not at all",
            f"in line {reader.line_num} {fault}",
            "Write a quote inside a quoted cell twice, or pass quote='none' (--quote none) if quotes are plain text",
        ) from None
    rows = rows[layout.skip_rows :]
    names = list(layout.names) or (
        rows[0] if layout.header_rows and rows else [str(place + 1) for place in range(len(rows[0]) if rows else 0)]
    )
    rows = rows[layout.header_rows :]
    long = next((place for place, row in enumerate(rows) if len(row) > len(names)), None)
    if long is not None:
        raise InputError(
            f"each row of {name} must have {len(names)} cells",
            f"row {long + 1} has {len(rows[long])}",
            "Quote cells that hold separators, or name the separator with separator= (--separator)",
        )
    return names, rows


def decode(content: bytes, encoding: str, name: str) -> str:
    """Bytes as text without a byte order mark."""
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name} must be {encoding}", f"reading it failed: {error.reason}", "Name another one with encoding="
        ) from None


def _lines(text: str, *, complete: bool) -> list[str]:
    lines = text.removeprefix("\ufeff").splitlines()[: _LINES + 1]
    return lines if complete or len(lines) < 2 else lines[:-1]


def _cells(lines: Sequence[str], separator: str, quote: str) -> Iterator[list[str]]:
    """The first rows, roughly: a sample may end inside a quoted cell."""
    with_ends = (line + "\n" for line in lines)
    try:
        if quote == "none":
            yield from csv.reader(with_ends, delimiter=separator, quoting=csv.QUOTE_NONE)
        else:
            yield from csv.reader(with_ends, delimiter=separator)
    except csv.Error:
        return


def _separator(path: Path, lines: Sequence[str], quote: str) -> str:
    """The separator that splits the first lines into equally many cells; the one the suffix stands for comes first."""
    usual = {".tsv": "\t", ".tab": "\t"}.get(table_suffix(path), ",")
    fitting: dict[str, int] = {}
    named = set()
    blanks = (" ",) if table_suffix(path) == ".txt" else ()
    for separator in (*SEPARATORS, *blanks):
        rows = [row for row in _cells(lines, separator, quote) if row]
        widths = Counter(map(len, rows))
        if not rows:
            continue
        width, times = widths.most_common(1)[0]
        if width > 1 and times >= (0.8 if separator != " " else 1.0) * len(rows) and (separator != " " or width > 2):
            fitting[separator] = width
            if len(rows[0]) == width:
                named.add(separator)
    if named and usual in fitting and usual not in named:
        # Decimal commas split rows of numbers, too, but not the names above them.
        fitting = {separator: width for separator, width in fitting.items() if separator in named}
    if usual in fitting or not fitting:
        # A sentence with one comma in each row is no table, if tabs or semicolons make more columns of it.
        fitting.pop(" ", None) if len(fitting) > 1 else None
        better = max(fitting, key=lambda one: fitting[one], default=usual)
        return better if fitting.get(better, 0) > 2 * fitting.get(usual, 0) and fitting else usual
    return max(fitting, key=lambda one: fitting[one])


def _title_rows(rows: Sequence[Sequence[str]]) -> int:
    """Rows above the names: titles and comments, which fill few cells where the table has more."""
    width = Counter(len(row) for row in rows if row).most_common(1)[0][0] if any(rows) else 0

    def is_title(row: Sequence[str]) -> bool:
        filled = sum(bool(cell.strip()) for cell in row)
        return filled <= 1 or (len(row) != width and row[0].startswith("#"))

    title = len(list(itertools.takewhile(is_title, rows)))
    return title if width > 1 and 0 < title < min(len(rows) - 1, 20) else 0


def _header_rows(rows: Sequence[Sequence[str]]) -> int:
    """1, or more in the exports of survey tools, or 0 where the first row looks like those below it."""
    if len(rows) > 2 and any(cell.startswith('{"ImportId"') for cell in rows[2]):
        return 3
    if len(rows) > 1 and any(cell.startswith('{"ImportId"') for cell in rows[1]):
        return 2
    if _second_row_completes(rows) or _second_row_describes(rows):
        return 2
    return 0 if _first_row_is_data(rows) else 1


def _second_row_completes(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row leaves columns without a name of their own, and the second names them."""
    if len(rows) < 5 or len(rows[0]) != len(rows[1]):
        return False
    first, second, *others = (tuple(cell.strip() for cell in row) for row in rows if len(row) == len(rows[0]))
    open_ = [place for place, cell in enumerate(first) if place and (not cell or first.count(cell) > 1)]
    columns = list(zip(*others, strict=True))
    return (
        bool(open_)
        and bool(columns)
        and all(second[place] and second[place] not in columns[place] for place in open_ if any(columns[place]))
        and any(any(columns[place]) for place in open_)
        and not any(re.fullmatch(r"[-+\d.,%]+", second[place]) for place in open_)
    )


def _second_row_describes(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the second row is unlike all below it: a text of its own wherever the others repeat few values."""
    if len(rows) < 8 or len(rows[0]) != len(rows[1]):
        return False
    _, second, *others = (tuple(cell.strip() for cell in row) for row in rows if len(row) == len(rows[0]))
    if not others:
        return False
    few = [
        (cell, set(column) - {""})
        for cell, column in zip(second, zip(*others, strict=True), strict=True)
        if 0 < len(set(column) - {""}) <= len(others) / 2
    ]
    columns = list(zip(*others, strict=True))
    blank = [place for place, cell in enumerate(second) if not cell and all(columns[place])]
    units = [place for place, cell in enumerate(second) if cell]
    if len(blank) > 1 and units and all(second[place] not in columns[place] for place in units):
        return True
    told = {cell for cell, _ in few}
    values = set().union(*(words for _, words in few))
    return (
        len(few) > 2
        and len(told) == len(few)
        and not told & (values | {""})
        and len(values) < sum(len(w) for _, w in few)
    )


def _joined_names(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Names where the first row leaves some blank or repeats them; nothing where it is complete.

    A name in a merged cell stands over several columns, which the second row tells apart.
    """
    if not rows:
        return ()
    first = [cell.strip() for cell in rows[0]]
    blank = [place for place, cell in enumerate(first) if not cell]
    if len(blank) < 2 and (len(rows) < 2 or (len(set(first)) == len(first) and not blank[1:])):
        return ()
    if len(rows) < 2 or len(rows[1]) != len(first):
        return tuple(cell or f"column {place}" for place, cell in enumerate(first, 1))
    second = [cell.strip() for cell in rows[1]]
    over: list[str] = []
    for cell in first:
        over.append(cell or (over[-1] if over else ""))
    names = []
    for place, (group, cell) in enumerate(zip(over, second, strict=True)):
        if over.count(group) == 1 or not cell:
            names.append(first[place] or cell or f"column {place + 1}")
        else:
            names.append(cell if second.count(cell) == 1 and first.count(group) == 1 else f"{group} {cell}".strip())
    return tuple(names) if len(set(names)) == len(names) else ()


def _first_row_is_data(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row looks like all others: each cell in the way of its column, and one a value that recurs."""
    if len(rows) < 6 or rows[0] in rows[1:] or not all(cell.strip() for cell in rows[0]):
        return False
    first, *others = (row for row in rows if len(row) == len(rows[0]))
    columns = list(zip(*others, strict=True))
    if not columns or [cell.strip() for cell in first] == [str(place) for place in range(len(first))]:
        return False
    recurs = any(column.count(cell) > 1 for cell, column in zip(first, columns, strict=True))
    alike = all(_shape(cell) in set(map(_shape, column)) for cell, column in zip(first, columns, strict=True))
    numbered = [int(cell) for cell in first if re.fullmatch(r"-?\d{1,18}", cell)]
    in_order = numbered in (sorted(set(numbered)), sorted(set(numbered), reverse=True))
    return recurs and alike and (len(numbered) < len(first) or not in_order)


def _shape(cell: str) -> str:
    """A cell with letters and digits made alike: 'w12' and 'x7' have the same shape."""
    return re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "9", cell))
