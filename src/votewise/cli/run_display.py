"""What a terminal shows while runs are trained and diagnosed: how many are done, items a second, time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from votewise.cli import options

if TYPE_CHECKING:
    from votewise.experiments.execution import Listener
    from votewise.experiments.material import Material
    from votewise.experiments.run import RunConfig
    from votewise.records import RunRecord


@contextmanager
def follow_runs(
    todo: Sequence[RunConfig], material: Material, quiet: bool, *, diagnoses: int = 0, kept: bool = True
) -> Iterator[Listener]:
    """A listener that draws bars on a terminal, and tells notes and failures as they come.

    Args:
        todo: the runs that will be trained.
        material: what they are made of.
        quiet: no bars.
        diagnoses: how many will be made once the runs are done.
        kept: whether finished runs are kept, which is told when the user interrupts.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from votewise.experiments.estimate import training_images
    from votewise.experiments.execution import Listener

    columns = (
        TextColumn("{task.fields[ended]} of {task.fields[all]} {task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    ended = diagnosed = 0
    silent = quiet or not sys.stderr.isatty()
    try:
        with Progress(*columns, console=Console(stderr=True), disable=silent, speed_estimate_period=300) as display:
            images = sum(training_images(config, material) for config in todo)
            training = display.add_task("runs", total=images, ended=0, all=len(todo), rate="", visible=bool(todo))
            measuring = display.add_task(
                "diagnoses", total=diagnoses, ended=0, all=diagnoses, rate="", start=not todo, visible=diagnoses > 0
            )

            def tell(text: str) -> None:  # by way of the display, which else would write over it
                display.console.print(f"votewise: {text}", markup=False, highlight=False, soft_wrap=True)

            def on_images(more: int) -> None:
                display.advance(training, more)
                state = display.tasks[0]
                speed = state.completed / state.elapsed if state.elapsed else 0.0
                display.update(training, rate=f"{speed:,.0f} items/s")

            def on_done(record: RunRecord) -> None:
                nonlocal ended
                ended += 1
                display.update(training, ended=ended)
                if ended == len(todo):
                    display.start_task(measuring)
                if record.status == "failed":
                    tell(f"{_name(record)} failed: {record.failure}")

            def on_diagnosis(record: RunRecord) -> None:
                nonlocal diagnosed
                diagnosed += 1
                display.update(measuring, advance=1, ended=diagnosed)
                if record.status == "failed":
                    tell(f"a diagnosis failed: {record.failure}")

            yield Listener(on_done=on_done, on_images=on_images, on_diagnosis=on_diagnosis, on_note=tell)
    except KeyboardInterrupt:
        if kept:
            measured = f" and {diagnosed} of {diagnoses} diagnoses" if diagnoses else ""
            told = f"{ended} of {len(todo)} runs{measured} are done and kept; the same command goes on."
            options.note(told, quiet=False)
        raise


def _name(record: RunRecord) -> str:
    return f"{record.config['method']}, seed {record.config['seed']},"
