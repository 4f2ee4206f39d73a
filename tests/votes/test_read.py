"""Reading: every form, every source, every fault with its message."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from votewise import InputError, Votes, read_votes

LONG = pd.DataFrame(
    {
        "task": ["a", "a", "b", "b", "c", "a"],
        "worker": ["x", "y", "x", "y", "x", "z"],
        "label": ["dog", "cat", "cat", "cat", "bird", "dog"],
    }
)
EXPECTED = {
    "a": {"bird": 0, "cat": 1, "dog": 2},
    "b": {"bird": 0, "cat": 2, "dog": 0},
    "c": {"bird": 1, "cat": 0, "dog": 0},
}


def as_dict(votes: Votes) -> dict[str, dict[str, int]]:
    assert votes.counts is not None
    return {
        str(item): dict(zip(votes.classes, row, strict=True))
        for item, row in zip(votes.item_ids, votes.counts.tolist(), strict=True)
    }


def write(path: Path, frame: pd.DataFrame) -> Path:
    {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".parquet": lambda: frame.to_parquet(path),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
    }[path.suffix]()
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_long_files(tmp_path: Path, suffix: str) -> None:
    votes = read_votes(write(tmp_path / f"votes{suffix}", LONG))
    assert as_dict(votes) == EXPECTED
    assert votes.item_ids.tolist() == ["a", "b", "c"]
    assert votes.ballots is not None
    assert votes.ballots.annotator_ids.tolist() == ["x", "y", "z"]
    assert len(votes.ballots) == 6


@pytest.mark.parametrize(
    "convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas, lambda f: pl.from_pandas(f).lazy()]
)
def test_long_frames(convert: Callable[[pd.DataFrame], object]) -> None:
    assert as_dict(read_votes(convert(LONG))) == EXPECTED


def test_integer_and_float_columns_of_frames() -> None:
    frame = pd.DataFrame({"item": [7, 7, 10], "annotator": [1.0, 2.0, 1.0], "label": [3.0, np.nan, 12.0]})
    votes = read_votes(frame, missing="drop")
    assert as_dict(votes) == {"7": {"3": 1, "12": 0}, "10": {"3": 0, "12": 1}}
    assert votes.ballots is not None
    assert votes.ballots.annotator_ids.tolist() == ["1"]  # the other gave no label


def test_text_stays_as_written(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,label\n007,01\n7,1\n7.0,2\n", encoding="utf-8")
    votes = read_votes(path)
    assert votes.item_ids.tolist() == ["007", "7", "7.0"]
    assert votes.classes == ("01", "1", "2")
    assert read_votes(path, classes=["01", "1", "2"]).classes == ("01", "1", "2")


def test_blanks_around_names_and_blank_lines_mean_nothing(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item, annotator, label\n1, a, x\n1, b,x\n\n 1,c, y \n2,a,y\n\n", encoding="utf-8")
    votes = read_votes(path)
    assert as_dict(votes) == {"1": {"x": 2, "y": 1}, "2": {"x": 0, "y": 1}}
    assert votes.ballots is not None
    assert votes.ballots.annotator_ids.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "kind", [pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt64, pl.Int128, pl.Categorical, pl.String, pl.Float32]
)
def test_every_type_of_column(kind: type[pl.DataType]) -> None:
    low = 0 if kind in (pl.UInt8, pl.UInt64) else -100
    numbers = pl.Series("label", [low, 27, 100, low + 1] * 20)
    column = numbers.cast(pl.String).cast(kind) if kind == pl.Categorical else numbers.cast(kind)
    frame = pl.DataFrame(
        {"item": pl.Series([5, 5, 7, 9] * 20).cast(kind if kind != pl.Categorical else pl.Int64), "label": column}
    )
    votes = read_votes(frame)
    assert votes.classes == tuple(str(value) for value in sorted({low, low + 1, 27, 100}))
    assert votes.item_ids.tolist() == ["5", "7", "9"]
    assert votes.counts.sum() == 80
    as_items = read_votes(pl.DataFrame({"item": column, "label": ["x"] * 80}))
    assert as_items.item_ids.tolist() == [str(value) for value in (low, 27, 100, low + 1)]


def test_minus_one_is_a_gap_unless_it_may_be_a_class() -> None:
    wide = np.array([[-1, 0, 1], [-1, -1, 0], [2, 0, -1]])
    assert read_votes(wide, form="wide").classes == ("0", "1", "2")
    assert read_votes(wide, form="wide", classes=["-1", "0", "1", "2"]).counts.sum() == 9
    signs = np.where(wide == 2, 1, wide)
    with pytest.raises(InputError, match="-1 must be a class or mean that nobody was asked, but it stands beside 1"):
        read_votes(signs, form="wide")
    assert read_votes(signs, form="wide", gap="-1").classes == ("0", "1")
    assert read_votes(signs, form="wide", classes=["-1", "0", "1"]).counts.sum() == 9
    blank = pd.DataFrame({"item": ["x", "y"], "rater_1": [-1, 0], "rater_2": [None, 2], "rater_3": [1, 2]})
    with pytest.raises(InputError, match="it stands beside blank cells"):
        read_votes(blank)
    scale = np.array([[-4, -1], [3, -1]])
    assert read_votes(scale, form="wide").classes == ("-4", "-1", "3")


def test_how_a_table_was_read_is_reported() -> None:
    assert read_votes(LONG).provenance == "long table, items in 'task', annotators in 'worker', labels in 'label'"
    assert read_votes(np.eye(2)).provenance == "array of counts, row numbers, 2 class columns"
    counts = pd.DataFrame({"image": ["a"], "cat": [1], "dog": [2]})
    assert read_votes(counts).provenance == "table of counts, items in 'image', 2 class columns"


def test_an_exported_index_is_not_a_class(tmp_path: Path) -> None:
    counts = pd.DataFrame({"item_id": ["a", "b"], "cat": [1, 2], "dog": [2, 0]})
    counts.to_csv(tmp_path / "counts.csv")
    assert read_votes(tmp_path / "counts.csv").classes == ("cat", "dog")


def test_an_index_is_never_the_item_of_single_votes(tmp_path: Path) -> None:
    for header in (",thing,worker,label", "id,thing,worker,label"):
        (tmp_path / "votes.csv").write_text(f"{header}\n0,s1,w1,x\n1,s1,w2,y\n2,s2,w1,x\n", encoding="utf-8")
        with pytest.raises(InputError, match="item"):
            read_votes(tmp_path / "votes.csv")
        assert read_votes(tmp_path / "votes.csv", item="thing").item_ids.tolist() == ["s1", "s2"]
    (tmp_path / "votes.csv").write_text(",tweet_id,worker,label\n0,s1,w1,x\n1,s1,w2,y\n2,s2,w1,x\n", encoding="utf-8")
    assert read_votes(tmp_path / "votes.csv").item_ids.tolist() == ["s1", "s2"]
    assert as_dict(read_votes(LONG.iloc[[5, 0, 1, 2, 3, 4]])) == {
        "a": EXPECTED["a"],
        "b": EXPECTED["b"],
        "c": EXPECTED["c"],
    }


def test_filtered_frames_with_a_chosen_item() -> None:
    counts = pd.DataFrame({"tweet": ["p", "q", "r", "s"], "cat": [1, 2, 3, 4], "dog": [1, 1, 1, 1]}).iloc[[0, 3, 1]]
    assert as_dict(read_votes(counts, item="tweet")) == {
        "p": {"cat": 1, "dog": 1},
        "s": {"cat": 4, "dog": 1},
        "q": {"cat": 2, "dog": 1},
    }
    wide = pd.DataFrame({"tweet": ["p", "q", "r"], "ann": ["x", "y", "x"], "bob": ["x", "x", "y"]}).iloc[[2, 0]]
    votes = read_votes(wide, item="tweet", form="wide")
    assert votes.ballots is not None
    assert votes.ballots.annotator_ids.tolist() == ["ann", "bob"]
    named = pd.DataFrame({"cat": [1, 2], "dog": [0, 1]}, index=pd.Index([11, 12], name="dossier"))
    assert as_dict(read_votes(named)) == {"11": {"cat": 1, "dog": 0}, "12": {"cat": 2, "dog": 1}}


def test_wide_tables_with_an_item_column_of_unknown_name() -> None:
    raters = pd.DataFrame(
        {"thing": ["t1", "t2", "t3"], "rater_1": [0, 1, 0], "rater_2": [1, 1, 0], "rater_3": [1, 0, 1]}
    )
    votes = read_votes(raters)
    assert as_dict(votes)["t1"] == {"0": 1, "1": 2}
    people = pd.DataFrame({"thing": ["t1", "t2"], "ann": ["p", "q"], "bob": ["q", "q"]})
    assert as_dict(read_votes(people, form="wide")) == {"t1": {"p": 1, "q": 1}, "t2": {"p": 0, "q": 2}}


def test_annotators_who_disagree_are_not_items() -> None:
    for frame in (
        np.array([[0, 1, 1], [2, 1, 1]]),
        pd.DataFrame({"rater_1": ["p", "q"], "rater_2": ["x", "x"], "rater_3": ["x", "x"]}),
    ):
        votes = read_votes(frame, form="wide")
        assert votes.ballots is not None
        assert len(votes.ballots.annotator_ids) == 3
        assert votes.counts.sum() == 6


def test_class_columns_named_with_a_letter_and_a_number() -> None:
    assert read_votes(pd.DataFrame({"item": ["x", "y"], "A1": [0.3, 0.5], "A2": [0.7, 0.5]})).classes == ("A1", "A2")


def test_boolean_columns_are_counts_of_one() -> None:
    assert as_dict(read_votes(pl.DataFrame({"item": ["x"], "cat": [True], "dog": [False]}))) == {
        "x": {"cat": 1, "dog": 0}
    }


def test_gaps_by_number_are_reported() -> None:
    wide = pd.DataFrame({"item": ["x", "y"], "rater_1": [-1, 0], "rater_2": [2, -1]})
    assert "-1 taken as 'not asked' in 2 cells" in read_votes(wide).provenance


def test_class_columns_are_trimmed_with_and_without_items(tmp_path: Path) -> None:
    for header, row in (("cat, dog", "3,4"), ("item,cat, dog", "x,3,4")):
        (tmp_path / "counts.csv").write_text(f"{header}\n{row}\n", encoding="utf-8")
        assert read_votes(tmp_path / "counts.csv").classes == ("cat", "dog")
    (tmp_path / "counts.csv").write_text("item,cat,dog,dog \nx,1,2,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="'dog' appears twice"):
        read_votes(tmp_path / "counts.csv")


def test_a_cell_that_is_not_a_number_is_named(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text("item,cat,dog\na,1,\nb,2,3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"votes must be numbers, but column 'dog' has 1 other cells \(rows 1\)"):
        read_votes(tmp_path / "counts.csv")


def test_a_stream_of_batches_is_read_once() -> None:
    assert as_dict(read_votes(pa.Table.from_pandas(LONG).to_reader())) == EXPECTED


def test_odd_pandas_frames() -> None:
    counts = pd.DataFrame({"cat": [1, 2, 3], "dog": [2, 0, 1]}, index=[5, 9, 7])
    assert read_votes(counts).item_ids.tolist() == ["5", "9", "7"]
    named = pd.DataFrame(
        {"label": ["x", "y"]}, index=pd.MultiIndex.from_tuples([("a", "p"), ("a", "q")], names=["item", "annotator"])
    )
    assert as_dict(read_votes(named)) == {"a": {"x": 1, "y": 1}}
    for bad in (
        pd.DataFrame([[1, 2]], columns=["item", "item"]),
        pd.DataFrame({"item": ["a", "b"], "label": ["x", 3]}),
        LONG["task"],
    ):
        with pytest.raises(InputError):
            read_votes(bad)


def test_labels_that_are_whole_numbers_are_sorted_by_value_and_written_plainly(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("item,label\na,10.0\na,9.0\nb,-1.0\n", encoding="utf-8")
    assert read_votes(path).classes == ("-1", "9", "10")


def test_byte_order_mark_quotes_and_line_breaks(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes('\ufeffitem,annotator,label\n"a, b",x,"two\nlines"\n"a, b",y,"say ""hi"""\n'.encode())
    assert as_dict(read_votes(path)) == {"a, b": {'say "hi"': 1, "two\nlines": 1}}


@pytest.mark.parametrize(
    ("item", "annotator", "label"),
    [
        ("item_id", "annotator_id", "vote"),
        ("uid", "user_id", "rating"),
        ("Task", "Worker ID", "Label"),
        ("instance_id", "rater_id", "answer"),
    ],
)
def test_known_column_names(item: str, annotator: str, label: str) -> None:
    votes = read_votes(LONG.rename(columns={"task": item, "worker": annotator, "label": label}))
    assert as_dict(votes) == EXPECTED
    assert votes.ballots is not None


def test_chosen_column_names() -> None:
    odd = LONG.rename(columns={"task": "thing", "worker": "who", "label": "verdict"})
    assert as_dict(read_votes(odd, item="thing", annotator="who", label="verdict")) == EXPECTED


def test_wide_text() -> None:
    frame = pd.DataFrame(
        {"item": ["a", "b"], "annotator_1": ["cat", "cat"], "annotator_2": ["dog", None], "annotator_3": ["cat", "dog"]}
    )
    votes = read_votes(frame)
    assert as_dict(votes) == {"a": {"cat": 2, "dog": 1}, "b": {"cat": 1, "dog": 1}}
    assert votes.ballots is not None
    assert votes.ballots.annotator_ids.tolist() == ["annotator_1", "annotator_2", "annotator_3"]


def test_wide_numbers_with_gaps(tmp_path: Path) -> None:
    path = tmp_path / "wide.npy"
    np.save(path, np.array([[0, 1, -1], [2, -1, 2]]))
    votes = read_votes(path, form="wide")
    assert as_dict(votes) == {"0": {"0": 1, "1": 1, "2": 0}, "1": {"0": 0, "1": 0, "2": 2}}
    by_name = pd.DataFrame([[0, 1, -1], [2, -1, 2]], columns=["rater1", "rater2", "rater3"])
    assert as_dict(read_votes(by_name)) == as_dict(votes)


def test_words_shared_between_columns_make_a_wide_table(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("item,anna,ben\n1,yes,no\n2,no,\n", encoding="utf-8")
    assert as_dict(read_votes(path)) == {"1": {"no": 1, "yes": 1}, "2": {"no": 1, "yes": 0}}


def test_counts_tables(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("image,dog,cat\nx.png,3,1\ny.png,0,4\n", encoding="utf-8")
    assert as_dict(read_votes(path)) == {"x.png": {"cat": 1, "dog": 3}, "y.png": {"cat": 4, "dog": 0}}
    assert read_votes(path, classes=["dog", "cat", "cow"]).classes == ("dog", "cat", "cow")
    indexed = pd.DataFrame({"dog": [3, 0], "cat": [1, 4]}, index=["x.png", "y.png"])
    assert as_dict(read_votes(indexed)) == as_dict(read_votes(path))


def test_counts_and_probabilities_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "counts.npy", np.array([[3, 1], [0, 4]]))
    np.save(tmp_path / "floats.npy", np.array([[3.0, 1.0], [0.0, 4.0]]))
    np.save(tmp_path / "probs.npy", np.array([[0.75, 0.25], [0.0, 1.0]]))
    counts, floats, probs = (read_votes(tmp_path / f"{name}.npy") for name in ("counts", "floats", "probs"))
    np.testing.assert_array_equal(counts.counts, floats.counts)
    assert probs.counts is None
    np.testing.assert_allclose(probs.probs, counts.probs)
    assert read_votes(tmp_path / "counts.npy", classes=["cat", "dog"]).classes == ("cat", "dog")


def test_probabilities_table() -> None:
    votes = read_votes(pd.DataFrame({"item": ["a"], "dog": [0.25], "cat": [0.75]}))
    assert votes.counts is None
    assert votes.classes == ("cat", "dog")
    np.testing.assert_allclose(votes.probs, [[0.75, 0.25]])


def test_duplicates() -> None:
    again = pd.concat([LONG, pd.DataFrame({"task": ["a"], "worker": ["x"], "label": ["bird"]})])
    assert as_dict(read_votes(again, duplicates="all"))["a"] == {"bird": 1, "cat": 1, "dog": 2}
    assert as_dict(read_votes(again, duplicates="last"))["a"] == {"bird": 1, "cat": 1, "dog": 1}
    with pytest.raises(InputError) as error:
        read_votes(again)
    assert str(error.value) == (
        "an annotator may vote on an item only once, but 1 rows vote again (rows 7; the first is 'x' on 'a'). Pass duplicates='last' "
        "(--duplicates last) to keep the last vote, or duplicates='all' to count each."
    )


def test_missing_labels_and_empty_items() -> None:
    gaps = pd.DataFrame(
        {"item": ["a", "b", "b", "c"], "annotator": ["x", "x", "y", "x"], "label": ["cat", None, "dog", "NA"]}
    )
    with pytest.raises(InputError) as error:
        read_votes(gaps)
    assert str(error.value) == (
        "every row of a long table needs a label, but 2 have none (rows 2, 4). Fill them in, or pass missing='drop' (--missing drop)."
    )
    with pytest.raises(InputError) as error:
        read_votes(gaps, missing="drop")
    assert str(error.value) == (
        "every item needs at least one vote, but 1 have none ('c'). Remove them, or pass empty='drop' (--empty drop)."
    )
    votes = read_votes(gaps, missing="drop", empty="drop")
    assert votes.notes == ("left out: 2 rows without a label", "left out: 1 item without a vote")
    assert as_dict(votes) == {"a": {"cat": 1, "dog": 0}, "b": {"cat": 0, "dog": 1}}
    assert votes.ballots is not None
    assert votes.ballots.item.tolist() == [0, 1]


def test_labels_outside_the_class_list() -> None:
    with pytest.raises(InputError) as error:
        read_votes(LONG, classes=["cat", "dog"])
    assert str(error.value) == (
        "labels must be in the class list cat, dog, but 1 are not (rows 5; they say 'bird'). Fix them or add the names to the list."
    )
    assert read_votes(LONG, classes=["dog", "cow", "cat", "bird"]).classes == ("dog", "cow", "cat", "bird")


FAULTS = {
    "negative counts": (np.array([[1, 2], [-1, 3]]), "counts must be whole numbers, none negative, but 1 items have others ('1'; first a negative -1)"),
    "fractional counts": (np.array([[1.5, 2], [1, 3]]), "counts must be whole numbers, none negative, but 1 items have others ('0'; first a fractional 1.5)"),
    "off the simplex": (np.array([[0.5, 0.5], [0.5, 0.48]]), "each row of probabilities must be non-negative and sum to 1, but 1 of 2 do not"),
    "empty item": (np.array([[1, 2], [0, 0]]), "every item needs at least one vote, but 1 have none ('1')"),
    "not a number": (np.array([[1, np.nan]]), "the array of votes must be finite, but 1 rows hold NaN or infinity (rows 0)"),
    "one dimension": (np.array([1, 2]), "the array of votes must have two dimensions, items x classes, both at least 1, but its shape is (2,)"),
    "no items": (np.zeros((0, 3)), "the array of votes must have two dimensions, items x classes, both at least 1, but its shape is (0, 3)"),
    "objects": (np.array([["a", "b"]]), "the array of votes must be a table of numbers (items x classes), but its entries are of type <U1"),
    "absurd": (np.array([[2.0**60, 1]]), "counts must sum to less than 2**53, but they sum to 1.15e+18"),
    "no frame": ({"item": [1]}, "a table must be a path, a pandas, polars or pyarrow frame, or a NumPy array, but got dict"),
    "no item column": (LONG.drop(columns="task"), "a long table needs an item and a label column, but no item column is known among 'worker', 'label'"),
    "no label column": (LONG.drop(columns="label"), "a long table needs an item and a label column, but no label column is known among 'task', 'worker'"),
    "two item columns": (LONG.assign(uid=1), "one column must be the item, but 'task', 'uid' could all be"),
    "missing item": (LONG.assign(task=["a", None, "b", "b", "c", "a"]), "every row of a long table needs an item, but 1 have none (rows 2)"),
    "missing annotator": (LONG.assign(worker=["x", None, "x", "y", "x", "z"]), "every row of a long table needs an annotator, but 1 have none (rows 2)"),
    "nested labels": (pl.DataFrame({"item": [1], "label": [[1, 2]]}), "the label column must hold text or numbers, but it holds List(Int64)"),
    "no rows": (LONG.head(0), "a table of votes needs at least one row, but it has none"),
    "no form": (pd.DataFrame({"text": ["hello", "bye"], "mood": ["good", "bad"]}), "the columns must show which form the table has, but 'text', 'mood' fit no form"),
    "repeated items": (pd.DataFrame({"item": ["a", "a"], "x": [1, 2], "y": [1, 1]}), "item ids in the table of votes must be different and not empty, but 1 appear more than once ('a')"),
    "ids under an unknown name": (pd.DataFrame({"my_key": range(101, 110), "cat": 1, "dog": 2}), "each column of a table of votes must be a class, but column 'my_key' has a different whole number in every row, like ids"),
    "semicolons": (pd.DataFrame({"item;annotator;label": ["a;b;c"]}), "the columns must show which form the table has"),
    "nul": (pd.DataFrame({"item": ["a\x00"], "label": ["x"]}), "item names must be text, but one is empty or holds a NUL character"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_named(fault: str) -> None:
    source, message = FAULTS[fault]
    with pytest.raises(InputError) as error:
        read_votes(source)
    assert str(error.value).startswith(message)
    assert all((error.value.wanted, error.value.got, error.value.remedy))


def test_a_pipe_is_not_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "votes.csv")
    with pytest.raises(InputError) as error:
        read_votes(tmp_path / "votes.csv")
    assert str(error.value) == (
        f"the table must be a regular file, but {str(tmp_path / 'votes.csv')!r} is a pipe or device. "
        "Save what it holds as a file."
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("votes.csv", b"", "votes.csv' is empty. Check how it was made."),
        ("votes.csv", b"item,label\n", "a table of votes needs at least one row"),
        ("votes.csv", b"item,label\n1,2,3\n", "votes.csv' must be readable, but reading it failed: "),
        (
            "votes.csv",
            b"item,label\n\xff\xfe,1\n",
            "votes.csv' must be readable, but reading it failed: invalid utf-8 sequence. Check that it is whole, UTF-8",
        ),
        ("votes.csv", b"item,a,a\n1,2,3\n", "column names must be different, but 'a' appears twice"),
        ("votes.parquet", b"PAR1 not really", "votes.parquet' must be readable, but reading it failed: "),
        ("votes.parquet", b"PAR1 not really", ". Check that it is whole."),
        ("votes.jsonl", b'{"item": 1,\n', ". Check that it is whole and UTF-8, with one JSON object per line."),
        ("votes.npy", b"\x93NUMPY", "must be a NumPy array of numbers"),
        ("votes.xls", b"", "a table must end in .csv, .tsv, .tab, .txt, .parquet, .jsonl, .xlsx, .npy"),
    ],
)
def test_broken_files(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError) as error:
        read_votes(tmp_path / name)
    assert message in str(error.value)


def test_a_pickled_array_is_refused_unread(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (pytest.fail, ("a pickle was executed",))

    np.save(tmp_path / "votes.npy", np.array([Bomb()], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="must be a NumPy array of numbers"):
        read_votes(tmp_path / "votes.npy")


def test_missing_files_and_folders(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^cannot find '.*'\.$"):
        read_votes(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_votes(tmp_path / "folder.csv")


def test_wrong_options_name_the_nearest() -> None:
    with pytest.raises(InputError) as error:
        read_votes(LONG, duplicates="lasr")
    assert str(error.value) == "duplicates must be one of error, last, all, but got 'lasr'. Did you mean 'last'?"
    with pytest.raises(InputError) as error:
        read_votes(LONG, item="tusk")
    assert str(error.value) == (
        "the item column 'tusk' must exist, but the columns are 'task', 'worker', 'label'. Did you mean 'task'?"
    )


# Blanks around names are trimmed and NULs refused, so they are not drawn here.
NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Z")), min_size=1, max_size=8)
ROWS = st.lists(
    st.tuples(NAMES, st.integers(0, 9), st.sampled_from(["cat", "dog", "cow"])),
    min_size=1,
    max_size=40,
    unique_by=lambda row: row[:2],
)


@given(ROWS)
def test_a_long_table_is_a_tally(rows: list[tuple[str, int, str]]) -> None:
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")
    tally: dict[str, dict[str, int]] = {}
    for item, _, label in rows:
        counts = tally.setdefault(item, dict.fromkeys(sorted({row[2] for row in rows}), 0))
        counts[label] += 1
    votes = read_votes(frame)
    assert as_dict(votes) == tally
    assert votes.item_ids.tolist() == list(tally)
    assert votes.ballots is not None
    rebuilt = np.zeros_like(votes.counts)
    np.add.at(rebuilt, (votes.ballots.item, votes.ballots.label), 1)
    np.testing.assert_array_equal(rebuilt, votes.counts)


@given(ROWS)
def test_all_forms_of_the_same_votes_agree(rows: list[tuple[str, int, str]]) -> None:
    long = read_votes(pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row"))
    table = as_dict(long)
    counts = pl.DataFrame([{"item": item, **row} for item, row in table.items()])
    assert as_dict(read_votes(counts, form="counts")) == table
    people = sorted({row[1] for row in rows})
    wide = pl.DataFrame(
        [
            {"item": item, **{f"annotator {p}": next((r[2] for r in rows if r[:2] == (item, p)), None) for p in people}}
            for item in table
        ],
        schema={"item": pl.String, **{f"annotator {p}": pl.String for p in people}},
    )
    assert as_dict(read_votes(wide, form="wide")) == table


def test_notes_say_what_was_left_out() -> None:
    again = LONG_AGAIN.assign(label=["x", "y", "x"])
    assert read_votes(again, duplicates="last").notes == (
        "1 votes were repeated by the same annotator; the last one counts",
    )
    assert read_votes(again, duplicates="all").notes == ()
    for form, table in (("counts", [[0, 0], [1, 2], [0, 0]]), ("probabilities", [[0, 0], [0.5, 0.5], [0, 0]])):
        left = read_votes(np.array(table), form=form, empty="drop")
        assert (left.item_ids.tolist(), left.notes) == (["1"], ("left out: 2 items without a vote",))
    gaps = np.array([[0, 2, -1], [-1, -1, -1]])
    assert read_votes(gaps, form="wide", empty="drop").notes == ("left out: 1 item without a vote",)
    assert read_votes(gaps[:1], form="wide").notes == ()


LONG_AGAIN = pd.DataFrame({"item": ["a", "a", "b"], "annotator": ["p", "p", "p"], "label": ["x", "y", "x"]})


def test_one_number_written_in_several_ways_is_noted() -> None:
    table = LONG_AGAIN.assign(annotator=["p", "q", "p"], label=["1", "1.0", "01"])
    votes = read_votes(table)
    assert votes.classes == ("01", "1", "1.0")
    assert votes.notes == ("'01', '1', '1.0' are the same number but count as different classes",)
    assert read_votes(table, classes=["01", "1", "1.0"]).notes == ()
    assert read_votes(table.assign(label=["1", "1.0", "2"])).notes == ()
