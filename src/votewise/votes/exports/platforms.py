"""Tables that crowd platforms and survey tools write: a row of `PLATFORMS` fills the plan for reading them.

What a platform leaves open, such as which question, is found as in any other table.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from votewise._errors import InputError
from votewise._json import parse_json
from votewise.votes.bounds import check_names, check_places
from votewise.votes.profile import Column
from votewise.votes.reading import Reading

if TYPE_CHECKING:
    import polars as pl

Columns = Mapping[str, Column]


@dataclass(frozen=True)
class Platform:
    """A table of a platform.

    Attributes:
        signature: columns that are always there.
        item: columns of the item, of which the first that is there counts.
        annotator: likewise.
        answers: start of the names of answers; None if any other column may be one.
        without: conditions of rows that are no votes, kept where their column is there.
        more: what else the columns show.
    """

    signature: frozenset[str]
    item: tuple[str, ...] = ()
    annotator: tuple[str, ...] = ()
    answers: str | None = None
    without: tuple[str, ...] = ()
    more: Callable[[Columns, Reading], Reading] | None = None


def find_platform(names: Sequence[str], chosen: str | None) -> str | None:
    """The platform whose table has these columns, or the chosen one; None if it is nobody's."""
    fitting = [name for name, platform in PLATFORMS.items() if platform.signature <= set(names)]
    if chosen is not None and chosen not in fitting:
        raise InputError(
            f"this table must be of {chosen}",
            f"it lacks {', '.join(sorted(PLATFORMS[chosen].signature - set(names)))}",
            "Leave format out",
        )
    return chosen or (fitting[0] if fitting else None)


def fill(name: str, columns: Columns, asked: Reading) -> Reading:
    """What the caller asked for, with the fields that the platform knows."""
    platform = PLATFORMS[name]
    plan = Reading(format=name)
    if asked.form in (None, "long", "one-hot") and not asked.raters and not asked.item_columns:
        items = [one for one in platform.item if one in columns and columns[one].distinct]
        people = [one for one in platform.annotator if one in columns and columns[one].distinct]
        plan = replace(plan, item=tuple(items[:1]), annotator=people[0] if people else None)
    kept = tuple(
        f"{column}={value}"
        for pattern, _, value in (condition.partition("=") for condition in platform.without)
        for column in columns
        if fnmatchcase(column, pattern)
    )
    plan = replace(plan, without=kept)
    if platform.more is not None:
        plan = platform.more(columns, plan)
    if platform.answers is not None and not (
        asked.label or plan.label or plan.item_columns or asked.classes or plan.classes
    ):
        plan = _answers(columns, platform.answers, plan)
    return asked.over(plan)


def _answers(columns: Columns, start: str, plan: Reading) -> Reading:
    """The one answer, or the group of answers that mark one class each."""
    answers = [name for name in columns if name.startswith(start) and columns[name].distinct]
    groups = defaultdict(list)
    for name in answers:
        place = max(name.rfind("."), name.rfind(":"))
        group = name[: place + 1].rstrip(".:") if place < len(name) - 1 else name
        marks = {word.lower() for word in columns[name].values} <= {"true", "false", "1", "0", "on"}
        if marks and group != start.rstrip(".:"):
            groups[group].append(name)
    groups = defaultdict(list, {name: members for name, members in groups.items() if len(members) > 1})
    if len(groups) == 1:
        (members,) = groups.values()
        if len(answers) == len(members):
            return replace(plan, form="one-hot", classes=tuple(members))
    usual = max((columns[name].filled for name in answers), default=0)
    answers = [name for name in answers if 2 * columns[name].filled > usual]
    if len(answers) == 1:
        return replace(plan, label=answers[0])
    few = [name for name in answers if columns[name].is_few and not groups]
    texts = [name for name in answers if name not in few]
    if len(few) == 1 and not any(columns[name].kind == "lists" for name in texts):
        return replace(plan, label=few[0])
    others = tuple(name for name in columns if not name.startswith(start) and name not in plan.item)
    return replace(plan, ignored=tuple(name for name in others if name != plan.annotator))


def _turk_batches(columns: Columns, plan: Reading) -> Reading:
    """Many items in one row: Answer.rating_1, Answer.rating_2, ... beside Input.id_1, Input.id_2, ..."""
    answers, inputs = _numbered(columns, "Answer."), _numbered(columns, "Input.")
    answers = {name: members for name, members in answers.items() if all(columns[one].is_few for one in members)}
    if len(answers) != 1:
        return plan
    (members,) = answers.values()
    parallel = [ids for ids in inputs.values() if len(ids) == len(members)]
    if not parallel:
        return plan
    ids = min(parallel, key=lambda block: (columns[block[0]].kind == "text", columns[block[0]].letters))
    return replace(plan, form="survey", item=(), item_columns=tuple(members), item_ids=tuple(ids))


def _numbered(columns: Columns, start: str) -> dict[str, list[str]]:
    blocks = defaultdict(list)
    for name in columns:
        if name.startswith(start) and columns[name].distinct and (found := re.search(r"\d+", name[len(start) :])):
            inner = name[len(start) :]
            blocks[inner[: found.start()] + "#" + inner[found.end() :]].append(name)
    return {name: members for name, members in blocks.items() if len(members) > 1}


def _aggregated(columns: Columns, plan: Reading) -> Reading:
    """All answers of a unit in one cell, one in a line; a report without them has no votes."""
    lists = [name for name in columns if columns[name].split == "lines" and not name.startswith("_")]
    if len(lists) == 1:
        return replace(plan, form="lists", label=lists[0], split="lines")
    raise InputError(
        "votes must be single judgments",
        "this is an aggregated report, which has only the winner of each unit",
        "Download the full report of the job, which has a row for each judgment",
    )


def _survey(columns: Columns, plan: Reading) -> Reading:
    """A row is a person, and the questions are the items."""
    ignored = tuple(name for name in columns if name in _QUALTRICS and name != plan.annotator)
    return replace(plan, form="survey", item=(), ignored=ignored)


_QUALTRICS = frozenset(
    [
        "StartDate",
        "EndDate",
        "Status",
        "IPAddress",
        "Progress",
        "Finished",
        "RecordedDate",
        "ResponseId",
        "RecipientLastName",
        "RecipientFirstName",
        "RecipientEmail",
        "ExternalReference",
        "LocationLatitude",
        "LocationLongitude",
        "DistributionChannel",
        "UserLanguage",
        "PROLIFIC_PID",
        "Q_RecaptchaScore",
        "Q_TotalDuration",
        "workerId",
        "assignmentId",
    ]
) | {"Duration (in seconds)"}


def _potato(columns: Columns, plan: Reading) -> Reading:
    """Answers in columns called question:::label, which are filled where the label was chosen."""
    groups = defaultdict(list)
    for name in columns:
        if ":::" in name:
            groups[name.partition(":::")[0]].append(name)
    filled = {name: members for name, members in groups.items() if any(columns[one].distinct for one in members)}
    choices = {
        name: members
        for name, members in filled.items()
        if len(members) > 1 and all(columns[one].distinct <= 2 for one in members)
    }
    if len(choices) == 1:
        return replace(plan, form="one-hot", classes=tuple(next(iter(choices.values()))))
    return plan


def unfold(frame: pl.DataFrame) -> pl.DataFrame:
    """Batch results whose answers are JSON in one cell, with a column for each answer."""
    import polars as pl

    records = []
    letters = 0
    cells = frame[TASK_ANSWERS].cast(pl.String).to_list()
    size = sum(len(cell or "") for cell in cells)
    for cell in cells:
        try:
            found = parse_json(cell or "[]")
        except ValueError:
            return frame
        record = {}
        for name, value in _leaves("Answer", found[0] if isinstance(found, list) and found else found):
            record[name] = value
            letters += len(name)
            check_names(letters, size)
        records.append(record)
    names = list(dict.fromkeys(name for record in records for name in record))
    check_places(len(records), len(names), size)
    answers = {name: [record.get(name) for record in records] for name in names if name not in frame.columns}
    return frame.drop(TASK_ANSWERS).with_columns(
        pl.Series(name, cells, dtype=pl.String) for name, cells in answers.items()
    )


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(name if key == "label" else f"{name}.{key}", inner)
    elif value is not None and not isinstance(value, list):
        yield name, str(value).lower() if isinstance(value, bool) else str(value)


TASK_ANSWERS = "Answer.taskAnswers"

PLATFORMS = {
    "mturk": Platform(
        frozenset(["HITId", "AssignmentId", "WorkerId"]),
        ("HITId",),
        ("WorkerId",),
        "Answer.",
        ("AssignmentStatus=Rejected",),
        _turk_batches,
    ),
    "figure-eight": Platform(
        frozenset(["_unit_id", "_worker_id"]),
        ("_unit_id",),
        ("_worker_id",),
        None,
        ("_golden=true", "_tainted=true"),
    ),
    "figure-eight-aggregated": Platform(frozenset(["_unit_id", "_trusted_judgments"]), ("_unit_id",), more=_aggregated),
    "toloka": Platform(
        frozenset(["ASSIGNMENT:worker_id"]),
        ("ASSIGNMENT:task_id",),
        ("ASSIGNMENT:worker_id",),
        "OUTPUT:",
        ("ASSIGNMENT:status=REJECTED", "ASSIGNMENT:status=SKIPPED", "ASSIGNMENT:status=EXPIRED", "GOLDEN:*=?*"),
    ),
    "qualtrics": Platform(
        frozenset(["ResponseId", "RecordedDate"]),
        annotator=("PROLIFIC_PID", "ResponseId"),
        without=("Status=Survey Preview", "Status=1", "DistributionChannel=preview"),
        more=_survey,
    ),
    "crowdtruth": Platform(frozenset(["job", "unit", "worker"]), ("unit",), ("worker",), "output."),
    "potato": Platform(frozenset(["instance_id", "user"]), ("instance_id",), ("user",), None, (), _potato),
}
