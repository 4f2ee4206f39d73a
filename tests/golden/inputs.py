"""A user's small files: votes of named people on 60 items, and their features, texts and images."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

N_ITEMS = 60
KINDS = np.arange(N_ITEMS) % 3
SHARES = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]])
CLASSES = ("cat", "dog", "bird")
WORDS = ("meow purr whisker", "bark fetch bone", "tweet wing nest")
ITEMS = [f"item-{row:02d}" for row in range(N_ITEMS)]


def write_inputs(folder: Path) -> None:
    """Write all files, the same bytes every time."""
    rng = np.random.default_rng(0)
    chosen = [rng.choice(3, size=3 + row % 3, p=SHARES[kind]) for row, kind in enumerate(KINDS)]
    votes = [
        (item, f"person-{(row + place) % 7}", CLASSES[label])
        for row, (item, labels) in enumerate(zip(ITEMS, chosen, strict=True))
        for place, label in enumerate(labels)
    ]
    _write(folder / "votes.csv", ("item", "annotator", "label"), *votes)
    counts = np.array([np.bincount(labels, minlength=3) for labels in chosen])
    _write(folder / "counts.csv", ("item", *CLASSES), *zip(ITEMS, *counts.T.tolist(), strict=True))
    shares = ((counts / counts.sum(axis=1, keepdims=True)).round(6)).tolist()
    _write(folder / "shares.csv", ("item", *CLASSES), *((item, *row) for item, row in zip(ITEMS, shares, strict=True)))

    features = np.column_stack([KINDS + rng.normal(size=N_ITEMS), rng.normal(size=N_ITEMS), rng.random(N_ITEMS)])
    rows = features.round(4).tolist()
    _write(folder / "features.csv", ("item", "size", "noise", "age"), *((item, *row) for item, row in zip(ITEMS, rows, strict=True)))  # fmt: skip
    texts = [" ".join(rng.permutation(WORDS[kind].split())) for kind in KINDS]
    _write(folder / "texts.csv", ("item", "text"), *((item, f"{text} {item}") for item, text in zip(ITEMS, texts, strict=True)))  # fmt: skip
    _write_images(folder, rng)

    guesses = rng.dirichlet(np.ones(3), size=N_ITEMS) * 0.5 + SHARES[KINDS] * 0.5
    rounded = (guesses / guesses.sum(axis=1, keepdims=True)).round(8)
    rounded[:, 2] = (1 - rounded[:, 0] - rounded[:, 1]).round(8)
    some = list(zip(ITEMS, rounded.tolist(), strict=True))[3:]
    _write(folder / "predictions.csv", ("item", *CLASSES), *((item, *row) for item, row in some))
    np.save(folder / "predictions.npy", guesses / guesses.sum(axis=1, keepdims=True))
    _write(folder / "labels.csv", ("item", "label"), *((item, CLASSES[kind]) for item, kind in zip(ITEMS, KINDS, strict=True)))  # fmt: skip


def _write_images(folder: Path, rng: np.random.Generator) -> None:
    from PIL import Image

    (folder / "images").mkdir()
    pixels = rng.integers(0, 90, size=(N_ITEMS, 8, 8, 3), dtype=np.uint8)
    for image, kind, item in zip(pixels, KINDS, ITEMS, strict=True):
        image[..., kind] += 100
        Image.fromarray(image).save(folder / "images" / f"{item}.png")
    np.savez(folder / "images.npz", images=pixels, ids=np.array(ITEMS))


def _write(path: Path, *rows: tuple[object, ...]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
