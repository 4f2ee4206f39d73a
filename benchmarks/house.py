"""The shape of the code, measured: `python benchmarks/house.py [SOURCE] [--toy]`.

Prints lines and files of each room, private functions with one caller per 1,000 lines, how often a command goes from
one room to another, and how long `votewise --help` takes. A room is a package right below `votewise`.

- A private function is a function or method named with one underscore in front; it has one caller if its name is read
  exactly once in its room, whether it is called there or handed on.
- A command's walk is the order in which its functions are called for the first time in its own process, not in workers.
  Comprehensions, lambdas, and the bodies of modules and classes do not count, nor do modules outside rooms, such as
  `_checks`.
- Times are of the processor, the least of several runs.

This takes half a minute; --toy measures everything once, on less data. --map FILE only writes docs/map.md, every file
with the first sentences of its docstring. SOURCE is a `src/votewise` to count lines and callers in; walks and times are
always those of the votewise that Python imports.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import numpy as np

import votewise

ROOT = Path(__file__).resolve().parents[1]
HOUSE = ROOT / "src" / "votewise"
UPPER = ("cli", "data", "experiments", "papers", "records", "report")
IMPORTS = "import numpy, typer, rich.console"


@dataclass
class Room:
    """Counts of one room."""

    lines: int = 0
    files: int = 0
    private: int = 0
    called_once: int = 0


def room_of(file: Path, source: Path) -> str:
    """The package right below votewise that a file belongs to; empty for a module outside of all."""
    parts = file.relative_to(source).parts
    return parts[0] if len(parts) > 1 else ""


def measured_rooms(source: Path) -> dict[str, Room]:
    """Every room by its name, and the modules outside of rooms under the empty name."""
    rooms: dict[str, Room] = {}
    defined: dict[str, list[str]] = {}
    read: dict[str, Counter[str]] = {}
    for file in sorted(source.rglob("*.py")):
        name, text = room_of(file, source), file.read_text(encoding="utf-8")
        room = rooms.setdefault(name, Room())
        room.lines += len(text.splitlines())
        room.files += 1
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.FunctionDef() if node.name.startswith("_") and not node.name.startswith("__"):
                    defined.setdefault(name, []).append(node.name)
                case ast.Name(ctx=ast.Load()):
                    read.setdefault(name, Counter())[node.id] += 1
                case ast.Attribute(ctx=ast.Load()):
                    read.setdefault(name, Counter())[node.attr] += 1
    for name, room in rooms.items():
        room.private = len(defined.get(name, []))
        room.called_once = sum(read[name][function] == 1 for function in defined.get(name, []))
    return rooms


def house_map(source: Path) -> str:
    """Every file of the house with the first paragraph of its docstring, in Markdown, room by room."""
    lines = [
        "# Every file in a line",
        "",
        "What each file of `src/votewise` holds, from its docstring; written by",
        "`python benchmarks/house.py --map docs/map.md`. [CONTRIBUTING.md](../CONTRIBUTING.md) says what the rooms may",
        "import, [design.md](design.md) how a vote goes through them.",
    ]
    paths = sorted(source.rglob("*.py"), key=lambda path: (len(path.relative_to(source).parts) > 1, path))
    room = None
    for path in paths:
        about = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n\n")[0]
        if (of := room_of(path, source)) != room:
            room = of
            lines += ["", f"## {room or 'outside rooms'}", ""]
        lines.append(f"- `{path.relative_to(source).as_posix()}`: {' '.join(about.split())}")
    return "\n".join(lines) + "\n"


def walk(arguments: list[str]) -> list[tuple[str, str]]:
    """The room and name of each function that a command calls in its own process, in the order of first calls."""
    from votewise.cli.main import main

    house = Path(votewise.__file__).parent
    first_calls: dict[CodeType, None] = {}

    def on_call(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            first_calls.setdefault(frame.f_code)

    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):  # noqa: PTH123
        sys.setprofile(on_call)
        try:
            code = main(arguments)
        finally:
            sys.setprofile(None)
    if code != 0:
        raise RuntimeError(f"votewise {' '.join(arguments)} ends with exit code {code}")
    functions = [
        (room_of(Path(one.co_filename), house), one.co_qualname)
        for one in first_calls
        if one.co_filename.startswith(f"{house}{os.sep}")
        if one.co_flags & inspect.CO_OPTIMIZED and not one.co_name.startswith("<")
    ]
    return [(room, name) for room, name in functions if room]


def print_walk(title: str, arguments: list[str]) -> None:
    """Print how a command walks through the house, in a fresh process in the current folder."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
        steps = fresh.submit(walk, arguments).result()
    changes = [(one, other) for (one, _), (other, _) in pairwise(steps) if one != other]
    pairs = Counter(" and ".join(sorted(change)) for change in changes)
    most, times = pairs.most_common(1)[0]
    rooms = len({room for room, _ in steps})
    print(f"{title}: {len(changes)} room changes, {times} between {most}; {len(steps)} functions in {rooms} rooms")


def seconds(*command: str) -> float:
    """Processor time of a fresh Python."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_inputs(folder: Path, n_items: int) -> None:
    """Votes of three people, and texts."""
    rng = np.random.default_rng(0)
    votes = [f"i{item},p{person},{'ab'[rng.integers(2)]}" for item in range(n_items) for person in range(3)]
    texts = [f"i{item},word {item % 7}" for item in range(n_items)]
    (folder / "votes.csv").write_text("\n".join(["item,annotator,label", *votes]), encoding="utf-8")
    (folder / "texts.csv").write_text("\n".join(["item,text", *texts]), encoding="utf-8")


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("source", type=Path, nargs="?", metavar="SOURCE", help="a src/votewise; this one's if left out")
    parser.add_argument("--map", type=Path, metavar="FILE", help="write what each file holds, and measure nothing")
    parser.add_argument("--toy", action="store_true", help="measure everything once, on less data")
    arguments = parser.parse_args()
    source = HOUSE if arguments.source is None else arguments.source
    if arguments.map is not None:
        arguments.map.write_text(house_map(source), encoding="utf-8")
        return

    rooms = measured_rooms(source)
    print(f"{'room':20}{'lines':>8}{'files':>7}{'private functions':>19}{'with one caller':>17}{'per 1,000 lines':>17}")
    for name, room in sorted(rooms.items(), key=lambda item: -item[1].lines):
        rate = 1000 * room.called_once / room.lines
        shown = name or "outside rooms"
        print(f"{shown:20}{room.lines:8,}{room.files:7}{room.private:19}{room.called_once:17}{rate:17.1f}")
    for title, chosen in (("upper rooms", [name for name in UPPER if name in rooms]), ("all", list(rooms))):
        lines, files, once = (
            sum(getattr(rooms[name], of) for name in chosen) for of in ("lines", "files", "called_once")
        )
        rate = 1000 * once / lines
        print(
            f"{title}: {lines:,} lines in {files} files; {rate:.1f} private functions with one caller per 1,000 lines"
        )

    size, seeds = (30, "1") if arguments.toy else (100, "5")
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        write_inputs(Path(folder), size)
        compare = ["compare", "votes.csv", "--text", "texts.csv", "--epochs", "1", "--seeds", seeds, "--device", "cpu"]
        print_walk("compare", [*compare, "--jobs", "1" if arguments.toy else "2", "-o", "report.html"])
        stored = Path(votewise.__file__).parents[2] / "results" / "same-target"
        print_walk("reproduce table-4", ["reproduce", "same-target", "--only", "table-4", "--results", str(stored)])
        os.chdir(ROOT)

    repeats = 1 if arguments.toy else 15
    bare = min(seconds("-c", IMPORTS) for _ in range(repeats))
    helped = min(seconds("-m", "votewise", "--help") for _ in range(repeats))
    used = min(seconds("-c", "import votewise; votewise.read_votes, votewise.score") for _ in range(repeats))
    print(f"votewise --help: {helped:.3f} s, {helped / bare:.2f} x the {bare:.3f} s of {IMPORTS!r}")
    print(f"votewise, with all that reading and scoring need: {used:.3f} s")


if __name__ == "__main__":
    main()
