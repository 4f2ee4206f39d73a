"""Benchmarks and make targets that cannot rot: each runs at toy size in a process of its own, and its output is read."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted(path.name for path in ROOT.glob("benchmarks/*.py"))
TARGETS = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
ELSEWHERE = {
    "test": "this test is part of it, and would start itself again; CI runs it, and with it:",
    "check": "format, lint, types and import contracts of the whole tree",
    "unit": "all tests",
}

# A ratio or a measurement, which must be finite and above zero, and a gain or a score, which must be finite.
ABOVE = r"(?P<above{}>[\d.,e+-]+|nan|inf)"
ANY = r"(?P<any{}>[\d.,e+-]+|nan|inf)"


def line(text: str) -> str:
    """A pattern in which each `#` stands for a number above zero and each `@` for any number."""
    numbers = iter(range(100))
    pattern = re.escape(text).replace(r"\#", "#")
    return re.sub("[#@]", lambda mark: (ABOVE if mark[0] == "#" else ANY).format(next(numbers)), pattern)


# What a script promises to print at toy size, without data and without a GPU: each line, and how often.
PROMISED = {
    "run.py": {
        "pandas # s, # GB; # x as fast, # x less memory": 4,
        "crowd-kit: # ms; votewise is # x as fast": 1,
        "a plain NumPy draw from one generator: # s; sls is # x as fast": 1,
        "20 resamples of one measured); votewise is # x as fast": 1,
        "(no cifar10h-counts.npy in $VOTEWISE_DATA: simulated votes": 3,
    },
    "engine.py": {
        "plain loop, eager, TF32: # images/s": 1,
        "training images/s with evaluation every epoch, # x the eager loop": 1,
        "no GPU: the engine took its steps one by one": 1,
    },
    "kernels.py": {
        "no GPU: the kernels, which need one, are left out": 1,
        "us  # TFLOP/s": 4,
    },
    "diagnostics.py": {
        "full: largest @ (residual @), trace @ ± @,": 1,
        "curvature on all and a slice: # s, # x as fast as the plain way (# s)": 1,
        "out of distribution: # s": 1,
        "features and maps: @ s": 1,
    },
    "recipes.py": {
        "10 votes: soft #, gain @ / @ / @ / @;": 2,
        "3 votes: soft #, gain @ / @ / @ / @": 2,
    },
    "defaults.py": {
        "| words | n-grams | 100 | 3 | # | @ | @ | @ | @ | @ | # / # / # / # |": 1,
        "seeds: 1; the chosen epoch costs @ on average, within 0.01": 1,
        "cells, and every method in @": 1,
    },
    "few_votes.py": {
        "neither ChaosNLI nor POPQUORN is in": 1,
        "last epoch: soft #, gain @ (@) / @ (@) / @ (@) / @ (@)": 4,
        "best epoch: soft #, gain @ (@) / @ (@) / @ (@) / @ (@)": 4,
    },
    "priors.py": {
        "words: # items; helper runs cost # of a run": 1,
        "epoch, 3 votes": 2,
        "| multipass | # |": 2,
        "| multipass-prior | # | @ ± # | @ of 3 |": 2,
        "| multipass-crossfit | # | @ ± # | @ of 3 |": 2,
        "seeds: 3; the chosen epoch costs @ on average, within 0.01": 1,
    },
    "teacher.py": {
        "| soft labels of the teacher | # |  | # |": 1,
        "| SLS from the teacher | # | @ ± #, below on @ of 2 | # |": 1,
        "| multipass, the teacher as prior | # | @ ± #, below on @ of 2 | # |": 1,
    },
    "encoders.py": {
        "texts, votewise compare: # s; # s with kept features": 1,
        "photographs, votewise compare: # s; # s with kept features": 1,
        "votewise: # s, # texts/s, last loss #": 1,
        "Trainer:  # s, # texts/s, last loss #": 1,
        "votewise is # x as fast": 1,
    },
    "open_choices.py": {
        "(n = 2), against the default @ ± @": 7 * 6,
    },
    "house.py": {
        "upper rooms: # lines in # files; @ private functions with one caller per 1,000 lines": 1,
        "all: # lines in # files; @ private functions with one caller per 1,000 lines": 1,
        "compare: # room changes, # between ": 1,
        "reproduce table-4: # room changes, # between ": 1,
        "votewise --help: # s, # x the # s of 'import numpy, typer, rich.console'": 1,
        "votewise, with all that reading and scoring need: # s": 1,
    },
}  # fmt: skip


def run_script(name: str, *arguments: str | Path, data: Path) -> subprocess.CompletedProcess[str]:
    """Run a benchmark that finds no GPU, and looks for data in a folder."""
    environment = {**os.environ, "VOTEWISE_DATA": str(data), "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, ROOT / "benchmarks" / name, *arguments],
        capture_output=True, text=True, cwd=data, env=environment, check=False,
    )  # fmt: skip


def check_lines(output: str, promised: dict[str, int]) -> None:
    for text, times in promised.items():
        found = list(re.finditer(line(text), output))
        assert len(found) == times, f"{len(found)} times {text!r} in:\n{output}"
        for match in found:
            for name, number in match.groupdict().items():
                value = float(number.replace(",", ""))
                assert math.isfinite(value), match[0]
                assert value > 0 or name.startswith("any"), match[0]


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_runs_at_toy_size_and_prints_what_it_promises(name: str, tmp_path: Path) -> None:
    assert name in PROMISED, f"say in PROMISED what {name} --toy prints"
    out = run_script(name, "--toy", data=tmp_path)
    assert out.returncode == 0, out.stderr
    check_lines(out.stdout, PROMISED[name])
    assert list(tmp_path.iterdir()) == [], "a toy run leaves nothing behind"
    if name == "engine.py":
        compiled = {"TF32: # images/s, # x the eager loop": 1, "# x the eager loop, # x the compiled loop": 1}
        without = {"plain loop, compiled: left out, since torch.compile failed": 1}
        check_lines(out.stdout, compiled if shutil.which("g++") else without)


def test_every_promise_is_of_a_script() -> None:
    assert sorted(PROMISED) == SCRIPTS


def test_promises_can_be_broken() -> None:
    good = "crowd-kit: 20 ms; votewise is 12.5 x as fast"
    promised = {"crowd-kit: # ms; votewise is # x as fast": 1}
    check_lines(good, promised)
    for bad in ("nan", "inf", "0.0"):
        with pytest.raises(AssertionError):
            check_lines(good.replace("12.5", bad), promised)
    with pytest.raises(AssertionError):
        check_lines("", promised)


def test_what_the_house_counts(tmp_path: Path) -> None:
    """Rooms, lines and callers of a small house, counted by hand."""
    room = tmp_path / "votewise" / "cli"
    room.mkdir(parents=True)
    (tmp_path / "votewise" / "_checks.py").write_text("def _once():\n    pass\n\n_once()\n")
    (room / "one.py").write_text(
        "def _once():\n    _twice(_handed_on)\n\n\n"
        "def _twice(f):\n    return _twice\n\n\n"
        "def _handed_on():\n    _once()\n\n\n"
        "def _never():\n    pass\n\n\n"
        "def __dunder__():\n    pass\n"
    )
    (room / "two.py").write_text("class A:\n    def _method(self):\n        return self._method\n")
    out = run_script("house.py", tmp_path / "votewise", "--toy", data=tmp_path)
    assert out.returncode == 0, out.stderr
    rows = {row.split()[0]: row.split()[-5:] for row in out.stdout.splitlines()[1:3]}
    assert rows == {"cli": ["21", "2", "5", "3", "142.9"], "outside": ["4", "1", "1", "1", "250.0"]}


def test_votes_of_both_libraries_give_the_same_posteriors(data_folder: Path) -> None:
    out = run_script("run.py", "--toy", "dawid-skene", data=data_folder)
    assert out.returncode == 0, out.stderr
    assert "simulated" not in out.stdout
    assert float(re.search(r"between their posteriors: (\S+)", out.stdout)[1]) < 1e-6


def test_few_votes_takes_all_texts(data_folder: Path) -> None:
    if not all((data_folder / name).is_file() for name in ("chaosNLI_snli.jsonl", "popquorn_offensiveness.csv")):
        pytest.skip(f"no texts: {data_folder} lacks ChaosNLI or POPQUORN")
    out = run_script("few_votes.py", "--toy", data=data_folder)
    assert out.returncode == 0, out.stderr
    for source in ("words", "ChaosNLI SNLI", "POPQUORN"):
        check_lines(out.stdout, {f"{source}, 3 votes, dropout 0.2, last epoch: soft #, gain @ (@)": 1})
    assert "neither" not in out.stdout


@pytest.mark.parametrize("name", ["engine.py", "kernels.py", "diagnostics.py"])
def test_full_size_without_a_gpu_says_so(name: str, tmp_path: Path) -> None:
    out = run_script(name, data=tmp_path)
    assert (out.returncode, out.stdout) == (2, "")
    assert re.search(rf"{name}: error: torch finds no GPU; --toy .+ without one", out.stderr)


def test_full_size_without_data_says_so(tmp_path: Path) -> None:
    out = run_script("open_choices.py", data=tmp_path)
    assert (out.returncode, out.stdout) == (2, "")
    assert "the data set cifar10h must be in" in out.stderr
    assert "Traceback" not in out.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what Git knows of, beside an environment that looks complete and is this one: links to its parts."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no Git checkout, so nothing says which files are the tree")
    copy, environment = tmp_path / "tree", tmp_path / "environment"
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    environment.mkdir()
    for part in Path(sys.prefix).iterdir():
        if not part.name.startswith("."):
            (environment / part.name).symlink_to(part)
    for stamp in (".demo", ".dev", ".bench"):  # newer than pyproject.toml and constraints.txt of the copy
        (environment / stamp).touch()
    return copy


def make(tree: Path, *arguments: str) -> str:
    """What a target prints; one that tries to install anything fails, since `false` stands in for pip."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "VOTEWISE_DATA": str(tree)}
    out = subprocess.run(
        ["make", f"VENV={tree.parent / 'environment'}", "PIP=false", *arguments],
        capture_output=True, text=True, cwd=tree, env=environment, check=False,
    )  # fmt: skip
    assert out.returncode == 0, out.stdout + out.stderr
    return out.stdout


def make_help(tree: Path) -> None:
    documented = re.findall(r"^([a-z]+):.*##", (tree / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert re.findall(r"^([a-z]+):", make(tree, "help"), re.MULTILINE) == documented
    assert set(TARGETS) - set(documented) == {"check", "unit"}  # the two halves of test


def make_demo(tree: Path) -> None:
    # Two seeds of the demo are run in test_demo.py; here the target and its options.
    assert "--seeds" in make(tree, "demo", "DEMO=--help")
    assert "-o report.html" in make(tree, "-n", "demo")


def make_bench(tree: Path) -> None:
    check_lines(make(tree, "bench", "BENCH=--toy delivery"), {"sls is # x as fast": 1})


def make_paper(tree: Path) -> None:
    page = tree / "docs" / "reproduction.md"
    text = page.read_text(encoding="utf-8")
    begin, end = re.search(r"<!-- [^>]*begin[^>]*-->", text), re.search(r"<!-- [^>]*end[^>]*-->", text)
    page.write_text(text[: begin.end()] + "\nnothing\n" + text[end.start() :], encoding="utf-8")
    make(tree, "paper")
    assert "| soft labels |" in page.read_text(encoding="utf-8")


def make_format(tree: Path) -> None:
    for folder in ("src", "tests", "benchmarks"):  # in a copy of unfinished work nothing else must stop it
        shutil.rmtree(tree / folder)
    untidy = tree / "untidy.py"
    untidy.write_text('"""Doc."""\nimport sys,os\nnames=[ os.name,sys.platform ]\n', encoding="utf-8")
    make(tree, "format")
    assert (
        untidy.read_text(encoding="utf-8") == '"""Doc."""\n\nimport os\nimport sys\n\nnames = [os.name, sys.platform]\n'
    )


def make_clean(tree: Path) -> None:
    caches = [tree / name for name in (".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis")]
    for cache in caches:
        (cache / "some").mkdir(parents=True)
    make(tree, "clean")
    assert not any(path.exists() for path in (*caches, tree.parent / "environment"))
    assert Path(sys.executable).exists()
    assert (tree / "README.md").exists()


MAKE = {
    "help": make_help,
    "demo": make_demo,
    "bench": make_bench,
    "paper": make_paper,
    "format": make_format,
    "clean": make_clean,
}


@pytest.mark.parametrize("target", [target for target in TARGETS if target not in ELSEWHERE])
def test_make(target: str, tree: Path) -> None:
    assert target in MAKE, f"say in MAKE how make {target} is tried at toy size"
    MAKE[target](tree)


def test_other_targets_are_what_ci_runs(tree: Path) -> None:
    assert re.search(r"^make test$", (ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    commands = make(tree, "-n", "test")
    for command in ("ruff format --check .", "ruff check .", "mypy", "lint-imports", "pytest -n auto"):
        assert re.search(rf"/{command}|-m {command}", commands), command


def test_make_installs_what_is_missing(tree: Path) -> None:
    for stamp in (".demo", ".dev", ".bench"):
        (tree.parent / "environment" / stamp).unlink()
    for target, extra in (("demo", "demo"), ("check", "dev"), ("bench", "bench")):
        assert f"-e '.[{extra}]'" in make(tree, "-n", target)


def test_the_map_of_the_house_is_true(tmp_path: Path) -> None:
    run_script("house.py", "--map", tmp_path / "map.md", data=tmp_path)
    docs = Path(__file__).parents[1] / "docs" / "map.md"
    assert docs.read_text() == (tmp_path / "map.md").read_text(), "write it anew: see its first lines"
