"""What a terminal shows while runs are trained and diagnosed: how many are done, items per second, time left."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from votewise.cli import printing
from votewise.cli.options import option
from votewise.experiments.backends import BACKENDS, Event, Finished, Note, Progress, Started
from votewise.experiments.run import Run

if TYPE_CHECKING:
    from rich.progress import Progress as Display

*_OTHERS, _LAST = (f"{name}[:ADDRESS]" if row.address else name for name, row in BACKENDS.items())
BackendName = Annotated[str | None, option(f"{', '.join(_OTHERS)} or {_LAST}; chosen by the device if omitted.")]


@dataclass
class RunDisplay:
    """A bar for the runs and, below it, one for what is measured of them; other bars may stand above.

    Attributes:
        display: what draws them.
        quiet: whether to keep notes on stored runs to oneself.
        folder: where finished runs are kept; None if that goes without saying.
        runs: how many are trained.
        items: how many training items they pass in all, or nearly so.
        measurements: how many are made.
        ended: runs so far.
        measured: measurements so far.
        begun: whether work has begun.
    """

    display: Display
    quiet: bool
    folder: Path | None = None
    runs: int = 0
    items: int = 0
    measurements: int = 0
    ended: int = 0
    measured: int = 0
    begun: bool = False

    def __post_init__(self) -> None:
        """Add the bars to the display; they are shown once work begins."""
        self.training = self.display.add_task("", start=False, visible=False)
        self.measuring = self.display.add_task("diagnoses", start=False, visible=False)

    def hear(self, event: Event) -> None:
        """Advance the bars; print notes and failures."""
        match event:
            case Started():
                self.begin(event)
            case Note(text):
                self.say(text)
            case Progress(items):
                self.display.update(self.training, advance=items, description=self.rate())
            case Finished(task=Run() as run, record=record):
                self.ended += 1
                self.display.update(self.training, description=self.rate())
                if self.ended == self.runs:
                    self.display.update(self.training, completed=self.items)
                    self.display.start_task(self.measuring)
                if record.status == "failed":
                    self.say(f"{run.label}, seed {run.seed}, failed: {record.failure}")
            case Finished(record=record):
                self.measured += 1
                self.display.update(self.measuring, completed=self.measured)
                if record.status == "failed":
                    self.say(f"a diagnosis failed: {record.failure}")

    def begin(self, work: Started) -> None:
        """Add work to the bars, and say what of it was done before."""
        if not self.begun:
            self.begun = True
            self.display.start_task(self.training if work.todo else self.measuring)
            if self.folder is not None and not self.quiet and work.todo < work.runs:
                self.say(f"{work.runs - work.todo} of {work.runs} runs are in {self.folder} already.")
                if work.failed:
                    self.say(f"{work.failed} of them failed; --retry-failed repeats them.")
        self.runs += work.todo
        self.items += work.items
        self.measurements += work.measurements
        self.display.update(self.training, description=self.rate(), total=self.items, visible=self.runs > 0)
        self.display.update(self.measuring, total=self.measurements, visible=self.measurements > 0)

    def rate(self) -> str:
        """How many runs have ended, and how fast items pass."""
        state = self.display.tasks[self.training]
        speed = state.completed / state.elapsed if state.elapsed else 0.0
        return f"{self.ended} of {self.runs} runs, {speed:,.0f} items/s"

    def say(self, text: str) -> None:
        """Print a note through the display, which would otherwise write over it."""
        self.display.console.print(f"votewise: {text}", markup=False, highlight=False, soft_wrap=True)

    def summary(self) -> str:
        """What is finished when the user interrupts."""
        measured = f" and {self.measured} of {self.measurements} diagnoses" if self.measurements else ""
        return f"{self.ended} of {self.runs} runs{measured} are finished and saved; run the same command to continue."


@contextmanager
def run_display(quiet: bool, *, kept: bool = True, folder: Path | None = None) -> Iterator[RunDisplay]:
    """Bars on a terminal while runs are trained, and notes and failures as they happen.

    Args:
        quiet: no bars.
        kept: whether finished runs are saved, so that an interrupted command can be continued.
        folder: where they are kept, for a note that some are there.
    """
    with printing.progress_bars(quiet) as display:
        shown = RunDisplay(display, quiet, folder)
        try:
            yield shown
        except KeyboardInterrupt:
            display.stop()
            if kept and shown.begun:
                printing.print_note(shown.summary(), quiet=False)
            raise
