"""What the columns of a table look like: the evidence on which roles are given."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from votewise._errors import InputError
from votewise._json import parse_json
from votewise.votes.numbers import to_float
from votewise.votes.tally import GAP_MARKS, MISSING_WORDS, is_foreign

if TYPE_CHECKING:
    import polars as pl

# Rows looked at; a table with more is judged by its beginning.
SAMPLE = 20_000

# More different values than this are not few, however often they recur.
_FEW = 30

# Of so few rows Python counts sooner than the table engine.
_FEW_ROWS = 256

# What stands for yes and no in a column for each class.
BITS = dict.fromkeys(["1", "1.0", "true", "True", "TRUE", "yes", "x", "X"], 1.0)
BITS |= dict.fromkeys(["0", "0.0", "false", "False", "FALSE", "no"], 0.0)

# A name with a number in it, such as w12 or ann_3, is that of a person sooner than that of a class.
_PERSON = re.compile(r"[^\W\d].*\d|\d.*[^\W\d]|@")

# Between pairs of a name and a value, and within them: ann: yes; ben: no.
_PAIRS = re.compile(r"[;,|\n]")
_PAIR = re.compile(r"([^\s:=][^:=]{0,40}?)\s*[:=]\s*([^\s:=/][^:=]{0,40})")
_TALLY = re.compile(r"(\d+) *[x×]? +([^\W\d][^:=]{0,40})")
_LONGEST_COUNT = 10

# Votes that a cell may count, as in Counter({'a': 2}): each becomes a row.
_MOST_COUNTED = 10_000

_MARKS = MISSING_WORDS | GAP_MARKS
_DATE = re.compile(r"\d{4}[-/]\d\d[-/]\d\d(\b|T)|\d{1,2}[/.:]\d{1,2}[/.:](\d\d|\d{4})(\s|$)|\w{3} \w{3} \d\d? \d\d:")


@dataclass(frozen=True, eq=False)
class Column:
    """A column of the first rows.

    Attributes:
        name: its name.
        cells: its cells as text, trimmed; null where there is nothing.
        holds: its type if cells hold lists, else nothing.
    """

    name: str
    cells: pl.Series
    holds: str = ""

    @property
    def nested(self) -> bool:
        """Whether cells hold lists."""
        return bool(self.holds)

    @cached_property
    def times(self) -> dict[str, int]:
        """How often each value, or mark of a gap, is there, the most frequent first."""
        import polars as pl

        if len(self.cells) <= _FEW_ROWS:
            return dict(Counter(word for word in self.cells.to_list() if word is not None).most_common())
        words, times = self.cells.drop_nulls().value_counts(sort=True, name="times")
        return dict(zip(words.cast(pl.String).to_list(), times.to_list(), strict=True))

    @cached_property
    def values(self) -> list[str]:
        """The different values, the most frequent first, without marks of a gap."""
        return [word for word in self.times if word not in _MARKS]

    @cached_property
    def marks(self) -> list[str]:
        """Marks of a gap among the values."""
        return sorted(self.times.keys() & (_MARKS - {""}))

    @property
    def distinct(self) -> int:
        """The number of different values."""
        return len(self.values)

    @cached_property
    def filled(self) -> int:
        """The number of cells with a value."""
        return sum(self.times[word] for word in self.values)

    @cached_property
    def codes(self) -> npt.NDArray[np.int64]:
        """A number for each cell: equal for equal values, 0 for nothing."""
        import polars as pl

        words = self.cells.fill_null("")
        return words.rank("dense").cast(pl.Int64).to_numpy() if words.len() else np.zeros(0, np.int64)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64] | None:
        """The cells as numbers, NaN where there is nothing; None if any is something else."""
        import polars as pl

        cells = self.cells.set(self.cells.is_in(list(_MARKS)), None) if self.marks else self.cells
        numbers = to_float(cells)
        if self.nested or numbers.null_count() > cells.null_count() or not self.filled:
            return None
        found = numbers.fill_null(float("nan")).cast(pl.Float64).to_numpy()
        return found if np.isfinite(found[~np.isnan(found)]).all() else None

    @cached_property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.numbers is not None and bool((self.numbers[~np.isnan(self.numbers)] % 1 == 0).all())

    @cached_property
    def letters(self) -> float:
        """The mean length of the values."""
        return float(np.mean([len(value) for value in self.values[:500]])) if self.values else 0.0

    @cached_property
    def split(self) -> str | None:
        """What separates the values within each cell: "json", "counts", "people", a separator, or None."""
        return "json" if self.holds.startswith("List") else split_of(self.values[:500])

    @cached_property
    def kind(self) -> str:
        """What the column looks like: empty, one value, lists, dates, text, few values, numbers or ids."""
        if not self.distinct:
            return "empty"
        if self.split is not None:
            return "lists"
        if self.distinct == 1 and self.filled > 1:
            return "one value"
        if self.numbers is None and all(_DATE.match(value) for value in self.values[:20]):
            return "dates"
        some = self.values[:500]
        words = sum(len(value.split()) for value in some) / len(some)
        if self.numbers is None and (words >= 4 or (self.letters > 40 and words > 1.5)) and self.distinct > 10:
            return "text"
        if self.distinct <= _FEW and (self.filled >= 3 * self.distinct or self.filled <= 20):
            return "few values"
        if self.numbers is not None and not self.whole:
            return "numbers"
        if self.numbers is None and (words >= 3 or self.letters > 40):
            return "text"
        return "ids"

    @property
    def is_few(self) -> bool:
        """Whether the values could be classes."""
        return self.kind == "few values" or (self.kind == "one value" and self.letters < 40)

    def looks(self) -> str:
        """The column in a few words, for people."""
        examples = ", ".join(value if len(value) <= 24 else f"{value[:23]}…" for value in self.values[:2])
        kind = f"{self.distinct:,} values" if self.kind in ("few values", "ids") else self.kind
        kind = f"ids, {kind}" if self.kind == "ids" else kind
        gap = f" ({len(self.cells) - self.filled:,} blank)" if 0 < self.filled < len(self.cells) else ""
        return f"{kind}{gap}: {examples}" if examples else kind


def profile(frame: pl.DataFrame) -> dict[str, Column]:
    """The columns of a table by name."""
    import polars as pl

    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    # All texts at once: of tables with thousands of columns, each call of the engine would cost more than its work.
    trimmed = frame.select(texts).with_columns(pl.all().str.strip_chars().replace("", None)) if texts else frame
    columns = {}
    for series in frame:
        holds = str(series.dtype) if series.dtype.is_nested() else ""
        words = trimmed[series.name] if series.dtype == pl.String else as_words(series)
        columns[series.name] = Column(series.name, words, holds)
    return columns


def split_of(cells: Sequence[str]) -> str | None:
    """What separates values within cells: "json", a separator, or None if they are single values."""
    if not cells:
        return None
    inner = [cell.strip() for cell in cells]
    if sum(bool(re.match(r"\[.*\]$|(Ordered)?Counter\(", cell)) for cell in inner) > 0.9 * len(inner):
        return None if sum("{" in cell and cell[0] == "[" for cell in inner) > 0.5 * len(inner) else "json"
    if all(cell[:1] == "{" and cell[-1:] == "}" for cell in inner):
        return split_of_objects([_object(cell) for cell in inner])
    if any(len(_PAIRS.split(cell)) > 1 for cell in inner) and all(map(_said_by_name, inner)):
        return split_of_objects([_object(cell) for cell in inner])
    if (
        all(re.fullmatch(r"-?\d+(,\d+)?", cell) for cell in inner)
        and len({len(cell.partition(",")[2]) for cell in inner}) <= 2
    ):
        return None  # numbers with decimal commas
    for separator in ("\n", ";", "|", ",", " "):
        parts = [cell.split(separator) for cell in inner]
        # Two words are a name as often as a list.
        several = sum(len(one) > (2 if separator == " " else 1) for one in parts)
        several = len(inner) if separator == "\n" and several > 1 else several
        words = {word.strip() for one in parts for word in one if word.strip()}
        longest = max((len(word) for word in words), default=0)
        shorter = max(len(inner) // 2, 12)
        # The parts of lists come together in many ways; those of a class's name always in the same.
        if separator in " ," and len(words) >= len(inner):
            continue
        if several > 0.6 * len(inner) and len(words) <= min(shorter, _FEW) and longest <= 30 and len(cells) > 2:
            return "lines" if separator == "\n" else separator
    return None


def split_of_objects(cells: Sequence[Mapping[str, Any]]) -> str | None:
    """Whether objects hold how often each class was chosen, or what each annotator said; None if neither."""
    said = [value for cell in cells for value in cell.values() if value is not None]
    if not said or any(isinstance(value, (dict, list, float)) for value in said):
        return None
    names = {name for cell in cells for name in cell}
    if all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in said):
        return "people" if len(names) > _FEW or all(map(_PERSON.search, names)) else "counts"
    # Fields of a record have values of their own; annotators say the same things.
    owners: dict[str, set[str]] = {}
    for name, value in ((name, str(value)) for cell in cells for name, value in cell.items()):
        owners.setdefault(value, set()).add(name)
    shared = sum(len(who) > 1 for who in owners.values())
    return "people" if len(owners) <= _FEW and 2 * shared >= len(owners) else None


def _object(cell: str) -> dict[str, Any]:
    """An object as JSON or Python writes it, without what is null; empty if it is none."""
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found = _said_by_name(cell)
    return {str(name): value for name, value in found.items() if value is not None} if isinstance(found, dict) else {}


def _said_by_name(cell: str) -> dict[str, Any]:
    """Names and values as people write them: 'ann: yes; ben: no', 'cat=3, dog=1', '3 cat, 1 dog'; else empty."""
    found: dict[str, Any] = {}
    for part in _PAIRS.split(cell.strip().rstrip(";,")):
        pair, tally = _PAIR.fullmatch(part.strip()), _TALLY.fullmatch(part.strip())
        name, value = pair.groups() if pair else (tally[2], tally[1]) if tally else ("", "")
        if not name or name in found:
            return {}
        found[name] = int(value) if value.isdecimal() and len(value) < _LONGEST_COUNT else value
    return found


def people_of_cell(cell: str) -> list[str]:
    """The annotators in a cell that says what each said."""
    return list(_object(cell.strip()))


def numbers_of_cell(cell: str) -> list[int]:
    """The numbers in a cell that counts votes, or says how each annotator rated."""
    return [value for value in _object(cell.strip()).values() if isinstance(value, int)]


def split_cell(cell: str, split: str) -> list[str]:
    """The values in a cell; an empty list if it is blank."""
    cell = cell.strip()
    if split == "counts":
        return [name for name, times in _object(cell).items() for _ in range(int(times))]
    if split == "people":
        return [str(value) for value in _object(cell).values()]
    if split == "chars":
        return list(cell)
    if split == "lines":
        return [line.strip() for line in cell.splitlines() if line.strip()]
    if split != "json":
        return [word.strip() for word in cell.split(split)] if cell else []
    if cell.startswith(("Counter(", "OrderedCounter(")):
        counts = [(name, int(times)) for name, times in re.findall(r"'([^']*)': (\d+)", cell)]
        if sum(times for _, times in counts) > _MOST_COUNTED:
            raise InputError(
                f"a cell may count {_MOST_COUNTED:,} votes",
                f"one is {cell[:60]!r}",
                "Make a table of it with a column of counts for each class",
            )
        return [name for name, times in counts for _ in range(times)]
    try:
        found = parse_json(cell) if cell else []
    except ValueError:
        # Lists as Python or NumPy prints them: ['a', 'b'] and [1 2].
        inner = cell.strip("[]")
        found = re.findall(r"'([^']*)'|\"([^\"]*)\"|([^\s,'\"]+)", inner)
        found = [next((part for part in one if part), "") for one in found]
    values = found if isinstance(found, list) else [found]
    return ["" if value is None else str(value) for value in values]


def determines(one: Column, other: Column) -> bool:
    """Whether each value of one column comes with one value of another."""
    return len(np.unique(_pairs(one.codes, other.codes))) == len(np.unique(one.codes))


def unique_pairs(columns: Iterable[Column]) -> bool:
    """Whether no two rows agree in all of some columns."""
    codes = joint_codes(columns)
    return len(np.unique(codes)) == len(codes)


def joint_codes(columns: Iterable[Column]) -> npt.NDArray[np.int64]:
    """A number for each row, equal where rows agree in all of some columns."""
    codes: npt.NDArray[np.int64] | None = None
    for column in columns:
        mixed = column.codes if codes is None else _pairs(codes, column.codes)
        codes = np.unique(mixed, return_inverse=True)[1].astype(np.int64)
    assert codes is not None
    return codes


def _pairs(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return one * (int(other.max(initial=0)) + 1) + other


def as_words(series: pl.Series) -> pl.Series:
    """Cells as text, trimmed, null where there is nothing; lists and objects as JSON."""
    import polars as pl

    if series.dtype.is_nested():
        return pl.Series(
            series.name, [None if one is None else _json(one) for one in series.to_list()], dtype=pl.String
        )
    if series.dtype == pl.Boolean:
        return series.cast(pl.Int8).cast(pl.String)
    if series.dtype.is_float():
        series = series.fill_nan(None)
        if (series.is_finite() & (series.floor() == series) & (series.abs() < 2**53)).all():
            series = series.cast(pl.Int64)
    words = (
        series.cast(pl.String, strict=False)
        if series.dtype not in (pl.Object, pl.Binary, pl.Duration) and not is_foreign(series)
        else pl.Series(series.name, [None if one is None else str(one) for one in series.to_list()], dtype=pl.String)
    )
    words = words.str.strip_chars()
    return words.set(words == "", None)


def _json(value: object) -> str:
    if isinstance(value, dict):  # the engine gives each object the fields of all
        value = {name: inner for name, inner in value.items() if inner is not None}
    return json.dumps(value, ensure_ascii=False, default=str)
