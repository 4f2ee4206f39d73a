"""The plan for reading a table: shown, stored, passed, and put as a question where it is not certain."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from votewise import InputError, Votes, read_votes
from votewise.cli.main import main
from votewise.votes import Reading, UnclearError, long_table

from .outcomes import alike, as_truth
from .shapes import SHAPES, described, long_rows, slot_rows, table, tally, votes

MADE = votes(1)
PAIRS = next(shape for shape in SHAPES if shape.name == "long, the item is a pair")


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_the_plan_is_shown() -> None:
    rows = described(long_rows(MADE), "item_id")
    read = read_votes(pl.DataFrame(rows))
    assert read.reading == Reading(form="long", item=("item_id",), annotator="worker_id", label="label")
    assert read.reading.sentence == "one row per vote · item = item_id · annotator = worker_id · label = label"
    assert repr(read) == "<Votes: 120 votes by 9 annotators on 30 items, 3 classes: bird, cat, dog>"


def test_a_plan_is_stored_and_passed(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.csv", PAIRS.content)
    plan = Reading(item=("story", "sentence"), annotator="annotator", label="label")
    for name in ("plan.toml", "plan.json"):
        plan.save(tmp_path / name)
        assert Reading.load(tmp_path / name) == plan
    read = read_votes(path, reading=plan)
    assert alike(as_truth(read), PAIRS.truth or {})
    assert read.item_ids[0] == "s0 | 0"
    assert read.reading is not None
    assert read_votes(path, reading=read.reading).reading == read.reading
    assert read_votes(path, reading=plan, item="story", duplicates="all").n_items == 8, "options go before the plan"


def test_unknown_fields_of_a_plan_are_refused(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('itme = ["a"]\n', encoding="utf-8")
    with pytest.raises(
        InputError, match=r"a reading has the fields form, format, .*, but got 'itme'\. Leave those out"
    ):
        Reading.load(tmp_path / "plan.toml")
    (tmp_path / "plan.toml").write_text("item = [", encoding="utf-8")
    with pytest.raises(InputError, match="must be TOML or JSON, but reading it failed"):
        Reading.load(tmp_path / "plan.toml")


def test_a_question_lists_all_columns_and_ends_in_a_command(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.csv", PAIRS.content)
    with pytest.raises(UnclearError) as error:
        read_votes(path)
    assert str(error.value) == (
        "an annotator may vote on an item only once, but in story some have several rows; with 'sentence' none has. "
        "The columns are:\n"
        "  story      8 values: s0, s1\n"
        "  sentence   5 values: 0, 1\n"
        "  annotator  6 values: a1, a4\n"
        "  label      3 values: yes, no\n"
        f"If this is what is meant, type: votewise inspect {path} --item story,sentence --annotator annotator --label label\n"
        "(in Python: read_votes(..., item=['story', 'sentence'], annotator='annotator', label='label'))."
    )


def test_frames_are_asked_about_in_python() -> None:
    frame = pd.DataFrame(long_rows(MADE, item="a", annotator="b", label="c"))
    with pytest.raises(UnclearError) as error:
        read_votes(frame)
    assert str(error.value).endswith(
        "If this is what is meant, call: read_votes(..., item='a', annotator='b', label='c')."
    )


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_convert_writes_what_every_command_reads(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "raw.csv", table(slot_rows(MADE, "Score", "TurkId")))
    out = tmp_path / f"votes{suffix}"
    assert main(["convert", str(path), "-o", str(out)]) == 0
    assert "120 votes, 30 items, 3 classes; the plan is in" in capsys.readouterr().out
    assert as_truth(read_votes(out)) == tally(MADE)
    plan = Reading.load(tmp_path / "votes.reading.toml")
    assert plan.raters == ("Score1", "Score2", "Score3", "Score4")
    assert as_truth(read_votes(path, reading=plan)) == tally(MADE)


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "raw.csv", table(long_rows(MADE)))
    assert main(["convert", str(path), "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("one row per vote · item = item_id · annotator = worker_id · label = label\n")
    assert "img_101" in shown
    assert main(["convert", str(path), "--dry-run", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["reading"] == {"form": "long", "item": ["item_id"], "annotator": "worker_id", "label": "label"}
    assert found["first"][0] == {"item": "img_101", "annotator": MADE[0].annotator, "label": MADE[0].label}
    assert sorted(one.name for one in tmp_path.iterdir()) == ["raw.csv"]


def test_convert_needs_a_table_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "raw.csv", table(long_rows(MADE)))
    assert main(["convert", str(path)]) == 2
    assert "convert needs a table to write, but got none" in capsys.readouterr().err
    assert main(["convert", str(path), "-o", str(tmp_path / "votes.xml")]) == 2
    assert "the table must end in .parquet, .csv, .jsonl" in capsys.readouterr().err


def test_counts_and_shares_are_converted() -> None:
    counts = Votes.from_counts([[2, 1], [0, 3]], item_ids=["x", "y"], classes=["no", "yes"])
    assert long_table(counts).rows() == [("x", "no", 2), ("x", "yes", 1), ("y", "yes", 3)]
    assert as_truth(read_votes(long_table(counts))) == as_truth(counts)
    shares = Votes.from_probabilities([[0.25, 0.75], [0.5, 0.5]], item_ids=["x", "y"], classes=["no", "yes"])
    assert as_truth(read_votes(long_table(shares))) == as_truth(shares)


def test_standard_input_is_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "votewise", "inspect", "-", "--json"],
        input=table(long_rows(MADE), "\t"), capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["items"] == 30


def test_counts_and_weights_of_a_long_table() -> None:
    counted = pd.DataFrame({"item": ["a", "a", "b"], "label": ["x", "y", "x"], "n": [3, 1, 2]})
    assert as_truth(read_votes(counted)) == {"a": {"x": 3, "y": 1}, "b": {"x": 2}}
    weighted = counted.rename(columns={"n": "weight"}).assign(weight=[0.5, 1.5, 1.0])
    with pytest.raises(UnclearError, match="a weight must be used or ignored, but 'weight' may say what a row counts"):
        read_votes(weighted)
    assert as_truth(read_votes(weighted, weight="weight")) == {"a": {"x": 0.25, "y": 0.75}, "b": {"x": 1}}
    assert read_votes(weighted, ignore="weight").counts.sum() == 3
    with pytest.raises(InputError, match=r"counts must be whole numbers, none negative, but 2 in 'weight' are not"):
        read_votes(weighted, count="weight")


def test_continuous_ratings_are_binned_or_refused() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"item": np.repeat(np.arange(20), 5), "annotator": np.tile(np.arange(5), 20), "rating": rng.random(100).round(2)})  # fmt: skip
    with pytest.raises(UnclearError, match="a continuous scale"):
        read_votes(frame)
    assert read_votes(frame, bins=4).n_classes == 4
    thirds = read_votes(frame, bins=[0, 1 / 3, 2 / 3, 1])
    assert thirds.classes == ("0 to 0.333333", "0.333333 to 0.666667", "0.666667 to 1")
    assert thirds.counts.sum() == 100
    with pytest.raises(InputError, match="the edges of bins must enclose all numbers"):
        read_votes(frame, bins=[0.2, 0.8])


def test_gaps_are_named_or_noticed() -> None:
    frame = pd.DataFrame({"item": ["a", "a", "b"], "annotator": ["p", "q", "p"], "label": ["x", "skip", "y"]})
    read = read_votes(frame, gap="skip")
    assert read.classes == ("x", "y")
    assert read.notes == ("left out: 1 row with 'skip'",)
    wide = pd.DataFrame({"item": ["a", "b"], "rater_1": ["x", "."], "rater_2": ["y", "y"]})
    assert ". taken as 'not asked' in 1 cells" in read_votes(wide).provenance


def test_rows_are_left_out_where_asked() -> None:
    frame = pd.DataFrame({"item": ["a", "a", "b"], "label": ["x", "y", "x"], "status": ["ok", "Rejected", "ok"]})
    read = read_votes(frame, without="status=rejected")
    assert as_truth(read) == {"a": {"x": 1}, "b": {"x": 1}}
    assert read.notes == ("left out: 1 row with status = rejected",)
    with pytest.raises(InputError, match="rows to leave out must be named as column=value"):
        read_votes(frame, without="status")


def test_a_column_that_does_not_exist_is_named() -> None:
    with pytest.raises(InputError) as error:
        read_votes(pd.DataFrame(slot_rows(MADE)), raters="labl1,label2")
    assert str(error.value).endswith("Did you mean 'label1'?")


def test_numbered_classes_are_no_annotators() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (40, 5))
    named = pd.DataFrame(counts, columns=[f"class {k}" for k in range(5)]).assign(item=range(40))
    np.testing.assert_array_equal(read_votes(named, empty="drop").counts, counts[counts.any(axis=1)])
    labelled = named.rename(columns={f"class {k}": f"label_{k}" for k in range(5)})
    with pytest.raises(UnclearError, match="whole numbers that do not rise and fall together, as counts would be"):
        read_votes(labelled)
    chosen = read_votes(labelled, form="counts", classes=[f"label_{k}" for k in range(5)], empty="drop")
    assert chosen.counts.sum() == counts.sum()
