"""Every tool's export, with the awkward parts in it, gives the right counts and says what it left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from votewise import InputError, Votes, read_votes
from votewise.cli.main import main
from votewise.votes import FORMATS
from votewise.votes.exports import PLATFORMS

SAMPLES = Path(__file__).parent / "samples"


class Expected(NamedTuple):
    """What a sample holds: counts by item, annotators, provenance and notes; and options needed to read it."""

    format: str
    counts: dict[str, dict[str, int]]
    annotators: list[str] | None
    provenance: str
    notes: tuple[str, ...] = ()
    options: dict[str, str] = {}  # noqa: RUF012


UNVOTED = "left out: 1 item without a vote"
AGAIN = "1 answers were given again by the same person; the last one counts"
EXPECTED = {
    "label_studio.json": Expected(
        "label-studio",
        {"101": {"negative": 2}, "102": {"N/A": 1}},
        ["7", "8"],
        "Label Studio export, question 'sentiment'",
        ("answers left out: 1 cancelled, 1 draft, 1 empty", AGAIN),
    ),
    "label_studio_min.json": Expected(
        "label-studio-min",
        {"101": {"negative": 2}, "102": {"positive": 1}},
        ["7", "8"],
        "Label Studio export (one row per annotation), question 'sentiment'",
        ("answers left out: 1 empty", AGAIN),
    ),
    "label_studio.csv": Expected(
        "label-studio-min",
        {"101": {"negative": 2}, "102": {"positive": 1}},
        ["ann@example.org", "ben@example.org"],
        "Label Studio export (one row per annotation), question 'sentiment'",
        ("answers left out: 1 empty", AGAIN),
    ),
    "argilla_nested.json": Expected(
        "argilla",
        {"rec-1": {"negative": 1, "positive": 1}, "rec-2": {"positive": 1}},
        ["u1", "u2"],
        "Argilla export, question 'label', 1 responses without a status among them",
        ("answers left out: 1 discarded, 1 draft",),
    ),
    "argilla_flat.jsonl": Expected(
        "argilla",
        {"rec-1": {"negative": 1, "positive": 1}, "rec-2": {"positive": 1}},
        ["u1", "u2"],
        "Argilla export, question 'label'",
        ("answers left out: 1 discarded",),
        {"question": "label"},
    ),
    "argilla_1.jsonl": Expected(
        "argilla-1",
        {"rec-1": {"negative": 1, "positive": 1}, "rec-2": {"positive": 1}},
        ["ann", "ben"],
        "Argilla 1 export, one vote per record",
        ("answers left out: 1 discarded", "left out: 2 items without a vote"),
        {"empty": "drop"},
    ),
    "prodigy_choice.jsonl": Expected(
        "prodigy",
        {"-123": {"NEG": 1, "POS": 1}, "77": {"POS": 1}},
        ["set-ann", "set-ben"],
        "Prodigy export, choices",
        ("answers left out: 1 ignored, 1 rejected", AGAIN),
    ),
    "prodigy_binary.jsonl": Expected(
        "prodigy",
        {"1": {"SARCASM": 1, "not SARCASM": 1}, "2": {"not SARCASM": 1}},
        ["set-ann", "set-ben"],
        "Prodigy export, question 'SARCASM'",
        ("answers left out: 1 ignored",),
    ),
    "doccano.jsonl": Expected(
        "doccano",
        {"1": {"negative": 1, "positive": 1}, "2": {"positive": 1}},
        ["ann", "ben"],
        "doccano export",
    ),
    "doccano_old.jsonl": Expected("doccano", {"1": {"3": 1, "4": 1}, "2": {"3": 1}}, ["1", "2"], "doccano export"),
    "lewidi_2023.json": Expected(
        "lewidi",
        {"1": {"0": 1, "1": 2}, "2": {"0": 2}},
        ["Ann1", "Ann2", "Ann3"],
        "LeWiDi file, question 'sarcasm detection'",
    ),
    "lewidi_2025.json": Expected(
        "lewidi",
        {"a1": {"entailment": 2, "neutral": 2}, "a2": {"contradiction": 2}},
        ["Ann1", "Ann2", "Ann4"],
        "LeWiDi file, question 'natural language inference'",
        ("1 answers name several classes; each class got a vote",),
        {"several": "each"},
    ),
    "lewidi_2025_scale.json": Expected(
        "lewidi",
        {"p1": {"-4": 1, "5": 1}, "p2": {"5": 1}},
        ["Ann1", "Ann2"],
        "LeWiDi file, question 'paraphrase detection'",
        ("answers left out: 1 empty",),
    ),
    "chaosnli.jsonl": Expected(
        "chaosnli",
        {"x#1": {"entailment": 3, "neutral": 7}, "x#2": {"contradiction": 9, "entailment": 1}},
        None,
        "ChaosNLI file, counts of labels",
    ),
    "popquorn.csv": Expected(
        "popquorn",
        {"530": {"1": 1, "3": 1}, "12": {"5": 1}},
        ["0", "1"],
        "POPQUORN table, question 'offensiveness'",
        ("answers left out: 1 empty",),
    ),
    "peerannot/answers.json": Expected(
        "peerannot",
        {"0": {"0": 1, "2": 1}, "1": {"2": 1}},
        ["0", "7"],
        "peerannot answers, 4 classes by metadata.json",
    ),
}


def given_counts(votes: Votes) -> dict[str, dict[str, int]]:
    """Items in their order, each with the classes that got votes."""
    assert votes.counts is not None
    return {
        str(item): {name: count for name, count in zip(votes.classes, row, strict=True) if count}
        for item, row in zip(votes.item_ids, votes.counts.tolist(), strict=True)
    }


def check(votes: Votes, expected: Expected) -> None:
    assert given_counts(votes) == expected.counts
    assert list(votes.item_ids) == list(expected.counts)
    assert (None if votes.ballots is None else votes.ballots.annotator_ids.tolist()) == expected.annotators
    assert votes.provenance == expected.provenance
    assert votes.notes == expected.notes


def advice(error: InputError) -> str:
    """A message without the command that follows it."""
    return str(error).partition("\nTo do so, type: votewise inspect ")[0]


def write(path: Path, content: Any) -> Path:
    """JSON, as one document or one object per line."""
    lines = path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content), encoding="utf-8")
    return path


def records(name: str) -> Any:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines() if line]


@pytest.mark.parametrize("name", EXPECTED)
def test_an_export_is_recognised_and_read(name: str) -> None:
    check(read_votes(SAMPLES / name, **EXPECTED[name].options), EXPECTED[name])


@pytest.mark.parametrize("name", EXPECTED)
def test_its_format_may_be_named(name: str) -> None:
    expected = EXPECTED[name]
    check(read_votes(str(SAMPLES / name), format=expected.format, **expected.options), expected)


def test_every_format_has_a_sample() -> None:
    in_shapes = {"zooniverse", "potato-jsonl", *PLATFORMS}  # which tests/votes/test_shapes.py reads
    assert {expected.format for expected in EXPECTED.values()} | in_shapes == set(FORMATS)


@pytest.mark.parametrize("name", EXPECTED)
def test_inspect_reads_it_and_reports(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    expected = EXPECTED[name]
    options = [part for key, value in expected.options.items() for part in (f"--{key}", value)]
    assert main(["inspect", str(SAMPLES / name), *options]) == 0
    _, told = capfd.readouterr()
    assert told.splitlines() == [
        *(f"votewise: {note}." for note in expected.notes),
        f"votewise: read as {expected.provenance}.",
    ]
    assert main(["inspect", str(SAMPLES / name), "--json", "--quiet", "--format", expected.format, *options]) == 0
    out, told = capfd.readouterr()
    assert (json.loads(out)["items"], told) == (len(expected.counts), "")


def test_classes_are_sorted_whichever_appears_first(tmp_path: Path) -> None:
    for tasks in (records("label_studio.json"), records("label_studio.json")[::-1]):
        votes = read_votes(write(tmp_path / "tasks.json", tasks), duplicates="all")
        assert votes.classes == ("N/A", "negative", "positive")


# Label Studio


def task(number: int, *answers: Any, kind: str = "choices", **more: Any) -> dict[str, Any]:
    """A task with one annotation per answer, by annotators 1, 2, ..."""
    annotations = [
        {
            "id": 10 * number + person,
            "completed_by": person,
            "result": [{"from_name": "q", "to_name": "x", "type": kind, "value": {kind: answer}}],
        }
        for person, answer in enumerate(answers, start=1)
    ]
    return {"id": number, "data": {"text": f"text {number}"}, "annotations": annotations, **more}


@pytest.mark.parametrize(
    ("kind", "answers", "classes"),
    [
        ("choices", (["a"], ["b"]), ("a", "b")),
        ("rating", (2, 10), ("2", "10")),
        ("taxonomy", ([["animal", "cat"]], [["plant"]]), ("animal > cat", "plant")),
        ("selected", ("left", "right"), ("left", "right")),
    ],
)
def test_label_studio_questions_with_classes(tmp_path: Path, kind: str, answers: Any, classes: tuple[str, ...]) -> None:
    votes = read_votes(write(tmp_path / "tasks.json", [task(1, *answers, kind=kind)]))
    assert (votes.classes, votes.counts.tolist()) == (classes, [[1, 1]])


def test_label_studio_several_questions_are_not_guessed(tmp_path: Path) -> None:
    tasks = [task(1, ["a"], ["b"])]
    tasks[0]["annotations"][0]["result"].append({"from_name": "mood", "type": "rating", "value": {"rating": 4}})
    path = write(tmp_path / "tasks.json", tasks)
    with pytest.raises(InputError) as error:
        read_votes(path)
    assert advice(error.value) == (
        "one question must be the one whose answers are votes, but this Label Studio export has 2 that may be ('mood', 'q'). "
        "Choose one with question= (--question)."
    )
    assert given_counts(read_votes(path, question="q")) == {"1": {"a": 1, "b": 1}}
    mood = read_votes(path, question="mood")
    assert (given_counts(mood), mood.notes) == ({"1": {"4": 1}}, ("answers left out: 1 empty",))
    with pytest.raises(InputError) as error:
        read_votes(path, question="moods")
    assert advice(error.value) == (
        "the question of this Label Studio export must be one of mood, q, but got 'moods'. Did you mean 'mood'?"
    )


def test_label_studio_without_classes(tmp_path: Path) -> None:
    box = {"from_name": "box", "type": "rectanglelabels", "value": {"x": 1, "y": 2, "rectanglelabels": ["cat"]}}
    path = write(tmp_path / "tasks.json", [{"id": 1, "data": {}, "annotations": [{"id": 1, "result": [box]}]}])
    with pytest.raises(InputError) as error:
        read_votes(path)
    assert advice(error.value) == (
        "one question must be the one whose answers are votes, but this Label Studio export has none. "
        "Export answers that are classes of whole items."
    )


def test_label_studio_multiple_choices_are_never_silent(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.json", [task(1, ["a", "b"], ["a"]), task(2, ["b"])])
    with pytest.raises(InputError) as error:
        read_votes(path)
    assert advice(error.value) == (
        "an answer must name one class, but 1 name several (items '1'; the first says 'a', 'b'). Pass several='each' "
        "(--several each) to count a vote for each class, or several='drop' to leave them out."
    )
    each, drop = read_votes(path, several="each"), read_votes(path, several="drop")
    assert given_counts(each) == {"1": {"a": 2, "b": 1}, "2": {"b": 1}}
    assert given_counts(drop) == {"1": {"a": 1}, "2": {"b": 1}}
    assert each.notes == ("1 answers name several classes; each class got a vote",)
    assert drop.notes == ("1 answers name several classes; they are left out",)


def test_label_studio_short_multiple_choices() -> None:
    rows = {"id": [1, 1, 2], "q": ["a", '{"choices": ["a", "b"]}', '["b"]'], "annotator": ["x", "y", "x"], "annotation_id": [1, 2, 3], "lead_time": [1, 1, 1]}  # fmt: skip
    assert given_counts(read_votes(pl.DataFrame(rows), several="each")) == {"1": {"a": 2, "b": 1}, "2": {"b": 1}}
    with pytest.raises(InputError, match="an answer must name one class"):
        read_votes(pl.DataFrame(rows))
    regions = '[{"start": 1, "end": 2, "labels": ["PER"]}]'
    with pytest.raises(InputError, match="an answer must name a class, but got a list without 'choices'"):
        read_votes(pl.DataFrame({**rows, "q": [regions, regions, regions]}), question="q")


def test_label_studio_short_columns_are_not_guessed() -> None:
    rows = pl.DataFrame(
        {
            "text": ["p", "p", "q"],
            "tone": ["a", "b", "a"],
            "id": [1, 1, 2],
            "mood": ["x", "x", "x"],
            "annotator": [1, 2, 1],
            "annotation_id": [1, 2, 3],
            "lead_time": [1, 1, 1],
        }
    )
    with pytest.raises(InputError, match=r"has 2 that may be \('tone', 'mood'\)"):
        read_votes(rows)
    assert given_counts(read_votes(rows, question="tone")) == {"1": {"a": 1, "b": 1}, "2": {"a": 1}}
    assert given_counts(read_votes(rows, question="mood", item="text")) == {"p": {"x": 2}, "q": {"x": 1}}
    assert given_counts(read_votes(rows, label="tone")) == {"1": {"a": 1, "b": 1}, "2": {"a": 1}}  # as a long table
    with pytest.raises(InputError) as error:
        read_votes(rows, question="tone", item="nothing")
    assert advice(error.value) == (
        "an export needs the id of each item, but there is no column 'nothing' among 'text', 'tone', 'id', 'mood', "
        "'annotator' and 2 more. Name the column with item= (--item)."
    )


def test_label_studio_short_answers_that_look_like_data_are_not_guessed() -> None:
    """With one answer per task, and as many classes as tasks, a column of data looks more like answers than theirs."""
    rows = pl.DataFrame(
        {
            "annotation_id": [1, 2, 3],
            "annotator": ["x", "x", "x"],
            "id": [1, 2, 3],
            "lead_time": [1, 1, 1],
            "mood": ["a", "b", "c"],
            "source": ["web", "web", "mail"],
        }
    )
    with pytest.raises(InputError) as error:
        read_votes(rows)
    assert advice(error.value) == (
        "one column must be the one whose answers are votes, but none of 'mood', 'source' differs between answers to a "
        "task, so that answers look like data. Choose one with question= (--question)."
    )
    assert read_votes(rows, question="mood").classes == ("a", "b", "c")


def test_label_studio_snapshots_hold_the_numbers_of_drafts(tmp_path: Path) -> None:
    votes = read_votes(write(tmp_path / "tasks.json", [task(1, ["a"], ["b"], drafts=[12, 13], predictions=[4])]))
    assert (given_counts(votes), votes.notes) == ({"1": {"a": 1, "b": 1}}, ("answers left out: 2 draft",))


@pytest.mark.parametrize("place", ["x", "start", "sequence", "ranges"])
def test_label_studio_choices_of_regions_are_not_votes(tmp_path: Path, place: str) -> None:
    tasks = [task(1, ["a"], ["b"])]
    region = {"from_name": "part", "type": "choices", "value": {"choices": ["c"], place: 1}}
    tasks[0]["annotations"][0]["result"].append(region)
    assert given_counts(read_votes(write(tmp_path / "tasks.json", tasks))) == {"1": {"a": 1, "b": 1}}


def test_label_studio_one_annotation_counts_once(tmp_path: Path) -> None:
    tasks = [task(1, ["a"], ["b"])]
    for annotation in tasks[0]["annotations"]:
        del annotation["completed_by"]
    votes = read_votes(write(tmp_path / "tasks.jsonl", tasks * 3))
    assert (given_counts(votes), votes.ballots) == ({"1": {"a": 1, "b": 1}}, None)


def test_label_studio_a_single_task_and_old_names(tmp_path: Path) -> None:
    one = task(1, ["a"], ["b"])
    assert given_counts(read_votes(write(tmp_path / "task.json", one))) == {"1": {"a": 1, "b": 1}}
    one["completions"] = one.pop("annotations")
    one["completions"][0]["skipped"] = True
    assert given_counts(read_votes(write(tmp_path / "task.json", [one]))) == {"1": {"b": 1}}


def test_annotators_are_dropped_unless_all_are_known(tmp_path: Path) -> None:
    tasks = [task(1, ["a"], ["b"])]
    del tasks[0]["annotations"][0]["completed_by"]
    votes = read_votes(write(tmp_path / "tasks.json", tasks))
    assert (given_counts(votes), votes.ballots) == ({"1": {"a": 1, "b": 1}}, None)
    assert votes.notes == ("1 votes name no annotator, so none are kept",)


def test_items_by_a_field_of_their_own(tmp_path: Path) -> None:
    assert list(read_votes(SAMPLES / "label_studio.json", item="ref").item_ids) == ["tweet-a", "tweet-b"]
    assert list(read_votes(SAMPLES / "prodigy_choice.jsonl", item="ref").item_ids) == ["tweet-a", "tweet-b"]
    assert list(read_votes(SAMPLES / "argilla_nested.json", item="ref").item_ids) == ["tweet-a", "tweet-b"]
    with pytest.raises(InputError) as error:
        read_votes(SAMPLES / "doccano.jsonl", item="ref")
    assert advice(error.value) == (
        "every record needs the id of its item, but one has none in 'ref' (its fields are 'id', 'text', 'label', 'annotator'). "
        "Name the field with item= (--item)."
    )


def test_items_without_votes(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.json", [task(1, ["a"]), task(2), task(3, [])])
    with pytest.raises(InputError) as error:
        read_votes(path)
    assert advice(error.value) == (
        "every item needs at least one vote, but 2 have none ('2', '3'). Remove them, or pass empty='drop' (--empty drop)."
    )
    kept = read_votes(path, empty="drop")
    assert given_counts(kept) == {"1": {"a": 1}}
    assert kept.notes == ("answers left out: 1 empty", "left out: 2 items without a vote")
    with pytest.raises(InputError, match=r"1 have none \('3'\)"):
        read_votes(write(path, [task(3, [])]), empty="drop")
    with pytest.raises(InputError, match="but this Label Studio export has none"):
        read_votes(write(path, [task(2)]), format="label-studio", question="q", empty="drop")


def test_class_lists_hold_for_exports_too(tmp_path: Path) -> None:
    path = write(tmp_path / "tasks.json", [task(1, ["b"], ["a"])])
    assert read_votes(path, classes=["b", "c", "a"]).counts.tolist() == [[1, 0, 1]]
    with pytest.raises(InputError, match="labels must be in the class list a, but 1 are not"):
        read_votes(path, classes=["a"])


class Said(NamedTuple):
    item: int
    person: int | None
    label: str
    when: int | None
    is_cancelled: bool


SAID = st.builds(
    Said,
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from("abc"),
    st.none() | st.integers(0, 3),
    st.booleans(),
)


@given(st.lists(SAID, min_size=1, max_size=20))
def test_last_answers_by_a_plain_count(tmp_path_factory: pytest.TempPathFactory, said: list[Said]) -> None:
    """Against a dictionary that forgets what came before; equal and unknown times are in the order of the file."""
    tasks: dict[int, dict[str, Any]] = {}
    for number, one in enumerate(said):
        result = [{"from_name": "q", "type": "choices", "value": {"choices": [one.label]}}]
        moment = None if one.when is None else f"2024-01-01T00:00:0{one.when}Z"
        tasks.setdefault(one.item, task(one.item))["annotations"].append(
            {
                "id": number,
                "completed_by": one.person,
                "result": result,
                "updated_at": moment,
                "was_cancelled": one.is_cancelled,
            }
        )
    last: dict[tuple[int, int | None], str] = {}
    for one in sorted(
        (one for one in said if not one.is_cancelled), key=lambda one: -1 if one.when is None else one.when
    ):
        last[one.item, one.person] = one.label
    expected: dict[str, dict[str, int]] = {}
    for (item, _), label in last.items():
        counts = expected.setdefault(str(item), {})
        counts[label] = counts.get(label, 0) + 1
    path = write(tmp_path_factory.mktemp("said") / "tasks.json", list(tasks.values()))
    if not expected:
        with pytest.raises(InputError, match="every item needs at least one vote"):
            read_votes(path, question="q", empty="drop")
        return
    votes = read_votes(path, question="q", empty="drop")
    assert given_counts(votes) == expected
    assert votes.ballots is not None
    assert len(votes.ballots) == len(last)
    everything = read_votes(path, question="q", empty="drop", duplicates="all")
    assert everything.counts.sum() == sum(not one.is_cancelled for one in said)


def test_repeated_answers_may_be_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_votes(SAMPLES / "label_studio.json", duplicates="error")
    assert advice(error.value) == (
        "a person may answer an item only once, but 1 answers were given again (the first by '7' on '101'). "
        "Pass duplicates='last' (--duplicates last) to keep the last answer, or duplicates='all' to count each."
    )
    assert read_votes(SAMPLES / "label_studio.json", duplicates="all").counts.sum() == 4


# Argilla


def as_data_set() -> pa.Table:
    """What `records.to_datasets()` gives: classes and statuses as numbers, their names in the metadata."""
    label = {"feature": {"names": ["negative", "positive"], "_type": "ClassLabel"}, "_type": "Sequence"}
    status = [{"names": ["draft", "submitted", "discarded"], "_type": "ClassLabel"}]
    features = {"label.responses": label, "label.responses.status": status}
    table = pa.table(
        {
            "id": ["rec-1", "rec-2", "rec-3"],
            "text": ["Great, another delay.", "Fine.", "Later"],
            "label.responses": [[1, 0, 0], [1], None],
            "label.responses.users": [["u1", "u2", "u3"], ["u1"], None],
            "label.responses.status": [[1, 1, 0], [1], None],
        }
    )
    return table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def test_argilla_data_sets_keep_the_names_of_classes(tmp_path: Path) -> None:
    parquet.write_table(as_data_set(), tmp_path / "records.parquet")
    for source in (tmp_path / "records.parquet", str(tmp_path / "records.parquet"), as_data_set()):
        votes = read_votes(source, empty="drop")
        assert given_counts(votes) == {"rec-1": {"negative": 1, "positive": 1}, "rec-2": {"positive": 1}}
        assert votes.notes == ("answers left out: 1 draft", UNVOTED)


def test_argilla_frames_without_names_have_numbers() -> None:
    for frame in (as_data_set().to_pandas(), pl.DataFrame(as_data_set()), pl.DataFrame(as_data_set()).lazy()):
        votes = read_votes(frame, empty="drop")
        assert given_counts(votes) == {"rec-1": {"0": 1, "1": 1}, "rec-2": {"1": 1}}


def test_argilla_questions(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"this Argilla export has 2 that may be \('label', 'quality'\)"):
        read_votes(SAMPLES / "argilla_flat.jsonl")
    quality = read_votes(SAMPLES / "argilla_flat.jsonl", question="quality", empty="drop")
    assert given_counts(quality) == {"rec-1": {"2": 1, "4": 1}}


def test_argilla_1_in_a_table(tmp_path: Path) -> None:
    frame = pl.DataFrame(records("argilla_1.jsonl"), infer_schema_length=None)
    frame.write_parquet(tmp_path / "records.parquet")
    check(read_votes(tmp_path / "records.parquet", empty="drop"), EXPECTED["argilla_1.jsonl"])
    several = frame.with_columns(annotation=pl.concat_list("annotation", pl.lit("long")))
    with pytest.raises(InputError, match="an answer must name one class, but 3 name several"):
        read_votes(several)


def test_argilla_feedback_data_sets(tmp_path: Path) -> None:
    said = [
        {"user_id": "u1", "value": "a", "status": "submitted"},
        {"user_id": "u2", "value": "b", "status": "discarded"},
    ]
    rows = [
        {"id": "r1", "text": "x", "label": said, "label-suggestion": "a", "label-suggestion-metadata": {"agent": "m"}},
        {"id": "r2", "text": "y", "label": said[:1], "label-suggestion": None, "label-suggestion-metadata": None},
    ]
    frame = pl.DataFrame(rows)
    frame.write_parquet(tmp_path / "feedback.parquet")
    for source in (write(tmp_path / "feedback.jsonl", rows), tmp_path / "feedback.parquet", frame):
        votes = read_votes(source)
        assert given_counts(votes) == {"r1": {"a": 1}, "r2": {"a": 1}}
        assert votes.notes == ("answers left out: 1 discarded",)
        assert votes.provenance == "Argilla export, question 'label'"


@pytest.mark.parametrize("is_turned", [True, False])
def test_argilla_feedback_data_sets_before_suggestions(tmp_path: Path, is_turned: bool) -> None:
    """Data sets store lists of objects as objects of lists; items are named by external_id."""
    lists = {"user_id": ["u1", "u2"], "value": ["a", "b"], "status": ["submitted", "submitted"]}
    said = lists if is_turned else [dict(zip(lists, one, strict=True)) for one in zip(*lists.values(), strict=True)]
    rows = [{"text": "x", "label": said, "external_id": "e1"}, {"text": "y", "label": said, "external_id": "e2"}]
    expected = {"e1": {"a": 1, "b": 1}, "e2": {"a": 1, "b": 1}}
    assert given_counts(read_votes(write(tmp_path / "feedback.jsonl", rows))) == expected
    suggested = [{**row, "label-suggestion": "a"} for row in rows]
    assert given_counts(read_votes(pl.DataFrame(suggested))) == expected
    nameless = pl.DataFrame([{**row, "external_id": None} for row in suggested])
    with pytest.raises(InputError, match="one has none in 'id', 'external_id', '_server_id'"):
        read_votes(nameless)
    assert list(read_votes(nameless, item="text").item_ids) == ["x", "y"]


ARGILLA_FAULTS = {
    "lengths": ({"label.responses.users": ["u1"]}, "responses, their users and their status must be lists of the same length, but a record has different ones for 'label'. Export the records again."),
    "no list": ({"label.responses": "positive"}, "responses, their users and their status must be lists of the same length, but a record has different ones for 'label'. Export the records again."),
    "ranking": ({"label.responses": [{"rank": 1, "value": "x"}, "b", "c"]}, "a response must name classes, but one holds a ranking or spans. Pass another question= (--question)."),
}  # fmt: skip


@pytest.mark.parametrize("fault", ARGILLA_FAULTS)
def test_argilla_faults(tmp_path: Path, fault: str) -> None:
    change, message = ARGILLA_FAULTS[fault]
    first, second = records("argilla_flat.jsonl")
    with pytest.raises(InputError) as error:
        read_votes(write(tmp_path / "records.jsonl", [{**first, **change}, second]), question="label")
    assert advice(error.value) == message


# Prodigy


def test_prodigy_one_label_of_several(tmp_path: Path) -> None:
    rude = [{**record, "label": "RUDE", "answer": "accept"} for record in records("prodigy_binary.jsonl")]
    path = write(tmp_path / "answers.jsonl", records("prodigy_binary.jsonl") + rude)
    with pytest.raises(InputError, match=r"this Prodigy export has 2 that may be \('RUDE', 'SARCASM'\)"):
        read_votes(path)
    assert given_counts(read_votes(path, question="SARCASM")) == EXPECTED["prodigy_binary.jsonl"].counts
    assert given_counts(read_votes(path, question="RUDE")) == {"1": {"RUDE": 2}, "2": {"RUDE": 2}}


def test_prodigy_plain_answers(tmp_path: Path) -> None:
    plain = [{key: value for key, value in one.items() if key != "label"} for one in records("prodigy_binary.jsonl")]
    votes = read_votes(write(tmp_path / "answers.jsonl", plain))
    assert given_counts(votes) == {"1": {"accept": 1, "reject": 1}, "2": {"reject": 1}}
    mixed = write(tmp_path / "answers.jsonl", [*plain[:1], *records("prodigy_binary.jsonl")[1:]])
    assert read_votes(mixed).notes == ("answers left out: 1 ignored, 1 unlabelled",)
    spans = [{**one, "spans": [{"start": 0, "end": 5, "label": "PER"}]} for one in plain]
    with pytest.raises(InputError) as error:
        read_votes(write(tmp_path / "answers.jsonl", spans))
    assert advice(error.value) == (
        "answers must name classes of whole items, but these mark spans. Export answers to a choice, or to whether a label fits."
    )


def test_prodigy_several_options(tmp_path: Path) -> None:
    answers = records("prodigy_choice.jsonl")
    answers[1]["accept"] = ["NEG", "POS"]
    path = write(tmp_path / "answers.jsonl", answers)
    with pytest.raises(InputError, match="the first says 'NEG', 'POS'"):
        read_votes(path)
    assert given_counts(read_votes(path, several="each")) == {"-123": {"NEG": 1, "POS": 2}, "77": {"POS": 1}}


# doccano


def test_doccano_of_one_user_and_of_all_together(tmp_path: Path) -> None:
    lines = [{key: value for key, value in one.items() if key != "annotator"} for one in records("doccano.jsonl")]
    votes = read_votes(write(tmp_path / "ann.jsonl", lines[::2]))
    assert (given_counts(votes), votes.ballots) == ({"1": {"negative": 1}, "2": {"positive": 1}}, None)
    assert votes.notes == ()
    together = [{**lines[0], "label": ["negative", "positive"]}]
    with pytest.raises(InputError, match="an answer must name one class"):
        read_votes(write(tmp_path / "all.jsonl", together))


def test_doccano_old_annotations_by_time(tmp_path: Path) -> None:
    lines = records("doccano_old.jsonl")
    earlier = {**lines[0]["annotations"][0], "label": 9, "updated_at": "2019-01-01T00:00:00Z"}
    lines[0]["annotations"].append(earlier)
    votes = read_votes(write(tmp_path / "old.jsonl", lines))
    assert (given_counts(votes), votes.notes) == (EXPECTED["doccano_old.jsonl"].counts, (AGAIN,))


def test_doccano_oldest_names(tmp_path: Path) -> None:
    lines = [{"doc_id": 20, "text": "x", "labels": [label], "username": user} for label, user in ("ap", "bq")]
    votes = read_votes(write(tmp_path / "all.jsonl", lines))
    assert (given_counts(votes), votes.ballots.annotator_ids.tolist()) == ({"20": {"a": 1, "b": 1}}, ["p", "q"])


def test_doccano_votes_in_place_of_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_votes(write(tmp_path / "all.jsonl", [{"id": 1, "text": "x", "label": ["a", "a", "b"]}]), several="each")
    assert advice(error.value) == (
        "a doccano export names each label of a document once, but document '1' has 'a', 'a', 'b'. "
        "If these are the votes of several people, make a long table of them, one row per vote."
    )


def test_doccano_spans_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_votes(write(tmp_path / "all.jsonl", [{"id": 1, "text": "Anna", "label": [[0, 4, "PER"]]}]))
    assert advice(error.value) == (
        "labels must be of whole documents, but document '1' has spans. Export a project that classifies documents."
    )


# LeWiDi, ChaosNLI, peerannot


def test_lewidi_other_questions() -> None:
    votes = read_votes(SAMPLES / "lewidi_2023.json", question="rudeness")
    assert given_counts(votes) == {"1": {"-1": 1, "0": 2}, "2": {"0": 2}}
    assert votes.classes == ("-1", "0")


def test_lewidi_several_labels() -> None:
    with pytest.raises(InputError, match="items 'a1'; the first says 'entailment', 'neutral'"):
        read_votes(SAMPLES / "lewidi_2025.json")
    dropped = read_votes(SAMPLES / "lewidi_2025.json", several="drop")
    assert given_counts(dropped) == {"a1": {"entailment": 1, "neutral": 1}, "a2": {"contradiction": 2}}


LEWIDI_FAULTS = {
    "lengths": ({"annotations": "1,0"}, "there must be as many annotations as annotators, but item '1' has 2 and 3. Use the files as released."),
    "kinds": ({"annotations": [1, 0, 1]}, "annotations and annotators must be text, joined by commas, but item '1' has a list and text. Use the files as released."),
    "held back": ({"annotations": ""}, "every item needs at least one vote, but 1 have none ('1'). Remove them, or pass empty='drop' (--empty drop)."),
}  # fmt: skip


@pytest.mark.parametrize("fault", LEWIDI_FAULTS)
def test_lewidi_faults(tmp_path: Path, fault: str) -> None:
    change, message = LEWIDI_FAULTS[fault]
    tree = records("lewidi_2023.json")
    with pytest.raises(InputError) as error:
        read_votes(write(tmp_path / "train.json", tree | {"1": tree["1"] | change}))
    assert advice(error.value) == message


CHAOS_FAULTS = {
    "two counts": ({"label_counter": {"e": 4, "n": 6}}, "label_counter and label_count must agree, but those of item 'x#1' do not. Fix the file."),
    "negative": ({"label_count": [3, -7, 0]}, "label_count must be 2 or 3 whole numbers, but item 'x#1' has a list. Fix the file."),
    "too many": ({"label_count": [3, 7, 0, 0]}, "label_count must be 2 or 3 whole numbers, but item 'x#1' has a list. Fix the file."),
    "no list": ({"label_count": None}, "label_count must be 2 or 3 whole numbers, but item 'x#1' has null. Fix the file."),
    "twice": ({"uid": "x#2"}, "item ids must be different and not empty, but 1 appear more than once ('x#2'). Give each item one row and one id."),
}  # fmt: skip


@pytest.mark.parametrize("fault", CHAOS_FAULTS)
def test_chaosnli_faults(tmp_path: Path, fault: str) -> None:
    change, message = CHAOS_FAULTS[fault]
    first, second = records("chaosnli.jsonl")
    with pytest.raises(InputError) as error:
        read_votes(write(tmp_path / "chaos.jsonl", [{**first, **change}, second]))
    assert advice(error.value) == message


def test_chaosnli_class_lists_and_empty_items(tmp_path: Path) -> None:
    names = ["entailment", "neutral", "contradiction"]
    first, second = records("chaosnli.jsonl")
    assert read_votes(SAMPLES / "chaosnli.jsonl", classes=names).counts.tolist() == [[3, 7, 0], [1, 0, 9]]
    path = write(tmp_path / "chaos.jsonl", [first, {**second, "label_count": [0, 0, 0], "label_counter": None}])
    with pytest.raises(InputError, match="every item needs at least one vote"):
        read_votes(path)
    kept = read_votes(path, empty="drop")
    assert (kept.item_ids.tolist(), kept.notes) == (["x#1"], (UNVOTED,))
    write(path, [{**first, "label_counter": {"e": 3, "n": 7, "c": 0}}])  # a zero may be written or not
    assert read_votes(path).counts.tolist() == [[0, 3, 7]]


def test_peerannot_metadata(tmp_path: Path) -> None:
    answers = tmp_path / "answers.json"
    shutil.copyfile(SAMPLES / "peerannot" / "answers.json", answers)
    assert read_votes(answers).classes == ("0", "2")
    write(tmp_path / "metadata.json", {"n_classes": 3, "class_names": ["cat", "dog", "ant"]})
    named = read_votes(answers)
    assert (named.classes, named.counts.tolist()) == (("cat", "dog", "ant"), [[1, 0, 1], [0, 0, 1]])
    assert named.provenance == "peerannot answers, classes named in metadata.json"
    write(tmp_path / "metadata.json", {"classes": ["2", "1", "0"]})  # names that look like other numbers
    assert (read_votes(answers).classes, read_votes(answers).counts.tolist()) == (
        ("2", "1", "0"),
        [[1, 0, 1], [0, 0, 1]],
    )
    write(tmp_path / "metadata.json", {"n_classes": 2})
    with pytest.raises(InputError, match="labels must be in the class list 0, 1"):
        read_votes(answers)
    assert read_votes(answers, classes=["2", "0"]).counts.tolist() == [[1, 1], [1, 0]]
    write(tmp_path / "metadata.json", [1])
    with pytest.raises(InputError, match="must hold an object, but got a list"):
        read_votes(answers)


def test_peerannot_minus_one_is_not_an_answer(tmp_path: Path) -> None:
    votes = read_votes(write(tmp_path / "answers.json", {"0": {"7": -1, "8": 1}, "1": {"7": 0}}))
    assert (given_counts(votes), votes.notes) == ({"0": {"1": 1}, "1": {"0": 1}}, ("answers left out: 1 unanswered",))


@given(st.dictionaries(st.integers(0, 9).map(str), st.dictionaries(st.integers(0, 5).map(str), st.integers(0, 3), min_size=1), min_size=1))  # fmt: skip
def test_peerannot_counts_what_is_written(
    tmp_path_factory: pytest.TempPathFactory, answers: dict[str, dict[str, int]]
) -> None:
    votes = read_votes(write(tmp_path_factory.mktemp("peer") / "answers.json", answers))
    assert votes.item_ids.tolist() == list(answers)
    for row, labels in zip(votes.counts, answers.values(), strict=True):
        np.testing.assert_array_equal(row, [list(labels.values()).count(int(name)) for name in votes.classes])


# POPQUORN


def test_popquorn_ratings_are_not_guessed(tmp_path: Path) -> None:
    frame = pd.read_csv(SAMPLES / "popquorn.csv").assign(rudeness=[1, 2, 3, 4])
    with pytest.raises(InputError, match=r"has 2 that may be \('offensiveness', 'rudeness'\)"):
        read_votes(frame)
    with pytest.raises(InputError, match="there is no column 'key' among 'instance_id'"):
        read_votes(frame, question="rudeness", item="key")
    assert given_counts(read_votes(frame, question="rudeness")) == {"530": {"1": 1, "2": 1}, "12": {"3": 1, "4": 1}}
