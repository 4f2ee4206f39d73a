"""Commands, ids and trained models give what they gave when the golden files beside this test were written.

The paper's page, docs/reproduction.md, is compared byte for byte in tests/papers/test_beside_paper.py.
"""

from __future__ import annotations

import json

import pytest

from golden.cases import BITS, CASES, bits_now, golden_path, machine_kind, values_now
from golden.comparing import TRAINED, difference, page_lines, pretty, settled

WRITE = "If this is meant, write it anew, and read the difference in git: python tests/golden/write.py"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if case.slow else name for name, case in CASES.items()]
)
def test_golden(name: str) -> None:
    golden = json.loads(golden_path(name).read_text(encoding="utf-8"))
    found = difference(golden, values_now(name), tolerance=CASES[name].tolerance)
    if found:
        pytest.fail(f"{golden_path(name).name} differs:\n{found}\n{WRITE} {name}", pytrace=False)


def test_training_on_a_cpu_is_the_same_bit_for_bit() -> None:
    kind, known = machine_kind(), json.loads(BITS.read_text(encoding="utf-8"))
    if kind not in known:
        pytest.skip(f"bits are known for {' and '.join(known)}; this is {kind}")
    found = difference(known[kind], bits_now())
    if found:
        pytest.fail(
            f"{BITS.name} differs for {kind}:\n{found}\nA processor of another model may round otherwise: then write "
            f"the bits from a commit that is known to be right. {WRITE} bits",
            pytrace=False,
        )


def test_there_is_a_case_for_each_file() -> None:
    known = {golden_path(name) for name in CASES} | {BITS}
    assert known == set(BITS.parent.glob("*.json"))


# --- the comparison itself


def test_changed_keys_orders_types_and_words_are_found() -> None:
    golden = {"a": 1.0, "b": [1, "soft NLL 0.512"]}
    assert difference(golden, {"a": 1.0 + 1e-12, "b": [1, "soft NLL 0.512"]}) == ""
    for now in (
        {"b": golden["b"], "a": 1.0},
        {"a": 1, "b": golden["b"]},
        {"a": 1.0, "b": [1, "soft NLL 0.513"]},
        {"a": 1.0, "b": [2, "soft NLL 0.512"]},
        {"a": 1.00001, "b": golden["b"]},
        {"a": 1.0, "b": golden["b"], "c": None},
        {"a": 1.0},
    ):
        assert difference(golden, now), now


def test_trained_numbers_may_differ_a_little() -> None:
    assert difference({"a": 1.0, "b": "NLL 0.512 on 3"}, {"a": 1.0005, "b": "NLL 0.513 on 3"}, tolerance=TRAINED) == ""
    for word in ("NLL 0.514 on 3", "NLL 0.512 on 4", "ECE 0.512 on 3"):
        assert settled("NLL 0.512 on 3", word, TRAINED) == word


def test_json_is_written_as_it_reads() -> None:
    value = {"a": [{"b": "x" * 90, "c": [1, 2.5, None]}, {}], "long": list(range(60))}
    assert json.loads(pretty(value)) == value


def test_a_page_is_told_by_its_words() -> None:
    text = "<h1>A</h1><table><tr><td>1<td>2 <small>± 3</small></table><svg><metadata>by 3.1</metadata><path d='M0'/><text>x</text></svg><p>z"
    assert page_lines(text) == ["<h1> A", "<table>", "<tr> 1 | 2 ± 3", "<svg>", "<text> x", "<p> z"]
