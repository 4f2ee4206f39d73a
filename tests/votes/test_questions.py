"""What the messages of refused tables explain beside their command holds as well."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from votewise import InputError, read_votes

from .field_shapes import FIELDS
from .outcomes import alike, as_truth
from .shapes import Shape

BY_NAME = {shape.name: shape for shape in FIELDS}


def asked(name: str, folder: Path) -> tuple[Path, Shape, str]:
    """The file of a shape, the shape, and the message of the refusal."""
    shape = BY_NAME[name]
    path = folder / shape.file
    path.write_bytes(shape.content)
    with pytest.raises(InputError) as error:
        read_votes(path)
    return path, shape, str(error.value)


@pytest.mark.parametrize("word", ["not read", "NR", "?", "n.d.", "abstain"])
def test_a_word_for_no_answer_is_a_gap_or_a_class(word: str, tmp_path: Path) -> None:
    path, shape, message = asked(f"a word for no reading: {word}", tmp_path)
    assert f"{word!r} may be either (if it is a class, say classes=" in message
    assert shape.truth is not None
    gone, kept = read_votes(path, gap=word), read_votes(path, classes=["normal", "abnormal", "borderline", word])
    assert alike(as_truth(gone), shape.truth)
    assert alike(as_truth(kept), shape.choices[0])


def test_sides_that_change_are_refused_unless_they_are_meant(tmp_path: Path) -> None:
    path, shape, message = asked("left or right, sides change", tmp_path)
    assert "'choice' names a side ('" in message
    assert "what stands in 'left', 'right' changes within an item" in message
    with pytest.raises(InputError, match="names a side"):
        read_votes(path, item="item", annotator="rater", label="choice")
    votes = read_votes(path, ignore="left,right")
    assert votes.classes == ("left", "right")
    assert votes.n_items == len(shape.choices[0])


def test_another_group_of_columns_is_another_question(tmp_path: Path) -> None:
    path, shape, message = asked("0 and 1 for each rater and class", tmp_path)
    assert (
        "a column for each of 3 annotators ('R1', 'R2', 'R3') and 4 classes ('joy', 'anger', 'fear', 'none'" in message
    )
    for name, truth in zip(("joy", "anger", "fear", "none"), shape.choices, strict=True):
        votes = read_votes(path, item="text_id", raters=[f"R{place}_{name}" for place in (1, 2, 3)])
        assert alike(as_truth(votes), truth)


def test_ids_that_restart_may_be_those_of_items_all_the_same(tmp_path: Path) -> None:
    path, _, message = asked("numbers that restart in each batch, item_id", tmp_path)
    assert "the same item_id has different values of 'text'; with 'batch' it names one" in message
    assert read_votes(path, item="item_id", annotator="annotator_id").n_items == 8


def test_objects_may_count_votes(tmp_path: Path) -> None:
    path, _, message = asked("objects of the same two people", tmp_path)
    assert "say split='counts', --split counts, if they count votes" in message
    assert read_votes(path, label="scores", split="counts").classes == ("anna", "ben")


def _table(rows: list[dict[str, Any]], path: Path) -> Path:
    path.write_text("\n".join(",".join(map(str, row)) for row in (rows[0], *(row.values() for row in rows))) + "\n")
    return path


def test_a_count_beside_an_annotators_votes_is_asked_about(tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = [
        {"item": n, "worker": f"w{w}", "label": rng.choice("ab"), "count": rng.randint(1, 4)}
        for n in range(12)
        for w in range(4)
    ]
    path = _table(rows, tmp_path / "counts.csv")
    with pytest.raises(InputError, match="'count' may count something else than votes"):
        read_votes(path)
    assert read_votes(path, ignore="count").counts.sum() == len(rows)
    assert read_votes(path, count="count").counts.sum() == sum(row["count"] for row in rows)


def test_results_are_no_people_unless_they_are_meant(tmp_path: Path) -> None:
    path, _, message = asked("XQ, blank where all agree", tmp_path)
    assert "'XQ' is filled in only where the others differ" in message
    assert read_votes(path, item="Para ID", raters=["AB", "CN", "RT", "XQ"]).counts.sum() > 72
    _, _, message = asked("a row of Expert panel among pathologists", tmp_path)
    assert "'Expert panel' in 'Pathologist' is named like what is made of votes" in message
    _, _, message = asked("Statistik below the votes", tmp_path)
    assert "'Statistik' in 'Clip' may be a statistic below the votes" in message


def test_the_best_of_numbered_raters_is_a_person(tmp_path: Path) -> None:
    rng = random.Random(6)
    rows = []
    for n in range(60):
        said = [rng.choice("abc") for _ in range(4)]
        rows.append({"item": f"x{n}", **{f"rater{k}": word for k, word in enumerate(said)}})
        rows[-1]["rater4"] = max(sorted({*said}), key=said.count)
    assert read_votes(_table(rows, tmp_path / "best.csv")).counts.sum() == 300


def test_what_people_are_unsure_of_is_a_class_sooner_than_a_gap(tmp_path: Path) -> None:
    path, shape, message = asked("unsure, long", tmp_path)
    assert "'unsure' may be either (if it means 'no answer', say gap='unsure', --gap unsure)" in message
    assert "unsure" not in read_votes(path, item="scan", gap="unsure", missing="drop").classes
    path, shape, message = asked("UNK, long", tmp_path)
    assert "'UNK' may be either (if it is a class, say classes='UNK,abnormal,borderline,normal', --classes)" in message
    assert shape.truth is not None
    assert read_votes(path, item="scan", classes=["UNK", "abnormal", "borderline", "normal"]).counts.sum() == 160


def test_items_at_the_end_are_no_statistics(tmp_path: Path) -> None:
    films = [
        *["Alien", "Brazil", "Casablanca", "Dune", "Eraserhead", "Fargo", "Gilda", "Heat", "Ikiru", "Jaws"],
        "Mean Streets",
    ]
    rng = random.Random(3)
    rows = [{"film": film, **{who: rng.choice("abc") for who in ("ann", "ben", "cleo")}} for film in films]
    assert read_votes(_table(rows, tmp_path / "films.csv")).n_items == 11
    rows = [{"item": n, **{who: rng.choice(["yes", "no", "unknown"]) for who in ("ann", "ben", "cleo")}} for n in films]
    with pytest.raises(InputError, match="'unknown' may be either"):
        read_votes(_table(rows, tmp_path / "unknown.csv"))
