"""Images from folders and archives: read as people see them, refused with the names of the offenders."""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from limits import at_most
from own_data import picture, refusal, votes_on
from votewise.data import InputForm, join_inputs, open_images, prepare
from votewise.data.images import ImageArrays
from votewise.models import find_model

RNG = np.random.default_rng(0)


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
    material = prepare(join_inputs(votes, open_images(tmp_path, voted=votes.item_ids), name="mine"))
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
    dataset = join_inputs(votes, open_images(tmp_path, voted=votes.item_ids), name="d")
    material = prepare(dataset, find_model("small-cnn:size=16", "images"))
    assert (material.form, material.checksum) == (InputForm(size=16), dataset.checksum)
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
    source = open_images(tmp_path)
    shown = dict(zip(source.item_ids.tolist(), source.load().values, strict=True))  # type: ignore[union-attr]
    assert (shown["turned"][:15] == 0).all()
    assert (shown["turned"][17:] == 255).all()
    assert (shown["clear"] == 255).all()
    assert (shown["grey"] == 77).all()
    assert (shown["palette"] == (1, 2, 3)).all()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, grey_rows: bytes) -> bytes:
    """A PNG in greys with rows that are compressed already."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", grey_rows) + chunk(b"IEND", b"")


def bomb() -> bytes:
    """A PNG of 200 bytes that claims 60,000 x 60,000 pixels."""
    return png(60_000, 60_000, zlib.compress(b"\0" * 100))


def test_images_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    picture(tmp_path / "good.png", (1, 2, 3))
    whole = (tmp_path / "good.png").read_bytes()
    (tmp_path / "cut.png").write_bytes(whole[:60])
    (tmp_path / "garbage.jpg").write_bytes(b"not an image at all")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "bomb.png").write_bytes(bomb())
    Image.fromarray(np.full((32, 32), 40_000, dtype=np.uint16)).save(tmp_path / "deep.png")
    source = open_images(tmp_path)
    message = refusal(source.load)
    assert message.startswith("every image must be readable, but 5 of 6 cannot be read ('bomb.png: ")
    assert message.endswith("Fix or remove these files.")
    assert "decompression bomb" in message
    assert "deep.png: it has more than 8 bits per channel; convert it to 8" in message
    assert all(name in message for name in ("cut.png", "garbage.jpg", "empty.png"))
    assert refusal(lambda: list(source.pictures())) == message  # type: ignore[arg-type]


@pytest.mark.parametrize(("width", "height"), [(1, 80_000_000), (80_000_000, 1), (1, 65_536), (8000, 8000)])
def test_an_image_of_many_pixels_is_refused_before_it_is_decoded(tmp_path: Path, width: int, height: int) -> None:
    """Up to 700 kB that would unpack to as many pixels."""
    (tmp_path / "thin.png").write_bytes(png(width, height, zlib.compress(bytes((width + 1) * height), 1)))
    source = open_images(tmp_path)
    with at_most(megabytes=50, seconds=2):
        assert refusal(source.load) == (
            "every image must be readable, but 1 of 1 cannot be read "
            f"('thin.png: it has {width:,} x {height:,} pixels, more than 65,535 on a side or 33,554,432 in all'). "
            "Fix or remove these files."
        )


def test_a_large_photograph_is_read_at_a_fraction_of_its_size(tmp_path: Path) -> None:
    """As its decoder can do that, it may have more pixels than other images."""
    Image.new("RGB", (9000, 9000), (10, 200, 30)).save(tmp_path / "a.jpg")
    source = open_images(tmp_path)
    with at_most(megabytes=100):
        assert np.abs(source.load().values.astype(int) - (10, 200, 30)).max() <= 2


OTHERS = {
    "PostScript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\nshowpage\n",
    "GIF": b"GIF87a\x01\x00\x01\x00\x80\x01\x00\x00\x00\x00ccc,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;",
    "PPM": b"P6 2 2 255\n" + bytes(12),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_no_other_format_is_read_whatever_the_name_says_and_no_process_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    folder, programs, called = tmp_path / "images", tmp_path / "programs", tmp_path / "called"
    folder.mkdir()
    programs.mkdir()
    (programs / "gs").write_text(f"#!/bin/sh\ntouch {called}\n", encoding="utf-8")
    (programs / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    (folder / "a.png").write_bytes(OTHERS[kind])
    assert refusal(open_images(folder).load) == (
        "every image must be readable, but 1 of 1 cannot be read "
        "('a.png: it is no PNG, JPEG, WebP or BMP that can be read'). Fix or remove these files."
    )
    assert not called.exists()


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
    assert both.form == InputForm(suffixes=True)
    assert "must be a whole number of at least 1" in refusal(both.load, find_model("small-cnn:size=0", "images"))


# --- images in an archive


def test_an_archive_of_images(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, size=(3, 9, 10, 3), dtype=np.uint8)
    np.savez(tmp_path / "a.npz", images=images, ids=np.array([3, 1, 2]))
    material = prepare(join_inputs(votes_on("1", "2", "3"), open_images(tmp_path / "a.npz"), name="d"))
    assert (material.inputs == images[[1, 2, 0]]).all()
    assert material.form == InputForm()  # they are not square
    np.savez(tmp_path / "b.npz", images=images[..., 0])
    material = prepare(join_inputs(votes_on("x", "y", "z"), open_images(tmp_path / "b.npz"), name="d"))
    assert (material.inputs == images[..., :1]).all()
    assert refusal(join_inputs, votes_on("x", "y"), open_images(tmp_path / "b.npz"), name="d") == (
        "images without item ids must have one row for each of 2 items, in their order, but got 3. "
        "Add the ids, or put the rows in the order of the votes."
    )
    dataset = join_inputs(votes_on("x", "y", "z"), open_images(tmp_path / "b.npz"), name="d")
    assert prepare(dataset, find_model("small-cnn", "images")).inputs.shape == (3, 9, 10, 1)
    assert refusal(prepare, dataset, find_model("small-cnn:size=48", "images")) == (
        "the size of a model (--size) is for images in a folder; those in a .npz stay as they are, but they are 9 x 10 "
        "pixels and the size is 48. Leave it out, or resize them yourself."
    )


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


def npy(array: np.ndarray) -> bytes:
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def claiming(shape: str) -> bytes:
    """A .npy of a few bytes whose header claims any shape."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(9)


FOREIGN: dict[str, tuple[dict[str, bytes], str]] = {
    "no array": ({"images": b"just text"}, "the magic string is not correct"),
    "a header that claims more": ({"images.npy": claiming("(1000000, 100, 100)")}, "whose size does not match"),
    "a header that claims too much": ({"images.npy": claiming("(10, 0, 1" + "0" * 30 + ")")}, "whose size does not"),
    "negative sizes": ({"images.npy": claiming("(-3, -3)")}, "whose size does not match its bytes"),
    "dates": ({"images.npy": npy(np.zeros(3, dtype="m8[s]"))}, "must be uint8 of shape"),
    "records": ({"images.npy": npy(np.zeros(3, dtype="i4,i4"))}, "it has an array of type"),
    "letters that do not exist": (
        {"images.npy": npy(np.zeros((1, 2, 2), np.uint8)), "ids.npy": npy(np.array([0x110000], "u4").view("<U1"))},
        "it has an array of text with letters that do not exist",
    ),
    "half a letter": (
        {"images.npy": npy(np.zeros((1, 2, 2), np.uint8)), "ids.npy": npy(np.array([0xD800], ">u4").view(">U1"))},
        "it has an array of text with letters that do not exist",
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_archives_that_nobody_saved_with_numpy(tmp_path: Path, case: str) -> None:
    members, expected = FOREIGN[case]
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with at_most(megabytes=20, seconds=2):
        assert expected in refusal(open_images, path)


def test_an_archive_compressed_in_another_way(tmp_path: Path) -> None:
    """Of other ways, the file alone would say how much memory unpacking takes."""
    with zipfile.ZipFile(path := tmp_path / "a.npz", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("images.npy", npy(np.zeros((3, 8, 8), np.uint8)))
    assert "'images' is compressed in another way than NumPy's" in refusal(open_images, path)


def test_an_archive_that_unpacks_to_gigabytes(tmp_path: Path) -> None:
    """A file of 2 MB whose arrays have 2 GB."""
    path, megabytes = tmp_path / "a.npz", 2000
    head = npy(np.zeros((megabytes << 5, 32, 32, 32), np.uint8)[:0])  # its shape is put right below
    head = head.replace(b"(0, 32, 32, 32)", b"(%d, 32, 32)" % (megabytes << 10))
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("images.npy", "w") as member,
    ):
        member.write(head)
        for _ in range(megabytes):
            member.write(bytes(1 << 20))
    with at_most(megabytes=20, seconds=2):
        message = refusal(open_images, path)
    assert "reading it failed: its arrays claim to have more than " in message
    assert message.endswith(" bytes, 100 times as many as it. Save it with np.savez.")


# --- what identifies them


def checksum_of(folder: Path, *names: str) -> str:
    return join_inputs(votes_on(*names), open_images(folder), name="d", missing="drop").checksum


def test_the_checksum_is_of_the_files_and_of_nothing_a_model_makes_of_them(tmp_path: Path) -> None:
    for folder in ("here", "there"):
        picture(tmp_path / folder / "a.png", (1, 2, 3), (40, 20))
        picture(tmp_path / folder / "b.png", (9, 9, 9))
    first = checksum_of(tmp_path / "here", "a", "b")
    assert checksum_of(tmp_path / "there", "a", "b") == first
    picture(tmp_path / "there" / "c.png", (5, 5, 5))  # without votes, so left out
    assert checksum_of(tmp_path / "there", "a", "b") == first
    others = [checksum_of(tmp_path / "here", "b", "a"), checksum_of(tmp_path / "here", "a")]
    picture(tmp_path / "there" / "a.png", (1, 2, 3), (40, 20), comment="the same pixels, other bytes", dpi=(99, 99))
    others.append(checksum_of(tmp_path / "there", "a", "b"))
    assert len({first, *others}) == 4


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    picture(tmp_path / "a.png", (1, 2, 3))
    picture(tmp_path / "b.png", (1, 2, 3))
    source = open_images(tmp_path)
    (tmp_path / "b.png").unlink()
    assert refusal(join_inputs, votes_on("a", "b"), source, name="d") == (
        "every image must be readable, but 1 of 2 cannot be read ('b.png: No such file or directory'). "
        "Fix or remove these files."
    )


def test_progress_goes_over_the_images_that_have_votes(tmp_path: Path) -> None:
    for name in "abc":
        picture(tmp_path / f"{name}.png", (1, 1, 1))
    seen: list[int] = []

    def track(rows: object) -> object:
        for row in rows:  # type: ignore[attr-defined]
            seen.append(row)
            yield row

    dataset = join_inputs(votes_on("a", "c"), open_images(tmp_path), name="d", missing="drop", track=track)  # type: ignore[arg-type]
    assert seen == [0, 1]
    prepare(dataset, track=track)  # type: ignore[arg-type]
    assert seen == [0, 1] * 2
    list(dataset.source.pictures(track))  # type: ignore[arg-type]
    assert seen == [0, 1] * 3


# --- what pages show of them


def opened(picture: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(picture))
    image.load()
    return image


def test_pictures_show_the_whole_original_the_right_way_up(tmp_path: Path) -> None:
    pixels = np.zeros((100, 400, 3), dtype=np.uint8)
    pixels[:, :200] = (250, 0, 0)  # the left half is red, the right one black
    exif = Image.Exif()
    exif[0x0112] = 6  # lies on its left side
    Image.fromarray(pixels).save(tmp_path / "a.jpg", quality=95, exif=exif)
    Image.new("RGBA", (8, 4), (0, 0, 0, 0)).save(tmp_path / "b.png")
    Image.new("L", (1, 3000), 77).save(tmp_path / "c.png")
    turned, clear, thin = map(opened, open_images(tmp_path).pictures())
    assert (turned.size, clear.size, thin.size) == ((16, 64), (8, 4), (1, 64))
    colours = np.asarray(turned.convert("RGB")).astype(int)
    assert np.abs(colours[:28] - (250, 0, 0)).max() < 30
    assert colours[36:].max() < 30
    assert (np.asarray(clear.convert("RGB")) == 255).all()
    assert np.abs(np.asarray(thin.convert("RGB")).astype(int) - 77).max() <= 2


@pytest.mark.parametrize("channels", [1, 3])
def test_pictures_of_arrays(channels: int) -> None:
    images = np.full((2, 128, 96, channels), 200, dtype=np.uint8)
    images[1] = 10
    light, dark = map(opened, ImageArrays(None, images).pictures())
    assert light.size == dark.size == (48, 64)
    assert np.abs(np.asarray(light.convert("RGB")).astype(int) - 200).max() <= 2
    assert np.abs(np.asarray(dark.convert("RGB")).astype(int) - 10).max() <= 2


def test_pictures_are_png_where_pillow_lacks_webp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("PIL.features.check", lambda _: False)
    (made,) = ImageArrays(None, np.full((1, 9, 9, 3), 40, dtype=np.uint8)).pictures()
    assert made.startswith(b"\x89PNG")
    assert (np.asarray(opened(made)) == 40).all()
