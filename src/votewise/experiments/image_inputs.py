"""Images from a folder or a .npz file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, check_whole_number, first_few
from votewise._errors import InputError, MissingExtraError
from votewise.experiments.inputs import Reading, Source, StrArray, Track, in_memory
from votewise.votes.table import check_item_ids

if TYPE_CHECKING:
    from PIL.Image import Image

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp")
DEFAULT_SIZE = 32

ImageArray = npt.NDArray[np.uint8]


def open_images(
    path: str | os.PathLike[str],
    *,
    size: int | None = None,
    voted: StrArray | None = None,
    suffixes: bool | None = None,
) -> Source:
    """Images from a folder, one file per item, or from a .npz file.

    Args:
        path: a folder, searched with its sub-folders; or a .npz with `images` (N, H, W) or (N, H, W, 3) uint8, and
            `ids` unless they are in the order of the votes.
        size: side in pixels that files are resized and cropped to; 32 if left out. Images in a .npz stay as they are.
        voted: ids of the items with votes, which show whether ids are whole file names.
        suffixes: whether ids are whole file names, suffix included; found from `voted` if left out.
    """
    place = Path(path)
    if place.is_dir():
        return _open_folder(place, DEFAULT_SIZE if size is None else size, voted, suffixes)
    if place.suffix.lower() != ".npz" or not place.is_file():
        raise InputError(
            "images must be in a folder or a .npz",
            f"{str(path)!r} is neither" if place.exists() else f"{str(path)!r} does not exist",
            "Check the path",
        )
    return _open_archive(place, size)


def _open_folder(folder: Path, size: int, voted: StrArray | None, suffixes: bool | None) -> Source:
    _require_pillow()
    check_whole_number("the size of images", size, least=1)
    files = _image_files(folder)
    if not files:
        raise InputError(
            f"the folder must hold images ({' '.join(IMAGE_SUFFIXES)})", f"{str(folder)!r} has none", "Check the path"
        )
    names = [file.relative_to(folder).as_posix() for file in files]
    if suffixes is None:
        suffixes = voted is not None and not set(names).isdisjoint(voted.tolist())
    ids = names if suffixes else [str(PurePosixPath(name).with_suffix("")) for name in names]
    _refuse_twins(ids, names)

    def load(rows: IntArray, track: Track[int]) -> tuple[ImageArray, tuple[str, ...]]:
        return _load_files([files[row] for row in rows.tolist()], size, track)

    return Source("images", np.array(ids, dtype=np.str_), len(files), load, Reading(size=size, suffixes=suffixes))


def _image_files(folder: Path) -> list[Path]:
    """The images below a folder, sorted; hidden files and folders are skipped."""
    found: list[Path] = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [
            Path(where, name) for name in names if name.lower().endswith(IMAGE_SUFFIXES) and not name.startswith(".")
        ]
    return sorted(found)


def _refuse_twins(ids: list[str], names: list[str]) -> None:
    seen: dict[str, str] = {}
    twins = [
        f"{seen[item]} and {name}" for item, name in zip(ids, names, strict=True) if seen.setdefault(item, name) != name
    ]
    if twins:
        raise InputError(
            "each item must have one image",
            f"some have two ({first_few(twins)})",
            "Remove one of each, or name items with their suffix in the votes",
        )


def _load_files(files: list[Path], size: int, track: Track[int]) -> tuple[ImageArray, tuple[str, ...]]:
    """The pixels (n, size, size, 3) of files, and a note on how many were resized."""
    images = np.empty((len(files), size, size, 3), dtype=np.uint8)
    changed = 0
    faults: list[str] = []
    with _refuse_decompression_bombs():
        for place in track(range(len(files))):
            try:
                images[place], resized = _load_file(files[place], size)
                changed += resized
            except MemoryError:
                raise
            except Exception as error:  # a damaged image can make its decoder raise anything, even SyntaxError
                faults.append(f"{files[place].name}: {str(error).partition(chr(10))[0] or type(error).__name__}")
    if faults:
        raise InputError(
            "every image must be readable",
            f"{len(faults):,} of {len(files):,} cannot be read ({first_few(faults)})",
            "Fix or remove these files",
        )
    notes = (f"{changed:,} of {len(files):,} images were resized and cropped to {size} x {size} pixels.",)
    return images, notes if changed else ()


def _load_file(file: Path, size: int) -> tuple[ImageArray, bool]:
    """The pixels (size, size, 3) of an image the right way up, and whether it was resized."""
    from PIL import Image, ImageOps

    with Image.open(file) as opened:
        if opened.mode.startswith(("I", "F")):
            raise ValueError("it has more than 8 bits per channel; convert it to 8")
        resized = opened.size != (size, size)
        opened.draft("RGB", (size, size))  # a large JPEG is decoded at a fraction of its size
        upright = _on_white(ImageOps.exif_transpose(opened))
        return np.asarray(ImageOps.fit(upright, (size, size), method=Image.Resampling.BICUBIC)), resized


def _on_white(image: Image) -> Image:
    """An RGB image, with white behind what is transparent."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    layers = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", layers.size, "white"), layers).convert("RGB")


@contextmanager
def _refuse_decompression_bombs() -> Iterator[None]:
    """Turn Pillow's warning about files that unpack to far too many pixels into an error."""
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def _require_pillow() -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise MissingExtraError("reading images", "pillow", "train") from None


def _open_archive(path: Path, size: int | None) -> Source:
    images, ids = _read_archive(path)
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
    if size is not None and images.shape[1:3] != (size, size):
        raise InputError(
            "--size is for images in a folder; those in a .npz stay as they are",
            f"they are {images.shape[1]} x {images.shape[2]} pixels and --size is {size}",
            "Leave it out, or resize them yourself",
        )
    names = None if ids is None else check_item_ids(ids)
    if names is not None and names.shape != images.shape[:1]:
        raise InputError(
            "a .npz must hold one id for each image",
            f"got {len(images):,} images and ids of shape {names.shape}",
            "Save one id per image",
        )
    side = images.shape[1] if images.shape[1] == images.shape[2] else None
    return in_memory("images", names, images.reshape(*images.shape[:3], -1), Reading(size=side))


def _read_archive(path: Path) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    try:
        # Pickled arrays can run code when loaded. Opened here, since NumPy leaves a damaged archive open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            found = {name: archive[name] for name in ("images", "ids", "item_ids") if name in archive}
    except MemoryError:
        raise
    except Exception as error:  # a damaged archive can make NumPy and zipfile raise anything
        raise InputError(
            f"{str(path)!r} must be a .npz of plain arrays", f"reading it failed: {error}", "Save it with np.savez"
        ) from None
    if "images" not in found:
        raise InputError(f"{str(path)!r} must hold an array `images`", "it does not", "Save it under that name")
    return found["images"], found.get("ids", found.get("item_ids"))
