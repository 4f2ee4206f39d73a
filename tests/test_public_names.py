"""The names of `import votewise`: there when used, the same for type checkers, and imported no sooner."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import votewise

SOURCE = Path(votewise.__file__).read_text(encoding="utf-8")


def names_for_type_checkers() -> list[str]:
    branch = next(node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    return [alias.asname for node in branch.body if isinstance(node, ast.ImportFrom) for alias in node.names]


def test_type_checkers_see_the_same_names() -> None:
    names = names_for_type_checkers()
    assert len(names) > 30
    assert sorted(names) == sorted(votewise.__all__)
    assert {*names, "__version__"} <= set(dir(votewise))


@pytest.mark.parametrize("name", names_for_type_checkers())
def test_each_name_is_there_on_its_own(name: str) -> None:
    script = (
        f"import votewise; from votewise import {name}; print(votewise.{name} is {name}, {name!r} in dir(votewise))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout == "True True\n"


def test_all_of_them_at_once() -> None:
    found: dict[str, object] = {}
    exec("from votewise import *", found)
    assert set(votewise.__all__) <= set(found)
    assert votewise.__version__[0].isdigit()


def test_a_wrong_name_is_named() -> None:
    with pytest.raises(AttributeError, match=r"^module 'votewise' has no attribute 'Vote'$"):
        votewise.Vote  # noqa: B018
    with pytest.raises(ImportError, match=r"cannot import name 'Vote' from 'votewise'"):
        from votewise import Vote  # noqa: F401


def test_nothing_is_imported_before_it_is_used() -> None:
    script = (
        "import sys, votewise; print([name for name in sys.modules if 'votewise.' in name], 'numpy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout == "['votewise._start'] False\n"
