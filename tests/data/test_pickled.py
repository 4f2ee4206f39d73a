"""Pickles read as data: whatever the bytes, nothing runs, memory stays small, and the error is one of ours."""

from __future__ import annotations

import collections
import datetime
import fractions
import os
import pathlib
import pickle
import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from batch_files import python2_batch
from votewise.data.pickled import PickleError, read_pickle

IMAGES = np.arange(2 * 3072, dtype=np.uint8).reshape(2, 32, 32, 3)
DATA = np.arange(12, dtype=np.uint8).reshape(3, 4)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_python_3_batches(protocol: int, order: str) -> None:
    batch = {"data": np.asarray(DATA, order=order), "labels": [1, 300, 2**20], "batch_label": "a", "more": [None, True]}  # type: ignore[call-overload]
    found = read_pickle(pickle.dumps(batch, protocol=protocol))
    np.testing.assert_array_equal(found.pop("data"), DATA)
    assert found == {"labels": [1, 300, 2**20], "batch_label": "a", "more": [None, True]}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_keys_of_bytes_become_text(protocol: int) -> None:
    assert read_pickle(pickle.dumps({b"labels": [1], b"batch_label": b"x"}, protocol=protocol)) == {
        "labels": [1],
        "batch_label": b"x",
    }


def test_the_python_2_release() -> None:
    found = read_pickle(python2_batch(IMAGES, labels=[3, 8], filenames=["a.png", "b.png"]))
    assert list(found) == ["batch_label", "data", "labels", "filenames"]
    np.testing.assert_array_equal(found["data"].reshape(2, 3, 32, 32).transpose(0, 2, 3, 1), IMAGES)
    assert (found["labels"], found["filenames"]) == ([3, 8], ["a.png", "b.png"])


def test_the_released_class_names(data_folder: Path) -> None:
    found = read_pickle((data_folder / "cifar10_batches.meta").read_bytes())
    assert found["label_names"][0] == "airplane"
    assert (found["num_cases_per_batch"], found["num_vis"]) == (10_000, 3072)


class Runs:
    """Would make a file when unpickled."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self.call = call, arguments

    def __reduce__(self) -> Any:
        return self.call


def malicious(folder: Path) -> dict[str, bytes]:
    mark = str(folder / "ran")
    return {
        "a system call": pickle.dumps(Runs(os.system, f"touch {mark}")),
        "a system call, as protocol 2": pickle.dumps(Runs(os.system, f"touch {mark}"), protocol=2),
        "inside a list": pickle.dumps({"data": DATA, "labels": [Runs(os.mkdir, mark)]}),
        "as a key": pickle.dumps([Runs(os.mkdir, mark)]),
        "eval": pickle.dumps(Runs(eval, f"open({mark!r}, 'w')")),
        "a name with a space": b"\x80\x02cnumpy\ndtype x\n)R.",
        "a dotted name": b"\x80\x04\x8c\x05numpy\x8c\x08os.mkdir\x93(\x8c\x01xtR.",
        "a dotted module": b"\x80\x02cnumpy.core.multiarray\n_reconstruct.__globals__\n)R.",
        "a numpy loader": b"\x80\x02cnumpy\nload\nU\x01x\x85R.",
        "numpy's memory map": b"\x80\x02cnumpy\nmemmap\nU\x01x\x85R.",
        "a name with an odd escape": b"\x80\x02cnump\\y\ndtype\n)R.",
        "a module alone": b"\x80\x02cos\nsystem\n.",
        "an attribute getter": b"\x80\x02c__builtin__\ngetattr\ncos\nU\x06system\x86R.",
        "a class to be made": b"\x80\x02cos\nsystem\nU\x04true\x85\x81.",
        "a class with keywords": b"\x80\x04cos\nsystem\n)}\x92.",
        "an old instance": b"(U\x04trueios\nsystem\n.",
        "an old object": b"(cos\nsystem\nU\x04trueo.",
        "a persistent id": b"\x80\x02U\x01xQ.",
        "a persistent id as text": b"Pos.system\n.",
        "an extension": b"\x80\x02\x82\x01.",
        "an outside buffer": b"\x80\x05\x97.",
        "state of a dict": b"\x80\x02}U\x09__class__U\x01x\x86b.",
        "state of a name": b"\x80\x02cnumpy\ndtype\n}U\x01xU\x01yss}b.",
        "a call of an array": pickle.dumps(DATA, protocol=2)[:-1] + b")R.",
        "a call of a text": b"\x80\x02U\x09os.system)R.",
        "a call with a list": b"\x80\x02cnumpy\ndtype\n]U\x02u1aR.",
        "another codec": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00hex\x86R.",
        "a codec that unpacks": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x04\x00\x00\x00zlib\x86R.",
        "a codec of an object": b"\x80\x02c_codecs\nencode\n]X\x06\x00\x00\x00latin1\x86R.",
        "an object array": pickle.dumps(np.array([None, Runs(os.mkdir, mark)], dtype=object)),
        "an array of plain objects": pickle.dumps(np.array([None, []], dtype=object), protocol=2),
        "an array of records": pickle.dumps(np.zeros(2, dtype=[("a", "u1"), ("b", "O")]), protocol=2),
        "an array of words": pickle.dumps(np.zeros(2, dtype=np.uint16)),
        "an array of numbers at protocol 5": pickle.dumps(np.zeros(2), protocol=5),
        "a kind of array": pickle.dumps(np.ma.zeros(3, dtype=np.uint8)),
        "a scalar": pickle.dumps(np.uint8(3)),
        "a dict of another class": pickle.dumps(collections.OrderedDict(a=1)),
        "a date": pickle.dumps(datetime.date(2020, 1, 1)),
        "a fraction": pickle.dumps(fractions.Fraction(1, 2)),
        "a path": pickle.dumps(pathlib.PurePosixPath("x")),
        "a set": pickle.dumps({1}),
        "a float": pickle.dumps(0.5),
        "a tuple": pickle.dumps((1, 2)),
        "a key that is no text": pickle.dumps({1: 2}),
        "a key that is a list": b"\x80\x02}]K\x01s.",
    }


@pytest.mark.parametrize("case", malicious(Path()))
def test_nothing_runs(case: str, tmp_path: Path) -> None:
    with pytest.raises(PickleError):
        read_pickle(malicious(tmp_path)[case])
    assert list(tmp_path.iterdir()) == []


def test_what_was_refused_is_named() -> None:
    with pytest.raises(PickleError, match=r"^it asks to call 'posix\.system', which could run code$"):
        read_pickle(pickle.dumps(Runs(os.system, "true")))
    with pytest.raises(PickleError, match=r"^it holds the instruction BINPERSID, which plain values do not need$"):
        read_pickle(b"\x80\x02U\x01xQ.")
    with pytest.raises(PickleError, match=r"^it holds an array that is not one of bytes \(uint8\)$"):
        read_pickle(pickle.dumps(np.zeros(3)))


def array(state: bytes) -> bytes:
    """A protocol 2 pickle of an array with any state."""
    start = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    return start + state + b"b."


TYPE = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
DAMAGED = {
    "nothing": b"",
    "no end": b"\x80\x02}",
    "an end alone": b".",
    "text": b"label,cat\n",
    "a web page": b"<!DOCTYPE html><html>",
    "zeros": bytes(1000),
    "an unknown protocol's instruction": b"\x80\xff\xff.",
    "nothing to append to": b"\x80\x02K\x01a.",
    "append to a number": b"\x80\x02K\x01K\x02a.",
    "items into a list": b"\x80\x02](K\x01K\x02u.",
    "an odd number of items": b"\x80\x02}(U\x01au.",
    "no mark": b"\x80\x02K\x01t.",
    "nothing remembered": b"\x80\x02h\x05.",
    "no shape": array(b"(K\x01N" + TYPE + b"\x89U\x00t"),
    "no dimensions": array(b"(K\x01)" + TYPE + b"\x89U\x00t"),
    "a negative shape": array(b"(K\x01J\xff\xff\xff\xffJ\xff\xff\xff\xff\x86" + TYPE + b"\x89U\x01xt"),
    "a boolean shape": array(b"(K\x01\x88\x85" + TYPE + b"\x89U\x01xt"),
    "a shape too large": array(b"(K\x01J\xff\xff\xff\x7f\x85" + TYPE + b"\x89U\x01xt"),
    "an empty shape that overflows": array(b"(K\x01\x8a\x0a" + b"\x7f" * 10 + b"K\x00\x86" + TYPE + b"\x89U\x00t"),
    "a thousand dimensions": array(b"(K\x01(" + b"K\x01" * 1000 + b"t" + TYPE + b"\x89U\x01xt"),
    "content that is a list": array(b"(K\x01K\x00\x85" + TYPE + b"\x89]t"),
    "content beyond bytes": array(b"(K\x01K\x01\x85" + TYPE + b"\x89X\x03\x00\x00\x00\xe2\x82\xact"),
    "too short a state": array(b"(K\x01t"),
    "a state that is no tuple": array(b"]"),
    "an array without content": array(b"")[:-2] + b".",
    "a type alone": b"\x80\x02" + TYPE + b".",
    "bytes announced that are not there": b"\x80\x04\x8e" + struct.pack("<Q", 2**62) + b"x.",
    "more bytes than there can be": b"\x80\x04\x8e" + b"\xff" * 8 + b"x.",
    "a huge buffer": b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"x.",
    "a huge text": b"\x80\x04X\xff\xff\xff\xffx.",
    "a text that is no UTF-8": b"\x80\x04X\x01\x00\x00\x00\xff.",
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged_pickles(case: str) -> None:
    with pytest.raises(PickleError):
        read_pickle(DAMAGED[case])


@pytest.mark.parametrize(
    "bomb",
    [
        b"\x80\x02N" + b"r\xff\xff\xff\xff" + b".",  # Python's own reader makes room for 2**32 values here
        b"\x80\x02}" + b"}" * 600_000 + b".",
        b"\x80\x02" + b"(" * 600_000 + b".",
        b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b".",
        b"\x80\x04\x95" + struct.pack("<Q", 2**60) + b"N.",
    ],
    ids=["memo", "dicts", "marks", "buffer", "frame"],
)
def test_memory_stays_small(bomb: bytes) -> None:
    tracemalloc.start()
    try:
        with suppress(PickleError):
            read_pickle(bomb)
        assert tracemalloc.get_traced_memory()[1] < 2e8
    finally:
        tracemalloc.stop()


def test_depth_and_loops_are_harmless() -> None:
    deep = read_pickle(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")
    depth = 0
    while deep:
        (deep,), depth = deep, depth + 1
    assert depth == 99_999
    with pytest.raises(PickleError):
        read_pickle(b"\x80\x02)" + b"\x85" * 100_000 + b".")
    itself = read_pickle(b"\x80\x02]q\x00h\x00a.")
    assert itself[0] is itself


BATCHES = [
    python2_batch(IMAGES[:1, :2, :2], labels=[3], filenames=["a.png"]),
    *(pickle.dumps({b"data": DATA, "labels": [1, 2, 3]}, protocol=protocol) for protocol in (2, 4, 5)),
]


@st.composite
def broken_batches(draw: st.DrawFn) -> bytes:
    """A batch with bytes changed, taken out, put in, or cut off."""
    raw = bytearray(draw(st.sampled_from(BATCHES)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(len(raw) - 1, 0)))
        raw[at : at + draw(st.integers(0, 3))] = draw(
            st.binary(max_size=3) | st.sampled_from([b"R", b"b", b"c__builtin__\neval\n", b"0", b"2", b"."])
        )
    return bytes(raw[: draw(st.integers(0, len(raw)))]) if draw(st.booleans()) else bytes(raw)


@settings(max_examples=500)
@given(broken_batches() | st.binary(max_size=60))
@example(BATCHES[0])
def test_any_bytes_give_plain_values_or_our_error(raw: bytes) -> None:
    with suppress(PickleError):
        _assert_plain(read_pickle(raw))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5) | st.binary(max_size=300),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
        max_leaves=12,
    ),
    st.sampled_from([3, 4, 5]),
)
def test_plain_values_come_back(value: Any, protocol: int) -> None:
    assert read_pickle(pickle.dumps(value, protocol=protocol)) == value


def _assert_plain(value: Any) -> None:
    seen: set[int] = set()
    todo = [value]
    while todo:
        entry = todo.pop()
        assert type(entry) in (dict, list, str, bytes, bytearray, int, bool, type(None), np.ndarray)
        if id(entry) not in seen and isinstance(entry, (dict, list)):
            seen.add(id(entry))
            todo.extend(entry.values() if isinstance(entry, dict) else entry)
