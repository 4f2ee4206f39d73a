"""What a terminal shows while runs are trained and diagnosed: how many are done, items per second, time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from votewise.cli import options

if TYPE_CHECKING:
    from rich.progress import Progress

    from votewise.experiments.execution import Listener
    from votewise.experiments.material import Material
    from votewise.experiments.run import RunConfig
    from votewise.records import RunRecord


@contextmanager
def follow_runs(
    todo: Sequence[RunConfig], material: Material, quiet: bool, *, diagnoses: int = 0, kept: bool = True
) -> Iterator[Listener]:
    """A listener that draws progress bars on a terminal, and prints notes and failures as they happen.

    Args:
        todo: the runs to train.
        material: what they are trained on.
        quiet: no bars.
        diagnoses: how many are made once the runs are done.
        kept: whether finished runs are saved, so that an interrupted command can be continued.
    """
    from votewise.experiments.estimate import training_images
    from votewise.experiments.execution import Listener

    images = sum(training_images(config, material) for config in todo)
    with _progress(quiet) as display:
        bars = _Bars(display, len(todo), images, diagnoses)
        try:
            yield Listener(bars.on_done, bars.on_images, bars.on_diagnosis, bars.say)
        except KeyboardInterrupt:
            display.stop()
            if kept:
                options.note(bars.summary(), quiet=False)
            raise


def _progress(quiet: bool) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[ended]} of {task.fields[all]} {task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    silent = quiet or not sys.stderr.isatty()
    return Progress(*columns, console=Console(stderr=True), disable=silent, speed_estimate_period=300)


@dataclass
class _Bars:
    """A bar for the runs and, below it, one for their diagnoses.

    Attributes:
        display: that draws them.
        runs: how many are trained.
        images: how many training images they pass in all.
        diagnoses: how many are made.
        ended: runs so far.
        diagnosed: diagnoses so far.
    """

    display: Progress
    runs: int
    images: int
    diagnoses: int
    ended: int = 0
    diagnosed: int = 0

    def __post_init__(self) -> None:
        """Add the bars to the display."""
        self.training = self.display.add_task(
            "runs", total=self.images, ended=0, all=self.runs, rate="", visible=self.runs > 0
        )
        self.measuring = self.display.add_task(
            "diagnoses", total=self.diagnoses, ended=0, all=self.diagnoses, rate="",
            start=self.runs == 0, visible=self.diagnoses > 0,
        )  # fmt: skip

    def say(self, text: str) -> None:
        """Print a note through the display, which would otherwise write over it."""
        self.display.console.print(f"votewise: {text}", markup=False, highlight=False, soft_wrap=True)

    def on_images(self, more: int) -> None:
        """Advance the runs."""
        self.display.advance(self.training, more)
        state = self.display.tasks[0]
        speed = state.completed / state.elapsed if state.elapsed else 0.0
        self.display.update(self.training, rate=f"{speed:,.0f} items/s")

    def on_done(self, record: RunRecord) -> None:
        """Count a run; say why it failed."""
        self.ended += 1
        self.display.update(self.training, ended=self.ended)
        if self.ended == self.runs:
            self.display.start_task(self.measuring)
        if record.status == "failed":
            self.say(f"{record.config['method']}, seed {record.config['seed']}, failed: {record.failure}")

    def on_diagnosis(self, record: RunRecord) -> None:
        """Count a diagnosis; say why it failed."""
        self.diagnosed += 1
        self.display.update(self.measuring, advance=1, ended=self.diagnosed)
        if record.status == "failed":
            self.say(f"a diagnosis failed: {record.failure}")

    def summary(self) -> str:
        """What is finished when the user interrupts."""
        measured = f" and {self.diagnosed} of {self.diagnoses} diagnoses" if self.diagnoses else ""
        return f"{self.ended} of {self.runs} runs{measured} are finished and saved; run the same command to continue."
