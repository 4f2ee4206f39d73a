"""From a data set to what is kept of it beside its runs, so that pages can be made without the data."""

from __future__ import annotations

from dataclasses import replace

from votewise._errors import MissingExtraError
from votewise._text import counted, shortened
from votewise.data.dataset import Dataset
from votewise.data.inputs import Track
from votewise.records.items import MOST_PICTURE_BYTES, MOST_TEXT_BYTES, ItemData, stored_json

# A page shows the beginning of a long text.
_LONGEST_TEXT = 2000


def item_data(dataset: Dataset, *, shown: bool = True, track: Track[int] = iter) -> ItemData:
    """The votes of a data set, and what a page shows of its items: texts, or paths and small pictures.

    Texts, and each text of a pair, are cut after 2,000 characters. Texts, paths and pictures of more than 64 MiB each
    are left out. Whatever is cut or left out is noted.

    Args:
        dataset: the data.
        shown: whether to keep texts, paths and pictures at all.
        track: shows progress over the items, while pictures are made.
    """
    votes, notes = replace(dataset.votes, ballots=None), list(dataset.notes)
    if not shown:
        return ItemData(dataset.name, votes, dataset.labels, notes=dataset.notes)
    texts, paths = dataset.source.texts, dataset.source.paths
    pictures: list[bytes] = []
    size = 0
    lost: list[str] = []
    try:
        for picture in dataset.source.pictures(track) or ():
            pictures.append(picture)
            size += len(picture)
            if size > MOST_PICTURE_BYTES:
                pictures = []
                lost.append(_items_too_large("pictures", MOST_PICTURE_BYTES))
                break
    except MissingExtraError as error:
        lost.append(f"Pictures are not kept for pages: {error}")
    if texts is not None and (cut := sum(shortened(text, _LONGEST_TEXT) != text for text in texts)):
        texts = tuple(shortened(text, _LONGEST_TEXT) for text in texts)
        notes.append(f"{counted(cut, 'text is', 'texts are')} kept for pages up to {_LONGEST_TEXT:,} characters.")
    if texts is not None and len(stored_json(texts)) > MOST_TEXT_BYTES:
        texts = None
        notes.append(_items_too_large("texts", MOST_TEXT_BYTES))
    if paths is not None and len(stored_json(paths)) > MOST_TEXT_BYTES:
        paths = None
        notes.append(_items_too_large("paths", MOST_TEXT_BYTES))
    return ItemData(dataset.name, votes, dataset.labels, texts, tuple(pictures) or None, paths, notes=(*notes, *lost))


def _items_too_large(what: str, most: int) -> str:
    return f"The {what} are not kept for pages: together they have more than {most >> 20} MiB."
