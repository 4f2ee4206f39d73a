"""Three parallel columns, item, annotator and label, to counts and ballots: the heart of reading votes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import check_length, first_few
from votewise._errors import InputError
from votewise._text import counted
from votewise.votes.bounds import check_counts
from votewise.votes.encode import IndexArray, encode_few, encode_many, text_array
from votewise.votes.table import MOST_VOTES, Ballots, Votes, compact_annotators, sort_classes

if TYPE_CHECKING:
    import polars as pl

# What tools write for "no answer". An empty field is missing in every column; these words only among labels.
MISSING_WORDS = frozenset({"", "NA", "N/A", "NaN", "nan", "null"})

# What people write for it; wherever it is taken for that, a note says so.
GAP_MARKS = frozenset({".", "-", "--", "*", "NULL", "n/a", "#N/A", "<NA>"})


class RuleError(InputError):
    """Rows that are no plain votes, for which a rule decides.

    Attributes:
        fix: the fields of a reading that decide it.
    """

    def __init__(self, wanted: str, got: str, remedy: str, **fix: Any) -> None:
        """Compose the message."""
        super().__init__(wanted, got, remedy)
        self.fix = fix


@dataclass(frozen=True)
class Rules:
    """What to do with rows that are not plain votes; see `read_votes`.

    Attributes:
        classes: the class list, or None to take the labels found.
        duplicates: "error", "last" or "all".
        missing: "error", "drop", or "gap", which drops without a note.
        empty: "error" or "drop".
        gaps: labels that mean "not asked".
    """

    classes: tuple[str, ...] | None
    duplicates: str
    missing: str
    empty: str
    gaps: frozenset[str] = frozenset()

    @property
    def missing_words(self) -> frozenset[str]:
        """Labels that are none."""
        return MISSING_WORDS | self.gaps


def tally(
    items: pl.Series,
    annotators: pl.Series | None,
    labels: pl.Series,
    rules: Rules,
    provenance: str,
    *,
    times: pl.Series | None = None,
    as_shares: bool = False,
) -> Votes:
    """Count votes.

    Args:
        items: (V,) item of each vote.
        annotators: (V,) who gave it; None if nobody knows.
        labels: (V,) what was said.
        rules: what to do with rows that are not plain votes.
        provenance: where the columns come from.
        times: (V,) what each row counts for; once if left out.
        as_shares: whether `times` are weights, which make shares of votes without a number of people.
    """
    if not len(items):
        raise InputError("a table of votes needs at least one row", "it has none", "Check the file")
    item, item_ids = _encode_items(_complete(items, "item"))
    label, classes, has_label, marked = _encode_labels(labels, rules)
    owner, owner_ids = (None, None) if annotators is None else _encode_annotators(_complete(annotators, "annotator"))
    work = np.empty(
        len(item), dtype=np.int64
    )  # one work space for both passes: allocating memory costs more than the work
    kept = _rows_kept(item, owner, has_label, marked, rules, item_ids, owner_ids, work)
    weights = None if times is None else _weights(times, whole=not as_shares)
    if kept is not None:
        weights = None if weights is None else weights[kept]
        item, label, owner = item[kept], label[kept], None if owner is None else owner[kept]

    n, k = len(item_ids), len(classes)
    check_counts(n, k, len(item))
    cell = np.multiply(item, k, out=work[: len(item)], dtype=np.int64)
    cell += label
    counts = np.bincount(cell, weights, minlength=n * k).reshape(n, k)
    if weights is not None and not as_shares and counts.sum() > MOST_VOTES:
        raise InputError(
            "counts must sum to less than 2**53", f"they sum to {counts.sum():.3g}", "Check the units of the table"
        )
    voted = counts.any(axis=1)
    if not voted.all():
        if rules.empty == "error" or not voted.any():
            without = item_ids[~voted]
            raise RuleError(
                "every item needs at least one vote",
                f"{len(without):,} have none ({first_few(without[:5], len(without))})",
                "Remove them, or pass empty='drop' (--empty drop)",
                empty="drop",
            )
        counts, item_ids = counts[voted], item_ids[voted]
        item = (np.cumsum(voted, dtype=np.int32) - 1)[item]
    ballots = None
    if owner is not None and owner_ids is not None and weights is None:
        ballots = (
            Ballots(item, owner, label, owner_ids)
            if kept is None
            else compact_annotators(item, owner, label, owner_ids)
        )
    notes = (
        *_dropped(has_label, marked, kept, rules),
        *empty_items(int((~voted).sum())),
        *([] if rules.classes else _same_numbers(classes)),
    )
    if as_shares:
        return Votes(item_ids, classes, None, counts / counts.sum(axis=1, keepdims=True), None, provenance, notes)
    return Votes(item_ids, classes, counts.astype(np.int64, copy=False), None, ballots, provenance, notes)


def _weights(times: pl.Series, *, whole: bool) -> npt.NDArray[np.float64]:
    """What each row counts for."""
    from votewise.votes.numbers import to_float

    numbers = to_float(times).fill_null(float("nan")).to_numpy()
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0) & ((np.floor(numbers) == numbers) | (not whole))))
    if wrong.size:
        raise InputError(
            f"{'counts' if whole else 'weights'} must be {'whole ' if whole else ''}numbers, none negative",
            f"{wrong.size:,} in {times.name!r} are not (rows {first_few(wrong[:5] + 1, wrong.size)}; "
            f"the first is {times[int(wrong[0])]!r})",
            f"Fix them, or use them as weights with weight={times.name!r} (--weight {times.name})"
            if whole
            else "Fix them",
        )
    return numbers


def empty_items(number: int) -> list[str]:
    """What to say of items that nobody voted on."""
    return [f"left out: {counted(number, 'item')} without a vote"] if number else []


def as_text(column: pl.Series, role: str) -> pl.Series:
    """A column as text; whole floats as integers, NaN as missing; nested values are refused."""
    import polars as pl

    if column.dtype == pl.String:
        return column
    if column.dtype == pl.Duration:
        return column.dt.to_string("iso")
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary) or is_foreign(column):
        raise InputError(f"the {role} column must hold text or numbers", f"it holds {column.dtype}", "Flatten it first")
    if column.dtype.is_float():
        column = column.fill_nan(None)
        if (column.is_finite() & (column.abs() < 2**53) & (column.floor() == column)).all():
            column = column.cast(pl.Int64)
    return column.cast(pl.String)


def is_foreign(column: pl.Series) -> bool:
    """Whether a column is of a kind that another library has added to Arrow, and whose texts nobody here knows."""
    import polars as pl

    return isinstance(column.dtype, pl.datatypes.BaseExtension)


def plain_numbers(names: list[str]) -> list[str]:
    """'1.0' as '1', if every name is a whole number: frames with a gap turn their integers into floats."""
    if all(re.fullmatch(r"-?(0|[1-9]\d*)(\.0+)?", name) or name in MISSING_WORDS for name in names):
        return [name.partition(".")[0] for name in names]
    return names


def _rows_kept(
    item: IndexArray,
    owner: IndexArray | None,
    has_label: npt.NDArray[np.bool_] | None,
    marked: npt.NDArray[np.bool_] | None,
    rules: Rules,
    item_ids: npt.NDArray[np.str_],
    owner_ids: npt.NDArray[np.str_] | None,
    work: npt.NDArray[np.int64],
) -> npt.NDArray[np.bool_] | None:
    """Which rows count: those with a label, and of an annotator's repeated votes on an item the chosen ones."""
    import polars as pl

    missing = None if has_label is None else ~has_label if marked is None else ~(has_label | marked)
    if missing is not None and rules.missing == "error" and missing.any():
        rows = np.flatnonzero(missing)
        raise RuleError(
            "every row of a long table needs a label",
            f"{rows.size:,} have none (rows {first_few(rows[:5] + 1, rows.size)})",
            "Fill them in, or pass missing='drop' (--missing drop)",
            missing="drop",
        )
    if owner is None or owner_ids is None or rules.duplicates == "all":
        return has_label
    pairs = np.multiply(item, len(owner_ids), out=work, dtype=np.int64)
    pairs += owner
    pair = pl.Series(pairs if has_label is None else pairs[has_label])
    in_order = pair.sort().to_numpy()
    if not (in_order[1:] == in_order[:-1]).any():
        return has_label
    rows = np.arange(len(item)) if has_label is None else np.flatnonzero(has_label)
    if rules.duplicates == "error":
        again = rows[~pair.is_first_distinct().to_numpy()]
        row = again[0]
        raise RuleError(
            "an annotator may vote on an item only once",
            f"{len(again):,} rows vote again (rows {first_few(again[:5] + 1, len(again))}; "
            f"the first is {str(owner_ids[owner[row]])!r} on {str(item_ids[item[row]])!r})",
            "Pass duplicates='last' (--duplicates last) to keep the last vote, or duplicates='all' to count each",
            duplicates="last",
        )
    kept = np.zeros(len(item), dtype=np.bool_)
    kept[rows[pair.is_last_distinct().to_numpy()]] = True
    return kept


def _dropped(
    has_label: npt.NDArray[np.bool_] | None,
    marked: npt.NDArray[np.bool_] | None,
    kept: npt.NDArray[np.bool_] | None,
    rules: Rules,
) -> list[str]:
    """What to say of rows that do not count."""
    if kept is None:
        return []
    labelled = len(kept) if has_label is None else int(has_label.sum())
    gaps = 0 if marked is None or rules.missing == "gap" else int(marked.sum())
    missing, again = len(kept) - labelled - gaps, labelled - int(kept.sum())
    return [
        *([f"left out: {counted(missing, 'row')} without a label"] if missing and rules.missing == "drop" else []),
        *([f"left out: {counted(gaps, 'row')} with {first_few(sorted(rules.gaps))}"] if gaps else []),
        *([f"{again:,} votes were repeated by the same annotator; the last one counts"] if again else []),
    ]


def _same_numbers(classes: tuple[str, ...]) -> list[str]:
    """What to say of classes that are one number written in several ways, such as '1', '1.0' and '01'."""
    written: dict[float, list[str]] = {}
    for name in classes:
        if re.fullmatch(r"[-+]?\d+(\.\d*)?", name):
            written.setdefault(float(name), []).append(name)
    return [
        f"{first_few(names)} are the same number but count as different classes"
        for names in written.values()
        if len(names) > 1
    ]


def _complete(column: pl.Series, role: str) -> pl.Series:
    """Return a column of names in which nothing is missing."""
    missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    if missing.any():
        rows = missing.arg_true()
        raise InputError(
            f"every row of a long table needs an {role}",
            f"{len(rows):,} have none (rows {first_few((rows.head(5) + 1).to_list(), len(rows))})",
            "Fill them in or remove the rows" + (", or leave the column out" if role == "annotator" else ""),
        )
    return column


def _encode_items(column: pl.Series) -> tuple[IndexArray, npt.NDArray[np.str_]]:
    """Item of each row and the items' names, in order of first appearance."""
    codes, names = encode_many(column if _is_machine_integer(column) else as_text(column, "item"))
    trimmed = names.str.strip_chars()
    if (trimmed != names).any():
        place, names = encode_many(trimmed)
        codes = place[codes]
    return codes, _name_array(names, "item")


def _encode_annotators(column: pl.Series) -> tuple[IndexArray, npt.NDArray[np.str_]]:
    """Annotator of each row and the annotators' names, sorted like class names."""
    import polars as pl

    owners = encode_few(_few(column, "annotator"))
    names = [name.strip() for name in owners.names]
    ordered = sort_classes(sorted(set(names)))
    place = {name: index for index, name in enumerate(ordered)}
    codes = owners.translate([place[name] for name in names], np.int32)
    return codes, _name_array(pl.Series(ordered, dtype=pl.String), "annotator")


def _encode_labels(
    column: pl.Series, rules: Rules
) -> tuple[
    npt.NDArray[np.unsignedinteger[Any]],
    tuple[str, ...],
    npt.NDArray[np.bool_] | None,
    npt.NDArray[np.bool_] | None,
]:
    """Class of each row, the class names, which rows have a label (None: all), and which say a gap that was named."""
    labels = encode_few(_few(column, "label"))
    written = [name.strip() for name in labels.names]
    known = frozenset(rules.classes or ())
    marks = GAP_MARKS - {"-"} if "+" in written else GAP_MARKS
    meaning = [
        name if name in known else None if name in rules.missing_words | marks else plain
        for name, plain in zip(written, plain_numbers(written), strict=True)
    ]
    classes = rules.classes or tuple(sort_classes(sorted({name for name in meaning if name is not None})))
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
        outside = labels.translate(is_outside, np.bool_)
        rows = np.flatnonzero(outside if labels.present is None else outside & labels.present)
        words = sorted({name for name, out in zip(written, is_outside, strict=True) if out})
        raise InputError(
            f"labels must be in the class list {', '.join(classes)}",
            f"{rows.size:,} are not (rows {first_few(rows[:5] + 1, rows.size)}; they say {first_few(words)})",
            "Fix them or add the names to the list",
        )
    present = labels.present
    if None in meaning:
        named = labels.translate([name is not None for name in meaning], np.bool_)
        present = named if present is None else named & present
    class_of_name = [0 if name is None else place[name] for name in meaning]
    marked = None
    if rules.gaps & set(written):
        marked = labels.translate([name in rules.gaps and name not in known for name in written], np.bool_)
        marked = marked if labels.present is None else marked & labels.present
    return labels.translate(class_of_name, np.min_scalar_type(len(classes) - 1)), classes, present, marked


def _few(column: pl.Series, role: str) -> pl.Series:
    """A column of few distinct values in a form `encode_few` takes."""
    import polars as pl

    return column if _is_machine_integer(column) or isinstance(column.dtype, pl.Categorical) else as_text(column, role)


def _is_machine_integer(column: pl.Series) -> bool:
    """Whether a column holds integers that NumPy knows too."""
    return column.dtype.is_integer() and column.to_physical().dtype.is_integer() and "128" not in str(column.dtype)


def _name_array(names: pl.Series, role: str) -> npt.NDArray[np.str_]:
    """Distinct names as a NumPy array of text."""
    # NumPy's text drops trailing NULs, so a name that ends in one would become another name.
    if names.str.contains("\x00", literal=True).any() or (names == "").any():
        raise InputError(f"{role} names must be text", "one is empty or holds a NUL character", "Rename it")
    letters = names.str.len_chars()
    check_length(role, names[int(letters.arg_max())], len(names), int(letters.sum()))  # type: ignore[arg-type]
    return text_array(names)
