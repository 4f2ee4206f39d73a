"""Tables of many shapes: each is read right, or refused with a question whose answer is a command that reads it right.

`shapes.py` was written with the reader, `foreign_shapes.py` by somebody who had seen neither the reader nor its design,
`unseen_shapes.py` and `field_shapes.py` before anybody looked at what the reader makes of them. `PYTHONPATH=src:tests python -m
votes.test_shapes` prints what becomes of all.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest

from votewise import InputError, read_votes
from votewise.votes.exports import PLATFORMS

from . import foreign_shapes
from .field_shapes import FIELDS
from .outcomes import outcome
from .shapes import SHAPES, Shape, Truth
from .unseen_shapes import UNSEEN

NAMES = [shape.name for shape in SHAPES]


def _truth(shape: foreign_shapes.Shape) -> Truth | None:
    """The votes of a foreign table by item and class; columns that name an item together are joined."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    if shape.counts is not None:
        for item, counts in shape.counts.items():
            counted[_joined(item)].update(counts)
    elif shape.votes is not None:
        for item, _, label in shape.votes:
            counted[_joined(item)][label] += 1
    else:
        return None
    return {item: dict(counts) for item, counts in counted.items()}


def _joined(item: str | tuple[str, ...]) -> str:
    return item if isinstance(item, str) else " | ".join(item)


def _foreign() -> list[Shape]:
    """The foreign tables: those that share their bytes differ in what their author meant, and each meaning is right."""
    groups: dict[str, list[foreign_shapes.Shape]] = defaultdict(list)
    for shape in foreign_shapes.SHAPES:
        groups[shape.name.partition("__")[0]].append(shape)
    return [
        Shape(name, group[0].filename, group[0].content, _truth(group[0]), tuple(filter(None, map(_truth, group[1:]))))
        for name, group in groups.items()
    ]


FOREIGN = _foreign()

# Shares without a number of votes, and one label per item, are read as documented, although their author would not.
READ_AS_DOCUMENTED = {"refuse_soft_labels", "refuse_winner_only"}


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_a_table_is_read_right_or_asked_about(shape: Shape, tmp_path: Path) -> None:
    what, why = outcome(shape, tmp_path)
    assert what in (("refused",) if shape.truth is None else ("right", "right after one message")), why


@pytest.mark.parametrize("shape", FOREIGN, ids=[shape.name for shape in FOREIGN])
def test_a_foreign_table_is_read_right_or_asked_about(shape: Shape, tmp_path: Path) -> None:
    what, why = outcome(shape, tmp_path, by_grouping=True)
    if shape.name in READ_AS_DOCUMENTED:
        assert what == "wrong", why
    else:
        assert what in (("refused",) if shape.truth is None else ("right", "right after one message")), why


@pytest.mark.parametrize("shape", UNSEEN, ids=[shape.name for shape in UNSEEN])
def test_an_unseen_table_is_read_right_or_asked_about(shape: Shape, tmp_path: Path) -> None:
    what, why = outcome(shape, tmp_path, by_grouping=True)
    assert what in (("refused",) if shape.truth is None else ("right", "right after one message")), why


@pytest.mark.parametrize("shape", FIELDS, ids=[shape.name for shape in FIELDS])
def test_a_table_of_any_field_is_read_right_or_asked_about(shape: Shape, tmp_path: Path) -> None:
    what, why = outcome(shape, tmp_path, by_grouping=True)
    assert what in (("refused",) if shape.truth is None else ("right", "right after one message")), why


CORPORA = {"written with the reader": SHAPES, "foreign": FOREIGN, "unseen": UNSEEN}


def _numbers(shapes: Sequence[Shape], folder: Path, *, by_grouping: bool) -> Counter[str]:
    return Counter(
        outcome(shape, folder, by_grouping=by_grouping)[0] for shape in shapes if shape.name not in READ_AS_DOCUMENTED
    )


@pytest.mark.parametrize("corpus", CORPORA)
def test_how_many_tables_are_read_right(corpus: str, tmp_path: Path) -> None:
    found = _numbers(CORPORA[corpus], tmp_path, by_grouping=corpus != "written with the reader")
    assert found.total() >= 60
    assert set(found) <= {"right", "right after one message", "refused"}
    readable = found.total() - found["refused"]
    assert 2 * found["right"] >= readable


@pytest.mark.parametrize("platform", [name for name in PLATFORMS if name != "figure-eight-aggregated"])
def test_every_platform_is_recognised(platform: str, tmp_path: Path) -> None:
    recognised = set()
    for shape in SHAPES:
        (tmp_path / shape.file).write_bytes(shape.content)
        try:
            reading = read_votes(tmp_path / shape.file).reading
        except InputError:
            continue
        recognised.add(None if reading is None else reading.format)
    assert platform in recognised


if __name__ == "__main__":
    for name, shapes in CORPORA.items():
        with tempfile.TemporaryDirectory() as place:
            found = _numbers(shapes, Path(place), by_grouping=shapes is not SHAPES)
            sys.stdout.write(f"{name}: {dict(found)}\n")
