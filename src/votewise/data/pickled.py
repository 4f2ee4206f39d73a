"""Reading a pickle of plain values as the data it is: nothing that it asks for is ever imported or called.

A pickle is a program for a stack machine, and Python's own machine will call whatever the program names. The one here
knows only the instructions that build lists, dicts, tuples, texts, numbers, and arrays of bytes as NumPy pickles
them; the functions NumPy names for that are stand-ins of a few lines below. The standard library's
`pickletools` splits the bytes into instructions, which it does without carrying any out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

ByteArray = npt.NDArray[np.uint8]

# A batch of 10,000 images takes some 50,000 instructions. An instruction of one byte can make a value of a hundred, so
# a file that is no batch could otherwise fill the memory.
_MOST_INSTRUCTIONS = 500_000
_MOST_DIMENSIONS = 8


class PickleError(ValueError):
    """A pickle is damaged, or holds more than plain values."""


def read_pickle(raw: bytes) -> Any:
    """The value a pickle describes: dicts, lists, texts, numbers, bytes and arrays of bytes.

    Strings of Python 2, and the keys of dicts, are returned as text.

    Args:
        raw: the bytes of a pickle of protocol 2 or later.

    Raises:
        PickleError: it is damaged, or asks for more than plain values.

    Example:
        >>> import pickle
        >>> read_pickle(pickle.dumps({"labels": [3, 8]}))
        {'labels': [3, 8]}
    """
    import pickletools

    try:
        with warnings.catch_warnings(action="ignore"):  # pickletools warns of odd escapes in damaged names
            machine = _PickleMachine()
            for instruction, argument, _ in islice(pickletools.genops(raw), _MOST_INSTRUCTIONS):
                if instruction.name == "STOP":
                    return _unpickled_value(machine.pop())
                if instruction.name not in _INSTRUCTIONS:
                    raise PickleError(f"it holds the instruction {instruction.name}, which plain values do not need")
                _INSTRUCTIONS[instruction.name](machine, argument)
            raise PickleError(f"it takes more than {_MOST_INSTRUCTIONS:,} instructions")
    except PickleError:
        raise
    except (ValueError, KeyError, IndexError, MemoryError, OverflowError) as error:
        raise PickleError(f"it is damaged ({type(error).__name__})") from None


@dataclass(frozen=True)
class _Name:
    """A module and a name in it, as the pickle wrote them: never looked up."""

    text: str


@dataclass(frozen=True)
class _ByteType:
    """Stands for `numpy.dtype("u1")`, the one type of array that is read."""


@dataclass
class _Array:
    """An array that is described in two steps: made empty first, then given its content."""

    content: ByteArray | None = None


@dataclass
class _PickleMachine:
    """The stack, the stacks put aside at each mark, and the values that the pickle refers to again."""

    stack: list[Any] = field(default_factory=list)
    aside: list[list[Any]] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        return self.stack.pop()

    def pop_last(self, count: int) -> tuple[Any, ...]:
        values = [self.stack.pop() for _ in range(count)]
        return tuple(reversed(values))

    def mark(self) -> None:
        self.aside.append(self.stack)
        self.stack = []

    def pop_to_mark(self) -> list[Any]:
        values, self.stack = self.stack, self.aside.pop()
        return values

    def top(self, kind: type) -> Any:
        if not isinstance(self.stack[-1], kind):
            raise PickleError("it is damaged (a value is put into something that cannot hold it)")
        return self.stack[-1]

    def remember(self, number: int) -> None:
        self.memo[number] = self.stack[-1]


def _unpickle_append(machine: _PickleMachine, values: list[Any] | tuple[Any, ...]) -> None:
    machine.top(list).extend(map(_unpickled_value, values))


def _unpickle_setitems(machine: _PickleMachine, values: list[Any] | tuple[Any, ...]) -> None:
    target = machine.top(dict)
    for key, value in zip(values[::2], values[1::2], strict=True):
        target[_unpickled_text(key)] = _unpickled_value(value)


def _unpickle_reduce(machine: _PickleMachine) -> None:
    function, arguments = machine.pop_last(2)
    name = function.text if isinstance(function, _Name) else type(function).__name__
    if name not in _STAND_INS:
        raise PickleError(f"it asks to call {name.replace(' ', '.')[:80]!r}, which could run code")
    if not isinstance(arguments, tuple):
        raise PickleError("it is damaged (a call without arguments)")
    machine.push(_STAND_INS[name](arguments))


def _unpickle_build(machine: _PickleMachine) -> None:
    state = machine.pop()
    target = machine.stack[-1]
    if isinstance(target, _Array):
        match state:
            case (_, shape, _ByteType(), bool(by_column), raw):
                target.content = _array_of(raw, shape, "F" if by_column else "C")
            case _:
                raise PickleError("it holds an array that is not one of bytes (uint8)")
    elif not isinstance(target, _ByteType):  # the state of a type of single bytes says nothing new
        raise PickleError("it sets the state of something that is no array")


def _array_of(raw: Any, shape: Any, order: Any) -> ByteArray:
    data = raw.encode("latin-1") if isinstance(raw, str) else raw
    sizes = shape if isinstance(shape, tuple) else ()
    if not isinstance(data, (bytes, bytearray)) or not 0 < len(sizes) <= _MOST_DIMENSIONS or order not in ("C", "F"):
        raise PickleError("it is damaged (an array without shape or content)")
    if not all(type(size) is int and size >= 0 for size in sizes) or math.prod(sizes) != len(data):
        raise PickleError(f"it is damaged (an array of {len(data):,} bytes does not have the shape it states)")
    return np.frombuffer(data, np.uint8).reshape(sizes, order=order)


def _unpickle_empty_array(_: tuple[Any, ...]) -> _Array:
    return _Array()


def _unpickle_dtype(arguments: tuple[Any, ...]) -> _ByteType:
    if not arguments or arguments[0] not in ("u1", "|u1", "uint8"):
        raise PickleError("it holds an array that is not one of bytes (uint8)")
    return _ByteType()


def _unpickle_array(arguments: tuple[Any, ...]) -> _Array:
    match arguments:
        case (raw, _ByteType(), shape, order):
            return _Array(_array_of(raw, shape, order))
    raise PickleError("it holds an array that is not one of bytes (uint8)")


def _unpickle_bytes(arguments: tuple[Any, ...]) -> bytes:
    match arguments:
        case (str(text), "latin1" | "latin-1"):
            return text.encode("latin-1")
    raise PickleError("it is damaged (bytes written in an unknown way)")


def _unpickled_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if not isinstance(value, str):
        raise PickleError("it has a name that is no text")
    return value


def _unpickled_value(value: Any) -> Any:
    """A value as it is handed out; markers, and tuples that may hold them, are for use inside the machine alone."""
    if isinstance(value, _Array) and value.content is not None:
        return value.content
    if isinstance(value, (_Array, _Name, _ByteType, tuple)):
        raise PickleError("it holds something other than dicts, lists, texts, numbers and arrays")
    return value


# What NumPy and Python write into a pickle of an array of bytes, by the names of all their versions.
_STAND_INS: dict[str, Callable[[tuple[Any, ...]], Any]] = {
    "numpy.core.multiarray _reconstruct": _unpickle_empty_array,
    "numpy._core.multiarray _reconstruct": _unpickle_empty_array,
    "numpy.core.numeric _frombuffer": _unpickle_array,
    "numpy._core.numeric _frombuffer": _unpickle_array,
    "numpy dtype": _unpickle_dtype,
    "_codecs encode": _unpickle_bytes,
}


_LITERALS = (
    "BININT BININT1 BININT2 LONG1 SHORT_BINSTRING BINSTRING SHORT_BINUNICODE BINUNICODE BINUNICODE8 "
    "SHORT_BINBYTES BINBYTES BINBYTES8 BYTEARRAY8"
)

_INSTRUCTIONS: dict[str, Callable[[_PickleMachine, Any], None]] = {
    **dict.fromkeys(_LITERALS.split(), lambda machine, argument: machine.push(argument)),
    "PROTO": lambda *_: None,
    "FRAME": lambda *_: None,
    "NONE": lambda machine, _: machine.push(None),
    "NEWTRUE": lambda machine, _: machine.push(True),
    "NEWFALSE": lambda machine, _: machine.push(False),
    "MARK": lambda machine, _: machine.mark(),
    "EMPTY_LIST": lambda machine, _: machine.push([]),
    "EMPTY_DICT": lambda machine, _: machine.push({}),
    "EMPTY_TUPLE": lambda machine, _: machine.push(()),
    "TUPLE": lambda machine, _: machine.push(tuple(machine.pop_to_mark())),
    "TUPLE1": lambda machine, _: machine.push(machine.pop_last(1)),
    "TUPLE2": lambda machine, _: machine.push(machine.pop_last(2)),
    "TUPLE3": lambda machine, _: machine.push(machine.pop_last(3)),
    "APPEND": lambda machine, _: _unpickle_append(machine, machine.pop_last(1)),
    "APPENDS": lambda machine, _: _unpickle_append(machine, machine.pop_to_mark()),
    "SETITEM": lambda machine, _: _unpickle_setitems(machine, machine.pop_last(2)),
    "SETITEMS": lambda machine, _: _unpickle_setitems(machine, machine.pop_to_mark()),
    "BINPUT": lambda machine, number: machine.remember(number),
    "LONG_BINPUT": lambda machine, number: machine.remember(number),
    "MEMOIZE": lambda machine, _: machine.remember(len(machine.memo)),
    "BINGET": lambda machine, number: machine.push(machine.memo[number]),
    "LONG_BINGET": lambda machine, number: machine.push(machine.memo[number]),
    "GLOBAL": lambda machine, name: machine.push(_Name(name)),
    "STACK_GLOBAL": lambda machine, _: machine.push(_Name(" ".join(map(_unpickled_text, machine.pop_last(2))))),
    "REDUCE": lambda machine, _: _unpickle_reduce(machine),
    "BUILD": lambda machine, _: _unpickle_build(machine),
}
