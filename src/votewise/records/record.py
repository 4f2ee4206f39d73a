"""The record of one training run, and how two records are compared."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, check_choice, check_kind, frozen
from votewise._errors import InputError

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
Array: TypeAlias = npt.NDArray[Any]

STATUSES = ("done", "failed")

_LONGEST_NAME = 200


def run_id(config: dict[str, JSON]) -> str:
    """The id of a run: 32 hexadecimal digits, the first half of the SHA-256 of its config as canonical JSON.

    The order of keys does not matter; any changed value changes the id, even 1 to 1.0 or to true.

    >>> run_id({"method": "sls", "seed": 3}) == run_id({"seed": 3, "method": "sls"})
    True
    """
    return sha256(canonical_json(config)).hexdigest()[:32]


def canonical_json(config: dict[str, JSON]) -> bytes:
    """A config as its only JSON text: sorted keys, no spaces, floats by their repr, UTF-8.

    Only values that JSON returns unchanged are accepted: no tuples, NumPy numbers, NaN or keys other than text.
    """
    check_kind("config", config, dict, "Pass a dict of plain JSON values")
    try:
        _check_record_value("config", config)
        return compact_json(config)
    except RecursionError:
        raise InputError(
            "config must be plain JSON", "it is nested too deeply or contains itself", "Make it flatter"
        ) from None


def compact_json(value: Any) -> bytes:
    """Plain values as JSON with sorted keys and no spaces, in UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()


class _ReadOnly(dict[Any, Any]):
    """A dict that cannot be changed; unlike a mapping proxy it can be pickled and written as JSON."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a record is read-only; make another one with dataclasses.replace")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type, tuple[dict[Any, Any]]]:
        return type(self), (dict(self),)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunSummary:
    """A run without its arrays, for lists of runs. It and all its parts are read-only.

    Attributes:
        config: everything that identifies the run, in plain JSON: method, seed, checksum of the data, recipe.
        status: "done" or "failed".
        failure: why it failed; None if it is done.
        curves: values after each epoch, each (epochs,) float64; NaN and infinity are allowed.
        numbers: single results, such as "best_epoch" and "soft_nll_best".
        environment: versions, device, platform. It may differ between two equal runs, as may `timing`.
        timing: "seconds" and similar.
    """

    config: dict[str, JSON]
    status: str
    failure: str | None = None
    curves: dict[str, FloatArray] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    timing: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every part and keep a read-only copy of it."""
        self._keep("config", json.loads(canonical_json(self.config), object_pairs_hook=_ReadOnly))
        check_choice("status", self.status, STATUSES)
        if self.failure is not None:
            _record_text("failure", self.failure)
        if (self.status == "failed") != (self.failure is not None):
            raise InputError(
                "a failed run must have a reason and a finished one must not",
                f"got status {self.status!r} with failure {self.failure!r}",
                "Pass failure= with status='failed' only",
            )
        for name, check in (
            ("curves", _record_curve),
            ("numbers", _record_number),
            ("environment", _record_text),
            ("timing", _record_number),
        ):
            given = getattr(self, name)
            check_kind(name, given, Mapping, "Pass a dict")
            self._keep(
                name,
                _ReadOnly(
                    (_record_text(f"a key of {name}", key), check(f"{name} {key!r}", given[key])) for key in given
                ),
            )

    @property
    def run_id(self) -> str:
        """The id of the config."""
        return run_id(self.config)

    @property
    def epochs(self) -> int:
        """How many epochs the curves cover."""
        return max((len(curve) for curve in self.curves.values()), default=0)

    def _keep(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False, kw_only=True)
class RunRecord(RunSummary):
    """A run with its arrays.

    Attributes:
        arrays: predictions and the like by name, such as "held_out" (N,) int64 and "best_logits" (N, K) float32; of
            booleans, whole numbers, floats or text.
    """

    arrays: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check and copy the arrays as well."""
        super().__post_init__()
        check_kind("arrays", self.arrays, Mapping, "Pass a dict")
        self._keep(
            "arrays",
            _ReadOnly((_array_name(name), _record_array(name, array)) for name, array in self.arrays.items()),
        )


def records_agree(first: RunRecord, second: RunRecord) -> bool:
    """Whether two records agree in everything except environment and timing."""
    return not record_differences(first, second)


def record_differences(first: RunRecord, second: RunRecord) -> list[str]:
    """The parts in which two records differ, except environment and timing, such as "arrays.best_logits".

    Numbers are compared bit by bit, types and shapes included; NaN equals NaN.
    """
    one, other = _record_parts(first), _record_parts(second)
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def is_storable(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of a type can be stored: they hold no pointers, and have the same size on every machine."""
    return dtype.kind in "biuU" or (dtype.kind == "f" and dtype.itemsize <= 8)


def _record_parts(record: RunRecord) -> dict[str, object]:
    return {
        "config": canonical_json(record.config),
        "status": record.status,
        "failure": record.failure,
        **{f"numbers.{name}": _record_bytes_to_compare(np.float64(value)) for name, value in record.numbers.items()},
        **{f"curves.{name}": _record_bytes_to_compare(curve) for name, curve in record.curves.items()},
        **{f"arrays.{name}": _record_bytes_to_compare(array) for name, array in record.arrays.items()},
    }


def _record_bytes_to_compare(array: Array | np.float64) -> tuple[str, tuple[int, ...], bytes]:
    """Type, shape and bytes, with all NaNs (there are many) made the same."""
    if array.dtype.kind == "f":
        return array.dtype.str, array.shape, np.where(np.isnan(array), array.dtype.type(np.nan), array).tobytes()
    return array.dtype.str, array.shape, array.tobytes()


def _check_record_value(where: str, value: object) -> None:
    """Refuse what JSON would change or not accept."""
    if type(value) is dict or type(value) is _ReadOnly:
        for key, inner in value.items():
            _check_record_value(f"{where}[{key!r}]", inner)
            _record_text(f"a key of {where}", key)
    elif type(value) is list:
        for place, inner in enumerate(value):
            _check_record_value(f"{where}[{place}]", inner)
    elif type(value) is str:
        _record_text(where, value)
    elif type(value) not in (int, float, bool, type(None)):
        raise _record_value_error(where, f"it is of type {type(value).__name__}")
    elif type(value) is int and abs(value) >= 10**1000:  # Python refuses to write or read much longer ones
        raise _record_value_error(where, "it has more than 1,000 digits")
    elif type(value) is float and not math.isfinite(value):
        raise _record_value_error(where, f"it is {value}")


def _record_value_error(where: str, got: str) -> InputError:
    return InputError(f"{where} must be plain JSON", got, "Use only dict, list, str, int, finite float, bool and None")


def _record_text(where: str, value: Any) -> str:
    """Text that UTF-8 can encode."""
    check_kind(where, value, str, "Pass text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{where} must be text", f"{value!r} has half a character (a surrogate)", "Fix or remove it"
        ) from None
    return str(value)


def _record_number(where: str, value: Any) -> float:
    try:
        if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
            return float(value)
    except OverflowError:  # a whole number too large for a float
        pass
    raise InputError(f"{where} must be a number", f"got {value!r}", "Pass a float")


def _record_curve(where: str, values: Any) -> FloatArray:
    try:
        curve = np.array(values)
    except ValueError:  # lists of different lengths
        curve = np.zeros((0, 0))
    if curve.ndim != 1 or (curve.size and curve.dtype.kind not in "iuf"):
        raise InputError(
            f"{where} must hold a number for each epoch",
            f"got {curve.dtype} of shape {curve.shape}",
            "Pass a list of numbers",
        )
    return frozen(curve.astype(np.float64))


def _record_array(name: str, array: Any) -> Array:
    """A read-only copy in C order, so that equal arrays are equal bytes."""
    if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray) or not is_storable(array.dtype):
        got = f"an array of type {array.dtype}" if type(array) is np.ndarray else type(array).__name__
        raise InputError(
            f"array {name!r} must be a NumPy array of booleans, whole numbers, floats or text",
            f"got {got}",
            "Convert it; arrays of objects are never stored, since reading them could run code",
        )
    return frozen(np.array(array, order="C", subok=False))


def _array_name(name: Any) -> str:
    """A name that a .npz can hold."""
    if (
        not isinstance(name, str)
        or not name.isprintable()
        or {"/", "\\"} & set(name)
        or not 0 < len(name) <= _LONGEST_NAME
    ):
        raise InputError(
            f"names of arrays must be text of 1 to {_LONGEST_NAME} printable characters without slashes",
            f"got {name!r}",
            "Rename it",
        )
    return name
