"""Votes from data sets of Hugging Face, sheets and standard input."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from sheet_files import cells, write_workbook
from votewise import InputError, read_votes

from .outcomes import as_truth
from .shapes import by_item, long_rows, table, tally, votes

VOTES = votes(11)
ROWS = long_rows(VOTES)


def _data_set(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(rows)


def test_data_sets_of_hugging_face() -> None:
    data = _data_set(ROWS)
    assert as_truth(read_votes(data)) == tally(VOTES)
    assert read_votes(data.shuffle(seed=1).select(range(50))).counts.sum() == 50
    lists = [
        {"id": i, "labels": [v.label for v in g], "annotators": [v.annotator for v in g]}
        for i, g in by_item(VOTES).items()
    ]
    read = read_votes(_data_set(lists))
    assert as_truth(read) == tally(VOTES)
    assert read.ballots is not None


def test_classes_of_hugging_face_have_names() -> None:
    features = pytest.importorskip("datasets")
    names = ["dog", "bird", "cat"]  # in an order of their own
    coded = _data_set([{**row, "label": names.index(row["label"])} for row in ROWS])
    data = coded.cast_column("label", features.ClassLabel(names=names))
    assert as_truth(read_votes(data)) == tally(VOTES)


def test_one_split_is_read() -> None:
    both = pytest.importorskip("datasets").DatasetDict({"train": _data_set(ROWS)})
    with pytest.raises(
        InputError,
        match=r"^a table must be one split of a data set, but got DatasetDict with 'train'. Choose one, e.g. data\['train'\]\.$",
    ):
        read_votes(both)


@pytest.mark.parametrize("form", ["csv", "jsonl", "json"])
def test_standard_input(form: str) -> None:
    content = {
        "csv": table(ROWS),
        "jsonl": "\n".join(map(json.dumps, ROWS)).encode(),
        "json": json.dumps(ROWS).encode(),
    }[form]
    done = subprocess.run(
        [sys.executable, "-m", "votewise", "inspect", "-", "--json"], input=content, capture_output=True, check=True
    )
    assert json.loads(done.stdout)["votes"] == len(VOTES)


def _sheet(path: Path, rows: list[list[str]]) -> Path:
    def cell(text: str) -> str:
        return f'<c t="inlineStr"><is><t>{escape(text)}</t></is></c>'

    return write_workbook(path, cells("".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)))


def test_sheets_are_read_where_a_reader_is_installed(tmp_path: Path) -> None:
    path = _sheet(tmp_path / "votes.xlsx", [list(ROWS[0]), *(list(row.values()) for row in ROWS)])
    if importlib.util.find_spec("fastexcel") is None:
        with pytest.raises(
            InputError,
            match=r"^reading \.xlsx needs the package fastexcel, but it is not installed\. Install it with pip install fastexcel, or save the sheet as CSV\.$",
        ):
            read_votes(path)
    else:
        assert as_truth(read_votes(path)) == tally(VOTES)
