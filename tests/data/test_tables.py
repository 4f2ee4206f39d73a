"""Tables of numbers from every format, refused with the names of the offenders."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from own_data import refusal, votes_on
from votewise.data import InputForm, join_inputs, open_features, prepare

TABLE = {"item": ["c", "a", "b"], "x": [3.0, 1.0, 2.0], "y": [30, 10, 20]}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_features_from_every_format(tmp_path: Path, suffix: str) -> None:
    path, frame = tmp_path / f"f{suffix}", pl.DataFrame(TABLE)
    {
        ".csv": frame.write_csv,
        ".tsv": lambda to: frame.write_csv(to, separator="\t"),
        ".parquet": frame.write_parquet,
        ".jsonl": frame.write_ndjson,
    }[suffix](path)
    source = open_features(path)
    material = prepare(join_inputs(votes_on("a", "b", "c"), source, name="d"))
    assert material.form == InputForm(columns=("x", "y"))
    assert material.inputs.dtype == np.float32
    assert material.inputs.tolist() == [[1, 10], [2, 20], [3, 30]]
    assert open_features(path, columns=("y",)).load().values.tolist() == [[30], [10], [20]]
    assert refusal(open_features, path, columns=("z", "x")) == (
        "the table must have the features the model was trained on, but it has no column 'z'. Add those columns."
    )


def test_arrays_of_features(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"
    np.save(path, np.arange(6).reshape(3, 2))
    material = prepare(join_inputs(votes_on("a", "b", "c"), open_features(path), name="d"))
    assert material.inputs.tolist() == [[0, 1], [2, 3], [4, 5]]
    np.save(path, np.array([[1.0, np.nan], [np.inf, 1], [1, 1]]))
    assert refusal(open_features, path) == (
        "features must be finite numbers, but rows 0, 1 hold NaN or infinity. Fix or remove them."
    )
    np.save(path, np.array([1.0, 2.0]))
    assert "an array of features must be numbers, items x features" in refusal(open_features, path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "item,x,kind\na,1,red\nb,2,blue\n",
            "features must be finite numbers, but 2 cells of column 'kind' are not (items 'a', 'b'; the first is 'red'). "
            "Fill them in, turn categories into numbers, or remove the column.",
        ),
        (
            "item,x\na,1\nb,\nc,nan\nd,1e40\n",
            "features must be finite numbers, but 3 cells of column 'x' are not (items 'b', 'c', 'd'; the first is None). "
            "Fill them in, turn categories into numbers, or remove the column.",
        ),
        (
            "nr,x\n" + "".join(f"{10 + i},{i / 7}\n" for i in range(9)),
            "each column of a table of features must be a feature, or named as the item column, but column 'nr' has a different "
            "whole number in every row, like ids. Pass --item nr, or name it item_id.",
        ),
        ("item,x\n", "a table of features needs at least one row, but it has none. Check the file."),
        (
            "item\na\nb\n",
            "a table of features needs a column besides the item column, but it has only 'item'. Add one.",
        ),
        (
            "item,x\na,1\na,2\n",
            "item ids in the table of features must be different and not empty, but 1 appear more than once ('a'). "
            "Give each item one row and one id.",
        ),
    ],
)
def test_tables_of_features_that_do_not_fit(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f.csv").write_text(text, encoding="utf-8")
    assert refusal(open_features, tmp_path / "f.csv") == message


def test_how_items_of_a_table_are_found(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("who,x\nann,1\nbob,2\n", encoding="utf-8")
    assert open_features(path).item_ids is not None  # texts that all differ: surely ids
    path.write_text("x,y\n1,2\n1,3\n", encoding="utf-8")
    assert open_features(path).item_ids is None
    path.write_text("nr,x\n" + "".join(f"{10 + i},{i / 7}\n" for i in range(9)), encoding="utf-8")
    assert open_features(path, item="nr").item_ids.tolist() == [str(10 + i) for i in range(9)]  # type: ignore[union-attr]
    path.write_text("item,x\na,1\nb,2\n", encoding="utf-8")
    assert open_features(path, item="votes_only_name").item_ids is not None  # the option was for the votes
