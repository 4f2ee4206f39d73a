"""Parts of the paper as rows of text, for the terminal and for pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from votewise.papers.same_target.cells import Cell, Claim, PairedTest, Table
from votewise.papers.same_target.choices import Choice, Choices
from votewise.papers.same_target.cost import Cost
from votewise.papers.same_target.figures import Figure
from votewise.papers.same_target.parts import Claims, Part
from votewise.papers.same_target.summary import Summary
from votewise.report.numbers import format_p

# From this size on, one decimal is shown.
_LARGE = 10.0

_NOTHING = "–"

LEGEND = (
    "ours, published: mean ± SD over seeds (n). apart: ours less the published, in standard errors of that difference, "
    "with the SD pooled from both. They agree within what Student's t allows: 2.1 for ten seeds beside ten, 2.4 for "
    "three beside five."
)
CLAIMS_LEGEND = (
    "± is a standard error, and ranges are 95 % intervals. A statement holds or fails where the interval of Student's "
    "t leaves no doubt, and is undecided otherwise."
)
CHOICES_LEGEND = (
    "misfit: how far the numbers that an interpretation gives are from the published: root mean square, in standard "
    "errors, all with the spread of the interpretation used."
)


@dataclass(frozen=True)
class Sheet:
    """A header and rows of the same length."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sheets_of(part: Part) -> list[Sheet]:
    """Everything to print of a part: numbers line by line, then tests or claims."""
    match part:
        case Summary():
            return [count_lines(part), reason_lines(part), *([claim_lines(part.failed)] if part.failed else [])]
        case Table():
            return [cell_lines(part.cells), *([paired_lines(part.tests)] if part.tests else [])]
        case Figure():
            return [cell_lines(part.cells)] if part.cells else []
        case Claims():
            return [claim_lines(part.claims)]
        case Choices():
            return [choice_lines(part.choices)]  # the numbers themselves would be hundreds of lines
        case Cost():
            return [cost_lines(part)]


def cell_lines(cells: Sequence[Cell]) -> Sheet:
    """One line per number; beside the published ones, where there are any."""
    beside = any(cell.published is not None for cell in cells)
    header = ("row", "column", "ours", *(("published", "apart", "verdict") if beside else ()))
    rows = ((cell.row, cell.column, _ours(cell), _published(cell), _apart(cell), cell.verdict) for cell in cells)
    return Sheet(header, tuple(row[: len(header)] for row in rows))


def cell_grid(cells: Sequence[Cell]) -> Sheet:
    """Rows and columns as in the paper, in each cell ours, the published number, and how far they are apart."""
    found = {(cell.row, cell.column): cell for cell in cells}
    rows, columns = (list(dict.fromkeys(key[part] for key in found)) for part in (0, 1))
    grid = ((row, *(_stacked(found.get((row, column))) for column in columns)) for row in rows)
    return Sheet(("", *columns), tuple(grid))


def paired_lines(tests: Sequence[PairedTest]) -> Sheet:
    """One line per test."""
    rows = (
        (
            test.row, test.column, test.alternative, str(test.n),
            _NOTHING if math.isnan(test.difference) else f"{test.difference:+.4f}",
            f"{test.favourable} of {test.n}", format_p(test.p_value), format_p(test.p_holm), format_p(test.published_p),
        )
        for test in tests
    )  # fmt: skip
    header = ("test", "of", "alternative", "n", "difference", "better on", "p", "Holm", "published p")
    return Sheet(header, tuple(rows))


def choice_lines(choices: Sequence[Choice]) -> Sheet:
    """One line per interpretation: how far its numbers are from the published, and which is used."""
    rows = (
        (
            choice.question, name, str(sum(cell.distance is not None for cell in choice.interpretations[name])),
            _NOTHING if math.isnan(choice.misfit(name)) else f"{choice.misfit(name):.1f}",
            "yes" if name == choice.used else "",
        )
        for choice in choices
        for name in choice.interpretations
    )  # fmt: skip
    return Sheet(("left open", "interpretation", "numbers", "misfit", "used"), tuple(rows))


def interpretation_lines(choices: Sequence[Choice]) -> Sheet:
    """One line per number of each interpretation."""
    rows = (
        (choice.question, name, cell.column, _ours(cell), _published(cell), _apart(cell))
        for choice in choices
        for name, cells in choice.interpretations.items()
        for cell in cells
    )
    return Sheet(("left open", "interpretation", "number", "ours", "published", "apart"), tuple(rows))


def count_lines(part: Summary) -> Sheet:
    """One line per count."""
    return Sheet(("",), tuple((count,) for count in part.counts))


def reason_lines(part: Summary) -> Sheet:
    """One line per reason, with the numbers it explains."""
    rows = ((words, str(len(places)), "; ".join(places)) for words, places in part.apart.items())
    return Sheet(("reason for the difference", "how many", "which numbers"), tuple(rows))


def cost_lines(part: Cost) -> Sheet:
    """One line per item of device time."""
    return Sheet(("", "device time"), part.lines)


def claim_lines(claims: Sequence[Claim]) -> Sheet:
    """One line per claim."""
    rows = ((claim.claim, claim.found or _NOTHING, claim.verdict) for claim in claims)
    return Sheet(("statement", "ours", "verdict"), tuple(rows))


def markdown(sheet: Sheet) -> str:
    """A sheet as a Markdown table."""
    lines = [sheet.header, tuple("---" for _ in sheet.header), *sheet.rows]
    return "\n".join(f"| {' | '.join(_escaped(row))} |" for row in lines)


def _escaped(row: Iterable[str]) -> list[str]:
    return [text.replace("|", "\\|") for text in row]


def _stacked(cell: Cell | None) -> str:
    if cell is None:
        return _NOTHING
    ours = "not run" if cell.ours is None else _ours(cell)
    if cell.published is None:
        return ours
    apart = _apart(cell)
    return "<br>".join((ours, _published(cell), f"**{apart}**" if cell.verdict == "apart" else apart))


def _ours(cell: Cell) -> str:
    return _NOTHING if cell.ours is None else _shown(cell.ours.mean, cell.ours.sd, cell.ours.n)


def _published(cell: Cell) -> str:
    return _NOTHING if cell.published is None else _shown(cell.published.mean, cell.published.sd, cell.published.seeds)


def _apart(cell: Cell) -> str:
    return _NOTHING if cell.distance is None else f"{cell.distance:+.1f}"


def _shown(mean: float, sd: float | None, n: int) -> str:
    digits = 1 if abs(mean) >= _LARGE else 4
    deviation = "" if sd is None or math.isnan(sd) else f" ± {sd:.{digits}f}"
    return f"{mean:.{digits}f}{deviation} ({n})"
