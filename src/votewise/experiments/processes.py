"""Work spread over processes, one per core, that ends with the process that started it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

from votewise._errors import VotewiseError

Task = TypeVar("Task")
Result = TypeVar("Result")

_LOOK_UP_SECONDS = 0.5

_ticks: Any = None  # of this worker process: a number in memory shared by all workers and their parent


def in_processes(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    jobs: int | None = None,
    setup: Callable[..., None] | None = None,
    setup_arguments: tuple[Any, ...] = (),
    on_ticks: Callable[[int], None] | None = None,
) -> Iterator[tuple[int, Future[Result]]]:
    """Do tasks in fresh processes and yield the place and finished future of each as it ends.

    Args:
        work: called with a task; importable.
        tasks: picklable.
        jobs: processes; all cores if left out.
        setup: called once in each process before its first task.
        setup_arguments: what `setup` is called with.
        on_ticks: called twice a second with the sum of all `tick` counts in all processes.
    """
    _check_main_is_guarded()
    # Fresh processes: a forked copy of a process that holds threads (torch, polars) can hang.
    context = multiprocessing.get_context("spawn")
    ticks = context.Value("q", 0)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        min(jobs or cores(), len(tasks)),
        mp_context=context,
        initializer=_start_worker,
        initargs=(ticks, os.getpid(), setup, setup_arguments),
    )
    with pool:
        try:
            with _interrupts_delayed():  # workers inherit this for good: interrupts are for this process to handle
                places = {pool.submit(work, task): place for place, task in enumerate(tasks)}
            waiting = set(places)
            while waiting:
                done, waiting = wait(waiting, timeout=_LOOK_UP_SECONDS, return_when=FIRST_COMPLETED)
                if on_ticks is not None:
                    on_ticks(ticks.value)
                for future in done:
                    yield places[future], future
        except BaseException:
            for worker in set(multiprocessing.active_children()) - others:  # nobody will read their results
                worker.terminate()
            raise


def _check_main_is_guarded() -> None:
    """Refuse to start processes while this one, started by another, still runs the script that started it."""
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise VotewiseError(
            "the script that asked for several processes starts again in each of them. Put what the script does under "
            "if __name__ == '__main__':."
        )


def ended_unexpectedly(advice: str) -> VotewiseError:
    """The error to raise for a `BrokenProcessPool`."""
    return VotewiseError(
        "a training process ended unexpectedly: the system ended it, probably for lack of memory, or the calling "
        f"script does not do its work under if __name__ == '__main__':. {advice}"
    )


def tick(units: int = 1) -> None:
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
def _interrupts_delayed() -> Iterator[None]:
    """Delay Ctrl-C for a moment, where the platform can; processes started meanwhile never get it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
