"""`compare` and `train` from files: nonsense in place of votes on scored items changes no model and no choice."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from votewise.cli.main import main
from votewise.data import load_vader
from votewise.delivery.methods import METHODS
from votewise.records import RecordStore, RunRecord

Screen = pytest.CaptureFixture[str]
N, CLASSES = 80, ("no", "maybe", "yes")
TRAINING = ["--epochs", "5", "--learning-rate", "0.02", "--device", "cpu"]
PRIORS = ("multipass-prior", "multipass-crossfit", "dirichlet-fitted")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of the demo, features of the same items, and four votes for each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), size=N)
    write("votes.csv", [f"{number}" for number in range(N)], [rng.multinomial(4, row) for row in shares])
    noisy = np.log(shares + 0.05) + rng.normal(0, 0.5, (N, 3))
    rows = [f"i{item},{','.join(f'{value:.4f}' for value in row)}" for item, row in enumerate(noisy)]
    Path("features.csv").write_text("\n".join(["item,x,y,z", *rows]), encoding="utf-8")
    words = [word for word in load_vader().votes.item_ids.tolist() if word.isalpha()][:N]
    texts = [f"i{item},{word}" for item, word in enumerate(words)]
    Path("texts.csv").write_text("\n".join(["item,text", *texts]), encoding="utf-8")


def write(path: str, items: list[str], counts: list[np.ndarray]) -> None:
    """Votes one by one."""
    rows = [
        f"i{item},p{place},{name}"
        for item, row in zip(items, counts, strict=True)
        for place, name in enumerate(np.repeat(CLASSES, row))
    ]
    Path(path).write_text("\n".join(["item,annotator,label", *rows]), encoding="utf-8")


def write_with_nonsense(path: str, scored: set[str]) -> None:
    """Other votes on some items, and other numbers of them; those on the others stay."""
    lines = Path("votes.csv").read_text(encoding="utf-8").splitlines()
    rng, found = np.random.default_rng(1), [lines[0]]
    for item in dict.fromkeys(line.partition(",")[0] for line in lines[1:]):
        if item in scored:
            labels = np.repeat(CLASSES, rng.multinomial(9, [0.05, 0.05, 0.9]) + 1)
            found += [f"{item},p{place},{label}" for place, label in enumerate(labels)]
        else:
            found += [line for line in lines if line.startswith(f"{item},")]
    Path(path).write_text("\n".join(found), encoding="utf-8")


def told(capsys: Screen, *line: str) -> dict[str, object]:
    capsys.readouterr()
    assert main([*line, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def compared(capsys: Screen, votes: str, inputs: list[str], *more: str) -> dict[tuple[str, int], RunRecord]:
    """The records of a comparison by method and seed."""
    runs = f"runs-of-{Path(votes).stem}"
    line = ["compare", votes, *inputs, "--methods", ",".join(METHODS), "--seeds", "1", *TRAINING, *more]
    told(capsys, *line, "--backend", "device", "--runs", runs, "-o", f"{runs}.html")
    records = [*RecordStore(runs).records(), *RecordStore(f"{runs}/helpers").records()]
    return {(str(one.config["method"]), str(one.config.get("helper"))): one for one in records}  # type: ignore[misc]


@pytest.mark.parametrize(
    ("inputs", "more"),
    [(["--features", "features.csv"], []), (["--text", "texts.csv", "--model", "ngram"], ["--held-out", "0.3"])],
)
def test_compare(inputs: list[str], more: list[str], capsys: Screen) -> None:
    """Every delivery, fitted and cross-fitted priors and their helper runs among them."""
    before = compared(capsys, "votes.csv", inputs, *more)
    assert len(before) == len(METHODS) + 2
    held_out = before["soft", "None"].arrays["held_out"]
    ids = [line.partition(",")[0] for line in Path("votes.csv").read_text(encoding="utf-8").splitlines()[1:]]
    items = list(dict.fromkeys(ids))
    write_with_nonsense("nonsense.csv", {items[row] for row in held_out})
    after = compared(capsys, "nonsense.csv", inputs, *more)
    assert after.keys() == before.keys()
    for key, one in before.items():
        other, is_helper = after[key], key[1] != "None"
        assert one.config["recipe"] == other.config["recipe"]
        np.testing.assert_array_equal(one.arrays["held_out"], other.arrays["held_out"])
        ends = ("last",) if is_helper else ("best", "last")
        for end in ends:
            assert one.arrays[f"{end}_logits"].tobytes() == other.arrays[f"{end}_logits"].tobytes(), key
        assert one.curves["train_loss"].tobytes() == other.curves["train_loss"].tobytes()
        if not is_helper:
            assert one.curves["selection_nll"].tobytes() == other.curves["selection_nll"].tobytes()
            for number in ("best_epoch", "temperature_best", "temperature_last"):
                assert one.numbers[number] == other.numbers[number]
            assert one.numbers["soft_nll_best"] != other.numbers["soft_nll_best"], "the scores do look at them"


@pytest.mark.parametrize("method", ["soft", "sls", *PRIORS])
def test_train(method: str, capsys: Screen) -> None:
    """The epoch, the temperature and every prediction of the saved model."""
    line = ["--features", "features.csv", "-m", method, "--temperature", "--held-out", "0.3", *TRAINING]
    found = []
    for name in ("votes", "nonsense"):
        about = told(capsys, "train", f"{name}.csv", *line, "-o", f"{name}.safetensors")
        if name == "votes":
            write_with_nonsense("nonsense.csv", set(about["held_out_ids"]))  # type: ignore[arg-type]
        told(capsys, "predict", f"{name}.safetensors", "--features", "features.csv", "-o", f"{name}-out.npy")
        found.append((about, np.load(f"{name}-out.npy")))
    (one, predicted), (other, predicted_again) = found
    for part in ("epoch", "temperature", "held_out_ids", "trained_on"):
        assert one[part] == other[part]
    assert predicted.tobytes() == predicted_again.tobytes()
    assert one["metrics"] != other["metrics"], "the scores do look at them"
