"""Where work is done: the backends by name.

A backend has one method, `map`. It does the tasks in any order and anywhere, and tells of each as it ends; only its
caller writes records. A new one is one file beside this and one row of `BACKENDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from votewise._checks import check_choice
from votewise.experiments.backends.device import make_device
from votewise.experiments.backends.processes import make_processes
from votewise.experiments.backends.ray import make_ray
from votewise.experiments.backends.tasks import Backend as Backend
from votewise.experiments.backends.tasks import Event as Event
from votewise.experiments.backends.tasks import Finished as Finished
from votewise.experiments.backends.tasks import Note as Note
from votewise.experiments.backends.tasks import Progress as Progress
from votewise.experiments.backends.tasks import Started as Started
from votewise.experiments.backends.tasks import Task as Task
from votewise.experiments.backends.tasks import Tell as Tell
from votewise.experiments.backends.tasks import Training as Training
from votewise.experiments.run import choose_device


@dataclass(frozen=True)
class BackendRow:
    """One place to do work.

    Attributes:
        summary: where it works, in a line.
        make: makes the backend from `device=`, `jobs=` and, if it has one, `address=`.
        address: whether an address may follow its name: "ray:10.0.0.1:6379".
    """

    summary: str
    make: Callable[..., Backend]
    address: bool = False


BACKENDS: dict[str, BackendRow] = {
    "processes": BackendRow("processes of this machine, one per core of the CPU", make_processes),
    "device": BackendRow("this process, on a GPU several runs at once", make_device),
    "ray": BackendRow("a Ray cluster, or one that is started on this machine", make_ray, address=True),
}


def find_backend(name: str | None = None, *, device: str = "auto", jobs: int | None = None) -> Backend:
    """A backend by name, such as "processes" or "ray:ADDRESS"; chosen by the device if left out.

    Args:
        name: its name.
        device: "cpu", "cuda" or "auto".
        jobs: processes or workers, all cores or GPUs if left out; on a GPU, simultaneous runs.
    """
    if name is None:
        name = "device" if choose_device(device) == "cuda" else "processes"
    kind, colon, address = name.partition(":")
    with_address = bool(colon) and kind in BACKENDS and BACKENDS[kind].address
    row = BACKENDS[check_choice("the backend", kind if with_address else name, tuple(BACKENDS))]
    return row.make(device=device, jobs=jobs, **({"address": address} if with_address else {}))
