"""`votewise runs`: recorded runs and how they ended, or the batches of stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise.cli import printing
from votewise.cli.options import Json, Quiet, Runs, SafeCells


def runs_command(
    folder: Runs,
    method: Annotated[str | None, typer.Option(help="Show only runs of this method.", show_default=False)] = None,
    status: Annotated[
        str | None, typer.Option(help="Show only runs with this status: done or failed.", show_default=False)
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Table to write, one row per run: .csv or .parquet.", show_default=False)
    ] = None,
    safe_cells: SafeCells = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List recorded runs, or export them."""
    from votewise.cli.listing import print_batches, print_runs
    from votewise.records import check_record_folder, export_runs, survey_records

    check_record_folder(folder)
    listed = survey_records(folder, method=method, status=status)
    if export is not None:
        export_runs(listed.runs, export, safe_cells=safe_cells)
        printing.print_note(f"{len(listed.runs):,} runs are in {export}.", quiet)
    if as_json:
        printing.print_json({"folder": str(folder), **listed.to_dict()})
    elif export is None and listed.batches is None:
        print_runs(folder, listed)
    elif export is None:
        print_batches(listed)
