"""Work on a Ray cluster, or on one that is started on this machine and ended with the work."""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from votewise._errors import InputError, MissingExtraError, VotewiseError
from votewise.data import Outliers
from votewise.data.dataset import Prepared
from votewise.experiments.backends.device import Device, group_trainings
from votewise.experiments.backends.processes import cores
from votewise.experiments.backends.tasks import Event, Progress, Task, Tell, Training, do_task
from votewise.experiments.run import split_runs

# A task that ends this many workers would end every other one, too.
_MOST_LOSSES = 3

_LOOK_UP_SECONDS = 0.5


@dataclass
class Ray:
    """Workers of a Ray cluster: one for each GPU, with the engine; without GPUs one for each core, with the plain loop.

    Used as a context manager, it keeps connection and workers from one `map` to the next, as long as the data stay.

    Attributes:
        address: where a running cluster is; None to start one on this machine.
        device: "cpu", "cuda" or "auto".
        jobs: workers, as many as there are cores if left out; on GPUs, simultaneous runs of each.
    """

    address: str | None = None
    device: str = "auto"
    jobs: int | None = None

    def __post_init__(self) -> None:
        """Start nothing yet."""
        self._users, self._is_ours = 0, False
        self._idle: list[Any] = []
        self._sent: tuple[Any, ...] = ()

    def __enter__(self) -> Ray:
        """Connect, or start Ray here; a connection that the caller has is taken."""
        ray = _import_ray(alone=self.address is None)
        if not ray.is_initialized():
            quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
            if self.address is None:
                # Workers find what this process does, such as a user's own method, as other processes of it would.
                paths = {"env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}}
                ray.init(num_cpus=self.jobs or cores(), include_dashboard=False, runtime_env=paths, **quiet)
            else:
                ray.init(address=self.address, **quiet)
            self._is_ours = True
        self._users += 1
        return self

    def __exit__(self, *_: object) -> None:
        """End the workers, and the connection unless the caller had made it."""
        self._users -= 1
        if self._users:
            return
        ray = _import_ray(alone=self.address is None)
        for worker in self._idle:
            ray.kill(worker)
        self._idle, self._sent = [], ()
        if self._is_ours:
            ray.shutdown()
            self._is_ours = False

    def map(self, data: Prepared, tasks: Iterable[Task], tell: Tell, *, outliers: Sequence[Outliers] = ()) -> None:
        """See `Backend`. The work of a worker that is lost is done again by another."""
        with self:
            ray = _import_ray(alone=self.address is None)
            there = ray.cluster_resources()
            gpus = 0 if self.device == "cpu" else int(there.get("GPU", 0))
            if self.device == "cuda" and not gpus:
                raise InputError(
                    "the Ray cluster must have a GPU for the device cuda", "it has none", "Pass cpu, or auto"
                )
            if not self._sent or self._sent[0] is not data or self._sent[1] is not outliers:
                self._idle = []  # they have other data
                self._sent = data, outliers, ray.put((data, tuple(outliers)))
            kind = ray.remote(**({"num_gpus": 1} if gpus else {"num_cpus": 1}))(_Worker)
            self._share_out(
                ray,
                lambda: kind.remote(self._sent[2], "cuda" if gpus else "cpu", self.jobs),
                gpus or min(self.jobs or cores(), int(there["CPU"])),
                _in_parts(tasks, data, self.jobs) if gpus else ((task,) for task in tasks),
                tell,
            )

    def _share_out(
        self, ray: Any, start: Callable[[], Any], most: int, coming: Iterator[tuple[Task, ...]], tell: Tell
    ) -> None:
        """Keep workers busy, one part at a time, and do the part of a worker that is lost again."""
        parts = enumerate(coming)
        again: list[tuple[int, tuple[Task, ...]]] = []
        working: dict[Any, tuple[Any, int, tuple[Task, ...]]] = {}
        losses: Counter[int] = Counter()
        while True:
            while len(working) < most:
                part = again.pop() if again else next(parts, None)
                if part is None:
                    break
                worker = self._idle.pop() if self._idle else start()
                working[worker.do.remote(part[1])] = (worker, *part)
            if not working:
                return
            for result in ray.wait(list(working), timeout=_LOOK_UP_SECONDS)[0]:
                worker, place, tasks = working.pop(result)
                try:
                    events = ray.get(result)
                except ray.exceptions.RayActorError as error:
                    losses[place] += 1
                    if losses[place] == _MOST_LOSSES:
                        raise VotewiseError(
                            f"{_MOST_LOSSES} Ray workers ended at the same task, probably for lack of memory. Finished "
                            "runs are kept; give each worker more memory, or train smaller batches."
                        ) from error
                    again.append((place, tasks))
                    continue
                self._idle.append(worker)
                if isinstance(events, VotewiseError):
                    raise events
                for event in events:
                    tell(event)


class _Worker:
    """What works in an actor: it gets the data once."""

    def __init__(self, kept: tuple[Prepared, Sequence[Outliers]], device: str, jobs: int | None) -> None:
        import torch

        self.data, self.outliers = kept
        self.device, self.jobs = device, jobs
        if device == "cpu":
            torch.set_num_threads(1)  # as in other processes of one core each

    def do(self, tasks: Sequence[Task]) -> list[Event] | VotewiseError:
        """Do some tasks; an error is returned, since Ray would change its kind."""
        events: list[Event] = []

        def count(items: int) -> None:
            events.append(Progress(items))

        try:
            if self.device == "cpu":
                for task in tasks:
                    events += do_task(task, self.data, device="cpu", outliers=self.outliers, on_items=count)
            else:
                Device(self.device, self.jobs).map(self.data, tasks, events.append, outliers=self.outliers)
        except VotewiseError as error:
            return error
        return events


def make_ray(*, device: str, jobs: int | None, address: str = "") -> Ray:
    """Workers of the cluster at an address, or of one on this machine."""
    return Ray(address or None, device, jobs)


def _in_parts(tasks: Iterable[Task], data: Prepared, at_once: int | None) -> Iterator[tuple[Task, ...]]:
    """What one GPU gets at a time: a wave of trainings that the engine can train together, or one measurement."""
    from votewise.training.engine import AT_ONCE

    trainings: list[Training] = []
    for task in tasks:
        if isinstance(task, Training):
            trainings.append(task)
        else:
            yield (task,)
    for group in group_trainings(trainings, split_runs([each.run for each in trainings], data)):
        for start in range(0, len(group), at_once or AT_ONCE):
            yield tuple(group[start : start + (at_once or AT_ONCE)])


def _import_ray(*, alone: bool) -> Any:
    """The package; on this machine alone it sends and hears nothing from outside, which it decides when imported."""
    if alone:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # on Linux, too: 127.0.0.1 is the only address
    try:
        import ray
    except ImportError:
        raise MissingExtraError("the backend ray", "ray", "ray") from None
    return ray
