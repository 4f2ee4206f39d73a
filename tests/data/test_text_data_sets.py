"""ChaosNLI, POPQUORN and LeWiDi 2023 as data sets: the released files where they are, and small ones like them."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from own_data import refusal
from votewise import read_votes
from votewise.cli.main import main
from votewise.data import RELEASES, Dataset, InputForm, load_chaosnli, load_lewidi, load_popquorn, prepare
from votewise.data.chaosnli import PARTS as CHAOSNLI
from votewise.data.lewidi import PARTS as LEWIDI
from votewise.data.popquorn import PARTS as POPQUORN
from votewise.models import find_model

NLI = ("entailment", "neutral", "contradiction")
LOADERS: dict[str, Callable[..., Dataset]] = {
    "chaosnli": load_chaosnli,
    "popquorn": load_popquorn,
    "lewidi": load_lewidi,
}

# Votes by class, annotators, least and most votes an item, checksum. Run records name the data by the checksum.
RELEASED: dict[str, tuple[dict[str, int], int | None, tuple[int, int], str]] = {
    "chaosnli-snli": (
        dict(zip(NLI, (45_128, 76_079, 30_193), strict=True)),
        None,
        (100, 100),
        "ad793adc4823d3e103dea13df1e4a538326ce16e4ccbbf388e1e237e6a207a52",
    ),
    "chaosnli-mnli": (
        dict(zip(NLI, (64_380, 62_803, 32_717), strict=True)),
        None,
        (100, 100),
        "a3e38dc70a311953fdbeae5825c0ec760cc8629aa1d9228d1ab48937efdf8b3f",
    ),
    "chaosnli-alphanli": (
        {"1": 76_338, "2": 76_862},
        None,
        (100, 100),
        "0628dabc1ae67dde03cf45ed7f97c5e3acdf1bbc07d4af3f6a81cb47a5b4ed59",
    ),
    "popquorn-offensiveness": (
        {"1": 7516, "2": 2190, "3": 1590, "4": 1039, "5": 701},
        262,
        (5, 10),
        "1c582014784daeb02e9064c1c6626dac35892cd050f9ad01c5ecd4d828a9ce88",
    ),
    "lewidi-armis": (
        {"0": 1666, "1": 1163},
        3,
        (3, 3),
        "231d0aee64dbc0d488c420f64a5c63fb79377ae17a09ced57a1339bac0648ac8",
    ),
    "lewidi-convabuse": (
        {"-3": 275, "-2": 886, "-1": 784, "0": 647, "1": 9576},
        8,
        (2, 8),
        "63485f38afe0e5af5e14ca04a73dcc77ea0493266626bb343257499a4765a79c",
    ),
    "lewidi-hs-brexit": (
        {"0": 5851, "1": 869},
        6,
        (6, 6),
        "9e4bb7b985c7f27e35e0af6f1a960703d418e77dd0fe3950d78334111983f09b",
    ),
    "lewidi-md-agreement": (
        {"0": 35_427, "1": 18_338},
        819,
        (5, 5),
        "8f4124149c159e9190c4ed9415ec478fd3aa4a3350713d681c1fe7ea10d5faaa",
    ),
}
ITEMS = {
    "chaosnli-snli": 1514, "chaosnli-mnli": 1599, "chaosnli-alphanli": 1532, "popquorn-offensiveness": 1500,
    "lewidi-armis": 657 + 141 + 145, "lewidi-convabuse": 2398 + 812 + 840, "lewidi-hs-brexit": 784 + 168 + 168,
    "lewidi-md-agreement": 6592 + 1104 + 3057,
}  # fmt: skip


def load(name: str, folder: Path) -> Dataset:
    family, _, part = name.partition("-")
    return LOADERS[family](part, folder)


def load_released(name: str, folder: Path) -> Dataset:
    files = [{file.name for file in part} for part in RELEASES[name].parts]
    if not all(any((folder / file).is_file() for file in part) for part in files):
        pytest.skip(f"no data: {folder} has no {' or '.join(sorted(set.union(*files)))}")
    return load(name, folder)


def votes_of(dataset: Dataset) -> dict[str, dict[str, int]]:
    """The counts of each item, without zeros."""
    classes = dataset.votes.classes
    return {
        item: {name: count for name, count in zip(classes, row, strict=True) if count}
        for item, row in zip(dataset.votes.item_ids.tolist(), dataset.votes.counts.tolist(), strict=True)
    }


def texts_of(dataset: Dataset) -> dict[str, object]:
    return dict(zip(dataset.votes.item_ids.tolist(), dataset.source.texts or (), strict=True))


def same_ballots(first: Any, second: Any) -> bool:
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("item", "annotator", "label", "annotator_ids")
    )


def test_the_catalogue_has_every_part_and_no_other() -> None:
    parts = {"chaosnli": CHAOSNLI, "popquorn": POPQUORN, "lewidi": LEWIDI}
    names = {f"{family}-{part}" for family in parts for part in parts[family]}
    assert {name for name in RELEASES if name.partition("-")[0] in parts} == names
    assert names == {*RELEASED, "popquorn-politeness"}


@pytest.mark.parametrize("name", RELEASED)
def test_the_released_files(data_folder: Path, name: str) -> None:
    data = load_released(name, data_folder)
    by_class, annotators, votes_per_item, checksum = RELEASED[name]
    votes = data.votes
    assert (data.name, data.source.kind, data.labels, data.notes) == (name, "text", None, ())
    assert (votes.n_items, votes.classes) == (ITEMS[name], tuple(by_class))
    assert votes.counts.sum(axis=0).tolist() == list(by_class.values())
    each = votes.counts.sum(axis=1)
    assert (each.min(), each.max()) == votes_per_item
    assert (None if votes.ballots is None else len(votes.ballots.annotator_ids)) == annotators
    assert all(part.strip() for text in data.source.texts or () for part in ([text] if isinstance(text, str) else text[1:]))  # fmt: skip
    assert data.checksum == checksum
    written = RELEASES[name].votes.replace(",", "")
    assert written.startswith(f"{votes.n_items} ")
    assert f" {each.sum()} " in written
    assert f" {votes.n_classes} classes" in written
    assert annotators is None or f" by {annotators} people" in written


@pytest.mark.parametrize("part", CHAOSNLI)
def test_chaosnli_against_the_raw_file(data_folder: Path, part: str) -> None:
    data = load_released(f"chaosnli-{part}", data_folder)
    file = RELEASES[data.name].parts[0][0].name
    records = [json.loads(line) for line in (data_folder / file).read_text(encoding="utf-8").splitlines()]
    long = {"e": "entailment", "n": "neutral", "c": "contradiction"}
    assert votes_of(data) == {
        record["uid"]: {long.get(label, label): count for label, count in record["label_counter"].items()}
        for record in records
    }
    texts = texts_of(data)
    for record in records:
        example = record["example"]
        if part == "alphanli":
            first, second = (f"{example['obs1']} {example[name]} {example['obs2']}" for name in ("hyp1", "hyp2"))
        else:
            first, second = example["premise"], example["hypothesis"]
        assert texts[record["uid"]] == (first, second)


def test_one_item_of_each_part_of_chaosnli_by_hand(data_folder: Path) -> None:
    snli, mnli, alphanli = (load_released(f"chaosnli-{part}", data_folder) for part in CHAOSNLI)
    assert votes_of(snli)["2407214681.jpg#0r1n"] == {"neutral": 70, "entailment": 30}
    assert texts_of(snli)["2407214681.jpg#0r1n"] == (
        "Two young children in blue jerseys, one with the number 9 and one with the number 2 are standing on wooden steps in "
        "a bathroom and washing their hands in a sink.",
        "Two kids at a ballgame wash their hands.",
    )
    assert votes_of(mnli)["20648n"] == {"entailment": 48, "neutral": 45, "contradiction": 7}
    assert votes_of(alphanli)["91f9d1d9-934c-44f9-9677-3614def2874b2"] == {"1": 98, "2": 2}
    assert texts_of(alphanli)["91f9d1d9-934c-44f9-9677-3614def2874b2"] == (
        "Sandy lived in New York. It stormed in New York. Sandy was prepared.",
        "Sandy lived in New York. She partied all night. Sandy was prepared.",
    )


def test_popquorn_against_the_raw_file(data_folder: Path) -> None:
    data = load_released("popquorn-offensiveness", data_folder)
    path = data_folder / "popquorn_offensiveness.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert texts_of(data) == {row["instance_id"]: row["text"] for row in rows}
    votes = data.votes
    ballots = votes.require_ballots("this test")
    assert [
        (str(votes.item_ids[item]), str(ballots.annotator_ids[person]), f"{votes.classes[label]}.0")
        for item, person, label in zip(ballots.item, ballots.annotator, ballots.label, strict=True)
    ] == [(row["instance_id"], row["user_id"], row["offensiveness"]) for row in rows]
    table = read_votes(path)
    np.testing.assert_array_equal(votes.counts, table.counts)
    assert votes.item_ids.tolist() == table.item_ids.tolist()
    assert same_ballots(ballots, table.ballots)


@pytest.mark.parametrize("part", LEWIDI)
def test_lewidi_against_the_raw_files(data_folder: Path, tmp_path: Path, part: str) -> None:
    data = load_released(f"lewidi-{part}", data_folder)
    with zipfile.ZipFile(data_folder / "lewidi_2023.zip") as archive:
        for released, *_ in RELEASES[data.name].parts:
            archive.extract(released.name, tmp_path)
    votes, texts, n_twice = votes_of(data), texts_of(data), 0
    for split, (released, *_) in zip(("train", "dev", "test"), RELEASES[data.name].parts, strict=True):
        items = json.loads((tmp_path / released.name).read_text(encoding="utf-8"))
        for number, item in items.items():
            item_id = f"{split}/{number}"
            assert votes.pop(item_id) == Counter(item["annotations"].split(","))
            n_twice += len(item["annotators"].split(",")) - len(set(item["annotators"].split(",")))
            if part != "convabuse":
                assert texts[item_id] == item["text"]
                continue
            turns = json.loads(item["text"])
            before, rated = texts[item_id]  # type: ignore[misc]
            assert rated == turns["user"]
            assert before.count("agent: ") >= sum(turns[name] != "_" for name in ("prev_agent", "agent"))
            assert all(turns[name] in before or turns[name] == "_" for name in ("prev_agent", "prev_user", "agent"))
        table = read_votes(tmp_path / released.name, duplicates="all")
        mine = data.votes.take([row for row, item in enumerate(texts) if item.startswith(f"{split}/")])
        np.testing.assert_array_equal(mine.with_classes(data.votes.classes).counts, table.with_classes(data.votes.classes).counts)  # fmt: skip
        assert same_ballots(mine.ballots, table.with_classes(data.votes.classes).ballots)
    assert not votes
    assert n_twice == (part == "md-agreement")
    assert data.votes.notes == (
        ("1 answer given again by the same person to the same item, and counted like any other",) if n_twice else ()
    )
    # The files themselves are the same data as the archive with them.
    assert load(data.name, tmp_path).checksum == data.checksum


def test_a_conversation_and_its_beginning(data_folder: Path) -> None:
    texts = texts_of(load_released("lewidi-convabuse", data_folder))
    assert texts["train/1"] == (
        "agent: Please go on.\nuser: well, i have a eatproblem\nagent: Can you elaborate on that?",
        "yes",
    )
    assert texts["test/1"] == ("", "Hi")


# --- small files like the released ones

CHAOS = [
    {"uid": "x1", "label_counter": {"e": 3, "n": 7}, "label_count": [3, 7, 0], "label_dist": [0.3, 0.7, 0.0],
     "example": {"uid": "x1", "premise": "A dog runs.", "hypothesis": "It is late."}},
    {"uid": "x2", "label_counter": {"c": 10}, "label_count": [0, 0, 10], "label_dist": [0.0, 0.0, 1.0],
     "example": {"uid": "x2", "premise": "Nobody.", "hypothesis": "Somebody."}},
]  # fmt: skip
ALPHA = {"uid": "y", "label_counter": {"1": 4, "2": 6}, "label_count": [4, 6], "label_dist": [0.4, 0.6],
         "example": {"uid": "y", "obs1": "It rained.", "obs2": "He was wet.", "hyp1": "He went out.", "hyp2": "He swam."}}  # fmt: skip
HEADER = "instance_id,user_id,text,{},gender,race,age,occupation,education"
RATINGS = (
    '7,b,"Hm, no.",1.0,Man,White,35-39,Employed,College',
    '7,a,"Hm, no.",5.0,Woman,Asian,40-44,Employed,College',
    "9,b,Yes,2.0,Man,White,35-39,Employed,College",
    "9,b,Yes,3.0,Man,White,35-39,Employed,College",
)
TURNS = {"prev_agent": "_", "prev_user": "Hello", "agent": "Hi!", "user": "Go away"}


def small_lewidi(part: str) -> dict[str, object]:
    text = json.dumps(TURNS) if part == "convabuse" else "Any text"
    return {"1": {"text": text, "annotators": "Ann2,Ann1", "annotations": "0,1", "soft_label": {"0": 0.5, "1": 0.5}}}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    for part in ("snli", "mnli_m"):
        (tmp_path / f"chaosNLI_{part}.jsonl").write_text("\n".join(map(json.dumps, CHAOS)), encoding="utf-8")
    (tmp_path / "chaosNLI_alphanli.jsonl").write_text(json.dumps(ALPHA), encoding="utf-8")
    for part in POPQUORN:
        (tmp_path / f"popquorn_{part}.csv").write_text("\n".join([HEADER.format(part), *RATINGS]), encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "lewidi_2023.zip", "w") as archive:
        for part in LEWIDI:
            for released, *_ in RELEASES[f"lewidi-{part}"].parts:
                archive.writestr(f"in a folder/{released.name}", json.dumps(small_lewidi(part)))
    return tmp_path


def test_small_files_are_read_and_their_bytes_noted(small: Path) -> None:
    snli = load_chaosnli("snli", small)
    assert (snli.votes.classes, snli.votes.counts.tolist()) == (NLI, [[3, 7, 0], [0, 0, 10]])
    assert snli.source.texts == (("A dog runs.", "It is late."), ("Nobody.", "Somebody."))
    assert snli.notes == ("chaosNLI_snli.jsonl does not have the bytes that were released.",)
    assert snli.source.form == InputForm(text_column=("premise", "hypothesis"))
    alphanli = load_chaosnli("alphanli", small)
    assert alphanli.votes.counts.tolist() == [[4, 6]]
    assert alphanli.source.texts == (("It rained. He went out. He was wet.", "It rained. He swam. He was wet."),)
    convabuse = load_lewidi("convabuse", small)
    assert convabuse.votes.item_ids.tolist() == ["train/1", "dev/1", "test/1"]
    assert convabuse.votes.counts.tolist() == [[0, 0, 0, 1, 1]] * 3
    assert convabuse.source.texts == (("user: Hello\nagent: Hi!", "Go away"),) * 3
    assert convabuse.notes == tuple(
        f"ConvAbuse_{split}.json does not have the bytes that were released." for split in ("train", "dev", "test")
    )
    assert load_lewidi("armis", small).source.texts == ("Any text",) * 3


def test_politeness_is_read_where_it_is(small: Path) -> None:
    data = load_popquorn("politeness", small)
    assert (data.name, data.notes) == ("popquorn-politeness", ())  # nobody here knows the released bytes
    assert data.source.texts == ("Hm, no.", "Yes")
    assert data.votes.counts.tolist() == [[1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]
    ballots = data.votes.require_ballots("this test")
    assert (ballots.annotator_ids.tolist(), ballots.annotator.tolist()) == (["a", "b"], [1, 0, 1, 1])
    assert data.votes.notes == ("1 answer given again by the same person to the same item, and counted like any other",)
    assert same_ballots(
        ballots,
        read_votes(small / "popquorn_politeness.csv", duplicates="all", classes=["1", "2", "3", "4", "5"]).ballots,
    )


def test_every_set_loads_without_polars_and_torch(small: Path) -> None:
    names = [*RELEASED]
    script = (
        "import sys\n"
        "sys.modules['polars'] = sys.modules['torch'] = None\n"
        "from votewise.data import load_chaosnli, load_lewidi, load_popquorn\n"
        "for load, parts in ((load_chaosnli, 'snli mnli alphanli'), (load_popquorn, 'offensiveness politeness'),\n"
        "                    (load_lewidi, 'armis convabuse hs-brexit md-agreement')):\n"
        "    for part in parts.split():\n"
        "        print(load(part).name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, check=False, env={**os.environ, "VOTEWISE_DATA": str(small)},
    )  # fmt: skip
    assert (done.stderr, done.stdout.split()) == ("", [*names[:4], "popquorn-politeness", *names[4:]])


@pytest.mark.parametrize("name", [*RELEASED, "popquorn-politeness"])
def test_every_set_can_be_trained_on(small: Path, name: str) -> None:
    data = load(name, small)
    material = prepare(data, find_model("ngram", "text"))
    assert len(material.inputs) == data.votes.n_items
    assert material.form.text_column == data.source.form.text_column


def test_an_archive_with_several_files_is_listed_once(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "lewidi-armis", "--data", str(small), "-q"]) == 0
    assert capsys.readouterr().out.endswith(", LeWiDi_2-2023\n  lewidi_2023.zip: found\n")
    assert main(["datasets", "lewidi-armis", "--data", str(small), "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)["datasets"]
    assert told["files"] == [{"name": "lewidi_2023.zip", "state": "found", "instead": []}]


def test_missing_files_are_named_with_what_to_do(tmp_path: Path) -> None:
    place = repr(str(tmp_path))
    elsewhere = (
        f"in {place}; if they are elsewhere, name that folder (--data on the command line) or set VOTEWISE_DATA to it."
    )
    copy = (
        "https://raw.githubusercontent.com/jsbaan/calibration-on-disagreement-data/"
        "990e81cacadac5d0268160d1c02bad19d4ddb9a3/data/chaosNLI_v1.0/chaosNLI_mnli_m.jsonl"
    )
    assert refusal(load_chaosnli, "mnli", tmp_path) == (
        f"the data set chaosnli-mnli must be in {place}, but it lacks chaosNLI_mnli_m.jsonl. Run 'votewise datasets fetch "
        f"chaosnli-mnli', or get chaosNLI_mnli_m.jsonl by hand from {copy} and place it {elsewhere}"
    )
    assert refusal(load_popquorn, "politeness", tmp_path) == (
        f"the data set popquorn-politeness must be in {place}, but it lacks popquorn_politeness.csv. You can get "
        "popquorn_politeness.csv by hand from github.com/Jiaxin-Pei/Potato-Prolific-Dataset, "
        f"dataset/politeness_rating/raw_data.csv and place it {elsewhere}"
    )
    lacking = [f"ArMIS_{split}.json" for split in ("train", "dev", "test")]
    assert refusal(load_lewidi, "armis", tmp_path) == (
        f"the data set lewidi-armis must be in {place}, but it lacks "
        f"{' and '.join(f'{file} (or lewidi_2023.zip)' for file in lacking)}. You can get {' and '.join(lacking)} by hand "
        f"from github.com/Le-Wi-Di/le-wi-di.github.io, LeWiDi_2-2023 and place them {elsewhere}"
    )


def test_unknown_parts() -> None:
    assert refusal(load_chaosnli, "alpha-nli") == (
        "the part of ChaosNLI must be one of snli, mnli, alphanli, but got 'alpha-nli'. Did you mean 'alphanli'?"
    )
    assert "the part of POPQUORN must be one of offensiveness, politeness, but got 'qa'" in refusal(load_popquorn, "qa")
    assert "the part of LeWiDi must be one of armis, convabuse, hs-brexit, md-agreement" in refusal(load_lewidi, "x")


def chaos(**changes: object) -> bytes:
    return json.dumps(CHAOS[0] | changes).encode()


WRONG_CHAOS = {
    "no example": (
        chaos(example=None),
        "an example of this part of ChaosNLI has the texts 'premise', 'hypothesis', but item 'x1' lacks some. Take the file as "
        "released.",
    ),
    "a text that is none": (chaos(example={"premise": "A dog runs.", "hypothesis": 3}), "but item 'x1' lacks some."),
    "another part": (
        json.dumps(ALPHA).encode(),
        "the class list must name every class with a vote, but it lacks '1', '2'.",
    ),
    "counts that disagree": (chaos(label_count=[7, 3, 0]), "label_counter and label_count must agree"),
    "no JSON": (b"uid", "must be JSON, but reading it failed"),
}


@pytest.mark.parametrize("case", WRONG_CHAOS)
def test_wrong_chaosnli(small: Path, case: str) -> None:
    content, message = WRONG_CHAOS[case]
    (small / "chaosNLI_snli.jsonl").write_bytes(content)
    assert message in refusal(load_chaosnli, "snli", small)


WRONG_POPQUORN = {
    "another question": (
        "\n".join([HEADER.format("rating"), *RATINGS]),
        "the file {} must have the columns instance_id, user_id, text, offensiveness, but it lacks offensiveness. Take the file "
        "as released.",
    ),
    "nothing": ("", "it lacks instance_id and user_id and text and offensiveness."),
    "no ratings": (
        HEADER.format("offensiveness"),
        "a data set needs at least one vote, but it has none. Take the files as released.",
    ),
    "a rating beyond": (
        "\n".join([HEADER.format("offensiveness"), *RATINGS, "9,c,Yes,6.0,,,,,"]),
        "each vote must be one of 1, 2, 3, 4, 5, but item '9' got '6'. Take the files as released.",
    ),
    "a rating between": ("\n".join([HEADER.format("offensiveness"), *RATINGS, "9,c,Yes,2.5,,,,,"]), "but item '9' got '2.5'."),
    "a row cut off": ("\n".join([HEADER.format("offensiveness"), *RATINGS, "9,c"]), "those of item '9' have different ones."),
    "two texts": (
        "\n".join([HEADER.format("offensiveness"), *RATINGS, "9,c,No,1.0,,,,,"]),
        "all rows of an item must have its text, but those of item '9' have different ones. Take the file as released.",
    ),
    "a quote left open": (
        "\n".join([HEADER.format("offensiveness"), *RATINGS, '9,c,"Yes,1.0,,,,,']),
        "the file {} must be a table, but reading it failed: unexpected end of data. Get it again.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_POPQUORN)
def test_wrong_popquorn(small: Path, case: str) -> None:
    content, message = WRONG_POPQUORN[case]
    path = small / "popquorn_offensiveness.csv"
    path.write_text(content, encoding="utf-8")
    assert message.format(repr(str(path))) in refusal(load_popquorn, "offensiveness", small)


GOOD = {"text": "x", "annotators": "Ann1", "annotations": "1"}
WRONG_LEWIDI: dict[str, tuple[str, object, str]] = {
    "no text": (
        "armis",
        {"1": {**GOOD, "text": None}},
        "each item needs a text, but item 'train/1' has another or none. Take the files as released.",
    ),
    "no conversation": (
        "convabuse",
        {"1": GOOD},
        "each item needs a conversation of four turns, but item 'train/1' has another or none. Take the files as released.",
    ),
    "a conversation without its end": (
        "convabuse",
        {"1": {**GOOD, "text": json.dumps({**TURNS, "user": None})}},
        "each item needs a conversation of four turns, but item 'train/1' has another or none.",
    ),
    "a conversation nested without end": (
        "convabuse",
        {"1": {**GOOD, "text": "[" * 100_000}},
        "each item needs a conversation of four turns, but item 'train/1' has another or none.",
    ),
    "votes held back": (
        "armis",
        {"1": GOOD, "2": {**GOOD, "annotations": ""}},
        "votes and text must have the same items, but got 1 text without votes ('train/2').",
    ),
    "no annotators": ("armis", {"1": {"text": "x", "annotations": "1"}}, "item 'train/1' has text and null."),
    "another class": ("armis", {"1": {**GOOD, "annotations": "2"}}, "each vote must be one of 0, 1, but item 'train/1' got '2'."),
    "a list": ("armis", [GOOD], "ArMIS_train.json must hold items by number, but it holds a list. Take the files as released."),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_LEWIDI)
def test_wrong_lewidi(small: Path, case: str) -> None:
    part, content, message = WRONG_LEWIDI[case]
    (small / RELEASES[f"lewidi-{part}"].parts[0][0].name).write_text(json.dumps(content), encoding="utf-8")
    assert message in refusal(load_lewidi, part, small)


def test_wrong_archives_of_lewidi(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = small / "lewidi_2023.zip"
    monkeypatch.setattr("votewise.data.lewidi._MOST_BYTES", 100)
    assert refusal(load_lewidi, "armis", small) == (
        f"{str(path)!r} must be an archive, but reading it failed: ArMIS_train.json unpacks to more than 100 bytes. Get it again."
    )
    path.write_bytes(path.read_bytes()[:-40])
    assert refusal(load_lewidi, "armis", small) == (
        f"{str(path)!r} must be an archive, but reading it failed: File is not a zip file. Get it again."
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.md", "")
    assert refusal(load_lewidi, "armis", small) == (
        f"{str(path)!r} must hold ArMIS_train.json, but it does not. Take the files as released."
    )
