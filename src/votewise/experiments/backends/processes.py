"""Work in other processes, one per core, that end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from votewise._errors import InputError, VotewiseError
from votewise.data import Outliers
from votewise.data.dataset import Prepared
from votewise.experiments.backends.tasks import Finished, Progress, Task, Tell, do_task
from votewise.experiments.run import choose_device

Work = TypeVar("Work")
Result = TypeVar("Result")

_LOOK_UP_SECONDS = 0.5

# Tasks sent out for each process: one to work at, one so that it need not wait for the next.
_AHEAD = 2

_ticks: Any = None  # of this worker process: a number in memory shared by all workers and their parent


@dataclass(frozen=True)
class Processes:
    """Processes of this machine, each with one thread and the plain loop. Scripts need `if __name__ == "__main__":`.

    Attributes:
        jobs: how many; all cores if left out.
    """

    jobs: int | None = None

    def map(self, data: Prepared, tasks: Iterable[Task], tell: Tell, *, outliers: Sequence[Outliers] = ()) -> None:
        """See `Backend`."""
        seen = 0

        def count(items: int) -> None:
            nonlocal seen
            tell(Progress(items - seen))
            seen = items

        broken = False
        for _, future in in_processes(
            _do_task_in_worker,
            tasks,
            jobs=self.jobs,
            setup=_keep_in_worker,
            setup_arguments=(data, outliers),
            on_ticks=count,
        ):
            try:
                events = future.result()
            except BrokenProcessPool:  # raised for all that are unfinished; finished ones may still follow
                broken = True
                continue
            for event in events:
                tell(event)
        if broken:
            raise worker_processes_ended("Finished runs are kept; add that line, or call again with fewer jobs.")


def make_processes(*, device: str, jobs: int | None) -> Processes:
    """Processes, which have the CPU as their device."""
    choose_device(device)
    if device == "cuda":
        raise InputError(
            "processes train on the CPU", "got the device cuda", "Take the backend device, or --device cpu"
        )
    return Processes(jobs)


_kept: tuple[Prepared, Sequence[Outliers]] | None = None  # of this worker process


def _keep_in_worker(data: Prepared, outliers: Sequence[Outliers]) -> None:
    global _kept
    _kept = data, outliers


def _do_task_in_worker(task: Task) -> list[Finished]:
    assert _kept is not None
    data, outliers = _kept
    return do_task(task, data, device="cpu", outliers=outliers, on_items=tick_in_worker_process)


def in_processes(
    work: Callable[[Work], Result],
    tasks: Iterable[Work],
    *,
    jobs: int | None = None,
    setup: Callable[..., None] | None = None,
    setup_arguments: tuple[Any, ...] = (),
    on_ticks: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, Future[Result]]]:
    """Do tasks in fresh processes and yield the place and finished future of each as it ends.

    Args:
        work: called with a task; importable.
        tasks: picklable; taken as they are begun, a few ahead.
        jobs: processes; all cores if left out.
        setup: called once in each process before its first task.
        setup_arguments: what `setup` is called with.
        on_ticks: called twice a second with the sum of all `tick_in_worker_process` counts in all processes.
    """
    _check_main_is_guarded()
    # Fresh processes: a forked copy of a process that holds threads (torch, polars) can hang.
    context = multiprocessing.get_context("spawn")
    ticks = context.Value("q", 0)
    others = set(multiprocessing.active_children())
    coming = enumerate(tasks)
    first = list(islice(coming, _AHEAD * (jobs or cores())))
    if not first:
        return
    pool = ProcessPoolExecutor(
        min(jobs or cores(), len(first)),
        mp_context=context,
        initializer=_start_worker,
        initargs=(ticks, os.getpid(), setup, setup_arguments),
    )
    with pool:
        try:
            with _signals_delayed_while_starting_workers():
                places = {pool.submit(work, task): place for place, task in first}
            waiting = set(places)
            while waiting:
                done, waiting = wait(waiting, timeout=_LOOK_UP_SECONDS, return_when=FIRST_COMPLETED)
                if on_ticks is not None:
                    on_ticks(ticks.value)
                for place, task in islice(coming, len(done)):
                    try:
                        more = pool.submit(work, task)
                    except BrokenProcessPool as error:
                        more = Future()
                        more.set_exception(error)
                    places[more] = place
                    waiting.add(more)
                for future in done:
                    yield places.pop(future), future
        except BaseException:
            for worker in set(multiprocessing.active_children()) - others:  # nobody will read their results
                worker.kill()
            raise


def _check_main_is_guarded() -> None:
    """Refuse to start processes while this one, started by another, still runs the script that started it."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise VotewiseError(
            "the script that asked for several processes starts again in each of them. Put what the script does under "
            "if __name__ == '__main__':."
        )


def worker_processes_ended(advice: str) -> VotewiseError:
    """The error to raise for a `BrokenProcessPool`."""
    return VotewiseError(
        "a training process ended unexpectedly: the system ended it, probably for lack of memory, or the calling "
        f"script does not do its work under if __name__ == '__main__':. {advice}"
    )


def tick_in_worker_process(units: int = 1) -> None:
    """Count units of work done, for the parent's progress display."""
    if _ticks is not None:
        with _ticks.get_lock():
            _ticks.value += units


def cores() -> int:
    """The number of cores this process may use, where the platform says."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start_worker(ticks: Any, parent: int, setup: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    import torch

    global _ticks
    _ticks = ticks
    torch.set_num_threads(1)  # one process per core: more threads would only compete
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    if setup is not None:
        setup(*arguments)


def _end_with(parent: int) -> None:
    """End this process once its parent is gone, since nobody would get its results."""
    while os.getppid() == parent:
        time.sleep(_LOOK_UP_SECONDS)
    os._exit(1)


@contextmanager
def _signals_delayed_while_starting_workers() -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM only at the end of the block, so that no worker is left half started.

    Workers that start in the block never get Ctrl-C, where the platform can block it: it is for this process to handle.
    SIGTERM ends them even if this process ignores it.
    """
    received: list[int] = []
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():  # only there can handlers be set
        for number in (signal.SIGINT, signal.SIGTERM):
            # Without a handler, SIGTERM ends this process at once, and the workers notice.
            if signal.getsignal(number) not in (signal.SIG_DFL, None):
                handlers[number] = signal.signal(number, lambda told, _: received.append(told))
    try:
        with _interrupts_blocked_for_workers():
            yield
    finally:
        for delayed, handler in handlers.items():
            signal.signal(delayed, handler)
        for delayed in received:
            signal.raise_signal(delayed)  # without effect if it is ignored


@contextmanager
def _interrupts_blocked_for_workers() -> Iterator[None]:
    """Block SIGINT in this thread, where the platform can; processes started meanwhile inherit that for good."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
