"""What is written never replaces what is read, and whatever ends a command leaves no part of a file."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from limits import HANGS
from process_work import started, wait_until
from votewise.cli.main import main

VOTES = "item,annotator,label\n" + "".join(f"i{n},p{a},{'ab'[(n * a) % 2]}\n" for n in range(40) for a in range(3))
FEATURES = "item,x\n" + "".join(f"i{n},{n % 7}\n" for n in range(40))
FAST = ("--epochs", "1", "--seed", "0")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text(VOTES, encoding="utf-8")
    Path("x.csv").write_text(FEATURES, encoding="utf-8")
    np.save("counts.npy", np.array([[1, 2], [3, 0]]))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        (("deliver", "counts.npy", "-m", "sls", "-o", "counts.npy"), "counts.npy"),
        (("deliver", "counts.npy", "-m", "sls", "-o", "linked.npy"), "counts.npy"),
        (("compare", "votes.csv", "--features", "x.csv", "-o", "page.html"), "votes.csv"),
        (("train", "votes.csv", "--features", "x.csv", "-o", "m.safetensors", "--predictions", "x.csv"), "x.csv"),
        (
            ("train", "votes.csv", "--features", "x.csv", "-o", "m.safetensors", "--predictions", "votes.csv"),
            "votes.csv",
        ),
    ],
)
def test_an_input_is_never_written_over(
    files: Path, arguments: tuple[str, ...], kept: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("linked.npy").symlink_to("counts.npy")
    Path("page.html").symlink_to("votes.csv")
    before = Path(kept).read_bytes()
    assert main([*arguments, "-q"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("votewise: the output must not be one of the inputs, but '")
    assert error.endswith("' is read, too. Write to another file.\n")
    assert Path(kept).read_bytes() == before
    assert not Path("m.safetensors").exists()


def test_predictions_never_replace_the_inputs(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "votes.csv", "--features", "x.csv", "-o", "m.safetensors", *FAST, "-q"]) == 0
    assert main(["predict", "m.safetensors", "--features", "x.csv", "-o", "x.csv"]) == 2
    assert "the output must not be one of the inputs, but 'x.csv' is read, too" in capsys.readouterr().err
    assert Path("x.csv").read_text(encoding="utf-8") == FEATURES


@pytest.mark.parametrize("name", ["report.csv", "report"])
def test_a_report_is_a_page(files: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "votes.csv", "--features", "x.csv", "-o", name]) == 2
    assert f"the report must end in .html or .htm, but got {name!r}. Rename it." in capsys.readouterr().err


def test_options_of_images_are_refused_with_others(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "votes.csv", "--features", "x.csv", "--no-augment"]) == 2
    assert "--no-augment is for --images, but got --features. Leave it out." in capsys.readouterr().err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_stopped_command_leaves_nothing_and_says_so(files: Path, number: signal.Signals, code: int) -> None:
    before = sorted(path.name for path in files.iterdir())
    command = ("-m", "votewise", "deliver", "counts.npy", "-m", "sls", "--epochs", "5000000", "-o", "l.npy")
    with started(*command, folder=files) as running:
        wait_until(lambda: any(path.suffix == ".part" for path in files.iterdir()))
        running.send_signal(number)
        _, error = running.communicate(timeout=HANGS)
    assert error == "votewise: stopped before the end.\n"
    # Python ends itself by SIGINT if the interrupt came while a dataclass was being made; to a shell that is 130, too.
    assert running.returncode in (code, -signal.SIGINT)
    assert sorted(path.name for path in files.iterdir()) == before


def votewise(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, "-m", "votewise", *arguments]
    return subprocess.run(script, cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False)


def test_a_full_disk_is_told_before_the_work(files: Path, tiny_disk: Path) -> None:
    """The array of labels would have 16 MB."""
    output = str(tiny_disk / "l.npy")
    done = votewise(files, "deliver", "counts.npy", "-m", "sls", "--epochs", "1000000", "-o", output)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"votewise: operating system error: [Errno 28] No space left on device: {output!r}. "
        "Check disk space and permissions.\n"
    )
    assert list(tiny_disk.iterdir()) == []


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy"])
def test_predictions_that_do_not_fit_are_told(files: Path, tiny_disk: Path, suffix: str) -> None:
    rows = "".join(f"item {n},{n * 0.6180339887 % 7}\n" for n in range(150_000))
    Path("many.csv").write_text("item,x\n" + rows, encoding="utf-8")
    assert main(["train", "votes.csv", "--features", "x.csv", "-o", "m.safetensors", *FAST, "-q"]) == 0
    output = str(tiny_disk / f"p.{suffix}")
    done = votewise(files, "predict", "m.safetensors", "--features", "many.csv", "-o", output, "-q")
    assert (done.returncode, done.stdout) == (1, "")
    assert "operating system error: " in done.stderr
    assert f"{output!r}. Check disk space" in done.stderr
    assert list(tiny_disk.iterdir()) == []


@pytest.mark.parametrize("command", ["convert", "deliver"])
def test_cells_that_are_no_formulas(command: str, tmp_path: Path) -> None:
    rows = [("=i1", "@a", "-x"), ("=i1", "+b", "=y"), ("i2", "@a", "-x"), ("i2", "+b", "-x")]
    votes = tmp_path / "v.csv"
    votes.write_text("item,annotator,label\n" + "".join(f"{','.join(row)}\n" for row in rows))
    method = ["--method", "majority"] if command == "deliver" else []
    for options, formulas in (([], True), (["--safe-cells"], False)):
        main([command, str(votes), *method, "-o", str(tmp_path / "o.csv"), *options])
        cells = [cell.strip('"') for line in (tmp_path / "o.csv").read_text().splitlines() for cell in line.split(",")]
        assert any(cell.startswith(("=", "+", "-", "@")) for cell in cells) == formulas
        assert ("'=i1" in cells) != formulas


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [("o.npy", 1, "No space left on device"), ("o.csv", 2, "at most 67,108,864 numbers")],
)
def test_more_epochs_than_can_be_written(
    name: str, code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    votes = tmp_path / "v.csv"
    votes.write_text("item,annotator,label\na,1,x\na,2,y\nb,1,x\nb,2,x\n")
    epochs = str(10**15)
    assert main(["deliver", str(votes), "--method", "sls", "--epochs", epochs, "-o", str(tmp_path / name)]) == code
    assert words in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["v.csv"]
