"""What a page needs of the data of some runs: their votes, and of the items what can be shown.

It lies beside the runs of a store, once for each data set, in the sub-store "data".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from votewise._checks import IntArray
from votewise._errors import InputError
from votewise._json import parse_json
from votewise._text import TextOrPair
from votewise.records._folder import DamagedRecordError
from votewise.records.record import JSON, Array, RunRecord
from votewise.records.store import RecordStore
from votewise.votes import Votes

# Part of every id: raised when the same data would be kept in another form.
ITEMS_VERSION = 1

# Most bytes of all texts (or paths) of a data set, as JSON, and of all its pictures.
MOST_TEXT_BYTES = 1 << 26
MOST_PICTURE_BYTES = 1 << 26

_ABOUT, _TEXTS, _PATHS, _PICTURES = "about.json", "texts.json", "paths.json", "pictures.bin"
_LIMITS = {_TEXTS: MOST_TEXT_BYTES, _PATHS: MOST_TEXT_BYTES, _PICTURES: MOST_PICTURE_BYTES}


@dataclass(frozen=True, eq=False)
class ItemData:
    """The votes behind some runs, and what a page shows of the items; row i is row i of the data set.

    Attributes:
        name: name of the data set.
        votes: what people said.
        labels: (N,) true class numbers, where they are known.
        texts: N texts, or N pairs of texts, where the items are texts and were kept.
        pictures: N small pictures as bytes of a PNG or WebP file, where the items are images and were kept.
        paths: N paths of the original images, where they were files.
        notes: what a reader should know about how the data were put together.
    """

    name: str
    votes: Votes
    labels: IntArray | None = None
    texts: tuple[TextOrPair, ...] | None = None
    pictures: tuple[bytes, ...] | None = None
    paths: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse parts with another number of rows than the votes, and pictures that are none."""
        for part in ("labels", "texts", "pictures", "paths"):
            values = getattr(self, part)
            if values is not None and len(values) != self.votes.n_items:
                raise InputError(
                    f"{part} must have a row for each of {self.votes.n_items:,} items",
                    f"got {len(values):,}",
                    "Add them",
                )
        if self.pictures is not None and not all(map(stored_picture_type, self.pictures)):
            raise InputError("pictures must be PNG or WebP files", "some are not", "Convert them")


def stored_picture_type(picture: bytes) -> str:
    """The media type of a picture; empty if it is neither PNG nor WebP.

    >>> stored_picture_type(b"GIF89a")
    ''
    """
    if picture.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    return "image/webp" if picture[:4] == b"RIFF" and picture[8:12] == b"WEBP" else ""


def stored_json(value: Any) -> bytes:
    """Texts as they are kept. Halves of characters (surrogates), which no text should have, do not stop us."""
    return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")


def write_items(store: RecordStore, checksum: str, data: ItemData) -> None:
    """Keep the data of runs beside them. If they are there already, they stay as they are unless these show more.

    Args:
        store: the runs.
        checksum: the data's checksum, as in the runs' configs.
        data: what to keep.
    """
    votes = data.votes
    about = {
        "name": data.name,
        "item_ids": votes.item_ids.tolist(),
        "classes": votes.classes,
        "provenance": votes.provenance,
        "notes_on_votes": votes.notes,
        "notes": data.notes,
    }
    contents = {_ABOUT: stored_json(about)}
    arrays: dict[str, Array] = {"shares": votes.probs} if votes.counts is None else {"counts": votes.counts}
    if data.labels is not None:
        arrays["labels"] = data.labels
    if data.texts is not None:
        contents[_TEXTS] = stored_json(data.texts)
    if data.paths is not None:
        contents[_PATHS] = stored_json(data.paths)
    if data.pictures is not None:
        contents[_PICTURES] = b"".join(data.pictures)
        arrays["picture_ends"] = np.cumsum([len(picture) for picture in data.pictures], dtype=np.int64)
    for name, content in contents.items():
        if len(content) > _LIMITS.get(name, len(content)):
            raise InputError(
                f"{name} must have at most {_LIMITS[name]:,} bytes", f"it has {len(content):,}", "Leave it out"
            )
    config: dict[str, JSON] = {"items_of": checksum, "version": ITEMS_VERSION}
    record = RunRecord(config=config, status="done", arrays=arrays)
    records = _records_of(store)
    try:
        records.read(record.run_id)
        for name in contents:
            records.attachment(record.run_id, name)
    except InputError:  # absent, damaged, or without some of the files
        # A parameter's default keeps each file's own content.
        files = {name: lambda path, content=content: path.write_bytes(content) for name, content in contents.items()}
        records.write(record, files, replace=True, compressed=True)


def read_items(store: RecordStore) -> dict[str, ItemData]:
    """The data kept beside the runs of a store, by checksum.

    Args:
        store: the runs. Records of their data that are damaged, or hold something else, are an error.
    """
    records = _records_of(store)
    data: dict[str, ItemData] = {}
    for name in records.ids():
        record, folder = records.read(name), records.folder / name
        if record.config.get("version") != ITEMS_VERSION:
            raise InputError(
                f"the data of runs in {str(folder)!r} must be of version {ITEMS_VERSION}",
                f"got {record.config.get('version')!r}",
                "Read them with a newer votewise",
            )
        contents: dict[str, bytes] = {}
        for file in records.attached(name):
            path = records.attachment(name, file)
            if path.stat().st_size > _LIMITS.get(file, math.inf):
                raise DamagedRecordError(folder, f"{file} is larger than any that is written")
            contents[file] = path.read_bytes()
        try:
            data[str(record.config["items_of"])] = _stored_items(record.arrays, contents)
        except Exception as error:  # bytes with the right checksum that votewise did not write
            raise DamagedRecordError(folder, "it does not hold the data of runs") from error
    return data


def _stored_items(arrays: Mapping[str, Array], contents: Mapping[str, bytes]) -> ItemData:
    """What `write_items` packed; anything else raises some error."""
    about = _from_json(contents[_ABOUT])
    named: dict[str, Any] = {"item_ids": _stored_texts(about["item_ids"]), "classes": _stored_texts(about["classes"])}
    if "counts" in arrays:
        votes = Votes.from_counts(arrays["counts"], **named)
    else:
        votes = Votes.from_probabilities(arrays["shares"], **named)
    labels, ends = arrays.get("labels"), arrays.get("picture_ends")
    if labels is not None and not (labels.dtype.kind in "iu" and set(labels.tolist()) <= set(range(votes.n_classes))):
        raise ValueError("its labels are no classes")
    pictures = None
    if ends is not None:
        sizes = np.diff(ends, prepend=0)
        if ends.dtype.kind != "i" or (sizes <= 0).any() or sizes.sum() != len(contents[_PICTURES]):
            raise ValueError("its pictures are not where it says")
        pictures = tuple(contents[_PICTURES][start:end] for start, end in pairwise([0, *ends.tolist()]))
    return ItemData(
        str(about["name"]),
        replace(votes, provenance=str(about["provenance"]), notes=_stored_texts(about["notes_on_votes"])),
        labels,
        _stored_texts_or_pairs(_from_json(contents[_TEXTS])) if _TEXTS in contents else None,
        pictures,
        _stored_texts(_from_json(contents[_PATHS])) if _PATHS in contents else None,
        _stored_texts(about["notes"]),
    )


def _stored_texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("its texts are no texts")
    return tuple(values)


def _stored_texts_or_pairs(values: Any) -> tuple[TextOrPair, ...]:
    if isinstance(values, list) and values and all(isinstance(value, list) for value in values):
        firsts, seconds = zip(*values, strict=True)
        return tuple(zip(_stored_texts([*firsts]), _stored_texts([*seconds]), strict=True))
    return _stored_texts(values)


def _from_json(content: bytes) -> Any:
    return parse_json(content.decode(errors="surrogatepass"))


def _records_of(store: RecordStore) -> RecordStore:
    return RecordStore(store.folder / "data")
