"""The data sets votewise knows: what they are, where their files go, under which licence."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise._files import as_path

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
class Release:
    """A known data set.

    Attributes:
        title: what it is, in one line.
        votes: how many items, votes and classes.
        licence: the licence that its authors state.
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

    def about(self, folder: Path) -> dict[str, Any]:
        """What it is, and the state of its files in a folder, in plain values."""
        told = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "parts"}
        return {**told, "files": [asdict(state) for state in dict.fromkeys(release_file_states(self, folder))]}


# The authors publish an archive elsewhere; this is a copy of its files under their own names.
_CHAOSNLI_COPY = (
    "https://raw.githubusercontent.com/jsbaan/calibration-on-disagreement-data/"
    "990e81cacadac5d0268160d1c02bad19d4ddb9a3/data/chaosNLI_v1.0"
)


# LeWiDi 2023: a file for each split, on its own or in an archive of all twelve. Their checksums stand in that order.
_LEWIDI_SPLITS = ("train", "dev", "test")
_LEWIDI = (
    (
        "lewidi-armis",
        "misogyny and sexism in Arabic tweets",
        "943 tweets, 2,829 votes by 3 people, 2 classes",
        "Almanea & Poesio 2022, LREC",
        "ArMIS",
        (
            "549dcd92484fa916e4b8076476fba451cda09b8dca0ba501e70cf5a72c1397f7",
            "482112222496c64a704ea22f710bf184196beee848f5109406e3ca6196502526",
            "95498bb854fe476ee33a88cfecb3b05f26e0e1baef6c1083072a56b61586c06a",
        ),
    ),
    (
        "lewidi-convabuse",
        "how abusive users are to a chatbot, with what was said before",
        "4,050 pairs of texts, 12,168 votes by 8 people, 5 classes",
        "Cercas Curry et al. 2021, arXiv 2109.09483",
        "ConvAbuse",
        (
            "f68d9c1e234afaf7e582103daac4e0f362da6418be3ff38e6cce76cfa3b674fc",
            "d95f9e740b07076e070ed47a8e010894d7cdbacb3246c89a000c26a17c61a04e",
            "4a88c6cf2530eb3610bd1e9e7291916ad7fdaedc01dca4e68bcc3e846310afd9",
        ),
    ),
    (
        "lewidi-hs-brexit",
        "hate speech in tweets on Brexit",
        "1,120 tweets, 6,720 votes by 6 people, 2 classes",
        "Akhtar et al. 2021, arXiv 2106.15896",
        "HS-Brexit",
        (
            "d204d83c7b1a73f037b3aff36aac61357c08a96f96292a37ac7655eb562d81fb",
            "77c17f95985cbb6db47ffcda637e717a9074f2660e15b5c0c1f9006f50da60a7",
            "24e5e1615818ff6e3b96e50245cfe10636ef8ec0ea51f2c2a60acb68858fd195",
        ),
    ),
    (
        "lewidi-md-agreement",
        "offensiveness of tweets from three domains",
        "10,753 tweets, 53,765 votes by 819 people, 2 classes",
        "Leonardelli et al. 2021, arXiv 2109.13563",
        "MD-Agreement",
        (
            "0b100595f7d10fd9b4624c647af2888597472b2dea90643dc788278714f57a6d",
            "b42b6b54015589504de259241e14c17ff605baab4eb146effcb17a95fbfd69f5",
            "a30f185ece8bc99a45ce50e0311593ee1a6882a816c93f6915cabd368f3fad53",
        ),
    ),
)

RELEASES: dict[str, Release] = {
    "vader": Release(
        "sentiment of words and emoticons, comes with votewise[demo]",
        "7,506 texts x 10 ratings from -4 to 4",
        "MIT",
        "Hutto & Gilbert 2014, ICWSM",
        "PyPI package vaderSentiment",
        (),
    ),
    "cifar10h": Release(
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
    "chaosnli-snli": Release(
        "does a premise entail, contradict or leave open a hypothesis; captions of photographs",
        "1,514 pairs of texts, 151,400 votes, 3 classes",
        "CC BY-NC 4.0",
        "Nie, Zhou & Bansal 2020, arXiv 2010.03532; Bowman et al. 2015, arXiv 1508.05326 (texts)",
        "github.com/easonnie/ChaosNLI",
        (
            (
                DataFile(
                    "chaosNLI_snli.jsonl",
                    "sha256:99f9015ddda7d85f66a087452bc30d53974314fe27e7d589e2f41ad44bd509c1",
                    f"{_CHAOSNLI_COPY}/chaosNLI_snli.jsonl",
                ),
            ),
        ),
    ),
    "chaosnli-mnli": Release(
        "does a premise entail, contradict or leave open a hypothesis; texts of many kinds",
        "1,599 pairs of texts, 159,900 votes, 3 classes",
        "CC BY-NC 4.0",
        "Nie, Zhou & Bansal 2020, arXiv 2010.03532; Williams et al. 2018, arXiv 1704.05426 (texts)",
        "github.com/easonnie/ChaosNLI",
        (
            (
                DataFile(
                    "chaosNLI_mnli_m.jsonl",
                    "sha256:8eb49b589488e7b1a9ec95fb8a864bd50f0509b4f808eed0aed3f8167617664d",
                    f"{_CHAOSNLI_COPY}/chaosNLI_mnli_m.jsonl",
                ),
            ),
        ),
    ),
    "chaosnli-alphanli": Release(
        "which of two explanations makes the likelier story",
        "1,532 pairs of stories, 153,200 votes, 2 classes",
        "CC BY-NC 4.0",
        "Nie, Zhou & Bansal 2020, arXiv 2010.03532; Bhagavatula et al. 2020, arXiv 1908.05739 (texts)",
        "github.com/easonnie/ChaosNLI",
        (
            (
                DataFile(
                    "chaosNLI_alphanli.jsonl",
                    "sha256:f55817ecc11a02ba3030cd7d2c567d23843456809020723abad53f4fde024c9e",
                    f"{_CHAOSNLI_COPY}/chaosNLI_alphanli.jsonl",
                ),
            ),
        ),
    ),
    "popquorn-offensiveness": Release(
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
    # Whoever has this file can use it; nobody here had it, so it has no checksum.
    "popquorn-politeness": Release(
        "politeness of emails, with who rated them",
        "3,718 emails, 25,042 ratings by 506 people, 5 classes",
        "none stated",
        "Pei & Jurgens 2023, arXiv 2306.06826",
        "github.com/Jiaxin-Pei/Potato-Prolific-Dataset, dataset/politeness_rating/raw_data.csv",
        ((DataFile("popquorn_politeness.csv"),),),
    ),
    **{
        name: Release(
            title,
            votes,
            "none stated",
            f"{citation}; Leonardelli et al. 2023, arXiv 2304.14803",
            "github.com/Le-Wi-Di/le-wi-di.github.io, LeWiDi_2-2023",
            # The archive has no checksum: the files in it are checked when they are loaded.
            tuple(
                (DataFile(f"{stem}_{split}.json", f"sha256:{checksum}"), DataFile("lewidi_2023.zip"))
                for split, checksum in zip(_LEWIDI_SPLITS, checksums, strict=True)
            ),
        )
        for name, title, votes, citation, stem, checksums in _LEWIDI
    },
    "svhn": Release(
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
    "cifar100": Release(
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

    def __str__(self) -> str:
        """The file, those that would do, and the state."""
        others = f" (or {' or '.join(self.instead)})" if self.instead else ""
        return f"{self.name}{others}: {self.state}"


def data_folder() -> Path:
    """Where data sets lie: $VOTEWISE_DATA, else ~/.cache/votewise."""
    return Path(os.environ.get("VOTEWISE_DATA") or Path.home() / ".cache" / "votewise")


def find_release(name: str) -> Release:
    """The data set of a name; an unknown one is an error that lists them all."""
    return RELEASES[check_choice("the data set", name, tuple(RELEASES))]


def release_file_states(dataset: Release, folder: Path) -> list[FileState]:
    """The state of each part of a data set in a folder."""
    found = []
    for part in dataset.parts:
        states = [_release_file_state(folder / file.name, file) for file in part]
        best = min(states, key=_BEST_FIRST.index)
        chosen = fetchable_release_file(part) if best == MISSING else part[states.index(best)]
        instead = () if best in (FOUND, CHANGED) else tuple(file.name for file in part if file is not chosen)
        found.append(FileState(chosen.name, best, instead))
    return found


def locate_release(name: str, folder: Path | None = None) -> list[Path]:
    """The file that holds each part of a data set; what is missing is named, with how to get it.

    Args:
        name: a data set of the catalogue.
        folder: where it lies; `data_folder()` if left out.
    """
    place = data_folder() if folder is None else as_path(folder)
    parts = find_release(name).parts
    there = [[place / file.name for file in part if (place / file.name).is_file()] for part in parts]
    missing = [part for part, paths in zip(parts, there, strict=True) if not paths]
    if missing:
        can_fetch = all(fetchable_release_file(part).url for part in missing)
        remedy = f"Run 'votewise datasets fetch {name}', or" if can_fetch else "You can"
        raise InputError(
            f"the data set {name} must be in {str(place)!r}",
            f"it lacks {' and '.join(_release_file_names(part) for part in missing)}",
            f"{remedy} {place_release_by_hand(name, missing, place)}; if they are elsewhere, name "
            "that folder (--data on the command line) or set VOTEWISE_DATA to it",
        )
    return [paths[0] for paths in there]


def notes_on_release_files(name: str, contents: Mapping[str, bytes]) -> tuple[str, ...]:
    """A sentence for each file of a data set whose bytes are not the released ones.

    Args:
        name: a data set of the catalogue.
        contents: the bytes of its files, by file name.
    """
    checksums = {file.name: file.checksum for part in find_release(name).parts for file in part}
    return tuple(
        f"{file} does not have the bytes that were released."
        for file, content in contents.items()
        if (checksum := checksums[file]) is not None and checksum != f"sha256:{hashlib.sha256(content).hexdigest()}"
    )


def place_release_by_hand(name: str, parts: list[tuple[DataFile, ...]], folder: Path) -> str:
    """How to get some parts of a data set by hand."""
    sources = dict.fromkeys(fetchable_release_file(part).url or find_release(name).source for part in parts)
    what = " and ".join(fetchable_release_file(part).name for part in parts)
    it = "it" if len(parts) == 1 else "them"
    return f"get {what} by hand from {' and '.join(sources)} and place {it} in {str(folder)!r}"


def fetchable_release_file(part: tuple[DataFile, ...]) -> DataFile:
    """The file of a part that can be fetched; the preferred one if none can."""
    return next((file for file in part if file.url is not None), part[0])


def matches_checksum(path: Path, checksum: str | None) -> bool:
    """Whether a file has the bytes that a checksum names; any bytes will do without a checksum."""
    if checksum is None:
        return True
    algorithm, _, expected = checksum.partition(":")
    with path.open("rb") as file:
        return hashlib.file_digest(file, partial(hashlib.new, algorithm, usedforsecurity=False)).hexdigest() == expected


def _release_file_state(path: Path, file: DataFile) -> str:
    if not path.is_file():
        return MISSING
    if matches_checksum(path, file.checksum):
        return FOUND
    return DIFFERS if file.exact else CHANGED


def _release_file_names(part: tuple[DataFile, ...]) -> str:
    first = fetchable_release_file(part)
    others = [file.name for file in part if file is not first]
    return f"{first.name} (or {' or '.join(others)})" if others else first.name
