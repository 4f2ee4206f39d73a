"""`votewise report`: recorded runs compared on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise.cli import options
from votewise.cli.comparisons import comparison_json, print_content
from votewise.cli.options import Json, Quiet, Runs, survey
from votewise.cli.report_file import report_file


def report(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Report to write.")] = Path("report.html"),
    at: Annotated[str, typer.Option(help="Epoch to compare: last or best.")] = "last",
    baseline: Annotated[
        str | None, typer.Option(help="Method to compare the others with; soft if omitted.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare recorded runs on one page."""
    from votewise.experiments.recorded import summarise_records

    found, faults = survey(runs)
    unreadable = [fault.reason[:1].upper() + fault.reason[1:] for fault in faults]
    with report_file(output) as page:
        content = summarise_records(found, name=runs.resolve().name, at=at, baseline=baseline, notes=unreadable)
        page.write(content)
    if as_json:
        options.print_json(
            {
                "report": page.written,
                "runs": len(found),
                "notes": content.notes,
                "summary": content.summary,
                "comparisons": [comparison_json(one) for one in content.comparisons],
            }
        )
    else:
        print_content(content)
    for sentence in content.notes:
        options.note(sentence, quiet or as_json)
    page.announce(quiet or as_json)
