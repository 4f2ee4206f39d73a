"""`votewise convert`: any table of votes as a plain one, with the plan for reading beside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise._errors import InputError
from votewise._text import counted
from votewise.cli import options, printing
from votewise.cli.options import Json, Quiet, SafeCells, grouped_options
from votewise.cli.reading_options import ReadingOptions, VotesFile
from votewise.votes import check_table_path, long_table, write_votes

_ROWS_SHOWN = 10


@grouped_options
def convert_command(
    *,
    votes_file: VotesFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Table to write: .parquet .csv .jsonl", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and the first votes, write nothing.")] = (
        False
    ),
    safe_cells: SafeCells = False,
    reading: ReadingOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write votes as a plain table, with the plan for reading beside."""
    if output is None and not dry_run:
        raise InputError("convert needs a table to write", "got none", "Name it with --output, or pass --dry-run")
    if output is not None:
        check_table_path(output)
        options.check_output_options([output, output.with_suffix(".reading.toml")], [votes_file, reading.reading])
    votes = reading.load(votes_file, quiet=quiet)
    plan = votes.reading
    table = long_table(votes)
    beside = None if output is None or dry_run else write_votes(votes, output, safe_cells=safe_cells)
    if as_json:
        about = {"reading": None if plan is None else plan.to_dict(), "items": votes.n_items, "rows": table.height}
        written = {"output": None if beside is None else str(output), "plan": None if beside is None else str(beside)}
        printing.print_json({**about, "classes": votes.classes, **written, "first": table.head(_ROWS_SHOWN).to_dicts()})
        return
    printing.say(votes.provenance if plan is None else plan.sentence)
    if beside is None:
        rows = [[str(cell) for cell in row] for row in table.head(_ROWS_SHOWN).iter_rows()]
        printing.print_table(table.columns, rows, names=table.columns[:1], words=table.columns[1:])
        return
    kinds = "votes" if "annotator" in table.columns else "rows"
    printing.say(
        f"{output}: {table.height:,} {kinds}, {counted(votes.n_items, 'item')}, "
        f"{counted(votes.n_classes, 'class', 'classes')}; the plan is in {beside}"
    )
