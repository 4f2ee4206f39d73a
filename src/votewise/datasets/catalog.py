"""The data sets votewise knows: what they are, where their files go, under which licence."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from votewise._checks import check_choice


@dataclass(frozen=True)
class DataFile:
    """One file of a data set: its name as released, and the SHA-256 of its bytes where that is settled."""

    name: str
    checksum: str | None = None


@dataclass(frozen=True)
class Dataset:
    """A known data set.

    Attributes:
        title: what it is, in a line.
        votes: how many people said what of how many items.
        licence: as its authors state it.
        citation: whom to cite.
        source: where its authors publish it.
        files: what to place in the data folder; empty if it comes with a package.
    """

    title: str
    votes: str
    licence: str
    citation: str
    source: str
    files: tuple[DataFile, ...]


DATASETS: dict[str, Dataset] = {
    "vader": Dataset(
        "sentiment of words and emoticons, comes with votewise[demo]",
        "7,506 texts x 10 ratings from -4 to 4",
        "MIT",
        "Hutto & Gilbert 2014, ICWSM",
        "PyPI package vaderSentiment",
        (),
    ),
    "cifar10h": Dataset(
        "human labels of the CIFAR-10 test images",
        "10,000 images, 511,000 votes, 10 classes",
        "CC BY-NC-SA 4.0 (votes); none stated (images)",
        "Peterson et al. 2019, arXiv 1908.07086",
        "github.com/jcpeterson/cifar-10h",
        (DataFile("cifar10h-counts.npy", "9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff"),),
    ),
    "chaosnli": Dataset(
        "natural language inference, 100 votes an item",
        "4,645 items, 464,500 votes, 3 or 2 classes",
        "CC BY-NC 4.0",
        "Nie, Zhou & Bansal 2020, arXiv 2010.03532",
        "github.com/easonnie/ChaosNLI",
        (
            DataFile("chaosNLI_snli.jsonl", "99f9015ddda7d85f66a087452bc30d53974314fe27e7d589e2f41ad44bd509c1"),
            DataFile("chaosNLI_mnli_m.jsonl", "8eb49b589488e7b1a9ec95fb8a864bd50f0509b4f808eed0aed3f8167617664d"),
            DataFile("chaosNLI_alphanli.jsonl", "f55817ecc11a02ba3030cd7d2c567d23843456809020723abad53f4fde024c9e"),
        ),
    ),
    "popquorn": Dataset(
        "offensiveness of comments, with who rated them",
        "1,500 comments, 13,036 ratings by 262 people, 5 classes",
        "none stated",
        "Pei & Jurgens 2023, arXiv 2306.06826",
        "github.com/Jiaxin-Pei/Potato-Prolific-Dataset, dataset/offensiveness/raw_data.csv",
        (DataFile("popquorn_offensiveness.csv", "fb0589093d45da76bf4ef4d0abff679b540bdd5b17af5764913b3ccd0a069e1e"),),
    ),
}


@dataclass(frozen=True)
class FileState:
    """One file and how it stands: "found", "not found" or "differs" (from the released bytes)."""

    name: str
    state: str


def data_folder() -> Path:
    """Where data sets lie: $VOTEWISE_DATA, else ~/.cache/votewise."""
    return Path(os.environ.get("VOTEWISE_DATA") or Path.home() / ".cache" / "votewise")


def find_dataset(name: str) -> Dataset:
    """The data set of a name; an unknown one is an error that lists them all."""
    return DATASETS[check_choice("the data set", name, tuple(DATASETS))]


def file_states(dataset: Dataset, folder: Path) -> list[FileState]:
    """How each file of a data set stands in a folder."""
    return [FileState(file.name, _state(folder / file.name, file.checksum)) for file in dataset.files]


def _state(path: Path, checksum: str | None) -> str:
    if not path.is_file():
        return "not found"
    with path.open("rb") as file:
        digest = sha256(file.read()).hexdigest()
    return "found" if checksum in (None, digest) else "differs"
