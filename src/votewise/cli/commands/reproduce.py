"""`votewise reproduce`: reproduce a paper and compare with its published numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise.cli import options, printing
from votewise.cli.documents import print_document
from votewise.cli.options import Json, Quiet, grouped_options
from votewise.cli.paper_options import ResultOptions, WorkOptions
from votewise.cli.run_display import run_display
from votewise.papers import PAPERS, find_paper


@grouped_options
def reproduce_command(
    *,
    paper: Annotated[str, typer.Argument(metavar="PAPER", help=f"{', '.join(PAPERS)}.", show_default=False)],
    work: WorkOptions,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the paper's data; $VOTEWISE_DATA if omitted.", show_default=False)
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Folder for run records; finished runs are skipped [runs].", show_default=False),
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="bf16 or fp32; bf16 on a GPU if omitted.", show_default=False)
    ] = None,
    results: ResultOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce a paper and compare with its published numbers."""
    stored = results.results or Path("results") / paper
    if results.asked_for():
        from votewise.papers.show import compile_paper
        from votewise.papers.sources import Sources

        notes: list[str] = []
        try:
            document, sentences = compile_paper(
                find_paper(paper), Sources(runs, stored, data, precision or "bf16", work.suite), only=results.only,
                output=results.output, reduce=results.reduce, page=results.page, on_note=notes.append,
            )  # fmt: skip
        finally:  # also before an error, which what is wrong with the sources may explain
            for sentence in notes:
                printing.print_note(sentence, quiet)
        if as_json or results.only is not None:
            print_document(document, about={}, as_json=as_json)
        for sentence in sentences:
            printing.print_note(sentence, quiet or as_json)
        return
    options.require_torch_for_command("training")
    from votewise.papers.work import do_paper_work, plan_paper_work

    planned = plan_paper_work(
        find_paper(paper), work.suite, runs, beyond=stored if work.extend else None, folder=data, seeds=work.seeds,
        device=work.device, precision=precision, diagnostics=work.diagnostics, retry_failed=work.retry_failed,
        on_note=lambda sentence: printing.print_note(sentence, quiet),
    )  # fmt: skip
    if work.dry_run:
        if as_json:
            printing.print_json(planned.to_json(work.jobs))
        else:
            printing.say(planned.in_words(work.jobs))
        return
    with run_display(quiet or as_json) as shown:
        done = do_paper_work(
            planned, backend=work.backend, jobs=work.jobs, keep_weights=work.keep_models, tell=shown.hear
        )
    print_document(done.document, about={}, as_json=as_json)
    if done.failure and not as_json:
        printing.say(done.failure)
    if not done.complete:
        raise typer.Exit(1)
