"""Which column is which: the names annotation tables use, or the ones the caller gives."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from votewise._checks import first_few
from votewise._errors import InputError

# The column of an index without a name, as pandas calls it when it reads one, and (in canonical form) what it may be
# called when pandas or Arrow wrote it.
INDEX_COLUMN = "Unnamed: 0"
_UNNAMED = frozenset({"", "unnamed:_0", "_index_level_0_"})

# In each role the first group of names is unmistakable; a later one is used only if the earlier ones are absent.
_ALIASES: dict[str, tuple[frozenset[str], ...]] = {
    "item": (
        frozenset(
            [
                "task",
                "task_id",
                "item",
                "item_id",
                "uid",
                "instance_id",
                "example_id",
                "sample_id",
                "image_id",
                "question_id",
                "document_id",
                "doc_id",
                "unit_id",
                "text_id",
                "hit_id",
                "tweet_id",
                "comment_id",
                "post_id",
                "sentence_id",
            ]
        ),
        frozenset(["image", "filename", "file", "unit", "question", "example", "instance", "doc", "document"]),
        frozenset(["id", "index"]),
        _UNNAMED,
    ),
    "annotator": (
        frozenset(
            [
                "worker",
                "worker_id",
                "annotator",
                "annotator_id",
                "user_id",
                "rater",
                "rater_id",
                "coder",
                "coder_id",
                "judge",
                "judge_id",
                "labeler",
                "labeler_id",
                "labeller",
                "labeller_id",
                "participant",
                "participant_id",
            ]
        ),
        frozenset(["user", "username", "person", "expert"]),
    ),
    "label": (
        frozenset(["label", "vote", "rating", "answer", "response", "annotation", "choice", "chosen_label"]),
        frozenset(["class", "category", "value", "score"]),
    ),
    "truth": (frozenset(["label", "true_label", "gold_label", "gold", "target"]),),
}

# Names that are used for row counters as often as for items.
_ROW_COUNTERS = frozenset({"id", "index"}) | _UNNAMED

_ANNOTATOR_COLUMN = re.compile(
    r"(annotator|worker|rater|coder|judge|user|labell?er|expert|person)[_ -]?\d+", re.IGNORECASE
)


def find_column(role: str, names: Sequence[str], chosen: str | None) -> str | None:
    """The column in a role: the one chosen, else the one with a known name, else None.

    Args:
        role: "item", "annotator", "label" or "truth".
        names: the table's columns.
        chosen: the caller's own choice, if any; it must exist.
    """
    if chosen is not None:
        if chosen in names:
            return chosen
        near = difflib.get_close_matches(chosen, names, n=1)
        raise InputError(
            f"the {role} column {chosen!r} must exist",
            f"the columns are {first_few(names)}",
            f"Did you mean {near[0]!r}?" if near else f"Name one of them with {role}= (--{role})",
        )
    for known in _ALIASES[role]:
        found = [name for name in names if _canonical(name) in known]
        if len(found) > 1:
            raise InputError(
                f"one column must be the {role}",
                f"{first_few(found)} could all be",
                f"Choose one with {role}= (--{role})",
            )
        if found:
            return found[0]
    return None


def has_known(role: str, names: Sequence[object]) -> bool:
    """Whether any column has a known name for a role."""
    return any(_canonical(str(name)) in known for known in _ALIASES[role] for name in names)


def may_count_rows(name: str) -> bool:
    """Whether a column of this name is a row counter as often as an item."""
    return _canonical(name) in _ROW_COUNTERS


def looks_like_annotators(names: Sequence[str]) -> bool:
    """Whether every column is named like one annotator of many ('annotator_3', 'rater 12', 'judge7')."""
    return all(_ANNOTATOR_COLUMN.fullmatch(name.strip()) for name in names)


def without_unnamed_index(names: Sequence[str], item: str | None) -> list[str]:
    """The columns without an accidental index, where another column is the item."""
    return [name for name in names if item is None or name == item or _canonical(name) not in _UNNAMED]


def without_any_index(names: Sequence[str]) -> list[str]:
    """The columns without an accidental index: in a table of single votes it counts rows, never items."""
    return [name for name in names if _canonical(name) not in _UNNAMED]


def _canonical(name: str) -> str:
    """`Worker ID`, `worker-id` and `workerId` as `worker_id`; `HITId` as `hit_id`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip())
    return re.sub(r"[\s_-]+", "_", apart).lower()
