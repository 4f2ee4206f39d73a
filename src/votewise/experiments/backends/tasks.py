"""What a backend is given to do, what it tells meanwhile, and one task done in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

from votewise._checks import FloatArray
from votewise.data import Outliers
from votewise.data.dataset import Prepared
from votewise.delivery.methods import Method
from votewise.experiments.measure import Measurement, Plan, Weights, common_measured_epoch, measure_runs
from votewise.experiments.run import Run, make_job, train_run_with_weights
from votewise.records import RunRecord

if TYPE_CHECKING:
    from votewise.experiments.run import Split
    from votewise.training import Job


@dataclass(frozen=True, eq=False)
class Training:
    """A run to train.

    Attributes:
        run: the run.
        method: its method, so that no worker needs to know it by name.
        logits: out-of-fold predictions, (N, K), if the method needs them.
        plan: what to measure of it. A backend may measure it where it is trained, or hand over the weights instead.
        keep: whether the weights are wanted in any case.
    """

    run: Run
    method: Method
    logits: FloatArray | None = None
    plan: Plan = field(default_factory=Plan)
    keep: bool = False

    @property
    def keep_epoch(self) -> int | None:
        """The epoch of the checkpoint "common", if the plan measures it."""
        return common_measured_epoch(self.run) if "common" in self.plan.curvature else None

    def job(self, data: Prepared, split: Split | None = None) -> Job:
        """Rows and labels, made where the run is trained.

        Args:
            data: what the run is trained on.
            split: its split, if it is known.
        """
        return make_job(self.run, data, split, method=self.method, logits=self.logits)


Task: TypeAlias = Training | Measurement


@dataclass(frozen=True)
class Started:
    """Work that begins; what was told before goes on.

    Attributes:
        runs: runs asked for.
        todo: those of them that will be trained.
        failed: those that failed before and are left so.
        items: about how many training items pass in all epochs of the runs that are trained.
        measurements: measurements that will be made.
    """

    runs: int
    todo: int
    failed: int
    items: int
    measurements: int


@dataclass(frozen=True)
class Progress:
    """Training items passed since the last such event."""

    items: int


@dataclass(frozen=True, eq=False)
class Finished:
    """A run or a measurement that has ended.

    Attributes:
        task: the run or measurement.
        record: its result.
        weights: the run's weights by checkpoint, where they are wanted.
    """

    task: Run | Measurement
    record: RunRecord
    weights: Weights = field(default_factory=dict)


@dataclass(frozen=True)
class Note:
    """What a user should know."""

    text: str


Event: TypeAlias = Started | Progress | Finished | Note
Tell: TypeAlias = Callable[[Event], None]


class Backend(Protocol):
    """Does tasks somewhere. One that is a context manager, too, may keep its workers from one `map` to the next."""

    def map(self, data: Prepared, tasks: Iterable[Task], tell: Tell, *, outliers: Sequence[Outliers] = ()) -> None:
        """Do all tasks.

        Args:
            data: what the runs are trained on, which workers get once.
            tasks: taken one by one as they are begun, since they may hold weights.
            tell: called with every event, by one thread at a time for those of one kind.
            outliers: out-of-distribution images for measurements.
        """


def do_task(
    task: Task,
    data: Prepared,
    *,
    device: str,
    outliers: Sequence[Outliers] = (),
    on_items: Callable[[int], None] = lambda _: None,
) -> list[Finished]:
    """Do one task in this process, with the plain loop.

    Args:
        task: what to do.
        data: what the runs are trained on.
        device: "cpu" or "cuda".
        outliers: out-of-distribution images for measurements.
        on_items: called after each epoch with the number of training items.

    Returns:
        What has ended: a run comes before what was measured of it.
    """
    if isinstance(task, Measurement):
        record = measure_runs(task, data, device=device, outliers=outliers)
        return [Finished(Measurement(task.runs, task.plan), record)]
    job = task.job(data)
    record, weights = train_run_with_weights(
        task.run, job, data, device=device, keep_epoch=task.keep_epoch, on_epoch=partial(on_items, len(job.train))
    )
    if record.status == "failed" or task.plan.is_empty:
        return [Finished(task.run, record, weights if task.keep else {})]
    measured = measure_runs(Measurement((task.run,), task.plan, (weights,)), data, device=device, outliers=outliers)
    kept = task.keep or measured.status == "failed"  # so that it can be measured again
    return [
        Finished(task.run, record, weights if kept else {}),
        Finished(Measurement((task.run,), task.plan), measured),
    ]
