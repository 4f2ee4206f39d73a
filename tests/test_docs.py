"""Docs that cannot drift: examples run, links lead somewhere, every command, method and metric is described."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from votewise import metrics, score
from votewise.cli.main import program
from votewise.experiments import METHODS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
EXAMPLES = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]
COMMANDS = [command.name for command in program.registered_commands]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example: str, tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("item,annotator,label\na,x,cat\na,y,dog\nb,x,cat\n", encoding="utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # beside other tests, more threads only wait for each other
    subprocess.run([sys.executable, "-W", "error", "-c", example], cwd=tmp_path, env=environment, check=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]+))?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            file = page.parent / target if target else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_described(name: str) -> None:
    assert f"votewise {name}" in text("README.md")
    assert f"## votewise {name}" in text("docs/command-line.md")


@pytest.mark.parametrize("name", METHODS)
def test_methods_are_described(name: str) -> None:
    assert f"| `{name}` | {METHODS[name].summary} |" in text("README.md")
    assert f"| `{name}` |" in text("docs/deliveries.md")


def test_metrics_are_described() -> None:
    page, line = text("docs/metrics.md"), text("docs/command-line.md")
    for name in score(np.eye(3), np.eye(3)).metrics:
        assert name in line
        if not name.startswith("brier_"):
            assert f"| `{name}` |" in page
            assert hasattr(metrics, name)


def test_make_targets_of_the_readme_exist() -> None:
    makefile = text("Makefile")
    for target in re.findall(r"make ([a-z]+)", text("README.md") + text("CONTRIBUTING.md")):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
