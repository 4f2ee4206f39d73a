"""Docs that cannot drift: examples run, links lead somewhere, every command, method and metric is described."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from encoders import tiny_bert, tiny_vit
from votewise import metrics
from votewise.cli.main import COMMANDS, main
from votewise.delivery import METHODS

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
EXAMPLES = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_run(example: str, tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("item,annotator,label\na,x,cat\na,y,dog\nb,x,cat\n", encoding="utf-8")
    (tmp_path / "results").symlink_to(ROOT / "results")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # beside other tests, more threads only wait for each other
    subprocess.run([sys.executable, "-W", "error", "-c", example], cwd=tmp_path, env=environment, check=True)


@pytest.mark.parametrize(("kind", "encoder"), [("text", tiny_bert), ("images", tiny_vit)])
def test_own_data_from_votes_file_to_report(
    kind: str, encoder: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways of the page on encoders, in a shell and in Python, on thirty items."""
    section = text("docs/encoders.md").partition("## From votes file to report\n")[2].partition("\n## ")[0]
    of_texts, of_images = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    (code,) = re.findall(r"```py\n(.*?)```", section, re.DOTALL)
    assert max(len(block.splitlines()) for block in (of_texts, of_images, code)) <= 12
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOTEWISE_CACHE", str(tmp_path / "cache"))
    rows = [
        f"{item},{person},{'dog' if item % 2 ^ (person == 'a') else 'cat'}" for item in range(30) for person in "abc"
    ]
    Path("votes.csv").write_text("\n".join(["item,annotator,label", *rows]), encoding="utf-8")
    if kind == "text":
        lines = [f"{item},an old {'dog' if item % 2 else 'cat'} sat" for item in range(30)]
        for name in ("texts.csv", "new.csv"):
            Path(name).write_text("\n".join(["item,text", *lines]), encoding="utf-8")
    for folder in ("photos", "new-photos") if kind == "images" else ():
        Path(folder).mkdir()
        for item in range(30):
            Image.new("RGB", (20, 24), (200 * (item % 2), 40, 40)).save(f"{folder}/{item}.png")
    encoder(Path("models/text" if kind == "text" else "models/image"))
    for line in (of_texts if kind == "text" else of_images).splitlines():
        assert main(shlex.split(line)[1:]) == 0, line
    assert len(Path("predictions.csv").read_text(encoding="utf-8").splitlines()) == 31
    for page in ("report.html", "again.html"):
        assert "multipass" in Path(page).read_text(encoding="utf-8")
    Path("report.html").unlink()
    if kind == "images":
        assert 'inputs are `"images"` and `"photos"`, and the encoder is `models/image`' in section
        for written, other in (('"text"', '"images"'), ("texts.csv", "photos"), ("models/text", "models/image")):
            code = code.replace(written, other)
    exec(code, {})
    assert "multipass" in Path("report.html").read_text(encoding="utf-8")


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


def metrics_without_description() -> list[str]:
    page, line = text("docs/metrics.md"), text("docs/command-line.md")
    tables = "".join(row.split("|")[1] for row in page.splitlines() if row.startswith("| `"))
    return [name for name in metrics.METRICS if f"`{name}`" not in tables or name not in line]


def test_metrics_are_described() -> None:
    assert metrics_without_description() == []


def test_a_new_metric_must_be_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(metrics.METRICS, "novel", metrics.METRICS["kl"])
    assert metrics_without_description() == ["novel"]


def test_make_targets_of_the_readme_exist() -> None:
    makefile = text("Makefile")
    for target in re.findall(r"make ([a-z]+)", text("README.md") + text("CONTRIBUTING.md")):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
