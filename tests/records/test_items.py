"""The data kept beside runs: what goes in comes out, and nothing else is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from votewise import InputError, Votes
from votewise.records import DamagedRecordError, ItemData, RecordStore, RunRecord, read_items, write_items
from votewise.records.items import ITEMS_VERSION, stored_picture_type

COUNTS = np.array([[3, 1], [0, 2], [1, 1]])
VOTES = replace(
    Votes.from_counts(COUNTS, item_ids=["ä/1", "<b>", "\ud800"], classes=["no", "\udfff"]),
    provenance="counts, items in 'x'",
    notes=("One row was empty.",),
)
PNG, WEBP = b"\x89PNG\r\n\x1a\n" + b"p" * 30, b"RIFF\x10\0\0\0WEBP" + b"w" * 16
CHECKSUM = "c" * 64


def full() -> ItemData:
    return ItemData(
        "pets & co",
        VOTES,
        np.array([0, 1, 1]),
        ("", "a\nb\0", "half \ud83d"),
        (PNG, WEBP, PNG),
        ("x/1.png", "x/\udcff.png", ""),
        ("Left out: 1 item.",),
    )


def same(first: ItemData, second: ItemData) -> bool:
    for name in ("item_ids", "classes", "counts", "stated", "provenance", "notes"):
        one, other = getattr(first.votes, name), getattr(second.votes, name)
        if (one is None) != (other is None) or not np.array_equal(
            one if one is not None else 0, other if other is not None else 0
        ):
            return False
    labels = (first.labels is None) == (second.labels is None) and (
        first.labels is None or np.array_equal(first.labels, second.labels)  # type: ignore[arg-type]
    )
    return labels and all(
        getattr(first, name) == getattr(second, name) for name in ("name", "texts", "pictures", "paths", "notes")
    )


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path / "runs")


def kept(store: RecordStore) -> Path:
    """The folder of the one data set that is kept."""
    (name,) = RecordStore(store.folder / "data").ids()
    return store.folder / "data" / name


@pytest.mark.parametrize(
    "lacking", [(), ("texts",), ("pictures",), ("labels", "paths"), ("texts", "pictures", "paths", "labels")]
)
def test_what_is_written_is_read(store: RecordStore, lacking: tuple[str, ...]) -> None:
    data = replace(full(), **dict.fromkeys(lacking))
    write_items(store, CHECKSUM, data)
    found = read_items(RecordStore(store.folder))
    assert list(found) == [CHECKSUM]
    assert same(found[CHECKSUM], data)


def test_shares_and_several_data_sets(store: RecordStore) -> None:
    shares = Votes.from_probabilities([[0.25, 0.75], [1 / 3, 2 / 3]])
    write_items(store, "a", ItemData("one", shares))
    write_items(store, "b", ItemData("two", VOTES))
    found = read_items(store)
    assert {checksum: items.name for checksum, items in found.items()} == {"a": "one", "b": "two"}
    np.testing.assert_array_equal(found["a"].votes.probs, shares.probs)
    assert found["a"].votes.counts is None


def test_no_data_is_no_error(store: RecordStore) -> None:
    assert read_items(store) == {}
    assert not store.folder.exists()


@given(
    st.lists(st.tuples(st.text(), st.binary(max_size=30), st.integers(0, 9)), min_size=1, max_size=8),
    st.sampled_from(["texts", "pairs", "pictures"]),
)
@settings(max_examples=25, deadline=None)
def test_any_items_survive(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, bytes, int]], kind: str
) -> None:
    store = RecordStore(tmp_path_factory.mktemp("runs"))
    votes = Votes.from_counts(
        [[1, number] for _, _, number in rows], item_ids=[f"{place}{text}x" for place, (text, _, _) in enumerate(rows)]
    )
    data = ItemData(
        "d",
        votes,
        texts={
            "texts": tuple(text for text, _, _ in rows),
            "pairs": tuple((text, str(number)) for text, _, number in rows),
        }.get(kind),
        pictures=tuple(PNG + picture for _, picture, _ in rows) if kind == "pictures" else None,
    )
    write_items(store, CHECKSUM, data)
    assert same(read_items(store)[CHECKSUM], data)


def test_the_first_stay_unless_the_second_show_more(store: RecordStore) -> None:
    bare = replace(full(), texts=None, pictures=None, paths=None)
    write_items(store, CHECKSUM, bare)
    write_items(store, CHECKSUM, replace(full(), name="shown"))
    assert read_items(store)[CHECKSUM].texts == full().texts
    written = {path: path.stat().st_mtime_ns for path in kept(store).iterdir()}
    write_items(store, CHECKSUM, bare)
    write_items(store, CHECKSUM, replace(full(), name="again"))
    assert read_items(store)[CHECKSUM].name == "shown"
    assert {path: path.stat().st_mtime_ns for path in kept(store).iterdir()} == written


def test_runs_are_not_mistaken_for_data_nor_data_for_runs(store: RecordStore) -> None:
    store.write(RunRecord(config={"method": "soft"}, status="failed", failure="no."))
    write_items(store, CHECKSUM, full())
    assert len(store.ids()) == 1
    assert list(read_items(store)) == [CHECKSUM]


# --- damage and hostility


@pytest.mark.parametrize(
    "name", ["about.json", "texts.json", "paths.json", "pictures.bin", "arrays.npz", "record.json"]
)
@pytest.mark.parametrize(
    "damage",
    [lambda path: path.write_bytes(path.read_bytes()[:-1] + b"?"), Path.unlink, lambda path: path.write_bytes(b"")],
)
def test_a_changed_file_is_noticed_and_can_be_written_again(
    store: RecordStore, name: str, damage: Callable[[Path], object]
) -> None:
    write_items(store, CHECKSUM, full())
    damage(kept(store) / name)
    with pytest.raises(DamagedRecordError, match="must be undamaged"):
        read_items(store)
    write_items(store, CHECKSUM, full())
    assert same(read_items(store)[CHECKSUM], full())


ARRAYS = {"counts": COUNTS, "labels": np.array([0, 1, 1]), "picture_ends": np.array([38, 66, 104])}
ABOUT = {
    "name": "d",
    "item_ids": ["a", "b", "c"],
    "classes": ["x", "y"],
    "provenance": "",
    "notes_on_votes": [],
    "notes": [],
}


def hostile(store: RecordStore, arrays: dict[str, np.ndarray], files: dict[str, bytes]) -> None:
    """A record whose checksums are all right."""
    record = RunRecord(config={"items_of": CHECKSUM, "version": ITEMS_VERSION}, status="done", arrays=arrays)
    writers = {name: lambda path, content=content: path.write_bytes(content) for name, content in files.items()}
    RecordStore(store.folder / "data").write(record, writers)


GOOD = {
    "about.json": json.dumps(ABOUT).encode(),
    "texts.json": b'["x", "y", "z"]',
    "pictures.bin": PNG + WEBP + PNG,
}


def test_the_record_of_these_tests_is_right(store: RecordStore) -> None:
    hostile(store, ARRAYS, GOOD)
    items = read_items(store)[CHECKSUM]
    assert (items.texts, items.pictures) == (("x", "y", "z"), (PNG, WEBP, PNG))


@pytest.mark.parametrize(
    "changes",
    [
        {"about.json": b"[]"},
        {"about.json": b"{"},
        {"about.json": b"\xff\xfe"},
        {"about.json": b"[" * 100_000},
        {"about.json": json.dumps({**ABOUT, "item_ids": ["a", "a", "c"]}).encode()},
        {"about.json": json.dumps({**ABOUT, "item_ids": ["a", "b"]}).encode()},
        {"about.json": json.dumps({**ABOUT, "item_ids": [1, 2, 3]}).encode()},
        {"about.json": json.dumps({**ABOUT, "classes": ["x"]}).encode()},
        {"about.json": json.dumps({**ABOUT, "classes": "xy"}).encode()},
        {"about.json": json.dumps({**ABOUT, "notes": [{"a": 1}]}).encode()},
        {"texts.json": b'["x", "y"]'},
        {"texts.json": b'["x", "y", 3]'},
        {"texts.json": b'[["a", "b"], ["c", "d"], "ef"]'},
        {"texts.json": b'[["a", "b"], ["c", "d"], ["e"]]'},
        {"texts.json": b'[["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]]'},
        {"texts.json": b'{"x": 1, "y": 2, "z": 3}'},
        {"pictures.bin": PNG + WEBP + PNG + b"more"},
        {"pictures.bin": b"<svg onload=alert(1)>" + b" " * 83},
        {"counts": COUNTS - 3},
        {"counts": COUNTS * 0},
        {"counts": np.array(["a", "b", "c"])},
        {"counts": COUNTS[:2]},
        {"labels": np.array([0, 1, 2])},
        {"labels": np.array([0.0, 1.0, 1.0])},
        {"labels": np.array([0, 1])},
        {"picture_ends": np.array([104, 66, 104])},
        {"picture_ends": np.array([38, 38, 104])},
        {"picture_ends": np.array([-38, 66, 104])},
        {"picture_ends": np.array([38, 104])},
        {"picture_ends": np.array([[38, 66, 104]])},
        {"picture_ends": np.array(["a", "b", "c"])},
        {"picture_ends": np.array([38.5, 66, 104])},
    ],
    ids=lambda changes: next(iter(changes)),
)  # fmt: skip
def test_nothing_else_passes_for_the_data_of_runs(store: RecordStore, changes: dict[str, object]) -> None:
    arrays = {**ARRAYS, **{name: value for name, value in changes.items() if name in ARRAYS}}
    files = {**GOOD, **{name: value for name, value in changes.items() if name in GOOD}}
    hostile(store, arrays, files)  # type: ignore[arg-type]
    with pytest.raises(DamagedRecordError, match="it does not hold the data of runs"):
        read_items(store)


@pytest.mark.parametrize("missing", ["about.json", "pictures.bin", "counts"])
def test_nothing_may_be_missing(store: RecordStore, missing: str) -> None:
    hostile(
        store,
        {name: value for name, value in ARRAYS.items() if name != missing},
        {name: value for name, value in GOOD.items() if name != missing},
    )
    with pytest.raises(DamagedRecordError):
        read_items(store)


def test_files_larger_than_any_that_is_written_are_not_read(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_items(store, CHECKSUM, full())
    monkeypatch.setattr("votewise.records.items._LIMITS", {"texts.json": 5})
    with pytest.raises(DamagedRecordError, match=r"texts\.json is larger than any that is written"):
        read_items(store)
    with pytest.raises(InputError, match=r"^texts\.json must have at most 5 bytes, but it has \d+\. Leave it out\.$"):
        write_items(store, "d" * 64, full())


def test_another_version_is_not_guessed_at(store: RecordStore) -> None:
    record = RunRecord(config={"items_of": CHECKSUM, "version": ITEMS_VERSION + 1}, status="done")
    RecordStore(store.folder / "data").write(record)
    with pytest.raises(InputError, match=r"must be of version 1, but got 2\. Read them with a newer votewise\.$"):
        read_items(store)


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match=r"^texts must have a row for each of 3 items, but got 1\. Add them\.$"):
        ItemData("d", VOTES, texts=("x",))
    with pytest.raises(InputError, match=r"^pictures must be PNG or WebP files, but some are not\. Convert them\.$"):
        ItemData("d", VOTES, pictures=(PNG, b"<svg>", PNG))
    assert [stored_picture_type(picture) for picture in (PNG, WEBP, b"", b"\xff\xd8\xff")] == [
        "image/png",
        "image/webp",
        "",
        "",
    ]
