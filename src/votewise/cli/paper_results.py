"""Showing and writing a paper's tables and figures, from finished runs or stored results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.groups import option

if TYPE_CHECKING:
    from rich.console import Console

    from votewise.experiments.material import Material
    from votewise.papers.same_target.evidence import Evidence
    from votewise.papers.same_target.parts import Part
    from votewise.records import RecordStore

USUAL_RUNS = Path("runs")


@dataclass(frozen=True)
class ResultOptions:
    """Which results are shown or written, for which nothing is trained."""

    only: Annotated[
        str | None,
        option("Do not train; show part of the results: summary, table-1, figure-8, scalars, choices, cost, ..., all."),
    ] = None
    output: Annotated[Path | None, option("Folder for the figures of --only.", "--output", "-o")] = None
    results: Annotated[Path, typer.Option(help="Stored results, used when --runs is not given.")] = Path(
        "results/same-target"
    )
    reduce: Annotated[bool, typer.Option("--reduce", help="Do not train; summarise --runs into --results.")] = False
    page: Annotated[
        Path | None,
        option("Do not train; write all results between the markers in this Markdown file."),
    ] = None

    def asked_for(self) -> bool:
        """Whether there is anything to show or write."""
        return self.reduce or any(value is not None for value in (self.only, self.output, self.page))

    def check(self) -> None:
        """Refuse wrong choices before anything is read."""
        from votewise.papers.same_target.parts import PARTS

        if self.only is not None:
            check_choice("the part of the paper", self.only, (*PARTS, "all"))
        elif self.output is not None:
            raise InputError("--output is for the figures of --only", "no part was named", "Add --only all")


@dataclass(frozen=True)
class Sources:
    """Where the numbers come from.

    Attributes:
        runs: folder of records; if None, those in "runs" or, if it has none of the paper, `results`.
        results: folder of stored results.
        data: folder with CIFAR-10H, for what needs the votes themselves.
        precision: of the runs to take.
    """

    runs: Path | None
    results: Path
    data: Path | None
    precision: str


def show_results(sources: Sources, wanted: ResultOptions, *, as_json: bool, quiet: bool) -> None:
    """Show parts of the paper, and write what was asked for.

    Args:
        sources: of the numbers.
        wanted: what to show and write.
        as_json: print JSON.
        quiet: no notes.
    """
    from votewise.papers.same_target.page import write_figures, write_page
    from votewise.papers.same_target.parts import coverage, find_parts
    from votewise.papers.same_target.results import read_results, write_results

    wanted.check()
    if wanted.reduce:
        evidence = _reduced(sources, quiet)
    else:  # a page is made from stored results, so that anyone can make it again
        evidence = _evidence(sources, quiet) if wanted.page is None else read_results(sources.results)
    parts = [] if wanted.only is None else find_parts(wanted.only, evidence)
    written = [] if wanted.output is None else write_figures(parts, wanted.output)
    if wanted.output is not None and not written:
        raise InputError("--output draws figures", f"{wanted.only} has none to draw", "Name a figure, or --only all")
    if wanted.reduce:
        write_results(evidence, sources.results)
        written.append(sources.results)
    if wanted.page is not None:
        written += write_page(evidence, wanted.page)
    found = coverage(evidence)
    if as_json:
        _print_json(parts, {**asdict(found), "written": [str(path) for path in written]})
        return
    _print_parts(parts)
    options.note(f"{found.there} of the paper's {found.wanted} runs are done", quiet)
    for path in written:
        options.note(f"wrote {path}", quiet)


def _evidence(sources: Sources, quiet: bool) -> Evidence:
    """What the runs show or, if none are named or found, the stored results.

    The usual folder may hold a user's own comparisons only.
    """
    from votewise.papers.same_target.reduce import paper_runs
    from votewise.papers.same_target.results import read_results
    from votewise.records import RecordStore

    if sources.runs is not None or paper_runs(RecordStore(USUAL_RUNS), sources.precision):
        return _reduced(sources, quiet)
    if not RecordStore(sources.results).ids():
        raise InputError(
            "there must be runs or stored results to show",
            f"neither {str(USUAL_RUNS)!r} nor {str(sources.results)!r} has any",
            "The stored results are in the project's repository (results/same-target): pass that folder with "
            "--results, name a folder of runs with --runs, or do the runs (leave out --only)",
        )
    options.note(f"from the results in {sources.results}", quiet)
    return read_results(sources.results)


def _reduced(sources: Sources, quiet: bool) -> Evidence:
    options.require_torch("reading what was measured of models")
    from votewise.papers.same_target.reduce import reduce_runs
    from votewise.records import RecordStore

    folder = sources.runs or USUAL_RUNS
    options.check_runs(folder)
    store = RecordStore(folder)
    _note_faults(store, quiet)
    return reduce_runs(store, _material(sources.data, quiet), precision=sources.precision)


def _note_faults(store: RecordStore, quiet: bool) -> None:
    from votewise.experiments.diagnosis_store import diagnoses_of

    for records in (store, diagnoses_of(store)):
        _, faults = records.survey()
        if faults:
            counts = f"{len(faults)} of {len(records.ids())} records in {records.folder}"
            options.note(f"{counts} cannot be read and are left out; the first: {faults[0].reason}", quiet)


def _material(data: Path | None, quiet: bool) -> Material | None:
    from votewise.datasets import load_cifar10h
    from votewise.experiments.material import Material

    try:
        return Material.of_images("cifar10h", load_cifar10h(data))
    except InputError as error:
        options.note(f"skipping what needs the votes themselves (Figures 2, 3, 5, 6, 7, 9 and 10): {error}", quiet)
        return None


def _print_json(parts: Sequence[Part], about: dict[str, object]) -> None:
    from votewise.papers.same_target.parts import as_json

    options.print_json({**about, "parts": [as_json(part) for part in parts]})


def _print_parts(parts: Sequence[Part]) -> None:
    from votewise.papers.same_target.sheets import CHOICES_LEGEND, CLAIMS_LEGEND, LEGEND

    screen = options.console()
    for part in parts:
        _print_part(part, screen)
    legends = {("cells",): LEGEND, ("claims", "failed"): CLAIMS_LEGEND, ("choices",): CHOICES_LEGEND}
    for attributes, legend in legends.items():
        if any(hasattr(part, name) for part in parts for name in attributes):
            screen.print(legend, style="dim")


def _print_part(part: Part, screen: Console) -> None:
    from rich.markup import escape

    from votewise.papers.same_target.sheets import sheets_of

    screen.print(f"[bold]{part.name}[/bold]: {escape(part.title)}")
    if hasattr(part, "said"):
        screen.print(f"The paper: {escape(part.said)}")
    for sheet in sheets_of(part):
        options.print_table(sheet.header, sheet.rows, names=(), words=sheet.header)
    for sentence in getattr(part, "notes", ()):
        screen.print(escape(sentence), style="dim")
    screen.print()
