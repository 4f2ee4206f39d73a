"""Broken tables and arrays by the thousand: nothing but votewise's own errors may come out.

Valid files are mutilated (bytes, cells, columns, numbers) and handed to the code behind `inspect`, `score` and
`deliver`. 24,000 cases a run, in parts so that they spread over cores.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from votewise import Votes, VotewiseError, overview, read_predictions, read_votes, score
from votewise.experiments import METHODS
from votewise.predictions import read_labels

PARTS = 12
CASES = 2_000

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


def use(rng: random.Random, folder: Path, reached: Counter[str]) -> None:
    """The code behind the commands; counts how far it got."""
    votes = read_votes(
        write_case(rng, folder / "votes"),
        **(odd_options(rng) if rng.random() < 0.3 else {}),
        duplicates=rng.choice(["error", "last", "last", "all"]),
        missing=rng.choice(["error", "drop", "drop"]),
        empty=rng.choice(["error", "drop", "drop"]),
    )
    reached["read"] += 1
    if rng.random() < 0.25:
        overview(votes)
    delivery = METHODS[rng.choice(list(METHODS))].build(votes, rng.randrange(3), rng.choice([1, 2]))
    delivery.targets(rng.randrange(20))
    if rng.random() < 0.8:  # predictions that fit these votes, or nearly
        write_fitting_predictions(rng, predictions := folder / "predictions.csv", votes)
    else:
        predictions = write_case(rng, folder / "predictions")
    joined, probs = read_predictions(predictions, votes, normalize=rng.random() < 0.5)
    labels = read_labels(write_case(rng, folder / "labels"), votes, joined) if rng.random() < 0.2 else None
    score(joined.probs, probs, labels, bins=rng.choice([1, 2, 15]))
    reached["scored"] += 1


@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_but_our_own_errors(part: int, tmp_path: Path) -> None:
    rng = random.Random(part)
    reached: Counter[str] = Counter()
    for case in range(CASES):
        try:
            use(rng, tmp_path, reached)
        except VotewiseError as error:
            message = str(error)
            assert ", but " in message, message
            assert message.endswith((".", "?")), message
        except BaseException as error:
            latest = sorted(tmp_path.iterdir(), key=lambda path: path.stat().st_mtime_ns)[-3:]
            error.add_note(f"part {part}, case {case}: {[(path.name, path.read_bytes()[:300]) for path in latest]}")
            raise
    # Enough files must be valid to reach the code behind reading.
    assert reached["read"] > CASES // 6
    assert reached["scored"] > CASES // 12
