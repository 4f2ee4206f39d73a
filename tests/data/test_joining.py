"""Inputs and votes joined by id, and the checksum that tells data apart."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from own_data import refusal, votes_on
from votewise import Votes
from votewise.data import InputSource, join_inputs, open_features, prepare
from votewise.data.joining import data_checksum
from votewise.data.tables import Features


def features_of(tmp_path: Path, *ids: str) -> InputSource:
    pl.DataFrame({"item": ids, "x": [float(i) for i in range(len(ids))]}).write_csv(tmp_path / "f.csv")
    return open_features(tmp_path / "f.csv")


def test_items_that_only_one_side_knows(tmp_path: Path) -> None:
    votes = votes_on("a", "b", "c")
    assert refusal(join_inputs, votes, features_of(tmp_path, "a", "c"), name="d") == (
        "votes and features must have the same items, but got 1 item without features ('b'). "
        "Use the same ids in both, add what is missing, or leave these out with --missing-inputs drop."
    )
    assert refusal(join_inputs, votes, features_of(tmp_path, "a", "b", "c", "d", "<i>"), name="d") == (
        "votes and features must have the same items, but got 2 rows of features without votes ('d', '<i>'). "
        "Use the same ids in both, add what is missing, or leave these out with --missing-inputs drop."
    )
    typo = refusal(join_inputs, votes, features_of(tmp_path, "a", "zzz", "c"), name="d")
    assert "but got 1 item without features ('b') and 1 row of features without votes ('zzz')." in typo
    material = prepare(join_inputs(votes, features_of(tmp_path, "z", "c", "a"), name="d", missing="drop"))
    assert material.votes.item_ids.tolist() == ["a", "c"]
    assert material.inputs.tolist() == [[2], [1]]
    assert material.notes == ("Left out: 1 item without features ('b') and 1 row of features without votes ('z').",)
    strangers = refusal(join_inputs, votes, features_of(tmp_path, "x", "y"), name="d", missing="drop")
    assert strangers.startswith(
        "votes and features must share item ids, but they share none: the votes have 'a', 'b', 'c', the features 'x', "
        "'y'. Use the same ids in both;"
    )


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1), min_size=1, unique=True),
    st.randoms(),
)
@settings(max_examples=30)
def test_whatever_items_are_called_each_gets_its_own_input(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], chance: object
) -> None:
    folder = tmp_path_factory.mktemp("names")
    shuffled = list(names)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    pl.DataFrame({"item": shuffled, "x": [float(names.index(name)) for name in shuffled]}).write_parquet(
        folder / "f.parquet"
    )
    material = prepare(join_inputs(votes_on(*names), open_features(folder / "f.parquet"), name="d"))
    assert material.inputs[:, 0].tolist() == [float(i) for i in range(len(names))]


def test_the_checksum_tells_data_apart(tmp_path: Path) -> None:
    same = [join_inputs(votes_on("a", "b"), features_of(tmp_path, *ids), name="d") for ids in (("a", "b"), ("a", "b"))]
    assert same[0].checksum == same[1].checksum
    assert re.fullmatch("[0-9a-f]{64}", same[0].checksum)
    others = [
        join_inputs(votes_on("a", "b"), features_of(tmp_path, "b", "a"), name="d"),
        join_inputs(votes_on("b", "a"), features_of(tmp_path, "a", "b"), name="d"),
        join_inputs(Votes.from_counts([[1, 2], [2, 1]], item_ids=["a", "b"], classes=["no", "yes"]), features_of(tmp_path, "a", "b"), name="d"),
        join_inputs(Votes.from_counts([[1, 2], [1, 2]], item_ids=["a", "b"], classes=["no", "si"]), features_of(tmp_path, "a", "b"), name="d"),
    ]  # fmt: skip
    assert len({same[0].checksum, *(other.checksum for other in others)}) == 5


def test_the_checksum_of_features_and_of_images_in_memory_never_changes() -> None:
    """Stored runs on users' tables and archives are named by it."""
    counts = np.array([[3, 1, 0], [0, 2, 2], [1, 0, 5]])
    votes = Votes.from_counts(counts, item_ids=["ä", "b", "\ud800"], classes=["no", "yes", "?"])
    features_checksum = "2963e5673dce77ea6cd476d36770bb238a7dcebc25225e653e67db8cd6da5aad"
    features = Features(None, np.arange(6, dtype=np.float32).reshape(3, 2))
    assert data_checksum(features, votes) == features_checksum
    assert data_checksum(features.take(np.arange(3)), votes) == features_checksum
    shares = Votes.from_probabilities(counts / counts.sum(axis=1, keepdims=True), item_ids=["ä", "b", "c"])
    assert data_checksum(Features(votes.item_ids, np.asfortranarray(features.values)), shares) == (
        "a92621b4e770a5813b20b2d11bcea0010269b5fce1bc66555761f1072245088e"
    )
