"""`votewise report`: recorded runs compared on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise.cli import printing
from votewise.cli.documents import reserved_page
from votewise.cli.options import Json, Quiet, Runs


def report_command(
    runs: Runs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Report to write.")] = Path("report.html"),
    at: Annotated[
        str | None,
        typer.Option(
            help="Epoch to compare: last or best; if omitted, best where items that are not scored chose it.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Method to compare the others with; soft if omitted.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare recorded runs on one page."""
    from votewise.records import RecordStore, check_record_folder, read_items, results_of
    from votewise.report import compare_results

    check_record_folder(runs)
    store = RecordStore(runs)
    records, faults = store.read_all()
    unreadable = [fault.reason[:1].upper() + fault.reason[1:] for fault in faults]
    with reserved_page(output, as_json=as_json) as page:
        document = compare_results(
            results_of(records), read_items(store), at=at, baseline=baseline,
            title=f"Runs recorded in {runs.resolve().name}", notes=unreadable,
        )  # fmt: skip
        page.write(document)
    for sentence in document.data["notes"][len(document.data["failed"]) :]:
        printing.print_note(sentence, quiet or as_json)
    page.show({"runs": len(records)}, quiet=quiet)
