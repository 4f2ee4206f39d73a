"""Broken files by the thousand, for every reader: nothing but votewise's own errors may come out, soon and in little memory.

`python fuzzing.py N [READER ...]` hands N files to the readers in turn, two thirds of which are damaged, and reports any
other exception, any end of the process, and what takes more than 2 s or 1 GiB. `python fuzzing.py READER:CASE` repeats
one. `test_fuzz.py` hands a smaller number to each.
"""

from __future__ import annotations

import csv
import faulthandler
import gzip
import hashlib
import io
import json
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from pyarrow import parquet

from batch_files import python2_batch, write_archive
from limits import megabytes_at_peak, start_of_peak
from sheet_files import HEADER, cells, strings, write_workbook
from votewise import Votes, VotewiseError, overview, read_predictions, read_votes, score
from votewise.data import load_chaosnli, load_lewidi, load_popquorn, open_features, open_images, open_texts
from votewise.data.batches import read_cifar_batch
from votewise.data.outliers import load_cifar100
from votewise.delivery import METHODS
from votewise.papers.pages import read_page_findings
from votewise.predictions import read_labels
from votewise.records import RecordStore, RunRecord, export_runs
from votewise.records.batches import add_batch, read_results, survey_batches
from votewise.records.items import ItemData, read_items, write_items
from votewise.records.results import Between, Results, result_columns, result_number_columns
from votewise.votes import Reading

EXPORTS = Path(__file__).parent / "votes" / "exports" / "samples"

MOST_SECONDS, MOST_MEGABYTES = 2.0, 1024.0
HANGS = 120
MOST_SHOWN = 20

# Bytes of the largest files, about: what is written here takes time, too.
_LARGEST = 1_000_000

CELLS = ["", " ", "0", "1", "-1", "2", "1.0", "0.5", "1e308", "-0", "nan", "NaN", "NA", "inf", "null", "cat", "dog", "DOG", "é", "日本", "a,b", '"', "'", "\t", "\x00", "\ufeff", "=1+1", "9" * 25, "True", "[1, 2]", "{}", "1;2", "x" * 300]  # fmt: skip
HEADERS = ["item", "task", "id", "annotator", "worker", "label", "rating", "cat", "dog", "cow", "", " ", "item ", "label", "text", "annotator_1", "annotator_2", "a", "0", "1", "__index_level_0__", "Unnamed: 0", "class"]  # fmt: skip
SUFFIXES = [".csv", ".csv", ".tsv", ".jsonl", ".parquet", ".npy"]


def random_table(rng: random.Random) -> list[list[str]]:
    """A table that is often valid and sometimes chaotic."""
    shape = rng.choice(["long", "long", "counts", "probs", "wide", "chaos"])
    rows = rng.choice([0, 1, 2, 3, 3, 8])
    if shape == "long":
        table = [["item", "annotator", "label"]] + [
            [rng.choice("abc"), rng.choice("xyz"), rng.choice(["cat", "dog", "3"])] for _ in range(rows)
        ]
    elif shape == "counts":
        table = [["item", "cat", "dog"]] + [
            [f"i{r}", str(rng.randint(0, 4)), str(rng.randint(0, 4))] for r in range(rows)
        ]
    elif shape == "probs":
        table = [["item", "cat", "dog"]] + [
            [f"i{r}", *(lambda p: (str(p), str(1 - p)))(rng.randint(0, 4) / 4)] for r in range(rows)
        ]
    elif shape == "wide":
        table = [["item", "annotator_1", "annotator_2"]] + [
            [f"i{r}", rng.choice("ab"), rng.choice(["a", "b", "", "-1"])] for r in range(rows)
        ]
    else:
        width = rng.randint(1, 5)
        table = [[rng.choice(HEADERS) for _ in range(width)]] + [
            [rng.choice(CELLS) for _ in range(width)] for _ in range(rows)
        ]
    mutilate(table, rng)
    return table


def mutilate(table: list[list[str]], rng: random.Random) -> None:
    """Replace, insert, drop and repeat cells, rows and headers."""
    for _ in range(rng.choice([0, 0, 0, 1, 2, 4])):
        row = rng.randrange(len(table))
        if table[row]:
            column = rng.randrange(len(table[row]))
            match rng.randrange(5):
                case 0:
                    table[row][column] = rng.choice(CELLS)
                case 1:
                    table[row].insert(column, rng.choice(CELLS))
                case 2:
                    del table[row][column]
                case 3:
                    table.append(list(table[row]))
                case 4:
                    table[0] = [rng.choice(HEADERS) for _ in table[0]]


def random_array(rng: random.Random) -> np.ndarray:
    generator = np.random.default_rng(rng.randrange(2**32))
    shape = rng.choice([(), (0,), (3,), (0, 2), (3, 0), (1, 1), (2, 2, 2)] + [(3, 2), (4, 3)] * 5)
    array = generator.integers(-1 if rng.random() < 0.3 else 0, 5, size=shape).astype(rng.choice([np.int64, np.int64, np.uint8, np.float64, np.float32, np.float16, np.int8, np.bool_, np.complex64]))  # fmt: skip
    if array.dtype.kind == "f" and array.ndim == 2 and array.size and rng.random() < 0.6:
        array = (array + 2) / (array + 2).sum(axis=1, keepdims=True)
    if array.size and array.dtype.kind == "f" and rng.random() < 0.4:
        array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf, -1, 0.3])
    if rng.random() < 0.05:
        return array.astype(np.str_)
    return array


def retyped(column: pl.Series, rng: random.Random) -> pl.Series:
    """A column of text, sometimes as another type; what cannot be one becomes null."""
    match rng.randrange(16):
        case 0:
            return column.cast(pl.Float64, strict=False).cast(rng.choice([pl.Int8, pl.Int64, pl.UInt16]), strict=False)
        case 1:
            return column.cast(rng.choice([pl.Float32, pl.Float64]), strict=False)
        case 2:
            return column.cast(rng.choice([pl.Categorical, pl.Binary]))
        case 3:
            return pl.Series(column.name, [rng.choice([[1], [], None]) for _ in column], dtype=pl.List(pl.Int64))
        case 4:
            return pl.Series(column.name, [rng.choice([True, False, None]) for _ in column], dtype=pl.Boolean)
        case _:
            return column


def write_case(rng: random.Random, path: Path) -> Path:
    """Write a table or array under a random suffix, and sometimes damage its bytes."""
    path = path.with_suffix(rng.choice(SUFFIXES))
    table = random_table(rng)
    if path.suffix == ".npy":
        buffer = io.BytesIO()
        np.save(buffer, random_array(rng))
        content = buffer.getvalue()
    elif path.suffix == ".parquet":
        width = max((len(row) for row in table), default=0)
        names = [
            f"{name}{index if table[0].count(name) > 1 else ''}"
            for index, name in enumerate((table[0] + ["x"] * width)[:width])
        ]
        columns = {name: [row[i] if i < len(row) else None for row in table[1:]] for i, name in enumerate(names)}
        buffer = io.BytesIO()
        frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        frame = frame.select(retyped(column, rng) for column in frame)
        frame.write_parquet(buffer)
        content = buffer.getvalue()
    elif path.suffix == ".jsonl":
        odd = rng.choice([[], [], ["1", "null", "[1]", "0.5"]])
        content = "\n".join("{" + ", ".join(f'"{name}": {rng.choice([*odd, chr(34) + cell + chr(34)])}' for name, cell in zip(table[0], row, strict=False)) + "}" for row in table[1:]).encode()  # fmt: skip
    else:
        separator = "," if path.suffix == ".csv" else "\t"
        content = rng.choice(["\n", "\n", "\r\n"]).join(separator.join(row) for row in table).encode(errors="replace")
    if rng.random() < 0.15:
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            if damaged:
                place = rng.randrange(len(damaged))
                match rng.randrange(3):
                    case 0:
                        damaged[place] = rng.randrange(256)
                    case 1:
                        del damaged[place:]
                    case 2:
                        damaged[place:place] = bytes(rng.randrange(256) for _ in range(3))
        content = bytes(damaged)
    path.write_bytes(content)
    return path


def write_fitting_predictions(rng: random.Random, path: Path, votes: Votes) -> None:
    rows = [["item", *votes.classes]]
    for item in votes.item_ids.tolist():
        weights = [rng.randint(0, 3) for _ in votes.classes]
        total = sum(weights) or 1
        rows.append([item, *(str(weight / total) for weight in (weights if sum(weights) else [1, *weights[1:]]))])
    if rng.random() < 0.3:
        rows[rng.randrange(len(rows))][rng.randrange(len(rows[0]))] = rng.choice(CELLS)
    rng.shuffle(body := rows[1:])
    path.write_text(
        "\n".join(",".join(f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row) for row in [rows[0], *body]),
        encoding="utf-8",
    )


def odd_options(rng: random.Random) -> dict[str, object]:
    """Options that seldom fit the file."""
    return {
        "form": rng.choice([None, None, None, "long", "wide", "counts", "probabilities", "tall"]),
        "item": rng.choice([None] * 8 + ["item", "nope"]),
        "label": rng.choice([None] * 8 + ["label", "cat"]),
        "classes": rng.choice([None] * 6 + [["cat", "dog"], ["dog"], ["a", "a"], [""]]),
    }


def read_tables(rng: random.Random, folder: Path) -> Iterator[str]:
    """Votes, labels and predictions: the code behind `inspect`, `score` and `deliver`."""
    votes = read_votes(
        write_case(rng, folder / "votes"),
        **(odd_options(rng) if rng.random() < 0.3 else {}),
        duplicates=rng.choice(["error", "last", "last", "all"]),
        missing=rng.choice(["error", "drop", "drop"]),
        empty=rng.choice(["error", "drop", "drop"]),
    )
    yield "read"
    if rng.random() < 0.25:
        overview(votes)
    delivery = METHODS[rng.choice(list(METHODS))].deliver(votes, seed=rng.randrange(3))
    delivery.targets(rng.randrange(20))
    if rng.random() < 0.8:  # predictions that fit these votes, or nearly
        write_fitting_predictions(rng, predictions := folder / "predictions.csv", votes)
    else:
        predictions = write_case(rng, folder / "predictions")
    joined, probs = read_predictions(predictions, votes, normalize=rng.random() < 0.5)
    labels = read_labels(write_case(rng, folder / "labels"), votes, joined) if rng.random() < 0.2 else None
    score(joined.probs, probs, labels, bins=rng.choice([1, 2, 15]))
    yield "scored"


# --- bytes


def damaged(content: bytes, rng: random.Random, *, sometimes: float = 0.7) -> bytes:
    """A file with a few bytes or parts changed, cut, repeated or put in, as often as not where it tells of sizes."""
    if rng.random() > sometimes or not content:
        return content
    raw = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 8])):
        place = rng.randrange(min(len(raw), rng.choice([64, 512, len(raw)])) or 1) if raw else 0
        end = place + rng.choice([1, 2, 4, 8, 64])
        match rng.randrange(7):
            case 0:
                raw[place:end] = rng.randbytes(end - place)
            case 1:
                raw[place:end] = rng.choice([b"\x00", b"\xff", b"\x7f", b"\x80", b"9", b"-"]) * (end - place)
            case 2:
                del raw[place:end]
            case 3:
                del raw[place:]
            case 4:
                raw[place:place] = rng.randbytes(rng.choice([1, 4, 300]))
            case 5:
                raw[place:place] = raw[place:end] * rng.choice([1, 2, 50])
            case 6:
                raw[place:end] = struct.pack(rng.choice("<>") + "q", rng.choice([-1, 1 << 20, 1 << 31, 1 << 40]))
    return bytes(raw)


def damaged_tree(tree: Any, rng: random.Random) -> Any:
    """A JSON value with a few of its values taken out, exchanged or made of another kind."""
    places: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in inner:
            places.append((node, key))
            stack.append(value)
    for node, key in rng.sample(places, min(len(places), rng.choice([1, 1, 2, 5]))):
        if isinstance(node, dict) and key in node and rng.random() < 0.3:
            del node[key]
        elif isinstance(node, dict) or key < len(node):
            node[key] = rng.choice([None, True, 0, -1, 1e308, 10**30, "", "x" * 3000, "\ud800", [], {}, [[]], [None], {"a": None}, ["a"] * 50, tree])  # fmt: skip
    return tree


def as_text(tree: Any, rng: random.Random) -> bytes:
    """JSON, sometimes nested without end; None of the values that contain themselves."""
    try:
        text = json.dumps(tree)
    except (ValueError, RecursionError):
        text = "[]"
    if rng.random() < 0.03:
        depth = rng.choice([50, 2000, 100_000])
        text = text[: len(text) // 2] + "[" * depth + "]" * depth * rng.randrange(2) + text[len(text) // 2 :]
    return text.encode()


# --- readers


def read_exports(rng: random.Random, folder: Path) -> Iterator[str]:
    """The answers of annotation tools."""
    sample = rng.choice(_export_samples())
    content = sample.read_bytes()
    if rng.random() < 0.6:
        lines = sample.suffix == ".jsonl"
        trees = [json.loads(line) for line in content.splitlines() if line] if lines else [json.loads(content)]
        damaged_tree(trees, rng)
        content = b"\n".join(as_text(tree, rng) for tree in trees)
    path = folder / f"export{rng.choice([sample.suffix, '.json', '.jsonl'])}"
    path.write_bytes(damaged(content, rng, sometimes=0.3))
    read_votes(path, several=rng.choice(["error", "drop", "each"]), empty="drop", missing="drop")
    yield "read"


@cache
def _export_samples() -> list[Path]:
    return sorted(path for path in EXPORTS.rglob("*.json*") if path.name != "metadata.json")


def random_npz(rng: random.Random, arrays: dict[str, np.ndarray]) -> bytes:
    """An archive of arrays, some of which may be what NumPy never writes."""
    packed = io.BytesIO()
    way = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(packed, "w", way) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=True)
            odd = rng.random() < 0.1
            archive.writestr(
                name if odd else f"{name}.npy",
                b"\0" * 3_000_000 if odd else damaged(content.getvalue(), rng, sometimes=0.3),
            )
    return damaged(packed.getvalue(), rng, sometimes=0.3)


def odd_ids(rng: random.Random, count: int) -> np.ndarray:
    match rng.randrange(5):
        case 0:
            return np.array([f"i{number}" for number in range(count)])
        case 1:
            return np.arange(count)
        case 2:
            return np.array([rng.choice(CELLS) for _ in range(count)])
        case 3:
            return np.array([rng.randrange(1 << 32) for _ in range(count)], dtype=np.uint32).view("<U1")
        case _:
            return np.array([None, "a"] * count, dtype=object)[:count]


def read_image_arrays(rng: random.Random, folder: Path) -> Iterator[str]:
    """Images and outliers in a .npz."""
    generator = np.random.default_rng(rng.randrange(1 << 32))
    count = rng.randrange(1, 4)
    images = generator.integers(0, 256, size=(count, 32, 32, 3)).astype(rng.choice([np.uint8] * 4 + [np.float32]))
    if rng.random() < 0.7:
        (folder / "a.npz").write_bytes(random_npz(rng, {"images": images, "ids": odd_ids(rng, count)}))
        opened = open_images(folder / "a.npz")
        yield "read"
        opened.load()
        list(opened.pictures())
    else:
        labels = generator.integers(0, 100, size=count)
        (folder / "cifar100_part.npz").write_bytes(random_npz(rng, {"images": images, "fine": labels}))
        load_cifar100(folder)
        yield "read"


def read_image_files(rng: random.Random, folder: Path) -> Iterator[str]:
    """Images in files of their own."""
    pictures = folder / "pictures"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir()
    for number in range(rng.randrange(1, 3)):
        content = rng.choice(_image_samples())
        (pictures / f"{number}{rng.choice(['.png', '.jpg', '.webp', '.bmp'])}").write_bytes(damaged(content, rng))
    opened = open_images(pictures)
    opened.load()
    list(opened.pictures())
    yield "read"


@cache
def _image_samples() -> list[bytes]:
    """Small pictures in all formats that are read, and in some that are not."""
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, size=(20, 24, 3)).astype(np.uint8)
    found = []
    for kind in ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF", "EPS", "PPM", "ICO", "JPEG2000", "PCX"):
        for mode in ("RGB", "L", "P", "RGBA", "1", "CMYK", "I;16"):
            content = io.BytesIO()
            try:
                Image.fromarray(pixels).convert(mode).save(content, kind)
            except (OSError, ValueError, KeyError):
                continue
            found += [content.getvalue()] * (4 if kind in ("PNG", "JPEG", "WEBP", "BMP") else 1)
    return found


def read_tables_of_inputs(rng: random.Random, folder: Path) -> Iterator[str]:
    """Features and texts."""
    path = write_case(rng, folder / "inputs")
    names = rng.choice(HEADERS)
    if rng.random() < 0.5:
        open_features(path, item=rng.choice([None, "item"]), columns=rng.choice([(), ("cat",), ("cat", "dog")])).load()
    else:
        open_texts(path, column=rng.choice([None, "label", "text", names]), item=rng.choice([None, "item"]))
    yield "read"


def read_records(rng: random.Random, folder: Path) -> Iterator[str]:
    """Records and the items kept beside them: what is damaged, and what was forged with the right checksums."""
    runs = folder / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    shutil.copytree(_store_sample(), runs)
    store = RecordStore(runs)
    for place in (runs, runs / "data"):
        for record in (path for path in place.iterdir() if len(path.name) == 32):
            _damage_record(record, rng)
    for found in store.read_all()[0]:
        yield "read"
        export_runs([found], folder / "runs.csv")
        found.arrays["text"].tolist()
    store.survey()
    store.faults()
    read_items(store)
    if rng.random() < 0.2:
        store.write(RunRecord(config={"seed": 0}, status="done"), replace=True)


def _damage_record(record: Path, rng: random.Random) -> None:
    sealed = (record / "record.json").read_bytes()
    content = sealed[len(sealed.partition(b'record": ')[0]) + len(b'record": ') : -len(b"}\n")]
    if rng.random() < 0.5:
        tree = json.loads(content)
        packed = damaged((record / "arrays.npz").read_bytes(), rng, sometimes=0.5)
        (record / "arrays.npz").write_bytes(packed)
        tree["files"]["arrays.npz"] = [len(packed), hashlib.sha256(packed).hexdigest()]
        content = as_text(damaged_tree(tree, rng) if rng.random() < 0.5 else tree, rng)
    sealed = b'{"checksum": "%s",\n"record": %s}\n' % (hashlib.sha256(content).hexdigest().encode(), content)
    (record / "record.json").write_bytes(damaged(sealed, rng, sometimes=0.2))


@cache
def _store_sample() -> Path:
    folder = Path(tempfile.mkdtemp())
    store = RecordStore(folder)
    arrays = {"logits": np.eye(3), "text": np.array(["a", "é"]), "held_out": np.arange(3)}
    config: dict[str, Any] = {"seed": 0, "method": "sls", "data": "c" * 64, "recipe": {"epochs": 3, "at": [1, 2]}}
    store.write(RunRecord(config=config, status="done", curves={"nll": [1, float("nan")]}, numbers={"best": 1}, arrays=arrays))  # fmt: skip
    votes = Votes.from_counts([[1, 2], [3, 0]], classes=["a", "b"])
    write_items(store, "c" * 64, ItemData("some", votes, np.array([0, 1]), texts=("x", "y")))
    return folder


def read_archives(rng: random.Random, folder: Path) -> Iterator[str]:
    """Released batches, packed and unpacked."""
    batch = damaged(_batch_sample(), rng, sometimes=0.5)
    if rng.random() < 0.4:
        path = folder / "test_batch"
        path.write_bytes(batch)
    else:
        write_archive(path := folder / "a.tar.gz", {"readme": b"x" * 700, "a/test_batch": batch})
        unpacked = bytearray(gzip.decompress(path.read_bytes()))
        if rng.random() < 0.6:  # a header of another kind, with the checksum that belongs to it
            block = unpacked[:512]
            block[rng.randrange(512)] = rng.randrange(256)
            block[124:136] = rng.choice([bytes(block[124:136]), b"\x80" + b"\xff" * 11, b"77777777777\0"])
            block[156:157] = rng.choice([b"0", b"1", b"5", b"x", b"g", b"L", b"S", b"\0"])
            block[148:156] = b" " * 8
            block[148:156] = b"%06o\0 " % sum(block)
            unpacked[:512] = block
        path.write_bytes(damaged(gzip.compress(damaged(bytes(unpacked), rng, sometimes=0.3), 1), rng, sometimes=0.2))
    read_cifar_batch(path, "a/test_batch", "labels", 10)
    yield "read"


@cache
def _batch_sample() -> bytes:
    images = np.random.default_rng(0).integers(0, 256, size=(3, 32, 32, 3)).astype(np.uint8)
    return python2_batch(images, labels=[1, 2, 3], filenames=["a", "b", "c"])


def read_data_sets(rng: random.Random, folder: Path) -> Iterator[str]:
    """Released sets of texts and votes."""
    sample, load = rng.choice(
        [("chaosnli.jsonl", load_chaosnli), ("popquorn.csv", load_popquorn), ("lewidi_2023.json", load_lewidi)]
    )
    content = (EXPORTS / sample).read_bytes()
    if sample != "popquorn.csv" and rng.random() < 0.7:
        trees = [json.loads(line) for line in content.splitlines()] if load is load_chaosnli else [json.loads(content)]
        for tree in trees[0].values() if load is load_lewidi else ():
            said = {"prev_agent": "a", "prev_user": "_", "agent": "b", "user": "c"}
            tree["text"] = as_text(damaged_tree(said, rng) if rng.random() < 0.5 else said, rng).decode()
        if rng.random() < 0.7:
            damaged_tree(trees, rng)
        content = b"\n".join(as_text(tree, rng) for tree in trees)
    content = damaged(content, rng, sometimes=0.4)
    if load is load_lewidi:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_LZMA])) as packed:
            for split in ("train", "dev", "test"):
                packed.writestr(f"ConvAbuse_dataset/ConvAbuse_{split}.json", content)
        (folder / "lewidi_2023.zip").write_bytes(damaged(archive.getvalue(), rng, sometimes=0.3))
    for name in ("chaosNLI_snli.jsonl", "popquorn_offensiveness.csv"):
        (folder / name).write_bytes(content)
    load({load_chaosnli: "snli", load_popquorn: "offensiveness", load_lewidi: "convabuse"}[load], folder)
    yield "read"


def read_models(rng: random.Random, folder: Path) -> Iterator[str]:
    """Models and weights."""
    from votewise.training.checkpoint import load_model, load_state

    raw = _model_sample()
    (length,) = struct.unpack("<Q", raw[:8])
    header, weights = raw[8 : 8 + length], raw[8 + length :]
    if rng.random() < 0.6:
        tree = json.loads(header)
        if rng.random() < 0.5:
            config = damaged_tree(json.loads(tree["__metadata__"]["votewise"]), rng)
            tree["__metadata__"]["votewise"] = as_text(config, rng).decode()
        else:
            damaged_tree(tree, rng)
        header = as_text(tree, rng)
    path = folder / "model.safetensors"
    path.write_bytes(damaged(struct.pack("<Q", len(header)) + header + weights, rng, sometimes=0.4))
    load_state(path) if rng.random() < 0.3 else load_model(path)
    yield "read"


@cache
def _model_sample() -> bytes:
    from votewise.training.checkpoint import ModelConfig, save_model
    from votewise.training.config import TrainConfig

    config = ModelConfig("mlp", "features", (5,), ("ä", "b"), TrainConfig(epochs=3), {"columns": ["x"]}, {"seed": 0})
    with tempfile.TemporaryDirectory() as folder:
        save_model(path := Path(folder, "m.safetensors"), config.build(), config)
        return path.read_bytes()


def read_hostile_tables(rng: random.Random, folder: Path) -> Iterator[str]:
    """Tables that are whole, but for one part made to do harm: long, deep, wide, repeated, or of another kind."""
    kind = rng.choice([".csv", ".tsv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet", ".npy", "frame"])
    rows = rng.choice([4, 12, 60, 3000])
    columns: dict[str, list[Any]] = {
        "item": [f"i{row // 4}" for row in range(rows)],
        "annotator": [f"a{row % 4}" for row in range(rows)],
        "label": [rng.choice(["cat", "dog"]) for _ in range(rows)],
        "text": [f"some words {row}" for row in range(rows)],
    }
    if rng.random() < 0.9:
        _harm(columns, rng, nested=kind.startswith(".jsonl"))
    source: Any = folder / f"votes{kind}"
    if kind == ".npy":
        source.write_bytes(damaged(_hostile_array(rng), rng, sometimes=0.2))
    elif kind == ".parquet" or kind == "frame":
        frame = _hostile_frame(columns, rng, in_memory=kind == "frame")
        if kind == ".parquet":
            parquet.write_table(frame, source, **_ways_of_parquet(rng, frame.num_rows * frame.num_columns))
            source.write_bytes(damaged(source.read_bytes(), rng, sometimes=0.2))
        else:
            source = rng.choice([frame, lambda: frame.to_pandas(), lambda: pl.from_arrow(frame)])
            try:
                source = source() if callable(source) else source
            except (pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, TypeError):
                source = frame  # a kind that the other library does not know
    elif kind.startswith(".jsonl"):
        names = list(columns)
        lines = [
            {name: cell for name, cell in zip(names, row, strict=True) if cell is not None}
            for row in zip(*columns.values(), strict=True)
        ]
        content = "\n".join(json.dumps(line) for line in lines).encode(errors="surrogatepass")
        source.write_bytes(gzip.compress(content, 1) if kind.endswith(".gz") else content)
    else:
        text = io.StringIO()
        writer = csv.writer(text, delimiter="\t" if kind == ".tsv" else ",", lineterminator=rng.choice(["\n", "\r\n"]))
        writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
        content = damaged(text.getvalue().encode(errors="replace"), rng, sometimes=0.1)
        if rng.random() < 0.05:
            content += rng.choice([b"\n", b",", b" ", b"\0", content[-20:]]) * 100_000
        source.write_bytes(gzip.compress(content, 1) if kind.endswith(".gz") else content)
    plain: dict[str, Any] = {"item": "item", "annotator": "annotator", "label": "label"}
    ways: list[dict[str, Any]] = [
        {},
        plain,
        plain,
        {"form": "lists", "item": "item", "label": "label"},
        {"form": "wide"},
    ]
    ways += [{"form": "counts"}, {"form": "survey", "item_columns": "*"}, {"label": "label", "split": ";"}]
    ways += [{"item": "item", "label": "label", "count": "text"}, {**plain, "bins": rng.choice([3, 10**9])}]
    ways += [{"item": "item", "label": "label", "without": "text=some*"}]
    votes = read_votes(source, **rng.choice(ways), duplicates="last", missing="drop", empty="drop")
    yield "read"
    overview(votes)
    if votes.counts is not None:
        votes.subsample(rng.choice([1, 5, 10**7]), seed=0, replace=rng.random() < 0.5)


def read_sheets(rng: random.Random, folder: Path) -> Iterator[str]:
    """Workbooks whose XML is damaged, or written to do harm, and whose archive may be damaged, too."""
    rows = "".join(
        f'<row r="{row}"><c r="A{row}" t="s"><v>{row // 4}</v></c><c r="B{row}" t="s"><v>{10 + row % 2}</v></c></row>'
        for row in range(2, rng.choice([6, 40]))
    )
    texts = "".join(f"<si><t>{text}</t></si>" for text in [*(f"i{number}" for number in range(10)), "cat", "dog"])
    parts = cells(HEADER + rows, strings(texts))
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        name = rng.choice([*parts, "xl/worksheets/sheet1.xml"])
        text = parts[name]
        tags = [found.start() for found in re.finditer("<", text)]
        place = rng.choice(tags or [0])
        odd = [
            "<row/>" * rng.choice([1, 1000, 600_000]),
            "<c/>" * rng.choice([1, 1000, 600_000]),
            f'<row r="{rng.choice([0, -1, 5, 1048576, 2**31, 2**32])}"><c><v>1</v></c></row>',
            f'<row><c r="{rng.choice(["A1", "A0", "XFD1048576", "ZZZZ9", "1A", "A", "é1"])}" t="{rng.choice("snbed")}"><v>{rng.choice(["1", "-1", "9" * 20, "x", ""])}</v></c></row>',
            f"<si><t>{'x' * rng.choice([1, 900_000])}</t></si>" * rng.choice([1, 5]),
            '<dimension ref="A1:XFD1048576"/>',
            '<sst count="4000000000">',
            "<a>" * rng.choice([3, 300_000]),
            "<!-- <c> -->",
            "<![CDATA[<c r='XFD1048576'>]]>",
            "&a;",
            '<!DOCTYPE a [<!ENTITY a "aaaa">]>',
            "\udcff",
            "\0",
        ]
        parts[name] = text[:place] + rng.choice(odd) + text[place:] if rng.random() < 0.7 else text[:place]
    path = write_workbook(folder / "votes.xlsx", parts)
    path.write_bytes(damaged(path.read_bytes(), rng, sometimes=0.3))
    read_votes(path, **rng.choice([{}, {"item": "item", "label": "label"}]), missing="drop", empty="drop")
    yield "read"


def _harm(columns: dict[str, list[Any]], rng: random.Random, *, nested: bool) -> None:  # noqa: C901  # a list of harms
    """Make one cell, one column or the names of columns harmful."""
    name, rows = rng.choice(list(columns)), len(columns["item"])
    most = _LARGEST // rows if nested else _LARGEST // 3  # lines repeat the names of columns
    row = rng.randrange(rows)
    letter = rng.choice(["x", "_", "[", " ", "'", '"', ".", "-", "\u202e", "\x1b", "=", "é", "\\", "9", "\n", "日"])
    match rng.randrange(9 if nested else 7):
        case 0:
            columns[name][row] = letter * rng.choice([300, 5000, 200_000])
        case 1:
            columns[letter * min(rng.choice([1, 300, 5000, 100_000]), most)] = columns.pop(name)
        case 2:
            depth = min(rng.choice([5, 100, 3000]), _LARGEST // rows)
            cell = rng.choice(
                ["[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth, "[1," * depth, "(" * depth]
            )
            columns[name] = [cell if rng.random() < 0.7 else "[1]" for _ in range(rows)]
        case 3:
            times = rng.choice([2, 9000, 10**9, 10**30])
            columns[name] = [f"Counter({{'a': {times}, 'b': 1}})" for _ in range(rows)]
        case 4:
            columns[name] = [f"{letter}{number}" for number in range(rows)]
        case 5:
            for number in range(rng.choice([10, 300, 2000]) if rows < 3000 else 20):
                columns[rng.choice(["{}", "annotator_{}", "class {}", "Q[{}]", "Answer.a.{}"]).format(number)] = [
                    rng.choice(["0", "1", ""]) for _ in range(rows if number < 30 else 1)
                ] * (1 if number < 30 else rows)
        case 6:
            columns[name] = [rng.choice(["1e300", "-1", "1e-300", "0x10", "1_000", "inf", "٣"]) for _ in range(rows)]
        case 7:
            deep: Any = rng.choice(["cat", None, {}])
            for _ in range(rng.choice([3, 15, 40, 300])):
                deep = rng.choice([[deep], {"a": deep}])
            columns[name][row] = deep
        case 8:
            columns[name] = [{f"k{number}": 1} for number in range(rows)]


def _hostile_array(rng: random.Random) -> bytes:
    """A .npy whose header claims what its bytes do not hold, or holds letters that do not exist."""
    if rng.random() < 0.5:
        array = np.array([rng.choice([97, 0xD800, 0x110000, 2**31]) for _ in range(12)], dtype=np.uint32)
        content = io.BytesIO()
        np.save(content, array.view(rng.choice(["<U1", ">U1", "<U2"])).reshape(-1, 2))
        return content.getvalue()
    shape = rng.choice([(1 << 40,), (100_000, 100_000), (3, 2), (0, 5), (1 << 20, 0), (-1, 2)])
    described = rng.choice(["<U0", "<f8", "|V0", "<U9", "|O", "<M8[s]", "<c16", "|S3", "|b1"])
    header = f"{{'descr': '{described}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(rng.choice([0, 48, 1000]))


def _hostile_frame(columns: dict[str, list[Any]], rng: random.Random, *, in_memory: bool) -> pa.Table:
    """A table with a column of an odd kind, or one that says the same very often."""
    rows = len(next(iter(columns.values())))
    table = {
        name: pa.array([None if cell is None else str(cell) for cell in cells], pa.string())
        for name, cells in columns.items()
        if not any(isinstance(cell, str) and "\ud800" in cell for cell in cells)
    }
    whole = pa.array(range(rows))
    odd: list[Callable[[], pa.Array]] = [
        lambda: whole.cast(pa.duration("s")),
        lambda: whole.cast(pa.int32()).cast(pa.time32("s")),
        lambda: whole.cast(pa.timestamp("ns", "UTC")),
        lambda: whole.cast(pa.decimal256(30, 2)),
        lambda: pa.array([b"\xff\xfe"] * rows),
        lambda: pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int64())),
        lambda: pa.array([["cat", None]] * rows, pa.list_(pa.string())),
        lambda: pa.array([{"a": {"b": 1}}] * rows),
        lambda: pa.nulls(rows),
        lambda: pa.array(["cat", "dog"] * (rows // 2), pa.string_view()),
        lambda: pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16] * rows, pa.binary(16))),
        lambda: pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * 60_000]),
        lambda: pa.array([1.5, float("nan")] * (rows // 2), pa.float16()),
    ]
    if rng.random() < 0.7:
        table[rng.choice([*table, "other"])] = rng.choice(odd)()
    if rng.random() < 0.1:  # a few bytes that stand for millions of rows
        times = rng.choice([20_000, 300_000] if in_memory else [200_000, 3_000_000])
        if in_memory or len(table) > 10:  # the metadata of many columns make a file large enough to hold what it says
            times = min(times, 2_000_000 // len(table))
        table = {name: pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int8)), ["a"]) for name in table}
    return pa.table(table)


def _ways_of_parquet(rng: random.Random, cells: int) -> dict[str, Any]:
    dictionary = rng.random() < 0.7
    return {
        "use_dictionary": dictionary,
        "compression": rng.choice(["none", "snappy", "zstd", "gzip", "brotli"]),
        "row_group_size": None if cells > 100_000 else rng.choice([None, 7, 1000]),
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "write_statistics": rng.random() < 0.7,
    }


def read_readings(rng: random.Random, folder: Path) -> Iterator[str]:
    """Plans for reading, and the findings and numbers beside a paper's results."""
    fields: dict[str, Any] = {"form": "long", "item": ["item"], "annotator": "a", "label": "l", "gaps": ["-1"], "skip_rows": 1}  # fmt: skip
    if rng.random() < 0.4:
        path = folder / "a.json"
        path.write_bytes(damaged(as_text(damaged_tree(fields, rng) if rng.random() < 0.7 else fields, rng), rng, sometimes=0.4))  # fmt: skip
        Reading.load(path)
    else:
        text = "\n".join(f"{name} = {json.dumps(value)}" for name, value in fields.items())
        finding = '[[finding]]\npart = "table-2"\nrow = "a"\ncolumn = "b"\nwords = "c d"\n'
        is_reading = rng.random() < 0.6
        text = text if is_reading else finding * rng.choice([1, 2, 50])
        odd = ["[" * 3000, "a" + ".a" * rng.choice([3, 3000]) + " = 1", "= ", '"""', "x = {" * 500, "1979-05-27T07:32:00Z", "[[finding]]", "[finding]\n", 'words = ["c"]']  # fmt: skip
        for _ in range(rng.choice([0, 1, 1, 2])):
            place = rng.randrange(len(text))
            text = text[:place] + rng.choice(["\n", ""]) + rng.choice(odd) + text[place:]
        (folder / "notes.toml").write_bytes(damaged(text.encode(), rng, sometimes=0.3))
        Reading.load(folder / "notes.toml") if is_reading else read_page_findings(folder)
    yield "read"


def read_stored_results(rng: random.Random, folder: Path) -> Iterator[str]:
    """Stored results of runs, damaged or forged with the right checksums."""
    runs = folder / "results"
    shutil.rmtree(runs, ignore_errors=True)
    shutil.copytree(_results_sample(), runs)
    for record in [path for path in runs.iterdir() if len(path.name) == 32]:
        if rng.random() < 0.7:
            _damage_record(record, rng)
    survey_batches(runs)
    found = read_results(runs)
    yield "read"
    list(found.runs)


@cache
def _results_sample() -> Path:
    folder = Path(tempfile.mkdtemp())
    runs = [{"method": method, "votes": None, "hold": 1, "seed": seed} for method in ("sls", "soft") for seed in (0, 1)]
    numbers = [{"accuracy_best": 0.25 * row, "soft_nll_best": 1.5 + row} for row in range(4)]
    series = [{"curve_soft_nll": np.linspace(2, 1, 3).astype(np.float32)} for _ in runs]
    between = {"soft.shared": Between((0, 1), {"cka": np.eye(2)}, pairs=True)}
    origin = {"paper": "a paper", "data": "c" * 64, "precision": "bf16"}
    results = Results(result_columns(runs), result_number_columns(numbers), result_columns(series), between=between, origin=origin)  # fmt: skip
    assert add_batch(results, folder) is not None
    return folder


READERS: dict[str, Callable[[random.Random, Path], Iterator[str]]] = {
    "tables": read_tables,
    "exports": read_exports,
    "image-arrays": read_image_arrays,
    "image-files": read_image_files,
    "tables-of-inputs": read_tables_of_inputs,
    "records": read_records,
    "archives": read_archives,
    "data-sets": read_data_sets,
    "models": read_models,
    "hostile-tables": read_hostile_tables,
    "sheets": read_sheets,
    "readings": read_readings,
    "stored-results": read_stored_results,
}


def try_case(reader: str, case: int, folder: Path, reached: Counter[str]) -> None:
    """Hand one input to a reader. An error must be one of ours, and say what was wanted, what came and what helps."""
    try:
        reached.update(READERS[reader](random.Random(f"{reader} {case}"), folder))
    except VotewiseError as error:
        message = str(error)
        assert message.endswith((".", "?")), message
        assert ", but " in message or "cannot find" in message, message
    except BaseException as error:
        latest = sorted(
            (path for path in folder.rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime_ns
        )
        contents = [(path.name, path.read_bytes()[:300]) for path in latest[-3:]]
        error.add_note(f"again: python tests/fuzzing.py {reader}:{case}; files: {contents}")
        raise


# --- many at once


def work(reader: str, cases: range, at: Path) -> None:
    """Try cases in this process; each finding is a line of JSON on stdout."""
    reached: Counter[str] = Counter()
    read_votes(pa.table({"item": ["a", "a"], "label": ["1", "2"]}), item="item", label="label")  # what starts, starts
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case in cases:
            at.write_text(str(case))
            faulthandler.dump_traceback_later(HANGS, exit=True)
            before, began, finding = start_of_peak(), time.process_time(), ""
            try:
                try_case(reader, case, folder, reached)
            except BaseException as error:
                frame = traceback.extract_tb(error.__traceback__)[-1]
                finding = f"{type(error).__name__} in {Path(frame.filename).name}: {str(error)[:200]}"
            seconds, megabytes = time.process_time() - began, megabytes_at_peak() - before
            if seconds > MOST_SECONDS or megabytes > MOST_MEGABYTES:
                finding += f" took {seconds:.1f} s and {megabytes:,.0f} MB"
            if finding:
                tell(json.dumps([case, finding]))
    tell(json.dumps(reached))


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def run(reader: str, cases: range) -> tuple[list[tuple[int, str]], Counter[str]]:
    """Try cases in a process that may end; it is started again after the case that ended it."""
    found: list[tuple[int, str]] = []
    reached: Counter[str] = Counter()
    start = cases.start
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder, "at")
        while start < cases.stop:
            command = [sys.executable, __file__, "work", reader, str(start), str(cases.stop), str(at)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    value = json.loads(line)
                    found += [tuple(value)] if isinstance(value, list) else []
                    reached.update(value if isinstance(value, dict) else {})
            if process.returncode == 0:
                break
            last = int(at.read_text())
            found.append((last, f"the process ended with {process.returncode}, or hung"))
            start = last + 1
    return found, reached


def main(arguments: list[str]) -> int:
    """Try many cases, or one again."""
    if arguments[0] == "work":
        reader, start, stop, at = arguments[1:]
        work(reader, range(int(start), int(stop)), Path(at))
        return 0
    if ":" in arguments[0]:
        reader, _, case = arguments[0].partition(":")
        with tempfile.TemporaryDirectory() as folder:
            try_case(reader, int(case), Path(folder), Counter())
        return 0
    readers = arguments[1:] or list(READERS)
    each = -(-int(arguments[0]) // len(readers))
    faults = 0
    for reader in readers:
        began = time.monotonic()
        found, reached = run(reader, range(each))
        faults += len(found)
        seconds = time.monotonic() - began
        tell(f"{reader}: {each:,} inputs, {dict(reached)}, {len(found)} findings, {seconds:.0f} s")
        for case, finding in found[:MOST_SHOWN]:
            tell(f"  {reader}:{case} {finding}")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
