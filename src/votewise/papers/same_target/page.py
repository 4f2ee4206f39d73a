"""All tables and figures, written into a Markdown page between two markers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from votewise._errors import InputError
from votewise._files import whole_file
from votewise.papers.same_target.cells import Table
from votewise.papers.same_target.choices import Choices
from votewise.papers.same_target.cost import Cost
from votewise.papers.same_target.evidence import Evidence
from votewise.papers.same_target.figures import Figure
from votewise.papers.same_target.names import METHODS
from votewise.papers.same_target.parts import Claims, Coverage, Part, coverage, find_parts
from votewise.papers.same_target.sheets import (
    CHOICES_LEGEND,
    CLAIMS_LEGEND,
    cell_grid,
    cell_lines,
    choice_lines,
    claim_lines,
    cost_lines,
    interpretation_lines,
    markdown,
    paired_lines,
    reason_lines,
)
from votewise.papers.same_target.summary import Summary
from votewise.report import counted, draw_panels

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


def write_page(evidence: Evidence, page: Path) -> list[Path]:
    """Write every part between the markers of a page, and its figures beside it; the files written."""
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
    parts = find_parts("all", evidence)
    folder = page.with_suffix("")
    drawn = write_figures(parts, folder)
    body = "\n\n".join(_page_text(parts, coverage(evidence), folder.name))
    with whole_file(page) as partial:
        partial.write_text(f"{before}{BEGIN}\n\n{body}\n\n{END}{after}", encoding="utf-8")
    return [*drawn, page]


def write_figures(parts: Sequence[Part], folder: Path) -> list[Path]:
    """Draw the figures among some parts, one file each; those without runs are skipped."""
    figures = [part for part in parts if isinstance(part, Figure) and part.panels]
    if folder.exists() and not folder.is_dir():
        raise InputError("figures go into a folder", f"{str(folder)!r} is a file", "Name a folder; it is created")
    if figures:
        folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        with whole_file(folder / f"{figure.name}.svg") as partial:
            partial.write_text(draw_panels(figure.panels, known=tuple(METHODS.values())), encoding="utf-8")
    return [folder / f"{figure.name}.svg" for figure in figures]


def tell_coverage(found: Coverage) -> str:
    """How many of the paper's runs are done, and which are missing, in a sentence."""
    if not found.missing:
        return f"All {found.wanted} runs of the paper are done."
    missing = "; ".join(_missing(found))
    return f"{found.there} of the paper's {found.wanted} runs are done. Not run: {missing}."


def _missing(found: Coverage) -> Iterator[str]:
    """The runs not done: under each condition, such as "5 votes", and then conditions of the same methods together."""
    methods: dict[tuple[int, str], list[str]] = {}
    for row, number in found.missing.items():
        method, _, condition = row.partition(", ")
        methods.setdefault((number, condition), []).append(method)
    conditions: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for (number, condition), names in methods.items():
        conditions.setdefault((number, tuple(names)), []).append(condition)
    for (number, together), under in conditions.items():
        where = f" ({'; '.join(under)})" if any(under) else ""
        each = " each" if len(together) * len(under) > 1 else ""
        yield f"{counted(number, 'run')}{each} of {', '.join(together)}{where}"


def _page_text(parts: Sequence[Part], found: Coverage, folder: str) -> Iterator[str]:
    yield tell_coverage(found)
    yield (
        "In each cell: ours, mean ± SD over seeds (n); the published number; how far ours is above it, in standard "
        "errors of the difference, SD √(1/n + 1/n'), with the SD pooled from both, or ours where none is printed; "
        "**bold** beyond what Student's t allows for its degrees of freedom (2.1 for ten seeds beside ten, 2.4 for "
        "three beside five). Exact paired Wilcoxon tests follow."
    )
    for part in parts:
        yield f"### {part.name.capitalize().replace('-', ' ')}: {part.title}"
        yield from _part_text(part, folder)


def _part_text(part: Part, folder: str) -> Iterator[str]:
    match part:
        case Summary():
            yield "\n".join(f"- {count}" for count in part.counts)
            yield markdown(reason_lines(part))
            yield markdown(claim_lines(part.failed))
        case Table():
            yield markdown(cell_lines(part.cells) if part.name == "scalars" else cell_grid(part.cells))
            if part.tests:
                yield markdown(paired_lines(part.tests))
            yield from part.notes
        case Figure():
            yield f"The paper: {part.said}"
            yield f"![{part.title}]({folder}/{part.name}.svg)" if part.panels else "*Not run.*"
            if part.cells:
                yield markdown(cell_lines(part.cells))
        case Claims():
            yield CLAIMS_LEGEND
            yield markdown(claim_lines(part.claims))
        case Choices():
            yield f"{CHOICES_LEGEND} Each number follows, with its own spread."
            yield markdown(choice_lines(part.choices))
            yield markdown(interpretation_lines(part.choices))
        case Cost():
            yield markdown(cost_lines(part))
