"""A bounded part of `fuzzing.py`: nothing but votewise's own errors may come out of any reader."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fuzzing import READERS, main, try_case

CASES = 1_000
PARTS = {"tables": 12, "exports": 2, "tables-of-inputs": 2}
# Each of these takes ten times as long as others.
FEWER = {"hostile-tables": 300, "sheets": 300}


@pytest.mark.parametrize(
    ("reader", "part"), [(reader, part) for reader in READERS for part in range(PARTS.get(reader, 1))]
)
def test_nothing_but_our_own_errors(reader: str, part: int, tmp_path: Path) -> None:
    if reader == "sheets":
        pytest.importorskip("fastexcel")
    reached: Counter[str] = Counter()
    cases = FEWER.get(reader, CASES)
    for case in range(part * cases, (part + 1) * cases):
        try_case(reader, case, tmp_path, reached)
    # Enough files must be valid to reach the code behind reading.
    assert reached["read"] > cases // 20
    assert reached["scored"] > cases // 16 or reader != "tables"


def test_the_long_run_finds_nothing_in_a_short_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["60", "archives", "models"]) == 0
    assert capsys.readouterr().out.count("30 inputs, {'read': ") == 2
