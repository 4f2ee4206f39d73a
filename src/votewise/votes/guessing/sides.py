"""Votes for a side, as in comparisons of two things: what they mean depends on what stood there."""

from __future__ import annotations

from votewise._checks import first_few
from votewise.votes.columns import words_of
from votewise.votes.guessing.look import Look, told_by
from votewise.votes.profile import joint_codes

# Answers that choose no side.
_NO_SIDE = frozenset(["tie", "same", "both", "neither", "equal", "none", "draw", "unsure", "skip"])


def doubt_sides(look: Look, item: tuple[str, ...] | None, label: str | None) -> None:
    """Doubt labels that name columns whose cells change within an item, and pairs that stand in both orders."""
    columns = look.columns
    if not item or label not in columns or not all(name in columns for name in item):
        return
    sides = _sides(look, label)
    moving = [name for name in sides if name not in item and not told_by(look, item, name)]
    if len(moving) > 1 and _swapped(look, item, moving):
        look.doubt(
            "a label must mean the same in each row of an item",
            f"{label!r} names a side ({first_few(columns[label].values[:3])}), and what stands in {first_few(moving)} "
            "changes within an item. Write what was chosen into a column of its own and name that as label (if sides "
            f"are what is meant, say ignore='{','.join(moving)}', --ignore {','.join(moving)})",
            None,
        )
    elif len(item) == 2 and not look.asked.item and set(sides) == set(item) and _in_both_orders(look, *item):
        look.doubt(
            "a label must mean the same in each row of an item",
            f"{label!r} names a side, and pairs of {item[0]!r} and {item[1]!r} stand in both orders (each order as an "
            "item of its own is what the command reads)",
            {"item": item},
        )


def _sides(look: Look, label: str) -> list[str]:
    """The columns that the values of a label name, in full or by their last or first word: response_A, left."""
    values = {value.casefold() for value in look.columns[label].values} - _NO_SIDE
    if not 2 <= len(values) <= 4:
        return []
    found: dict[str, list[str]] = {}
    for name in look.names:
        words = words_of(name)
        called = {name.casefold(), *words[-1:], *words[:1]} & values
        if name != label and len(called) == 1 and look.columns[name].distinct > 1:
            found.setdefault(called.pop(), []).append(name)
    return [name for names in found.values() for name in names] if found.keys() == values else []


def _swapped(look: Look, item: tuple[str, ...], sides: list[str]) -> bool:
    """Whether a thing stands now on one side, now on another, of the same item."""
    items = joint_codes(look.columns[name] for name in item).tolist()
    seen: dict[tuple[int, str], int] = {}
    for place, name in enumerate(sides):
        for group, cell in zip(items, look.columns[name].cells.to_list(), strict=True):
            if cell is not None and seen.setdefault((group, cell), place) != place:
                return True
    return False


def _in_both_orders(look: Look, one: str, other: str) -> bool:
    pairs = {*zip(look.columns[one].cells.to_list(), look.columns[other].cells.to_list(), strict=True)}
    return any(a != b and (b, a) in pairs for a, b in pairs)
