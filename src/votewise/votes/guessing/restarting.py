"""Ids that begin again in each batch, document or list: alone they name several items at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from votewise.votes.columns import describes_people, mentions
from votewise.votes.guessing.look import ROWS_THAT_TELL, Look, told_by
from votewise.votes.profile import Column, determines, joint_codes

# Answers agree more within batches than between them by so many standard deviations, and between them hardly at all.
_AGREES, _DOES_NOT = 3.0, 2.0


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
    parts = joint_codes([*(columns[one] for one in item), columns[batch]])
    matching, possible, chance = _matches(items, columns[label])
    within, possible_within, _ = _matches(parts, columns[label])

    between, possible_between = matching - within, possible - possible_within
    if min(possible_within, possible_between) < 2 * ROWS_THAT_TELL or chance == 1:
        return False
    spread = np.sqrt(chance * (1 - chance) * (1 / possible_within + 1 / possible_between))
    more = within / possible_within - between / possible_between
    over_chance = (between / possible_between - chance) / np.sqrt(chance * (1 - chance) / possible_between)
    return bool(more > _AGREES * spread and over_chance < _DOES_NOT)


def _matches(groups: npt.NDArray[np.int64], column: Column) -> tuple[float, float, float]:
    """Pairs of rows of a group with the same value, all pairs of rows of a group, and the chance of the same value."""
    values = np.unique(column.codes, return_inverse=True)[1]
    group = np.unique(groups, return_inverse=True)[1]
    same = np.unique(group * (int(values.max(initial=0)) + 1) + values, return_counts=True)[1].astype(np.float64)
    sizes, shares = np.bincount(group).astype(np.float64), np.bincount(values) / max(len(values), 1)
    return float((same * (same - 1)).sum() / 2), float((sizes * (sizes - 1)).sum() / 2), float((shares**2).sum())
