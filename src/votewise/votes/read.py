"""Tables of votes to `Votes`: long, wide, counts and probabilities, from any supported source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_choice, check_matrix, first_few
from votewise._errors import InputError
from votewise.votes import exports
from votewise.votes.columns import (
    find_column,
    looks_like_annotators,
    may_count_rows,
    without_any_index,
    without_unnamed_index,
)
from votewise.votes.numbers import is_mostly_numbers, is_number_column, number_table
from votewise.votes.sources import column_names, engine_errors, named_file, open_source
from votewise.votes.table import Votes, check_class_names, check_item_ids, row_numbers, sort_classes
from votewise.votes.tally import MISSING_WORDS, Rules, as_text, empty_items, plain_numbers, tally

if TYPE_CHECKING:
    import polars as pl

FORMS = ("long", "wide", "counts", "probabilities")


@dataclass(frozen=True)
class _Columns:
    """The columns the caller named, by role."""

    item: str | None
    annotator: str | None
    label: str | None


def read_votes(
    source: Any,
    *,
    form: str | None = None,
    format: str | None = None,  # noqa: A002, the word users know
    question: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    classes: Iterable[object] | None = None,
    duplicates: str | None = None,
    several: str = "error",
    missing: str = "error",
    empty: str = "error",
) -> Votes:
    """Read votes from a file, a frame or an array.

    Four forms are known. *long*: one row per vote, with an item, a label and perhaps an annotator column.
    *wide*: one row per item, one column per annotator, gaps empty or -1 (unless `classes` names it or another label
    is negative). *counts*: one row per item, one column per class, whole numbers. *probabilities*: the same with
    shares that sum to one.

    Without `form`, a table with a known item and label column is long; a table of numbers is counts, or
    probabilities if any number is fractional; a table of words, or with columns named like annotators,
    is wide. Anything else is an error that asks for `form`.

    Exports of annotation tools (.json, and tables and .jsonl with the tool's own names) are recognised, too, unless
    `form`, `annotator` or `label` say that the source is a table. Whatever else they hold (skipped and repeated
    answers) is left out and reported in `Votes.notes`.

    Args:
        source: path to .csv, .tsv, .parquet, .jsonl, .json or .npy; pandas, polars or pyarrow frame; NumPy array.
        form: "long", "wide", "counts" or "probabilities"; recognised if left out.
        format: name of an export, one of `votewise.votes.FORMATS`.
        question: in an export with several questions, the one whose answers are votes.
        item: name of the item column; known names (task, item_id, uid, ...) are found without it. In an export, the
            field that names items, instead of the tool's own number.
        annotator: name of the annotator column of a long table.
        label: name of the label column of a long table.
        classes: all class names in the order wanted; a label outside it is an error. Sorted if left out.
        duplicates: an annotator's second vote on an item: "error", "last" (it counts), "all" (both count). Left out, it
            is an error in a table, and the last one counts in an export.
        several: an answer of an export that names several classes: "error", "drop" it, or "each" class gets a vote.
        missing: a row without a label in a long table: "error", or "drop" the row.
        empty: an item without any vote: "error", or "drop" the item.

    Returns:
        The votes; items in the order in which the source first names them. What cannot be read is an `InputError`
        that names the first rows or items at fault and the option that helps.
    """
    if form is not None:
        check_choice("form", form, FORMS)
    if format is not None:
        check_choice("format", format, exports.FORMATS)
    columns = _Columns(item, annotator, label)
    rules = Rules(
        None if classes is None else check_class_names(classes),
        check_choice("duplicates", duplicates or "error", ("error", "last", "all")),
        check_choice("missing", missing, ("error", "drop")),
        check_choice("empty", empty, ("error", "drop")),
    )
    check_choice("several", several, ("error", "drop", "each"))
    if not _is_plain(source, form, columns, format or question):
        asked = exports.Asked(question, item, several, replace(rules, duplicates=duplicates or "last"), source)
        votes, source = _read_export(source, format, asked)
        if votes is not None:
            return votes
    with named_file(source):
        return _read_table(source, form, columns, rules)


def _read_table(source: Any, form: str | None, columns: _Columns, rules: Rules) -> Votes:
    table = open_source(source)
    if isinstance(table, np.ndarray):
        return _read_array(table, form, rules)
    names = column_names(table, "the table")
    form = form or _detect_form(table, names, columns)
    if form == "long":
        return _read_long(source if isinstance(source, (str, os.PathLike)) else table, names, columns, rules)
    if form == "wide":
        return _read_wide(table, names, columns, rules)
    return _read_numbers(table, form, columns, rules)


def _is_plain(source: Any, form: str | None, columns: _Columns, export: str | None) -> bool:
    """Whether the source cannot be an export: the caller names what only tables have, or it is an array."""
    named = [name for name in ("annotator", "label") if getattr(columns, name) is not None] + ["form"] * (
        form is not None
    )
    is_array = isinstance(source, np.ndarray) or (
        isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() == ".npy"
    )
    if export is not None and (named or is_array):
        raise InputError(
            "format and question are for exports of annotation tools",
            f"{' and '.join(named) or 'an array'} is given too",
            "Leave them out",
        )
    return bool(named) or is_array


def _read_export(source: Any, format: str | None, asked: exports.Asked) -> tuple[Votes | None, Any]:  # noqa: A002
    """The votes of an export, or None if the source is a plain table; and the source, perhaps opened."""
    path = Path(source) if isinstance(source, (str, os.PathLike)) else None
    if path is not None and path.suffix.lower() in (".json", ".jsonl"):
        votes = exports.read_tree(path, format, asked)
    else:
        table = open_source(source)
        assert not isinstance(table, np.ndarray)
        votes = exports.read_table(table, column_names(table, "the table"), format, asked)
        source = table if path is None else source
    if votes is None and asked.question is not None:
        raise InputError(
            "question is for exports of annotation tools",
            "this is a plain table",
            "Name its column with label= (--label)",
        )
    return votes, source


def _detect_form(table: pl.LazyFrame, names: list[str], columns: _Columns) -> str:
    """Name the form of a table by its columns and cells, or ask the caller to."""
    label = find_column("label", names, columns.label)
    if label is not None or find_column("annotator", names, columns.annotator) is not None:
        return "long"
    item = find_column("item", names, columns.item)
    cells = [name for name in without_unnamed_index(names, item) if name != item]
    if cells and looks_like_annotators(cells if item is not None or len(cells) == 1 else cells[1:]):
        return "wide"
    with engine_errors("the table"):
        frame = table.select(cells).collect()
    texts = [name for name in cells if not is_number_column(frame[name])]
    meant = [name for name in cells if is_mostly_numbers(frame[name])]
    if meant and (meant == cells or meant == cells[1:]):
        numbers = number_table(table, item=columns.item, what="votes").values
        return "counts" if (numbers == np.floor(numbers)).all() else "probabilities"
    if len(texts) > 1 and texts == cells and _share_words(frame):
        return "wide"
    hint = "It looks separated by semicolons: save it with commas" if len(names) == 1 and ";" in names[0] else None
    raise InputError(
        "the columns must show which form the table has",
        f"{first_few(names)} fit no form (long: item and label; wide: one column per annotator; counts: one per class)",
        hint or "Name the columns with item=, annotator=, label= (--item, --annotator, --label) or pass form= (--form)",
    )


def _read_long(source: Any, names: list[str], columns: _Columns, rules: Rules) -> Votes:
    import polars as pl

    roles = {
        "item": find_column("item", without_any_index(names) if columns.item is None else names, columns.item),
        "annotator": find_column("annotator", names, columns.annotator),
        "label": find_column("label", names, columns.label),
    }
    for role in ("item", "label"):
        if roles[role] is None:
            raise InputError(
                "a long table needs an item and a label column",
                f"no {role} column is known among {first_few(names)}",
                f"Name it with {role}= (--{role})",
            )
    named = {role: name for role, name in roles.items() if name is not None}
    if len(set(named.values())) < len(named):
        raise InputError("item, annotator and label must be different columns", f"they are {named}", "Name each once")
    with engine_errors("the table"):
        few = [name for role, name in named.items() if role != "item"]
        table = open_source(source, columns=list(named.values()), few=few)
        assert not isinstance(table, np.ndarray)
        frame = table.select(pl.col(name).alias(role) for role, name in named.items()).collect()
        if frame["item"].null_count() and frame["label"].null_count():  # blank lines are no rows
            frame = frame.filter(~pl.all_horizontal(pl.all().is_null()))
    owners = frame["annotator"] if "annotator" in named else None
    where = ", ".join(f"{role}s in {name!r}" for role, name in named.items())
    votes = tally(frame["item"], owners, frame["label"], rules, f"long table, {where}")
    if (
        columns.item is None
        and owners is not None
        and votes.n_items == len(frame) > 1
        and may_count_rows(named["item"])
    ):
        raise InputError(
            "the item column must name items",
            f"{named['item']!r} differs in every row, like a row counter",
            "Name the item column with item= (--item)",
        )
    return votes


def _read_wide(table: pl.LazyFrame, names: list[str], columns: _Columns, rules: Rules) -> Votes:
    import polars as pl

    with engine_errors("the table"):
        frame = table.collect()
        item = find_column("item", names, columns.item) or _first_column_of_ids(frame)
    annotators = [name for name in without_unnamed_index(names, item) if name != item]
    if not annotators:
        raise InputError(
            "a wide table needs a column for each annotator", f"its columns are {first_few(names)}", "Add them"
        )
    with engine_errors("the table"):
        if item is None:
            ids = row_numbers(frame.height)
        else:
            ids = check_item_ids(as_text(frame[item], "item").fill_null("").str.strip_chars().to_list())
        labels = pl.concat([as_text(frame[name], "label").rename("label") for name in annotators])
    # Gaps are normal in a wide table: not everybody is asked everything.
    gaps = _gap_words(labels, rules.classes)
    owners = pl.Series(np.repeat(np.array(annotators), frame.height))
    items = pl.Series(np.tile(ids, len(annotators)))
    where = "row numbers" if item is None else f"items in {item!r}"
    marked = int(labels.is_in(list(gaps)).sum())
    told = f", -1 taken as 'not asked' in {marked:,} cells (name it in classes if it is one)" if marked else ""
    provenance = f"wide table, {where}, {len(annotators)} annotator columns{told}"
    return tally(items, owners, labels, replace(rules, missing="gap", gaps=gaps), provenance)


def _first_column_of_ids(frame: pl.DataFrame) -> str | None:
    """The first column of a wide table, if it surely names items: a different text in each row, none of them a label.

    Annotators may be few and disagree, so a column of numbers counts only where the others are named like annotators.
    """
    name, *rest = frame.columns
    may_be_label = is_number_column(frame[name]) and not looks_like_annotators(rest)
    if frame.width < 3 or frame.height < 2 or name.isdigit() or looks_like_annotators([name]) or may_be_label:
        return None
    first, *others = (as_text(column, "label").drop_nulls().unique().to_list() for column in frame)
    shared = set(first) & {word for words in others for word in words}
    return name if len(first) == frame.height and not shared else None


def _read_numbers(table: pl.LazyFrame, form: str, columns: _Columns, rules: Rules) -> Votes:
    numbers = number_table(table, item=columns.item, what=form)
    outside = [name for name in numbers.names if rules.classes is not None and name not in rules.classes]
    if outside:
        raise InputError(
            f"every class column must be in the class list {', '.join(rules.classes or ())}",
            f"{first_few(outside)} are not",
            "Remove those columns or add their names to the list",
        )
    ids = row_numbers(len(numbers.values)) if numbers.item_ids is None else numbers.item_ids
    where = "row numbers" if numbers.item is None else f"items in {numbers.item!r}"
    votes = _from_matrix(numbers.values, form, rules, ids, numbers.names)
    votes = votes.with_classes(rules.classes or sort_classes(numbers.names))
    return replace(votes, provenance=f"table of {form}, {where}, {len(numbers.names)} class columns")


def _read_array(array: npt.NDArray[Any], form: str | None, rules: Rules) -> Votes:
    if form == "long":
        raise InputError("a long table needs named columns", "got an array", "Use a frame or a file with a header")
    if form == "wide":
        import polars as pl

        if array.ndim != 2 or array.dtype.kind not in "iufU":
            raise InputError(
                "a wide array must be items x annotators", f"got {array.dtype} of shape {array.shape}", "Reshape it"
            )
        wide = pl.DataFrame(array, schema=[str(column) for column in range(array.shape[1])])
        return _read_wide(wide.lazy(), wide.columns, _Columns(None, None, None), rules)
    matrix = check_matrix("the array of votes", array)
    if form is None:
        form = "counts" if (matrix == np.floor(matrix)).all() or not _near_simplex(matrix) else "probabilities"
    votes = _from_matrix(matrix, form, rules, row_numbers(len(matrix)), rules.classes)
    return replace(votes, provenance=f"array of {form}, row numbers, {matrix.shape[1]} class columns")


def _from_matrix(
    matrix: FloatArray, form: str, rules: Rules, ids: npt.NDArray[np.str_], classes: Sequence[str] | None
) -> Votes:
    kept = matrix.any(axis=1) if rules.empty == "drop" else np.ones(len(matrix), dtype=np.bool_)
    if not kept.any():
        raise InputError("at least one item must have a vote", "none has", "Check the table")
    build = Votes.from_counts if form == "counts" else Votes.from_probabilities
    votes = build(matrix[kept], item_ids=ids[kept], classes=classes)
    return replace(votes, notes=tuple(empty_items(int((~kept).sum()))))


def _gap_words(labels: pl.Series, classes: tuple[str, ...] | None) -> frozenset[str]:
    """'-1' marks a gap in a wide table, unless it is a class: named as one, or beside another negative label."""
    words = plain_numbers([word.strip() for word in labels.drop_nulls().unique().to_list()])
    negative = {word for word in words if word.startswith("-") and word[1:].isdigit()}
    is_class = "-1" in (classes or ()) or bool(negative - {"-1"})
    return frozenset() if is_class else frozenset({"-1", "-1.0"})


def _share_words(frame: pl.DataFrame) -> bool:
    """Whether each column uses a word that another uses too, as annotators of one question do."""
    seen = [set(as_text(column, "label").drop_nulls().unique().to_list()) - MISSING_WORDS for column in frame]
    return all(any(mine & other for j, other in enumerate(seen) if j != i) for i, mine in enumerate(seen) if mine)


def _near_simplex(matrix: FloatArray) -> bool:
    """Whether an array with fractions is meant as probabilities: most rows sum to about one."""
    return bool(np.median(np.abs(matrix.sum(axis=1) - 1)) < 0.05 and matrix.max() < 1.05)
