"""The engine: the plain loop's step, captured once as a CUDA graph, for several runs at once on one GPU.

Every run has a slot: its own model, optimizer, stream and captured step. Runs pass through the slots in waves; a slot
is captured once and reset for the next run. Nothing in the step depends on the host: items, crops, targets and learning
rates of an epoch lie in tables on the device, and a counter on the device says which batch is next.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from votewise._errors import DivergedError, InputError
from votewise.delivery import Mixup
from votewise.training.batches import Inputs, batch_sizes, epoch_crops, epoch_order
from votewise.training.config import TrainConfig
from votewise.training.loop import arithmetic, build_model, make_optimizer, soft_cross_entropy
from votewise.training.runs import Job, ModelMaker, Trained, exact_logits, selection_nll, state_of

# With fewer runs at once late layers leave half of the chip idle; with more nothing is gained (docs/performance.md).
AT_ONCE = 4

Outcome = Trained | DivergedError


class EpochTables:
    """What chance and the delivery decide for an epoch, on the device; and which batch is next."""

    def __init__(self, job: Job, config: TrainConfig, device: torch.device) -> None:
        """Allocate the tables for jobs shaped like this one."""
        n_items = len(job.train)
        self.config = config
        self.sizes = batch_sizes(n_items, config.batch_size)
        self.order = torch.zeros(n_items, dtype=torch.int64, device=device)
        self.crops = torch.zeros(n_items, 3, dtype=torch.int64, device=device)
        self.targets = torch.zeros(n_items, len(job.delivery.classes), device=device)
        self.learning_rates = torch.zeros(len(self.sizes), device=device)
        self.mix_weights = torch.ones(len(self.sizes), 2, device=device)
        self.partners = torch.zeros(n_items, dtype=torch.int64, device=device)
        self.step = torch.zeros(1, dtype=torch.int64, device=device)

    def fill(self, job: Job, epoch: int) -> None:
        """Queue the copies of an epoch's tables to the device, and start at its first batch."""
        config, steps, n_items = self.config, len(self.sizes), len(self.order)
        _send(epoch_order(job.seed, epoch, n_items), self.order)
        _send(job.delivery.targets(epoch), self.targets)
        _send(np.array([config.learning_rate_at(epoch, step, steps) for step in range(steps)]), self.learning_rates)
        if config.crop or config.flip:
            _send(epoch_crops(job.seed, epoch, n_items, config), self.crops)
        if config.mixup:
            mixup = Mixup(alpha=config.mixup, seed=job.seed)
            plans = [mixup.plan(epoch, step, size) for step, size in enumerate(self.sizes)]
            _send(np.array([(plan.weight, 1 - plan.weight) for plan in plans]), self.mix_weights)
            _send(np.concatenate([plan.partner for plan in plans]), self.partners)
        self.step.zero_()

    def places(self, size: int) -> Tensor:
        """Where the items of the next batch stand in the epoch's order, (size,)."""
        return self.step * self.config.batch_size + torch.arange(size, device=self.step.device)


class Slot:
    """A place for one run at a time; all runs that pass through it have the same shapes."""

    def __init__(
        self, make: ModelMaker, data: Inputs, job: Job, config: TrainConfig, *, fuse: bool, capture: bool
    ) -> None:
        """Allocate everything a run needs, and make its steps ready.

        Args:
            make: builds the model.
            data: the inputs, shared by all slots.
            job: one of the jobs to come, for its shapes.
            config: the recipe of all jobs.
            fuse: compile the model, which fuses norms, activations and casts.
            capture: replay CUDA graphs instead of calling the steps; needs a GPU.
        """
        device = data.values.device
        self.make, self.data, self.job, self.config = make, data, job, config
        model = build_model(make, seed=job.seed)
        if has_dropout(model):
            raise InputError(
                "the model of runs that are trained together must have no dropout",
                "theirs has: all would draw from the one generator of the device",
                "Train them one by one, with train_job",
            )
        self.model = model.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.forward = torch.compile(self.model, dynamic=False) if fuse else self.model
        self.learning_rate = torch.zeros((), device=device)
        self.optimizer = make_optimizer(self.model, config, self.learning_rate)
        self.tables = EpochTables(job, config, device)
        self.rows = torch.zeros(len(job.train), dtype=torch.int64, device=device)
        self.held_out = torch.zeros(len(job.held_out), dtype=torch.int64, device=device)
        self.selection = torch.zeros(job.selection.shape, dtype=torch.float64, device=device)

        self.epoch = torch.zeros(1, dtype=torch.int64, device=device)
        self.loss = torch.zeros((), device=device)
        self.logits = torch.zeros(config.epochs + 1, len(job.held_out), len(job.delivery.classes), device=device)
        self.nll = torch.zeros((), dtype=torch.float64, device=device)
        self.losses = torch.zeros(config.epochs, pin_memory=capture)  # of each epoch, on the host: summed over items
        self.nlls = torch.zeros(config.epochs, dtype=torch.float64, pin_memory=capture)
        self.best = {name: torch.zeros_like(value) for name, value in self.model.state_dict().items()}
        self.best_nll = torch.zeros((), dtype=torch.float64, device=device)
        self.best_epoch = torch.zeros(1, dtype=torch.int64, device=device)

        self.stream = torch.cuda.Stream(device) if capture else None  # type: ignore[no-untyped-call]
        self.ends: list[torch.cuda.Event] = []  # of the epochs queued so far
        self.train_step = {size: self._ready(partial(self._train, size)) for size in dict.fromkeys(self.tables.sizes)}
        self.evaluate = self._ready(self._evaluate)

    def load(self, job: Job) -> None:
        """Make the slot ready for a run: fresh weights, no momentum, the run's rows."""
        if self.stream is not None:
            self.stream.synchronize()  # a run that diverged may have left an epoch queued
        self.job = job
        self.model.load_state_dict(build_model(self.make, seed=job.seed).state_dict())
        for state in self.optimizer.state.values():
            for value in state.values():
                value.zero_()
        self.rows.copy_(torch.from_numpy(job.train))
        self.held_out.copy_(torch.from_numpy(job.held_out))
        self.selection.copy_(torch.from_numpy(job.selection))
        self.epoch.zero_()
        self.best_epoch.zero_()
        self.best_nll.fill_(torch.inf)
        self.ends.clear()

    def queue_epoch(self, epoch: int) -> Iterator[None]:
        """Queue one epoch, pausing after every step so that the slots' steps reach the device in turns."""
        with self._on_stream():
            self.tables.fill(self.job, epoch)
            self.loss.zero_()
        for size in self.tables.sizes:
            with self._on_stream():
                self.train_step[size]()
            yield
        with self._on_stream():
            self.evaluate()
            self.losses[epoch].copy_(self.loss, non_blocking=True)
            self.nlls[epoch].copy_(self.nll, non_blocking=True)
            if self.stream is not None:
                self.ends.append(self.stream.record_event())

    def is_sound(self, epoch: int) -> bool:
        """Wait for an epoch and say whether its losses are numbers, in training and on the selection rows."""
        if self.stream is not None:
            self.ends[epoch].synchronize()
        return bool(torch.isfinite(self.losses[epoch]) and torch.isfinite(self.nlls[epoch]))

    def result(self) -> Trained:
        """What the run left, once its last epoch is done."""
        losses, curve = self.losses.double().numpy() / len(self.rows), self.logits[:-1].to("cpu", copy=True).numpy()
        last, best = state_of(self.model), {name: value.to("cpu", copy=True) for name, value in self.best.items()}
        exact = exact_logits(self.model, self.data, self.held_out, self.best)
        self.model.train()
        return Trained(losses, curve, int(self.best_epoch), *exact, best, last)

    def _train(self, size: int) -> None:
        """One step on the next `size` items: the body of the plain loop."""
        tables = self.tables
        places = tables.places(size)
        batch = tables.order[places]
        given, wanted = self.data.cropped(self.rows[batch], tables.crops[batch]), tables.targets[batch]
        if self.config.mixup:
            (own, other), partner = tables.mix_weights[tables.step][0], tables.partners[places]
            given = own * given + other * given[partner]
            wanted = own * wanted + other * wanted[partner]
        with self._precision():
            logits = self.forward(given)
        loss = soft_cross_entropy(logits, wanted).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.learning_rate.copy_(tables.learning_rates[tables.step][0])
        self.optimizer.step()
        self.loss += loss.detach() * size
        tables.step += 1

    @torch.no_grad()
    def _evaluate(self) -> None:
        """Predict the held-out items, and keep the weights if their soft NLL is the lowest so far."""
        self.model.eval()
        with self._precision():
            logits = torch.cat([self.forward(batch).float() for batch in self.data.chunks(self.held_out, 1000)])
        self.model.train()
        self.logits.index_copy_(0, self.epoch, logits[None])
        self.nll.copy_(selection_nll(logits, self.selection))
        better = self.nll < self.best_nll
        kept = [(self.best_nll, self.nll), (self.best_epoch, self.epoch)]
        kept += [(self.best[name], value) for name, value in self.model.state_dict().items()]
        for best, now in kept:
            best.copy_(torch.where(better, now, best))
        self.epoch += 1

    def _ready(self, work: Callable[[], None]) -> Callable[[], None]:
        """The work itself or, on a stream of its own, a captured graph that repeats it."""
        if self.stream is None:
            return work
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(3):  # compilation, the choice of algorithms and the optimizer's state come before a capture
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

    def _precision(self) -> torch.autocast:
        # Casts of the weights must be part of every captured step, so they are not cached.
        device = self.data.values.device.type
        return torch.autocast(device, torch.bfloat16, enabled=self.config.precision == "bf16", cache_enabled=False)


def has_dropout(model: nn.Module) -> bool:
    """Whether a model draws units to leave out in training."""
    layers = (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout, nn.FeatureAlphaDropout)
    return any(isinstance(module, layers) and module.p > 0 for module in model.modules())


def train_jobs(
    make: ModelMaker,
    inputs: Tensor,
    jobs: Sequence[Job],
    config: TrainConfig,
    *,
    device: torch.device | str = "cuda",
    at_once: int = AT_ONCE,
    on_epoch: Callable[[int], None] | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Iterator[tuple[int, Outcome, float, int]]:
    """Do many runs of one recipe, several at once, each as the plain loop would do it.

    A run that diverges ends as a `DivergedError` in its place; the others go on. Where the device has too little memory
    for `at_once` runs, fewer go at once.

    Args:
        make: builds the model, one without dropout.
        inputs: (N, ...) of the whole data set.
        jobs: the runs, alike in the number of training, held-out and selection rows.
        config: their recipe.
        device: where to train; the steps are captured if it is a GPU.
        at_once: runs at once.
        on_epoch: called after each epoch of each run with the run's place in `jobs`.
        on_note: called with what a user should know, e.g. that memory was short.

    Yields:
        The place of each run in `jobs` as it ends, its outcome, the seconds since it began, and how many went at once.
    """
    _check_alike(jobs)
    waiting = list(range(len(jobs)))
    slots: list[Slot] = []
    with arithmetic(config):
        data = Inputs.place(inputs, config, device)
        while waiting:
            slots = slots or _make_slots(make, data, jobs[0], config, min(at_once, len(waiting)), on_note)
            wave, waiting = waiting[: len(slots)], waiting[len(slots) :]
            start = time.perf_counter()
            for place, outcome in _run_wave(slots, wave, jobs, config.epochs, on_epoch):
                yield place, outcome, time.perf_counter() - start, len(wave)


def _run_wave(
    slots: Sequence[Slot],
    wave: Sequence[int],
    jobs: Sequence[Job],
    epochs: int,
    on_epoch: Callable[[int], None] | None,
) -> Iterator[tuple[int, Outcome]]:
    """Train one job in each slot, all at once."""
    running = dict(zip(wave, slots, strict=False))
    for place, slot in running.items():
        slot.load(jobs[place])
    if slots[0].stream is not None:
        torch.cuda.synchronize()  # the loads were queued elsewhere than the slots' work
    for epoch in range(epochs + 1):
        if epoch < epochs:
            _in_turns([slot.queue_epoch(epoch) for slot in running.values()])
        for place in list(running) if epoch > 0 else ():  # one epoch behind: the device never waits for the host
            if not running[place].is_sound(epoch - 1):
                del running[place]
                yield place, DivergedError(epoch - 1)
            elif on_epoch is not None:
                on_epoch(place)
    for place, slot in running.items():
        yield place, slot.result()


def _in_turns(queues: list[Iterator[None]]) -> None:
    """Draw one step from each until all are at their end."""
    ended = object()
    while queues:
        queues = [queue for queue in queues if next(queue, ended) is not ended]


def _make_slots(
    make: ModelMaker, data: Inputs, job: Job, config: TrainConfig, wanted: int, on_note: Callable[[str], None] | None
) -> list[Slot]:
    """As many slots as wanted, or as the memory of the device allows."""
    on_gpu = data.values.is_cuda
    slots: list[Slot] = []
    try:
        while len(slots) < wanted:
            slots.append(Slot(make, data, job, config, fuse=on_gpu and config.precision == "bf16", capture=on_gpu))
        return slots
    except torch.OutOfMemoryError:
        fewer = max(len(slots) - 1, min(len(slots), 1))  # one less than fit, if any: the end of a run needs some, too
    slots.clear()
    gc.collect()
    torch.cuda.empty_cache()
    if fewer < 1:
        raise InputError(
            "the GPU must have memory for one run", "it ran out", "Free memory on it, or lower the batch size"
        ) from None
    if on_note is not None:
        on_note(f"the GPU has too little memory for {wanted} runs at once: going on with {fewer}.")
    return _make_slots(make, data, job, config, fewer, on_note)


def _check_alike(jobs: Sequence[Job]) -> None:
    shapes = {(len(job.train), len(job.held_out), job.selection.shape, len(job.delivery.classes)) for job in jobs}
    if len(shapes) > 1:
        raise InputError(
            "runs that are trained together must be alike in training items, held-out items and classes",
            f"they differ: {sorted(shapes)}",
            "Train them in separate calls",
        )


def _send(values: npt.NDArray[Any], table: Tensor) -> None:
    """Queue a copy to the device from memory that stays untouched until it is done."""
    source = torch.from_numpy(values).to(table.dtype)
    table.copy_(source.pin_memory() if table.is_cuda else source, non_blocking=True)
