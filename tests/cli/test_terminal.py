"""What reaches a terminal: nothing from data that would move its cursor, colour, ring or turn the writing."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from votewise.cli.main import main
from votewise.predictions import write_predictions
from votewise.records import RecordStore, RunRecord

ROOT = Path(__file__).resolve().parents[2]

# A title, a cleared screen, red letters in one byte, a bell, the other direction, a line to be written over.
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202edog\u2066\u061c\x7f\r"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = [(f"{item}{EVIL}", who, label) for item in "abc" for who, label in (("p", "cat"), ("q", EVIL))]
    pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row").write_parquet("votes.parquet")
    pl.DataFrame({"item": [f"{item}{EVIL}" for item in "abc"], "cat": [0.5] * 3, EVIL: [0.5] * 3, f"x{EVIL}": [0.0] * 3}).write_parquet("q.parquet")  # fmt: skip
    pl.DataFrame({"item": [f"z{EVIL}"], "cat": [0.5], EVIL: [0.5]}).write_parquet("others.parquet")
    failed = RunRecord(config={"method": EVIL, "seed": 0}, status="failed", failure=f"{EVIL} went wrong")
    RecordStore("runs").write(failed)
    RecordStore(f"runs{EVIL}").write(failed)
    return tmp_path


COMMANDS = {
    "a table": "inspect votes.parquet",
    "a note": "score votes.parquet q.parquet",
    "an error": "score votes.parquet others.parquet",
    "one line": f"deliver votes.parquet -m sls -o {EVIL}.npy",
    "runs and failures": "runs runs",
    "a folder": f"runs runs{EVIL}",
    "a file that is not there": f"inspect {EVIL}.csv",
    "an option": f"inspect votes.parquet --{EVIL}",
    "an argument": f"inspect votes.parquet {EVIL}",
    "a command": f"{EVIL}",
    "a data set": f"datasets fetch {EVIL}",
}


@pytest.mark.parametrize("case", COMMANDS)
def test_nothing_from_data_acts_on_a_terminal(files: Path, case: str, capfd: pytest.CaptureFixture[str]) -> None:
    main(COMMANDS[case].split(" "))
    out, error = capfd.readouterr()
    assert all(one == "\n" or one.isprintable() for one in out + error)
    assert "dog" in out + error


def on_a_terminal(*command: str) -> str:
    """What a Python process writes on a terminal of its own."""
    ours, its = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen([sys.executable, *command], stdout=its, stderr=its, stdin=its, env=environment) as process:
        os.close(its)
        written = b""
        while True:
            try:
                written += (block := os.read(ours, 4096))
            except OSError:  # how the end of a terminal looks
                break
            if not block:
                break
    os.close(ours)
    assert process.returncode in (0, 1, 2)
    return written.decode()


PROGRESS = """
import sys
from votewise.cli import options, printing
from votewise.cli.run_display import run_display
with printing.progress_bars(False) as display:
    for _ in display.track([1, 2], description=sys.argv[1]):
        printing.print_note(sys.argv[1], False)
with run_display(False) as shown:
    shown.say(sys.argv[1])
"""


@pytest.mark.parametrize("case", ["a table", "an error", "runs and failures", "an option", "progress"])
def test_nothing_from_data_acts_on_a_real_terminal(files: Path, case: str) -> None:
    """Where rich colours and draws bars itself."""
    command = ["-c", PROGRESS, EVIL] if case == "progress" else ["-m", "votewise", *COMMANDS[case].split(" ")]
    written = on_a_terminal(*command)
    ours = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "", written)
    assert all(one == "\n" or one.isprintable() for one in ours)
    assert "dog" in ours
    assert "\x1b[2J" not in written
    assert "\x1b[31m" not in written


def test_json_on_a_terminal_is_the_same_names_in_plain_letters(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "votes.parquet", "--json"]) == 0
    out = capsys.readouterr().out
    assert out.strip().isprintable()
    assert out.isascii()
    assert json.loads(out)["classes"] == [EVIL.strip(), "cat"]


def test_all_that_is_printed_passes_one_place() -> None:
    """`say` prints lines, and `Screen` draws."""
    allowed = {
        "cli/printing.py": {"typer.echo(": 1},
        "cli/screen.py": {"(Console)": 1},
        "report/terminal.py": {"Console(": 1},
    }
    for path in (ROOT / "src" / "votewise").rglob("*.py"):
        name = str(path.relative_to(ROOT / "src" / "votewise"))
        found: dict[str, int] = {}
        for call in re.findall(r"\becho\(|typer\.echo\(|typer\.secho\(|(?<![.\w])print\(|\(Console\)|\bConsole\(|sys\.std(?:out|err)\.write\(", path.read_text(encoding="utf-8")):  # fmt: skip
            found[call] = found.get(call, 0) + 1
        assert found == allowed.get(name, {}), f"print by `votewise.cli.printing.say`, draw on a `Screen`: {name}"


# --- cells that a spreadsheet would run

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "plain", "1-1", "é=1"]


def test_formulas_in_predictions(tmp_path: Path) -> None:
    ids, probs = np.array(["=HYPERLINK(A1)", "plain", "-3"]), np.full((3, 2), 0.5)
    path = tmp_path / "q.csv"
    write_predictions(path, ids, ["=cmd|A1", "no"], probs)
    assert path.read_text() == "item,=cmd|A1,no\n=HYPERLINK(A1),0.5,0.5\nplain,0.5,0.5\n-3,0.5,0.5\n"
    write_predictions(path, ids, ["=cmd|A1", "no"], probs, safe_cells=True)
    assert path.read_text() == "item,'=cmd|A1,no\n'=HYPERLINK(A1),0.5,0.5\nplain,0.5,0.5\n'-3,0.5,0.5\n"
    write_predictions(tmp_path / "q.parquet", ids, ["=cmd|A1", "no"], probs, safe_cells=True)
    assert pl.read_parquet(tmp_path / "q.parquet").columns == ["item", "=cmd|A1", "no"]


def test_formulas_in_exported_runs(tmp_path: Path) -> None:
    store = RecordStore(tmp_path / "runs")
    for seed, text in enumerate(FORMULAS):
        store.write(RunRecord(config={"seed": seed, "method": text}, status="done", numbers={"=loss": -1.5}))
    path = str(tmp_path / "runs.csv")
    escaped = [f"'{text}" for text in FORMULAS[:5]] + FORMULAS[5:]
    for options, names in (((), FORMULAS), (("--safe-cells",), escaped)):
        assert main(["runs", str(store.folder), "--export", path, "-q", *options]) == 0
        table = pl.read_csv(path)
        assert sorted(table["config.method"]) == sorted(names)
        assert table["numbers.=loss"].to_list() == [-1.5] * len(FORMULAS)


@pytest.mark.parametrize("command", ["train", "predict", "runs"])
def test_every_command_that_writes_text_into_csv_can_escape_it(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    assert "--safe-cells" in capsys.readouterr().out
