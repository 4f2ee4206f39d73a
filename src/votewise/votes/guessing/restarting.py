"""Ids that begin again in each batch, document or list: alone they name several items at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from votewise._random import stream_generator
from votewise.votes.columns import describes_people, mentions
from votewise.votes.guessing.look import ROWS_THAT_TELL, Look, told_by
from votewise.votes.profile import determines, joint_codes

# Answers agree more within batches than between them by so many standard deviations of exchanged items.
_AGREES = 4.0

# How often items are exchanged within batches, to see how far answers agree by chance.
_EXCHANGES = 100


def doubt_restarting_ids(
    look: Look, item: tuple[str, ...] | None, annotator: str | None, label: str | None
) -> tuple[str, ...] | None:
    """The item; with the column in which its ids begin again, doubted, if there is one.

    Two things show it: a text that differs within an item, though not within the item of a batch; or, where each
    annotator works in one batch, answers that agree within a batch and no more than by chance between batches.
    """
    columns = look.columns
    if not item or look.asked.item or look.rows < 2 * ROWS_THAT_TELL or not all(name in columns for name in item):
        return item
    found = []
    for name in _batches(look, item, annotator, label):
        finer = (*item, name)
        text = _text_of(look, item, name, (annotator, label))
        if text is not None:
            why = f"the same {' + '.join(item)} has different values of {text!r}"
        elif _agree_only_within(look, item, name, annotator, label):
            why = (
                f"in different values of {name!r}, answers on the same {' + '.join(item)} agree no more than by chance"
            )
        else:
            continue
        found.append((len(np.unique(joint_codes(columns[one] for one in finer))), name, why))
    if not found:
        return item
    _, batch, why = min(found)
    wider = tuple(one for one in columns if one in (*item, batch))
    look.doubt(
        "an item must be one thing",
        f"{why}; with {batch!r} it names one (if it does alone, say item={item[0]!r}, --item {','.join(item)})",
        {"item": wider},
    )
    return wider


def _batches(look: Look, item: tuple[str, ...], annotator: str | None, label: str | None) -> Iterator[str]:
    """The columns that tell apart rows of an item, and leave several rows to each part."""
    columns, taken = look.columns, (*item, annotator, label)
    items = joint_codes(columns[one] for one in item)
    for name in look.names:
        column = columns[name]
        if name in taken or column.kind not in ("ids", "few values") or column.distinct < 2:
            continue
        if column.filled < look.rows or 2 * column.distinct > look.rows:
            continue
        parts = len(np.unique(joint_codes([*(columns[one] for one in item), column])))
        if look.rows >= 1.5 * parts and parts > len(np.unique(items)) and not told_by(look, (name,), item[0]):
            yield name


def _text_of(look: Look, item: tuple[str, ...], batch: str, taken: tuple[str | None, ...]) -> str | None:
    """A text that an item has in each batch, another one in another batch."""
    for name in look.names:
        column = look.columns[name]
        is_text = column.kind == "text" or (column.kind == "ids" and column.numbers is None and mentions("item", name))
        if (
            is_text
            and name not in (*item, batch, *taken)
            and column.filled == look.rows
            and told_by(look, (*item, batch), name)
            and not told_by(look, item, name)
            and not told_by(look, (batch,), name)
        ):
            return name
    return None


def _agree_only_within(look: Look, item: tuple[str, ...], batch: str, annotator: str | None, label: str | None) -> bool:
    """Whether answers agree within the items of a batch, and between batches no more than by chance."""
    columns = look.columns
    if annotator not in columns or label not in columns or not determines(columns[annotator], columns[batch]):
        return False
    described = [name for name in look.names if name not in item and told_by(look, item, name)]
    if describes_people(batch) or any(2 * columns[name].distinct > columns[item[0]].distinct for name in described):
        return False
    items = joint_codes(columns[one] for one in item)
    parts, first, part = np.unique(
        joint_codes([*(columns[one] for one in item), columns[batch]]), return_index=True, return_inverse=True
    )
    values = np.unique(columns[label].codes, return_inverse=True)[1]
    said = np.bincount(part * (int(values.max()) + 1) + values, minlength=len(parts) * (int(values.max()) + 1))
    return _agree_only_in_parts(said.reshape(len(parts), -1), items[first], columns[batch].codes[first])


def _agree_only_in_parts(
    said: npt.NDArray[np.int64], item: npt.NDArray[np.int64], batch: npt.NDArray[np.int64]
) -> bool:
    """Whether answers agree within the items of each batch, and between batches as if items were exchanged in each.

    Args:
        said: (P, K) how often each label was given in each part, which is an item of a batch.
        item: (P,) the item of each part.
        batch: (P,) its batch.
    """
    sizes = said.sum(axis=1)
    pairs = float((sizes * (sizes - 1)).sum())
    if pairs < 2 * ROWS_THAT_TELL or said.shape[1] < 2:
        return False
    within = float((said * (said - 1)).sum()) / pairs

    def between(item: npt.NDArray[np.int64]) -> float:
        """How often two rows of an item agree that are of different batches."""
        together = np.zeros((int(item.max()) + 1, said.shape[1]))
        np.add.at(together, item, said)
        possible = float((together.sum(axis=1) ** 2).sum() - (sizes**2).sum())
        return float((together**2).sum() - (said**2).sum()) / possible if possible else float("nan")

    numbers, places = stream_generator(0, "restarting ids"), np.argsort(batch, kind="stable")
    exchanged = []
    for _ in range(_EXCHANGES):
        mixed = np.empty_like(item)
        mixed[places] = item[np.lexsort((numbers.random(len(item)), batch))]
        exchanged.append(between(mixed))
    mean, spread = float(np.mean(exchanged)), float(np.std(exchanged))
    found = between(item)
    return within - max(found, mean) > _AGREES * spread and found < (within + mean) / 2
