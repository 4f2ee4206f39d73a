"""`votewise runs`: recorded runs and how they ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from votewise._checks import check_choice
from votewise.cli import options
from votewise.cli.options import Json, Quiet, Runs, survey

if TYPE_CHECKING:
    from votewise.records import Fault, RunSummary

_ID_SHOWN = 10
_COLUMNS = ("id", "method", "votes", "seed", "status", "epochs", "best epoch", "soft NLL best", "last", "seconds")


def runs(
    folder: Runs,
    method: Annotated[str | None, typer.Option(help="Show only runs of this method.", show_default=False)] = None,
    status: Annotated[
        str | None, typer.Option(help="Show only runs with this status: done or failed.", show_default=False)
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Table to write, one row per run: .csv or .parquet.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List recorded runs, or export them."""
    from votewise.records import STATUSES, export_runs, in_order

    if status is not None:
        check_choice("the status", status, STATUSES)
    found, faults = survey(folder)
    chosen = in_order(
        run
        for run in found
        if (method is None or run.config.get("method") == method) and (status is None or run.status == status)
    )
    if export is not None:
        export_runs(chosen, export)
        options.note(f"{len(chosen):,} runs are in {export}.", quiet)
    if as_json:
        options.print_json(
            {
                "folder": str(folder),
                "runs": [_as_json(run) for run in chosen],
                "unreadable": [{"id": fault.run_id, "reason": fault.reason} for fault in faults],
            }
        )
    elif export is None:
        _print(folder, chosen, len(found), faults)


def _as_json(run: RunSummary) -> dict[str, Any]:
    parts = ("status", "failure", "epochs", "config", "numbers", "timing", "environment")
    return {"id": run.run_id, **{part: getattr(run, part) for part in parts}}


def _print(folder: Path, chosen: Sequence[RunSummary], all_runs: int, faults: Sequence[Fault]) -> None:
    if chosen:
        options.print_table(_COLUMNS, map(_row, chosen), names=("id", "method", "status"))
    elif all_runs:
        typer.echo(f"None of the {all_runs:,} runs in {folder} matches.")
    elif not faults:
        typer.echo(f"There are no runs in {folder}.")
    failed = [(run.run_id, run.failure) for run in chosen if run.status == "failed"]
    unreadable = [(fault.run_id, fault.reason) for fault in faults]
    for title, reasons in (("failed", failed), ("cannot be read", unreadable)):
        if reasons:
            typer.echo(f"\n{len(reasons):,} {title}:")
            for run_id, reason in reasons:
                typer.echo(f"  {run_id[:_ID_SHOWN]}  {reason}")


def _row(run: RunSummary) -> list[str]:
    numbers = run.numbers
    return [
        run.run_id[:_ID_SHOWN],
        _cell(run.config.get("method")),
        "all" if "votes" in run.config and run.config["votes"] is None else _cell(run.config.get("votes")),
        _cell(run.config.get("seed")),
        run.status,
        _cell(run.epochs or None),
        _cell(numbers.get("best_epoch"), "g"),
        _cell(numbers.get("soft_nll_best"), ".4f"),
        _cell(numbers.get("soft_nll_last"), ".4f"),
        _cell(run.timing.get("seconds"), ".1f"),
    ]


def _cell(value: object, form: str = "") -> str:
    """A value as text; a dash if there is none."""
    return "-" if value is None else format(value, form)
