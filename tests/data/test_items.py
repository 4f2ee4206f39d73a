"""What is kept of a data set beside its runs: everything a page shows, within bounds that are told."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from own_data import picture, refusal, votes_on
from votewise import read_votes
from votewise.data import InputSource, item_data, join_inputs, open_images
from votewise.data.images import ImageArrays
from votewise.data.tables import Features
from votewise.data.texts import Texts
from votewise.records.items import stored_picture_type

LOREM = "All work and no play makes Jack a dull boy. "


def items_of(source: InputSource, **options: object):  # type: ignore[no-untyped-def]
    return item_data(join_inputs(votes_on(*map(str, range(len(source)))), source, name="d"), **options)  # type: ignore[arg-type]


def test_texts_are_kept_and_long_ones_cut() -> None:
    items = items_of(Texts(None, ("", LOREM, LOREM * 100, "x" * 2000)))
    assert items.texts == ("", LOREM, (LOREM * 100)[:2000] + "…", "x" * 2000)
    assert items.notes == ("1 text is kept for pages up to 2,000 characters.",)
    assert (items.name, items.pictures, items.paths) == ("d", None, None)


def test_each_text_of_a_pair_is_cut() -> None:
    items = items_of(Texts(None, (("x" * 2001, "short"), ("a", "b"), ("short", "y" * 3000))))
    assert items.texts == (("x" * 2000 + "…", "short"), ("a", "b"), ("short", "y" * 2000 + "…"))
    assert items.notes == ("2 texts are kept for pages up to 2,000 characters.",)


def test_too_many_texts_are_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = Texts(None, (LOREM,) * 5), Texts(None, (LOREM,) * 50)
    monkeypatch.setattr("votewise.data.items.MOST_TEXT_BYTES", 1000)
    assert items_of(few).texts == few.texts
    items = items_of(many)
    assert items.texts is None
    assert items.notes == ("The texts are not kept for pages: together they have more than 0 MiB.",)
    assert items.votes.n_items == 50


def test_images_are_kept_small_with_their_paths(tmp_path: Path) -> None:
    for name, size in (("0", (640, 480)), ("sub/1", (20, 30))):
        picture(tmp_path / f"{name}.png", (10, 200, 30), size)
    dataset = join_inputs(votes_on("sub/1", "0"), open_images(tmp_path), name="d")
    seen: list[int] = []

    def track(rows: object) -> object:
        for row in rows:  # type: ignore[attr-defined]
            seen.append(row)
            yield row

    items = item_data(dataset, track=track)  # type: ignore[arg-type]
    assert items.paths == (str(tmp_path / "sub/1.png"), str(tmp_path / "0.png"))
    assert set(map(stored_picture_type, items.pictures)) == {"image/webp"}  # type: ignore[arg-type]
    assert seen == [0, 1]
    hidden = item_data(dataset, shown=False)
    assert (hidden.texts, hidden.pictures, hidden.paths) == (None, None, None)
    assert hidden.votes.item_ids.tolist() == ["sub/1", "0"]


def test_too_many_pictures_are_left_out_with_a_note_and_no_more_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).integers(0, 256, size=(9, 32, 32, 3), dtype=np.uint8)
    size = len(items_of(ImageArrays(None, noise[:1])).pictures[0])
    monkeypatch.setattr("votewise.data.items.MOST_PICTURE_BYTES", 2 * size)
    seen: list[int] = []
    items = items_of(ImageArrays(None, noise), track=lambda rows: (seen.append(row) or row for row in rows))
    assert items.pictures is None
    assert items.notes == ("The pictures are not kept for pages: together they have more than 0 MiB.",)
    assert len(seen) < 5


def test_too_many_paths_are_left_out_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture(tmp_path / "0.png", (1, 2, 3))
    monkeypatch.setattr("votewise.data.items.MOST_TEXT_BYTES", 5)
    items = items_of(open_images(tmp_path))
    assert (items.paths, len(items.pictures)) == (None, 1)
    assert items.notes == ("The paths are not kept for pages: together they have more than 0 MiB.",)


def test_images_in_memory_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    items = items_of(ImageArrays(None, np.zeros((2, 8, 8, 3), np.uint8)))
    assert items.pictures is None
    assert items.notes == (
        "Pictures are not kept for pages: making pictures of the items needs the package pillow, which is not installed. "
        "Install it with: pip install 'votewise[train]'.",
    )


def test_a_broken_image_is_an_error_as_in_training(tmp_path: Path) -> None:
    picture(tmp_path / "0.png", (1, 2, 3))
    (tmp_path / "1.png").write_bytes(b"no image")
    assert "every image must be readable, but 1 of 2 cannot be read (" in refusal(items_of, open_images(tmp_path))


def test_features_show_nothing_and_single_votes_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("item,annotator,label\na,p,x\na,q,y\nb,p,x\n", encoding="utf-8")
    votes = read_votes(tmp_path / "v.csv")
    assert votes.ballots is not None
    dataset = join_inputs(votes, Features(None, np.zeros((2, 1), np.float32)), name="d")
    items = item_data(dataset)
    assert (items.texts, items.pictures, items.paths, items.notes) == (None, None, None, ())
    assert items.votes.ballots is None
    np.testing.assert_array_equal(items.votes.probs, votes.probs)
    assert items.votes.provenance == votes.provenance
