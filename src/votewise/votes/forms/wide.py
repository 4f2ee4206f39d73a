"""Wide tables: one row per item and one column per annotator, or the other way round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from votewise._checks import check_item_ids, first_few
from votewise._errors import InputError
from votewise.votes.columns import is_unnamed
from votewise.votes.forms.rows import Rules, binned, items_of, rows_of
from votewise.votes.reading import Reading
from votewise.votes.sources import Table
from votewise.votes.table import Votes, row_numbers
from votewise.votes.tally import GAP_MARKS, as_text, plain_numbers, tally

if TYPE_CHECKING:
    import polars as pl


def read(table: Table, plan: Reading, rules: Rules) -> Votes:
    """Count the votes of a table with a column for each annotator."""
    import polars as pl

    raters = list(plan.raters)
    if not raters:
        raise InputError(
            "a wide table needs a column for each annotator", f"its columns are {first_few(table.names)}", "Add them"
        )
    rows = rows_of(table, plan, [*plan.item, *raters, *plan.rater_ids])
    frame = rows.frame
    if plan.item:
        texts = as_text(items_of(frame, plan.item), "item")
        ids = check_item_ids(texts.fill_null("").str.strip_chars().to_list())
    else:
        ids = row_numbers(frame.height)
    labels = _stacked(frame, raters)
    items = pl.concat([pl.Series(ids)] * len(raters))
    if plan.rater_ids:
        _check_parallel("annotator", plan.rater_ids, raters)
        owners = pl.concat([as_text(frame[name], "annotator").rename("annotator") for name in plan.rater_ids])
        # Nobody is named where nobody voted.
        owners = (
            owners.fill_null("nobody")
            if labels.filter(owners.is_null()).null_count() == int(owners.is_null().sum())
            else owners
        )
    else:
        owners = _repeated(raters, frame.height)
    where = "row numbers" if not plan.item else f"items in {' + '.join(map(repr, plan.item))}"
    return _tallied(
        items,
        owners,
        labels,
        plan,
        rules,
        f"wide table, {where}, {len(raters)} annotator columns",
        (*rows.notes, *_unused(table, plan)),
    )


def read_survey(table: Table, plan: Reading, rules: Rules) -> Votes:
    """Count the votes of a table with a column for each item and a row for each annotator."""
    import polars as pl

    asked = list(plan.item_columns)
    rows = rows_of(table, plan, [*([plan.annotator] if plan.annotator else []), *plan.item_ids, *asked])
    frame = rows.frame
    people = as_text(frame[plan.annotator], "annotator") if plan.annotator else pl.Series(row_numbers(frame.height))
    owners = pl.concat([people.rename("annotator")] * len(asked))
    items = _repeated(asked, frame.height)
    if plan.item_ids:
        _check_parallel("item", plan.item_ids, asked)
        items = pl.concat([as_text(frame[name], "item").rename("item") for name in plan.item_ids])
    where = f"annotators in {plan.annotator!r}" if plan.annotator else "a row for each annotator"
    labels = _stacked(frame, asked)
    notes = (*rows.notes, *_unused(table, plan))
    return _tallied(items, owners, labels, plan, rules, f"survey, {where}, {len(asked)} item columns", notes)


def _unused(table: Table, plan: Reading) -> list[str]:
    """What to say of columns that nobody named, and that are no votes."""
    conditions = [condition.partition("=")[0].strip() for condition in plan.without]
    named = (*plan.item, *plan.raters, *plan.rater_ids, *plan.item_columns, *plan.item_ids, *plan.ignored, *conditions)
    used = {*named, plan.annotator}
    left = [name for name in table.names if name not in used and not is_unnamed(name)]
    return [f"not used: {first_few(left)}"] if left else []


def _check_parallel(role: str, ids: Sequence[str], labels: Sequence[str]) -> None:
    option = "rater_ids= (--rater-ids)" if role == "annotator" else "item_ids= (--item-ids)"
    if len(ids) != len(labels):
        raise InputError(
            f"each column of labels needs a column of {role} ids",
            f"there are {len(labels)} and {len(ids)}",
            f"Name as many with {option}",
        )


def _repeated(names: Sequence[str], times: int) -> pl.Series:
    """Each name that often; as all share one text, a long name is in memory once."""
    import polars as pl

    return pl.Series(names, dtype=pl.String).gather(np.repeat(np.arange(len(names)), times))


def _stacked(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    import polars as pl

    return pl.concat([as_text(frame[name], "label").rename("label") for name in columns])


def _tallied(
    items: pl.Series,
    owners: pl.Series,
    labels: pl.Series,
    plan: Reading,
    rules: Rules,
    provenance: str,
    notes: Sequence[str],
) -> Votes:
    """Votes of cells; gaps are normal, as not everybody is asked everything."""
    gaps = rules.gaps | _gap_words(labels, rules)
    marked = {word: int(times) for word, times in labels.str.strip_chars().value_counts().iter_rows() if word in gaps}
    told = "".join(
        f", {word} taken as 'not asked' in {times:,} cells (name it in classes if it is one)"
        for word, times in sorted(marked.items())
    )
    rules = replace(rules, missing="gap", gaps=gaps)
    if plan.bins:
        labels, rules = binned(labels, plan.bins, rules)
    votes = tally(items, owners, labels, rules, provenance + told)
    return replace(votes, notes=(*notes, *votes.notes))


def _gap_words(labels: pl.Series, rules: Rules) -> frozenset[str]:
    """Marks of a gap; '-1' is one unless it is a class: named as one, or beside another negative label."""
    written = [word.strip() for word in labels.drop_nulls().unique().to_list()]
    words = plain_numbers(written)
    negative = {word for word in words if word.startswith("-") and word[1:].isdigit()}
    classes = rules.classes or ()
    is_class = "-1" in classes or bool(negative - {"-1"})
    marks = {word for word in written if word in GAP_MARKS and word not in classes}
    if "+" in written:
        marks.discard("-")
    return frozenset(marks if is_class else marks | {"-1", "-1.0"})
