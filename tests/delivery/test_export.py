"""Deliveries as arrays in files: what they hold, their shapes, and what is left when writing fails."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from votewise import (
    SLS,
    Delivery,
    HardDelivery,
    InputError,
    Majority,
    Multipass,
    Soft,
    Votes,
    fit_dirichlet_prior,
    read_votes,
)
from votewise.cli.main import main
from votewise.delivery import METHODS, Method
from votewise.delivery.export import write_delivery

VOTES = Votes.from_counts([[3, 1, 0], [0, 4, 1], [2, 2, 2], [1, 0, 0]], classes=["cat", "dog", "bird"])


class Sharpening(Delivery):
    """Targets that go from uniform to the vote shares over the epochs."""

    def __init__(self, votes: Votes, *, seed: int = 0, pace: float = 0.5) -> None:
        self.item_ids, self.classes, self._shares, self._pace = votes.item_ids, votes.classes, votes.probs, pace

    def targets(self, epoch: int, items: object = None) -> np.ndarray:
        uniform = self._pace**epoch
        return (uniform / 3 + (1 - uniform) * self._shares).astype(np.float32)[self._rows(items)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("delivery", "epochs", "shape"),
    [
        (SLS(VOTES, seed=1), 5, (5, 4)),
        (Majority(VOTES), None, (4,)),
        (Soft(VOTES), None, (4, 3)),
        (Soft(VOTES), 2, (2, 4, 3)),
        (Multipass(VOTES, seed=1, prior=0.5), 7, (7, 4, 3)),
        (SLS(VOTES, seed=1, prior=[0.1, 0.2, 0.3]), 1, (1, 4, 3)),
        (Sharpening(VOTES), 5, (5, 4, 3)),
    ],
)
def test_what_is_written_is_what_a_loss_would_get(
    tmp_path: Path, delivery: Delivery, epochs: int | None, shape: tuple[int, ...]
) -> None:
    path = tmp_path / "out.npy"
    told: list[int] = []
    assert write_delivery(path, delivery, epochs, track=lambda each: (told.append(one) or one for one in each)) == shape
    written = np.load(path)
    assert written.shape == shape
    rows = delivery.labels if isinstance(delivery, HardDelivery) else delivery.targets
    expected = rows(0) if epochs is None else np.stack([rows(epoch) for epoch in range(epochs)])
    np.testing.assert_array_equal(written, expected)
    assert written.dtype == expected.dtype
    assert told == list(range(epochs or 0))
    assert [file.name for file in tmp_path.iterdir()] == ["out.npy"]


def test_a_wrong_name_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^the output must end in \.npy, \.csv, \.parquet, but got '.*out\.txt'"):
        write_delivery(tmp_path / "out.txt", Soft(VOTES), None)
    with pytest.raises(InputError, match="epochs must be"):
        write_delivery(tmp_path / "out.npy", SLS(VOTES, seed=0), 0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("delivery", [SLS(VOTES, seed=0), Multipass(VOTES, seed=0, prior=1.0), Sharpening(VOTES)])
@pytest.mark.parametrize("suffix", [".npy", ".csv", ".parquet"])
def test_one_epoch_is_not_written_for_all(tmp_path: Path, delivery: Delivery, suffix: str) -> None:
    with pytest.raises(InputError) as error:
        write_delivery(tmp_path / f"out{suffix}", delivery, None)
    assert str(error.value) == (
        "epochs must say how many are written of what changes from epoch to epoch, but got None. Pass e.g. epochs=50."
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if not method.helper])
def test_what_changes_is_what_the_catalogue_says(name: str) -> None:
    assert METHODS[name].deliver(VOTES, seed=0).changes == (METHODS[name].gives != "fixed" and name != "majority")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_of_targets_that_change_have_a_row_for_each_epoch_and_item(tmp_path: Path, suffix: str) -> None:
    path, delivery = tmp_path / f"out{suffix}", Multipass(VOTES, seed=0, prior=0.5)
    assert write_delivery(path, delivery, 5) == (5, 4, 3)
    table = pl.read_csv(path) if suffix == ".csv" else pl.read_parquet(path)
    assert table.columns == ["epoch", "item", *VOTES.classes]
    assert table["epoch"].to_list() == np.repeat(np.arange(5), 4).tolist()
    written = table.select(VOTES.classes).to_numpy().reshape(5, 4, 3)
    np.testing.assert_allclose(written, np.stack([delivery.targets(epoch) for epoch in range(5)]), rtol=1e-6)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_hold_what_arrays_hold(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    read = pl.read_csv if suffix == ".csv" else pl.read_parquet
    write_delivery(path, Soft(VOTES), None)
    table = read(path, schema_overrides={"item": pl.String}) if suffix == ".csv" else read(path)
    assert table.columns == ["item", *VOTES.classes]
    assert table["item"].to_list() == VOTES.item_ids.tolist()
    np.testing.assert_allclose(table.select(VOTES.classes).to_numpy(), VOTES.probs, rtol=1e-6)
    delivery = SLS(VOTES, seed=0)
    write_delivery(path, delivery, 2)
    table = read(path)
    assert table["epoch"].to_list() == [0] * VOTES.n_items + [1] * VOTES.n_items
    expected = [VOTES.classes[label] for epoch in range(2) for label in delivery.labels(epoch)]
    assert table["label"].cast(pl.String).to_list() == expected


def test_what_was_there_stays_if_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "out.npy"
    np.save(path, np.zeros(3))

    def stop(epochs: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_delivery(path, SLS(VOTES, seed=0), 9, track=stop)  # type: ignore[arg-type]
    np.testing.assert_array_equal(np.load(path), np.zeros(3))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("item,annotator,label\na,x,cat\na,y,dog\nb,x,cat\n", encoding="utf-8")
    row = Method("towards the shares", "changing", Sharpening, {"pace": 0.5})
    monkeypatch.setitem(METHODS, "sharpening", row)
    monkeypatch.setitem(METHODS, "crossed", Method("mixed with predictions", "fixed", Soft, helper="soft"))
    return tmp_path


def test_a_method_whose_targets_change(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["deliver", "votes.csv", "-m", "sharpening:pace=0.25", "--epochs", "3", "-o", "out.npy"]
    assert main([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["method"], told["options"], told["epochs"], told["shape"]) == (
        "sharpening", {"pace": 0.25}, 3, [3, 2, 2],
    )  # fmt: skip
    written = np.load("out.npy")
    np.testing.assert_allclose(written[1, 1], [1 - 0.125, 0.125] if told["classes"][0] == "cat" else 0, atol=0.05)
    assert main(line) == 0
    assert capsys.readouterr().out == (
        "out.npy: sharpening:pace=0.25 targets, epochs x items x classes, 3 x 2 x 2; classes cat, dog\n"
    )


def test_the_fitted_prior_changes_from_epoch_to_epoch(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["deliver", "votes.csv", "-m", "multipass-prior", "--epochs", "4", "-o", "out.npy"]
    assert main(line) == 0
    assert capsys.readouterr().out == (
        "out.npy: multipass-prior targets, epochs x items x classes, 4 x 2 x 2; classes cat, dog\n"
    )
    votes = read_votes("votes.csv")
    expected = Multipass(votes, seed=0, prior=fit_dirichlet_prior(votes))
    np.testing.assert_array_equal(np.load("out.npy"), [expected.targets(epoch) for epoch in range(4)])


def test_options_follow_the_name_and_hold_is_one_of_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ["deliver", "votes.csv", "--epochs", "9", "--json"]
    for name, more in (("one", ["-m", "sls:hold=3"]), ("two", ["-m", "sls", "--hold", "3"])):
        assert main([*common, *more, "-o", f"{name}.npy"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert (told["method"], told["options"], told["hold"]) == ("sls", {"hold": 3}, 3)
    assert Path("one.npy").read_bytes() == Path("two.npy").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "sls:hold=3", "--hold", "3"], "--hold is for sls and shuffled-sls, but got --method sls:hold=3. Leave it out."),
        (["-m", "soft:hold=3"], "soft has no options, but got 'hold'. Leave them out."),
        (["-m", "crossed"], "the method must need votes alone, but crossed needs trained models. Train with it instead."),
    ],
)  # fmt: skip
def test_options_that_do_not_fit(
    folder: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["deliver", "votes.csv", *arguments, "-o", "out.npy"]) == 2
    assert capsys.readouterr().err == f"votewise: {message}\n"
    assert not Path("out.npy").exists()
