"""Long tables: one row per vote."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from votewise._checks import first_few
from votewise._errors import InputError
from votewise.votes.columns import may_count_rows
from votewise.votes.forms.rows import Rules, answered_once, binned, items_of, list_column, rows_of
from votewise.votes.profile import split_cell
from votewise.votes.reading import Reading
from votewise.votes.sources import Table
from votewise.votes.table import Votes
from votewise.votes.tally import RuleError, as_text, tally

if TYPE_CHECKING:
    import polars as pl


def read(table: Table, plan: Reading, rules: Rules) -> Votes:
    """Count the votes of a long table."""
    assert plan.label is not None
    named = [*plan.item, *([plan.annotator] if plan.annotator else []), plan.label]
    if len(set(named)) < len(named):
        roles = {"item": " + ".join(plan.item), "annotator": plan.annotator, "label": plan.label}
        raise InputError("item, annotator and label must be different columns", f"they are {roles}", "Name each once")
    times = plan.count or plan.weight
    few = [name for name in (plan.annotator, plan.label) if name is not None and not (plan.bins or plan.split)]
    rows = rows_of(table, plan, [*named, *([times] if times else [])], few)
    labels, notes = rows.frame[plan.label], list(rows.notes)
    items = items_of(rows.frame, plan.item)
    people = None if plan.annotator is None else rows.frame[plan.annotator].alias("annotator")
    if plan.split:
        items, people, labels, told = _split(items, people, labels, plan, rules)
        notes += told
        rules = replace(rules, duplicates="all")
    if plan.bins:
        labels, rules = binned(labels, plan.bins, rules)
    columns = {"item": plan.item, "annotator": plan.annotator, "label": plan.label, "count": plan.count}
    columns["weight"] = plan.weight
    where = ", ".join(
        f"{role}s in {' + '.join(map(repr, name)) if isinstance(name, tuple) else repr(name)}"
        for role, name in columns.items()
        if name
    )
    votes = tally(
        items,
        people,
        labels,
        rules,
        f"long table, {where}",
        times=rows.frame[times].alias(times) if times else None,
        as_shares=plan.weight is not None,
    )
    return replace(votes, notes=(*notes, *votes.notes))


def check_row_counter(votes: Votes, plan: Reading) -> None:
    """Refuse an item that a row counter was taken for."""
    if (
        votes.ballots is not None
        and len(plan.item) == 1
        and votes.n_items == len(votes.ballots) > 1
        and may_count_rows(plan.item[0])
    ):
        raise InputError(
            "the item column must name items",
            f"{plan.item[0]!r} differs in every row, like a row counter",
            "Name the item column with item= (--item)",
        )


def _split(
    items: pl.Series, people: pl.Series | None, labels: pl.Series, plan: Reading, rules: Rules
) -> tuple[pl.Series, pl.Series | None, pl.Series, list[str]]:
    """A row for each class that a cell names."""
    import polars as pl

    assert plan.split is not None
    words = as_text(labels, "label") if not labels.dtype.is_nested() else labels
    meaning = (
        {word: split_cell(str(word), plan.split) for word in words.drop_nulls().unique().to_list()}
        if (not words.dtype.is_nested())
        else {}
    )
    cells = (
        [meaning.get(word, []) for word in words.to_list()]
        if meaning
        else [[str(one) for one in word] if word is not None else [] for word in words.to_list()]
    )
    frame = pl.DataFrame({"item": items, "label": list_column([list(dict.fromkeys(cell)) for cell in cells])})
    if people is not None:
        frame = frame.with_columns(annotator=people)
    frame, notes = answered_once(frame, rules)
    many = frame.filter(pl.col("label").list.len() > 1)
    if many.height and plan.several in (None, "error"):
        raise RuleError(
            "an answer must name one class",
            f"{many.height:,} name several "
            f"(items {first_few(many['item'].head(5).cast(pl.String).to_list(), many.height)}; "
            f"the first says {first_few(many['label'][0].to_list())})",
            "Pass several='each' (--several each) to count a vote for each class, or several='drop' to leave them out",
            several="each",
        )
    if many.height:
        each = plan.several == "each"
        frame = frame if each else frame.filter(pl.col("label").list.len() <= 1)
        notes.append(
            f"{many.height:,} answers name several classes; "
            + ("each class got a vote" if each else "they are left out")
        )
    frame = frame.explode("label")
    return frame["item"], frame["annotator"] if people is not None else None, frame["label"], notes
