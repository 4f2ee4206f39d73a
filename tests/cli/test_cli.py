"""The command line, as real processes and in this one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from votewise import Multipass, Votes, read_votes, score
from votewise.cli.main import COMMANDS, load_command, main
from votewise.delivery import METHODS
from votewise.experiments.run import DEVICES
from votewise.models import MODELS

VOTES = "item,annotator,label\nc,x,cat\nc,y,cat\nc,z,dog\na,x,dog\na,y,dog\nb,x,cat\nb,y,bird\n"
PREDICTIONS = "item,bird,cat,dog\na,0.1,0.1,0.8\nb,0.3,0.5,0.2\nc,0.1,0.6,0.3\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "votes.csv").write_text(VOTES, encoding="utf-8")
    (tmp_path / "predictions.csv").write_text(PREDICTIONS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "votewise", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_help_fits_a_screen() -> None:
    out = run("--help", COLUMNS="80")
    assert out.returncode == 0
    assert len(out.stdout.splitlines()) <= 24
    summaries = out.stdout.split("Commands:")[1].strip().splitlines()
    assert [line.split()[0] for line in summaries] == list(COMMANDS), "one line per command"
    assert not any("..." in line for line in summaries), "no summary is cut"


def test_help_lists_what_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    """Lists that are spelled out in the help, since importing them would slow every start."""
    for command, names in (("train", [*MODELS, "encoder:NAME_OR_FOLDER"]), ("predict", DEVICES)):
        assert main([command, "--help"]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert f"{', '.join(names[:-1])} or {names[-1]}" in shown


def test_a_new_method_reaches_the_help() -> None:
    script = (
        "import sys; from votewise.delivery import METHODS; METHODS['novel'] = METHODS['soft']; "
        "from votewise.cli.main import main; sys.exit(main([sys.argv[1], '--help']))"
    )
    for command in ("deliver", "train", "compare"):
        out = subprocess.run([sys.executable, "-c", script, command], capture_output=True, text=True, check=True)
        assert "dirichlet-fitted, novel." in " ".join(out.stdout.split()).replace("- ", "-")


def test_help_is_light() -> None:
    script = (
        "import sys; from votewise.cli.main import main; main(['--help']); "
        "heavy = ('torch', 'polars', 'scipy', 'rich', 'numpy', 'votewise.votes', 'votewise.cli.commands'); "
        "sys.exit(str([name for name in heavy if name in sys.modules]))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert out.stderr == "[]\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_what_the_list_says(name: str) -> None:
    command = load_command(name)
    assert command.name == name
    assert (command.help or "").splitlines()[0] == COMMANDS[name]


def test_options_stand_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--help"]) == 0
    sections = re.split(r"^(\w+):\n", capsys.readouterr().out, flags=re.MULTILINE)
    shown = {
        title: re.findall(r"^  (?:-\w, )?(--[\w-]+|[A-Z]+)", text, re.MULTILINE)
        for title, text in zip(sections[1::2], sections[2::2], strict=True)
    }
    assert list(shown) == ["Arguments", "Options", "Inputs", "Training", "Votes"]
    assert shown["Arguments"] == ["VOTES"]
    assert {"--output", "--method", "--json", "--quiet", "--help"} <= set(shown["Options"])
    assert shown["Inputs"] == ["--images", "--features", "--text", "--text-column"]
    assert "--device" in shown["Training"]
    assert "--annotator" in shown["Votes"]
    assert main(["predict", "--help"]) == 0
    assert "Training:" not in capsys.readouterr().out, "an option shared with a group stands in no group elsewhere"


def complete(words: str) -> tuple[list[str], set[str]]:
    """What bash offers at the end of a line, and the modules of votewise that were loaded for it."""
    script = (
        "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); sys.argv = ['votewise']; "
        "from votewise.cli.main import main; main([])"
    )
    environment = {"_VOTEWISE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )
    return out.stdout.split(), {name for name in out.stderr.split() if name.startswith("votewise.")}


def test_completion_lists_commands_without_loading_them() -> None:
    offered, loaded = complete("votewise d")
    assert offered == [name for name in COMMANDS if name.startswith("d")]
    assert not any(name.startswith("votewise.cli.commands") for name in loaded)


def test_completion_of_a_command_loads_it_alone() -> None:
    offered, loaded = complete("votewise score --la")
    assert offered == ["--labels", "--label", "--label-bins"]
    assert [name for name in loaded if name.startswith("votewise.cli.commands.")] == ["votewise.cli.commands.score"]


def test_every_command_has_help_json_and_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        assert main([command, "--help"]) == 0
        text = capsys.readouterr().out
        assert all(option in text for option in ("--json", "--quiet"))


def test_version() -> None:
    out = run("--version")
    assert out.returncode == 0
    assert out.stdout.startswith("votewise 0.")


def test_inspect_json(folder: Path) -> None:
    out = run("inspect", "votes.csv", "--json")
    assert (out.returncode, out.stderr) == (0, "")
    seen = json.loads(out.stdout)
    assert list(seen) == [
        "items", "classes", "annotators", "votes", "votes_per_item", "unanimous", "ties", "entropy", "fleiss_kappa",
        "krippendorff_alpha", "ordinal_alpha", "reliability", "advice", "reading",
    ]  # fmt: skip
    assert (seen["items"], seen["classes"], seen["annotators"], seen["votes"]) == (3, ["bird", "cat", "dog"], 3, 7)
    assert seen["votes_per_item"] == {"min": 2, "median": 2.0, "mean": pytest.approx(7 / 3), "max": 3}
    assert (seen["unanimous"], seen["ties"]) == (pytest.approx(1 / 3), 1)
    assert list(seen["entropy"]) == ["mean", "median", "max"]
    assert list(seen["advice"]) == ["method", "reasons"]
    assert seen["advice"]["method"] in METHODS
    assert seen["reading"] == {"form": "long", "item": ["item"], "annotator": "annotator", "label": "label"}


def test_convert_offers_a_command_to_convert(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["id,note,AB,CN,RT,Reconciled", *(f"x{n},n {n} m,a,{'ab'[n % 2]},{'abb'[n % 3]},a" for n in range(12))]
    (folder / "wide.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert main(["convert", "wide.csv", "-o", "my votes.csv"]) == 2
    told = capsys.readouterr().err
    assert "type: votewise convert wide.csv --item id --raters AB,CN,RT -o 'my votes.csv'\n" in told
    assert main(["convert", "wide.csv", "--item", "id", "--raters", "AB,CN,RT", "-o", "my votes.csv"]) == 0
    assert "not used: 'note', 'Reconciled'" in capsys.readouterr().err


def test_inspect_for_people(folder: Path) -> None:
    out = run("inspect", "votes.csv")
    assert out.returncode == 0
    assert "7 (2 to 3 per item, median 2, mean 2.33)" in out.stdout
    assert "Start with: multipass" in out.stdout
    assert (
        out.stderr == "votewise: read as long table, items in 'item', annotators in 'annotator', labels in 'label'.\n"
        "votewise: one row per vote · item = item · annotator = annotator · label = label · "
        "first: c, x, cat; c, y, cat; c, z, dog\n"
    )
    assert run("inspect", "votes.csv", "-q").stderr == ""


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_encoding_of_the_terminal(folder: Path, encoding: str) -> None:
    out = run("inspect", "votes.csv", "-q", PYTHONIOENCODING=encoding)
    assert (out.returncode, out.stderr) == (0, "")


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.helper])
def test_deliver(folder: Path, method: str) -> None:
    out = run("deliver", "votes.csv", "--method", method, "--seed", "3", "--epochs", "7", "-o", "out.npy", "--json")
    assert (out.returncode, out.stderr) == (0, "")
    told = json.loads(out.stdout)
    assert told["item_ids"] == ["c", "a", "b"]
    assert told["classes"] == ["bird", "cat", "dog"]
    array = np.load("out.npy")
    delivery = METHODS[method].deliver(read_votes("votes.csv"), seed=3)
    if METHODS[method].gives == "labels":
        assert array.dtype.kind == "i"
        np.testing.assert_array_equal(array, [delivery.labels(epoch) for epoch in range(7)])  # type: ignore[attr-defined]
    else:
        assert array.dtype == np.float32
        changes = METHODS[method].gives == "changing"
        np.testing.assert_array_equal(
            array, [delivery.targets(epoch) for epoch in range(7)] if changes else delivery.targets(0)
        )
    assert told["shape"] == list(array.shape)
    assert sorted(path.name for path in folder.iterdir()) == ["out.npy", "predictions.csv", "votes.csv"]


def test_deliver_holds(folder: Path) -> None:
    assert main(["deliver", "votes.csv", "-m", "sls", "--epochs", "6", "--hold", "3", "-o", "out.npy"]) == 0
    labels = np.load("out.npy")
    np.testing.assert_array_equal(labels[0], labels[2])
    np.testing.assert_array_equal(labels[3], labels[5])


@pytest.mark.parametrize("method", ["soft", "multipass", "majority"])
def test_what_draws_nothing_holds_nothing(folder: Path, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["deliver", "votes.csv", "-m", method, "--hold", "3", "-o", "out.npy"]) == 2
    told = f"votewise: --hold is for sls and shuffled-sls, but got --method {method}. Leave it out.\n"
    assert capsys.readouterr().err == told
    assert not Path("out.npy").exists()


def test_one_item_is_one_item(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "votes.csv").write_text("item,annotator,label\na,1,cat\na,2,dog\nb,1,cat\n", encoding="utf-8")
    assert main(["inspect", str(tmp_path / "votes.csv"), "-q"]) == 0
    assert re.search(r"^tied +1 item *$", capsys.readouterr().out, re.MULTILINE)


def test_score_json(folder: Path) -> None:
    out = run("score", "votes.csv", "predictions.csv", "--json")
    assert (out.returncode, out.stderr) == (0, "")
    seen = json.loads(out.stdout)
    people = read_votes("votes.csv")
    probs = np.array([[0.1, 0.6, 0.3], [0.1, 0.1, 0.8], [0.3, 0.5, 0.2]])
    expected = score(people, probs)
    assert seen["items"] == 3
    assert list(seen["metrics"]) == list(expected.metrics)
    for name, interval in expected.metrics.items():
        assert seen["metrics"][name] == pytest.approx(
            {"value": interval.value, "low": interval.low, "high": interval.high}, nan_ok=True
        )


def test_score_for_people_and_with_labels(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("labels.npy", np.array([1, 2, 1]))
    assert main(["score", "votes.csv", "predictions.csv", "--labels", "labels.npy", "--bins", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["3", "items"]
    assert any(line.startswith("accuracy (true label)") and "1.0000" in line for line in lines)
    assert any(line.startswith("ECE (votes)") for line in lines)
    assert main(["score", "votes.csv", "predictions.csv"]) == 0
    titles = [line.partition("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert titles.count("accuracy (majority)") == 1
    assert not any("true label" in title for title in titles)


def test_score_notes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("p.csv").write_text("item,bird,cat,dog\na,0,0,1\nc,0,0.5,0.5\n", encoding="utf-8")
    assert main(["score", "votes.csv", "p.csv", "--json"]) == 0
    assert capsys.readouterr().err == "votewise: left out, having votes but no prediction: 1 item.\n"
    Path("p.csv").write_text("item,bird,cat,dog\na,0,0,1\nb,0,1,0\nc,0,0.5,0.5\n", encoding="utf-8")
    assert main(["score", "votes.csv", "p.csv", "--json", "-q"]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["metrics"]["soft_nll"]["value"] is None
    assert out.err.startswith("votewise: soft_nll and kl are infinite")


def test_datasets(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("VOTEWISE_DATA", str(folder))
    (folder / "cifar10h-counts.npy").write_bytes(b"not it")
    assert main(["datasets"]) == 0
    text = capsys.readouterr().out
    assert "cifar10h-counts.npy: differs" in text
    assert "comes with votewise[demo]" in text
    assert main(["datasets", "lewidi-armis", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["folder"] == str(folder)
    assert [file["state"] for file in told["datasets"][0]["files"]] == ["not found"] * 3
    assert main(["datasets", "cifar100h"]) == 2
    assert "Did you mean 'cifar10h'?" in capsys.readouterr().err


BAD = {
    "no such file": (
        ["inspect", "nope.csv"],
        "votewise: cannot find 'nope.csv'.\n",
    ),
    "no such file, but one of nearly that name": (
        ["score", "votes.csv", "prediction.csv"],
        "votewise: cannot find 'prediction.csv'. Did you mean 'predictions.csv'?\n",
    ),
    "no such folder": (["inspect", "nowhere/votes.csv"], "votewise: cannot find 'nowhere/votes.csv'.\n"),
    "a folder": (["inspect", "."], "votewise: the table must be a file, but '.' is a folder. Name a file inside it."),
    "a wrong method": (
        ["deliver", "votes.csv", "-m", "multipas", "-o", "x.npy"],
        "votewise: the method must be one of soft, multipass, multipass-prior, multipass-crossfit, deterministic-control, "
        "sls, shuffled-sls, majority, label-smoothing, soft-smoothed, dirichlet, dirichlet-fitted, "
        "but got 'multipas'. Did you mean 'multipass'?",
    ),
    "mixup": (
        ["deliver", "votes.csv", "-m", "mixup", "-o", "x.npy"],
        "votewise: the method must be a delivery, but mixup mixes batches.",
    ),
    "a wrong output": (
        ["deliver", "votes.csv", "-m", "soft", "-o", "x.txt"],
        "votewise: the output must end in .npy, .csv, .parquet, but got 'x.txt'. Rename it.",
    ),
    "no output folder": (
        ["deliver", "votes.csv", "-m", "soft", "-o", "no/x.npy"],
        "votewise: the output folder must exist, but 'no' does not.",
    ),
    "a wrong form": (
        ["inspect", "votes.csv", "--form", "tall"],
        "votewise: form must be one of long, wide, counts, probabilities, one-hot, lists, survey, but got 'tall'.",
    ),
    "a wrong column": (["inspect", "votes.csv", "--item", "thing"], "votewise: the item column 'thing' must exist"),
    "a class too few": (
        ["inspect", "votes.csv", "--classes", "cat,dog"],
        "votewise: labels must be in the class list cat, dog, but 1 are not (rows 7;",
    ),
    "votes as predictions": (["score", "votes.csv", "votes.csv"], "votewise: "),
    "a wrong option": (["inspect", "votes.csv", "--nope"], "Usage: votewise inspect"),
    "a wrong number": (
        ["deliver", "votes.csv", "-m", "sls", "-o", "x.npy", "--epochs", "0"],
        "Usage: votewise deliver",
    ),
    "no arguments": (["inspect"], "Usage: votewise inspect"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(folder: Path, case: str) -> None:
    arguments, message = BAD[case]
    out = run(*arguments)
    assert out.returncode == 2
    assert out.stdout == ""
    assert out.stderr.startswith(message)
    assert "Traceback" not in out.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["predictions.csv", "votes.csv"]


def test_a_full_disk_leaves_nothing(folder: Path) -> None:
    """A write that fails half way: the old file stays, no part is left."""
    np.save("out.npy", np.zeros(3))
    script = "ulimit -f 8; exec {} -m votewise deliver votes.csv -m sls --epochs 2000 -o out.npy"
    out = subprocess.run(["bash", "-c", script.format(sys.executable)], capture_output=True, text=True, check=False)
    assert out.returncode != 0
    assert "Traceback" not in out.stderr
    np.testing.assert_array_equal(np.load("out.npy"), np.zeros(3))


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    out = run("deliver", "votes.csv", "-m", "soft", "-o", "/proc/x.npy")
    assert out.returncode == 1
    assert out.stderr.startswith("votewise: operating system error:")


def test_output_cut_short_by_the_reader(folder: Path) -> None:
    script = f"{sys.executable} -m votewise datasets --json | head -c 10"
    out = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert out.stdout == '{"folder":'
    assert "Traceback" not in out.stderr


def test_two_processes_deliver_the_same_labels(folder: Path) -> None:
    for name in ("one.npy", "two.npy"):
        assert run("deliver", "votes.csv", "-m", "multipass", "--epochs", "20", "-o", name).returncode == 0
    assert Path("one.npy").read_bytes() == Path("two.npy").read_bytes()
    order = VOTES.splitlines()
    Path("shuffled.csv").write_text("\n".join([order[0], *reversed(order[1:])]), encoding="utf-8")
    here = Multipass(read_votes("shuffled.csv"), seed=0)
    assert here.item_ids.tolist() == ["b", "a", "c"]
    np.testing.assert_array_equal(
        np.stack([here.labels(epoch) for epoch in range(20)])[:, [2, 1, 0]], np.load("one.npy")
    )


def test_import_is_quick_and_light() -> None:
    script = (
        # of the processor: the wall clock would also count what else the machine is doing
        "import sys, time; start = time.process_time(); import votewise; took = time.process_time() - start; "
        "print(took, [name for name in ('torch', 'pandas', 'matplotlib', 'polars', 'scipy', 'typer') if name in sys.modules])"
    )
    took = []
    for _ in range(5):
        seconds, heavy = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.split(" ", 1)
        took.append(float(seconds))
        assert heavy.strip() == "[]"
    assert min(took) < 0.3


def test_a_missing_extra_is_named(folder: Path) -> None:
    script = "import sys; sys.modules['torch'] = None; from votewise.cli.main import main; sys.exit(main(['demo', '-o', 'r.html']))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert out.returncode == 1
    assert (
        out.stderr
        == "votewise: training needs the package torch, which is not installed. Install it with: pip install 'votewise[demo]'.\n"
    )
    assert not Path("r.html").exists()


def test_large_counts_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "big.npy", np.array([[10**12, 1], [5, 10**14]]))
    assert main(["inspect", str(tmp_path / "big.npy"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reliability"] is None
    assert main(["deliver", str(tmp_path / "big.npy"), "-m", "multipass", "-o", str(tmp_path / "x.npy")]) == 2
    assert Votes.from_counts([[10**12, 1]]).probs[0, 1] > 0
