"""A data set, its parts and what it is prepared to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from own_data import picture, refusal, votes_on
from votewise.data import Dataset, InputSource, Prepared, join_inputs, open_images, prepare
from votewise.data.images import ImageArrays
from votewise.data.tables import Features
from votewise.data.texts import Texts
from votewise.models import find_model

IDS = ("a", "b", "c", "d")
PIXELS = np.random.default_rng(0).integers(0, 256, size=(4, 32, 32, 3), dtype=np.uint8)


@pytest.fixture(params=["features", "text", "images", "files"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> InputSource:
    """Four items of each kind of input."""
    ids = votes_on(*IDS).item_ids
    if request.param == "files":
        for name, colour in zip(IDS, PIXELS[:, 0, 0].tolist(), strict=True):
            picture(tmp_path / f"{name}.png", tuple(colour))
        return open_images(tmp_path)
    return {
        "features": Features(ids, np.arange(8, dtype=np.float32).reshape(4, 2)),
        "text": Texts(ids, ("ab", "cd", "ef", "gh")),
        "images": ImageArrays(ids, PIXELS),
    }[request.param]


def prepared(dataset: Dataset) -> Prepared:
    kind = dataset.source.kind
    return prepare(dataset, find_model({"features": "mlp", "text": "ngram", "images": "small-cnn"}[kind], kind))


def test_some_items_are_the_same_whenever_they_are_taken(source: InputSource) -> None:
    dataset = join_inputs(votes_on(*IDS), source, name="d")
    rows = np.array([2, 0])
    before, after = prepared(dataset.take(rows)), prepared(dataset).take(rows)
    np.testing.assert_array_equal(before.inputs, after.inputs)
    assert before.votes.item_ids.tolist() == after.votes.item_ids.tolist() == ["c", "a"]
    assert before.checksum == after.checksum
    assert before.form == after.form
    expected = hashlib.sha256(dataset.checksum.encode() + rows.astype("<i8").tobytes()).hexdigest()
    assert before.checksum == expected  # stored runs of the paper's small suite are named by it


def test_inputs_follow_the_votes(source: InputSource) -> None:
    forwards = prepared(join_inputs(votes_on(*IDS), source, name="d"))
    backwards = prepared(join_inputs(votes_on(*IDS[::-1]), source, name="d"))
    np.testing.assert_array_equal(forwards.inputs, backwards.inputs[::-1])
    assert forwards.checksum != backwards.checksum


def test_the_same_inputs_joined_twice_have_one_checksum(source: InputSource) -> None:
    shuffled = source.take(np.array([3, 1, 0, 2]))
    first, second = (join_inputs(votes_on(*IDS), one, name=name) for one, name in ((source, "d"), (shuffled, "e")))
    assert first.checksum == second.checksum


def test_labels_are_taken_too_and_must_fit() -> None:
    votes, source = votes_on(*IDS), Texts(None, IDS)
    dataset = Dataset("d", source, votes, "c" * 64, np.array([0, 1, 1, 0]), ("a note.",))
    some = dataset.take(np.array([3, 1]))
    assert (some.labels.tolist(), some.notes, some.source.texts) == ([0, 1], ("a note.",), ("d", "b"))  # type: ignore[union-attr]
    material = prepared(some)
    assert (material.hard_labels.tolist(), material.notes) == ([0, 1], ("a note.",))
    assert refusal(Dataset, "d", source, votes_on("a"), "c" * 64) == (
        "text must have a row for each of 1 items, but got 4. Line them up with the votes."
    )
    assert "labels must have a row for each of 4 items, but got 1" in refusal(
        Dataset, "d", source, votes, "c" * 64, np.array([1])
    )


def test_any_object_may_be_the_model() -> None:
    """A pretrained encoder, say: prepare needs its size and how it encodes texts, and no torch."""

    class Lengths:
        size = encoder = None
        cached_as = ""

        @staticmethod
        def encode(texts: Iterable[str], track: object) -> tuple[np.ndarray, tuple[str, ...]]:
            return np.array([[len(text)] for text in texts], dtype=np.float32), ("Only lengths.",)

        def check(self, shape: tuple[int, ...]) -> None:
            assert shape == (1,)

    material = prepare(join_inputs(votes_on("a", "b"), Texts(None, ("x", "xyz")), name="d"), Lengths())
    assert material.inputs.tolist() == [[1], [3]]
    assert material.notes == ("Only lengths.",)
