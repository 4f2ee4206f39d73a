"""POPQUORN: comments and emails rated from 1 to 5, with who rated them.

Pei and Jurgens (2023), "When do annotator demographics matter? Measuring the influence of annotator demographics with
the POPQUORN dataset".
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.data.dataset import Dataset
from votewise.data.inputs import InputForm
from votewise.data.joining import join_inputs
from votewise.data.releases import locate_release, notes_on_release_files
from votewise.data.single_votes import count_votes
from votewise.data.texts import Texts
from votewise.votes.exports.trees import decode

# The questions, each the name of the column of its ratings.
PARTS = ("offensiveness", "politeness")

RATINGS = ("1", "2", "3", "4", "5")


def load_popquorn(part: str = "offensiveness", folder: Path | None = None) -> Dataset:
    """Texts and their ratings, 1 (not at all) to 5 (very), with the annotators.

    Args:
        part: "offensiveness" of comments, or "politeness" of emails.
        folder: where the released file lies; `data_folder()` if left out. Nothing is downloaded.
    """
    name = f"popquorn-{check_choice('the part of POPQUORN', part, PARTS)}"
    (path,) = locate_release(name, folder)
    content, what = path.read_bytes(), f"the file {str(path)!r}"
    reader = csv.DictReader(io.StringIO(decode(content, what), newline=""), strict=True)
    columns = ("instance_id", "user_id", "text", part)
    try:
        lacking = [column for column in columns if column not in (reader.fieldnames or ())]
        if lacking:
            raise InputError(
                f"{what} must have the columns {', '.join(columns)}",
                f"it lacks {' and '.join(lacking)}",
                "Take the file as released",
            )
        rows = [tuple(row[column] or "" for column in columns) for row in reader]
    except csv.Error as error:
        raise InputError(f"{what} must be a table", f"reading it failed: {error}", "Get it again") from None
    texts: dict[str, str] = {}
    for item, _, text, _ in rows:
        if texts.setdefault(item, text) != text:
            raise InputError(
                "all rows of an item must have its text",
                f"those of item {item!r} have different ones",
                "Take the file as released",
            )
    votes = count_votes(
        [(item, person, rating.removesuffix(".0")) for item, person, _, rating in rows],
        RATINGS,
        f"POPQUORN table, question {part!r}",
    )
    source = Texts(votes.item_ids, tuple(texts.values()), InputForm(text_column="text"))
    return join_inputs(votes, source, name=name, notes=notes_on_release_files(name, {path.name: content}))
