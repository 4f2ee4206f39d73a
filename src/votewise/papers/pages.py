"""A paper beside our results as documents: each part by its name, what a terminal shows, and the page of the docs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from votewise._errors import InputError
from votewise._files import whole_file
from votewise._json import parse_toml
from votewise.papers.cells import (
    NOTHING,
    cell_beside_published,
    cell_grid,
    cell_lines,
    cells_as_json,
    paper_test_table,
)
from votewise.papers.claims import LEGEND as CLAIMS_LEGEND
from votewise.papers.claims import claim_verdicts_in_words, claims_table, judge_claims
from votewise.papers.paper import FigureSpec, Paper, TableSpec, fill_open_choices
from votewise.papers.progress import paper_cost_part, paper_coverage_in_words
from votewise.papers.published import PaperCell, misfit
from votewise.records import Results
from votewise.report import draw_figure, to_markdown
from votewise.report.document import Block, Document, Figure, Table, Text

CELLS_LEGEND = (
    "ours, published: mean ± SD over seeds (n). apart: ours less the published, in standard errors of that difference, "
    "with the SD pooled from both. They agree within what Student's t allows: 2.1 for ten seeds beside ten, 2.4 for "
    "three beside five."
)
CHOICES_LEGEND = (
    "misfit: how far the numbers that an interpretation gives are from the published: root mean square, in standard "
    "errors, all with the spread of the interpretation used."
)
GRID_LEGEND = (
    "Each cell shows our mean ± SD (number of seeds), then the published value, then the gap between them in standard "
    "errors of the difference. A bold gap is too large to be chance at 95 %. Exact paired Wilcoxon tests follow.",
    "The standard error is SD √(1/n + 1/n'), with the SD pooled from both, or ours where none is printed. Student's t "
    "allows 2.1 of them for ten seeds beside ten, and 2.4 for three beside five.",
)

# The reason given for a difference that no note explains.
OPEN = "No reason was found. Of numbers that do agree, one in twenty would be apart by chance."

# --- which parts there are


def paper_part_names(paper: Paper) -> tuple[str, ...]:
    """Every part of a paper, in the order in which it is shown."""
    quoted = () if paper.quoted is None else (paper.quoted.name,)
    return (
        "summary",
        *(table.name for table in paper.tables),
        *(figure.name for figure in paper.figures),
        *quoted,
        "orderings",
        "choices",
        *(table.name for table in paper.beyond),
        "cost",
    )


def paper_part(
    paper: Paper, name: str, results: Results, findings: Sequence[Finding] = (), *, wide: bool = False
) -> Document:
    """One part of a paper by its name; if there is wide room, with tables as it has them, and more numbers."""
    tables = {table.name: table for table in (*paper.tables, *paper.beyond)}
    figures = {figure.name: figure for figure in paper.figures}
    if name in tables:
        return paper_table_part(paper, tables[name], results, as_grid=wide)
    if name in figures:
        return paper_figure_part(paper, figures[name], results)
    if paper.quoted is not None and name == paper.quoted.name:
        return paper_table_part(paper, paper.quoted, results)
    if name == "summary":
        return paper_summary_part(paper, results, findings)
    if name == "orderings":
        return paper_claims_part(paper, results, with_legend=wide)
    return (
        paper_choices_part(paper, results, with_numbers=wide)
        if name == "choices"
        else paper_cost_part(paper, paper.own(results))
    )


# --- tables and figures


def paper_table_part(paper: Paper, table: TableSpec, results: Results, *, as_grid: bool = False) -> Document:
    """A table's numbers beside the printed ones, as a grid or each in a line; its tests and its notes."""
    cells = paper.cells(table.entries, results, alike=table.alike)
    tests = [
        {
            "row": f"{paper.row_name(pairing.first)} against {paper.row_name({'method': pairing.second['method']})}",
            "column": pairing.column,
            "alternative": test.alternative,
            "n": test.n,
            "difference": test.difference,
            "favourable": test.wins,
            "untied": test.untied,
            "p_value": test.p_value,
            "published_p": paper.published.p_values.get(pairing.key),
            "p_holm": test.p_holm,
        }
        for pairing, test in zip(table.pairings, paper.paired_tests(table, results), strict=True)
    ]
    notes = [
        sentence
        for note in table.notes
        for sentence in ([fill_open_choices(note, paper.settings)] if isinstance(note, str) else note(results, cells))
    ]
    blocks: list[Block] = [cell_grid(cells) if as_grid else cell_lines(cells)]
    if tests:
        blocks.append(paper_test_table(tests))
    if notes:
        blocks.append(Text(tuple(notes), role="note"))
    data = {"name": table.name, "title": table.title, "cells": cells_as_json(cells), "tests": tests, "notes": notes}
    return Document(table.title, tuple(blocks), data)


def paper_figure_part(paper: Paper, figure: FigureSpec, results: Results) -> Document:
    """What the paper says of a figure, our version of it, and the numbers that belong to it."""
    panels = tuple(panel for draw in figure.panels if (panel := draw(results)).curves)
    numbers = paper.cells(figure.entries, results)
    cells = [cell for cell in numbers if cell.ours is not None or cell.published is not None]
    blocks: list[Block] = [Text((f"The paper: {figure.said}",))]
    blocks.append(Figure(figure.name, figure.title, panels) if panels else Text(("Not run.",), role="note"))
    if cells:
        blocks.append(cell_lines(cells))
    data = {
        "name": figure.name,
        "title": figure.title,
        "cells": cells_as_json(cells),
        "said": figure.said,
        "panels": [
            {
                **{name: value for name, value in vars(panel).items() if name != "y_top"},
                "curves": [
                    {"name": curve.name, **{axis: getattr(curve, axis).tolist() for axis in ("x", "y", "low", "high")}}
                    for curve in panel.curves
                ],
            }
            for panel in panels
        ],
    }
    return Document(figure.title, tuple(blocks), data)


# --- what the paper says, and what it leaves open


def paper_claims_part(paper: Paper, results: Results, *, with_legend: bool = False) -> Document:
    """What the paper says in words, each with a verdict, and perhaps how to read verdicts."""
    claims = judge_claims(paper.claims, results, overlap=paper.overlap)
    blocks = (*((Text((CLAIMS_LEGEND,), role="legend"),) if with_legend else ()), claims_table(claims))
    data = [claim.as_json() for claim in claims]
    title = "what the paper says in words"
    return Document(title, blocks, {"name": "orderings", "title": title, "claims": data})


def paper_choices_part(paper: Paper, results: Results, *, with_numbers: bool = False) -> Document:
    """What the paper leaves open: how well each answer fits the printed numbers.

    With numbers, each number of each answer is shown as well, and how to read them.
    """
    lines: list[tuple[str, ...]] = []
    numbers: list[tuple[str, ...]] = []
    data = []
    for choice in paper.choices:
        answers = paper.interpretations(choice, results)
        readings = []
        for words, cells in answers.items():
            distance = misfit(cells, answers[choice.used])
            known = sum(cell.distance is not None for cell in cells)
            used = "yes" if words == choice.used else ""
            fit = NOTHING if math.isnan(distance) else f"{distance:.1f}"
            lines.append((choice.question, words, str(known), fit, used))
            numbers += [(choice.question, words, cell.column, *cell_beside_published(cell)) for cell in cells]
            readings.append({"reading": words, "misfit": distance, "cells": cells_as_json(cells)})
        data.append({"question": choice.question, "used": choice.used, "readings": readings})
    header = ("left open", "interpretation", "numbers", "misfit", "used")
    blocks: tuple[Block, ...] = (Table(header, tuple(lines), words=header),)
    if with_numbers:
        header_of_numbers = ("left open", "interpretation", "number", "ours", "published", "apart")
        legend = Text((f"{CHOICES_LEGEND} Each number follows, with its own spread.",), role="legend")
        blocks = (legend, *blocks, Table(header_of_numbers, tuple(numbers), words=header_of_numbers))
    title = "what the paper leaves open"
    return Document(title, blocks, {"name": "choices", "title": title, "choices": data})


# --- summary


@dataclass(frozen=True)
class Finding:
    """Why certain numbers of ours differ from the paper's.

    Attributes:
        part: name of the table, or "scalars".
        row: pattern that the whole name of the row fits.
        column: pattern that the whole name of the column fits.
        words: the reason.
    """

    part: str
    row: str
    column: str
    words: str


def read_findings(results: Path) -> tuple[Finding, ...]:
    """The findings in notes.toml beside stored results; none if there is no such file.

    Args:
        results: folder of stored results.
    """
    path = results / "notes.toml"
    try:
        notes = parse_toml(path.read_bytes()) if path.is_file() else {}
        return tuple(
            Finding(one["part"], one["row"], one["column"], " ".join(one["words"].split()))
            for one in notes.get("finding", ())
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        fault = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{str(path)!r} must be [[finding]] tables of part, row, column and words", fault, "Correct the file"
        ) from None


def paper_summary_part(paper: Paper, results: Results, findings: Sequence[Finding] = ()) -> Document:
    """What a reader wants first: how much of the paper is reproduced, what is not, and why."""
    title = "what agrees, and what does not"
    fitted, usual = (
        Counter(cell.verdict for _, cell in printed_cells(paper, results, settings))
        for settings in (paper.settings, paper.usual_settings)
    )
    apart: dict[str, list[str]] = {}
    for name, cell in printed_cells(paper, results, paper.settings, again=True):
        if cell.verdict == "apart":
            reason = next(
                (
                    finding.words
                    for finding in findings
                    if finding.part == name
                    and re.fullmatch(finding.row, cell.row)
                    and re.fullmatch(finding.column, cell.column)
                ),
                OPEN,
            )
            apart.setdefault(reason, []).append(f"{name}: {cell.row}, {cell.column}")
    claims = judge_claims(paper.claims, results, overlap=paper.overlap)
    contradicted = [claim for claim in claims if claim.verdict == "contradicted"]
    unjudged = fitted["too few seeds"] + fitted["no spread"]
    counts = (
        f"Of {fitted.total()} published numbers {usual['agrees']} agree with ours by the usual definitions of what "
        f"the paper leaves open, and {fitted['agrees']} by the definitions that fit its numbers best, which the "
        f"tables take (see Choices). By these {fitted['apart']} are apart, {unjudged} are not judged (too few "
        f"seeds, or no spread) and {fitted['not run']} are not run.",
        claim_verdicts_in_words(claims),
    )
    header = ("reason for the difference", "how many", "which numbers")
    reasons = tuple((words, str(len(places)), "; ".join(places)) for words, places in apart.items())
    blocks = (
        Text(counts, bullets=True),
        Table(header, reasons, words=header),
        *((claims_table(contradicted),) if contradicted else ()),
    )
    data = {
        "name": "summary",
        "title": title,
        "numbers": dict(fitted),
        "numbers_as_usual": dict(usual),
        "statements": dict(Counter(claim.verdict for claim in claims)),
        "apart": apart,
        "failed": [claim.as_json() for claim in contradicted],
    }
    return Document(title, blocks, data)


def printed_cells(
    paper: Paper, results: Results, settings: Mapping[str, str], *, again: bool = False
) -> list[tuple[str, PaperCell]]:
    """Every printed number with the name of its table, ours beside it; of two answers to one number the first.

    If `again`, numbers count again that the paper prints twice, or that have two answers.
    """
    found: dict[object, tuple[str, PaperCell]] = {}
    for table in (*paper.tables, *((paper.quoted,) if paper.quoted else ())):
        cells = paper.cells(table.entries, results, settings, table.alike)
        for place, (entry, cell) in enumerate(zip(table.entries, cells, strict=True)):
            if cell.published is not None and (again or cell.row not in table.repeated):
                found.setdefault((table.name, place) if again else entry.key, (table.name, cell))
    return list(found.values())


# --- whole documents


def paper_terminal_document(
    paper: Paper, names: Sequence[str], results: Results, findings: Sequence[Finding] = ()
) -> Document:
    """Some parts as a terminal shows them, with how to read them at the end."""
    parts = [paper_part(paper, name, results, findings) for name in names]
    blocks: list[Block] = []
    for name, one in zip(names, parts, strict=True):
        blocks += [Text(heading=f"{name}: {one.title}", level=3), *one.blocks]
    keys = {key for one in parts for key in one.data}
    for key, legend in (("cells", CELLS_LEGEND), ("claims", CLAIMS_LEGEND), ("choices", CHOICES_LEGEND)):
        if key in keys or (key == "claims" and "failed" in keys):
            blocks.append(Text((legend,), role="legend"))
    return Document(paper.cite, tuple(blocks), {"parts": [one.data for one in parts]})


def paper_page_document(paper: Paper, results: Results, findings: Sequence[Finding] = ()) -> Document:
    """All parts as a page shows them."""
    blocks: list[Block] = [Text((paper_coverage_in_words(paper, results), *GRID_LEGEND))]
    for name in paper_part_names(paper):
        one = paper_part(paper, name, results, findings, wide=True)
        blocks += [Text(heading=f"{name.capitalize().replace('-', ' ')}: {one.title}", level=3), *one.blocks]
    return Document("", tuple(blocks))


BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def write_paper_page(document: Document, page: Path) -> list[Path]:
    """Write a document between the markers of a page, and its figures beside it; the files written.

    Args:
        document: what to write.
        page: a Markdown file with the markers.
    """
    if not page.is_file():
        raise InputError(
            "the page must be a file with markers for the results", f"{str(page)!r} is not a file", "Create it"
        )
    text = page.read_text(encoding="utf-8")
    before, found_begin, rest = text.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not (found_begin and found_end):
        raise InputError(
            f"the page must hold {BEGIN} and, after it, {END}", f"{str(page)!r} does not", "Put them where results go"
        )
    folder = page.with_suffix("")
    drawn = write_paper_figures(document, folder)
    body = to_markdown(document, figures=folder.name).rstrip()
    with whole_file(page) as partial:
        partial.write_text(f"{before}{BEGIN}\n\n{body}\n\n{END}{after}", encoding="utf-8")
    return [*drawn, page]


def write_paper_figures(document: Document, folder: Path) -> list[Path]:
    """Draw the figures of a document, one file each; the files written.

    Args:
        document: what to draw from.
        folder: where the files go; it is created.
    """
    figures = [block for block in document.blocks if isinstance(block, Figure)]
    if folder.exists() and not folder.is_dir():
        raise InputError("figures go into a folder", f"{str(folder)!r} is a file", "Name a folder; it is created")
    if figures:
        folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        with whole_file(folder / f"{figure.name}.svg") as partial:
            partial.write_text(draw_figure(figure), encoding="utf-8")
    return [folder / f"{figure.name}.svg" for figure in figures]
