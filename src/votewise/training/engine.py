"""The engine: the plain loop's step, captured once as a CUDA graph, for several runs at once on one GPU.

Runs pass through lanes in waves. A lane has its own stream, network (or several stacked as one) and captured steps, and
is reset for the next wave. No step depends on the host: items, crops, targets and learning rates of an epoch are in
tables on the device, and a counter on the device says which batch is next. Without a GPU the same lanes call their
steps one by one, with results equal to the plain loop's bit for bit.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from votewise._errors import DivergedError, InputError
from votewise.delivery import Mixup
from votewise.training.batches import Inputs, batch_sizes, epoch_crops, epoch_order
from votewise.training.config import TrainConfig
from votewise.training.loop import arithmetic, build_model
from votewise.training.networks import Network, OneNetwork, check_no_dropout, is_stackable
from votewise.training.runs import Job, ModelMaker, Trained, exact_logits, selection_nll

# With fewer runs at once, late layers leave half of the chip idle; more runs gain almost nothing (docs/performance.md).
AT_ONCE = 8

_PREDICTED_AT_ONCE = 1000

Outcome = Trained | DivergedError


class EpochTables:
    """The random choices and labels of an epoch for each run, on the device, and which batch is next."""

    def __init__(self, job: Job, config: TrainConfig, runs: int, device: torch.device) -> None:
        """Allocate tables for runs of this shape."""
        n_items = len(job.train)
        self.config = config
        self.sizes = batch_sizes(n_items, config.batch_size)
        self.rows = torch.zeros(runs, n_items, dtype=torch.int64, device=device)
        self.order = torch.zeros(runs, n_items, dtype=torch.int64, device=device)
        self.crops = torch.zeros(runs, n_items, 3, dtype=torch.int64, device=device)
        self.targets = torch.zeros(runs, n_items, len(job.delivery.classes), device=device)
        self.rates = torch.zeros(len(self.sizes), device=device)
        self.mix_weights = torch.ones(runs, len(self.sizes), 2, device=device)
        self.partners = torch.zeros(runs, n_items, dtype=torch.int64, device=device)
        self.step = torch.zeros(1, dtype=torch.int64, device=device)
        self.runs = torch.arange(runs, device=device)[:, None]

    def fill(self, jobs: Sequence[Job], epoch: int) -> None:
        """Queue the copies of an epoch's tables to the device, and go to its first batch."""
        config, steps, n_items = self.config, len(self.sizes), self.order.shape[1]
        _send(np.array([config.learning_rate_at(epoch, step, steps) for step in range(steps)]), self.rates)
        for run, job in enumerate(jobs):
            _send(epoch_order(job.seed, epoch, n_items), self.order[run])
            _send(job.delivery.targets(epoch), self.targets[run])
            if config.crop or config.flip:
                _send(epoch_crops(job.seed, epoch, n_items, config), self.crops[run])
            if config.mixup:
                mixup = Mixup(alpha=config.mixup, seed=job.seed)
                plans = [mixup.plan(epoch, step, size) for step, size in enumerate(self.sizes)]
                _send(np.array([(plan.weight, 1 - plan.weight) for plan in plans]), self.mix_weights[run])
                _send(np.concatenate([plan.partner for plan in plans]), self.partners[run])
        self.step.zero_()

    def next_batch(self, data: Inputs, size: int) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs (R, size, ...), targets (R, size, K) and the learning rate () of the next batch."""
        places = self.step * self.config.batch_size + torch.arange(size, device=self.step.device)
        batch = self.order[:, places]
        items, crops = self.rows[self.runs, batch].flatten(), self.crops[self.runs, batch].flatten(0, 1)
        given = torch.unflatten(data.cropped(items, crops), 0, batch.shape)
        wanted = self.targets[self.runs, batch]
        if self.config.mixup:
            weights, partners = self.mix_weights[:, self.step], self.partners[:, places]
            given, wanted = (_mix(values, values[self.runs, partners], weights) for values in (given, wanted))
        return given, wanted, self.rates[self.step][0]


class Lane:
    """Trains one or more runs at a time; all runs that pass through a lane have the same shapes."""

    def __init__(
        self,
        make: ModelMaker,
        network: Network,
        data: Inputs,
        job: Job,
        config: TrainConfig,
        keep_epoch: int | None = None,
    ) -> None:
        """Allocate everything that its runs need, and prepare their steps.

        Args:
            make: builds the model.
            network: the network to train.
            data: the inputs, shared by all lanes.
            job: one of the jobs to do, for its shapes.
            config: the recipe of all jobs.
            keep_epoch: an epoch whose weights to return besides the best and the last.
        """
        device, runs = data.values.device, network.runs
        self.make, self.network, self.data, self.config, self.keep_epoch = make, network, data, config, keep_epoch
        self.jobs: Sequence[Job] = ()
        self.tables = EpochTables(job, config, runs, device)
        self.held_out = torch.zeros(runs, len(job.held_out), dtype=torch.int64, device=device)
        self.selection = torch.zeros(runs, *job.selection.shape, dtype=torch.float64, device=device)

        self.epoch = torch.zeros(1, dtype=torch.int64, device=device)
        self.loss = torch.zeros(runs, device=device)
        self.logits = torch.zeros(config.epochs + 1, runs, len(job.held_out), len(job.delivery.classes), device=device)
        self.nll = torch.zeros(runs, dtype=torch.float64, device=device)
        self.losses = torch.zeros(config.epochs, runs, pin_memory=device.type == "cuda")  # summed over items
        self.nlls = torch.zeros(config.epochs, runs, dtype=torch.float64, pin_memory=device.type == "cuda")
        self.best = {name: torch.zeros_like(value) for name, value in network.values().items()}
        self.kept: dict[str, Tensor] = {}
        self.best_nll = torch.zeros(runs, dtype=torch.float64, device=device)
        self.best_epoch = torch.zeros(runs, dtype=torch.int64, device=device)

        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self.ends: list[torch.cuda.Event] = []  # of the epochs queued so far
        self.train_step = {size: self._ready(partial(self._train, size)) for size in dict.fromkeys(self.tables.sizes)}
        self.evaluate = self._ready(self._evaluate)

    def load(self, jobs: Sequence[Job]) -> None:
        """Prepare the lane for its next runs: initial weights, no momentum, their rows."""
        if self.stream is not None:
            self.stream.synchronize()  # diverged runs may have left an epoch queued
        self.jobs = jobs
        for run, job in enumerate(jobs):
            self.network.load(run, build_model(self.make, seed=job.seed).state_dict())
            self.tables.rows[run].copy_(torch.from_numpy(job.train))
            self.held_out[run].copy_(torch.from_numpy(job.held_out))
            self.selection[run].copy_(torch.from_numpy(job.selection))
        self.epoch.zero_()
        self.best_nll.fill_(torch.inf)
        self.ends.clear()

    def queue_epoch(self, epoch: int) -> Iterator[None]:
        """Queue one epoch, pausing after every step so that the steps of all lanes reach the device in turn."""
        with self._on_stream():
            self.tables.fill(self.jobs, epoch)
            self.loss.zero_()
        for size in self.tables.sizes:
            with self._on_stream():
                self.train_step[size]()
            yield
        with self._on_stream():
            self.evaluate()
            self.losses[epoch].copy_(self.loss, non_blocking=True)
            self.nlls[epoch].copy_(self.nll, non_blocking=True)
            if epoch == self.keep_epoch:
                self.kept = {name: value.clone() for name, value in self.network.values().items()}
            if self.stream is not None:
                self.ends.append(self.stream.record_event())

    def is_sound(self, run: int, epoch: int) -> bool:
        """Wait for an epoch and say whether a run's losses are finite, in training and on the selection rows."""
        if self.stream is not None:
            self.ends[epoch].synchronize()
        return bool(torch.isfinite(self.losses[epoch, run]) and torch.isfinite(self.nlls[epoch, run]))

    def result(self, run: int) -> Trained:
        """The result of a run, once its last epoch is done."""
        best, last = (self.network.state(run, values) for values in (self.best, self.network.values()))
        model = build_model(self.make, seed=self.jobs[run].seed).to(self.data.values.device)
        exact = exact_logits(model, self.data, self.held_out[run], self.tables.rows[run], best, last)
        losses = self.losses[:, run].double().numpy() / self.tables.order.shape[1]
        curve = self.logits[:-1, run].to("cpu", copy=True).numpy()
        kept = self.network.state(run, self.kept) if self.kept else None
        return Trained(losses, curve, int(self.best_epoch[run]), *exact, best, last, kept)

    def _train(self, size: int) -> None:
        """One step on the next `size` items of each run: the body of the plain loop."""
        losses = self.network.train_step(*self.tables.next_batch(self.data, size))
        self.loss += losses * size
        self.tables.step += 1

    @torch.no_grad()
    def _evaluate(self) -> None:
        """Predict the held-out items, and keep the weights of runs whose soft NLL is the lowest so far."""
        if self.selection.shape[1]:
            chunks = [
                self.network.predict(torch.unflatten(self.data.plain(items.flatten()), 0, items.shape))
                for items in torch.split(self.held_out, _PREDICTED_AT_ONCE, dim=1)
            ]
            logits = torch.cat(chunks, dim=1)
            self.logits.index_copy_(0, self.epoch, logits[None])
            self.nll.copy_(selection_nll(logits, self.selection))
        else:  # nothing chooses an epoch, so each is better than the one before
            self.nll.copy_(-self.epoch.expand_as(self.nll))
        better = self.nll < self.best_nll
        values = self.network.values()
        kept = [
            (self.best_nll, self.nll),
            (self.best_epoch, self.epoch),
            *((self.best[name], values[name]) for name in values),
        ]
        for best, now in kept:
            best.copy_(torch.where(better.view(-1, *[1] * (best.ndim - 1)), now, best))
        self.epoch += 1

    def _ready(self, work: Callable[[], None]) -> Callable[[], None]:
        """The work itself or, on a GPU, a captured graph that repeats it."""
        if self.stream is None:
            return work
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):  # compile, choose algorithms and create optimizer state before the capture
                self.tables.step.zero_()
                self.epoch.zero_()
                work()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            work()
        return graph.replay

    def _on_stream(self) -> AbstractContextManager[Any]:
        return nullcontext() if self.stream is None else torch.cuda.stream(self.stream)


def train_jobs(
    make: ModelMaker,
    inputs: Tensor,
    jobs: Sequence[Job],
    config: TrainConfig,
    *,
    device: torch.device | str = "cuda",
    at_once: int = AT_ONCE,
    keep_epoch: int | None = None,
    on_epoch: Callable[[int], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Iterator[tuple[int, Outcome, float, int]]:
    """Do many runs of one recipe, several at once, each as the plain loop would do it.

    For a run that diverges a `DivergedError` is yielded; the others continue. If the device has too little memory for
    `at_once` runs, fewer are trained at once.

    Args:
        make: builds the model, which must have no dropout.
        inputs: (N, ...) of the whole data set.
        jobs: the runs, with equal numbers of training, held-out and selection rows.
        config: their recipe.
        device: where to train; on a GPU the steps are captured.
        at_once: runs at once.
        keep_epoch: an epoch, counted from 0, whose weights to return besides the best and the last.
        on_epoch: called after each epoch of each run with the run's place in `jobs`.
        on_note: called with what a user should know, e.g. that memory was short.

    Yields:
        The place of each run in `jobs` as it ends, its outcome, the seconds since it began, and how many ran at once.
    """
    _check_alike(jobs)
    check_no_dropout(build_model(make, seed=0))
    waiting = list(range(len(jobs)))
    lanes: list[Lane] = []
    with arithmetic(config):
        data = Inputs.place(inputs, config, device)
        while waiting:
            if not lanes or _capacity(lanes) > len(waiting):  # the last wave may be smaller
                waves = math.ceil(len(waiting) / (_capacity(lanes) or at_once))
                fitting = math.ceil(len(waiting) / waves)  # waves of equal size, since few runs at once are slow
                lanes.clear()
                gc.collect()  # a lane and its captured steps hold each other
                lanes = _make_lanes(make, data, jobs[0], config, fitting, keep_epoch, on_note)
            wave, waiting = waiting[: _capacity(lanes)], waiting[_capacity(lanes) :]
            start = time.perf_counter()
            for place, outcome in _run_wave(lanes, wave, jobs, config.epochs, on_epoch):
                yield place, outcome, time.perf_counter() - start, len(wave)


def _capacity(lanes: Sequence[Lane]) -> int:
    return sum(lane.network.runs for lane in lanes)


def _run_wave(
    lanes: Sequence[Lane],
    wave: Sequence[int],
    jobs: Sequence[Job],
    epochs: int,
    on_epoch: Callable[[int], None] | None,
) -> Iterator[tuple[int, Outcome]]:
    """Train as many jobs as the lanes take, all at once."""
    homes = [(lane, run) for lane in lanes for run in range(lane.network.runs)]
    running = dict(zip(wave, homes, strict=True))
    for lane in lanes:
        lane.load([jobs[place] for place, (home, _) in running.items() if home is lane])
    if lanes[0].stream is not None:
        torch.cuda.synchronize()  # the loads were queued on another stream than the lanes' work
    for epoch in range(epochs + 1):
        if epoch < epochs:
            _in_turns([lane.queue_epoch(epoch) for lane in dict.fromkeys(lane for lane, _ in running.values())])
        for place, (lane, run) in list(running.items()) if epoch > 0 else ():
            # One epoch behind, so that the device never waits for the host.
            if not lane.is_sound(run, epoch - 1):
                del running[place]
                yield place, DivergedError(epoch - 1)
            elif on_epoch is not None:
                on_epoch(place)
    for place, (lane, run) in running.items():
        yield place, lane.result(run)


def _in_turns(queues: list[Iterator[None]]) -> None:
    """Take one step from each in turn until all have ended."""
    ended = object()
    while queues:
        queues = [queue for queue in queues if next(queue, ended) is not ended]


def _make_lanes(
    make: ModelMaker,
    data: Inputs,
    job: Job,
    config: TrainConfig,
    runs: int,
    keep_epoch: int | None,
    on_note: Callable[[str], None] | None,
) -> list[Lane]:
    """Lanes for this number of runs, or for as many as fit into the memory of the device."""
    device = data.values.device
    lanes: list[Lane] = []
    try:
        if is_stackable(make, config, device):
            from votewise.training.stacked import StackedResNet

            stacked = StackedResNet(build_model(make, seed=0), runs, config, device)
            return [Lane(make, stacked, data, job, config, keep_epoch)]
        while len(lanes) < runs:
            lanes.append(Lane(make, OneNetwork(make, config, device), data, job, config, keep_epoch))
        return lanes
    except torch.OutOfMemoryError:
        fewer = runs // 2
    lanes.clear()
    gc.collect()
    torch.cuda.empty_cache()
    if fewer < 1:
        raise InputError(
            "the GPU must have enough memory for one run", "it ran out", "Free memory on it, or lower the batch size"
        ) from None
    if on_note is not None:
        on_note(f"the GPU has too little memory for {runs} runs at once: continuing with {fewer}.")
    return _make_lanes(make, data, job, config, fewer, keep_epoch, on_note)


def _check_alike(jobs: Sequence[Job]) -> None:
    shapes = {(len(job.train), len(job.held_out), job.selection.shape, len(job.delivery.classes)) for job in jobs}
    if len(shapes) > 1:
        raise InputError(
            "runs trained together must have equal numbers of training items, held-out items and classes",
            f"they differ: {sorted(shapes)}",
            "Train them in separate calls",
        )


def _mix(own: Tensor, other: Tensor, weights: Tensor) -> Tensor:
    """Own and other values (R, B, ...), weighted by (R, 1, 2)."""
    first, second = (weight.view(-1, *[1] * (own.ndim - 1)) for weight in weights.unbind(dim=2))
    return first * own + second * other


def _send(values: npt.NDArray[Any], table: Tensor) -> None:
    """Queue a copy to the device from memory that nothing changes until it is done."""
    source = torch.from_numpy(values).to(table.dtype)
    table.copy_(source.pin_memory() if table.is_cuda else source, non_blocking=True)
