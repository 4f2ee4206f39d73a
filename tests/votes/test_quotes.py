"""Cells of text files: as RFC 4180 and Python's csv read them, or refused; in every column, never mangled."""

from __future__ import annotations

import csv
import io
import os
import random
from pathlib import Path

import pytest

from votewise import InputError, read_votes
from votewise.votes.reading import Reading
from votewise.votes.sources import Table, engine_errors, open_table

# How many files are generated: enough to be bounded, and VOTEWISE_FILES=100000 for a long look.
FILES = int(os.environ.get("VOTEWISE_FILES", "1500"))

PIECES = ['"', '""', '"x"', ",", "\n", "\r\n", "\r", "a", "b c", "é", " ", "0", '"a,b"', '"a\nb"', ";", ""]


def _cells(path: Path) -> list[list[str]]:
    table = open_table(path, Reading(separator=",", header_rows=1, skip_rows=0))
    assert isinstance(table, Table)
    with engine_errors("the table"):
        return [[cell or "" for cell in row] for row in table.lazy().collect().rows()]


def _expected(content: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(content, newline="")))[1:]
    return [[*row, *[""] * (2 - len(row))] for row in rows]


def _filled(rows: list[list[str]]) -> list[list[str]]:
    """Rows with anything in them: an empty line is no row for csv, and an empty one for the table engine."""
    return [row for row in rows if any(row)]


def test_generated_files_are_read_as_csv_reads_them_or_refused(tmp_path: Path) -> None:
    rng = random.Random(0)
    path, read = tmp_path / "a.csv", 0
    for number in range(FILES):
        path = tmp_path / f"{number}.csv"
        content = "x,y\n" + "".join(
            ",".join("".join(rng.choices(PIECES, k=rng.choice([1, 1, 1, 2, 3]))) for _ in range(2))
            + rng.choice(["\n", "\n", "\r\n"])
            for _ in range(rng.randint(1, 5))
        )
        path.write_bytes(content.encode())
        try:
            found = _cells(path)
        except InputError:
            continue
        finally:
            path.unlink()
        assert _filled(found) == _filled(_expected(content)), repr(content)
        read += 1
    assert read > FILES / 10


@pytest.mark.parametrize("bad", ['"x"1', '"ja"é', '"Bob" Junior', '"x" '])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_text_after_a_closing_quote_is_refused_in_every_column(bad: str, place: int, tmp_path: Path) -> None:
    cells = ["i1", "ann", "yes"]
    cells[place] = bad
    path = tmp_path / "votes.csv"
    path.write_text(f"item,annotator,label\n{','.join(cells)}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_votes(path)
    assert str(error.value) == (
        f"the cells of the file {str(path)!r} must be quoted whole or not at all, but in line 2 text follows a closing "
        "quote. Write a quote inside a quoted cell twice, or pass quote='none' (--quote none) if quotes are plain text."
    )
    assert read_votes(path, quote="none").counts is not None


def test_a_quoted_cell_that_never_ends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text('item,label\na,x\nb,"y\n', encoding="utf-8")
    with pytest.raises(InputError, match="in line 3 a quoted cell never ends"):
        read_votes(path)


def test_quotes_inside_cells_are_text(tmp_path: Path) -> None:
    path = tmp_path / "votes.tsv"
    path.write_text('item\tlabel\n5" disk\tx\nsay "hi" now\ty\n', encoding="utf-8")
    assert read_votes(path).item_ids.tolist() == ['5" disk', 'say "hi" now']
