"""The data sets votewise knows: what they are, where their files go, under which licence."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from votewise._checks import check_choice
from votewise._errors import InputError

FOUND = "found"
CHANGED = "found (not the released bytes)"
DIFFERS = "differs"
MISSING = "not found"

# The state of a part is that of the best file that can hold it.
_BEST_FIRST = (FOUND, CHANGED, DIFFERS, MISSING)


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Attributes:
        name: its path below the data folder, as released.
        checksum: "sha256:" or "md5:" and the digest of its bytes, where that is known. MD5 is what some authors
            publish; nobody knows how to make a second file with a given MD5, which is all that matters here.
        url: where the file itself can be fetched; None if it must be fetched by hand.
        exact: whether different bytes mean different content; if not, the loader checks the content.
    """

    name: str
    checksum: str | None = None
    url: str | None = None
    exact: bool = True


@dataclass(frozen=True)
class Dataset:
    """A known data set.

    Attributes:
        title: what it is, in one line.
        votes: how many items, votes and classes.
        licence: as its authors state it.
        citation: whom to cite.
        source: where its authors publish it.
        parts: what to place in the data folder: each part by the files that can hold it, the one to prefer first;
            empty if it comes with a package.
    """

    title: str
    votes: str
    licence: str
    citation: str
    source: str
    parts: tuple[tuple[DataFile, ...], ...]


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
        "Peterson et al. 2019, arXiv 1908.07086; Krizhevsky 2009, University of Toronto (images)",
        "github.com/jcpeterson/cifar-10h; www.cs.toronto.edu/~kriz/cifar.html (images)",
        (
            (
                DataFile(
                    "cifar10h-counts.npy",
                    "sha256:9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff",
                    "https://raw.githubusercontent.com/jcpeterson/cifar-10h/master/data/cifar10h-counts.npy",
                ),
            ),
            (
                DataFile("cifar-10-batches-py/test_batch", "md5:40351d587109b95175f43aff81a1287e", exact=False),
                DataFile(
                    "cifar-10-python.tar.gz",
                    "md5:c58f30108f718f92721af3b95e74349a",
                    "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
                ),
            ),
        ),
    ),
    "chaosnli": Dataset(
        "natural language inference, 100 votes per item",
        "4,645 items, 464,500 votes, 3 or 2 classes",
        "CC BY-NC 4.0",
        "Nie, Zhou & Bansal 2020, arXiv 2010.03532",
        "github.com/easonnie/ChaosNLI",
        (
            (
                DataFile(
                    "chaosNLI_snli.jsonl", "sha256:99f9015ddda7d85f66a087452bc30d53974314fe27e7d589e2f41ad44bd509c1"
                ),
            ),
            (
                DataFile(
                    "chaosNLI_mnli_m.jsonl", "sha256:8eb49b589488e7b1a9ec95fb8a864bd50f0509b4f808eed0aed3f8167617664d"
                ),
            ),
            (
                DataFile(
                    "chaosNLI_alphanli.jsonl", "sha256:f55817ecc11a02ba3030cd7d2c567d23843456809020723abad53f4fde024c9e"
                ),
            ),
        ),
    ),
    "popquorn": Dataset(
        "offensiveness of comments, with who rated them",
        "1,500 comments, 13,036 ratings by 262 people, 5 classes",
        "none stated",
        "Pei & Jurgens 2023, arXiv 2306.06826",
        "github.com/Jiaxin-Pei/Potato-Prolific-Dataset, dataset/offensiveness/raw_data.csv",
        (
            (
                DataFile(
                    "popquorn_offensiveness.csv",
                    "sha256:fb0589093d45da76bf4ef4d0abff679b540bdd5b17af5764913b3ccd0a069e1e",
                    "https://raw.githubusercontent.com/Jiaxin-Pei/Potato-Prolific-Dataset/"
                    "c329119e878037654f6aa59b319aae6e996585bb/dataset/offensiveness/raw_data.csv",
                ),
            ),
        ),
    ),
    "svhn": Dataset(
        "house numbers in photographs, as outliers for CIFAR-10 models",
        "26,032 images of digits; images only, no votes",
        "non-commercial use only",
        "Netzer et al. 2011, NIPS workshop on deep learning and unsupervised feature learning",
        "ufldl.stanford.edu/housenumbers",
        (
            (
                DataFile(
                    "test_32x32.mat",
                    "md5:eb5a983be6a315427106f1b164d9cef3",
                    "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
                ),
                DataFile("svhn_test_10k.npz"),
            ),
        ),
    ),
    "cifar100": Dataset(
        "images of 100 other classes, as outliers for CIFAR-10 models",
        "10,000 images; images only, no votes",
        "none stated",
        "Krizhevsky 2009, University of Toronto",
        "www.cs.toronto.edu/~kriz/cifar.html",
        (
            (
                DataFile("cifar-100-python/test", "md5:f0ef6b0ae62326f3e7ffdfab6717acfc", exact=False),
                DataFile(
                    "cifar-100-python.tar.gz",
                    "md5:eb9058c3a382ffc7106e4002c42a8d85",
                    "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
                ),
                DataFile("cifar100_part.npz"),
            ),
        ),
    ),
}


@dataclass(frozen=True)
class FileState:
    """One part of a data set and its state.

    Attributes:
        name: the file that holds it, or would.
        state: "found", "found (not the released bytes)", "differs" (from the released bytes) or "not found";
            after fetching also "fetched".
        instead: other files that would do in place of this one.
    """

    name: str
    state: str
    instead: tuple[str, ...] = ()


def data_folder() -> Path:
    """Where data sets lie: $VOTEWISE_DATA, else ~/.cache/votewise."""
    return Path(os.environ.get("VOTEWISE_DATA") or Path.home() / ".cache" / "votewise")


def find_dataset(name: str) -> Dataset:
    """The data set of a name; an unknown one is an error that lists them all."""
    return DATASETS[check_choice("the data set", name, tuple(DATASETS))]


def file_states(dataset: Dataset, folder: Path) -> list[FileState]:
    """The state of each part of a data set in a folder."""
    return [_part_state(part, folder) for part in dataset.parts]


def locate(name: str, folder: Path | None = None) -> list[Path]:
    """The file that holds each part of a data set; what is missing is named, with how to get it.

    Args:
        name: a data set of the catalogue.
        folder: where it lies; `data_folder()` if left out.
    """
    place = data_folder() if folder is None else Path(folder)
    parts = find_dataset(name).parts
    there = [[place / file.name for file in part if (place / file.name).is_file()] for part in parts]
    missing = [part for part, paths in zip(parts, there, strict=True) if not paths]
    if missing:
        raise InputError(
            f"the data set {name} must be in {str(place)!r}",
            f"it lacks {' and '.join(_either(part) for part in missing)}",
            f"Run 'votewise datasets fetch {name}', or {by_hand(name, missing, place)}; if they are elsewhere, name "
            "that folder (--data on the command line) or set VOTEWISE_DATA to it",
        )
    return [paths[0] for paths in there]


def by_hand(name: str, parts: list[tuple[DataFile, ...]], folder: Path) -> str:
    """How to get some parts of a data set by hand."""
    sources = dict.fromkeys(fetchable(part).url or find_dataset(name).source for part in parts)
    what = " and ".join(fetchable(part).name for part in parts)
    it = "it" if len(parts) == 1 else "them"
    return f"get {what} by hand from {' and '.join(sources)} and place {it} in {str(folder)!r}"


def fetchable(part: tuple[DataFile, ...]) -> DataFile:
    """The file of a part that can be fetched; the preferred one if none can."""
    return next((file for file in part if file.url is not None), part[0])


def matches(path: Path, checksum: str | None) -> bool:
    """Whether a file has the bytes that a checksum names; any bytes will do without a checksum."""
    if checksum is None:
        return True
    algorithm, _, expected = checksum.partition(":")
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.new, algorithm, usedforsecurity=False)).hexdigest() == expected


def _part_state(part: tuple[DataFile, ...], folder: Path) -> FileState:
    states = [_state(folder / file.name, file) for file in part]
    best = min(states, key=_BEST_FIRST.index)
    chosen = fetchable(part) if best == MISSING else part[states.index(best)]
    instead = () if best in (FOUND, CHANGED) else tuple(file.name for file in part if file is not chosen)
    return FileState(chosen.name, best, instead)


def _state(path: Path, file: DataFile) -> str:
    if not path.is_file():
        return MISSING
    if matches(path, file.checksum):
        return FOUND
    return DIFFERS if file.exact else CHANGED


def _either(part: tuple[DataFile, ...]) -> str:
    first = fetchable(part)
    others = [file.name for file in part if file is not first]
    return f"{first.name} (or {' or '.join(others)})" if others else first.name
