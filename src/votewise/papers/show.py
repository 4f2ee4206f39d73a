"""Showing parts of a paper, and writing its figures, its page and its stored results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise._text import counted
from votewise.papers.pages import (
    paper_page_document,
    paper_part_names,
    paper_terminal_document,
    read_page_findings,
    write_paper_figures,
    write_paper_page,
)
from votewise.papers.paper import Paper
from votewise.papers.progress import paper_coverage
from votewise.papers.sources import Sources, add_paper_runs, read_paper_results, read_paper_sources
from votewise.report.document import Document


def compile_paper(
    paper: Paper,
    sources: Sources,
    *,
    only: str | None = None,
    output: Path | None = None,
    reduce: bool = False,
    page: Path | None = None,
    on_note: Callable[[str], None] = lambda _: None,
) -> tuple[Document, list[str]]:
    """Show parts of a paper, and write what is asked for.

    Args:
        paper: the paper.
        sources: where the numbers come from. A page is made from stored results, so that anyone can make it again.
        only: name of the part to show, or "all"; nothing is shown if None.
        output: folder for the figures of these parts.
        reduce: whether to add what the runs show to the stored results.
        page: Markdown file to write all parts into.
        on_note: called with what a user should know of the sources.

    Returns:
        The parts, with how much of the paper is done and what was written in their data; and what was done, in words.
    """
    names = paper_part_names(paper)
    if only is not None:
        check_choice("the part of the paper", only, (*names, "all"))
    elif output is not None:
        raise InputError("--output is for the figures of --only", "no part was named", "Add --only all")
    batches = add_paper_runs(paper, sources, on_note) if reduce else []
    is_stored = reduce or page is not None
    results = read_paper_results(paper, sources.results) if is_stored else None
    if results is None:
        results, is_stored = read_paper_sources(paper, sources, on_note)
    findings = read_page_findings(sources.results) if is_stored else ()
    asked = () if only is None else names if only == "all" else (only,)
    document = paper_terminal_document(paper, asked, results, findings)
    written = [] if output is None else write_paper_figures(document, output)
    if output is not None and not written:
        raise InputError("--output draws figures", f"{only} has none to draw", "Name a figure, or --only all")
    written += [folder for folder, _ in batches]
    if page is not None:
        written += write_paper_page(paper_page_document(paper, results, findings), page)
    done = paper_coverage(paper, results)
    notes = [f"{done.there} of the paper's {done.wanted} runs are done", *(f"wrote {path}" for path in written)]
    if reduce:
        told = [
            f"batch {batch.number} adds {counted(len(batch.new_runs), 'run')}"
            f"{f', and numbers of {batch.completed} that were there' if batch.completed else ''}"
            for _, batch in batches
        ]
        notes = [*(told or ["the stored results lack nothing that these runs have"]), *notes]
    data = {**asdict(done), "written": [str(path) for path in written], **document.data}
    return replace(document, data=data), notes
