"""Images in files of their own or in one array."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, StrArray, check_item_ids, check_whole_number, first_few
from votewise._errors import InputError, MissingExtraError
from votewise._files import as_path
from votewise._npz import read_npz
from votewise.data.inputs import (
    InputForm,
    InputModel,
    InputSource,
    LoadedInputs,
    Track,
    input_pieces_for_checksum,
    taken_ids,
)

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
DEFAULT_SIZE = 32

# By content, whatever the name says: some of the other formats that Pillow knows are read by programs it starts.
_FORMATS = ("PNG", "JPEG", "WEBP", "BMP")

# Decoding takes up to thirty bytes a pixel, and some for each line. A picture of 8K (7,680 x 4,320) has fewer.
_MOST_PIXELS = 1 << 25
_LONGEST_SIDE = (1 << 16) - 1

# Longer side of a picture on a page, in pixels; smaller images are not enlarged.
PICTURE_SIDE = 64
_PICTURE_QUALITY = 85

# Encoders reduce images themselves; JPEGs are decoded to no less than this, so that large ones are read quickly.
_DETAIL = 1024

ImageArray = npt.NDArray[np.uint8]


class _Images(InputSource):
    kind: ClassVar[str] = "images"
    words: ClassVar[tuple[str, str, str]] = ("image", "image", "images")


@dataclass(frozen=True, eq=False)
class ImageFiles(_Images):
    """Images in files of their own.

    Attributes:
        item_ids: (N,) text.
        files: N paths.
        form: whether ids are whole file names.
    """

    item_ids: StrArray | None
    files: tuple[Path, ...]
    form: InputForm = field(default_factory=InputForm)

    def __len__(self) -> int:
        """N."""
        return len(self.files)

    def take(self, rows: IntArray) -> ImageFiles:
        """Some of the images."""
        return ImageFiles(taken_ids(self.item_ids, rows), tuple(self.files[row] for row in rows.tolist()), self.form)

    def raw(self, track: Track[int] = iter) -> Iterator[bytes | memoryview]:
        """The SHA-256 of each file, whatever size its image is brought to."""
        yield f"files({len(self)},)".encode()
        for place in track(range(len(self))):
            try:
                with self.files[place].open("rb") as file:
                    yield file_digest(file, "sha256").digest()
            except OSError as error:
                raise _unreadable_images(len(self), [f"{self.files[place].name}: {error.strerror}"]) from None

    def load(self, model: InputModel | None = None, track: Track[int] = iter) -> LoadedInputs:
        """The images as the model encodes them, or resized by their shorter side to its size and cropped."""
        from PIL import ImageOps
        from PIL.Image import Resampling

        if model is not None and model.encode is not None:
            values, notes = model.encode((image for image, _ in _decoded_images(self.files, _DETAIL, track)), iter)
            return LoadedInputs(values, self.form, notes)
        size = DEFAULT_SIZE if model is None or model.size is None else model.size
        check_whole_number("the size of images", size, least=1)
        values = np.empty((len(self), size, size, 3), dtype=np.uint8)
        resized = 0
        for place, (image, dimensions) in enumerate(_decoded_images(self.files, size, track)):
            values[place] = np.asarray(ImageOps.fit(image, (size, size), method=Resampling.BICUBIC))
            resized += dimensions != (size, size)
        note = f"{resized:,} of {len(self):,} images were resized and cropped to {size} x {size} pixels."
        return LoadedInputs(values, replace(self.form, size=size), (note,) if resized else ())

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths, as the folder was named."""
        return tuple(str(file) for file in self.files)

    def pictures(self, track: Track[int] = iter) -> Iterator[bytes]:
        """Each image whole, made smaller if its longer side has more than `PICTURE_SIDE` pixels."""
        return (_image_as_picture(image) for image, _ in _decoded_images(self.files, PICTURE_SIDE, track))


@dataclass(frozen=True, eq=False)
class ImageArrays(_Images):
    """Images in memory, all of one size.

    Attributes:
        item_ids: (N,) text; None where rows have no ids and are in the order of the votes.
        values: (N, H, W, C) uint8; C is 1 or 3 (red, green, blue).
        form: how they were read.
    """

    item_ids: StrArray | None
    values: ImageArray
    form: InputForm = field(default_factory=InputForm)

    def __len__(self) -> int:
        """N."""
        return len(self.values)

    def take(self, rows: IntArray) -> ImageArrays:
        """Some of the images."""
        return ImageArrays(taken_ids(self.item_ids, rows), self.values[rows], self.form)

    def raw(self, track: Track[int] = iter) -> Iterator[bytes | memoryview]:
        """The array's type, shape and bytes."""
        return input_pieces_for_checksum(self.values)

    def load(self, model: InputModel | None = None, track: Track[int] = iter) -> LoadedInputs:
        """The images as they are, whatever the model's size, or as it encodes them."""
        if model is not None and model.encode is not None:
            values, notes = model.encode((image.convert("RGB") for image in self._as_pillow(track)), iter)
            return LoadedInputs(values, self.form, notes)
        height, width = self.values.shape[1:3]
        return LoadedInputs(self.values, replace(self.form, size=height if height == width else None))

    def pictures(self, track: Track[int] = iter) -> Iterator[bytes]:
        """Each image, made smaller if its longer side has more than `PICTURE_SIDE` pixels."""
        _require_pillow("making pictures of the items")
        return (_image_as_picture(image) for image in self._as_pillow(track))

    def _as_pillow(self, track: Track[int]) -> Iterator[Image]:
        from PIL.Image import fromarray

        pixels = self.values[..., 0] if self.values.shape[3] == 1 else self.values
        return (fromarray(pixels[row]) for row in track(range(len(self))))


def open_images(
    path: str | os.PathLike[str], *, voted: StrArray | None = None, suffixes: bool | None = None
) -> ImageFiles | ImageArrays:
    """Images from a folder, one file per item, or from a .npz file.

    Args:
        path: a folder, searched with its sub-folders; or a .npz with `images` (N, H, W) or (N, H, W, 3) uint8, and
            `ids` unless they are in the order of the votes.
        voted: ids of the items with votes, which show whether ids are whole file names.
        suffixes: whether ids are whole file names, suffix included; found from `voted` if left out.
    """
    place = as_path(path)
    if place.is_dir():
        return _open_image_folder(place, voted, suffixes)
    if place.suffix.lower() != ".npz" or not place.is_file():
        raise InputError(
            "images must be in a folder or a .npz",
            f"{str(path)!r} is neither" if place.exists() else f"{str(path)!r} does not exist",
            "Check the path",
        )
    return _open_image_archive(place)


def _open_image_folder(folder: Path, voted: StrArray | None, suffixes: bool | None) -> ImageFiles:
    """The images below a folder, sorted; hidden files and folders are skipped."""
    _require_pillow("reading images")
    files: list[Path] = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        files += [
            Path(where, name) for name in names if name.lower().endswith(IMAGE_SUFFIXES) and not name.startswith(".")
        ]
    files.sort()
    if not files:
        raise InputError(
            f"the folder must hold images ({' '.join(IMAGE_SUFFIXES)})", f"{str(folder)!r} has none", "Check the path"
        )
    names = [file.relative_to(folder).as_posix() for file in files]
    if suffixes is None:
        suffixes = voted is not None and not set(names).isdisjoint(voted.tolist())
    ids = names if suffixes else [str(PurePosixPath(name).with_suffix("")) for name in names]
    first_named: dict[str, str] = {}
    twins = [
        f"{first_named[item]} and {name}"
        for item, name in zip(ids, names, strict=True)
        if first_named.setdefault(item, name) != name
    ]
    if twins:
        raise InputError(
            "each item must have one image",
            f"some have two ({first_few(twins)})",
            "Remove one of each, or name items with their suffix in the votes",
        )
    return ImageFiles(np.array(ids, dtype=np.str_), tuple(files), InputForm(suffixes=suffixes))


def _open_image_archive(path: Path) -> ImageArrays:
    try:
        arrays = read_npz(path, ("images", "ids", "item_ids"))
    except MemoryError:
        raise
    except Exception as error:  # a damaged archive can make NumPy and zipfile raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{str(path)!r} must be a .npz of plain arrays", f"reading it failed: {reason}", "Save it with np.savez"
        ) from None
    if "images" not in arrays:
        raise InputError(f"{str(path)!r} must hold an array `images`", "it does not", "Save it under that name")
    images, ids = arrays["images"], arrays.get("ids", arrays.get("item_ids"))
    if (
        images.ndim not in (3, 4)
        or images.dtype != np.uint8
        or 0 in images.shape
        or images.shape[3:] not in ((), (1,), (3,))
    ):
        raise InputError(
            f"the array `images` in {str(path)!r} must be uint8 of shape (N, H, W) or (N, H, W, 3)",
            f"got {images.dtype} of shape {images.shape}",
            "Convert it",
        )
    item_ids = None if ids is None else check_item_ids(ids)
    if item_ids is not None and item_ids.shape != images.shape[:1]:
        raise InputError(
            "a .npz must hold one id for each image",
            f"got {len(images):,} images and ids of shape {item_ids.shape}",
            "Save one id per image",
        )
    return ImageArrays(item_ids, images.reshape(*images.shape[:3], -1))


def _decoded_images(files: Sequence[Path], side: int, track: Track[int]) -> Iterator[tuple[Image, tuple[int, int]]]:
    """Each image the right way up, in RGB with white behind what is transparent, and its original width and height.

    A large JPEG is decoded at a fraction of its size, but not below `side`. Files that cannot be read are skipped, and
    all named in an error at the end.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    faults: list[str] = []
    for place in track(range(len(files))):
        try:
            with warnings.catch_warnings():
                # Of files that unpack to too many pixels Pillow refuses the largest, and only warns of others.
                warnings.simplefilter("ignore")
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                with Image.open(files[place], formats=_FORMATS) as opened:
                    if opened.mode.startswith(("I", "F")):
                        raise ValueError("it has more than 8 bits per channel; convert it to 8")
                    dimensions = opened.size
                    opened.draft("RGB", (side, side))
                    if max(opened.size) > _LONGEST_SIDE or opened.width * opened.height > _MOST_PIXELS:
                        raise ValueError(
                            f"it has {opened.width:,} x {opened.height:,} pixels, "
                            f"more than {_LONGEST_SIDE:,} on a side or {_MOST_PIXELS:,} in all"
                        )
                    upright = ImageOps.exif_transpose(opened)
                    if upright.has_transparency_data:
                        layers = upright.convert("RGBA")
                        upright = Image.alpha_composite(Image.new("RGBA", layers.size, "white"), layers)
                    image = upright.convert("RGB")
        except MemoryError:
            raise
        except UnidentifiedImageError:
            faults.append(f"{files[place].name}: it is no PNG, JPEG, WebP or BMP that can be read")
        except Exception as error:  # a damaged image can make its decoder raise anything, even SyntaxError
            faults.append(f"{files[place].name}: {str(error).partition(chr(10))[0] or type(error).__name__}")
        else:
            yield image, dimensions
    if faults:
        raise _unreadable_images(len(files), faults)


def _image_as_picture(image: Image) -> bytes:
    """A small WebP; PNG where Pillow was built without WebP."""
    from PIL import features

    image.thumbnail((PICTURE_SIDE, PICTURE_SIDE))
    content = io.BytesIO()
    if features.check("webp"):
        image.save(content, "WEBP", quality=_PICTURE_QUALITY)
    else:
        image.save(content, "PNG")
    return content.getvalue()


def _unreadable_images(files: int, faults: Sequence[str]) -> InputError:
    return InputError(
        "every image must be readable",
        f"{len(faults):,} of {files:,} cannot be read ({first_few(faults)})",
        "Fix or remove these files",
    )


def _require_pillow(purpose: str) -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingExtraError(purpose, "pillow", "train") from None
