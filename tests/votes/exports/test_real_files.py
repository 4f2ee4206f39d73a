"""The released files of LeWiDi 2023, ChaosNLI and POPQUORN, whole, against their published and counted facts."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest

from votewise import overview, read_votes
from votewise.votes import entropy_per_item, tied

# Items, annotators of each (least, most), annotators in all, votes.
LEWIDI = {
    "ArMIS_train": (657, (3, 3), 3, 1971),
    "ArMIS_dev": (141, (3, 3), 3, 423),
    "ArMIS_test": (145, (3, 3), 3, 435),
    "ConvAbuse_train": (2398, (2, 7), 8, 7144),
    "ConvAbuse_dev": (812, (2, 7), 8, 2414),
    "ConvAbuse_test": (840, (2, 8), 8, 2610),
    "HS-Brexit_train": (784, (6, 6), 6, 4704),
    "HS-Brexit_dev": (168, (6, 6), 6, 1008),
    "HS-Brexit_test": (168, (6, 6), 6, 1008),
    "MD-Agreement_train": (6592, (5, 5), 670, 32_960),
    "MD-Agreement_dev": (1104, (5, 5), 534, 5520),
    "MD-Agreement_test": (3057, (5, 5), 246, 15_285),
}


@pytest.fixture(scope="session")
def lewidi(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (data_folder / "lewidi_2023.zip").is_file():
        pytest.skip(f"no data: {data_folder} has no lewidi_2023.zip")
    folder = tmp_path_factory.mktemp("lewidi")
    with zipfile.ZipFile(data_folder / "lewidi_2023.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("name", LEWIDI)
def test_lewidi(lewidi: Path, name: str) -> None:
    path = next(lewidi.rglob(f"{name}.json"))
    votes = read_votes(path, duplicates="all")
    seen = overview(votes)
    spread = (seen.votes_per_item["min"], seen.votes_per_item["max"])
    assert (seen.items, spread, seen.annotators, seen.votes) == LEWIDI[name]
    # The soft labels are the shares of votes, rounded; those of ConvAbuse tell abusive (negative) from not.
    soft = [item["soft_label"] for item in json.loads(path.read_text(encoding="utf-8")).values()]
    is_abuse = np.array([int(label) < 0 for label in votes.classes])
    positive = votes.probs[:, is_abuse if is_abuse.any() else [label == "1" for label in votes.classes]].sum(axis=1)
    np.testing.assert_allclose(positive, [one["1"] for one in soft], atol=0.0051)


def test_lewidi_an_annotator_who_answered_twice_is_reported(lewidi: Path) -> None:
    votes = read_votes(next(lewidi.rglob("MD-Agreement_test.json")))
    assert votes.counts.sum() == 15_284
    assert votes.notes == ("1 answers were given again by the same person; the last one counts",)


def test_lewidi_other_annotations(lewidi: Path) -> None:
    votes = read_votes(next(lewidi.rglob("HS-Brexit_train.json")), question="aggressive language detection")
    assert (votes.n_items, votes.classes, votes.counts.sum(axis=0).tolist()) == (784, ("0", "1"), [4236, 468])


# Items; majorities by class; mean entropy in nats, and items with a tie, where known.
CHAOS = {
    "snli": (1514, {"neutral": 813, "entailment": 421, "contradiction": 280}, 0.5531, 14),
    "mnli_m": (1599, {"entailment": 741, "neutral": 583, "contradiction": 275}, 0.7429, 14),
    "alphanli": (1532, {"2": 774, "1": 758}, None, None),
}


@pytest.mark.parametrize("part", CHAOS)
def test_chaosnli(data_folder: Path, part: str) -> None:
    path = data_folder / f"chaosNLI_{part}.jsonl"
    if not path.is_file():
        pytest.skip(f"no data: {data_folder} has no {path.name}")
    votes = read_votes(path)
    items, majorities, mean_entropy, ties = CHAOS[part]
    assert votes.n_items == items
    assert (votes.counts.sum(axis=1) == 100).all()
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    names = {"e": "entailment", "n": "neutral", "c": "contradiction"}
    majority = [names.get(str(row["majority_label"]), str(row["majority_label"])) for row in rows]
    assert {name: majority.count(name) for name in majorities} == majorities
    top = votes.counts.max(axis=1)
    chosen = votes.counts[np.arange(items), [votes.classes.index(name) for name in majority]]
    np.testing.assert_array_equal(chosen, top)
    entropies = entropy_per_item(votes)
    np.testing.assert_allclose(entropies / math.log(2), [row["entropy"] for row in rows], atol=1e-9)  # theirs in bits
    if mean_entropy is not None:
        assert (round(entropies.mean(), 4), tied(votes).sum()) == (mean_entropy, ties)


def test_popquorn(data_folder: Path) -> None:
    path = data_folder / "popquorn_offensiveness.csv"
    if not path.is_file():
        pytest.skip(f"no data: {data_folder} has no {path.name}")
    votes = read_votes(path)
    seen = overview(votes)
    assert (seen.items, seen.votes, seen.annotators, seen.ties) == (1500, 13_036, 262, 160)
    assert (votes.classes, votes.counts.sum(axis=0).tolist()) == (tuple("12345"), [7516, 2190, 1590, 1039, 701])
    assert round(entropy_per_item(votes).mean() / math.log(5), 3) == 0.522
    as_table = read_votes(path, label="offensiveness")
    np.testing.assert_array_equal(votes.counts, as_table.counts)
    np.testing.assert_array_equal(votes.item_ids, as_table.item_ids)
