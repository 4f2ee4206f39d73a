"""Validation at the door: each `check_` returns the array in its canonical form, or raises."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._errors import InputError

# Rows of a float32 softmax over 1,000 classes sum to one within about 1e-6. Rows further off were rounded
# or are no distribution, and are refused: renormalising would hide which.
SIMPLEX_TOLERANCE = 1e-5

_MOST_NAMED = 5
_MOST_SHOWN = 120

# NumPy's text is as wide as its longest entry, so one document taken for an id would be paid for in every row: this
# many characters in all are 256 MiB; of more, most must be letters.
_MOST_LETTERS = 2**26
_MOST_PADDED = 8

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
StrArray = npt.NDArray[np.str_]


def first_few(names: Iterable[object], total: int | None = None) -> str:
    """Name the first few offenders and say how many more there are."""
    names = list(names)
    total = len(names) if total is None else total
    shown = ", ".join(
        str(name) if isinstance(name, (int, np.integer)) else repr(_cut(str(name))) for name in names[:_MOST_NAMED]
    )
    more = total - min(len(names), _MOST_NAMED)
    return f"{shown} and {more:,} more" if more > 0 else shown


def _cut(name: str) -> str:
    """A name, cut where it is a text or worse."""
    return name if len(name) <= _MOST_SHOWN else f"{name[: _MOST_SHOWN - 1]}…"


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`; else name them all, and the nearest."""
    if value in choices:
        return value
    near = difflib.get_close_matches(str(value), choices, n=1)
    remedy = f"Did you mean {near[0]!r}?" if near else "Pick one of those"
    raise InputError(f"{name} must be one of {', '.join(choices)}", f"got {value!r}", remedy)


def check_number(name: str, value: Any, least: float, most: float) -> float:
    """Return `value` as a float between `least` and `most`, both included."""
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        raise InputError(
            f"{name} must be a number from {least:g} to {most:g}", f"got {value!r}", "Pass one in that range"
        )
    return float(value)


def check_kind(name: str, value: Any, kinds: type | tuple[type, ...], remedy: str) -> None:
    """Refuse a value of another type."""
    if not isinstance(value, kinds):
        wanted = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise InputError(f"{name} must be {wanted}", f"got {type(value).__name__}", remedy)


def check_rows(items: Any, n_items: int) -> IntArray:
    """Return row numbers (B,) int64, each from 0 to n_items - 1."""
    try:
        rows = np.asarray(items)
    except ValueError:
        rows = np.zeros((0, 0))
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InputError(
            "items must be a list of row numbers",
            f"got {rows.dtype} of shape {rows.shape}",
            "Pass integers" if rows.dtype != bool else "Pass np.flatnonzero of the mask",
        )
    if rows.size and (rows.min() < 0 or rows.max() >= n_items):
        raise InputError(
            f"items must lie between 0 and {n_items - 1}",
            f"they run from {rows.min()} to {rows.max()}",
            "Check the indices",
        )
    return rows.astype(np.int64, copy=False)


def check_whole_number(name: str, value: Any, least: int = 0) -> int:
    """Return `value` as a Python int that is at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(
            f"{name} must be a whole number of at least {least}", f"got {value!r}", f"Pass an int, {least} or more"
        )
    return int(value)


def check_matrix(name: str, values: npt.ArrayLike, item_ids: npt.NDArray[np.str_] | None = None) -> FloatArray:
    """Return `values` as a finite (N, K) float64 array with N and K at least one; offenders are named by id."""
    try:
        matrix = np.asarray(values)
        if matrix.dtype.kind not in "biuf":
            raise TypeError(f"its entries are of type {matrix.dtype}")
        matrix = matrix.astype(np.float64, copy=False)
    except (TypeError, ValueError, RuntimeError) as error:  # a tensor that needs gradients is a RuntimeError
        raise InputError(
            f"{name} must be a table of numbers (items x classes)",
            str(error).partition(". Use")[0],
            "Pass a 2-D numeric array" + (", such as tensor.detach().numpy()" if "grad" in str(error) else ""),
        ) from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise InputError(
            f"{name} must have two dimensions, items x classes, both at least 1",
            f"its shape is {matrix.shape}",
            "Reshape it",
        )
    if not np.isfinite(_row_sums(matrix)).all():  # a sum is finite only if all its terms are; one pass instead of two
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        if bad.size:
            raise InputError(
                f"{name} must be finite",
                f"{bad.size:,} rows hold NaN or infinity ({_name_rows(bad, item_ids)})",
                "Fix or remove those rows",
            )
    return matrix


def check_simplex(name: str, values: npt.ArrayLike, item_ids: npt.NDArray[np.str_] | None = None) -> FloatArray:
    """Return `values` as (N, K) float64 whose rows are probability distributions.

    Rows must be non-negative and sum to one within `SIMPLEX_TOLERANCE`; they are never renormalised.
    """
    probs = check_matrix(name, values, item_ids)
    sums = _row_sums(probs)
    if probs.min() < 0 or np.abs(sums - 1).max() > SIMPLEX_TOLERANCE:
        rows = np.flatnonzero((probs < 0).any(axis=1) | (np.abs(sums - 1) > SIMPLEX_TOLERANCE))
        lowest = probs[rows[0]].min()
        fault = f"holds {lowest:.6g}" if lowest < 0 else f"sums to {sums[rows[0]]:.6g}"
        raise InputError(
            f"each row of {name} must be non-negative and sum to 1",
            f"{rows.size:,} of {len(probs):,} do not ({_name_rows(rows, item_ids)}; the first {fault})",
            "Divide rounded rows by their sum (--normalize for predictions); apply softmax first if these are logits",
        )
    return probs


def check_pair(reference: npt.ArrayLike, probs: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the people's and the model's distributions, both (N, K) on the simplex and of one shape."""
    p = check_simplex("reference", reference)
    q = check_matrix("probs", probs)
    if p.shape != q.shape:
        raise InputError(
            "reference and probs must have the same shape, items x classes",
            f"they are {p.shape} and {q.shape}",
            "Line up items and classes before scoring",
        )
    return p, check_simplex("probs", q)


def check_labels(labels: npt.ArrayLike, probs: npt.ArrayLike) -> tuple[IntArray, FloatArray]:
    """Return hard labels (N,) int64, each a column of `probs`, and `probs` (N, K) on the simplex."""
    q = check_simplex("probs", probs)
    try:
        y = np.asarray(labels)
    except ValueError:
        y = np.zeros((0, 0))
    if y.ndim != 1 or y.dtype.kind not in "iu" or len(y) != len(q):
        raise InputError(
            f"labels must be {len(q)} whole numbers, one for each row of probs",
            f"got an array of shape {y.shape} and type {y.dtype}",
            "Pass class indices",
        )
    outside = np.flatnonzero((y < 0) | (y >= q.shape[1]))
    if outside.size:
        raise InputError(
            f"labels must lie between 0 and {q.shape[1] - 1}",
            f"{outside.size:,} do not (rows {first_few(outside)}; the first is {y[outside[0]]})",
            "Give the index of a class column",
        )
    return y.astype(np.int64, copy=False), q


def _row_sums(matrix: FloatArray) -> FloatArray:
    """Sum of each row, (N,), as a product, which is several times as fast for short rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return matrix @ np.ones(matrix.shape[1])


def _name_rows(rows: npt.NDArray[Any], item_ids: npt.NDArray[np.str_] | None) -> str:
    """The first few rows by id, or by index if they have none."""
    if item_ids is None:
        return f"rows {first_few(rows[:_MOST_NAMED], len(rows))}"
    return f"items {first_few(item_ids[rows[:_MOST_NAMED]], len(rows))}"


def check_values(name: str, values: npt.ArrayLike) -> FloatArray:
    """Return a list of finite numbers, at least one, as (n,) float64."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        raise InputError(f"{name} must be a list of finite numbers", f"got {values!r}", "Pass at least one number")
    return array


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view, so that a frozen dataclass is frozen through and through."""
    view = array.view()
    view.flags.writeable = False
    return view


def own(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only array that the caller cannot write to: a copy, unless it is read-only already."""
    return frozen(array.copy()) if array.flags.writeable else array


def rebuilt(instance: Any) -> tuple[Any, ...]:
    """For `__reduce__` of a dataclass: copies and unpickled objects pass through `__init__`, so they are frozen too."""
    return type(instance), tuple(getattr(instance, field.name) for field in fields(instance))


def check_class_names(classes: Iterable[object]) -> tuple[str, ...]:
    """Return class names as a tuple of text, at least one, none empty, none twice."""
    names = tuple(_as_text("class names", classes))
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if not names or repeated or "" in names:
        got = f"{first_few(repeated)} appears twice" if repeated else "one is empty" if names else "got none"
        raise InputError("class names must be different, non-empty and at least one", got, "Name each class once")
    return names


def check_item_ids(item_ids: Iterable[object], what: str = "item ids") -> StrArray:
    """Return item ids, called `what` in errors, as an array of text: none empty, repeated or as long as a document."""
    names = _as_text(what, item_ids)
    if longest := max(names, key=len, default=""):
        check_length("item", longest, len(names), sum(map(len, names)))
    ids = np.array(names, dtype=np.str_)
    distinct, times = np.unique(ids, return_counts=True)
    repeated = distinct[times > 1]
    if repeated.size or (ids == "").any():
        got = (
            f"{repeated.size:,} appear more than once ({first_few(repeated)})"
            if repeated.size
            else f"row {int((ids == '').argmax())} has none"
        )
        raise InputError(f"{what} must be different and not empty", got, "Give each item one row and one id")
    return ids


def check_length(role: str, longest: str, count: int, letters: int) -> None:
    """Refuse ids of which the longest would make all of them too large for memory.

    Args:
        role: whose ids they are.
        longest: the longest.
        count: how many there are.
        letters: how many letters all have.
    """
    if len(longest) * count > max(_MOST_PADDED * letters, _MOST_LETTERS):
        raise InputError(
            f"{role} ids must be short enough for memory, as each takes as much of it as the longest",
            f"one of {count:,} has {len(longest):,} characters ({longest[:40] + '...'!r})",
            "Use short ids, e.g. numbers, and keep the texts in another column",
        )


def _as_text(what: str, values: Any) -> list[str]:
    """Names as text; what is missing, and bytes, would become names by str()."""
    is_list = isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping, Set))
    if not is_list or getattr(values, "ndim", 1) != 1:
        raise InputError(f"{what} must be a list", f"got {type(values).__name__}", "Pass a list or an array of names")
    try:
        names: list[Any] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    except (SystemError, ValueError):  # text with numbers that are no letters
        raise InputError(f"{what} must be text", "some letters do not exist", "Check how the array was made") from None
    if set(map(type, names)) <= {str}:
        return names
    for place, name in enumerate(names):
        if name is None or isinstance(name, bytes) or type(name).__name__ == "NAType" or name != name:
            raise InputError(f"{what} must be text or numbers", f"number {place} is {name!r}", "Give each a name")
    return [str(name) for name in names]
