"""Run records in memory: names, checks, comparison."""

from __future__ import annotations

import json
import math
import pickle
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from votewise import InputError
from votewise.records import RunRecord, record_differences, records_agree, run_id

CONFIG: dict[str, Any] = {
    "method": "sls",
    "votes": None,
    "seed": 3,
    "recipe": {"epochs": 200, "lr": 0.1, "nesterov": True, "steps": [60, 120]},
}

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
configs = st.dictionaries(st.text(), plain, max_size=6)


def reverse_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reverse_keys(value[key]) for key in reversed(value)}
    return [reverse_keys(inner) for inner in value] if isinstance(value, list) else value


def record(**changes: Any) -> RunRecord:
    parts: dict[str, Any] = {
        "config": CONFIG,
        "status": "done",
        "curves": {"soft_nll": [0.9, math.nan, 0.7]},
        "numbers": {"best_epoch": 2, "soft_nll_best": 0.7, "gap": math.inf},
        "arrays": {"eval_rows": np.arange(3), "best_logits": np.array([[1, np.nan], [0, -0.0]], np.float32)},
        "environment": {"python": "3.11"},
        "timing": {"seconds": 1.5},
    }
    return RunRecord(**(parts | changes))


def test_the_id_is_that_of_canonical_json() -> None:
    text = '{"a":[1,1.0,true,null,"é"],"b":{"c":1e-05}}'
    assert run_id({"b": {"c": 1e-5}, "a": [1, 1.0, True, None, "é"]}) == sha256(text.encode()).hexdigest()[:32]
    assert run_id(CONFIG) == "41d2dc969a7a7d135c82d1dc8e6827a2"  # a constant: changed, all records lose their names


@given(configs)
def test_the_order_of_keys_does_not_change_the_id(config: dict[str, Any]) -> None:
    assert run_id(reverse_keys(config)) == run_id(config) == run_id(json.loads(json.dumps(config)))


@given(plain, plain)
def test_other_values_have_other_ids(one: Any, other: Any) -> None:
    alike = repr(one) == repr(other) or json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (run_id({"x": one}) == run_id({"x": other})) == alike


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1, True), (0, False), (0.0, -0.0), (None, "null"), ([], {}), ("1", 1), ("é", "e\u0301")])  # fmt: skip
def test_near_values_have_other_ids(one: Any, other: Any) -> None:
    assert run_id({"x": one}) != run_id({"x": other})


PLAIN_REMEDY = "Use only dict, list, str, int, finite float, bool and None."


def holding_itself() -> dict[str, Any]:
    config: dict[str, Any] = {}
    config["x"] = config
    return config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"x": (1, 2)}, f"config['x'] must be plain JSON, but it is of type tuple. {PLAIN_REMEDY}"),
        ({"x": [0, np.int64(1)]}, f"config['x'][1] must be plain JSON, but it is of type int64. {PLAIN_REMEDY}"),
        ({"x": np.float64(1)}, f"config['x'] must be plain JSON, but it is of type float64. {PLAIN_REMEDY}"),
        ({"x": {"y": math.nan}}, f"config['x']['y'] must be plain JSON, but it is nan. {PLAIN_REMEDY}"),
        ({"x": math.inf}, f"config['x'] must be plain JSON, but it is inf. {PLAIN_REMEDY}"),
        ({"x": b"y"}, f"config['x'] must be plain JSON, but it is of type bytes. {PLAIN_REMEDY}"),
        ({"x": 10**5000}, f"config['x'] must be plain JSON, but it has more than 1,000 digits. {PLAIN_REMEDY}"),
        ({1: 2}, "a key of config must be str, but got int. Pass text."),
        ({"\ud83d": 1}, "a key of config must be text, but '\\ud83d' has half a character (a surrogate). Fix or remove it."),
        ({"x": "\ud83d"}, "config['x'] must be text, but '\\ud83d' has half a character (a surrogate). Fix or remove it."),
        (["x"], "config must be dict, but got list. Pass a dict of plain JSON values."),
        (holding_itself(), "config must be plain JSON, but it is nested too deeply or contains itself. Make it flatter."),
    ],
)  # fmt: skip
def test_configs_that_are_not_plain(config: Any, message: str) -> None:
    for build in (run_id, lambda config: record(config=config)):
        with pytest.raises(InputError) as error:
            build(config)
        assert str(error.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"status": "finished"}, "status must be one of done, failed, but got 'finished'. Pick one of those."),
        (
            {"status": "failed"},
            "a failed run must have a reason and a finished one must not, but got status 'failed' with failure None. "
            "Pass failure= with status='failed' only.",
        ),
        (
            {"failure": "NaN"},
            "a failed run must have a reason and a finished one must not, but got status 'done' with failure 'NaN'. "
            "Pass failure= with status='failed' only.",
        ),
        ({"curves": [1.0]}, "curves must be Mapping, but got list. Pass a dict."),
        ({"curves": {"a": [[1.0]]}}, "curves 'a' must hold a number for each epoch, but got float64 of shape (1, 1). Pass a list of numbers."),
        ({"curves": {"a": [[1], [1, 2]]}}, "curves 'a' must hold a number for each epoch, but got float64 of shape (0, 0). Pass a list of numbers."),
        ({"curves": {"a": ["x"]}}, "curves 'a' must hold a number for each epoch, but got <U1 of shape (1,). Pass a list of numbers."),
        ({"numbers": {"a": "1"}}, "numbers 'a' must be a number, but got '1'. Pass a float."),
        ({"numbers": {"a": True}}, "numbers 'a' must be a number, but got True. Pass a float."),
        ({"timing": {"a": None}}, "timing 'a' must be a number, but got None. Pass a float."),
        ({"environment": {"a": 3.11}}, "environment 'a' must be str, but got float. Pass text."),
        ({"numbers": {1: 1.0}}, "a key of numbers must be str, but got int. Pass text."),
        ({"arrays": [np.zeros(1)]}, "arrays must be Mapping, but got list. Pass a dict."),
    ],
)  # fmt: skip
def test_parts_that_are_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        record(**changes)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.array([{}], dtype=object), "an array of type object"),
        (np.zeros(2, "i4,f4"), "an array of type [('f0', '<i4'), ('f1', '<f4')]"),
        (np.zeros(1, "M8[s]"), "an array of type datetime64[s]"),
        (np.zeros(1, ">f8").astype(np.clongdouble), f"an array of type {np.dtype(np.clongdouble)}"),
        (np.zeros(1, complex), "an array of type complex128"),
        (np.ma.masked_array([1, 2], [True, False]), "MaskedArray"),
        ([1, 2], "list"),
        (np.float64(1), "float64"),
    ],
)
def test_arrays_that_are_refused(array: Any, got: str) -> None:
    with pytest.raises(InputError) as error:
        record(arrays={"x": array})
    assert str(error.value) == (
        f"array 'x' must be a NumPy array of booleans, whole numbers, floats or text, but got {got}. "
        "Convert it; arrays of objects are never stored, since reading them could run code."
    )


@pytest.mark.parametrize("name", ["", "a/b", "..\\a", "a\nb", "a\0b", "\ud800", "x" * 201, 3])
def test_names_of_arrays_that_are_refused(name: Any) -> None:
    with pytest.raises(InputError) as error:
        record(arrays={name: np.zeros(1)})
    assert str(error.value) == (
        f"names of arrays must be text of 1 to 200 printable characters without slashes, but got {name!r}. Rename it."
    )


def test_a_record_is_frozen() -> None:
    config, logits = {"recipe": {"epochs": 1}}, np.zeros((2, 2), order="F")
    kept = record(config=config, arrays={"logits": logits})
    name = kept.run_id
    config["recipe"]["epochs"] = 2
    logits[:] = 1
    assert kept.run_id == name == run_id({"recipe": {"epochs": 1}})
    assert kept.arrays["logits"].tolist() == [[0, 0], [0, 0]]
    assert not kept.arrays["logits"].flags.writeable
    assert not kept.curves["soft_nll"].flags.writeable
    with pytest.raises(AttributeError):
        kept.status = "failed"  # type: ignore[misc]


def test_epochs_are_those_of_the_longest_curve() -> None:
    assert record(curves={}).epochs == 0
    assert record(curves={"a": [], "b": [1, 2]}).epochs == 2


def test_equal_records() -> None:
    payload = np.array([0x7FC00001], np.uint32).view(np.float32)  # a NaN of other bits
    assert np.isnan(payload).all()
    assert record_differences(record(), record(environment={}, timing={"seconds": 9})) == []
    assert records_agree(record(arrays={"x": payload}), record(arrays={"x": np.float32([np.nan])}))
    assert records_agree(
        record(arrays={"x": np.eye(3)[:, :2]}), record(arrays={"x": np.asfortranarray(np.eye(3)[:, :2])})
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"config": {**CONFIG, "seed": 4}}, ["config"]),
        ({"status": "failed", "failure": "no"}, ["failure", "status"]),
        ({"curves": {"soft_nll": [0.9, math.nan, np.nextafter(0.7, 1)]}}, ["curves.soft_nll"]),
        ({"curves": {"soft_nll": [0.9, math.nan]}}, ["curves.soft_nll"]),
        ({"curves": {}}, ["curves.soft_nll"]),
        ({"numbers": {"best_epoch": 2, "soft_nll_best": 0.7, "gap": -math.inf, "new": 0}}, ["numbers.gap", "numbers.new"]),
        ({"arrays": {"eval_rows": np.arange(3), "best_logits": np.float32([[1, np.nan], [0, 0.0]])}}, ["arrays.best_logits"]),
        ({"arrays": {"eval_rows": np.arange(3, dtype=np.int32), "best_logits": np.float32([[1, np.nan], [0, -0.0]])}}, ["arrays.eval_rows"]),
        ({"arrays": {"eval_rows": np.arange(3)[None], "best_logits": np.float32([[1, np.nan], [0, -0.0]])}}, ["arrays.eval_rows"]),
    ],
)  # fmt: skip
def test_differences_are_named(changes: dict[str, Any], expected: list[str]) -> None:
    assert (
        record_differences(record(), record(**changes)) == record_differences(record(**changes), record()) == expected
    )
    assert not records_agree(record(), record(**changes))


def test_no_part_of_a_record_can_be_changed() -> None:
    kept = record()
    for part in (kept.config, kept.numbers, kept.curves, kept.arrays, kept.environment, kept.timing):
        with pytest.raises(TypeError, match="a record is read-only; make another one with dataclasses"):
            part["new"] = 1  # type: ignore[index]
    with pytest.raises(TypeError):
        kept.numbers.update(best_epoch=9)
    with pytest.raises(TypeError):
        record(config={"recipe": {"epochs": 1}}).config["recipe"]["epochs"] = 2  # type: ignore[index,call-overload]
    for copy in (pickle.loads(pickle.dumps(kept)), deepcopy(kept), replace(kept)):
        assert records_agree(copy, kept)
        with pytest.raises(TypeError):
            del copy.numbers["best_epoch"]
