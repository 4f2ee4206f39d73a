"""One row per annotator and one column per item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from votewise._checks import first_few
from votewise.votes.columns import known, says
from votewise.votes.guessing.look import Look, first_of
from votewise.votes.guessing.wide import numbered_blocks, sharing_values
from votewise.votes.reading import Reading


def guess_grid(look: Look) -> Reading | None:
    """A form with a grid: a row is a person, and the columns are called 'Question? [item]'."""
    groups = defaultdict(list)
    for name in look.columns:
        asked, _, item = name.removesuffix("]").rpartition("[")
        if asked.strip() and item and name.endswith("]"):
            groups[asked.rstrip()].append(name)
    groups = defaultdict(list, {name: members for name, members in groups.items() if len(members) > 2})
    if not groups:
        return None
    members = max(groups.values(), key=len)
    if len(groups) > 1:
        look.doubt(
            "one question must be the one whose answers are votes",
            f"{first_few(groups)} may all be",
            {"item_columns": tuple(members)},
        )
    people = [name for name in look.names if name not in members and look.columns[name].distinct == look.rows]
    person = look.asked.annotator or first_of(
        [name for name in people if says("annotator", name) or "@" in look.columns[name].values[0]]
    )
    return Reading(form="survey", annotator=person, item_columns=tuple(members))


def guess_survey(look: Look) -> Reading | None:
    """One row per annotator, one column per item."""
    asked = look.asked
    items = list(asked.item_columns)
    person = asked.annotator or first_of(
        [*known("annotator", look.names), *(name for name in look.names if says("annotator", name))]
    )
    if not items:
        blocks = _item_blocks(look, [person or ""])
        if not blocks:
            return None
        items = blocks[0]
        if len(blocks) > 1:
            look.doubt(
                "one question must be the one whose answers are votes",
                f"several blocks of columns may hold them ({first_few([block[0] for block in blocks])}, ...)",
                {"item_columns": tuple(items)},
            )
    return Reading(form="survey", annotator=person, item_columns=tuple(items))


def _item_blocks(look: Look, taken: Sequence[str]) -> list[list[str]]:
    """Columns of a survey that may be items, the largest block first: numbered alike, with answers in common."""
    columns = look.columns
    numbered = [
        members
        for members in numbered_blocks(look).values()
        if len(members) > 2 and not any(columns[one].kind in ("text", "dates") for one in members)
    ]
    blocks = []
    for members in numbered:
        alike = sharing_values(look, [one for one in members if one not in taken and columns[one].filled])
        blocks += [max(alike, key=len)] if alike else []
    blocks.sort(key=len, reverse=True)
    return [block for block in blocks if 2 * len(block) > len(blocks[0])]
