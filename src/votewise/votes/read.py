"""Tables of votes to `Votes`: long, wide, counts and probabilities, from any supported source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import SIMPLEX_TOLERANCE, FloatArray, check_choice, check_matrix, first_few
from votewise._errors import InputError
from votewise.votes.columns import find_column, looks_like_annotators
from votewise.votes.encode import IndexArray, encode_few, encode_many
from votewise.votes.sources import column_names, engine_errors, open_source
from votewise.votes.table import Ballots, Votes, check_class_names, check_item_ids, row_numbers, sort_classes

if TYPE_CHECKING:
    import polars as pl

FORMS = ("long", "wide", "counts", "probabilities")

# What tools write for "no answer". An empty field is missing in every column; these words only among labels.
_MISSING_WORDS = frozenset({"", "NA", "N/A", "NaN", "nan", "null"})


@dataclass(frozen=True)
class _Reading:
    """What the caller of `read_votes` asked for."""

    item: str | None
    annotator: str | None
    label: str | None
    classes: tuple[str, ...] | None
    duplicates: str
    missing: str
    empty: str


def read_votes(
    source: Any,
    *,
    form: str | None = None,
    item: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    classes: Sequence[str] | None = None,
    duplicates: str = "error",
    missing: str = "error",
    empty: str = "error",
) -> Votes:
    """Read votes from a file, a frame or an array.

    Four forms are known. *long*: one row a vote, with an item, a label and perhaps an annotator column.
    *wide*: one row an item, one column an annotator, gaps empty or -1. *counts*: one row an item, one
    column a class, whole numbers. *probabilities*: the same with shares that sum to one.

    Without `form`, a table with a known item and label column is long; a table of numbers is counts, or
    probabilities if any number is fractional; a table of words, or with columns named like annotators,
    is wide. Anything else is an error that asks for `form`.

    Args:
        source: path to .csv, .tsv, .parquet, .jsonl or .npy; pandas, polars or pyarrow frame; NumPy array.
        form: "long", "wide", "counts" or "probabilities".
        item: name of the item column; known names (task, item_id, uid, ...) are found without it.
        annotator: name of the annotator column of a long table.
        label: name of the label column of a long table.
        classes: all class names in the order wanted; a label outside it is an error. Sorted if left out.
        duplicates: an annotator's second vote on an item: "error", "last" (it counts), "all" (both count).
        missing: a row without a label in a long table: "error", or "drop" the row.
        empty: an item without any vote: "error", or "drop" the item.

    Returns:
        The votes; items in the order in which the source first names them. What cannot be read is an `InputError`
        that names the first rows or items at fault and the option that helps.
    """
    if form is not None:
        check_choice("form", form, FORMS)
    reading = _Reading(
        item,
        annotator,
        label,
        None if classes is None else check_class_names(classes),
        check_choice("duplicates", duplicates, ("error", "last", "all")),
        check_choice("missing", missing, ("error", "drop")),
        check_choice("empty", empty, ("error", "drop")),
    )
    table = open_source(source)
    if isinstance(table, np.ndarray):
        return _read_array(table, form, reading)
    names = column_names(table, "the table")
    form = form or _detect_form(table, names, reading)
    if form == "long":
        return _read_long(source, names, reading)
    if form == "wide":
        return _read_wide(table, names, reading)
    return _read_numbers(table, form, reading)


def _detect_form(table: pl.LazyFrame, names: list[str], reading: _Reading) -> str:
    """Name the form of a table by its columns and cells, or ask the caller to."""
    item = find_column("item", names, reading.item)
    label = find_column("label", names, reading.label)
    if label is not None and item is not None:
        return "long"
    if label is not None or find_column("annotator", names, reading.annotator) is not None:
        lacking = "item" if item is None else "label"
        raise InputError(
            "a long table needs an item and a label column",
            f"no {lacking} column is known among {first_few(names)}",
            f"Name it with {lacking}= (--{lacking})",
        )
    cells = [name for name in names if name != item]
    if cells and looks_like_annotators(cells):
        return "wide"
    numbers, texts = _sort_by_content(table, cells)
    if numbers and texts in ([], names[:1]):
        matrix = _matrix(table, numbers)
        return "counts" if (matrix == np.floor(matrix)).all() else "probabilities"
    if len(texts) > 1 and not numbers and _share_words(table, texts):
        return "wide"
    raise InputError(
        "the columns must show which form the table has",
        f"{first_few(names)} fit none (long: item and label; wide: a column an annotator; counts: a column a class)",
        "Name the columns with item=, annotator=, label= (--item, --annotator, --label) or say form= (--form)",
    )


def _read_long(source: Any, names: list[str], reading: _Reading) -> Votes:
    import polars as pl

    roles = {role: find_column(role, names, getattr(reading, role)) for role in ("item", "annotator", "label")}
    for role in ("item", "label"):
        if roles[role] is None:
            raise InputError(
                f"a long table needs an {role} column" if role == "item" else "a long table needs a label column",
                f"none is known among {first_few(names)}",
                f"Name it with {role}= (--{role})",
            )
    if len({name for name in roles.values() if name}) < sum(name is not None for name in roles.values()):
        raise InputError("item, annotator and label must be different columns", f"they are {roles}", "Name each once")
    table = open_source(source, few=[name for role, name in roles.items() if role != "item" and name is not None])
    assert not isinstance(table, np.ndarray)
    with engine_errors("the table"):
        columns = table.select(pl.col(name).alias(role) for role, name in roles.items() if name is not None).collect()
    return _count_votes(
        columns["item"], columns["annotator"] if "annotator" in columns.columns else None, columns["label"], reading
    )


def _read_wide(table: pl.LazyFrame, names: list[str], reading: _Reading) -> Votes:
    import polars as pl

    item = find_column("item", names, reading.item)
    annotators = [name for name in names if name != item]
    if not annotators:
        raise InputError(
            "a wide table needs a column for each annotator", f"its columns are {first_few(names)}", "Add them"
        )
    with engine_errors("the table"):
        frame = table.collect()
        ids = check_item_ids(_texts(table, item)) if item is not None else row_numbers(frame.height)
        labels = pl.concat([_as_text(frame[name], "label").rename("label") for name in annotators])
    gap = labels.is_in(list(_MISSING_WORDS | {"-1", "-1.0"})) | labels.is_null()
    if frame.height == 0 or gap.all():
        raise InputError("a wide table needs at least one vote", "every cell is a gap", "Check the file")
    items = pl.Series(np.tile(ids, len(annotators)))
    owners = pl.Series(np.repeat(np.array(annotators), frame.height))
    # Gaps are no fault in a wide table: nobody asks everybody everything.
    reading = _Reading(None, None, None, reading.classes, reading.duplicates, "drop", reading.empty)
    return _count_votes(items, owners, labels.set(gap, None), reading)


def numeric_table(
    table: pl.LazyFrame, *, item: str | None, what: str
) -> tuple[npt.NDArray[np.str_], list[str], FloatArray]:
    """Item ids (N,), class names and numbers (N, K) of a table with a row an item and a column a class.

    Args:
        table: lazy table.
        item: name of the item column; a known name, or a first column that holds no numbers, is found without.
            Row numbers if there is none.
        what: the table's name in errors, e.g. "predictions".
    """
    names = column_names(table, f"the table of {what}")
    chosen = find_column("item", names, item)
    cells = [name for name in names if name != chosen]
    if chosen is None and len(cells) > 1 and _sort_by_content(table, cells)[1] == cells[:1]:
        chosen, cells = cells[0], cells[1:]
    if not cells:
        raise InputError(
            f"a table of {what} needs a column for each class", f"its columns are {first_few(names)}", "Add them"
        )
    matrix = _matrix(table, cells)
    with engine_errors("the table"):
        ids = check_item_ids(_texts(table, chosen)) if chosen is not None else row_numbers(len(matrix))
    return ids, [name.strip() for name in cells], matrix


def _read_numbers(table: pl.LazyFrame, form: str, reading: _Reading) -> Votes:
    ids, cells, matrix = numeric_table(table, item=reading.item, what=form)
    outside = [name for name in cells if reading.classes is not None and name not in reading.classes]
    if outside:
        raise InputError(
            f"every class column must be in the class list {', '.join(reading.classes or ())}",
            f"{first_few(outside)} are not",
            "Remove those columns or add their names to the list",
        )
    votes = _from_matrix(matrix, form, reading, ids, cells)
    return votes.with_classes(reading.classes or sort_classes(cells))


def _texts(table: pl.LazyFrame, name: str) -> list[str]:
    """A column's cells as text, '' where one is missing."""
    return _as_text(table.select(name).collect()[name], "item").fill_null("").to_list()


def _read_array(array: npt.NDArray[Any], form: str | None, reading: _Reading) -> Votes:
    if form in ("long", "wide"):
        import polars as pl

        if array.ndim != 2 or array.dtype.kind not in "iufU":
            raise InputError(
                "a wide array must be items x annotators", f"{array.dtype} of shape {array.shape} came", "Reshape it"
            )
        if form == "long":
            raise InputError("a long table needs named columns", "an array came", "Use a frame or a file with a header")
        wide = pl.DataFrame(array, schema=[str(column) for column in range(array.shape[1])])
        return _read_wide(wide.lazy(), wide.columns, reading)
    matrix = check_matrix("the array of votes", array)
    if form is None:
        form = "counts" if (matrix == np.floor(matrix)).all() or not _near_simplex(matrix) else "probabilities"
    return _from_matrix(matrix, form, reading, row_numbers(len(matrix)), reading.classes)


def _from_matrix(
    matrix: FloatArray, form: str, reading: _Reading, ids: npt.NDArray[np.str_], classes: Sequence[str] | None
) -> Votes:
    if reading.empty == "drop":
        kept = matrix.any(axis=1)
        if not kept.any():
            raise InputError("at least one item must have a vote", "none has", "Check the table")
        matrix, ids = matrix[kept], ids[kept]
    build = Votes.from_counts if form == "counts" else Votes.from_probabilities
    return build(matrix, item_ids=ids, classes=classes)  # type: ignore[arg-type]


def _count_votes(items: pl.Series, annotators: pl.Series | None, labels: pl.Series, reading: _Reading) -> Votes:
    """The heart of reading: three parallel columns to counts and ballots."""
    if not len(items):
        raise InputError("a table of votes needs at least one row", "it has none", "Check the file")
    item, item_names = encode_many(_complete(items, "item"))
    item_ids = _name_array(item_names, "item")
    label, classes, has_label = _encode_labels(labels, reading)
    owner, owner_ids = (None, None) if annotators is None else _encode_annotators(annotators)
    kept = _rows_kept(item, owner, has_label, reading, item_ids, owner_ids)
    if kept is not None:
        item, label, owner = item[kept], label[kept], None if owner is None else owner[kept]

    n, k = len(item_ids), len(classes)
    cell = item.astype(np.int64)
    cell *= k
    cell += label
    counts = np.bincount(cell, minlength=n * k).reshape(n, k)
    voted = counts.any(axis=1)
    if not voted.all():
        if reading.empty == "error" or not voted.any():
            without = item_ids[~voted]
            raise InputError(
                "every item needs at least one vote",
                f"{len(without):,} have none ({first_few(without[:5], len(without))})",
                "Remove them, or say empty='drop' (--empty drop)",
            )
        counts, item_ids = counts[voted], item_ids[voted]
        item = (np.cumsum(voted, dtype=np.int32) - 1)[item]
    ballots = None if owner is None or owner_ids is None else Ballots(item, owner, label, owner_ids)
    return Votes(item_ids, classes, counts, None, ballots)


def _rows_kept(
    item: IndexArray,
    owner: IndexArray | None,
    has_label: npt.NDArray[np.bool_] | None,
    reading: _Reading,
    item_ids: npt.NDArray[np.str_],
    owner_ids: npt.NDArray[np.str_] | None,
) -> npt.NDArray[np.bool_] | None:
    """Which rows count: those with a label, and of an annotator's several votes on an item the chosen ones."""
    import polars as pl

    if has_label is not None and reading.missing == "error":
        rows = np.flatnonzero(~has_label)
        raise InputError(
            "every row of a long table needs a label",
            f"{rows.size:,} have none (rows {first_few(rows[:5] + 1, rows.size)})",
            "Fill them in, or say missing='drop' (--missing drop)",
        )
    if owner is None or owner_ids is None or reading.duplicates == "all":
        return has_label
    pairs = item.astype(np.int64)
    pairs *= len(owner_ids)
    pairs += owner
    pair = pl.Series(pairs if has_label is None else pairs[has_label])
    in_order = pair.sort().to_numpy()
    if not (in_order[1:] == in_order[:-1]).any():
        return has_label
    rows = np.arange(len(item)) if has_label is None else np.flatnonzero(has_label)
    if reading.duplicates == "error":
        again = rows[~pair.is_first_distinct().to_numpy()]
        row = again[0]
        raise InputError(
            "an annotator may vote on an item once",
            f"{len(again):,} rows vote again (rows {first_few(again[:5] + 1, len(again))}; "
            f"the first is {str(owner_ids[owner[row]])!r} on {str(item_ids[item[row]])!r})",
            "Say duplicates='last' (--duplicates last) to keep the last vote, or duplicates='all' to count each",
        )
    kept = np.zeros(len(item), dtype=np.bool_)
    kept[rows[pair.is_last_distinct().to_numpy()]] = True
    return kept


def _complete(column: pl.Series, role: str) -> pl.Series:
    """Return a column of names, whole numbers or text, in which nothing is missing."""
    missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    if missing.any():
        rows = missing.arg_true()
        raise InputError(
            f"every row of a long table needs an {role}",
            f"{len(rows):,} have none (rows {first_few((rows.head(5) + 1).to_list(), len(rows))})",
            "Fill them in or remove the rows" + (", or leave the column out" if role == "annotator" else ""),
        )
    return column if column.dtype.is_integer() else _as_text(column, role)


def _name_array(names: pl.Series, role: str) -> npt.NDArray[np.str_]:
    """Distinct names as a NumPy array of text."""
    # NumPy's text drops trailing NULs, so a name that ends in one would become another name.
    if names.str.contains("\x00", literal=True).any() or (names == "").any():
        raise InputError(f"{role} names must be text", "one is empty or holds a NUL character", "Rename it")
    return names.to_numpy().astype(np.str_)


def _encode_annotators(column: pl.Series) -> tuple[IndexArray, npt.NDArray[np.str_]]:
    """Code of the annotator of each row, and the annotators' names, sorted like class names."""
    import polars as pl

    owners = encode_few(_complete(column, "annotator"))
    ordered = sort_classes(owners.names)
    place = {name: index for index, name in enumerate(ordered)}
    return owners.translate([place[name] for name in owners.names], np.int32), _name_array(
        pl.Series(ordered), "annotator"
    )


def _encode_labels(
    column: pl.Series, reading: _Reading
) -> tuple[npt.NDArray[np.unsignedinteger[Any]], tuple[str, ...], npt.NDArray[np.bool_] | None]:
    """Class of each row, the class names, and which rows have a label (None: all)."""
    labels = encode_few(column if column.dtype.is_integer() else _as_text(column, "label"))
    meaning = [None if name in _MISSING_WORDS else name for name in _whole_numbers_plain(labels.names)]
    classes = reading.classes or tuple(sort_classes(sorted({name for name in meaning if name is not None})))
    if not classes:
        raise InputError(
            "a table of votes needs at least one label", "every label is missing", "Check the label column"
        )
    if len(classes) > np.iinfo(np.uint16).max:
        raise InputError(
            "labels must name classes",
            f"there are {len(classes):,} different ones",
            "Check which column holds the labels",
        )
    place = {name: index for index, name in enumerate(classes)}
    is_outside = [name is not None and name not in place for name in meaning]
    if any(is_outside):
        rows = np.flatnonzero(
            labels.translate(is_outside, np.bool_) & (True if labels.present is None else labels.present)
        )
        words = [name for name, outside in zip(labels.names, is_outside, strict=True) if outside]
        raise InputError(
            f"labels must be in the class list {', '.join(classes)}",
            f"{rows.size:,} are not (rows {first_few(rows[:5] + 1, rows.size)}; they say {first_few(sorted(words))})",
            "Mend them or add the names to the list",
        )
    present = labels.present
    if None in meaning:
        named = labels.translate([name is not None for name in meaning], np.bool_)
        present = named if present is None else named & present
    class_of_name = [0 if name is None else place[name] for name in meaning]
    return labels.translate(class_of_name, np.min_scalar_type(len(classes) - 1)), classes, present


def _whole_numbers_plain(names: list[str]) -> list[str]:
    """'1.0' as '1', if every name is a whole number: frames with a gap turn their integers into floats."""
    if all(re.fullmatch(r"[+-]?\d+(\.0*)?", name) or name in _MISSING_WORDS for name in names):
        return [name if name in _MISSING_WORDS else str(int(name.partition(".")[0])) for name in names]
    return names


def _as_text(column: pl.Series, role: str) -> pl.Series:
    """A column as text; whole floats as integers, NaN as missing; nested values are refused."""
    import polars as pl

    if isinstance(column.dtype, (pl.String, pl.Categorical)):
        return column
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        raise InputError(f"the {role} column must hold text or numbers", f"it holds {column.dtype}", "Flatten it first")
    if column.dtype.is_float():
        column = column.fill_nan(None)
        if (column.is_finite() & (column.abs() < 2**53) & (column.floor() == column)).all():
            column = column.cast(pl.Int64)
    return column.cast(pl.String)


def _sort_by_content(table: pl.LazyFrame, cells: list[str]) -> tuple[list[str], list[str]]:
    """Names of the columns that hold numbers and nothing else, and of the others."""
    with engine_errors("the table"):
        frame = table.select(cells).collect()
    numbers = [name for name in cells if _is_numeric(frame[name].dtype) or _to_float(frame[name]).null_count() == 0]
    return numbers, [name for name in cells if name not in numbers]


def _matrix(table: pl.LazyFrame, cells: list[str]) -> FloatArray:
    """The columns `cells` as (N, K) float64, or an error that names the first rows that are no numbers."""
    with engine_errors("the table"):
        frame = table.select(cells).collect()
    columns = []
    for name in cells:
        column = _to_float(frame[name])
        if column.null_count():
            rows = column.is_null().arg_true()
            raise InputError(
                "counts and probabilities must be numbers",
                f"column {name!r} has {len(rows):,} others (rows {first_few((rows.head(5) + 1).to_list(), len(rows))})",
                "Fill them in (0 where nobody voted), or say form='wide' (--form wide) if the columns are annotators",
            )
        columns.append(column.to_numpy())
    if frame.height == 0:
        raise InputError("a table of votes needs at least one row", "it has none", "Check the file")
    return check_matrix("the table of votes", np.column_stack(columns))


def _to_float(column: pl.Series) -> pl.Series:
    """A column as float64, null where a cell is no number."""
    import polars as pl

    if _is_numeric(column.dtype):
        return column.cast(pl.Float64)
    if column.dtype != pl.String:
        return pl.Series(column.name, [None] * len(column), dtype=pl.Float64)
    return column.str.strip_chars().cast(pl.Float64, strict=False)


def _is_numeric(dtype: pl.DataType) -> bool:
    return dtype.is_numeric()


def _share_words(table: pl.LazyFrame, cells: list[str]) -> bool:
    """Whether each column uses a word that another uses too, as annotators of one question do."""
    with engine_errors("the table"):
        frame = table.select(cells).collect()
    seen = [set(_as_text(frame[name], "label").drop_nulls().unique().to_list()) - _MISSING_WORDS for name in cells]
    return all(any(mine & other for j, other in enumerate(seen) if j != i) for i, mine in enumerate(seen) if mine)


def _near_simplex(matrix: FloatArray) -> bool:
    """Whether an array with fractions is meant as probabilities: most rows sum to about one."""
    return bool(
        np.median(np.abs(matrix.sum(axis=1) - 1)) < 0.05 + SIMPLEX_TOLERANCE and matrix.max() <= 1 + SIMPLEX_TOLERANCE
    )
