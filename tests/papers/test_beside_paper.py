"""`votewise reproduce same-target --only ...`: from runs, or from results where there are none; and the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paper_runs import paper_record, suite_runs
from votewise import InputError
from votewise.cli.main import main
from votewise.data import Dataset, Prepared
from votewise.data.images import ImageArrays
from votewise.papers.cells import cell_grid, cell_lines
from votewise.papers.pages import BEGIN, END, paper_page_document, paper_part_names, read_findings, write_paper_page
from votewise.papers.paper import Paper
from votewise.papers.same_target import PAPER
from votewise.papers.same_target.tables import runs
from votewise.records import RecordStore, Results, add_batch, read_batches, read_results
from votewise.report.document import Document
from votewise.statistics.decide import FEWEST

Screen = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[2]
PARTS = paper_part_names(PAPER)


@pytest.fixture(scope="module")
def results(reduced: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    add_batch(reduced, folder)
    return folder


def paper_on(material: Prepared) -> Paper:
    """The paper with other data."""
    data = Dataset("cifar10h", ImageArrays(None, material.inputs), material.votes, material.checksum, material.labels)
    return replace(PAPER, datasets={"cifar10h": lambda _: data})


def command(runs: Path | None, results: Path, *more: str) -> list[str]:
    named = [] if runs is None else ["--runs", str(runs)]
    return ["reproduce", "same-target", *named, "--results", str(results), *more]


def test_the_parts_of_the_paper() -> None:
    assert (
        "summary",
        *(f"table-{number}" for number in range(1, 10)),
        *(f"figure-{number}" for number in range(1, 13)),
        "scalars",
        "orderings",
        "choices",
        "sparse",
        "cost",
    ) == PARTS


def test_every_part_is_printed_from_results(results: Path, tmp_path: Path, capsys: Screen) -> None:
    assert main(command(None, results, "--only", "all")) == 0
    shown = capsys.readouterr()
    for name in PARTS:
        assert re.search(rf"^{name}: ", shown.out, re.MULTILINE)
    assert shown.err.startswith(f"votewise: from the results in {results}\n")
    assert shown.err.endswith("votewise: 81 of the paper's 160 runs are done\n")


def test_numbers_of_one_table(results: Path, tmp_path: Path, capsys: Screen) -> None:
    assert main(command(None, results, "--only", "table-2", "--json", "-q")) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["there"], found["wanted"], found["missing"]["mixup"], found["written"]) == (81, 160, 7, [])
    (table,) = found["parts"]
    assert (table["name"], len(table["cells"]), len(table["tests"])) == ("table-2", 35, 4)
    cell = next(cell for cell in table["cells"] if (cell["row"], cell["column"]) == ("SLS", "accuracy"))
    assert cell["published"] == {"mean": 0.8695, "sd": 0.0105, "seeds": 10, "place": "Table 2, sls"}
    assert cell["ours"]["n"] == 3
    assert cell["verdict"] in ("agrees", "apart")


def test_figures_are_written(results: Path, tmp_path: Path, capsys: Screen) -> None:
    folder = tmp_path / "new" / "figures"
    assert main(command(None, results, "--only", "figure-4", "-o", str(folder), "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["written"] == [str(folder / "figure-4.svg")]
    assert (folder / "figure-4.svg").read_text(encoding="utf-8").startswith("<svg")
    (curve,) = found["parts"][0]["panels"][0]["curves"]
    assert (curve["name"], curve["x"], len(curve["y"])) == ("SLS", [0.0, 1.0, 2.0, 3.0], 4)


def test_results_need_no_torch(results: Path, tmp_path: Path) -> None:
    arguments = command(None, results, "--only", "all", "--json")
    code = f"import sys; sys.modules['torch'] = None\nfrom votewise.cli.main import main\nsys.exit(main({arguments!r}))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)
    assert len(json.loads(done.stdout)["parts"]) == len(PARTS)


def test_runs_are_taken_first_and_reduced(
    store: RecordStore,
    reduced: Results,
    votes_and_images: Prepared,
    tmp_path: Path,
    capsys: Screen,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("votewise.papers.same_target.PAPER", paper_on(votes_and_images))
    assert main(command(store.folder, tmp_path / "results", "--reduce")) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    (batch,) = read_batches(tmp_path / "results")
    assert f"votewise: batch 1 adds {len(reduced)} runs\n" in shown.err
    assert shown.err.endswith(f"votewise: wrote {tmp_path / 'results' / batch.id}\n")
    assert read_results(tmp_path / "results").factors == reduced.factors


def test_runs_without_the_data(store: RecordStore, tmp_path: Path, capsys: Screen) -> None:
    asked = ("--only", "figure-10", "--data", str(tmp_path), "--json")
    assert main(command(store.folder, tmp_path / "results", *asked)) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith("votewise: skipping what needs the votes themselves: the data set cifar10h ")
    (figure,) = json.loads(shown.out)["parts"]
    assert figure["panels"] == []


def test_records_that_cannot_be_read_are_told(
    votes_and_images: Prepared, tmp_path: Path, capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("votewise.papers.same_target.PAPER", paper_on(votes_and_images))
    store = RecordStore(tmp_path / "runs")
    for config in suite_runs("main", votes_and_images, seeds=1, precision="bf16")[:2]:
        store.write(paper_record(config, votes_and_images), {"best.safetensors": lambda path: path.write_bytes(b"x")})
    damaged = store.folder / store.ids()[0]
    (damaged / "best.safetensors").unlink()
    assert main(command(store.folder, tmp_path / "results", "--only", "table-2", "--json")) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["there"] == 1
    assert shown.err == (
        f"votewise: 1 of 2 records in {store.folder} cannot be read and are left out; the first: the record in "
        f"{str(damaged)!r} must be undamaged, but best.safetensors is missing. Delete the folder and rerun to repeat this "
        "run.\n"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-o", "figures"], "--output is for the figures of --only, but no part was named. Add --only all."),
        (
            ["--only", "table-2"],
            "RUNS must be a folder of recorded runs, but '{folder}/runs' does not exist. Check the path.",
        ),
        (
            ["--reduce"],
            "RUNS must be a folder of recorded runs, but '{folder}/runs' does not exist. Check the path.",
        ),
    ],
)
def test_nothing_to_show(more: list[str], message: str, tmp_path: Path, capsys: Screen) -> None:
    assert main(command(tmp_path / "runs", tmp_path / "results", *more, "-q")) == 2
    assert capsys.readouterr().err == f"votewise: {message.format(folder=tmp_path)}\n"
    assert list(tmp_path.iterdir()) == []


def test_figures_of_a_part_without_any(results: Path, tmp_path: Path, capsys: Screen) -> None:
    assert main(command(None, results, "--only", "table-1", "-o", str(tmp_path / "figures"), "-q")) == 2
    assert capsys.readouterr().err == (
        "votewise: --output draws figures, but table-1 has none to draw. Name a figure, or --only all.\n"
    )


def test_neither_runs_nor_results(tmp_path: Path, capsys: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command(None, Path("results"), "--only", "table-2")) == 2
    assert capsys.readouterr().err == (
        "votewise: there must be runs or stored results to show, but neither 'runs' nor 'results' has any. The stored "
        "results are in the project's repository (results/same-target): pass that folder with --results, name a folder of "
        "runs with --runs, or do the runs (leave out --only).\n"
    )


def test_a_file_where_the_runs_should_be(tmp_path: Path, capsys: Screen) -> None:
    (tmp_path / "notes.txt").touch()
    assert main(command(tmp_path / "notes.txt", tmp_path, "--only", "summary")) == 2
    assert capsys.readouterr().err.endswith("notes.txt' is a file. Check the path.\n")


def test_an_unknown_part(tmp_path: Path, capsys: Screen) -> None:
    assert main(command(tmp_path, tmp_path, "--only", "tabel-4")) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("votewise: the part of the paper must be one of summary, table-1,")
    assert shown.endswith(
        "scalars, orderings, choices, sparse, cost, all, but got 'tabel-4'. Did you mean 'table-4'?\n"
    )


def test_the_page(results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    runs = tmp_path / "runs"
    (runs / ("0" * 32)).mkdir(parents=True)  # runs are not looked at: a page is of the results
    assert main(command(runs, results, "--page", str(page), "-q")) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n\n81 of the paper's 160 runs")
    assert text.endswith(f"\n\n{END}\nafter\n")
    assert "old" not in text.split()
    for number in range(1, 13):
        assert f"](page/figure-{number}.svg)" in text
        assert (tmp_path / "page" / f"figure-{number}.svg").is_file()
    assert text.count("\n### ") == len(PARTS)
    monkeypatch.setattr("votewise.papers.pages.draw_figure", lambda *_, **__: "<svg/>")  # for the time
    assert main(command(runs, results, "--page", str(page), "-q")) == 0
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["no markers", f"{END} before {BEGIN}"])
def test_a_page_without_markers(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        write_paper_page(Document("", ()), page)
    assert str(error.value) == (
        f"the page must hold {BEGIN} and, after it, {END}, but {str(page)!r} does not. Put them where results go."
    )


def test_grids_and_lines_say_the_same(reduced: Results) -> None:
    table = next(one for one in PAPER.tables if one.name == "table-4")
    cells = PAPER.cells(table.entries, reduced)
    grid, lines = cell_grid(cells), cell_lines(cells)
    assert len(grid.header) == 7
    assert {grid.header[column] for _, column in grid.bold} <= {cell.column for cell in cells if cell.published}
    for row, column, ours, published, apart, verdict in lines.rows:
        place = grid.header.index(column)
        line = next(number for number, names in enumerate(grid.rows) if names[0] == row)
        beside = "" if published == "–" else f"\n{published}\n{apart}"
        assert grid.rows[line][place].replace("not run", "–") == f"{ours}{beside}"
        assert ((line, place) in grid.bold) == (verdict == "apart")


def test_the_page_of_the_docs_is_what_the_results_say(tmp_path: Path) -> None:
    page, results = ROOT / "docs" / "reproduction.md", ROOT / "results" / "same-target"
    text = page.read_text(encoding="utf-8")
    assert BEGIN in text
    assert END in text
    copy = tmp_path / page.name
    copy.write_text(text, encoding="utf-8")
    document = paper_page_document(PAPER, read_results(results), read_findings(results))
    write_paper_page(document, copy)
    assert copy.read_text(encoding="utf-8") == text, "make paper brings the page up to date"


def test_the_page_on_choosing_quotes_the_results() -> None:
    results = read_results(ROOT / "results" / "same-target")
    page = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    table = [
        [part.strip() for part in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")
    ]
    head, rows = table[0], {row[0]: row[1:] for row in table[2:]}
    ours = {"CIFAR-10H, all votes": None, "50 votes": 50, "25 votes": 25, "10 votes": 10, "5 votes": 5}
    names = {
        "soft labels": "soft", "SLS": "sls", "multipass": "multipass", "smoothed shares": "soft-smoothed",
        "fitted Dirichlet prior": "dirichlet-fitted", "majority": "majority",
    }  # fmt: skip
    assert rows.keys() == names.keys()
    for column, votes in ours.items():
        for row, method in names.items():
            found = results.sample("soft_nll_best", runs(method, votes)).values
            expected = f"{np.mean(found):.3f}" if len(found) >= FEWEST else ""
            assert rows[row][head.index(column) - 1] == expected, (row, column)


def test_the_page_on_choosing_has_the_whole_picture_with_five_votes() -> None:
    results = read_results(ROOT / "results" / "same-target")
    page = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")
    columns = {
        "soft NLL": "soft_nll_best", "soft NLL, temperature fitted": "scaled_soft_nll_best", "accuracy": "accuracy_best",
        "ECE": "ece_best", "entropy correlation": "entropy_correlation_best",
    }  # fmt: skip
    names = {
        "soft labels": "soft", "SLS": "sls", "multipass": "multipass", "smoothed shares": "soft-smoothed",
        "fitted Dirichlet prior": "dirichlet-fitted", "`dirichlet`, one extra vote": "dirichlet",
    }  # fmt: skip
    lines = [f"   | | {' | '.join(columns)} |", "   |---|---|---|---|---|---|"]
    for row, method in names.items():
        found = [results.sample(name, runs(method, 5, first=3)).values for name in columns.values()]
        assert {len(values) for values in found} == {3}
        lines.append(f"   | {row} | {' | '.join(f'{np.mean(values):.3f}' for values in found)} |")
    assert "\n".join(lines) in page

    def ahead(method: str, other: str, name: str) -> int:
        first, second = (results.sample(name, runs(one, 5)).by_seed for one in (method, other))
        return sum(first[seed] > second[seed] for seed in first.keys() & second.keys())

    for other in ("multipass", "soft"):
        assert ahead("soft-smoothed", other, "accuracy_best") == ahead("soft-smoothed", other, "ece_best") == 3
        assert ahead("soft-smoothed", other, "entropy_correlation_best") == 0
        assert ahead(other, "dirichlet-fitted", "soft_nll_best") == 3
    assert ahead("multipass", "soft-smoothed", "soft_nll_best") == 2
    assert ahead("dirichlet-fitted", "multipass", "scaled_soft_nll_best") == 3


def test_the_page_on_choosing_quotes_fitted_temperatures() -> None:
    results = read_results(ROOT / "results" / "same-target")
    page = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())
    names = ("temperature_best", "soft_nll_best", "scaled_soft_nll_best")
    temperature, plain, scaled = (results.sample(name, runs("majority")).by_seed for name in names)
    soft = results.sample("scaled_soft_nll_best", runs("soft")).by_seed
    gaps = [scaled[seed] - soft[seed] for seed in soft]
    assert (
        f"({np.mean(list(temperature.values())):.2f} on average) brings its soft NLL "
        f"from {np.mean(list(plain.values())):.3f} to {np.mean(list(scaled.values())):.3f}, about two thirds of the gap; "
        f"soft labels, scaled too ({np.mean(list(soft.values())):.3f}), stay ahead by {np.mean(gaps):.3f}, "
        f"on {sum(gap > 0 for gap in gaps)} of {len(gaps)} seeds"
    ) in page


def test_the_page_on_choosing_quotes_the_gains_of_hard_labels() -> None:
    results = read_results(ROOT / "results" / "same-target")
    page = " ".join((ROOT / "docs" / "choosing.md").read_text(encoding="utf-8").split())

    def gain(votes: int | None, name: str = "soft_nll_best", method: str = "multipass") -> float:
        soft, hard = (results.sample(name, runs(one, votes)).by_seed for one in ("soft", method))
        return float(np.mean([soft[seed] - loss for seed, loss in hard.items()]))

    plain = {votes: gain(votes) for votes in (5, 10, 25, 50)}
    scaled = {votes: gain(votes, "scaled_soft_nll_best") for votes in plain}
    assert (
        f"by {plain[5]:.3f} with 5, {plain[10]:.3f} with 10, {plain[25]:.3f} with 25 and {plain[50]:.3f} with 50 (six "
        f"seeds each), and by {gain(None):.3f} with all on five seeds"
    ) in page
    hard = ("sls", "multipass", "deterministic-control")
    every, rest = (
        {votes: np.mean([gain(votes, name, method) for method in hard]) for votes in plain}
        for name in ("soft_nll_best", "scaled_soft_nll_best")
    )
    assert f"deliveries is {np.mean(list(every.values())):.3f} on average" in page
    assert scaled.keys() == rest.keys()
    assert f"on other images {rest[5]:.3f} of {every[5]:.3f} remain" in page
    others = [f"{rest[votes]:.3f} of {every[votes]:.3f}" for votes in (10, 25, 50)]
    assert f"With 10, 25 and 50 votes {others[0]}, {others[1]} and {others[2]} remain." in page


def test_runs_of_another_experiment_alone_leave_the_results_to_show(
    votes_and_images: Prepared, results: Path, tmp_path: Path, capsys: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = suite_runs("main", votes_and_images, seeds=1, precision="bf16")[0]
    record = paper_record(config, votes_and_images)
    RecordStore(Path("runs")).write(replace(record, config={**record.config, "dataset": "my-votes"}))
    assert main(command(None, results, "--only", "summary")) == 0
    assert capsys.readouterr().err.startswith(f"votewise: from the results in {results}\n")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "torch", None)
        assert main(command(None, results, "--only", "summary", "-q")) == 0


def test_a_page_that_is_not_there_and_a_file_for_figures(results: Path, tmp_path: Path, capsys: Screen) -> None:
    page, file = tmp_path / "none.md", tmp_path / "file.svg"
    assert main(command(None, results, "--page", str(page), "-q")) == 2
    assert capsys.readouterr().err == (
        f"votewise: the page must be a file with markers for the results, but {str(page)!r} is not a file. Create it.\n"
    )
    file.touch()
    assert main(command(None, results, "--only", "figure-4", "-o", str(file), "-q")) == 2
    assert capsys.readouterr().err == (
        f"votewise: figures go into a folder, but {str(file)!r} is a file. Name a folder; it is created.\n"
    )
