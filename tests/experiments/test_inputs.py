"""Users' inputs: lined up by id, refused with the names of the offenders, never guessed."""

from __future__ import annotations

import re
import struct
import zlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from votewise import InputError, Votes
from votewise.experiments.image_inputs import open_images
from votewise.experiments.inputs import Reading, Source, join_inputs
from votewise.experiments.recipes import default_recipe
from votewise.experiments.table_inputs import open_features, open_texts

RNG = np.random.default_rng(0)


def votes_on(*ids: str) -> Votes:
    return Votes.from_counts([[1, 2]] * len(ids), item_ids=list(ids), classes=["no", "yes"])


def picture(path: Path, colour: tuple[int, int, int], size: tuple[int, int] = (32, 32), **options: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path, **options)  # type: ignore[arg-type]


def refusal(call: object, *arguments: object, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)  # type: ignore[operator]
    return str(caught.value)


# --- images in a folder


@pytest.mark.parametrize("with_suffix", [True, False])
def test_a_folder_of_images_by_name_with_and_without_suffix(tmp_path: Path, with_suffix: bool) -> None:
    colours = {"a b": (250, 0, 0), "ü": (0, 250, 0), "deep/er/c.1": (0, 0, 250)}
    suffix = {"a b": ".png", "ü": ".BMP", "deep/er/c.1": ".webp"}
    for name, colour in colours.items():
        picture(tmp_path / (name + suffix[name]), colour, **({"lossless": True} if suffix[name] == ".webp" else {}))
    picture(tmp_path / ".hidden.png", (1, 1, 1))
    picture(tmp_path / ".cache" / "x.png", (1, 1, 1))
    (tmp_path / "notes.txt").write_text("no image", encoding="utf-8")
    names = [name + suffix[name] if with_suffix else name for name in ("ü", "deep/er/c.1", "a b")]
    votes = votes_on(*names)
    material = join_inputs(votes, open_images(tmp_path, voted=votes.item_ids), name="mine")
    assert (material.kind, material.name, material.notes) == ("images", "mine", ())
    assert material.inputs.shape == (3, 32, 32, 3)
    assert material.inputs.dtype == np.uint8
    assert [tuple(image[5, 5].tolist()) for image in material.inputs] == [(0, 250, 0), (0, 0, 250), (250, 0, 0)]


def test_images_are_resized_by_the_shorter_side_and_cut_at_the_centre(tmp_path: Path) -> None:
    pixels = np.zeros((20, 60, 3), dtype=np.uint8)
    pixels[:, 20:40] = (10, 200, 30)  # the middle third is what a centred square shows
    Image.fromarray(pixels).save(tmp_path / "wide.png")
    picture(tmp_path / "fits.png", (9, 9, 9), (16, 16))
    votes = votes_on("wide", "fits")
    material = join_inputs(votes, open_images(tmp_path, size=16, voted=votes.item_ids), name="d")
    assert material.notes == ("1 of 2 images were resized and cropped to 16 x 16 pixels.",)
    assert np.abs(material.inputs[0, :, 2:-2].astype(int) - (10, 200, 30)).max() <= 1
    assert (material.inputs[1] == 9).all()


def test_orientation_transparency_palettes_and_greys(tmp_path: Path) -> None:
    upright = np.zeros((32, 32, 3), dtype=np.uint8)
    upright[:16] = 255
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    Image.fromarray(upright).save(tmp_path / "turned.png", exif=exif)
    Image.new("RGBA", (32, 32), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    Image.new("L", (32, 32), 77).save(tmp_path / "grey.png")
    palette = Image.new("P", (32, 32), 0)
    palette.putpalette([1, 2, 3] + [0] * 765)
    palette.save(tmp_path / "palette.png", transparency=b"\xff\x00")
    ids, images, _ = open_images(tmp_path).load_all()
    shown = dict(zip(ids.tolist(), images, strict=True))
    assert (shown["turned"][:15] == 0).all()
    assert (shown["turned"][17:] == 255).all()
    assert (shown["clear"] == 255).all()
    assert (shown["grey"] == 77).all()
    assert (shown["palette"] == (1, 2, 3)).all()


def bomb() -> bytes:
    """A PNG of 200 bytes that claims 60,000 x 60,000 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    )


def test_images_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    picture(tmp_path / "good.png", (1, 2, 3))
    whole = (tmp_path / "good.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[:60])
    (tmp_path / "garbage.jpg").write_bytes(b"not an image at all")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "bomb.png").write_bytes(bomb())
    Image.fromarray(np.full((32, 32), 40_000, dtype=np.uint16)).save(tmp_path / "deep.png")
    message = refusal(open_images(tmp_path).load_all)
    assert message.startswith("every image must be readable, but 5 of 6 cannot be read ('bomb.png: ")
    assert message.endswith("Fix or remove these files.")
    assert "decompression bomb" in message
    assert "deep.png: it has more than 8 bits per channel; convert it to 8" in message
    assert all(name in message for name in ("cut.png", "garbage.jpg", "empty.png"))


def test_folders_that_do_not_fit(tmp_path: Path) -> None:
    assert refusal(open_images, tmp_path) == (
        f"the folder must hold images (.png .jpg .jpeg .webp .bmp), but {str(tmp_path)!r} has none. Check the path."
    )
    assert refusal(open_images, tmp_path / "no") == (
        f"images must be in a folder or a .npz, but {str(tmp_path / 'no')!r} does not exist. Check the path."
    )
    picture(tmp_path / "a.png", (1, 1, 1))
    picture(tmp_path / "a.jpg", (1, 1, 1))
    assert refusal(open_images, tmp_path, voted=votes_on("a").item_ids) == (
        "each item must have one image, but some have two ('a.jpg and a.png'). "
        "Remove one of each, or name items with their suffix in the votes."
    )
    both = open_images(tmp_path, voted=votes_on("a.png", "a.jpg").item_ids)
    assert both.reading == Reading(size=32, suffixes=True)
    assert "must be a whole number of at least 1" in refusal(open_images, tmp_path, size=0)


# --- images in an archive


def test_an_archive_of_images(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, size=(3, 9, 10, 3), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", images=images, ids=np.array([3, 1, 2]))
    material = join_inputs(votes_on("1", "2", "3"), open_images(tmp_path / "a.npz"), name="d")
    assert (material.inputs == images[[1, 2, 0]]).all()
    np.savez(tmp_path / "b.npz", images=images[..., 0])
    material = join_inputs(votes_on("x", "y", "z"), open_images(tmp_path / "b.npz"), name="d")
    assert (material.inputs == images[..., :1]).all()
    assert refusal(join_inputs, votes_on("x", "y"), open_images(tmp_path / "b.npz"), name="d") == (
        "images without item ids must have one row for each of 2 items, in their order, but got 3. "
        "Add the ids, or put the rows in the order of the votes."
    )
    assert "--size is for images in a folder" in refusal(open_images, tmp_path / "b.npz", size=32)


def test_archives_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    images = np.zeros((2, 8, 8, 3), dtype=np.uint8)
    np.savez(path, images=np.array([{"a": 1}, None]))
    message = refusal(open_images, path)
    assert message.startswith(
        f"{str(path)!r} must be a .npz of plain arrays, but reading it failed: Object arrays cannot"
    )
    np.savez(path, images=images, ids=np.array(["a", None]))
    assert "must be a .npz of plain arrays" in refusal(open_images, path)
    np.savez(path, pictures=images)
    assert (
        refusal(open_images, path)
        == f"{str(path)!r} must hold an array `images`, but it does not. Save it under that name."
    )
    for wrong in (images.astype(np.float32), images[0, 0], images[:, :, :, :2], images[:0]):
        np.savez(path, images=wrong)
        assert "must be uint8 of shape (N, H, W) or (N, H, W, 3)" in refusal(open_images, path)
    np.savez(path, images=images, ids=np.array(["a", "a"]))
    assert "item ids must be different" in refusal(open_images, path)
    np.savez(path, images=images, ids=np.array(["a"]))
    assert "one id for each image" in refusal(open_images, path)
    for junk in (b"", b"PK\x03\x04 junk", b"\x93NUMPY"):
        path.write_bytes(junk)
        assert "must be a .npz of plain arrays" in refusal(open_images, path)


# --- features


TABLE = {"item": ["c", "a", "b"], "x": [3.0, 1.0, 2.0], "y": [30, 10, 20]}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_features_from_every_format(tmp_path: Path, suffix: str) -> None:
    path, frame = tmp_path / f"f{suffix}", pl.DataFrame(TABLE)
    {
        ".csv": frame.write_csv,
        ".tsv": lambda to: frame.write_csv(to, separator="\t"),
        ".parquet": frame.write_parquet,
        ".jsonl": frame.write_ndjson,
    }[suffix](path)
    source = open_features(path)
    assert source.reading.columns == ("x", "y")
    material = join_inputs(votes_on("a", "b", "c"), source, name="d")
    assert material.inputs.dtype == np.float32
    assert material.inputs.tolist() == [[1, 10], [2, 20], [3, 30]]
    assert open_features(path, columns=("y",)).load_all()[1].tolist() == [[30], [10], [20]]
    assert refusal(open_features, path, columns=("z", "x")) == (
        "the table must have the features the model was trained on, but it has no column 'z'. Add those columns."
    )


def test_arrays_of_features(tmp_path: Path) -> None:
    path = tmp_path / "f.npy"
    np.save(path, np.arange(6).reshape(3, 2))
    assert join_inputs(votes_on("a", "b", "c"), open_features(path), name="d").inputs.tolist() == [
        [0, 1],
        [2, 3],
        [4, 5],
    ]
    np.save(path, np.array([[1.0, np.nan], [np.inf, 1], [1, 1]]))
    assert refusal(open_features, path) == (
        "features must be finite numbers, but rows 0, 1 hold NaN or infinity. Fix or remove them."
    )
    np.save(path, np.array([1.0, 2.0]))
    assert "an array of features must be numbers, items x features" in refusal(open_features, path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "item,x,kind\na,1,red\nb,2,blue\n",
            "features must be finite numbers, but 2 cells of column 'kind' are not (items 'a', 'b'; the first is 'red'). "
            "Fill them in, turn categories into numbers, or remove the column.",
        ),
        (
            "item,x\na,1\nb,\nc,nan\nd,1e40\n",
            "features must be finite numbers, but 3 cells of column 'x' are not (items 'b', 'c', 'd'; the first is None). "
            "Fill them in, turn categories into numbers, or remove the column.",
        ),
        (
            "nr,x\n" + "".join(f"{10 + i},{i / 7}\n" for i in range(9)),
            "each column of a table of features must be a feature, or named as the item column, but column 'nr' has a different "
            "whole number in every row, like ids. Pass --item nr, or name it item_id.",
        ),
        ("item,x\n", "a table of features needs at least one row, but it has none. Check the file."),
        (
            "item\na\nb\n",
            "a table of features needs a column besides the item column, but it has only 'item'. Add one.",
        ),
        (
            "item,x\na,1\na,2\n",
            "item ids in the table of features must be different and not empty, but 1 appear more than once ('a'). "
            "Give each item one row and one id.",
        ),
    ],
)
def test_tables_of_features_that_do_not_fit(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "f.csv").write_text(text, encoding="utf-8")
    assert refusal(open_features, tmp_path / "f.csv") == message


def test_how_items_of_a_table_are_found(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("who,x\nann,1\nbob,2\n", encoding="utf-8")
    assert open_features(path).item_ids is not None  # texts that all differ: surely ids
    path.write_text("x,y\n1,2\n1,3\n", encoding="utf-8")
    assert open_features(path).item_ids is None
    path.write_text("nr,x\n" + "".join(f"{10 + i},{i / 7}\n" for i in range(9)), encoding="utf-8")
    assert open_features(path, item="nr").item_ids.tolist() == [str(10 + i) for i in range(9)]  # type: ignore[union-attr]
    path.write_text("item,x\na,1\nb,2\n", encoding="utf-8")
    assert open_features(path, item="votes_only_name").item_ids is not None  # the option was for the votes


# --- texts


def test_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('id,text,body\nb,"two, <b>words</b>\nand lines",x\na,ünïcode,y\n', encoding="utf-8")
    source = open_texts(path)
    material = join_inputs(votes_on("a", "b"), source, name="d")
    assert (material.kind, material.inputs.dtype, len(material.inputs)) == ("text", np.int64, 2)
    assert source.caption("b") == "two, <b>words</b>\nand lines"
    other = join_inputs(votes_on("a", "b"), open_texts(path, column="body"), name="d")
    assert other.checksum != material.checksum
    assert refusal(open_texts, path, column="tweet") == (
        "the text column 'tweet' must exist, but the columns are 'id', 'text', 'body'. Name it with --text-column."
    )
    path.write_text("id,text\na,x\nb,\n", encoding="utf-8")
    assert refusal(open_texts, path) == "every item needs a text, but items 'b' have none. Fill them in."
    np.save(tmp_path / "t.npy", np.zeros((2, 2)))
    assert "texts must be in a table" in refusal(open_texts, tmp_path / "t.npy")


# --- lining up


def features_of(tmp_path: Path, *ids: str) -> Source:
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
    material = join_inputs(votes, features_of(tmp_path, "z", "c", "a"), name="d", missing="drop")
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
    material = join_inputs(votes_on(*names), open_features(folder / "f.parquet"), name="d")
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


def test_progress_goes_over_every_image(tmp_path: Path) -> None:
    for name in "abc":
        picture(tmp_path / f"{name}.png", (1, 1, 1))
    seen: list[int] = []

    def track(rows: object) -> object:
        for row in rows:  # type: ignore[attr-defined]
            seen.append(row)
            yield row

    join_inputs(votes_on("a", "c"), open_images(tmp_path), name="d", missing="drop", track=track)  # type: ignore[arg-type]
    assert len(seen) == 2  # what is dropped is not read


def test_how_inputs_were_read_is_kept_and_checked() -> None:
    reading = Reading(size=7, suffixes=True, columns=("a", "b"), text_column="t")
    assert Reading.from_dict(reading.to_dict()) == reading
    assert "how inputs are read must be one of size, suffixes, columns, text_column" in refusal(
        Reading.from_dict, {"x": 1}
    )
    assert "the columns of features must be list, but got int" in refusal(Reading.from_dict, {"columns": 5})


# --- recipes


def test_recipes_fit_the_data(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, size=(40, 16, 24, 3), dtype=np.uint8)
    images[..., 1] = 51
    np.savez(tmp_path / "a.npz", images=images)
    material = join_inputs(votes_on(*map(str, range(40))), open_images(tmp_path / "a.npz"), name="d")
    recipe = default_recipe(material)
    assert (recipe.batch_size, recipe.crop, recipe.flip) == (16, 2, True)
    expected = images.reshape(-1, 3) / 255
    np.testing.assert_allclose(recipe.mean, expected.mean(axis=0), atol=1e-4)
    np.testing.assert_allclose(recipe.std, np.maximum(expected.std(axis=0), 1 / 255), atol=1e-4)
    plain = default_recipe(material, epochs=3, batch_size=7, learning_rate=0.5, augment=False)
    assert (plain.epochs, plain.batch_size, plain.learning_rate, plain.crop, plain.flip) == (3, 7, 0.5, 0, False)
    table = features_of(tmp_path, *map(str, range(40)))
    assert default_recipe(join_inputs(votes_on(*map(str, range(40))), table, name="d")).mean == ()
