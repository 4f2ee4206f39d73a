"""Pretrained encoders as they lie on disk: found, checked and named by their content, or packed into one file.

Only safetensors, JSON and text are read, so that no encoder can run code.
"""

from __future__ import annotations

import base64
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from votewise._checks import first_few
from votewise._errors import InputError, MissingExtraError, VotewiseError
from votewise._json import parse_json

_CONFIG = "config.json"
_WEIGHTS, _SHARDS = "model.safetensors", "model.safetensors.index.json"
_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")

# What says how texts become tokens, and images pixels. Any one of the first group and of the last is enough.
_TOKENS = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
_MORE_TOKENS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt")
_PIXELS = ("preprocessor_config.json", "processor_config.json")


@dataclass(frozen=True)
class Pretrained:
    """A folder with a pretrained encoder.

    Attributes:
        kind: kind of its inputs, "text" or "images".
        folder: where it lies.
        weights: names of its safetensors files.
        files: names of all other files that it consists of.
        sha256: of all of them; wherever the encoder lies, it has the same.
        hub: its name on the Hugging Face hub with the commit, "name@commit"; empty if it was given as a folder.
    """

    kind: str
    folder: Path
    weights: tuple[str, ...]
    files: tuple[str, ...]
    sha256: str
    hub: str = ""


def open_pretrained(place: str, kind: str) -> Pretrained:
    """An encoder in a folder, or by its name on the Hugging Face hub; an incomplete one is an error.

    Args:
        place: path of a folder; or a name on the hub, perhaps with a branch, tag or commit ("name@revision"), which is
            looked up in the local cache of the hub if there is no network.
        kind: kind of its inputs, "text" or "images".
    """
    if kind not in ("text", "images"):
        raise InputError("encoders take text or images", f"got {kind}", "Use mlp for tables of numbers")
    folder = Path(place).expanduser()
    if folder.is_dir():
        return _checked(folder.resolve(), place, kind, "")
    name, _, revision = place.partition("@")
    if folder.exists() or not _is_hub_name(name):
        raise InputError(
            "an encoder must be a folder, or a name on the Hugging Face hub (such as microsoft/mpnet-base)",
            f"{place!r} is {'a file' if folder.exists() else 'neither'}",
            "Check the path",
        )
    require_transformers()
    snapshot = _fetch(name, revision or None)
    return _checked(snapshot, place, kind, f"{name}@{snapshot.name}")


def _is_hub_name(name: str) -> bool:
    parts = name.split("/")
    return 1 <= len(parts) <= 2 and all(
        part and part.replace("-", "").replace("_", "").replace(".", "").isalnum() and part.isascii() for part in parts
    ) and not name.startswith((".", "-"))  # fmt: skip


def _fetch(name: str, revision: str | None) -> Path:
    """The folder in the hub's cache with one commit of a repository."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RevisionNotFoundError

    wanted = [_CONFIG, _SHARDS, "*.safetensors", *_TOKENS, *_MORE_TOKENS, *_PIXELS]
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=wanted, ignore_patterns=["*/*"]))
    except RevisionNotFoundError:
        raise InputError(
            f"{name!r} must have the revision that is asked for", f"it has no {revision!r}", "Leave out @revision"
        ) from None
    except LocalEntryNotFoundError:
        got = "the hub cannot be reached, and the local cache does not have it"
    except HfHubHTTPError as error:  # no such repository, or one that asks for a login
        got = f"the hub says: {str(error).strip().splitlines()[0].rstrip('.')}"
    raise InputError(f"the encoder {name!r} must be on the Hugging Face hub", got, "Check the name, or give a folder")


def _checked(folder: Path, place: str, kind: str, hub: str) -> Pretrained:
    """The encoder in a folder, if it has all that it needs."""
    there = {entry.name for entry in folder.iterdir() if entry.is_file()}
    config = _read_json(folder / _CONFIG, place) if _CONFIG in there else None
    if config is None:
        raise InputError(
            "the folder of an encoder must hold config.json",
            f"{place!r} does not" + ("" if there else "; it holds no file"),
            "Name the folder that save_pretrained wrote, or one from the Hugging Face hub",
        )
    if "model_type" not in config:
        raise InputError(
            "the config.json of an encoder must name its model_type",
            f"that of {place!r} does not",
            "Save the encoder with transformers: model.save_pretrained(folder)",
        )
    if {"text_config", "vision_config"} <= set(config):
        raise InputError(
            "an encoder must take texts or images alone",
            f"{place!r} takes both",
            "Save the half you need, e.g. CLIPVisionModel.from_pretrained(folder).save_pretrained(other)",
        )
    if _WEIGHTS in there:
        weights: tuple[str, ...] = (_WEIGHTS,)
    elif _SHARDS in there:
        shards = _read_json(folder / _SHARDS, place).get("weight_map")
        weights = tuple(sorted({str(name) for name in shards.values()})) if isinstance(shards, dict) else ()
        if lacking := [name for name in weights if name not in there] or ([] if weights else ["all"]):
            raise InputError(
                "an encoder must have all parts of its weights",
                f"{place!r} lacks {first_few(lacking)}",
                "Fetch the folder again",
            )
    else:
        pickled = sorted(name for name in there if name.endswith(_PICKLED))
        raise InputError(
            f"the weights of an encoder must be in {_WEIGHTS}",
            f"{place!r} has only {first_few(pickled)}, and reading pickled weights can run code"
            if pickled
            else f"{place!r} has none",
            "If you trust them, convert them: AutoModel.from_pretrained(folder).save_pretrained(other)"
            if pickled
            else "Fetch the folder again",
        )
    needed, more = (_TOKENS, _MORE_TOKENS) if kind == "text" else (_PIXELS, ())
    if there.isdisjoint(needed):
        what = "a tokenizer" if kind == "text" else "an image processor"
        raise InputError(
            f"an encoder of {kind} must have {what} ({first_few(needed)})",
            f"{place!r} has none",
            f"Save {what.removeprefix('an ').removeprefix('a ')} to the same folder, or take an encoder of {kind}",
        )
    files = (_CONFIG, *sorted(there.intersection((*needed, *more))))
    digest = sha256()
    for name in sorted((*files, *weights)):
        state = (folder / name).stat()
        digest.update(f"{name} {_file_sha256(folder / name, state.st_size, state.st_mtime_ns)}\n".encode())
    return Pretrained(kind, folder, weights, files, digest.hexdigest(), hub)


@lru_cache(maxsize=256)
def _file_sha256(path: Path, size: int, changed: int) -> str:  # noqa: ARG001  # a file that has changed is read again
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _read_json(path: Path, place: str) -> dict[str, Any]:
    try:
        values = parse_json(path.read_bytes())
    except ValueError as error:
        values, reason = None, str(error)
    else:
        reason = f"it is a {type(values).__name__}"
    if not isinstance(values, dict):
        raise InputError(f"{path.name} of an encoder must be a JSON object", f"in {place!r} {reason}", "Fetch it again")
    return values


def packed(encoder: Pretrained) -> dict[str, str]:
    """The files of an encoder by name, without its weights, as text that `unpack` takes; binary ones in base 64."""
    texts = {}
    for name in encoder.files:
        content = (encoder.folder / name).read_bytes()
        texts[name] = base64.b64encode(content).decode("ascii") if name.endswith(".model") else content.decode("utf-8")
    return texts


def unpack(texts: Mapping[str, str], folder: Path) -> None:
    """Write the files of an encoder that `packed` gave into a folder; names of any other file are refused."""
    for name, text in texts.items():
        if name not in (_CONFIG, *_TOKENS, *_MORE_TOKENS, *_PIXELS):
            raise InputError("a saved encoder must consist of known files", f"it has {name!r}", "Train the model again")
        content = base64.b64decode(text, validate=True) if name.endswith(".model") else text.encode("utf-8")
        (folder / name).write_bytes(content)


def require_transformers() -> Any:
    """The package transformers; one that is missing, or broken by torchvision, is an error in words."""
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("a pretrained encoder", "transformers", "encoders") from None
    return transformers


@contextmanager
def in_words(place: str, task: str) -> Iterator[None]:
    """Turn what transformers raises over an encoder into an `InputError`; its progress bars are not shown.

    Args:
        place: the encoder as it was named.
        task: what is done, with the preposition that the encoder follows.
    """
    transformers = require_transformers()
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    try:
        logging.set_verbosity(transformers.logging.CRITICAL)
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        yield
    except (MemoryError, VotewiseError):
        raise
    except Exception as error:  # what a damaged file, a foreign network or a broken package raises is unforeseeable
        if "torchvision" in "".join(traceback.format_exception(error)) and (reason := _broken_torchvision()):
            raise VotewiseError(
                f"transformers cannot be used, since the installed torchvision does not fit torch ({reason}). "
                "Uninstall torchvision, which votewise does not need, or install the one for your torch."
            ) from None
        raise InputError(
            f"transformers must be able to {task} the encoder {place!r}",
            f"it says: {first_sentence(error)}",
            "Check the folder, or fetch it again",
        ) from None
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def first_sentence(error: Exception) -> str:
    """The beginning of a message, on one line."""
    words = " ".join(str(error).split()) or type(error).__name__
    return words.partition(". ")[0].rstrip(".")[:300]


def _broken_torchvision() -> str:
    """Why torchvision cannot be imported; empty if it can, or is not installed."""
    load: Callable[[str], Any] = __import__
    try:
        load("torchvision")
    except ModuleNotFoundError as error:
        return "" if error.name == "torchvision" else first_sentence(error)
    except Exception as error:  # the operators of another torch are missing in ways of their own
        return first_sentence(error)
    return ""
