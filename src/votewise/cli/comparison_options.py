"""Options of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._errors import InputError
from votewise.cli.input_options import METHOD_NAMES
from votewise.cli.options import option
from votewise.cli.run_display import BackendName
from votewise.experiments.defaults import FOLDS

if TYPE_CHECKING:
    from votewise.records import RecordStore


@dataclass(frozen=True)
class ComparisonOptions:
    """What is compared, and how often."""

    methods: Annotated[
        str, typer.Option(help=f"Deliveries separated by commas, the baseline first. Choose from: {METHOD_NAMES}")
    ] = "soft,multipass,sls,soft-smoothed,majority"
    seeds: Annotated[
        int, typer.Option(min=1, help=f"Seeds per method; {FOLDS} hold out every item once, {2 * FOLDS} twice.")
    ] = FOLDS
    held_out: Annotated[float | None, option("Share of the items that each seed draws, holds out and scores.")] = None
    at: Annotated[
        str, typer.Option(help="Epoch to score: best on a further tenth of the items, which is not scored; or last.")
    ] = "best"


@dataclass(frozen=True)
class RunOptions:
    """Where runs are kept, and how they are trained."""

    runs: Annotated[Path | None, option("Folder for run records; finished runs are skipped.")] = None
    items: Annotated[
        bool, typer.Option("--items/--no-items", help="Keep texts, or small pictures, of the items with the runs.")
    ] = True
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat failed runs.")] = False
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes on a CPU, simultaneous runs on a GPU.", show_default=False)
    ] = None
    backend: BackendName = None

    def store(self) -> RecordStore | None:
        """Where runs are kept; None to keep none."""
        from votewise.records import RecordStore

        if self.runs is None:
            return None
        if self.runs.exists() and not self.runs.is_dir():
            raise InputError(
                "--runs must be a folder",
                f"{str(self.runs)!r} is a file",
                "Name a folder; it is created if it does not exist",
            )
        return RecordStore(self.runs)
