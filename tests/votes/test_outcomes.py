"""What a reading must not become, whatever it came from: options are checked like guesses."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from votewise import InputError, read_votes

from .shapes import long_rows, table, votes


def _file(folder: Path, content: bytes | str) -> Path:
    path = folder / "table.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_classes_that_occur_once_are_refused_though_named(tmp_path: Path) -> None:
    rng = random.Random(1)
    rows = [{"item": n, "a": f"{rng.random():.4f}", "b": f"{rng.random():.4f}"} for n in range(30)]
    path = _file(tmp_path, table(rows))
    with pytest.raises(
        InputError,
        match=r"^labels must be classes, but there are 58 different ones in 60 votes \('0\.\d+', '0\.\d+', '0\.\d+'\)\. Pass bins=5 \(--label-bins 5\) to make classes of numbers, or name the classes with classes= \(--classes\)\.\nTo do so, type: votewise inspect .*table.csv --item item --raters a,b --label-bins 5\n",
    ):
        read_votes(path, item="item", raters=["a", "b"])
    assert read_votes(path, item="item", raters=["a", "b"], bins=5).n_classes == 5


def test_shares_of_a_number_must_be_whole_votes(tmp_path: Path) -> None:
    head = "clip,p_yes,n\n"
    path = _file(tmp_path, head + "".join(f"c{k},{k / 8},8\n" for k in range(9)))
    read = read_votes(path, item="clip", classes=["p_yes"], count="n")
    assert read.classes == ("p_yes", "not p_yes")
    assert read.counts[:, 0].tolist() == list(range(9))
    for wrong in ("x,0.3,8", "x,,8", "x,1.5,8", "x,0.5,2.5"):
        path = _file(tmp_path, head + f"c,0.5,8\n{wrong}\n")
        with pytest.raises(
            InputError,
            match=r"^shares times 'n' must be whole, and their sum that number, but in 1 rows they are not \(rows 2\)\. Name all classes with classes= \(--classes\), or leave count out to read the shares alone\.$",
        ):
            read_votes(path, item="clip", classes=["p_yes"], count="n")
    path = _file(tmp_path, head + "c,0.5,8\nx,,0\n")
    assert read_votes(path, item="clip", classes=["p_yes"], count="n").notes == ("left out: 1 item without a vote",)


def test_blanks_of_merged_cells_are_filled_where_it_is_said(tmp_path: Path) -> None:
    rows = long_rows(votes(3))
    merged = [{**row, "item_id": row["item_id"] if n % 4 == 0 else ""} for n, row in enumerate(rows)]
    path = _file(tmp_path, table(merged))
    with pytest.raises(InputError, match=r"blank cells of 'item_id' may stand for the cell above, as merged cells do"):
        read_votes(path)
    assert (read_votes(path, fill="item_id").counts == read_votes(_file(tmp_path, table(rows))).counts).all()


def test_numbers_with_commas_may_be_thousands(tmp_path: Path) -> None:
    decimal = "item;a;b\n" + "".join(f"i{k};0,{25 * (k % 3 + 1)};0,{100 - 25 * (k % 3 + 1)}\n" for k in range(9))
    assert read_votes(_file(tmp_path, decimal)).probs[0].tolist() == [0.25, 0.75]
    thousands = "item;a;b\n" + "".join(f"i{k};1,{k}00;2,{9 - k}00\n" for k in range(9))
    with pytest.raises(InputError):
        read_votes(_file(tmp_path, thousands), form="counts", item="item")


def test_a_second_row_of_names_is_told(tmp_path: Path) -> None:
    body = "".join(f"c{k},{'yn'[k % 2]},{'yn'[k % 3 == 0]},y\n" for k in range(9))
    read = read_votes(_file(tmp_path, "Case,Readers,,\n,Ann,Bo,Cy\n" + body))
    assert read.notes == ("the columns are named by 2 rows together",)
    assert read.reading is not None
    assert read.reading.raters == ("Ann", "Bo", "Cy")


def test_records_that_hold_votes_by_annotator(tmp_path: Path) -> None:
    cells = "item,said\n" + "".join(
        f'i{k},"{{""w1"": ""a"", ""w{k % 3 + 2}"": ""{"ab"[k % 2]}""}}"\n' for k in range(12)
    )
    read = read_votes(_file(tmp_path, cells), label="said", split="people")
    assert read.ballots is not None
    assert list(read.ballots.annotator_ids) == ["w1", "w2", "w3", "w4"]
