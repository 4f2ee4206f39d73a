"""Sheets (.xlsx): archives of XML, checked before the library that reads them takes memory for what they claim."""

from __future__ import annotations

import io
import re
import zlib
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from votewise._errors import InputError
from votewise.votes.bounds import check_cells, check_columns, check_memory

if TYPE_CHECKING:
    import polars as pl

# A sheet may unpack to as many times its size, and a small one to the second number of bytes. Cells may name the same
# text again and again, which the second pair limits.
_MOST_UNPACKED = 50
_SMALL_UNPACKED = 2**22
_MOST_TEXT = 100
_SMALL_TEXT = 2**26

# What reading takes, measured: bytes for each byte of XML, and for each place of the table around all cells.
_BYTE = 6
_PLACE = 110

_ADDRESS = re.compile("([A-Za-z]{1,4})([0-9]{1,9})")
_CLAIMS = {"count", "uniqueCount"}
# How common programs write cells with and without a value, texts, and how many there are.
_CLAIM = re.compile(rb"""[cC]ount\s*=\s*["']\+?([0-9]+)""")
_FILLED = re.compile(rb'<c r="([A-Z]{1,3})([0-9]{1,7})"(?: s="[0-9]+")?(?: t="[A-Za-z]+")?>')
_TEXT = re.compile(rb"<si(?=[\s/>])")
_EMPTY = re.compile(rb'<c r="[A-Z]{1,3}[0-9]{1,7}"(?: s="[0-9]+")?(?: t="[A-Za-z]+")?/>')
_SHOWN = 20


def read_sheet(path: Path) -> pl.DataFrame:
    """The first sheet of a workbook; whatever is wrong with it is an `InputError` or a `ValueError`."""
    import polars as pl

    try:
        content = _checked(path)
    # Damaged archives raise errors of many kinds.
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error, expat.ExpatError) as error:
        raise ValueError(str(error) or "it is cut off") from None
    try:
        import fastexcel  # type: ignore[import-not-found, unused-ignore]  # noqa: F401  # the table engine calls it
    except ImportError:
        raise InputError(
            "reading .xlsx needs the package fastexcel",
            "it is not installed",
            "Install it with pip install fastexcel, or save the sheet as CSV",
        ) from None
    try:
        return pl.read_excel(content, infer_schema_length=None)
    except MemoryError:
        raise
    # Errors of two libraries, an IndexError where there is no sheet, and a panic, whose kind has no public name.
    except BaseException as error:
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise ValueError(str(error)) from None
        raise


def _checked(path: Path) -> bytes:
    """The XML of a workbook, as an archive that claims nothing which it does not hold."""
    size = path.stat().st_size
    most = max(_MOST_UNPACKED * size, _SMALL_UNPACKED)
    found = io.BytesIO()
    surveys = []
    unpacked = 0
    with ZipFile(path) as archive, ZipFile(found, "w") as kept:
        for name, member in {member.filename: member for member in archive.infolist()}.items():
            if not name.endswith((".xml", ".rels")):
                continue
            if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                raise ValueError("it is compressed in another way than sheets are")
            member.file_size = most + 1  # it is read to its end, wherever the archive claims that to be
            with archive.open(member) as stream:
                part = stream.read(most - unpacked + 1)
            unpacked += len(part)
            if unpacked > most:
                raise _too_large("unpack to", _MOST_UNPACKED, most)
            check_memory(_BYTE * unpacked)
            kept.writestr(name, part)
            surveys.append(_Survey(part))
    for survey in surveys:
        check_columns(survey.columns)
        check_cells(survey.rows * survey.columns, size)
    most = max(_MOST_TEXT * size, _SMALL_TEXT)
    letters = _letters(surveys, most)
    if letters > most:
        raise _too_large("have texts of", _MOST_TEXT, most)
    places = max((survey.rows * survey.columns for survey in surveys), default=0)
    check_memory(_BYTE * unpacked + _PLACE * places + 2 * letters)
    return found.getvalue()


def _too_large(does: str, times: int, most: int) -> InputError:
    return InputError(
        f"a sheet may {does} {times} times its size",
        f"this one has more than {most:,} bytes",
        "Save the sheet as CSV",
    )


class _Survey:
    """What a part of a workbook makes of its bytes.

    Attributes:
        part: its XML.
        rows: rows of the table around all cells with a value, from the first of the sheet on.
        columns: its columns.
        named: how many cells name a text of the common list.
        longest: bytes of the longest text of that list, at most; 0 if this part is not the list.
    """

    def __init__(self, part: bytes) -> None:
        self.part = part
        self.rows = self.columns = self.named = self.longest = 0
        if not self._is_plain():
            self._parse()

    def _is_plain(self) -> bool:
        """Whether all is written as common programs do, and seen at a glance: parsing takes ten times as long."""
        part = self.part
        cells = part.count(b"<c") + part.count(b":c") - part.count(b"<col")
        filled = _FILLED.findall(part)
        if (
            cells != len(filled) + len(_EMPTY.findall(part))
            or any(mark in part for mark in (b"<!", b"\0", b":si"))
            or any(int(claim) > len(part) for claim in _CLAIM.findall(part))
        ):
            return False
        if filled:
            letters, numbers = zip(*filled, strict=True)
            rows = list(map(int, numbers))
            if not rows[0] or rows != sorted(rows):
                return False
            self.columns = max(_column(name.decode()) for name in set(letters))
            self.rows = rows[-1]
        self.named = part.count(b't="s"')
        self.longest = max(map(len, _TEXT.split(part)[1:]), default=0)
        return True

    def _parse(self) -> None:
        row = column = begun = 0
        names = False

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal row, column, begun, names
            kind = name.rpartition(":")[2]
            if kind == "c":
                names = attributes.get("t") == "s"
                column += 1
                if "r" in attributes:
                    row, column = _place(attributes["r"])
            elif kind in ("v", "is"):
                if row < max(self.rows, 1):  # a library takes the first and the last row for the ends of the table
                    raise ValueError("its rows are not in order")
                self.rows, self.columns = row, max(self.columns, column)
                self.named += names
            elif kind == "row":
                row, column = int(attributes.get("r", row + 1)), 0
            elif kind == "si":
                begun = parser.CurrentByteIndex
            _check_claims(attributes, len(self.part))

        def end(name: str) -> None:
            if name.rpartition(":")[2] == "si":
                self.longest = max(self.longest, parser.CurrentByteIndex - begun)

        parser = _parser(start, end)
        parser.Parse(self.part, True)


def _parser(start: Callable[[str, dict[str, str]], None], end: Callable[[str], None]) -> expat.XMLParserType:
    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = _refuse_entities
    return parser


def _refuse_entities(*_: object) -> None:
    raise ValueError("it declares entities")


def _check_claims(attributes: dict[str, str], most: int) -> None:
    """Refuse an element that claims to hold more than can be in the file, since a library may take memory for them."""
    for claim in _CLAIMS & attributes.keys():
        if int(attributes[claim]) > most:
            raise ValueError(f"it claims to have {attributes[claim][:_SHOWN]} entries")


def _place(address: str) -> tuple[int, int]:
    """Row and column of a cell, both from 1: (7, 28) of AB7."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ValueError(f"a cell has the address {address[:_SHOWN]!r}")
    return int(found[2]), _column(found[1])


def _column(letters: str) -> int:
    """The number of a column, from 1: 28 of AB."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _letters(surveys: list[_Survey], most: int) -> int:
    """The bytes of the texts that the cells of a sheet name, or more than that where it is not too much anyway."""
    lists = [survey for survey in surveys if survey.longest]
    if not lists:
        return 0
    if len(lists) > 1:
        raise ValueError("it has two lists of texts")
    named = max(survey.named for survey in surveys)
    if lists[0].longest * named <= most:
        return lists[0].longest * named
    lengths = _lengths(lists[0].part)
    return max(_named_letters(survey.part, lengths) for survey in surveys if survey.named)


def _lengths(part: bytes) -> array[int]:
    """The bytes of each text of the common list."""
    lengths = array("q")
    begun = 0

    def start(name: str, attributes: dict[str, str]) -> None:  # noqa: ARG001  # the parser hands both over
        nonlocal begun
        begun = parser.CurrentByteIndex if name.rpartition(":")[2] == "si" else begun

    def end(name: str) -> None:
        if name.rpartition(":")[2] == "si":
            lengths.append(parser.CurrentByteIndex - begun)

    parser = _parser(start, end)
    parser.Parse(part, True)
    return lengths


def _named_letters(part: bytes, lengths: array[int]) -> int:
    """The bytes of the texts that the cells of a sheet name."""
    total = 0
    names = inside = False
    number = ""

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal names, inside, number
        kind = name.rpartition(":")[2]
        if kind == "c":
            names = attributes.get("t") == "s"
        inside, number = names and kind == "v", ""

    def data(text: str) -> None:
        nonlocal number
        number += text if inside else ""

    def end(name: str) -> None:  # noqa: ARG001
        nonlocal total, inside
        if inside:
            total += lengths[int(number)]
        inside = False

    parser = _parser(start, end)
    parser.CharacterDataHandler = data
    parser.Parse(part, True)
    return total
