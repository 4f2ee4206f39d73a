"""Printed numbers, read from a paper's published.toml, and ours beside them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from votewise.statistics import Published, Sample, pooled_sd
from votewise.statistics.decide import Agreement, standard_errors

# Under what a paper prints a number: table, row, number of seeds, column; or "quoted", the quantity, and of what it is.
Key = tuple[str | int, ...]


@dataclass(frozen=True)
class Printed:
    """All numbers that a paper prints.

    Attributes:
        numbers: each mean, with its place.
        p_values: p-value by table, row and column.
        ranges: lowest and highest of several numbers, by name.
    """

    numbers: Mapping[Key, Published] = field(default_factory=dict)
    p_values: Mapping[Key, float] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def read_published(path: Path) -> Printed:
    """Read a paper's published.toml.

    A table has rows of method, number of seeds and numbers, each a mean or "mean ± SD", under the names of its columns;
    and, in `p`, rows of method and p-values of the same columns. Columns named "value", "seeds" and "place" make a list
    of single numbers, and [ranges] holds pairs.

    Args:
        path: the file.
    """
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    numbers: dict[Key, Published] = {}
    p_values: dict[Key, float] = {}
    for name, section in sections.items():
        columns = section.get("columns", ())
        for row in section.get("rows", ()):
            if "value" in columns:
                *key, value, seeds, place = row
                numbers[name, *key] = Published(value, None, seeds, place)
                continue
            method, seeds, *printed = row
            for column, number in zip(columns[2:], printed, strict=True):
                mean, _, sd = str(number).partition(" ± ")
                place = f"{name.replace('-', ' ').capitalize()}, {method}"
                numbers[name, method, seeds, column] = Published(float(mean), float(sd) if sd else None, seeds, place)
        for method, *values in section.get("p", ()):
            p_values |= {(name, method, column): value for column, value in zip(columns[2:], values, strict=False)}
    ranges = {name: (low, high) for name, (low, high) in sections.get("ranges", {}).items()}
    return Printed(numbers, p_values, ranges)


@dataclass(frozen=True)
class PaperCell:
    """One number of ours beside the paper's.

    Attributes:
        row: what the number is of.
        column: what it says.
        ours: the number by seed; None where no run has it.
        published: None where the paper prints none.
        agreement: how far apart the two are.
    """

    row: str
    column: str
    ours: Sample | None
    published: Published | None
    agreement: Agreement

    @property
    def distance(self) -> float | None:
        """Ours less the paper's, in standard errors of that difference."""
        return self.agreement.distance

    @property
    def verdict(self) -> str:
        """Whether it "agrees" or is "apart", or why neither can be said."""
        return self.agreement.verdict


def misfit(cells: Sequence[PaperCell], used: Sequence[PaperCell]) -> float:
    """Root mean square distance of numbers from the printed ones, in standard errors; NaN of none.

    Where the paper prints no SD, the spread is that of the answer that is used, so that a noisy one does not seem to
    fit.

    Args:
        cells: the numbers that an answer to an open question gives.
        used: those of the answer that is used.
    """
    distances = []
    for cell, reference in zip(cells, used, strict=True):
        distance = cell.distance
        if cell.ours is not None and reference.ours is not None and cell.published is not None:
            printed = (cell.published.sd, cell.published.seeds)
            deviation = reference.agreement.shared or pooled_sd([(reference.ours.sd, cell.ours.n), printed])
            distance = standard_errors(cell.ours, cell.published, deviation)
        distances.append(distance)
    known = [distance**2 for distance in distances if distance is not None]
    return math.sqrt(math.fsum(known) / len(known)) if known else math.nan
