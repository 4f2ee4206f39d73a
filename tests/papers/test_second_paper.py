"""A paper is a folder of data: a made-up one is reproduced without a change anywhere else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import votewise
from made_up_paper import MAJORITY, PAPER, SOFT, load, recipe
from paper_runs import results_with
from votewise import InputError
from votewise.cli.main import main
from votewise.data import Dataset, load_svhn
from votewise.data.texts import Texts
from votewise.experiments.measure import Plan
from votewise.papers import PAPERS, find_paper
from votewise.papers.claims import Claim, Contrast, claim_positive
from votewise.papers.pages import BEGIN, END, paper_part_names
from votewise.papers.suites import Suite
from votewise.records import add_batch, read_results

Screen = pytest.CaptureFixture[str]


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stored results of three of the four seeds, where the command line looks for them."""
    monkeypatch.setitem(PAPERS, "made-up", "made_up_paper")
    monkeypatch.chdir(tmp_path)
    numbers = {"soft": ([0.49, 0.51, 0.52], [0.81, 0.80, 0.80]), "majority": ([0.90, 0.91, 0.93], [0.75, 0.74, 0.76])}
    rows = {
        (method, None, 1): {"soft_nll_best": nll, "soft_nll_last": [x + 0.1 for x in nll], "accuracy_best": accuracy}
        for method, (nll, accuracy) in numbers.items()
    }
    folder = Path("results") / "made-up"
    add_batch(results_with(rows, origin={"paper": "Nobody 2026"}), folder)
    (folder / "notes.toml").write_text(
        '[[finding]]\npart = "table-1"\nrow = "majority.*"\ncolumn = "soft_nll"\nwords = """\nTheir majority was\nanother."""\n'
    )
    return folder


def test_a_second_paper_is_found_and_shown(results: Path, capsys: Screen) -> None:
    assert main(["reproduce", "made-up", "--only", "all", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    parts = {part["name"]: part for part in shown["parts"]}
    assert tuple(parts) == ("summary", "table-1", "figure-1", "scalars", "orderings", "choices", "cost")
    assert (shown["there"], shown["wanted"]) == (6, 8)
    assert shown["missing"] == {"soft labels": 1, "majority labels": 1}
    verdicts = {(cell["row"], cell["column"]): cell["verdict"] for cell in parts["table-1"]["cells"]}
    assert verdicts == {
        ("soft labels", "soft_nll"): "agrees",
        ("soft labels", "accuracy"): "agrees",
        ("majority labels", "soft_nll"): "apart",
        ("majority labels", "accuracy"): "agrees",
    }
    (test,) = parts["table-1"]["tests"]
    assert (test["row"], test["n"], test["published_p"]) == ("soft labels against majority labels", 3, 0.125)
    assert parts["summary"]["apart"]["Their majority was another."] == ["table-1: majority labels, soft_nll"]
    assert [claim["verdict"] for claim in parts["orderings"]["claims"]] == ["confirmed", "contradicted"]
    assert [one["cells"][0]["ours"]["mean"] for one in parts["choices"]["choices"][0]["readings"]] == pytest.approx([0.406667] * 2, abs=1e-5)  # fmt: skip
    assert len(parts["figure-1"]["panels"]) == len(parts["figure-1"]["cells"]) == 1


def test_a_second_paper_has_a_page(results: Path, capsys: Screen) -> None:
    Path("page.md").write_text(f"{BEGIN}{END}")
    assert main(["reproduce", "made-up", "--page", "page.md", "-q"]) == 0
    text = Path("page.md").read_text(encoding="utf-8")
    assert (text.count("\n### "), Path("page/figure-1.svg").is_file()) == (len(paper_part_names(PAPER)), True)
    assert "6 of the paper's 8 runs are done. Not run: 1 run each of soft labels, majority labels." in text
    assert "| majority labels | 0.9133 ± 0.0153 (3)<br>0.7000 ± 0.0400 (4)<br>**" in text


def test_a_second_paper_is_done_and_reduced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Screen) -> None:
    """Runs, what of them is left to do, scores beside the printed numbers, and stored results."""
    monkeypatch.setitem(PAPERS, "made-up", "made_up_paper")
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "made-up", "--device", "cpu", "--jobs", "1", "--backend", "device", "--precision", "bf16"]
    assert main([*command, "--seeds", "2", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["runs"], done["failed"], len(done["lines"])) == (4, 0, 8)
    assert done["lines"][0]["published"] is None, "its numbers depend on an open choice"
    assert main([*command, "--dry-run"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == ["  soft: 2 runs", "  majority: 2 runs"]
    assert shown[2].startswith("4 of 8 runs to do on cpu, in about ")
    assert main(["reproduce", "made-up", "--reduce", "--only", "table-1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["there"], found["wanted"], len(found["written"])) == (4, 8, 1)
    assert [cell["ours"]["n"] for cell in found["parts"][0]["cells"]] == [2] * 4
    assert main([*command, "--extend", "--runs", "other", "--dry-run", "--json"]) == 0
    assert [run["seed"] for run in json.loads(capsys.readouterr().out)["todo"]] == [2, 2, 3, 3]


def test_a_third_paper_on_two_data_sets_beside_results_of_the_second(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: Screen
) -> None:
    """Each data set has a model, a recipe and a folder of results of its own; the other paper's are read as well."""
    gap = Contrast(
        (
            (1.0, "soft_nll_best", {**SOFT, "paper": "Somebody 2027", "dataset": "small"}),
            (-1.0, "soft_nll_best", {**SOFT, "paper": "Nobody 2026"}),
        )
    )
    votes = load("small", 3).votes
    words = Dataset("words", Texts(None, tuple(f"word {row % 7}" for row in range(60))), votes, "3" * 64)
    paper = replace(
        PAPER,
        name="third",
        reference="Somebody 2027",
        datasets={"small": lambda _: load("small", 2), "words": lambda _: words},
        suites={
            "small": Suite("small", "mlp", recipe, ("soft", "majority"), 2),
            "words": Suite("words", "ngram", lambda: replace(recipe(), epochs=1), ("soft",), 3, selected=0.1),
        },
        sources=("made-up",),
        tables=(), figures=(), quoted=None, choices=(),
        claims=(Claim("soft labels are above theirs", *claim_positive(gap), "Table 1"),),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "third_paper", SimpleNamespace(PAPER=paper))  # type: ignore[arg-type]
    monkeypatch.setitem(PAPERS, "third", "third_paper")
    command = ["reproduce", "third", "--device", "cpu", "--jobs", "1", "--backend", "device", "--precision", "bf16"]
    assert main([*command, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "  soft, small, mlp: 2 runs",
        "  majority, small, mlp: 2 runs",
        "  soft, words, ngram, best epoch chosen on 10% of the items: 3 runs",
    ]
    assert main([*command, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["runs"], {(line["dataset"], line["method"], line["seeds"]) for line in done["lines"]}) == (
        7,
        {("small", "soft", 2), ("small", "majority", 2), ("words", "soft", 3)},
    )
    for more in (["--runs", "runs"], ["--reduce"], []):
        assert main(["reproduce", "third", "--only", "orderings", "--json", *more]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["there"], shown["wanted"], shown["missing"]) == (7, 7, {})
        assert shown["parts"][0]["claims"][0]["estimates"][0]["n"] == 2
    assert sorted(path.name for path in Path("results/third").iterdir()) == ["small", "words"]
    shutil.rmtree("runs")
    assert main(["reproduce", "third", "--only", "summary"]) == 0
    assert "from the results in results/third" in capsys.readouterr().err


def test_models_of_a_second_paper_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Screen) -> None:
    """Curvature of soft labels, and the way from them to majority labels of the same seed."""
    measured = replace(
        PAPER,
        measure=lambda run: Plan({"best": ("full",)}) if run["method"] == "soft" else Plan(),
        barriers={"way": (SOFT, MAJORITY)},
        outliers=(load_svhn,),
    )
    monkeypatch.setitem(sys.modules, "measured_paper", SimpleNamespace(PAPER=measured))  # type: ignore[arg-type]
    monkeypatch.setitem(PAPERS, "made-up", "measured_paper")
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", "made-up", "--device", "cpu", "--jobs", "1", "--backend", "device", "--precision", "bf16"]
    asked = [*command, "--seeds", "1", "--data", str(tmp_path), "--diagnostics"]
    assert main([*asked, "--dry-run"]) == 0
    shown = capsys.readouterr()
    assert shown.out.endswith("\n2 diagnoses to make.\n")
    assert shown.err.startswith("votewise: skipping these OOD images: the data set svhn must be in ")
    assert main([*asked, "--json", "-q"]) == 0
    capsys.readouterr()
    assert main(["reproduce", "made-up", "--reduce", "-q"]) == 0
    found = read_results("results/made-up")
    assert found.sample("best/full/trace", SOFT).n == 1
    assert found.between["way"].seeds == (0,)


def test_notes_that_cannot_be_read(results: Path, capsys: Screen) -> None:
    for text, fault in (("[[finding]]\npart = 1", "'row' is missing"), ("[[", "")):
        (results / "notes.toml").write_text(text)
        assert main(["reproduce", "made-up", "--only", "summary"]) == 2
        message = f"'results/made-up/notes.toml' must be [[finding]] tables of part, row, column and words, but {fault}"
        assert message in capsys.readouterr().err


def test_the_command_line_names_no_paper_and_papers_name_no_other() -> None:
    """What is said of a paper is said by the paper, but for papers whose results it reads; the help names them all."""
    rooms = Path(votewise.__file__).parent
    for name, module in PAPERS.items():
        said = {name, module.rpartition(".")[2]}
        others = [path for path in (rooms / "papers").rglob("*.py") if path.parent.name not in said]
        for path in (*(rooms / "cli").rglob("*.py"), *others):
            if path != rooms / "papers" / "__init__.py":
                text = re.sub(r"sources=\(.*\)", "", path.read_text(encoding="utf-8"))
                assert not any(word in text for word in said), path
    help_page = subprocess.run(
        [sys.executable, "-m", "votewise", "reproduce", "--help"], check=True, capture_output=True, text=True
    )
    assert ", ".join(PAPERS) in help_page.stdout


def test_an_unknown_paper() -> None:
    with pytest.raises(InputError, match="the paper must be one of same-target, soft-labels, but got 'same-targets'"):
        find_paper("same-targets")
