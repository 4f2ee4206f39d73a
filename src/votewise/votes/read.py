"""Tables of votes to `Votes`: source, table, plan, checks, tally."""

from __future__ import annotations

import difflib
import fnmatch
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._checks import check_choice, check_class_names, check_matrix, first_few
from votewise._errors import InputError
from votewise._files import as_path
from votewise.votes import exports
from votewise.votes.bounds import check_start
from votewise.votes.forms import READERS, counts, long, wide
from votewise.votes.forms.rows import filled_down, leave_out
from votewise.votes.guessing import guess
from votewise.votes.guessing.look import Doubt, Guess
from votewise.votes.numbers import is_number_column
from votewise.votes.profile import SAMPLE, Column, profile
from votewise.votes.question import UnclearError, needed, question, with_command
from votewise.votes.reading import Reading, names_in
from votewise.votes.sources import Table, UnreadableError, engine_errors, named_file, open_table
from votewise.votes.table import Votes, row_numbers
from votewise.votes.tally import RuleError, Rules

if TYPE_CHECKING:
    import polars as pl


def read_votes(
    source: Any,
    *,
    reading: Reading | None = None,
    form: str | None = None,
    format: str | None = None,  # noqa: A002, the word users know
    question: str | None = None,
    item: str | Sequence[str] | None = None,
    annotator: str | None = None,
    label: str | None = None,
    raters: str | Sequence[str] | None = None,
    rater_ids: str | Sequence[str] | None = None,
    item_columns: str | Sequence[str] | None = None,
    item_ids: str | Sequence[str] | None = None,
    classes: Iterable[object] | None = None,
    count: str | None = None,
    weight: str | None = None,
    ignore: str | Sequence[str] | None = None,
    without: str | Sequence[str] | None = None,
    fill: str | Sequence[str] | None = None,
    split: str | None = None,
    gap: str | Sequence[str] | None = None,
    bins: int | Sequence[float] | None = None,
    duplicates: str | None = None,
    several: str | None = None,
    missing: str | None = None,
    empty: str | None = None,
    separator: str | None = None,
    quote: str | None = None,
    encoding: str | None = None,
    header_rows: int | None = None,
    skip_rows: int | None = None,
) -> Votes:
    """Read votes from a file, a frame or an array.

    A table is read by a plan, a `Reading`, that says which column is what. Options fill the plan; what they leave open
    is guessed from the content of the columns and then from their names. A guess that is not certain is an error that
    lists the columns and names the options that decide it. The plan stands in `Votes.reading`.

    Exports of annotation tools (.json, and tables and .jsonl with the tool's own names) are recognised, too, unless
    `form`, `annotator` or `label` say that the source is a table. Whatever else they hold (skipped and repeated
    answers) is left out and reported in `Votes.notes`.

    Args:
        source: path to .csv, .tsv, .txt (also .gz), .parquet, .jsonl, .json, .xlsx or .npy; pandas, polars or pyarrow
            frame; NumPy array.
        reading: a plan; the options below go before its fields.
        form: one of `votewise.votes.FORMS`; recognised if left out.
        format: name of an export, one of `votewise.votes.FORMATS`.
        question: the question whose answers are votes, where an export has several.
        item: name of the item column, or of several that together name the item. In an export, the field that names
            items, instead of the tool's own number.
        annotator: name of the annotator column.
        label: name of the label column.
        raters: the columns of a wide table, one for each annotator; a pattern such as "Score*" is allowed.
        rater_ids: the columns with the annotators' ids, parallel to `raters`.
        item_columns: the columns of a survey, one for each item, where a row is an annotator.
        item_ids: the columns with the items' ids, parallel to `item_columns`.
        classes: all class names in the order wanted; a label outside it is an error. Sorted if left out. Where classes
            are columns (counts, shares, 0 and 1), the names of those columns.
        count: name of the column that says how many votes a row stands for; in a table of shares (`classes`), how many
            they are shares of.
        weight: name of a column of weights, which make shares of the votes.
        ignore: columns that do not matter.
        without: rows to leave out, such as "status=Rejected".
        fill: columns in which a blank cell stands for the cell above, as merged cells of a spreadsheet do.
        split: what separates the labels in a cell: a separator, "lines", "json" or "chars"; "counts" or "people" where
            it is an object that says how often each class was chosen, or what each annotator said.
        gap: labels that mean "no answer".
        bins: number of equal bins for numbers, or their edges.
        duplicates: an annotator's second vote on an item: "error", "last" (it counts), "all" (both count). Left out, it
            is an error in a table, and the last one counts in an export.
        several: an answer that names several classes: "error", "drop" it, or "each" class gets a vote.
        missing: a row without a label in a long table: "error", or "drop" the row.
        empty: an item without any vote: "error", or "drop" the item.
        separator: what separates the cells of a text file.
        quote: '"', or "none" if quotes are plain text.
        encoding: encoding of a text file.
        header_rows: rows of column names, of which the first counts, unless it has merged cells; 0 if there are none,
            and columns are called 1, 2, ...
        skip_rows: rows above the column names.

    Returns:
        The votes; items in the order in which the source first names them. What cannot be read is an `InputError`
        that names the first rows or items at fault and the option that helps.
    """
    asked = Reading(
        form=form,
        format=format,
        question=question,
        item=_listed(item),
        annotator=annotator,
        label=label,
        raters=_listed(raters),
        rater_ids=_listed(rater_ids),
        item_columns=_listed(item_columns),
        item_ids=_listed(item_ids),
        classes=() if classes is None else check_class_names(classes),
        count=count,
        weight=weight,
        ignored=_listed(ignore),
        without=names_in(without),
        fill=_listed(fill),
        split=split,
        gaps=names_in(gap),
        bins=() if bins is None else (float(bins),) if isinstance(bins, (int, float)) else tuple(map(float, bins)),
        duplicates=duplicates,
        several=several,
        missing=missing,
        empty=empty,
        separator=separator,
        quote=quote,
        encoding=encoding,
        header_rows=header_rows,
        skip_rows=skip_rows,
    )
    asked = asked if reading is None else asked.over(reading)
    if asked.format is not None:
        check_choice("format", asked.format, exports.FORMATS)
    with _as_file(source) as opened:
        check_start(arrow=False)
        try:
            return _read(opened, asked)
        except MemoryError:
            raise InputError(
                "a table must fit into memory",
                "reading this one took more than there is",
                "Give the process more memory, or read the table in parts",
            ) from None
        except (RuleError, UnreadableError, UnclearError) as error:
            raise _with_command(error, source, opened, asked) from None


@contextmanager
def _as_file(source: Any) -> Iterator[Any]:
    """The source; standard input, "-", as a file, since a table is looked at before it is read."""
    if not isinstance(source, (str, os.PathLike)) or os.fspath(source) != "-":
        yield source
        return
    content = sys.stdin.buffer.read()
    start = content.lstrip()[:1]
    suffix = ".jsonl" if start == b"{" else ".json" if start == b"[" else ".txt"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"standard-input{suffix}"
        path.write_bytes(content)
        yield path


def _read(source: Any, asked: Reading) -> Votes:
    opened = source
    if not _is_plain(source, asked) and asked.format not in exports.PLATFORMS:
        votes, opened = _read_export(source, asked)
        if votes is not None:
            return votes
    with named_file(source):
        return _read_table(opened, asked)


def _with_command(error: InputError, source: Any, opened: Any, asked: Reading) -> InputError:
    """An error about a file with the command that follows its advice, and all further advice it would lead to."""
    fix, following = asked, error
    for _ in range(6):
        further = _advised(following, fix)
        if further is None or further == fix:
            break
        fix = further
        try:
            _read(opened, fix)
        except (RuleError, UnreadableError, UnclearError) as another:
            following = another
            continue
        except InputError:
            return error
        return with_command(error, source, fix)
    return error


def _advised(error: InputError, asked: Reading) -> Reading | None:
    """What was asked for with what an error advises; None if it advises nothing."""
    if isinstance(error, UnclearError):
        return None if error.proposal is None else error.proposal.over(asked)
    if isinstance(error, RuleError):
        return replace(asked, **error.fix)
    return replace(asked, encoding="latin-1") if "utf-8" in str(error) and asked.encoding is None else None


def _listed(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """One name or several; commas are looked at when the columns are known."""
    return () if names is None else (names,) if isinstance(names, str) else tuple(names)


def _rules(asked: Reading, classes: tuple[str, ...]) -> Rules:
    return Rules(
        classes or None,
        asked.duplicates or "error",
        asked.missing or "error",
        asked.empty or "error",
        frozenset(asked.gaps),
    )


def _is_plain(source: Any, asked: Reading) -> bool:
    """Whether the source cannot be an export: the caller names what only tables have, or it is an array."""
    named = [
        name
        for name in ("annotator", "label", "form", "raters", "item_columns", "count", "weight")
        if getattr(asked, name)
    ]
    is_array = isinstance(source, np.ndarray) or (
        isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() == ".npy"
    )
    is_export = asked.question or (asked.format is not None and asked.format not in exports.PLATFORMS)
    if is_export and (named or is_array):
        raise InputError(
            "format and question are for exports of annotation tools",
            f"{' and '.join(named) or 'an array'} is given too",
            "Leave them out",
        )
    return bool(named) or is_array


def _read_export(source: Any, asked: Reading) -> tuple[Votes | None, Any]:
    """The votes of an export, or None if the source is a plain table; and the source, perhaps opened."""
    wanted = exports.Asked(
        asked.question,
        asked.item[0] if asked.item else None,
        asked.several or "error",
        replace(_rules(asked, asked.classes), duplicates=asked.duplicates or "last"),
        source,
    )
    path = as_path(source) if isinstance(source, (str, os.PathLike)) else None
    if path is not None and path.suffix.lower() in (".json", ".jsonl"):
        votes = exports.read_tree(path, asked.format, wanted)
    else:
        source = open_table(source, asked)  # once: its limits are checked as it is opened
        assert not isinstance(source, np.ndarray)
        votes = exports.read_table(source.lazy(), list(source.names), asked.format, wanted)
    if votes is None and asked.question is not None:
        raise InputError(
            "question is for exports of annotation tools",
            "this is a plain table",
            "Name its column with label= (--label)",
        )
    return votes, source


def _read_table(source: Any, asked: Reading) -> Votes:
    import polars as pl

    table = source if isinstance(source, Table) else open_table(source, asked)
    if isinstance(table, np.ndarray):
        return _read_array(table, asked)
    with engine_errors("the table"):
        frame = table.head(SAMPLE + 1)
        frame = frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width and frame.height else frame
    if not frame.height:
        raise InputError("a table of votes needs at least one row", "it has none", "Check the file")
    with engine_errors("the table"):
        columns = profile(frame.head(SAMPLE))
    if table.layout is not None and table.layout.header_rows == 0:
        asked = replace(asked, header_rows=0)
    said = asked
    asked = _resolved(asked, table.names)
    platform = exports.find_platform(table.names, asked.format)
    if platform == "mturk" and exports.TASK_ANSWERS in table.names:
        frame = exports.unfold(table.lazy().collect())
        table = Table(frame.lazy(), table.layout, tuple(frame.columns))
        columns = profile(frame.head(SAMPLE))
    if platform is not None:
        asked = exports.fill(platform, columns, asked)
    plan = make_plan(source, frame, said, asked)
    classes = asked.classes if plan.classes == asked.classes else ()
    _check_complete(plan, table.names)
    with engine_errors("the table"):
        votes = READERS[plan.form or "long"](table, plan, _rules(plan, classes))
    if plan.form == "long" and not asked.item:
        long.check_row_counter(votes, plan)
    _check_classes(votes, plan)
    layout = table.layout
    notes = (*(layout.notes if layout is not None else ()), *votes.notes)
    return replace(votes, notes=notes, reading=plan)


def _check_classes(votes: Votes, plan: Reading) -> None:
    """Refuse classes that occur about once each, whoever named the columns: texts, or numbers of a continuous scale."""
    if plan.classes or plan.bins or votes.counts is None or votes.n_classes <= _MANY_CLASSES:
        return
    import polars as pl

    total = int(votes.counts.sum())
    if 2 * votes.n_classes > total:
        numbers = is_number_column(pl.Series(votes.classes))
        raise RuleError(
            "labels must be classes",
            f"there are {votes.n_classes:,} different ones in {total:,} votes ({first_few(votes.classes[:3])})",
            "Pass bins=5 (--label-bins 5) to make classes of numbers, or name the classes with classes= (--classes)"
            if numbers
            else "Check which column holds the labels, or name the classes with classes= (--classes)",
            **({"bins": (5.0,)} if numbers else {}),
        )


# More classes than this are suspect if each occurs about once.
_MANY_CLASSES = 20

# What a form cannot do without.
_NEEDED = {
    "long": ("item", "label"),
    "one-hot": ("item", "classes"),
    "wide": (),
    "lists": ("item", "label"),
    "survey": ("item_columns",),
    "counts": (),
    "probabilities": (),
}


def _check_complete(plan: Reading, names: Sequence[str]) -> None:
    """Refuse a plan that lacks what its form needs."""
    form = plan.form or "long"
    for role in _NEEDED[form]:
        value = getattr(plan, role)
        if not value or (role == "classes" and not set(value) & set(names)):
            option = role.replace("_", "-")
            raise InputError(
                f"a table of the form {form} needs {role.replace('_', ' ')}",
                f"nothing among {first_few(names)} looks so",
                f"Name it with {role}= (--{option})",
            )


def make_plan(source: Any, frame: pl.DataFrame, said: Reading, asked: Reading) -> Reading:
    """The plan for a table, or the question that decides it.

    Args:
        source: the table, as the caller named it.
        frame: its first rows.
        said: what the caller said.
        asked: the same with the names of columns in full, and what the platform knows.
    """
    with engine_errors("the table"):
        columns = profile(frame.head(SAMPLE))
        found = _guessed(frame, asked, None if asked.without or asked.fill else columns)
    if found is None:
        nothing = Doubt(
            "the columns must show which form the table has",
            f"{first_few(list(columns))} fit no form (long: item and label; wide: one column per annotator; "
            "counts: one per class)",
            None,
        )
        raise question(source, columns, [nothing], None)
    if not found.doubts:
        return found.reading
    raise question(source, columns, found.doubts, _proposal(frame, said, asked, found))


def _guessed(frame: pl.DataFrame, asked: Reading, columns: dict[str, Column] | None = None) -> Guess | None:
    kept, _ = leave_out(filled_down(frame, asked.fill), asked.without)
    if not kept.height:
        raise InputError("a table of votes needs at least one row", "all are left out", "Check the conditions")
    columns = columns or profile(kept.head(SAMPLE))
    return guess(columns, min(kept.height, SAMPLE), whole=frame.height <= SAMPLE, asked=asked)


def _proposal(frame: pl.DataFrame, said: Reading, asked: Reading, found: Guess) -> Reading | None:
    """The options that settle every doubt: as long as they raise new ones, those are settled, too."""
    doubts = list(found.doubts)
    settled = needed(found.settled, said, doubts)
    for _ in range(4):
        if any(doubt.fix is None for doubt in doubts):
            return None
        again = _guessed(frame, settled.over(asked))
        if again is None:
            return None
        if not again.doubts:
            return settled
        doubts += again.doubts
        settled = needed(again.settled, said, doubts)
    return None


def _resolved(asked: Reading, names: Sequence[str]) -> Reading:
    """What the caller said, with patterns and lists of columns written out, and every column there."""
    changes: dict[str, Any] = {}
    for role in ("item", "raters", "rater_ids", "item_columns", "item_ids", "ignored", "fill"):
        value = getattr(asked, role)
        if value:
            changes[role] = tuple(_columns(role, value, names))
    for role in ("annotator", "label", "count", "weight"):
        value = getattr(asked, role)
        if value is not None:
            changes[role] = _column(role, value, names)
    if any(_is_pattern(one) for one in asked.classes):
        found = [name for one in asked.classes for name in names if name == one or fnmatch.fnmatchcase(name, one)]
        if found:
            changes["classes"] = tuple(dict.fromkeys(found))
    for condition in asked.without:
        if "=" not in condition:
            raise InputError(
                "rows to leave out must be named as column=value", f"got {condition!r}", "Write e.g. status=Rejected"
            )
        _column("without", condition.partition("=")[0].strip(), names)
    return replace(asked, **changes)


def _columns(role: str, value: Sequence[str], names: Sequence[str]) -> list[str]:
    found: list[str] = []
    known = set(names)
    for entry in value:
        for part in [] if entry in known else [part.strip() for part in entry.split(",")]:
            matching = [name for name in names if fnmatch.fnmatchcase(name, part)] if _is_pattern(part) else []
            found += matching or [_column(role, part, names)]
        found += [entry] if entry in known else []
    return list(dict.fromkeys(found))


def _is_pattern(text: str) -> bool:
    return any(letter in text for letter in "*?[")


def _column(role: str, name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1)
    option = {"ignored": "ignore"}.get(role, role)
    raise InputError(
        f"the {option} column {name!r} must exist",
        f"the columns are {first_few(names)}",
        f"Did you mean {near[0]!r}?" if near else f"Name one of them with {option}= (--{option.replace('_', '-')})",
    )


def _read_array(array: npt.NDArray[Any], asked: Reading) -> Votes:
    form = asked.form
    if form in ("long", "lists", "one-hot", "survey"):
        raise InputError(f"a {form} table needs named columns", "got an array", "Use a frame or a file with a header")
    if form == "wide":
        import polars as pl

        if array.ndim != 2 or array.dtype.kind not in "iufU":
            raise InputError(
                "a wide array must be items x annotators", f"got {array.dtype} of shape {array.shape}", "Reshape it"
            )
        frame = pl.DataFrame(array, schema=[str(column) for column in range(array.shape[1])])
        asked = replace(asked, raters=tuple(frame.columns))
        table = Table(frame.lazy(), None, tuple(frame.columns))
        columns = profile(frame.head(SAMPLE))
        found = guess(columns, min(frame.height, SAMPLE), whole=frame.height <= SAMPLE, asked=replace(asked, form=None))
        doubts = [] if found is None else [doubt for doubt in found.doubts if "-1" in doubt.wanted]
        if doubts:
            raise question(array, {}, doubts, replace(Reading(form="wide"), **(doubts[0].fix or {})))
        plan = replace(asked, item=())
        return replace(wide.read(table, plan, _rules(plan, asked.classes)), reading=plan)
    matrix = check_matrix("the array of votes", array)
    if form is None:
        form = "counts" if (matrix == np.floor(matrix)).all() or not _near_simplex(matrix) else "probabilities"
    rules = _rules(asked, asked.classes)
    votes = counts.from_matrix(matrix, form, rules, row_numbers(len(matrix)), rules.classes)
    return replace(votes, provenance=f"array of {form}, row numbers, {matrix.shape[1]} class columns")


def _near_simplex(matrix: npt.NDArray[np.float64]) -> bool:
    """Whether an array with fractions is meant as probabilities: most rows sum to about one."""
    return bool(np.median(np.abs(matrix.sum(axis=1) - 1)) < 0.05 and matrix.max() < 1.05)
