"""What a table may cost: files that would take all memory, all time, or the process with them are refused in words."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import struct
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from limits import HANGS, at_most
from votewise import InputError, Votes, overview, read_predictions, read_votes
from votewise._json import NestedError, nesting, parse_json
from votewise.votes import Reading

LONG = "item,annotator,label\n"
TURK = "HITId,AssignmentId,WorkerId,Answer.taskAnswers\n"
PLAIN = {"item": "item", "annotator": "annotator", "label": "label"}

# Little beside what these files took before: gibibytes, minutes, or the process.
LITTLE = {"megabytes": 400.0, "seconds": 4.0}


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(words: str, source: Any, **options: Any) -> None:
    with at_most(**LITTLE), pytest.raises(InputError, match=words or None):
        read_votes(source, **options)


@pytest.fixture(scope="module", autouse=True)
def started() -> None:
    """What the libraries take when they are first used does not count."""
    read_votes(pa.table({"item": ["a", "a"], "annotator": ["x", "y"], "label": ["1", "2"]}), **PLAIN)


# --- letters


@pytest.mark.parametrize("point", [0x110000, 0xFFFFFFFF, 0xD800])
def test_letters_that_do_not_exist(point: int, tmp_path: Path) -> None:
    text = np.array([[point, 97]] * 3, dtype=np.uint32).view("<U1")
    np.save(tmp_path / "a.npy", text)
    for source in (tmp_path / "a.npy", text):
        refused("letters that do not exist", source, form="wide")
    if point > sys.maxunicode:
        with pytest.raises(InputError, match=r"item ids must be text, but some letters do not exist"):
            Votes.from_counts([[1]] * 3, item_ids=text[:, 0])


@pytest.mark.parametrize(
    ("shape", "described", "words"),
    [
        ((1 << 33, 2), "<f8", "does not match its bytes"),
        ((100_000, 100_000), "<U0", "texts without letters"),
        ((3,), "|O", "could run code"),
    ],
)
def test_arrays_that_claim_what_they_have_not(
    shape: tuple[int, ...], described: str, words: str, tmp_path: Path
) -> None:
    header = f"{{'descr': '{described}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    npy = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(1000)
    refused(words, written(tmp_path / "a.npy", npy), form="wide")


# --- nesting


@pytest.mark.parametrize("depth", [17, 30, 200, 900, 2500, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_nested_lines(opening: str, closing: str, depth: int, tmp_path: Path) -> None:
    line = f'{{"item": "a", "label": {opening * depth}1{closing * depth}}}\n'
    refused(r"nested 16 deep|nested to a reasonable depth", written(tmp_path / "a.jsonl", line * 3))
    broken = f'{{"item": "a", "label": {opening * depth}\n'
    refused("", written(tmp_path / "a.jsonl", "]]]]]}}}}}\n" + broken * 3))


@pytest.mark.parametrize("line", ['{{"k{}": 1, "item": 2}}', '{{"item": 1, "label": {{"k{}": 1}}}}', '{{":k{}" :1}}'])
def test_lines_with_different_keys(line: str, tmp_path: Path) -> None:
    content = "\n".join(line.format(number) for number in range(100_000))
    refused("must have the same keys|columns", written(tmp_path / "a.jsonl", content))


def test_lines_that_are_nested_a_little_are_read(tmp_path: Path) -> None:
    said = {"item": "a", "labels": ["x", "y"], "more": {"tool": [{"version": [1, {"of": "[[[{{{"}]}]}}
    lines = [json.dumps({**said, "item": str(number)}) for number in range(8)]
    votes = read_votes(written(tmp_path / "a.jsonl", "\n".join(lines)), form="lists", item="item", label="labels")
    assert votes.counts is not None
    assert votes.counts.tolist() == [[1, 1]] * 8


def test_exports_whose_records_have_keys_of_their_own(tmp_path: Path) -> None:
    """As a table each record has a place for each key: 300 kB took a gibibyte, and 3 MB a hundred."""
    rows = [{"id": row, "annotator": 1, "annotation_id": row, "lead_time": 1, f"k{row}": "a"} for row in range(8000)]
    refused("must have the same keys", written(tmp_path / "a.json", json.dumps(rows)))
    lines = "\n".join(map(json.dumps, rows))
    refused("must have the same keys", written(tmp_path / "a.jsonl", lines), format="label-studio-min")
    cells = "".join(f'h{row // 3},a{row},w{row % 7},"[{{""k{row}"": ""x""}}]"\n' for row in range(8000))
    refused("must have the same keys", written(tmp_path / "a.csv", f"{TURK}{cells}"))


def test_exports_whose_names_repeat_a_long_one(tmp_path: Path) -> None:
    """Each answer's name began with those of all around it: 700 kB took all memory, and the engine panicked."""
    deep: Any = {f"k{number}": "a" for number in range(4000)}
    for _ in range(20):
        deep = {"x" * 10_000: deep}
    answers = json.dumps([deep]).replace('"', '""')
    rows = "".join(f'h,a{row},w{row},"{answers}"\n' for row in range(3))
    refused("fields within fields", written(tmp_path / "a.csv", TURK + rows))
    line = json.dumps({"item": 1, "x" * 300_000: {f"k{number}": -1.5 for number in range(20_000)}})
    refused("fields within fields", written(tmp_path / "a.jsonl", f"{line}\n{line}\n"))


def test_exports_whose_records_have_questions_of_their_own(tmp_path: Path) -> None:
    """Questions, labels and items of their own for each record, and a metadata.json that claims 65,535 classes."""
    tasks = [
        {
            "id": task,
            "data": {f"d{task}": 1},
            "annotations": [
                {"id": task, "completed_by": 1, "result": [{"from_name": f"q{task}", "value": {"choices": ["a"]}}]}
            ],
        }
        for task in range(20_000)
    ]
    refused("one question must be the one", written(tmp_path / "a.json", json.dumps(tasks)))
    written(tmp_path / "metadata.json", json.dumps({"n_classes": 65_535}))
    answers = json.dumps({f"i{item}": {"a": 1, "b": 2} for item in range(8000)})
    refused("many items share", written(tmp_path / "answers.json", answers))
    records = [
        {"id": row, "votes": [{"worker": "a", f"k{row}": "x"}, {"worker": "b", f"l{row}": "x"}]} for row in range(9000)
    ]
    refused("one question must be the one", written(tmp_path / "a.json", json.dumps(records)))


@pytest.mark.parametrize("text", ["[" * 65 + "]" * 65, '{"a":' * 100_000, '["]",' * 900 + "1" + "]" * 900])
def test_json_is_refused_before_it_is_parsed(text: str) -> None:
    with at_most(megabytes=50, seconds=1), pytest.raises(NestedError):
        parse_json(text)


def test_depth_of_json() -> None:
    assert [nesting(one) for one in (b"1", b"[]", b'{"[[[": [1, "]]", "\\"[["]}', b"[[]][[[]]]")] == [0, 1, 2, 3]
    assert [nesting(b"]]\n[[]]\n[", lines=lines) for lines in (True, False)] == [2, 0]
    assert parse_json('{"a": "' + "[" * 1000 + '"}') == {"a": "[" * 1000}


def test_nested_cells_and_exports(tmp_path: Path) -> None:
    deep = "[" * 3000 + "]" * 3000
    cells = written(tmp_path / "a.csv", "item,labels\n" + f'i,"{deep}"\n' * 30)
    refused("", cells, form="lists", item="item", label="labels")
    refused("nested to a reasonable depth", written(tmp_path / "a.json", f'[{{"annotations": {deep}}}]'))
    zooniverse = "classification_id,user_name,subject_ids,annotations,workflow_id,gold_standard\n"
    refused("nested too deeply", written(tmp_path / "z.csv", zooniverse + f'1,u,2,"{deep}",3,\n'), format="zooniverse")


@pytest.mark.parametrize("name", ["a.toml", "a.json"])
def test_plans_that_are_nested_or_huge(name: str, tmp_path: Path) -> None:
    deep = "[" * 3000 + "]" * 3000
    contents = [f"item = {deep}", "a" + ".a" * 30_000 + " = 1", "x = '" + "y" * 5_000_000 + "'", "x = [[1]]"]
    if name == "a.json":
        contents = [f'{{"item": {deep}}}', '{"item": [["a"]]}', '{"label": {"a": 1}}']
    for content in contents:
        with at_most(**LITTLE), pytest.raises(InputError, match="must be TOML or JSON"):
            Reading.load(written(tmp_path / name, content))


# --- cells that count


@pytest.mark.parametrize("times", [9_999, 10**10])
def test_cells_that_count_votes(times: int, tmp_path: Path) -> None:
    table = "item,labels\n" + "".join(f"i{row},\"Counter({{'a': {times}, 'b': 2}})\"\n" for row in range(2000))
    path = written(tmp_path / "a.csv", table)
    refused("a cell may count 10,000 votes|count more than 4,194,304", path, form="lists", item="item", label="labels")


def test_numbers_as_large_as_floats_go(tmp_path: Path) -> None:
    """Four times such a number is none."""
    rows = "".join(f'{{"id": "i{n}", "a": "{"1e308" if n == 3 else n % 4 + 1}", "b": "{n % 3}"}}\n' for n in range(8))
    with pytest.raises(InputError, match=r"counts must sum to less than 2\*\*53, but they sum to 1e\+308"):
        read_votes(written(tmp_path / "a.jsonl", rows))


def test_counts_beyond_whole_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "item,label,count\na,x,1e300\na,y,2\nb,x,1\n")
    refused("counts must sum to less than", path, item="item", label="label", count="count")


# --- kinds of columns


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.to_timedelta([1, 2, 1, 1], "D"), ("P1D", "P2D")),
        (pd.period_range("2020-01", periods=2, freq="M").repeat(2), ("2020-01", "2020-02")),
        (pd.interval_range(0, 2).repeat(2), ("(0, 1]", "(1, 2]")),
        (pd.cut([1, 2, 1, 1], [0, 1.5, 3]), ("(0.0, 1.5]", "(1.5, 3.0]")),
    ],
)
def test_durations_periods_and_intervals_of_pandas(labels: Any, classes: tuple[str, ...]) -> None:
    frame = pd.DataFrame({"item": ["a", "a", "b", "b"], "annotator": list("xyxy"), "label": labels})
    assert read_votes(frame, **PLAIN).classes == classes
    beside = frame.rename(columns={"label": "taken"}).assign(label=["p", "q", "p", "p"])
    assert read_votes(beside).classes == ("p", "q")


def test_durations_of_polars_and_parquet(tmp_path: Path) -> None:
    days = [dt.timedelta(1), dt.timedelta(2), dt.timedelta(1), None]
    frame = pl.DataFrame({"item": ["a", "a", "b", "b"], "annotator": list("xyxy"), "label": days})
    parquet.write_table(frame.to_arrow(), tmp_path / "a.parquet")
    for source in (frame, tmp_path / "a.parquet"):
        assert read_votes(source, **PLAIN, missing="drop").classes == ("P1D", "P2D")


def test_kinds_that_only_other_libraries_know_are_refused(tmp_path: Path) -> None:
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16, b"b" * 16] * 2, pa.binary(16)))
    table = pa.table({"item": ["a", "a", "b", "b"], "annotator": list("xyxy"), "label": list("pqpp"), "more": uuids})
    parquet.write_table(table, tmp_path / "a.parquet")
    for source in (table, tmp_path / "a.parquet"):
        assert read_votes(source).classes == ("p", "q")
        refused("the label column must hold text or numbers", source, item="item", label="more")


class Scribbles(pa.ExtensionType):
    """A kind of text that some other library has added."""

    def __init__(self) -> None:
        super().__init__(pa.string(), "another.scribbles")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""


def test_texts_whose_kind_nobody_here_knows_are_refused() -> None:
    more = pa.ExtensionArray.from_storage(Scribbles(), pa.array(list("pqpp")))
    table = pa.table({"item": ["a", "a", "b", "b"], "annotator": list("xyxy"), "label": list("pqpp"), "more": more})
    assert read_votes(table).classes == ("p", "q")
    refused("the label column must hold text or numbers", table, item="item", label="more")


# --- many classes and columns


def counts_of(classes: int) -> str:
    return "item," + ",".join(f"c{k}" for k in range(classes)) + "\n" + f"a,{','.join(['3'] * classes)}\n"


def seconds_of(work: Callable[[], object]) -> float:
    import time

    began = time.process_time()
    work()
    return time.process_time() - began


def test_time_grows_with_the_number_of_classes_and_not_its_square(tmp_path: Path) -> None:
    """Eight times the classes took 64 times as long: 20,000 half a minute, a repeated name among 100,000 minutes."""
    names = [f"c{k}" for k in range(100_000)]
    with at_most(megabytes=400, seconds=8):
        with pytest.raises(InputError, match=r"class names must be different.*'c7' appears twice"):
            Votes.from_counts(np.ones((1, 100_001)), classes=[*names, "c7"])
        votes = Votes.from_counts(np.ones((3, 100_000), dtype=np.int64), classes=names)
        assert votes.with_classes(names[::-1]).classes[0] == names[-1]
        with pytest.raises(InputError, match="it lacks 'c0'"):
            votes.with_classes(names[1:])
        assert overview(votes).krippendorff_alpha == pytest.approx(0, abs=0.01)
    repeated = "item," + ",".join(["a"] * 100_000) + "\nx" + ",1" * 100_000
    refused("column names must be different", written(tmp_path / "a.csv", repeated), form="counts")

    def read(classes: int) -> float:
        path = written(tmp_path / f"{classes}.csv", counts_of(classes))
        return min(seconds_of(lambda: read_votes(path, form="counts")) for _ in range(2))

    read(100)
    assert read(8_000) < 16 * read(1_000)


def test_predictions_of_many_classes(tmp_path: Path) -> None:
    votes = read_votes(written(tmp_path / "a.csv", counts_of(2_000)), form="counts")
    shares = "item," + ",".join(f"c{k}" for k in range(2_000)) + "\na" + ",0.0005" * 2_000
    with at_most(megabytes=400, seconds=4):
        assert read_predictions(written(tmp_path / "p.csv", shares), votes)[1].shape == (1, 2_000)


@pytest.mark.parametrize("name", ["_" * 1_000_000, "[" * 1_000_000, " ." * 500_000, "Answer." + ":" * 1_000_000])
def test_names_of_columns_as_long_as_books(name: str, tmp_path: Path) -> None:
    rows = "".join(f"i{row % 100},a{row},{'xy'[row % 2]}\n" for row in range(400))
    with at_most(megabytes=400, seconds=20):
        assert read_votes(written(tmp_path / "a.csv", f"item,{name},label\n{rows}"), label="label").n_items == 100


def test_more_columns_than_can_be_looked_at(tmp_path: Path) -> None:
    refused("131,072 columns, but it has 300,000", written(tmp_path / "a.csv", "," * 299_999 + "\n" + "1," * 9))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_rows_that_lack_most_cells(name: str, tmp_path: Path) -> None:
    """Each blank line of a wide table has a place for each cell: 2 MB took gibibytes."""
    content = f"item,{','.join(f'c{k}' for k in range(1000))}\n{'a,1' + ',0' * 999}\n".encode() + b"\n" * 1_500_000
    refused("32 cells for each byte", written(tmp_path / name, gzip.compress(content) if ".gz" in name else content))


def test_lines_that_are_full_of_quotes(tmp_path: Path) -> None:
    """Where the look at the first keys ends within a text, each of its quotes could begin another one."""
    lines = [{"item": "a", "label": "x", "text": '"' * 300_000}] * 4
    content = "\n".join(json.dumps(line) for line in lines)
    with at_most(**LITTLE):
        votes = read_votes(written(tmp_path / "a.jsonl", content), item="item", label="label")
    assert votes.counts is not None
    assert votes.counts.tolist() == [[4]]


# --- long names


def test_one_annotator_with_a_name_as_long_as_a_book(tmp_path: Path) -> None:
    rows = "".join(f"i{row % 60},a{row},{'xy'[row % 2]}\n" for row in range(1700))
    long = "b" * 1_000_000
    refused("annotator ids must be short", written(tmp_path / "a.csv", f"{LONG}{rows}i0,{long},x\n"))
    rows = "".join(f"i{row},a,x\n" for row in range(200))
    refused("item ids must be short", written(tmp_path / "a.csv", f"{LONG}{rows}{long},a,x\n"), **PLAIN)


def test_wide_tables_of_long_names_and_texts(tmp_path: Path) -> None:
    rows = "".join(f"i{row},x,y\n" for row in range(3000))
    header = "item,annotator_1,annotator_" + "9" * 1_000_000
    with at_most(**LITTLE):
        assert read_votes(written(tmp_path / "a.csv", f"{header}\n{rows}"), form="wide").n_items == 3000
    texts = "".join(f"i{row},{'x' * 300}{row},{'y' * 300}{row},{'z' * 300}{row}\n" for row in range(6000))
    path = written(tmp_path / "a.csv", f"item,annotator_1,annotator_2,annotator_3\n{texts}")
    refused("labels must name classes that many items share", path, form="wide")


def test_labels_of_their_own_for_each_item(tmp_path: Path) -> None:
    rows = "".join(f"i{row},l{row};m{row}\n" for row in range(30_000))
    path = written(tmp_path / "a.csv", f"item,labels\n{rows}")
    refused("many items share", path, form="lists", item="item", label="labels", split=";")


# --- arguments


def test_arguments_that_ask_for_enormous_memory_or_time(tmp_path: Path) -> None:
    votes = Votes.from_counts([[1, 2]] * 50)
    for k in (10**7, 2**16 + 1, 10**30):
        with at_most(**LITTLE), pytest.raises(InputError, match=r"at most 65,536 per item"):
            votes.subsample(k, seed=0)
    table = LONG + "".join(f"i{row % 6},a{row},{row / 7}\n" for row in range(60))
    for bins in (10**9, 0, -3):
        refused("1 to 10,000 bins", written(tmp_path / "a.csv", table), bins=bins)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.npy", "a.parquet"])
def test_paths_that_are_none(name: str) -> None:
    for path in (f"/tmp/{'a' * 5000}{name}", f"/tmp/a\0{name}", "/".join(["a" * 200] * 40) + name):
        refused("a path must be one that the system can look up|cannot find", path)
        with pytest.raises(InputError, match=r"a path must be|cannot find"):
            Reading.load(path)


# --- packed files


def test_packed_files_that_unpack_to_gibibytes(tmp_path: Path) -> None:
    for name, content in (
        ("a.csv.gz", LONG.encode() + b"a,b,c\n" * 20_000_000),
        ("b.csv.gz", LONG.encode() + b"\n" * 100_000_000),
        ("a.jsonl.gz", b'{"item": "a", "label": "b"}\n' * 4_000_000),
    ):
        refused("may unpack to 50 times its size", written(tmp_path / name, gzip.compress(content, 1)))


def repeated(times: int, text: str = "a") -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, dtype=np.int8)), [text])


def lists(times: int) -> pa.Table:
    cells = pa.ListArray.from_arrays(pa.array([0, times // 2, times]), repeated(times))
    return pa.table({"item": ["a", "b"], "labels": cells.cast(pa.list_(pa.string()))})


BOMBS: dict[str, tuple[Callable[[], pa.Table], dict[str, Any], str]] = {
    "rows": (lambda: pa.table({"item": repeated(20_000_000), "label": repeated(20_000_000)}), {}, "32 cells"),
    "nulls": (
        lambda: pa.table({"item": pa.nulls(20_000_000, pa.string()), "label": repeated(20_000_000)}),
        {},
        "32 cells",
    ),
    "zeros": (
        lambda: pa.table({"a": np.zeros(20_000_000), "b": np.zeros(20_000_000)}),
        {"use_dictionary": False, "compression": "zstd"},
        "32 cells",
    ),
    "cells": (lambda: lists(20_000_000), {}, "32 cells"),
    "texts": (
        lambda: pa.table({"item": repeated(300_000, "a" * 900_000), "label": repeated(300_000)}),
        {},
        "100 times the size",
    ),
    "differences": (
        lambda: pa.table({"item": pa.array(["a" * 90_000 + str(n) for n in range(3000)]), "label": repeated(3000)}),
        {"use_dictionary": False, "column_encoding": {"item": "DELTA_BYTE_ARRAY", "label": "PLAIN"}},
        "100 times the size",
    ),
    "pages": (
        lambda: pa.table({"item": pa.array(["a" * 50_000_000, "b" * 50_000_000]), "label": ["x", "y"]}),
        {"use_dictionary": False, "compression": "zstd"},
        "100 times the size",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_parquet_files_that_unpack_to_gibibytes(name: str, tmp_path: Path) -> None:
    make, ways, words = BOMBS[name]
    table = make()
    if name == "differences":
        table = table.cast(pa.schema([("item", pa.string()), ("label", pa.string())]))
    parquet.write_table(table, tmp_path / "a.parquet", **ways)
    assert (tmp_path / "a.parquet").stat().st_size < 1_000_000
    del table
    for options in ({}, {"item": "item", "label": "label"}, {"form": "counts"}):
        refused(words, tmp_path / "a.parquet", **options)


def test_texts_that_repeat_within_reason_are_read(tmp_path: Path) -> None:
    """Each document stands beside its votes: a dictionary of 1 MB, and texts of 60."""
    texts = [f"{number} " + "word " * 400 for number in range(500)]
    table = {"item": [], "annotator": [], "label": [], "text": []}  # type: dict[str, list[str]]
    for number, text in enumerate(texts):
        for annotator in range(60):
            row = (f"i{number}", f"a{annotator}", "xy"[(number * annotator) % 2], text)
            for name, cell in zip(table, row, strict=True):
                table[name].append(cell)
    parquet.write_table(pa.table(table), tmp_path / "a.parquet", dictionary_pagesize_limit=2**24)
    assert read_votes(tmp_path / "a.parquet").n_items == 500


# --- under a limit of memory, where the table engine ends the process

CHILD = """
import resource, sys
from pathlib import Path
from votewise import VotewiseError, read_votes
{before}
pages = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + ({megabytes} << 20),) * 2)
try:
    print("read", read_votes(sys.argv[1], item="item", annotator="annotator", label="label", duplicates="all").n_items)
except VotewiseError as error:
    print("refused", error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are limited and counted as Linux does")
@pytest.mark.parametrize("kind", [".csv", ".parquet", ".jsonl"])
def test_under_a_limit_of_memory_a_table_is_read_or_refused(kind: str, tmp_path: Path) -> None:
    rows = 2_000_000
    frame = pl.DataFrame(
        {"item": np.arange(rows) // 2, "annotator": np.arange(rows) % 500, "label": np.arange(rows) % 7}
    )
    frame = frame.cast(pl.String)
    path, small = tmp_path / f"a{kind}", tmp_path / f"small{kind}"
    for table, place in ((frame, path), (frame.head(2000), small)):
        getattr(table, {".csv": "write_csv", ".parquet": "write_parquet", ".jsonl": "write_ndjson"}[kind])(place)
    warm = f"read_votes({str(small)!r}, item='item', annotator='annotator', label='label', duplicates='all')"
    answers = []
    for before, megabytes in (("", 30), ("", 400), ("", 1000), ("", 8000), (warm, 60), (warm, 250), (warm, 3000)):
        child = CHILD.format(before=before, megabytes=megabytes)
        done = subprocess.run(
            [sys.executable, "-c", child, str(path)], capture_output=True, text=True, timeout=HANGS, check=False
        )
        assert done.returncode == 0, (megabytes, done.stderr[-500:])
        assert done.stdout.startswith(("read 1000000", "refused a table must fit into memory")), done.stdout
        answers.append(done.stdout.split()[0])
    assert answers == ["refused", "refused", "refused", "read", "refused", "refused", "read"]


def test_frames_of_categories_that_need_more_memory_than_there_is() -> None:
    """A byte stands for each cell of a frame in memory, which the table engine would make a text of."""
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int8)), ["a"])
    few = pa.table({f"annotator_{number}": column for number in range(2)})
    source = textwrap.dedent("""
        import resource, sys
        import numpy as np, pyarrow as pa
        import votewise
        column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int8)), ["a"])
        table = pa.table({f"annotator_{number}": column for number in range(2000)})
        votewise.read_votes(pa.table({"item": ["a", "a"], "label": ["x", "y"]}), item="item", label="label")
        resource.setrlimit(resource.RLIMIT_AS, (2**32, 2**32))
        for make in (lambda: table, lambda: table.to_pandas()):
            try:
                votewise.read_votes(make(), form="wide")
            except votewise.InputError as error:
                assert "a table must fit into memory" in str(error), error
            else:
                sys.exit("read")
    """)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert read_votes(few, form="wide").n_items == 100_000
