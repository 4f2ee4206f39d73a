"""The methods with a fitted prior from the command line, on users' files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from votewise.cli.main import main
from votewise.records import RecordStore

Screen = pytest.CaptureFixture[str]
METHODS = ("multipass", "multipass-prior", "multipass-crossfit:seeds=2,share=0.5")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty items with four votes and features that tell something of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), size=40)
    votes = [f"i{item},p{person},{'abc'[rng.choice(3, p=shares[item])]}" for item in range(40) for person in range(4)]
    Path("votes.csv").write_text("\n".join(["item,annotator,label", *votes]), encoding="utf-8")
    rows = [f"i{item},{','.join(map(str, row))}" for item, row in enumerate(shares)]
    Path("features.csv").write_text("\n".join(["item,x,y,z", *rows]), encoding="utf-8")
    return tmp_path


def told(capsys: Screen, line: str) -> dict[str, object]:
    capsys.readouterr()
    assert main([*line.split(), "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_compare(capsys: Screen) -> None:
    line = (
        f"compare votes.csv --features features.csv --methods {','.join(METHODS)} --epochs 4 --seeds 2 --runs runs "
        "--backend device --device cpu"
    )
    said = told(capsys, line)
    assert (said["runs"], said["trained"], said["failed"]) == (6, 6, [])
    assert [row["method"] for row in said["comparisons"][0]["rows"]] == list(METHODS)
    assert len(RecordStore("runs/helpers").ids()) == 2 * 2 * 2, "two folds, drawn twice, for two seeds"
    assert told(capsys, line)["trained"] == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "multipass with a cross-fitted prior (seeds=2,share=0.5)" in page
    assert "multipass with a fitted prior" in page


@pytest.mark.parametrize("method", METHODS[1:])
def test_train_and_predict(method: str, capsys: Screen) -> None:
    said = told(
        capsys, f"train votes.csv --features features.csv -m {method} --epochs 4 -o model.safetensors --device cpu"
    )
    assert said["method"] == method
    assert (
        main(["predict", "model.safetensors", "--features", "features.csv", "-o", "out.csv", "--device", "cpu", "-q"])
        == 0
    )
    assert len(Path("out.csv").read_text(encoding="utf-8").splitlines()) == 41


def test_deliver_writes_all_epochs_or_says_what_is_missing(capsys: Screen) -> None:
    assert told(capsys, "deliver votes.csv -m multipass-prior --epochs 8 -o out.npy")["shape"] == [8, 40, 3]
    assert np.load("out.npy").shape == (8, 40, 3)
    assert main(["deliver", "votes.csv", "-m", "multipass-crossfit", "--epochs", "8", "-o", "other.npy"]) == 2
    assert capsys.readouterr().err == (
        "votewise: the method must need votes alone, but multipass-crossfit needs trained models. Train with it instead.\n"
    )
