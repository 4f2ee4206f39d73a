"""Answers to votes: answers that are not votes are left out and counted; of repeated answers the last one counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from votewise._checks import first_few
from votewise._errors import InputError
from votewise.votes.exports.asked import Asked
from votewise.votes.sources import engine_errors
from votewise.votes.table import Votes, sort_classes
from votewise.votes.tally import RuleError, empty_items, plain_numbers, tally

if TYPE_CHECKING:
    import polars as pl

# The reason given by a row that stands for an item nobody answered.
NOBODY = ""


class Answer(NamedTuple):
    """What a person said about an item.

    Attributes:
        item: its name.
        annotator: who; None if nobody knows.
        classes: the classes named; an answer without any is no vote.
        why_not: a word that says why it is not a vote, e.g. "cancelled"; `NOBODY` where there is no answer at all.
        when: seconds, of which the latest counts; None if unknown.
        number: the answer's own id, so that it counts once however often it is exported.
    """

    item: str
    annotator: str | None = None
    classes: tuple[str, ...] = ()
    why_not: str | None = None
    when: float | None = None
    number: str | None = None


def seconds(moment: Any) -> float | None:
    """A time as tools write it, ISO 8601 or seconds, as seconds; None if it is neither."""
    if isinstance(moment, (int, float)):
        return float(moment) if abs(moment) < 2**53 else None
    try:
        parsed = datetime.fromisoformat(moment)
    except (TypeError, ValueError):
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def answers_frame(answers: Iterable[Answer]) -> pl.DataFrame:
    """Answers as a table, one row each."""
    import polars as pl

    rows = list(answers)
    # Lists are expensive to build one by one, and there are few distinct answers.
    numbers = {classes: number for number, classes in enumerate(dict.fromkeys(row.classes for row in rows))}
    with engine_errors("the export"):
        texts = {
            name: pl.Series([getattr(row, name) for row in rows], dtype=pl.String)
            for name in ("item", "annotator", "why_not", "number")
        }
        when = pl.Series([row.when for row in rows], dtype=pl.Float64)
        distinct = pl.Series([list(classes) for classes in numbers], dtype=pl.List(pl.String))
        return pl.DataFrame({**texts, "when": when, "classes": distinct.gather([numbers[row.classes] for row in rows])})


def votes_of(answers: pl.DataFrame, asked: Asked, provenance: str) -> Votes:
    """Count the answers that are votes, and note the others.

    Args:
        answers: one row each, with the fields of `Answer` as columns.
        asked: what to do with repeated answers, those with several classes, and items without any.
        provenance: how they were found.
    """
    import polars as pl

    nothing = pl.col("classes").list.len() == 0
    answers = answers.with_columns(pl.col("why_not").fill_null(pl.when(nothing).then(pl.lit("empty"))))
    given = answers.filter(pl.col("why_not").is_null())
    given, repeated = _once_each(given, asked.rules.duplicates)
    given, several = _single_classes(given, asked.several)
    unvoted = _without_votes(answers["item"], given["item"], asked.rules.empty)
    annotators, nameless = _annotators(given)
    names = plain_numbers([name.strip() for name in given["classes"].unique().to_list()])
    classes = asked.rules.classes or tuple(sort_classes(sorted(set(names))))
    rules = replace(asked.rules, classes=classes, duplicates="all")
    votes = tally(given["item"], annotators, given["classes"], rules, provenance)
    notes = (*_left_out(answers["why_not"]), *repeated, *several, *nameless, *empty_items(unvoted))
    return replace(votes, notes=notes)


def _once_each(given: pl.DataFrame, duplicates: str) -> tuple[pl.DataFrame, list[str]]:
    """The last answer of each person to each item."""
    import polars as pl

    if duplicates == "all":
        return given, []
    in_time = given.with_row_index("row").sort("when", maintain_order=True, nulls_last=False)
    is_last = pl.all_horizontal(
        pl.col(key).is_null() | pl.struct("item", key).is_last_distinct() for key in ("number", "annotator")
    )
    kept = in_time.filter(is_last).sort("row").drop("row")
    again = given.height - kept.height
    if again and duplicates == "error":
        first = in_time.filter(~is_last).row(0, named=True)
        raise RuleError(
            "a person may answer an item only once",
            f"{again:,} answers were given again (the first by {first['annotator']!r} on {first['item']!r})",
            "Pass duplicates='last' (--duplicates last) to keep the last answer, or duplicates='all' to count each",
            duplicates="last",
        )
    return kept, [f"{again:,} answers were given again by the same person; the last one counts"] if again else []


def _single_classes(given: pl.DataFrame, several: str) -> tuple[pl.DataFrame, list[str]]:
    """One row per vote."""
    import polars as pl

    given = given.with_columns(pl.col("classes").list.unique(maintain_order=True))
    is_several = pl.col("classes").list.len() > 1
    many = given.filter(is_several)
    if not many.height:
        return given.explode("classes"), []
    if several == "error":
        raise RuleError(
            "an answer must name one class",
            f"{many.height:,} name several (items {first_few(many['item'].head(5).to_list(), many.height)}; "
            f"the first says {first_few(many['classes'][0].to_list())})",
            "Pass several='each' (--several each) to count a vote for each class, or several='drop' to leave them out",
            several="each",
        )
    told = f"{many.height:,} answers name several classes; " + (
        "each class got a vote" if several == "each" else "they are left out"
    )
    return (given if several == "each" else given.filter(~is_several)).explode("classes"), [told]


def _without_votes(items: pl.Series, voted: pl.Series, empty: str) -> int:
    """How many items have no vote, if some may."""
    if not len(items):
        raise InputError("an export needs at least one answer", "it has none", "Check the file")
    without = items.filter(~items.is_in(voted.unique().implode())).unique(maintain_order=True)
    if len(without) and (empty == "error" or not len(voted)):
        raise RuleError(
            "every item needs at least one vote",
            f"{len(without):,} have none ({first_few(without.head(5).to_list(), len(without))})",
            "Remove them, or pass empty='drop' (--empty drop)",
            empty="drop",
        )
    return len(without)


def _annotators(given: pl.DataFrame) -> tuple[pl.Series | None, list[str]]:
    """Who gave each vote, if all are known: a part of the ballots would look like all of them."""
    unknown = given["annotator"].null_count()
    if not unknown:
        return given["annotator"], []
    told = [f"{unknown:,} votes name no annotator, so none are kept"] if unknown < given.height else []
    return None, told


def _left_out(why_not: pl.Series) -> list[str]:
    counts = sorted((why, count) for why, count in why_not.drop_nulls().value_counts().iter_rows() if why != NOBODY)
    listed = ", ".join(f"{count:,} {why}" for why, count in counts)
    return [f"answers left out: {listed}"] if counts else []
