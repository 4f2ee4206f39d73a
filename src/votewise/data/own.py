"""Users' own data: inputs of any kind, opened by the name of their kind, and joined with votes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from votewise._errors import InputError
from votewise.data.dataset import Dataset, Prepared, prepare
from votewise.data.images import open_images
from votewise.data.inputs import InputForm, InputModel, InputSource
from votewise.data.joining import join_inputs
from votewise.data.tables import open_features
from votewise.data.texts import open_texts
from votewise.votes import Votes


def open_inputs(
    kind: str,
    path: Path,
    *,
    item: str | None = None,
    text_column: str | Sequence[str] | None = None,
    voted: Votes | None = None,
    form: InputForm | None = None,
) -> InputSource:
    """Open the inputs of users' data.

    Args:
        kind: "images", "features" or "text".
        path: a folder or a file.
        item: name of the item column of a table.
        text_column: name of the column with the texts, or of the two columns of pairs.
        voted: votes on the items; None to predict without votes.
        form: how the inputs of a trained model were read; None to train.
    """
    if kind == "images":
        ids = None if voted is None else voted.item_ids
        return open_images(path, voted=ids, suffixes=None if form is None else form.suffixes)
    known = InputForm() if form is None else form
    if kind == "features":
        return open_features(path, item=item, columns=known.columns)
    pairs = text_column is not None and not isinstance(text_column, str)
    if form is not None and text_column is not None and pairs != isinstance(form.text_column, tuple):
        takes, name = ("single texts", "one") if pairs else ("pairs of texts", "two, with a comma between")
        got = ",".join(text_column) if pairs else text_column
        raise InputError(f"the model takes {takes}", f"got --text-column {got}", f"Name {name}")
    return open_texts(path, column=text_column or known.text_column, item=item)


def read_own_data(
    votes: Votes,
    kind: str,
    path: Path,
    model: InputModel,
    *,
    name: str,
    item: str | None = None,
    text_column: str | Sequence[str] | None = None,
    missing: str = "error",
    track: Callable[..., Iterable[int]] = lambda rows, **_: rows,
) -> tuple[Dataset, Prepared]:
    """Open inputs, join them with votes, and make the arrays that a model takes.

    Args:
        votes: what people said.
        kind: "images", "features" or "text".
        path: a folder or a file.
        model: model that will be trained, `find_model(name, kind)`.
        name: name of the data, for reports and records.
        item: name of the item column of a table.
        text_column: name of the column with the texts, or of the two columns of pairs.
        missing: what to do with items that have votes or inputs only: "error" or "drop".
        track: shows progress over rows, which it is called with, and with `description=`.
    """
    source = open_inputs(kind, path, item=item, text_column=text_column, voted=votes)
    hashing, reading = (partial(track, description=f"{verb} {kind}") for verb in ("hashing", model.doing))
    dataset = join_inputs(votes, source, name=name, missing=missing, track=hashing)
    return dataset, prepare(dataset, model, track=reading)
