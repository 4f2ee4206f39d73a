"""Work in this process: with the plain loop on a CPU, and on a GPU several runs at once with the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from votewise._errors import DivergedError
from votewise.data import Outliers
from votewise.data.dataset import Prepared
from votewise.experiments.backends.tasks import Finished, Note, Progress, Task, Tell, Training, do_task
from votewise.experiments.run import (
    Run,
    Split,
    choose_device,
    model_maker_of_run,
    record_training,
    split_runs,
    trained_weights_of_run,
)

if TYPE_CHECKING:
    from votewise.training import Trained


@dataclass(frozen=True)
class Device:
    """This process and one device.

    Attributes:
        device: "cpu", "cuda" or "auto".
        at_once: simultaneous runs of the engine; as many as pay if left out.
        engine: whether to train with the engine; on a GPU if left out.
    """

    device: str = "auto"
    at_once: int | None = None
    engine: bool | None = None

    def map(self, data: Prepared, tasks: Iterable[Task], tell: Tell, *, outliers: Sequence[Outliers] = ()) -> None:
        """See `Backend`. The engine leaves measuring to its caller, since its runs fill the device."""
        from votewise.training import build_model
        from votewise.training.networks import has_dropout

        device = choose_device(self.device)
        with_engine = device == "cuda" if self.engine is None else self.engine

        def do_alone(task: Task) -> None:
            for event in do_task(
                task, data, device=device, outliers=outliers, on_items=lambda items: tell(Progress(items))
            ):
                tell(event)

        together: list[Training] = []
        for task in tasks:
            if with_engine and isinstance(task, Training):
                together.append(task)
            else:
                do_alone(task)
        splits = split_runs([each.run for each in together], data)
        for group in group_trainings(together, splits):
            # A model with dropout draws random numbers of its own, so it cannot be trained beside others.
            if has_dropout(build_model(model_maker_of_run(group[0].run, data), seed=0)):
                for training in group:
                    do_alone(training)
            else:
                self._train(group, splits, data, tell, device)

    def _train(
        self, group: Sequence[Training], splits: Mapping[Run, Split], data: Prepared, tell: Tell, device: str
    ) -> None:
        """Train runs of equal shapes with the engine; each is scored and told of while the next ones train."""
        import torch

        from votewise.training import train_jobs
        from votewise.training.engine import AT_ONCE

        jobs = [each.job(data, splits[each.run]) for each in group]

        def score(place: int, outcome: Trained | DivergedError, seconds: float, at_once: int) -> None:
            training = group[place]
            record = record_training(
                training.run, jobs[place], data, outcome, seconds=seconds, device=device, at_once=at_once
            )
            wanted = training.keep or not training.plan.is_empty
            tell(Finished(training.run, record, trained_weights_of_run(outcome) if wanted else {}))

        outcomes = train_jobs(
            model_maker_of_run(group[0].run, data),
            torch.tensor(data.inputs),
            jobs,
            group[0].run.recipe,
            device=device,
            at_once=self.at_once or AT_ONCE,
            keep_epoch=next((each.keep_epoch for each in group if each.keep_epoch is not None), None),
            on_epoch=lambda place: tell(Progress(len(jobs[place].train))),
            on_note=lambda text: tell(Note(text)),
        )
        with ThreadPoolExecutor(1) as scorer:
            scored = [
                scorer.submit(score, place, outcome, seconds, at_once) for place, outcome, seconds, at_once in outcomes
            ]
            for future in scored:
                future.result()


def make_device(*, device: str, jobs: int | None) -> Device:
    """This process and the device that suits it best."""
    return Device(choose_device(device), jobs)


def group_trainings(trainings: Iterable[Training], splits: Mapping[Run, Split]) -> list[list[Training]]:
    """Trainings in groups that the engine can train together: of one model and recipe, and equal numbers of rows."""
    groups: dict[Any, list[Training]] = {}
    for each in trainings:
        run, split = each.run, splits[each.run]
        key = run.model, run.recipe, len(split.train), len(split.held_out), len(split.selection)
        groups.setdefault(key, []).append(each)
    return list(groups.values())
