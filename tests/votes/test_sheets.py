"""What a sheet may cost: archives of XML that claim or unpack to what would end the process are refused in words."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path

import pytest

from limits import at_most
from sheet_files import HEADER, cells, strings, write_workbook
from votewise import InputError, read_votes

LITTLE = {"megabytes": 200.0, "seconds": 4.0}

needs_fastexcel = pytest.mark.skipif(importlib.util.find_spec("fastexcel") is None, reason="fastexcel is not installed")

VALUE = "<c><v>1</v></c>"
SHARED = '<c t="s"><v>0</v></c>'

BOMBS: dict[str, tuple[dict[str, str], str]] = {
    "a far corner": (cells('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'), "32 cells for each byte"),
    "a far corner, written oddly": (
        cells("<row r='1048576'><c\ta='>' r = 'xfd1048576'><v>1</v></c></row>"),
        "32 cells for each byte",
    ),
    "a far row": (cells(f'<row>{VALUE * 900}</row><row r="1048576">{VALUE}</row>'), "32 cells for each byte"),
    "prefixes": (
        cells('<x:row xmlns:x="a"><x:c r="XFD1048576"><x:v>1</x:v></x:c></x:row>'),
        "32 cells for each byte",
    ),
    "a wide row above many": (cells(f"<row>{VALUE * 9000}</row>" + f"<row>{VALUE}</row>" * 9000), "32 cells"),
    "rows": (cells("<row/>" * 3_000_000), "unpack to 50 times its size"),
    "cells": (cells(f"<row>{'<c/>' * 5_000_000}</row>"), "unpack to 50 times its size"),
    "texts": (cells("<row/>", strings("<si><t>a</t></si>" * 2_000_000)), "unpack to 50 times its size"),
    "a text": (cells(f'<row><c t="inlineStr"><is><t>{"a" * 90_000_000}</t></is></c></row>'), "unpack to 50 times"),
    "a text in each cell": (
        cells(f"<row>{SHARED}{SHARED}</row>" * 2000, strings(f"<si><t>{'a' * 2_000_000}</t></si>")),
        "have texts of 100 times its size",
    ),
    "a long text beside the one in each cell": (
        cells(f"<row>{SHARED * 100}</row>" * 200, strings(f"<si><t>{'a' * 200_000}</t></si>" * 2)),
        "have texts of 100 times its size",
    ),
    "a claim of texts": (
        cells(f"<row>{SHARED}</row>", strings("<si><t>a</t></si>", ' count="1" uniqueCount="4000000000"')),
        "claims to have 4000000000 entries",
    ),
    "rows out of order": (
        cells('<row r="9"><c r="A9"><v>1</v></c></row><row r="2"><c r="A2"><v>1</v></c></row>'),
        "rows are not in order",
    ),
    "rows out of order, named by themselves": (
        cells(f'<row r="9">{VALUE}</row><row r="2">{VALUE}</row>'),
        "rows are not in order",
    ),
    "a row before the first": (cells('<row r="0"><c r="A0"><v>1</v></c></row>'), "rows are not in order"),
    "styles": ({**cells(""), "xl/styles.xml": '<styleSheet><cellXfs count="4000000000"/></styleSheet>'}, "claims"),
    "entities": (
        {**cells(""), "xl/sharedStrings.xml": '<!DOCTYPE a [<!ENTITY a "aaaa">]><sst><si><t>&a;&a;</t></si></sst>'},
        "declares entities",
    ),
    "an address that is none": (cells('<row><c r="A99999999999999999999"><v>1</v></c></row>'), "has the address"),
    "a tag that never ends": (cells("<c " * 900_000), "not well-formed"),
    "letters of two bytes": (
        {
            "xl/worksheets/sheet1.xml": cells('<row><c r="XFD1048576"><v>1</v></c></row>')[
                "xl/worksheets/sheet1.xml"
            ].replace("", "\0")
        },
        "not well-formed",
    ),
    "two lists of texts": (
        {**cells(f"<row>{SHARED}</row>", strings("<si/>")), "xl/more.xml": "<sst><si/></sst>"},
        "two lists of texts",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_sheets_that_would_take_all_memory_or_end_the_process(name: str, tmp_path: Path) -> None:
    parts, words = BOMBS[name]
    path = write_workbook(tmp_path / "a.xlsx", parts)
    assert path.stat().st_size < 1_000_000
    with at_most(**LITTLE), pytest.raises(InputError, match=words):
        read_votes(path)


def test_sizes_that_an_archive_claims_are_not_believed(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", cells("<row/>" * 9_000_000))
    content = bytearray(path.read_bytes())
    place = content.rindex(b"PK\x01\x02")  # of the sheet, the last part
    content[place + 24 : place + 28] = struct.pack("<I", 100)
    path.write_bytes(content)
    with at_most(**LITTLE), pytest.raises(InputError, match="unpack to 50 times its size"):
        read_votes(path)


@pytest.mark.parametrize(
    "content", [b"PK", b"PK\x03\x04" + b"\0" * 90, b"\xd0\xcf\x11\xe0" + b"\0" * 600, b"a,b\n1,2\n"]
)
def test_files_that_are_no_archives(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(InputError, match=r"must be readable.*Check that it is whole, or save the sheet as CSV\.$"):
        read_votes(tmp_path / "a.xlsx")


def rows_of_votes(first: int = 2) -> str:
    return "".join(
        f'<row r="{row}"><c r="A{row}" t="s"><v>{row % 50}</v></c><c r="B{row}" t="s"><v>{50 + row % 2}</v></c></row>'
        for row in range(first, first + 400)
    )


@needs_fastexcel
@pytest.mark.parametrize(
    "more",
    [
        "",
        '<row r="1048576"><c r="XFD1048576" s="1"/></row>',  # coloured, and empty
        '<row r="1048576"><c r="A1048576" s="1"></c></row>',
    ],
)
def test_sheets_are_read(more: str, tmp_path: Path) -> None:
    """Texts of the common list; cells that are only coloured are not part of the table."""
    texts = "".join(f"<si><t>item{number}</t></si>" for number in range(50)) + "<si><t>cat</t></si><si><t>dog</t></si>"
    path = write_workbook(tmp_path / "a.xlsx", cells(HEADER + rows_of_votes() + more, strings(texts)))
    with at_most(**LITTLE):
        votes = read_votes(path, item="item", label="label")
    assert votes.counts is not None
    assert votes.counts.sum() == 400
    assert votes.classes == ("cat", "dog")


@needs_fastexcel
def test_texts_that_repeat_within_reason_are_read(tmp_path: Path) -> None:
    """One text is much longer than the others, which are named often."""
    texts = f"<si><t>{'a' * 400_000}</t></si>" + "".join(f"<si><t>t{number}</t></si>" for number in range(51))
    path = write_workbook(tmp_path / "a.xlsx", cells(HEADER + rows_of_votes(), strings(texts)))
    with at_most(**LITTLE):
        assert read_votes(path, item="item", label="label").n_items == 50


@needs_fastexcel
def test_an_archive_without_a_workbook(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "a.xlsx", {"xl/workbook.xml": "<workbook/>"})
    with pytest.raises(InputError, match=r"must be readable"):
        read_votes(path)
