"""The options of `votewise reproduce` by what they are about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from votewise.cli.input_options import Device
from votewise.cli.options import option
from votewise.cli.run_display import BackendName


@dataclass(frozen=True)
class WorkOptions:
    """What is trained and measured, and how."""

    suite: Annotated[str, typer.Option(help="Suite of the paper's runs; a wrong name lists them all.")] = "all"
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Number of seeds, from 0; each suite's own number if omitted.", show_default=False),
    ] = None
    device: Device = "auto"
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes on a CPU, simultaneous runs on a GPU.", show_default=False)
    ] = None
    backend: BackendName = None
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat failed runs and diagnoses.")] = False
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Also run diagnostics: curvature, OOD detection, features.")
    ] = False
    extend: Annotated[bool, typer.Option("--extend", help="Do only the runs that --results does not hold.")] = False
    keep_models: Annotated[bool, typer.Option("--keep-models", help="Keep model weights after diagnostics.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be run, and how long it would take.")
    ] = False


@dataclass(frozen=True)
class ResultOptions:
    """Which results are shown or written, for which nothing is trained."""

    only: Annotated[
        str | None,
        option("Do not train; show part of the results: summary, table-1, figure-8, scalars, choices, cost, ..., all."),
    ] = None
    output: Annotated[Path | None, option("Folder for the figures of --only.", "--output", "-o")] = None
    results: Annotated[Path | None, option("Stored results, used when --runs is not given [results/PAPER].")] = None
    reduce: Annotated[bool, typer.Option("--reduce", help="Do not train; add what --runs hold to --results.")] = False
    page: Annotated[
        Path | None,
        option("Do not train; write all results between the markers in this Markdown file."),
    ] = None

    def asked_for(self) -> bool:
        """Whether there is anything to show or write."""
        return self.reduce or any(value is not None for value in (self.only, self.output, self.page))
