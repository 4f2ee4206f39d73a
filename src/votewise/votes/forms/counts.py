"""Tables with one row per item and one column per class: counts and shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, first_few
from votewise._errors import InputError
from votewise.votes.forms.rows import Rules
from votewise.votes.numbers import number_table
from votewise.votes.reading import Reading
from votewise.votes.sources import Table
from votewise.votes.table import Votes, sort_classes
from votewise.votes.tally import empty_items


def read(table: Table, plan: Reading, rules: Rules) -> Votes:
    """Votes from the numbers in the columns of classes."""
    assert plan.form is not None
    there = set(table.names)
    columns = [name for name in plan.classes if name in there]
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
