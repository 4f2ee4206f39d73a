"""Fetching data sets: over the network once, checked before use, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from votewise._errors import InputError, VotewiseError
from votewise.data.releases import (
    DIFFERS,
    MISSING,
    DataFile,
    FileState,
    data_folder,
    fetchable_release_file,
    find_release,
    matches_checksum,
    place_release_by_hand,
    release_file_states,
)

OnProgress = Callable[[str, int, int | None], None]

_TIMEOUT = 30.0  # seconds without a byte
_TRIES = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 5
_BLOCK = 1 << 17
_MOST_BYTES = 1 << 28  # the largest file of the catalogue has 171 MB

# Without encryption only to this machine, and to a host that offers nothing else: the checksum protects the content.
_PLAIN_HOSTS = frozenset({"127.0.0.1", "::1", "localhost", "ufldl.stanford.edu"})


class DownloadError(VotewiseError):
    """A file could not be fetched: no network, no such file, or other bytes than were published."""

    def __init__(self, wanted: str, got: str, remedy: str) -> None:
        """Compose the message from its three parts, each without a closing full stop."""
        super().__init__(f"{wanted}, but {got}. {remedy}.")


class _StoppedError(Exception):
    """An attempt to fetch a file failed."""


class _CutError(_StoppedError):
    """The connection ended before the file did, so another try may bring the rest."""


def fetch(dataset: str, folder: Path | None = None, *, on_progress: OnProgress | None = None) -> list[FileState]:
    """Fetch the missing files of a data set into a folder; those that are there are left alone.

    A fetched file takes its place only if its published checksum matches. An interrupted fetch continues where it
    stopped. `DownloadError` says how to get by hand what could not be fetched.

    Args:
        dataset: a name of the catalogue.
        folder: where the files go; `data_folder()` if left out. It is created if needed.
        on_progress: called with a file's name, the bytes received and the total (None if unknown).
    """
    known = find_release(dataset)
    place = data_folder() if folder is None else Path(folder)
    states = release_file_states(known, place)
    for state in states:
        if state.state == DIFFERS:
            raise InputError(
                f"{str(place / state.name)!r} must have the published bytes",
                "it has others; it was left as it is",
                "Move it away and fetch again, or name another folder with --data or VOTEWISE_DATA",
            )
    missing = [part for part, now in zip(known.parts, states, strict=True) if now.state == MISSING]
    hidden = [part for part in missing if fetchable_release_file(part).url is None]
    if hidden:
        raise InputError(
            f"every missing file of {dataset} must have a download address",
            f"there is none for {' and '.join(fetchable_release_file(part).name for part in hidden)}",
            f"You can {place_release_by_hand(dataset, hidden, place)}",
        )
    for done, part in enumerate(missing):
        advice = f"Try again later, or {place_release_by_hand(dataset, missing[done:], place)}"
        download(fetchable_release_file(part), place, advice, on_progress)
    return [FileState(now.name, "fetched") if now.state == MISSING else now for now in states]


def download(file: DataFile, folder: Path, advice: str, on_progress: OnProgress | None = None) -> None:
    """Fetch one file into a folder, whole or not at all.

    Args:
        file: its url, its checksum and its name below the folder.
        folder: the data folder.
        advice: remedy that the error suggests.
        on_progress: called as `fetch` calls it.

    Raises:
        DownloadError: the file could not be fetched.
    """
    target = folder / file.name
    in_the_way = next((place for place in reversed(target.parents) if place.exists() and not place.is_dir()), None)
    if in_the_way is not None:
        raise InputError("the data folder must be a folder", f"{str(in_the_way)!r} is a file", "Name another folder")
    if target.exists():
        raise InputError(f"{str(target)!r} must be free for a file", "something lies there", "Move it away")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    resumed = part.exists()
    _download_with_retries(file, part, advice, on_progress)
    if matches_checksum(part, file.checksum):
        part.replace(target)
        return
    part.unlink()
    if not resumed:
        raise DownloadError(
            f"{file.url} must give the published bytes of {file.name} ({file.checksum})", "got other bytes", advice
        )
    download(file, folder, advice, on_progress)  # the partial file was of something else; start again


def _download_with_retries(file: DataFile, part: Path, advice: str, on_progress: OnProgress | None) -> None:
    """Fetch the bytes of a file to `part`, after those already there; continues as long as each try brings more."""
    for attempt in range(_TRIES):
        before = _downloaded_bytes(part)
        try:
            _download_rest(file, part, on_progress)
            return
        except _StoppedError as stop:
            gained = isinstance(stop, _CutError) and _downloaded_bytes(part) > before
            if attempt == _TRIES - 1 or not gained:
                kept = (
                    f"; {_downloaded_bytes(part):,} bytes are kept for the next try" if _downloaded_bytes(part) else ""
                )
                raise DownloadError(
                    f"{file.name} must be downloaded from {file.url}", f"{stop}{kept}", advice
                ) from None


def _download_rest(file: DataFile, part: Path, on_progress: OnProgress | None) -> None:
    from urllib.error import HTTPError

    start = _downloaded_bytes(part)
    try:
        response = _open_download(str(file.url), start)
    except HTTPError as refusal:
        refusal.close()
        if refusal.code == 416 and start:  # nothing is left to send: the checksum will show whether that was all
            return
        raise _StoppedError(f"the server said: {refusal.code} {refusal.reason}") from None
    except (OSError, HTTPException, ValueError) as error:  # ValueError: redirected to something that is not an address
        raise _StoppedError(f"no connection could be made ({_download_failure(error)})") from None
    with response:
        goes_on = response.status == 206 and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        tell = partial(on_progress or (lambda *_: None), file.name)
        _write_download(response, part, start if goes_on else 0, tell)


def _write_download(response: HTTPResponse, part: Path, start: int, tell: Callable[[int, int | None], None]) -> None:
    """Write what follows the first `start` bytes of `part`; a server that ignores the range begins again."""
    announced = response.headers.get("Content-Length", "")
    total = start + int(announced) if announced.isdigit() else None
    _refuse_too_long(total or 0)
    with part.open("ab" if start else "wb") as kept:
        done = start
        tell(done, total)
        while True:
            try:
                block = response.read(_BLOCK)
            except (OSError, HTTPException) as error:
                raise _CutError(f"the connection broke ({_download_failure(error)})") from None
            if not block:
                break
            done += len(block)
            _refuse_too_long(done)
            kept.write(block)
            tell(done, total)
        kept.flush()
        os.fsync(kept.fileno())
    if total is not None and done < total:
        raise _CutError(f"the connection ended after {done:,} of {total:,} bytes")


def _open_download(url: str, start: int) -> HTTPResponse:
    """Request a file from byte `start` on, and follow redirects that are safe."""
    from urllib import request
    from urllib.error import HTTPError

    # For http and https only: urllib's own opener would also read files and follow redirects.
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    # With compression in transit, byte ranges and checksums would be those of something else.
    headers = {"User-Agent": "votewise", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    for _ in range(_MOST_REDIRECTS):
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _PLAIN_HOSTS):
            raise _StoppedError(f"the address {url!r} is not one that is safe to follow (https)")
        try:
            return opener.open(request.Request(url, headers=headers), timeout=_TIMEOUT)
        except HTTPError as answer:
            if answer.code not in _REDIRECTS or "Location" not in answer.headers:
                raise
            answer.close()
            url = urljoin(url, answer.headers["Location"])
    raise _StoppedError("the server redirects without end")


def _refuse_too_long(size: int) -> None:
    if size > _MOST_BYTES:
        raise _StoppedError(f"the file is longer than {_MOST_BYTES:,} bytes, so it is not the right one")


def _downloaded_bytes(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _download_failure(error: Exception) -> str:
    """What went wrong, in the system's words; urllib wraps it."""
    return str(getattr(error, "reason", error)) or type(error).__name__
