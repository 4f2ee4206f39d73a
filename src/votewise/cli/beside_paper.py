"""Printing, drawing and keeping what finished runs show beside a paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from votewise.experiments.material import Material
    from votewise.papers.same_target.evidence import Evidence
    from votewise.papers.same_target.parts import Part
    from votewise.records import RecordStore


USUAL_RUNS = Path("runs")


@dataclass(frozen=True)
class Sources:
    """Where the numbers come from.

    Attributes:
        runs: folder of records; if none is named, those in "runs" or, where none is of the paper, `results` are taken.
        results: folder of runs in brief.
        data: folder with CIFAR-10H, for what needs the votes themselves.
        precision: of the runs to take.
    """

    runs: Path | None
    results: Path
    data: Path | None
    precision: str


def tell_parts(
    sources: Sources,
    only: str | None,
    output: Path | None,
    page: Path | None,
    *,
    reduce: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Show parts of the paper, and write what was asked for.

    Args:
        sources: of the numbers.
        only: the part to show, or "all"; None to show none.
        output: folder for the figures among them.
        page: a page between whose markers all parts of the results are put.
        reduce: whether to put the runs in brief into the folder of results.
        as_json: print JSON.
        quiet: no notes.
    """
    from votewise.papers.same_target.page import write_figures, write_page
    from votewise.papers.same_target.parts import PARTS, coverage, find_parts
    from votewise.papers.same_target.results import read_results, write_results

    if only is not None:
        check_choice("the part of the paper", only, (*PARTS, "all"))
    elif output is not None:
        raise InputError("--output is for the figures of --only", "no part was named", "Add --only all")
    if reduce:
        evidence = _reduced(sources, quiet)
    else:  # a page is of the results, so that anyone can make it again
        evidence = _evidence(sources, quiet) if page is None else read_results(sources.results)
    parts = [] if only is None else find_parts(only, evidence)
    written = write_figures(parts, output) if output is not None else []
    if reduce:
        write_results(evidence, sources.results)
        written.append(sources.results)
    if page is not None:
        written += write_page(evidence, page)
    found = coverage(evidence)
    if as_json:
        _print_json(parts, {**asdict(found), "written": [str(path) for path in written]})
        return
    _print_parts(parts)
    for told in (f"{found.there} of the paper's {found.wanted} runs are there", *(f"wrote {path}" for path in written)):
        options.note(told, quiet)


def _evidence(sources: Sources, quiet: bool) -> Evidence:
    """What the runs show or, where none are named or there, the results kept of some.

    The usual folder may hold a user's own comparisons alone.
    """
    from votewise.papers.same_target.reduce import paper_runs
    from votewise.papers.same_target.results import read_results
    from votewise.records import RecordStore

    if sources.runs is not None or paper_runs(RecordStore(USUAL_RUNS), sources.precision):
        return _reduced(sources, quiet)
    if not RecordStore(sources.results).ids():
        raise InputError(
            "there must be runs or results to show",
            f"neither {str(USUAL_RUNS)!r} nor {str(sources.results)!r} has any",
            "Name the folder with --runs or --results, or do the runs first (leave --only out)",
        )
    options.note(f"from the results in {sources.results}", quiet)
    return read_results(sources.results)


def _reduced(sources: Sources, quiet: bool) -> Evidence:
    options.require_torch("reading what was measured of models")
    from votewise.papers.same_target.reduce import reduce_runs
    from votewise.records import RecordStore

    store = RecordStore(sources.runs or USUAL_RUNS)
    _tell_faults(store, quiet)
    return reduce_runs(store, _material(sources.data, quiet), precision=sources.precision)


def _tell_faults(store: RecordStore, quiet: bool) -> None:
    from votewise.experiments.diagnose import diagnoses_of

    for records in (store, diagnoses_of(store)):
        _, faults = records.survey()
        if faults:
            told = f"{len(faults)} of {len(records.ids())} records in {records.folder} cannot be read and are left out"
            options.note(f"{told}; the first: {faults[0].reason}", quiet)


def _material(data: Path | None, quiet: bool) -> Material | None:
    from votewise.datasets import load_cifar10h
    from votewise.experiments.material import Material

    try:
        return Material.of_images("cifar10h", load_cifar10h(data))
    except InputError as error:
        options.note(f"without what needs the votes themselves (Figures 2, 3, 5, 6, 7, 9 and 10): {error}", quiet)
        return None


def _print_json(parts: Sequence[Part], about: dict[str, object]) -> None:
    from votewise.papers.same_target.parts import as_json

    options.print_json({**about, "parts": [as_json(part) for part in parts]})


def _print_parts(parts: Sequence[Part]) -> None:
    from votewise.papers.same_target.sheets import LEGEND

    screen = options.console()
    for part in parts:
        _print_part(part, screen)
    if any(hasattr(part, "cells") for part in parts):
        screen.print(LEGEND, style="dim")


def _print_part(part: Part, screen: Console) -> None:
    from rich.markup import escape
    from rich.table import Table as Grid

    from votewise.papers.same_target.sheets import sheets_of

    screen.print(f"[bold]{part.name}[/bold]: {escape(part.title)}")
    if hasattr(part, "said"):
        screen.print(f"The paper: {escape(part.said)}")
    for sheet in sheets_of(part):
        grid = Grid(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
        for name in sheet.header:
            grid.add_column(name)
        for row in sheet.rows:
            grid.add_row(*map(escape, row))
        screen.print(grid)
    for told in getattr(part, "notes", ()):
        screen.print(escape(told), style="dim")
    screen.print()
