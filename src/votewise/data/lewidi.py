"""LeWiDi 2023: four data sets of abusive language, with every single vote.

Leonardelli et al. (2023), "SemEval-2023 task 11: learning with disagreements (LeWiDi)".
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise._json import parse_json
from votewise._text import TextOrPair
from votewise.data.dataset import Dataset
from votewise.data.inputs import InputForm
from votewise.data.joining import join_inputs
from votewise.data.releases import find_release, locate_release, notes_on_release_files
from votewise.data.single_votes import count_votes
from votewise.data.texts import Texts
from votewise.votes.exports.lewidi import joined_annotations
from votewise.votes.exports.trees import parse_tree

# The classes of each part. Those of ConvAbuse are severities, from -3 (very abusive) to 1 (not abusive).
PARTS = {
    "armis": ("0", "1"),
    "convabuse": ("-3", "-2", "-1", "0", "1"),
    "hs-brexit": ("0", "1"),
    "md-agreement": ("0", "1"),
}
SPLITS = ("train", "dev", "test")

# The turns of a conversation and who speaks; the last one was rated.
_TURNS = (("prev_agent", "agent"), ("prev_user", "user"), ("agent", "agent"), ("user", "user"))

# What stands where nobody has spoken yet.
_SILENCE = "_"

# The largest file has 4 MB; one that unpacks to far more is something else.
_MOST_BYTES = 1 << 26


def load_lewidi(part: str, folder: Path | None = None) -> Dataset:
    """Texts with the votes of known annotators; item ids begin with the split, as in "train/1".

    An item of ConvAbuse is a pair: what was said before, one line for each turn, and what the user then said, which
    was rated. The soft and hard labels of the release, which are rounded or merge classes, are not used.

    Args:
        part: "armis" (Arabic), "convabuse", "hs-brexit" or "md-agreement".
        folder: where the released files, or lewidi_2023.zip with them, lie; `data_folder()` if left out. Nothing is
            downloaded.
    """
    name = f"lewidi-{check_choice('the part of LeWiDi', part, tuple(PARTS))}"
    files = [released.name for released, *_ in find_release(name).parts]
    contents = {file: _read_file(path, file) for file, path in zip(files, locate_release(name, folder), strict=True)}
    texts: dict[str, TextOrPair] = {}
    single: list[tuple[str, str, str]] = []
    for split, (file, content) in zip(SPLITS, contents.items(), strict=True):
        items = parse_tree(content, file)
        if not isinstance(items, dict):
            raise InputError(f"{file} must hold items by number", "it holds a list", "Take the files as released")
        for number, item in items.items():
            item_id = f"{split}/{number}"
            texts[item_id] = _rated_text(item_id, item, is_conversation=part == "convabuse")
            people, labels = joined_annotations(item_id, item, item.get("annotations"))
            single += zip([item_id] * len(people), people, labels, strict=True)
    votes = count_votes(single, PARTS[part], f"LeWiDi files {', '.join(files)}")
    form = InputForm(text_column=("context", "text") if part == "convabuse" else "text")
    source = Texts(np.array(list(texts)), tuple(texts.values()), form)
    return join_inputs(votes, source, name=name, notes=notes_on_release_files(name, contents))


def _read_file(path: Path, file: str) -> bytes:
    """The bytes of one released file, which is at `path` or inside an archive there."""
    if path.suffix != ".zip":
        return path.read_bytes()
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [entry for entry in archive.infolist() if Path(entry.filename).name == file]
            if inside and inside[0].file_size > _MOST_BYTES:
                raise zipfile.BadZipFile(f"{file} unpacks to more than {_MOST_BYTES:,} bytes")
            if inside:
                return archive.read(inside[0])
    except Exception as error:  # damaged archives make the library raise anything
        reason = str(error) or type(error).__name__
        raise InputError(f"{str(path)!r} must be an archive", f"reading it failed: {reason}", "Get it again") from None
    raise InputError(f"{str(path)!r} must hold {file}", "it does not", "Take the files as released")


def _rated_text(item_id: str, item: dict[str, Any], *, is_conversation: bool) -> TextOrPair:
    """The text that was rated; of a conversation with what was said before."""
    turns = [item.get("text")]
    if is_conversation:
        try:
            conversation = parse_json(str(turns[0]))
            turns = [conversation[turn] for turn, _ in _TURNS]
        except (TypeError, ValueError, KeyError, RecursionError):
            turns = [None]
    if not all(isinstance(turn, str) for turn in turns):
        wanted = "a conversation of four turns" if is_conversation else "a text"
        raise InputError(
            f"each item needs {wanted}", f"item {item_id!r} has another or none", "Take the files as released"
        )
    *before, rated = map(str, turns)
    if not is_conversation:
        return rated
    speakers = [speaker for _, speaker in _TURNS[:-1]]
    lines = (f"{who}: {words}" for who, words in zip(speakers, before, strict=True) if words != _SILENCE)
    return "\n".join(lines), rated
