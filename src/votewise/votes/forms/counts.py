"""Tables with one row per item and one column per class: counts and shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_item_ids, first_few
from votewise._errors import InputError
from votewise.votes.forms.rows import Rules, items_of, rows_of
from votewise.votes.numbers import number_table, to_float
from votewise.votes.reading import Reading
from votewise.votes.sources import Table
from votewise.votes.table import Votes, sort_classes
from votewise.votes.tally import as_text, empty_items


def read(table: Table, plan: Reading, rules: Rules) -> Votes:
    """Votes from the numbers in the columns of classes."""
    assert plan.form is not None
    there = set(table.names)
    columns = [name for name in plan.classes if name in there]
    if plan.count is not None and columns:
        return _shares_of_number(table, plan, rules, columns, plan.count)
    lazy = table.lazy().select([*plan.item, *columns]) if columns else table.lazy()
    numbers = number_table(lazy, item=plan.item[0] if plan.item else None, what="votes", found=bool(columns))
    known = None if rules.classes is None else set(rules.classes)
    outside = [name for name in numbers.names if known is not None and name not in known]
    if outside:
        raise InputError(
            f"every class column must be in the class list {', '.join(rules.classes or ())}",
            f"{first_few(outside)} are not",
            "Remove those columns or add their names to the list",
        )
    ids = np.arange(len(numbers.values)).astype(np.str_) if numbers.item_ids is None else numbers.item_ids
    where = "row numbers" if numbers.item is None else f"items in {numbers.item!r}"
    votes = from_matrix(numbers.values, plan.form, rules, ids, numbers.names)
    votes = votes.with_classes(rules.classes or sort_classes(numbers.names))
    return replace(votes, provenance=f"table of {plan.form}, {where}, {len(numbers.names)} class columns")


def _shares_of_number(table: Table, plan: Reading, rules: Rules, columns: Sequence[str], count: str) -> Votes:
    """Votes from shares, or counts, and how many votes there are; what one leaves is the class 'not ...'."""
    rows = rows_of(table, plan, [*plan.item, *columns, count])
    frame = rows.frame
    number = to_float(frame[count]).fill_null(0).to_numpy()
    shares = np.column_stack([to_float(frame[name]).fill_null(float("nan")).to_numpy() for name in columns])
    shares[number == 0] = 0
    are_counts = bool((shares % 1 == 0).all() and shares.max(initial=0) > 1)
    if are_counts:
        shares = shares / np.maximum(number, 1)[:, None]
    names = list(columns)
    if len(names) == 1:
        shares, names = np.column_stack([shares, 1 - shares]), [names[0], f"not {names[0]}"]
    times = shares * number[:, None]
    whole = np.round(times)
    # A share is written with two digits or more.
    odd = (np.abs(times - whole) > np.minimum(np.maximum(0.006 * number[:, None], 1e-6), 0.25)) | (whole < 0)
    wrong = np.flatnonzero(odd.any(axis=1) | ~(whole.sum(axis=1) == number))
    ids = as_text(items_of(frame, plan.item), "item").str.strip_chars().to_list() if plan.item else None
    if wrong.size:
        raise InputError(
            f"shares times {count!r} must be whole, and their sum that number",
            f"in {wrong.size:,} rows they are not (rows {first_few(wrong[:5] + 1, wrong.size)})",
            "Name all classes with classes= (--classes), or leave count out to read the shares alone",
        )
    named = np.arange(len(whole)).astype(np.str_) if ids is None else check_item_ids(ids)
    votes = from_matrix(whole, "counts", replace(rules, empty="drop"), named, names)
    where = "row numbers" if not plan.item else f"items in {plan.item[0]!r}"
    what = f"table of {'counts' if are_counts else 'shares'}, {where}, {len(columns)} class columns"
    provenance = f"{what}, numbers of votes in {count!r}"
    return replace(votes, provenance=provenance, notes=(*rows.notes, *votes.notes))


def from_matrix(
    matrix: FloatArray, form: str, rules: Rules, ids: npt.NDArray[np.str_], classes: Sequence[str] | None
) -> Votes:
    """Votes from a matrix of counts or shares."""
    kept = matrix.any(axis=1) if rules.empty == "drop" else np.ones(len(matrix), dtype=np.bool_)
    if not kept.any():
        raise InputError("at least one item must have a vote", "none has", "Check the table")
    build = Votes.from_counts if form == "counts" else Votes.from_probabilities
    votes = build(matrix[kept], item_ids=ids[kept], classes=classes)
    return replace(votes, notes=tuple(empty_items(int((~kept).sum()))))
