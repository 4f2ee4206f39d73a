"""Fetching from a real server on this machine: whole, resumed, cut off, wrong, redirected, absent."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from votewise._errors import InputError
from votewise.data import RELEASES, DownloadError, FileState, Release, fetch
from votewise.data.fetching import download
from votewise.data.releases import DataFile, matches_checksum

CONTENT = bytes(range(256)) * 2000
SHA256 = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"
MD5 = f"md5:{hashlib.md5(CONTENT).hexdigest()}"


@dataclass
class Behaviour:
    """What the server does, and what it was asked for."""

    content: bytes = CONTENT
    ranges: bool = True
    status: int = 200
    cuts: list[int] = field(default_factory=list)  # after how many bytes each answer breaks off
    redirect: str | None = None
    announce: bool = True
    asked: list[str | None] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    behaviour: Behaviour

    def do_GET(self) -> None:
        told = self.behaviour
        told.asked.append(self.headers["Range"])
        told.headers = dict(self.headers)
        if told.redirect is not None and self.path == "/file":
            self.answer(302, {"Location": told.redirect, "Content-Length": "0"})
        elif told.status != 200:
            self.answer(told.status, {"Content-Length": "0"})
        else:
            self.send(told)

    def send(self, told: Behaviour) -> None:
        start = int((self.headers["Range"] or "bytes=0-")[6:-1]) if told.ranges else 0
        if start >= len(told.content):
            self.answer(416, {"Content-Length": "0"})
            return
        body = told.content[start:]
        headers = {"Content-Length": str(len(body))} if told.announce else {}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(told.content) - 1}/{len(told.content)}"
        self.answer(206 if start else 200, headers)
        self.wfile.write(body[: told.cuts.pop(0)] if told.cuts else body)

    def answer(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Behaviour]]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    behaviour = Behaviour()
    handler = type("Bound", (Handler,), {"behaviour": behaviour})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/file", behaviour
        running.shutdown()
        thread.join()


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def failure(file: DataFile, folder: Path) -> str:
    with pytest.raises(DownloadError) as caught:
        download(file, folder, "Do something else")
    return str(caught.value)


@pytest.mark.parametrize("checksum", [SHA256, MD5])
@pytest.mark.parametrize("announce", [True, False])
def test_a_file_arrives_whole(server: tuple[str, Behaviour], tmp_path: Path, checksum: str, announce: bool) -> None:
    url, behaviour = server
    behaviour.announce = announce
    told: list[tuple[str, int, int | None]] = []
    folder = tmp_path / "made" / "anew"
    download(DataFile("f.bin", checksum, url), folder, "", lambda *now: told.append(now))
    assert (folder / "f.bin").read_bytes() == CONTENT
    assert names(tmp_path) == ["f.bin"]
    size = len(CONTENT) if announce else None
    assert (told[0], told[-1]) == (("f.bin", 0, size), ("f.bin", len(CONTENT), size))
    assert behaviour.headers["Accept-Encoding"] == "identity"


def test_a_file_below_a_folder(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    download(DataFile("a/b/f.bin", SHA256, server[0]), tmp_path, "")
    assert (tmp_path / "a" / "b" / "f.bin").read_bytes() == CONTENT


def test_a_connection_cut_twice_continues_where_it_stopped(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.cuts = [1000, 200_000]
    download(DataFile("f.bin", SHA256, url), tmp_path, "")
    assert behaviour.asked == [None, "bytes=1000-", "bytes=201000-"]
    assert (tmp_path / "f.bin").read_bytes() == CONTENT


def test_a_connection_cut_again_and_again_is_resumed_by_the_next_run(
    server: tuple[str, Behaviour], tmp_path: Path
) -> None:
    url, behaviour = server
    behaviour.cuts = [100] * 5
    assert failure(DataFile("f.bin", SHA256, url), tmp_path) == (
        f"f.bin must be downloaded from {url}, but the connection ended after 500 of 512,000 bytes; 500 bytes are kept for the "
        "next try. Do something else."
    )
    assert names(tmp_path) == ["f.bin.part"]
    download(DataFile("f.bin", SHA256, url), tmp_path, "")
    assert behaviour.asked[-1] == "bytes=500-"
    assert names(tmp_path) == ["f.bin"]


def test_no_byte_gained_ends_the_tries(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.cuts = [0] * 5
    assert "the connection ended after 0 of 512,000 bytes. Do" in failure(DataFile("f.bin", SHA256, url), tmp_path)
    assert len(behaviour.asked) == 1


def test_a_server_that_ignores_ranges_begins_again(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.ranges = False
    behaviour.cuts = [1000]
    download(DataFile("f.bin", SHA256, url), tmp_path, "")
    assert behaviour.asked == [None, "bytes=1000-"]
    assert (tmp_path / "f.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("stale", [b"another file's start", b"x" * len(CONTENT), b"x" * (len(CONTENT) + 1)])
def test_the_start_of_something_else_is_thrown_away(
    server: tuple[str, Behaviour], tmp_path: Path, stale: bytes
) -> None:
    url, behaviour = server
    (tmp_path / "f.bin.part").write_bytes(stale)
    download(DataFile("f.bin", SHA256, url), tmp_path, "")
    assert behaviour.asked == [f"bytes={len(stale)}-", None]
    assert (tmp_path / "f.bin").read_bytes() == CONTENT


def test_a_whole_part_only_takes_its_place(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    """A process killed between the last byte and the renaming."""
    (tmp_path / "f.bin.part").write_bytes(CONTENT)
    download(DataFile("f.bin", SHA256, server[0]), tmp_path, "")
    assert server[1].asked == [f"bytes={len(CONTENT)}-"]
    assert names(tmp_path) == ["f.bin"]


def test_other_bytes_are_not_kept(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.content = b"<html>Please log in to this network</html>"
    assert failure(DataFile("f.bin", SHA256, url), tmp_path) == (
        f"{url} must give the published bytes of f.bin ({SHA256}), but got other bytes. Do something else."
    )
    assert names(tmp_path) == []


@pytest.mark.parametrize("status", [404, 403, 500, 503])
def test_a_refusal_is_reported(server: tuple[str, Behaviour], tmp_path: Path, status: int) -> None:
    server[1].status = status
    assert f"but the server said: {status} " in failure(DataFile("f.bin", SHA256, server[0]), tmp_path)
    assert names(tmp_path) == []


def test_no_server(closed_port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "f.bin.part").write_bytes(b"half")
    url = f"http://127.0.0.1:{closed_port}/file"
    assert re.fullmatch(
        rf"f\.bin must be downloaded from {url}, but no connection could be made \(.*refused\); 4 bytes are kept for the next try\. "
        r"Do something else\.",
        failure(DataFile("f.bin", SHA256, url), tmp_path),
    )


def test_a_server_that_falls_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("votewise.data.fetching._TIMEOUT", 0.1)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/file"
        assert "but no connection could be made (timed out)" in failure(DataFile("f.bin", SHA256, url), tmp_path)


def test_a_server_that_does_not_speak_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as odd:

        def answer() -> None:
            connection, _ = odd.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{odd.getsockname()[1]}/file"
        assert "but no connection could be made (SSH-2.0-OpenSSH" in failure(DataFile("f.bin", SHA256, url), tmp_path)
        thread.join()


@pytest.mark.parametrize("announce", [True, False])
def test_a_file_too_long(
    server: tuple[str, Behaviour], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, announce: bool
) -> None:
    monkeypatch.setattr("votewise.data.fetching._MOST_BYTES", 300_000)
    server[1].announce = announce
    told = failure(DataFile("f.bin", SHA256, server[0]), tmp_path)
    assert "but the file is longer than 300,000 bytes, so it is not the right one" in told
    assert len(server[1].asked) == 1
    assert names(tmp_path) == ([] if announce else ["f.bin.part"])


@pytest.mark.parametrize(
    "elsewhere",
    ["file:///etc/passwd", "ftp://127.0.0.1/x", "http://example.org/x", "data:text/plain,x", "//[", "http://a..b/"],
)
def test_redirects_to_elsewhere_are_refused(server: tuple[str, Behaviour], tmp_path: Path, elsewhere: str) -> None:
    server[1].redirect = elsewhere
    told = failure(DataFile("f.bin", SHA256, server[0]), tmp_path)
    assert re.search(r"is not one that is safe to follow|no connection could be made \(Invalid IPv6 URL\)", told)
    assert len(server[1].asked) == 1
    assert names(tmp_path) == []


def test_redirects_on_this_machine_are_followed(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    url, behaviour = server
    behaviour.redirect = url.replace("/file", "/moved")
    behaviour.cuts = [1000]
    download(DataFile("f.bin", SHA256, url), tmp_path, "")
    assert behaviour.asked == [None, None, "bytes=1000-", "bytes=1000-"]


def test_a_redirect_without_end(server: tuple[str, Behaviour], tmp_path: Path) -> None:
    server[1].redirect = server[0]
    assert "but the server redirects without end. Do" in failure(DataFile("f.bin", SHA256, server[0]), tmp_path)


@pytest.mark.parametrize("url", ["http://example.org/f", "file:///etc/passwd", "ftp://example.org/f", "/etc/passwd"])
def test_addresses_without_encryption_are_refused(tmp_path: Path, url: str) -> None:
    assert failure(DataFile("f.bin", SHA256, url), tmp_path) == (
        f"f.bin must be downloaded from {url}, but the address {url!r} is not one that is safe to follow (https). "
        "Do something else."
    )


def test_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "f.bin").mkdir()
    for folder, expected in (
        (tmp_path / "file" / "below", f"the data folder must be a folder, but {str(tmp_path / 'file')!r} is a file."),
        (tmp_path, f"{str(tmp_path / 'f.bin')!r} must be free for a file, but something lies there. Move it away."),
    ):
        with pytest.raises(InputError) as caught:
            download(DataFile("f.bin", SHA256, "https://example.org/f"), folder, "")
        assert expected in str(caught.value)


@pytest.fixture
def catalogued(server: tuple[str, Behaviour], monkeypatch: pytest.MonkeyPatch) -> Behaviour:
    """A data set of two parts, one of which can lie in another layout."""
    url, behaviour = server
    either = DataFile("unpacked/f", MD5, exact=False), DataFile("f.gz", MD5, url)
    parts = ((DataFile("f.npy", SHA256, url),), either)
    monkeypatch.setitem(RELEASES, "toy", Release("a toy", "none", "none", "nobody", "example.org", parts))
    return behaviour


def test_a_data_set_is_fetched_once(catalogued: Behaviour, tmp_path: Path) -> None:
    assert fetch("toy", tmp_path) == [FileState("f.npy", "fetched"), FileState("f.gz", "fetched")]
    assert fetch("toy", tmp_path) == [FileState("f.npy", "found"), FileState("f.gz", "found")]
    assert len(catalogued.asked) == 2
    assert names(tmp_path) == ["f.gz", "f.npy"]


def test_only_what_is_missing_is_fetched(
    catalogued: Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOTEWISE_DATA", str(tmp_path))
    (tmp_path / "unpacked").mkdir()
    (tmp_path / "unpacked" / "f").write_bytes(b"pickled anew")
    found = FileState("unpacked/f", "found (not the released bytes)")
    assert fetch("toy") == [FileState("f.npy", "fetched"), found]
    assert len(catalogued.asked) == 1


def test_a_file_that_differs_is_never_overwritten(catalogued: Behaviour, tmp_path: Path) -> None:
    (tmp_path / "f.npy").write_bytes(b"mine")
    with pytest.raises(InputError) as caught:
        fetch("toy", tmp_path)
    assert str(caught.value) == (
        f"{str(tmp_path / 'f.npy')!r} must have the published bytes, but it has others; it was left as it is. "
        "Move it away and fetch again, or name another folder with --data or VOTEWISE_DATA."
    )
    assert (tmp_path / "f.npy").read_bytes() == b"mine"
    assert (catalogued.asked, names(tmp_path)) == ([], ["f.npy"])


def test_what_failed_can_be_placed_by_hand(catalogued: Behaviour, tmp_path: Path) -> None:
    catalogued.status = 404
    with pytest.raises(DownloadError) as caught:
        fetch("toy", tmp_path)
    assert re.fullmatch(
        r"f\.npy must be downloaded from (\S+), but the server said: 404 Not Found\. Try again later, or get f\.npy and f\.gz "
        rf"by hand from \1 and place them in {re.escape(repr(str(tmp_path)))}\.",
        str(caught.value),
    )


def test_what_must_be_fetched_by_hand(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        fetch("lewidi-armis", tmp_path / "new")
    files = "ArMIS_train.json and ArMIS_dev.json and ArMIS_test.json"
    assert str(caught.value) == (
        f"every missing file of lewidi-armis must have a download address, but there is none for {files}. You can get {files} "
        "by hand from github.com/Le-Wi-Di/le-wi-di.github.io, LeWiDi_2-2023 and place them in "
        f"{str(tmp_path / 'new')!r}."
    )
    assert names(tmp_path) == []
    assert fetch("vader", tmp_path) == []
    with pytest.raises(InputError, match="Did you mean 'cifar10h'"):
        fetch("cifar10", tmp_path)


def test_every_address_is_safe_and_every_fetched_file_is_checked() -> None:
    files = [file for dataset in RELEASES.values() for part in dataset.parts for file in part]
    for file in files:
        assert file.checksum is None or re.fullmatch("sha256:[0-9a-f]{64}|md5:[0-9a-f]{32}", file.checksum)
        assert not Path(file.name).is_absolute()
        if file.url is not None:
            assert file.checksum is not None
            assert file.exact
            assert file.url.startswith("https://") or file.name == "test_32x32.mat"
    assert len({file.name for file in files}) == len(set(files)), "two data sets name one file differently"
    for dataset in RELEASES.values():
        assert all(sum(file.url is not None for file in part) <= 1 for part in dataset.parts)


def test_the_checksums_are_those_of_the_data(data_folder: Path) -> None:
    preferred = [part[0] for release in RELEASES.values() for part in release.parts]
    there = [file for file in preferred if (data_folder / file.name).is_file()]
    assert "cifar10h-counts.npy" in {file.name for file in there}
    for file in there:
        assert matches_checksum(data_folder / file.name, file.checksum)
