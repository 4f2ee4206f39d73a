"""A user's own data from files to report, model and predictions, as a user would do it."""

from __future__ import annotations

import csv
import json
import resource
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from votewise import read_votes
from votewise.cli.main import main
from votewise.data import Prepared, join_inputs, open_features, prepare
from votewise.delivery.methods import METHODS
from votewise.experiments.backends.processes import Processes
from votewise.experiments.defaults import default_grid, default_recipe
from votewise.experiments.run import Run, split_items
from votewise.records import RecordStore, RunRecord

KINDS = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]])
WORDS = ("meow purr whisker", "bark fetch bone", "tweet wing nest")
EVIL = "<script>alert(1)</script>"


def write_table(path: Path, *rows: tuple[object, ...]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 items of three kinds, with votes, images, features and texts; their names are not kind to parsers."""
    folder, rng = tmp_path_factory.mktemp("data"), np.random.default_rng(0)
    (folder / "images" / "sub folder").mkdir(parents=True)
    kinds = np.arange(60) % 3
    ids = [f"sub folder/ítem {i} &<b>{i}" for i in range(60)]
    votes = [
        (item, f"p{person}", label)
        for item, kind in zip(ids, kinds, strict=True)
        for person, label in enumerate(rng.choice(["cat", "dog", EVIL], size=4, p=KINDS[kind]))
    ]
    write_table(folder / "votes.csv", ("item", "annotator", "label"), *votes)
    write_table(
        folder / "features.csv",
        ("item", "size", "constant", "year"),
        *((item, 1000 * kind + rng.normal() * 200, 5, 2000 + int(rng.integers(20))) for item, kind in zip(ids, kinds, strict=True)),
    )  # fmt: skip
    write_table(
        folder / "texts.csv",
        ("item", "text"),
        *((item, " ".join(rng.permutation(WORDS[kind].split())) + f" {EVIL} {item}") for item, kind in zip(ids, kinds, strict=True)),
    )  # fmt: skip
    for item, kind in zip(ids, kinds, strict=True):
        pixels = rng.integers(0, 60, (10, 14, 3), dtype=np.uint8)
        pixels[..., kind] += 120
        Image.fromarray(pixels).save(folder / "images" / f"{item}.png")
    return folder


@pytest.fixture
def here(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("votes.csv", "features.csv", "texts.csv", "images"):
        (tmp_path / name).symlink_to(data / name)
    return tmp_path


INPUTS = {
    "images": ("--images", "images"),
    "features": ("--features", "features.csv"),
    "text": ("--text", "texts.csv"),
}


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, object]:
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    capsys.readouterr()
    assert main(list(arguments)) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err.removeprefix("votewise: ").strip()


class Page(HTMLParser):
    """The tags of a page, the text it shows and the places it would load from."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loaded: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loaded += [
            value for name, value in attrs if name in ("src", "href", "xlink:href") and value and value[0] != "#"
        ]

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.mark.parametrize("command", ["compare", "train", "predict"])
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert all(
        option in text for option in ("--images", "--features", "--text", "--output", "--item", "--json", "--quiet")
    )


@pytest.mark.parametrize("command", ["compare", "train", "deliver"])
def test_help_lists_the_methods(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = "".join(capsys.readouterr().out.split())  # however the lines were broken
    assert ",".join(METHODS) in shown


# --- compare


def test_compare_as_a_process_and_again_from_its_records(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        sys.executable, "-m", "votewise", "compare", "votes.csv", "--images", "images", "--size", "8", "--epochs", "2",
        "--methods", "soft, sls", "--seeds", "2", "--runs", "runs", "-o", "report.html", "--json",
    ]  # fmt: skip
    first = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (first.returncode, first.stderr) == (0, "")
    said = json.loads(first.stdout)
    assert list(said) == ["report", "items", "classes", "runs", "trained", "failed", "notes", "summary", "comparisons"]
    assert (said["items"], said["runs"], said["trained"], said["failed"]) == (60, 4, 4, [])
    assert said["classes"] == [EVIL, "cat", "dog"]
    assert said["notes"] == ["60 of 60 images were resized and cropped to 8 x 8 pixels."]
    rows = said["comparisons"][0]["rows"]
    assert [row["method"] for row in rows] == ["soft", "sls"]
    assert all(len(row["per_seed"]) == 2 and np.isfinite(row["per_seed"]).all() for row in rows)
    assert rows[1]["difference"] == pytest.approx(np.mean(np.subtract(rows[1]["per_seed"], rows[0]["per_seed"])))

    page = (here / "report.html").read_text(encoding="utf-8")
    seen = Page(page)
    assert "script" not in seen.tags
    assert "b" not in seen.tags  # of the item ids
    assert "ítem" in seen.words
    assert EVIL in seen.words
    assert seen.tags.count("img") == 12
    assert all(source.startswith("data:image/webp;base64,") for source in seen.loaded)

    written = {path: path.stat().st_mtime_ns for path in (here / "runs").rglob("record.json")}
    assert len(written) == 5  # four runs, and the data
    (here / "report.html").unlink()
    assert told(capsys, *command[3:-1]) == {**said, "trained": 0}
    assert (here / "report.html").read_text(encoding="utf-8") == page
    assert {path: path.stat().st_mtime_ns for path in (here / "runs").rglob("record.json")} == written

    more = [word.replace("soft, sls", "majority,soft,sls") for word in command[3:-1]]
    assert told(capsys, *more)["trained"] == 2  # the new method alone
    assert main(more) == 0
    out, err = capsys.readouterr()
    assert "votewise: 6 of 6 runs are in runs already." in err
    assert "votewise: the report is in report.html; open it in a browser." in err
    assert "votes: 60 items, 240 votes, 3 classes (long table, items in 'item'" in out
    assert "majority" in out
    assert (out + err).count("60 of 60 images were resized") == 1
    assert "60 of 60 images were resized" in Page((here / "report.html").read_text(encoding="utf-8")).words


def test_the_best_epoch_is_chosen_on_items_that_are_not_scored(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "compare", "votes.csv", "--text", "texts.csv", "--epochs", "2", "--seeds", "1", "--methods", "soft", "--at", "best", "--runs", "runs")  # fmt: skip
    assert said["comparisons"][0]["title"] == "votes, all votes"  # type: ignore[index]
    config = json.loads(next((here / "runs").rglob("record.json")).read_text(encoding="utf-8"))["record"]["config"]
    assert (config["selected"], config["held_out"]) == (0.1, 0.2)
    page = Page((here / "report.html").read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert any(word in page.words for word in ("meow", "bark", "tweet"))  # the texts themselves are shown


def test_five_seeds_score_every_item_once_and_methods_may_have_options(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (
        "compare", "votes.csv", "--features", "features.csv", "--epochs", "1", "--methods", "soft,sls:hold=2,sls",
        "--backend", "device", "--device", "cpu",
    )  # fmt: skip
    said = told(capsys, *arguments, "--runs", "runs")
    assert [row["method"] for row in said["comparisons"][0]["rows"]] == ["soft", "sls", "sls:hold=2"]  # type: ignore[index]
    scored: dict[str, list[int]] = {}
    for each in RecordStore("runs").records():
        run = Run.from_dict(each.config)
        assert (run.folds, run.held_out) == (5, 0.2)
        scored.setdefault(run.label, []).extend(each.arrays["held_out"].tolist())
    assert sorted(scored) == ["sls", "sls:hold=2", "soft"]
    assert all(sorted(rows) == list(range(60)) for rows in scored.values())
    told(capsys, *arguments, "--runs", "drawn", "--held-out", "0.3", "--seeds", "1")
    assert {(each.config.get("folds"), each.config["held_out"]) for each in RecordStore("drawn").records()} == {
        (None, 0.3)
    }
    assert "the backend must be one of processes, device, ray, but got 'rai'. Did you mean 'ray'?" in complaint(
        capsys, *arguments, "--backend", "rai"
    )


def record(config: Run, material: Prepared, failed: bool) -> RunRecord:
    """What a run might have left."""
    if failed:
        return RunRecord(config=config.to_dict(), status="failed", failure="it was not its day.")
    rows, rng = split_items(config, material).held_out, np.random.default_rng(config.seed + len(config.method))
    logits = {f"{at}_logits": rng.normal(size=(len(rows), 3)).astype(np.float32) for at in ("last", "best")}
    return RunRecord(
        config=config.to_dict(),
        status="done",
        curves={"soft_nll": np.array([2.0, 1.5])},
        numbers={"soft_nll_last": 1.5, "soft_nll_best": 1.5},
        arrays={"held_out": rows, **logits},
    )


def test_runs_that_failed_are_told_and_their_seeds_left_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    votes = read_votes("votes.csv")
    material = prepare(join_inputs(votes, open_features("features.csv"), name="votes"))
    runs = default_grid(("soft", "sls"), 3, model="mlp").runs(material, default_recipe(material, epochs=2))
    arguments = (
        "compare",
        "votes.csv",
        "--features",
        "features.csv",
        "--methods",
        "soft,sls",
        "--seeds",
        "3",
        "--epochs",
        "2",
    )
    for folder, failed in (
        ("some", {("sls", 1)}),
        ("all", {(method, seed) for method in ("soft", "sls") for seed in range(3)}),
    ):
        for config in runs:
            RecordStore(folder).write(record(config, material, (config.method, config.seed) in failed))
    said = told(capsys, *arguments, "--runs", "some", code=1)
    assert said["trained"] == 0
    assert said["failed"] == ["sls, seed 1, is left out: it was not its day."]
    assert [row["seeds"] for row in said["comparisons"][0]["rows"]] == [[0, 1, 2], [0, 2]]  # type: ignore[index]
    assert (
        "sls, seed 1, is left out: it was not its day."
        in Page((here / "report.html").read_text(encoding="utf-8")).words
    )
    (here / "report.html").unlink()
    assert complaint(capsys, *arguments, "--runs", "all", "-q", code=1) == (
        "nothing can be compared, since no run has a finite score (soft, sls; the first: it was not its day). "
        "Change the recipe; --retry-failed repeats failed runs."
    )
    assert not (here / "report.html").exists()
    assert main([*arguments, "--runs", "some"]) == 1
    assert (
        "votewise: 6 of 6 runs are in some already.\nvotewise: 1 of them failed; --retry-failed repeats them.\n"
        in capsys.readouterr().err
    )


def test_a_place_that_cannot_be_written_fails_before_anything_is_read(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (("compare", "-o", "no/r.html"), ("train", "-o", "no/m.safetensors")):
        command, *output = arguments
        message = complaint(capsys, command, "no-votes.csv", "--features", "features.csv", *output)
        assert message == "the output folder must exist, but 'no' does not. Create it, or write elsewhere."


QUICK = (
    "compare",
    "votes.csv",
    "--features",
    "features.csv",
    "--epochs",
    "1",
    "--seeds",
    "1",
    "--methods",
    "soft,sls,",
)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_report_that_cannot_be_written_costs_no_results(
    here: Path, capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))  # the page is larger
    try:
        code = main([*QUICK, "-o", "large.html", *(["--json"] if as_json else [])])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    out, err = capsys.readouterr()
    assert code == 1
    assert err == "votewise: the report 'large.html' was not written: File too large.\n"
    if as_json:
        said = json.loads(out)
        assert said["report"] is None
        assert [row["method"] for row in said["comparisons"][0]["rows"]] == ["soft", "sls"]
    else:
        assert "NLL vs" in out
    assert not (here / "large.html").exists()


def test_runs_that_cannot_be_kept_cost_no_results(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    told(capsys, *QUICK, "--runs", "runs")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RecordStore, "write", refuse)
    assert main([*QUICK, "--methods", "soft,majority", "--runs", "runs"]) == 1
    out, err = capsys.readouterr()
    assert "NLL vs" in out
    assert err.endswith(
        "votewise: the report is in report.html; open it in a browser.\n"
        "votewise: some runs were not saved: [Errno 28] No space left on device. Check space and permissions of 'runs'.\n"
    )
    assert "majority" in Page((here / "report.html").read_text(encoding="utf-8")).words


def test_one_seed_and_one_epoch_in_plain_words(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK]) == 0
    out = capsys.readouterr().out
    assert "model mlp, held out 0.2, folds 5, epochs 1, batch size 16" in out
    assert "One seed is too few to confirm any difference; it takes 3." in out
    assert "± 0." not in out
    words = Page((here / "report.html").read_text(encoding="utf-8")).words
    assert "reach a soft NLL of " in words
    assert "± 0." not in words


def test_runs_whose_score_is_infinite_are_not_compared(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message = complaint(capsys, *QUICK, "--learning-rate", "1000", "-q", code=1)
    assert message == (
        "nothing can be compared, since no run has a finite score (soft, sls; the first: its soft NLL is not finite, as when "
        "classes that people chose get probability 0). Change the recipe; --retry-failed repeats failed runs."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "one of --images, --features and --text must say where the inputs are, but got none. Pass exactly one."),
        (
            ("--images", "images", "--text", "texts.csv"),
            "one of --images, --features and --text must say where the inputs are, but got --images and --text. Pass exactly one.",
        ),
        (("--features", "features.csv", "--text-column", "x"), "--text-column is for --text, but got --features. Leave it out."),
        (("--features", "features.csv", "--device", "gpu"), "--device must be one of auto, cpu, cuda, but got 'gpu'. Did you mean 'cpu'?"),
        (("--features", "features.csv", "--model", "small-cnn"), "the model must take features, but 'small-cnn' takes images. Pick one of mlp."),
        (("--features", "features.csv", "--methods", "soft,soft"), "methods must be different, but got 'soft', 'soft'. Name each once."),
        (("--features", "features.csv", "--learning-rate", "-1"), "--learning-rate must be a number from 1e-09 to 1000, but got -1.0. Pass one in that range."),
        (("--features", "features.csv", "--held-out", "0"), "the share held out must be a number from 0.01 to 0.8, but got 0.0. Pass one in that range."),
        (("--features", "features.csv", "--at", "first"), "--at must be one of best, last, but got 'first'. Pick one of those."),
        (("--features", "features.csv", "--missing-inputs", "keep"), "--missing-inputs must be one of error, drop, but got 'keep'. Pick one of those."),
        (("--features", "features.csv", "--size", "7"), "--size is for --images, but got --features. Leave it out."),
        (("--images", "images", "--size", "7"), "small-cnn needs images of at least 8 pixels on each side, but they are 7 x 7. Choose a larger --size."),
        (("--features", "features.csv", "--runs", "votes.csv"), "--runs must be a folder, but 'votes.csv' is a file. Name a folder; it is created if it does not exist."),
        (("--features", "features.csv", "-o", "no/report.html"), "the output folder must exist, but 'no' does not. Create it, or write elsewhere."),
    ],
)  # fmt: skip
def test_what_compare_refuses(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert complaint(capsys, "compare", "votes.csv", *arguments, "-q") == message
    assert not (here / "report.html").exists()


def test_unknown_methods_and_mixup_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("compare", "votes.csv", "--features", "features.csv", "--methods")
    assert "the method must be one of" in complaint(capsys, *arguments, "soft,slss")
    assert "mixup mixes batches" in complaint(capsys, *arguments, "soft,mixup")
    assert complaint(capsys, *arguments, " ,") == (
        "a comparison needs at least one method, but got none. Name some of soft, multipass, multipass-prior, "
        "multipass-crossfit, deterministic-control, sls, shuffled-sls, majority, label-smoothing, soft-smoothed, dirichlet, dirichlet-fitted."
    )


def test_one_class_is_nothing_to_compare(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pl.read_csv("votes.csv").with_columns(pl.lit("cat").alias("label")).write_csv("cats.csv")
    assert complaint(capsys, "compare", "cats.csv", "--features", "features.csv") == (
        "a comparison needs at least two classes, but the votes have only 'cat'. "
        "Name those that nobody chose with classes= (--classes)."
    )


def test_votes_that_a_method_cannot_deliver_are_refused_before_training(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = read_votes("votes.csv").item_ids.tolist()
    write_table(here / "shares.csv", ("item", "a", "b"), *((item, 0.25, 0.75) for item in ids))
    message = complaint(capsys, "compare", "shares.csv", "--features", "features.csv", "--methods", "soft,multipass")
    told = (
        "multipass needs the number of votes for each class, but these votes are probabilities, which do not say how many "
        "people voted. Give counts or single votes, or use a method that needs shares only (soft, sls)."
    )
    assert message == told
    message = complaint(capsys, "train", "shares.csv", "--features", "features.csv", "-o", "model.safetensors")
    assert message == told
    message = complaint(
        capsys, "compare", "votes.csv", "--features", "features.csv", "--methods", "soft-smoothed:epsilon=2"
    )
    assert message == "soft-smoothed:epsilon must be a number from 0 to 1, but got 2.0. Pass one in that range."


def test_ctrl_c_says_what_was_saved(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Processes, "map", stop)
    arguments = ["compare", "votes.csv", "--features", "features.csv", "--methods", "soft,sls", "--seeds", "1"]
    assert main(arguments) == 130
    assert "saved" not in capsys.readouterr().err, "nothing is, without --runs"
    assert main([*arguments, "--runs", "some"]) == 130
    note = "votewise: 0 of 2 runs are finished and saved; run the same command to continue.\n"
    assert note in capsys.readouterr().err


# --- train and predict


@pytest.mark.parametrize("kind", INPUTS)
def test_train_predict_score(here: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    inputs, size = INPUTS[kind], ("--size", "12") if kind == "images" else ()
    said = told(
        capsys, "train", "votes.csv", *inputs, *size, "--epochs", "20", "-o", "model.safetensors", "--seed", "3"
    )
    assert (said["trained_on"], said["held_out"], said["method"], said["seed"]) == (42, 12, "multipass", 3)
    assert {"soft_nll", "accuracy", "vote_ece", "ece", "ece_floor", "entropy_correlation"} <= set(said["metrics"])  # type: ignore[arg-type]
    predicted = told(capsys, "predict", "model.safetensors", *inputs, "-o", "predictions.csv")
    assert (predicted["items"], predicted["classes"]) == (60, [EVIL, "cat", "dog"])
    scores = told(capsys, "score", "votes.csv", "predictions.csv")
    assert scores["items"] == 60
    assert scores["metrics"]["soft_nll"]["value"] < np.log(3)  # type: ignore[index]
    table = pl.read_csv("predictions.csv")
    assert table.columns == ["item", EVIL, "cat", "dog"]
    np.testing.assert_allclose(table.drop("item").sum_horizontal(), 1, atol=1e-12)
    told(capsys, "predict", "model.safetensors", *inputs, "-o", "predictions.parquet")
    told(capsys, "predict", "model.safetensors", *inputs, "-o", "predictions.npy")
    assert pl.read_parquet("predictions.parquet").equals(table)
    assert (np.load("predictions.npy") == table.drop("item").to_numpy()).all()
    left = {path.name for path in here.iterdir()} - {"votes.csv", "features.csv", "texts.csv", "images"}
    assert left == {"model.safetensors", "predictions.csv", "predictions.parquet", "predictions.npy"}


def test_the_same_seed_saves_the_same_model(here: Path) -> None:
    for name in ("one", "two"):
        assert (
            main(
                ["train", "votes.csv", "--features", "features.csv", "--epochs", "2", "-o", f"{name}.safetensors", "-q"]
            )
            == 0
        )
    assert (here / "one.safetensors").read_bytes() == (here / "two.safetensors").read_bytes()


def test_held_out_items_are_named_and_their_predictions_scored(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("train", "votes.csv", "--features", "features.csv", "--epochs", "2", "-o", "m.safetensors")
    said = told(capsys, *arguments, "--predictions", "held-out.csv")
    table = pl.read_csv("held-out.csv")
    assert said["predictions"] == "held-out.csv"
    assert table["item"].to_list() == said["held_out_ids"]
    assert len(set(said["held_out_ids"])) == said["held_out"] == 12  # type: ignore[arg-type]
    assert told(capsys, "score", "votes.csv", "held-out.csv")["metrics"]["soft_nll"] == said["metrics"]["soft_nll"]  # type: ignore[index]
    told(capsys, "predict", "m.safetensors", "--features", "features.csv", "-o", "all.csv")
    same = table.select("item").join(pl.read_csv("all.csv"), on="item", how="left", maintain_order="left")
    np.testing.assert_allclose(same.drop("item").to_numpy(), table.drop("item").to_numpy(), rtol=1e-5)
    told(capsys, *arguments, "--predictions", "held-out.parquet")
    assert pl.read_parquet("held-out.parquet").equals(table)


def test_a_model_that_diverged_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["train", "votes.csv", "--features", "features.csv", "--learning-rate", "1000", "-o", "m.safetensors"]
    assert main([*arguments, "--epochs", "1", "--json", "-q"]) == 0
    out, err = capsys.readouterr()
    note = (
        "soft_nll is infinite: the model gives zero probability to classes that people chose, so its training has "
        "probably diverged. Lower --learning-rate, or check the inputs."
    )
    assert err == f"votewise: {note}\n"
    said = json.loads(out)
    assert (said["metrics"]["soft_nll"]["value"], said["notes"]) == (None, [note])


def test_a_model_that_is_not_even_a_number_is_not_saved(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from votewise.training import runs

    real = runs.train_classifier

    def last_step_explodes(model: torch.nn.Module, *rest: Any, **options: Any) -> None:
        real(model, *rest, **options)
        next(model.parameters()).data.fill_(float("nan"))

    monkeypatch.setattr(runs, "train_classifier", last_step_explodes)
    for share in ("0", "0.2"):
        message = complaint(
            capsys,
            "train",
            "votes.csv",
            "--features",
            "features.csv",
            "--held-out",
            share,
            "--at",
            "last",
            "-o",
            "m.safetensors",
            code=1,
        )
        assert message.startswith("the training loss became NaN or infinite in epoch 20.")
        assert not (here / "m.safetensors").exists()


def test_training_on_everything(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(
        capsys, "train", "votes.csv", "--text", "texts.csv", "--epochs", "1", "--held-out", "0", "-o", "m.safetensors"
    )
    assert (said["trained_on"], said["held_out"], said["metrics"]) == (54, 0, None)
    assert (
        main(["train", "votes.csv", "--text", "texts.csv", "--epochs", "1", "-m", "soft", "-o", "m.safetensors"]) == 0
    )
    out = capsys.readouterr().out
    assert "m.safetensors: ngram, soft, epoch 1 of 1, trained on 42 items" in out
    assert "12 held-out items" in out
    assert "entropy correlation" in out


def test_temperature_and_refit_from_train_to_predict(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = ("train", "votes.csv", "--features", "features.csv", "-m", "soft", "--epochs", "30", "-o", "m.safetensors")
    plain = told(capsys, *train)
    assert (plain["temperature"], plain["refitted"], plain["epochs"]) == (1.0, False, 30)
    scaled = told(capsys, *train, "--temperature", "--refit")
    assert scaled["temperature"] != 1.0
    assert (scaled["refitted"], scaled["trained_on"], scaled["epoch"]) == (True, 60, plain["epoch"])
    predict = ("predict", "m.safetensors", "--features", "features.csv", "-o", "p.npy")
    assert told(capsys, *predict)["temperature"] == scaled["temperature"]
    with_it = np.load("p.npy")
    assert told(capsys, *predict, "--temperature", "1")["temperature"] == 1.0
    logarithms = np.log(np.load("p.npy")) / scaled["temperature"]  # type: ignore[operator]
    np.testing.assert_allclose(with_it, np.exp(logarithms) / np.exp(logarithms).sum(axis=1, keepdims=True), rtol=1e-6)
    assert complaint(capsys, *predict, "--temperature", "0") == (
        "--temperature must be a number from 0.01 to 100, but got 0.0. Pass one in that range."
    )
    assert main([*train, "--temperature", "--refit"]) == 0
    out = capsys.readouterr().out
    assert f"epoch {plain['epoch']} of 30, trained on 60 items, temperature " in out
    assert "The scores are those of the model that chose the epoch, which had not seen these items:" in out
    last = told(capsys, *train, "--at", "last")
    assert (last["epoch"], last["trained_on"]) == (30, 48)


def test_ids_are_predicted_as_the_votes_write_them(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    votes = pl.read_csv("votes.csv").with_columns(pl.col("item") + ".png")
    votes.write_csv("named.csv")
    told(capsys, "train", "named.csv", "--images", "images", "--size", "8", "--epochs", "1", "-o", "m.safetensors")
    told(capsys, "predict", "m.safetensors", "--images", "images", "-o", "p.csv")
    assert told(capsys, "score", "named.csv", "p.csv")["items"] == 60


def test_images_of_an_archive_and_of_a_folder_are_one_kind(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    votes = read_votes("votes.csv")
    pixels = np.random.default_rng(0).integers(0, 255, (60, 9, 9, 3), dtype=np.uint8)
    np.savez(here / "a.npz", images=pixels, ids=votes.item_ids)
    told(capsys, "train", "votes.csv", "--images", "a.npz", "--epochs", "1", "-o", "m.safetensors")
    assert told(capsys, "predict", "m.safetensors", "--images", "images", "-o", "p.csv")["items"] == 60
    assert told(capsys, "predict", "m.safetensors", "--images", "a.npz", "-o", "p.csv")["items"] == 60
    np.savez(here / "b.npz", images=pixels[:, :8])
    assert complaint(capsys, "predict", "m.safetensors", "--images", "b.npz", "-o", "p.csv") == (
        "the model takes images of shape (9, 9, 3), but got (8, 9, 3). Give inputs like those it was trained on."
    )


def test_inputs_without_votes_and_votes_without_inputs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.read_csv("features.csv")
    frame.head(50).vstack(frame.head(1).with_columns(pl.lit("stranger").alias("item"))).write_csv("some.csv")
    arguments = ("train", "votes.csv", "--features", "some.csv", "--epochs", "1", "-o", "m.safetensors")
    message = complaint(capsys, *arguments)
    assert "but got 10 items without features ('" in message
    assert "and 1 row of features without votes ('stranger')." in message
    said = told(capsys, *arguments, "--missing-inputs", "drop")
    assert said["trained_on"] == 35
    note = said["notes"][0]  # type: ignore[index]
    assert note.startswith("Left out: 10 items without features (")
    assert note.endswith(" and 5 more) and 1 row of features without votes ('stranger').")
    assert main([*arguments, "--missing-inputs", "drop"]) == 0
    assert f"votewise: {note}\n" in capsys.readouterr().err


def test_what_train_refuses(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("train", "votes.csv", "--features", "features.csv")
    assert (
        complaint(capsys, *arguments, "-o", "model.pt")
        == "the model must end in .safetensors, but got 'model.pt'. Rename it."
    )
    assert "the output folder must exist" in complaint(capsys, *arguments, "-o", "no/m.safetensors")
    table = (*arguments, "-o", "m.safetensors", "--predictions")
    assert "the output folder must exist" in complaint(capsys, *table, "no/p.csv")
    assert "the suffix of --predictions must be one of .csv, .parquet" in complaint(capsys, *table, "p.npy")
    assert (
        complaint(capsys, *table, "p.csv", "--held-out", "0")
        == "--predictions needs held-out items, but got --held-out 0. Hold some out."
    )
    assert "the share held out must be a number from 0 to 0.95" in complaint(
        capsys, *arguments, "--held-out", "1", "-o", "m.safetensors"
    )
    (here / "broken").mkdir()
    (here / "broken" / "a.png").write_bytes(b"no image")
    write_table(here / "one.csv", ("item", "label"), ("a", "x"))
    assert (
        "every image must be readable, but 1 of 1 cannot be read ('a.png: it is no PNG, JPEG, WebP or BMP"
        in complaint(capsys, "train", "one.csv", "--images", "broken", "-o", "m.safetensors")
    )
    assert not (here / "m.safetensors").exists()


def test_what_predict_refuses(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "train", "votes.csv", "--features", "features.csv", "--epochs", "1", "-o", "m.safetensors")
    predict = ("predict", "m.safetensors")
    assert (
        complaint(capsys, *predict, "--text", "texts.csv", "-o", "p.csv")
        == "the model takes features, but got --text. Pass --features."
    )
    assert "the suffix of the predictions must be one of .csv, .parquet, .npy" in complaint(
        capsys, *predict, "--features", "features.csv", "-o", "p.xlsx"
    )
    pl.read_csv("features.csv").drop("year").write_csv("fewer.csv")
    assert "it has no column 'year'" in complaint(capsys, *predict, "--features", "fewer.csv", "-o", "p.csv")
    np.save("wrong.npy", np.zeros((4, 2)))
    assert complaint(capsys, *predict, "--features", "wrong.npy", "-o", "p.csv") == (
        "the model takes features of shape (3,), but got (2,). Give inputs like those it was trained on."
    )
    (here / "junk.safetensors").write_bytes(b"junk")
    assert "must be a model saved by votewise train, but reading it failed" in complaint(
        capsys, "predict", "junk.safetensors", "--features", "features.csv", "-o", "p.csv"
    )
    assert not (here / "p.csv").exists()


def test_columns_in_another_order_give_the_same_predictions(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "train", "votes.csv", "--features", "features.csv", "--epochs", "2", "-o", "m.safetensors")
    table = pl.read_csv("features.csv")
    table.select("year", "item", pl.lit(1).alias("new"), "size", "constant").write_csv("other.csv")
    told(capsys, "predict", "m.safetensors", "--features", "features.csv", "-o", "a.csv")
    told(capsys, "predict", "m.safetensors", "--features", "other.csv", "-o", "b.csv")
    assert (here / "a.csv").read_bytes() == (here / "b.csv").read_bytes()


# --- ugly votes


@pytest.mark.parametrize(
    ("votes", "classes"),
    [
        (lambda ids: [(item, "p", "yes" if i % 2 else "no") for i, item in enumerate(ids)], ("yes", "no")),  # one vote an item
        (lambda ids: [(item, "p", "yes") for item in ids], ("yes",)),  # one class
        (lambda ids: [(item, "p", "yes" if i % 2 else "no") for i, item in enumerate(ids)], ("yes", "no", "never")),
        (lambda ids: [(item, "p", "item" if i % 2 else "task") for i, item in enumerate(ids)], ("item", "task")),
    ],
    ids=["one vote", "one class", "class never voted", "classes called like columns"],
)  # fmt: skip
def test_ugly_votes_go_all_the_way(
    here: Path, capsys: pytest.CaptureFixture[str], votes: object, classes: tuple[str, ...]
) -> None:
    ids = read_votes("votes.csv").item_ids.tolist()
    write_table(here / "ugly.csv", ("item", "annotator", "label"), *votes(ids))  # type: ignore[operator]
    named = ("--classes", ",".join(classes))
    said = told(
        capsys, "train", "ugly.csv", "--features", "features.csv", "--epochs", "1", "-o", "m.safetensors", *named
    )
    assert said["classes"] == list(classes)
    assert main(["predict", "m.safetensors", "--features", "features.csv", "-o", "p.csv"]) == 0
    column, clash = pl.read_csv("p.csv").columns[0], "item" in classes
    assert capsys.readouterr().err == (
        "votewise: a class has the same name as an item column. To score these predictions, rename the item column to "
        "'item_id' in the votes and pass --item item_id.\n"
        if clash
        else ""
    )
    pl.read_csv("ugly.csv").rename({"item": column}).write_csv("ugly.csv")
    assert told(capsys, "score", "ugly.csv", "p.csv", *named, *(("--item", column) if clash else ()))["items"] == 60


def test_few_items(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(here / "few.csv", ("item", "label"), ("a", "x"), ("a", "y"), ("b", "y"), ("c", "x"))
    np.savez(here / "few.npz", images=np.random.default_rng(0).integers(0, 255, (3, 8, 8), dtype=np.uint8))
    said = told(
        capsys, "train", "few.csv", "--images", "few.npz", "--epochs", "1", "--held-out", "0.34", "--at", "last",
        "-o", "m.safetensors",
    )  # fmt: skip
    assert (said["trained_on"], said["held_out"]) == (2, 1)
    few = ("few.csv", "--images", "few.npz", "--held-out", "0.67", "-o", "m.safetensors")
    assert complaint(capsys, "train", *few) == (
        "choosing the epoch takes at least one item that is neither trained on nor scored, but 0.1 of 3 items is none. "
        "Take more items, or the last epoch (--at last)."
    )
    assert main(["train", *few, "--at", "last"]) == 0
    assert "trained on 1 item\n" in capsys.readouterr().out
    np.savez(here / "one.npz", images=np.zeros((1, 8, 8), dtype=np.uint8))
    assert main(["predict", "m.safetensors", "--images", "one.npz", "-o", "p.csv"]) == 0
    assert capsys.readouterr().out == "p.csv: 1 item x 2 classes (x, y)\n"
    assert "a split must leave at least one item on each side" in complaint(
        capsys, "train", "few.csv", "--images", "few.npz", "--held-out", "0.1", "-o", "m.safetensors"
    )


# --- pairs of texts


def test_pairs_of_texts_from_votes_to_predictions(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (here / "texts.csv").open(encoding="utf-8", newline="") as file:
        singles = list(csv.reader(file))[1:]
    pairs = [(item, f"first of {number:02}", text) for number, (item, text) in enumerate(singles)]
    write_table(here / "pairs.csv", ("item", "premise", "hypothesis"), *pairs)
    inputs = ("--text", "pairs.csv", "--text-column", "premise,hypothesis")
    said = told(capsys, "compare", "votes.csv", *inputs, "--epochs", "8", "--seeds", "1", "--methods", "soft,sls", "--runs", "runs")  # fmt: skip
    words = Page((here / "report.html").read_text(encoding="utf-8")).words
    shown = [text for _, first, text in pairs if first in words]
    assert len(shown) == 12
    assert all(text in words for text in shown)
    comparison = said["comparisons"][0]  # type: ignore[index]
    assert comparison["rows"][0]["per_seed"][0] < comparison["no_model"]["mean"]

    told(capsys, "train", "votes.csv", *inputs, "--epochs", "2", "-o", "m.safetensors")
    # The model knows the names of both columns.
    told(capsys, "predict", "m.safetensors", "--text", "pairs.csv", "-o", "p.npy")
    told(capsys, "predict", "m.safetensors", *inputs, "-o", "same.npy")
    told(capsys, "predict", "m.safetensors", *inputs[:2], "--text-column", "hypothesis,premise", "-o", "swapped.npy")
    probs = np.load("p.npy")
    np.testing.assert_array_equal(probs, np.load("same.npy"))
    assert not np.allclose(probs, np.load("swapped.npy"), atol=1e-6)
    assert complaint(capsys, "predict", "m.safetensors", *inputs[:3], "premise", "-o", "x.npy") == (
        "the model takes pairs of texts, but got --text-column premise. Name two, with a comma between."
    )
    told(capsys, "train", "votes.csv", "--text", "texts.csv", "--epochs", "1", "-o", "single.safetensors")
    assert complaint(capsys, "predict", "single.safetensors", *inputs, "-o", "x.npy") == (
        "the model takes single texts, but got --text-column premise,hypothesis. Name one."
    )
