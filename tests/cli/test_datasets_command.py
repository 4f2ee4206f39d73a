"""`votewise datasets` and `votewise datasets fetch`, against a real server on this machine."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from votewise.cli.main import main
from votewise.data import RELEASES, Release
from votewise.data.releases import DataFile

CONTENT = b"votes" * 1000


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A catalogued data set that a server on this machine offers; the folder is where it goes."""
    published = tmp_path / "published"
    published.mkdir()
    (published / "toy.bin").write_bytes(CONTENT)
    folder = tmp_path / "data"
    monkeypatch.setenv("VOTEWISE_DATA", str(folder))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    handler = functools.partial(Quiet, directory=str(published))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/toy.bin"
        file = DataFile("toy.bin", f"sha256:{hashlib.sha256(CONTENT).hexdigest()}", url)
        unpacked = DataFile("toy/unpacked", f"md5:{'0' * 32}", exact=False)
        toy = Release("a toy [of tests]", "images only, no votes", "none", "nobody", "example.org", ((unpacked, file),))
        monkeypatch.setitem(RELEASES, "toy", toy)
        yield folder
        server.shutdown()
        thread.join()


def test_fetch_and_fetch_again(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "fetch", "toy"]) == 0
    out = capsys.readouterr()
    assert (out.out, out.err) == ("toy.bin: fetched\n", f"votewise: the files are in {toy}.\n")
    assert (toy / "toy.bin").read_bytes() == CONTENT
    assert main(["datasets", "fetch", "toy", "-q"]) == 0
    out = capsys.readouterr()
    assert (out.out, out.err) == ("toy.bin: found\n", "")


def test_fetch_for_machines_into_another_folder(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = tmp_path / "else" / "where"
    assert main(["datasets", "fetch", "toy", "--data", str(elsewhere), "--json"]) == 0
    out = capsys.readouterr()
    assert json.loads(out.out) == {
        "folder": str(elsewhere),
        "name": "toy",
        "files": [{"name": "toy.bin", "state": "fetched", "instead": []}],
    }
    assert out.err == ""
    assert (elsewhere / "toy.bin").read_bytes() == CONTENT
    assert not toy.exists()


def test_how_files_stand(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "toy"]) == 0
    text = capsys.readouterr().out
    assert "toy  a toy [of tests]\n  images only, no votes; licence: none\n" in text
    assert "\n  toy.bin (or toy/unpacked): not found\n" in text
    assert "To download missing files: votewise datasets fetch NAME" in text
    (toy / "toy").mkdir(parents=True)
    (toy / "toy" / "unpacked").write_bytes(b"pickled anew")
    assert main(["datasets", "toy", "-q"]) == 0
    assert capsys.readouterr().out.endswith("\n  toy/unpacked: found (not the released bytes)\n")
    (toy / "toy" / "unpacked").unlink()
    (toy / "toy.bin").write_bytes(b"mine")
    assert main(["datasets", "--data", str(toy), "toy", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["datasets"]
    assert list(row) == ["name", "title", "votes", "licence", "citation", "source", "files"]
    assert row["files"] == [{"name": "toy.bin", "state": "differs", "instead": ["toy/unpacked"]}]


def test_a_file_that_differs_is_bad_input(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy.mkdir()
    (toy / "toy.bin").write_bytes(b"mine")
    assert main(["datasets", "fetch", "toy"]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith(f"votewise: {str(toy / 'toy.bin')!r} must have the published bytes, but it has others;")


def test_a_download_that_fails_is_no_bad_input(toy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "published" / "toy.bin").unlink()
    assert main(["datasets", "fetch", "toy"]) == 1
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith("votewise: toy.bin must be downloaded from http://127.0.0.1:")
    assert "but the server said: 404 File not found. Try again later, or get toy.bin by hand from http" in out.err
    assert out.err.endswith(f" and place it in {str(toy)!r}.\n")


def test_a_folder_that_cannot_be_written(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "fetch", "toy", "--data", "/proc/votewise"]) == 1
    assert capsys.readouterr().err.startswith("votewise: operating system error: ")
    assert main(["datasets", "fetch", "toy", "--data", __file__]) == 2
    assert f"the data folder must be a folder, but {__file__!r} is a file." in capsys.readouterr().err


def test_what_comes_with_a_package(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["datasets", "fetch", "vader"]) == 0
    assert capsys.readouterr().out == "vader: nothing to fetch; it comes with a package\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["fetch"],
            "votewise: datasets takes no argument, NAME, or fetch NAME, but got 'fetch'. Run 'votewise datasets' ",
        ),
        (["toy", "cifar10h"], "votewise: datasets takes no argument, NAME, or fetch NAME, but got 'toy cifar10h'. "),
        (
            ["fetch", "cifar10"],
            "votewise: the data set must be one of vader, cifar10h, chaosnli-snli, chaosnli-mnli, chaosnli-alphanli, popq",
        ),
        (["fetch", "toy", "more"], "Usage: votewise datasets [OPTIONS] [fetch] [NAME]"),
    ],
)
def test_bad_input(toy: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["datasets", *arguments]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert out.err.startswith(message)


def test_without_a_network_the_way_by_hand_is_told(tmp_path: Path) -> None:
    """As a process of its own, behind a proxy that is not there."""
    nowhere = "http://127.0.0.1:9"
    out = subprocess.run(
        [sys.executable, "-m", "votewise", "datasets", "fetch", "cifar10h", "--data", str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "https_proxy": nowhere, "http_proxy": nowhere, "no_proxy": ""},
        check=False,
    )
    assert (out.returncode, out.stdout) == (1, "")
    assert out.stderr.startswith(
        "votewise: cifar10h-counts.npy must be downloaded from https://raw.githubusercontent.com/"
    )
    assert ", but no connection could be made (" in out.stderr
    assert "or get cifar10h-counts.npy and cifar-10-python.tar.gz by hand from https://" in out.stderr
    assert list(tmp_path.iterdir()) == []
