"""Tables of predicted probabilities, lined up with votes by item id and class name."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray, check_matrix, check_simplex, first_few
from votewise._errors import InputError
from votewise.votes import Votes, check_votes, column_names, find_column, number_table, open_source, read_votes


def read_predictions(
    source: str | os.PathLike[str] | Any, votes: Votes, *, item: str | None = None, normalize: bool = False
) -> tuple[Votes, FloatArray]:
    """Read predictions and line them up with votes.

    Args:
        source: .csv, .tsv, .parquet, .jsonl or frame with an item column and a column for each class, in any
            order (without an item column: the items of `votes` in their order); or .npy or array (N, K) with the
            items and classes of `votes` in their order.
        votes: what people said. Items without a prediction are left out of the result.
        item: name of the item column, if it is not a known one; ignored if the table has no such column.
        normalize: divide each row by its sum; without it a row that does not sum to one is an error.

    Returns:
        The votes of the predicted items, over the classes of the predictions if those are more, and the
        predictions (N, K) in the same order.
    """
    check_votes(votes)
    table = open_source(source)
    if isinstance(table, np.ndarray):
        return votes, _by_position(check_matrix("predictions", table), votes, normalize)
    item = item if item in column_names(table, "the table of predictions") else None
    numbers = number_table(table, item=item, what="predictions")
    column = {name: place for place, name in enumerate(numbers.names)}
    known = frozenset(votes.classes)
    unknown = [name for name in numbers.names if name not in known]
    lacking = [name for name in votes.classes if name not in column]
    if lacking or (unknown and (numbers.item_ids is None or normalize)):
        raise InputError(
            f"predictions need an item column and one for each class ({', '.join(votes.classes)})",
            f"the columns are {first_few(numbers.names)}"
            + (f" and the item column {numbers.item!r}" if numbers.item else ""),
            "Name the item column with item= (--item); add a column (zeros) for a class the model does not know; "
            "remove other columns, or name new classes with classes= (--classes)",
        )
    if numbers.item_ids is None:
        columns = [column[name] for name in votes.classes]
        return votes, _by_position(numbers.values[:, columns], votes, normalize)
    rows, order = _line_up(votes.item_ids, numbers.item_ids)
    joined = votes.take(rows) if len(rows) < votes.n_items else votes
    if unknown:
        joined = joined.with_classes([*votes.classes, *unknown])
    columns = [column[name] for name in joined.classes]
    return joined, _on_simplex(numbers.values[order][:, columns], normalize, joined.item_ids)


def read_labels(
    source: str | os.PathLike[str] | Any, votes: Votes, scored: Votes, *, item: str | None = None
) -> IntArray:
    """Read one hard label per item, aligned with the scored items.

    Args:
        source: a table with an item and a label column, or .npy (N,) of class numbers in the order of `votes`.
        votes: all items.
        scored: the ones that are scored, over all classes.
        item: name of the item column, if it is not a known one.

    Returns:
        Class numbers, one for each item of `scored`.
    """
    table = open_source(source)
    rows, _ = _line_up(votes.item_ids, scored.item_ids)
    if isinstance(table, np.ndarray):
        if table.ndim != 1 or table.dtype.kind not in "iu" or len(table) != votes.n_items:
            raise InputError(
                f"an array of labels must hold {votes.n_items} whole numbers, one for each item of the votes",
                f"got {table.dtype} of shape {table.shape}",
                "Line it up, or give a table with item ids",
            )
        labels = table[rows]
        if labels.min() < 0 or labels.max() >= scored.n_classes:
            raise InputError(
                f"labels must lie between 0 and {scored.n_classes - 1}",
                f"they run from {labels.min()} to {labels.max()}",
                "Give class numbers",
            )
        return labels.astype(np.int64)
    names = column_names(table, "the table of labels")
    item = item if item in names else None
    given = read_votes(table, form="long", item=item, label=find_column("truth", names, None), classes=scored.classes)
    counts = given.require_counts("a table of labels")
    several = given.item_ids[counts.sum(axis=1) > 1]
    if len(several):
        raise InputError(
            "each item must have one label",
            f"{first_few(several[:5], len(several))} have more",
            "Keep one row per item",
        )
    found, order = _line_up(scored.item_ids, given.item_ids, all_known=False)
    if len(found) < scored.n_items:
        without = np.setdiff1d(scored.item_ids, given.item_ids)
        raise InputError(
            "every scored item needs a label",
            f"{len(without):,} have none ({first_few(without[:5], len(without))})",
            "Add their rows",
        )
    return np.asarray(counts[order].argmax(axis=1))


def _by_position(probs: FloatArray, votes: Votes, normalize: bool) -> FloatArray:
    """Predictions without ids: row for row those of the votes."""
    if probs.shape != (votes.n_items, votes.n_classes):
        raise InputError(
            f"predictions without item ids must be {votes.n_items} items x {votes.n_classes} classes, like the votes",
            f"their shape is {probs.shape}",
            "Give a table with item ids and class names, or name all classes with classes= (--classes)",
        )
    return _on_simplex(probs, normalize, votes.item_ids)


def _line_up(
    voted: npt.NDArray[np.str_], predicted: npt.NDArray[np.str_], all_known: bool = True
) -> tuple[IntArray, IntArray]:
    """Rows of `voted` that were predicted, in order, and the row of each in `predicted`."""
    width = f"<U{max(voted.dtype.itemsize, predicted.dtype.itemsize) // 4}"
    by_name = np.argsort(predicted, kind="stable")
    ordered = predicted[by_name].astype(width)
    place = np.minimum(np.searchsorted(ordered, voted.astype(width)), len(ordered) - 1)
    found = ordered[place] == voted
    if all_known and found.sum() < len(predicted):
        unknown = np.setdiff1d(predicted, voted)
        raise InputError(
            "every predicted item must have votes",
            f"{len(unknown):,} have none ({first_few(unknown[:5], len(unknown))})",
            "Remove those rows, add their votes, or check that both files write ids the same way",
        )
    return np.flatnonzero(found), by_name[place[found]]


def _on_simplex(matrix: FloatArray, normalize: bool, item_ids: npt.NDArray[np.str_]) -> FloatArray:
    if normalize:
        sums = matrix.sum(axis=1, keepdims=True)
        if (matrix < 0).any() or (sums == 0).any():
            raise InputError(
                "rows to normalise must be non-negative and not all zero",
                "some are not",
                "Apply softmax to logits first",
            )
        matrix = matrix / sums
    return check_simplex("predictions", matrix, item_ids)
