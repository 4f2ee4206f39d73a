"""Our numbers beside a paper's, and tests, as the tables of a document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from votewise._text import format_p
from votewise.papers.published import PaperCell
from votewise.report.document import Table

# From this size on, one decimal is shown.
LARGE = 10.0

NOTHING = "–"


def cell_lines(cells: Sequence[PaperCell]) -> Table:
    """One line a number; beside the published ones, where there are any."""
    beside = any(cell.published is not None for cell in cells)
    header = ("row", "column", "ours", *(("published", "apart", "verdict") if beside else ()))
    rows = ((cell.row, cell.column, *cell_beside_published(cell), cell.verdict) for cell in cells)
    return Table(header, tuple(row[: len(header)] for row in rows), words=header)


def cell_grid(cells: Sequence[PaperCell]) -> Table:
    """Rows and columns as in the paper, in each cell ours, the published number, and how far they are apart."""
    found = {(cell.row, cell.column): cell for cell in cells}
    names, columns = (list(dict.fromkeys(key[part] for key in found)) for part in (0, 1))
    rows: list[tuple[str, ...]] = []
    bold = set()
    for place, name in enumerate(names):
        row = [name]
        for column in columns:
            cell = found.get((name, column))
            if cell is None:
                row.append(NOTHING)
                continue
            ours, published, apart = cell_beside_published(cell)
            ours = "not run" if cell.ours is None else ours
            row.append(ours if cell.published is None else f"{ours}\n{published}\n{apart}")
            if cell.verdict == "apart":
                bold.add((place, len(row) - 1))
        rows.append(tuple(row))
    return Table(("", *columns), tuple(rows), names=("",), bold=frozenset(bold))


def paper_test_table(tests: Sequence[Mapping[str, Any]]) -> Table:
    """One line a test."""
    header = ("test", "of", "alternative", "n", "difference", "better on", "p", "Holm", "published p")
    rows = (
        (
            test["row"],
            test["column"],
            test["alternative"],
            str(test["n"]),
            NOTHING if math.isnan(test["difference"]) else f"{test['difference']:+.4f}",
            f"{test['favourable']} of {test['n']}",
            *(format_p(test[p]) for p in ("p_value", "p_holm", "published_p")),
        )
        for test in tests
    )
    return Table(header, tuple(rows), words=header)


def cell_beside_published(cell: PaperCell) -> tuple[str, str, str]:
    """Our number, the published one, and how far they are apart; a dash for each that is not there."""
    ours, published = cell.ours, cell.published
    return (
        NOTHING if ours is None else paper_cell_number(ours.mean, ours.sd, ours.n),
        NOTHING if published is None else paper_cell_number(published.mean, published.sd, published.seeds),
        NOTHING if cell.distance is None else f"{cell.distance:+.1f}",
    )


def paper_cell_number(mean: float, sd: float | None, n: int) -> str:
    """A mean, its SD where it is known, and the number of seeds."""
    return f"{mean_and_sd(mean, sd, 1 if abs(mean) >= LARGE else 4)} ({n})"


def mean_and_sd(mean: float, sd: float | None, digits: int = 4) -> str:
    """A mean, and its SD where it is known."""
    deviation = "" if sd is None or math.isnan(sd) else f" ± {sd:.{digits}f}"
    return f"{mean:.{digits}f}{deviation}"


def cells_as_json(cells: Sequence[PaperCell]) -> list[dict[str, Any]]:
    """Cells as plain values."""
    return [
        {
            "row": cell.row,
            "column": cell.column,
            "ours": cell.ours and {"mean": cell.ours.mean, "sd": cell.ours.sd, "n": cell.ours.n},
            "published": cell.published and asdict(cell.published),
            "distance": cell.distance,
            "verdict": cell.verdict,
        }
        for cell in cells
    ]
