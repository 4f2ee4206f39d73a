"""One run from votes to record, spelled out."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise import __version__, metrics
from votewise._checks import FloatArray, IntArray, check_choice, check_number, first_few
from votewise._errors import DivergedError, InputError, VotewiseError
from votewise.data.dataset import Prepared
from votewise.delivery.methods import Method, OptionValue, check_options, find_method, method_label
from votewise.records import RunRecord, run_id
from votewise.targets.prior import cross_fit_folds
from votewise.votes import Votes

if TYPE_CHECKING:
    from votewise.training import Job, TrainConfig, Trained
    from votewise.training.runs import State

# Part of every config: raised when the same config would no longer give the same run.
RUN_VERSION = 1

DEVICES = ("auto", "cpu", "cuda")

# What every config holds, and what it holds only if it is set, since it is newer than the oldest stored runs.
_ALWAYS = (
    "dataset", "data", "method", "seed", "recipe", "model", "votes", "hold", "held_out", "selected", "version"
)  # fmt: skip
_IF_SET = ("folds", "helper", "options", "blind")

# The entry of a record's environment that names the weights of its best model, by their SHA-256.
WEIGHTS = "weights"


@dataclass(frozen=True)
class Run:
    """Everything that identifies a run: equal runs give equal results.

    Attributes:
        dataset: name of the data.
        data: checksum of the data.
        method: a name in `METHODS`, or "mixup" for majority labels that the recipe mixes.
        seed: root seed of split, redraw, initial weights, order, augmentation and labels.
        recipe: the training recipe.
        model: name of the model.
        votes: votes per item redrawn for training; None to train on the votes as they are.
        held_out: share of the items that are scored and never trained on; 0 to train on all.
        selected: share of the items that choose the best epoch; 0 to choose it on the held-out items.
        folds: n, if seed s holds out fold s % n of permutation s // n, so that n seeds hold out every item once;
            0 if every seed draws the items it holds out.
        helper: (k, n), if fold k % n of n of the training items, as drawn for the time k // n, is left out and
            predicted instead.
        options: name and value of each of the method's options that differs from its default.
        blind: whether the split looks at no votes. Otherwise, where true labels are not known, it gives each side its
            share of each majority, so that the votes of an item have a say in whether it is scored.
    """

    dataset: str
    data: str
    method: str
    seed: int
    recipe: TrainConfig
    model: str
    votes: int | None = None
    held_out: float = 0.2
    selected: float = 0.0
    folds: int = 0
    helper: tuple[int, int] | None = None
    options: tuple[tuple[str, OptionValue], ...] = ()
    blind: bool = False

    def __post_init__(self) -> None:
        """Refuse unknown options; let equal runs have equal fields."""
        check_number("the share held out", self.held_out, 0, 0.95)
        if self.folds:
            object.__setattr__(self, "held_out", 1 / self.folds)
        if self.options:
            object.__setattr__(self, "options", tuple(check_options(self.method, dict(self.options)).items()))

    @property
    def id(self) -> str:
        """The name of its record."""
        return run_id(self.to_dict())

    @property
    def label(self) -> str:
        """The method with its options, as on the command line."""
        return method_label(self.method, dict(self.options))

    @property
    def training_share(self) -> float:
        """The share of the data's items that are trained on."""
        share = 1 - self.held_out - self.selected
        return share if self.helper is None else share * (1 - 1 / self.helper[1])

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a record keeps them."""
        options = dict(self.options)
        values = {**vars(self), "recipe": self.recipe.to_dict(), "version": RUN_VERSION, "hold": options.pop("hold", 1)}
        newer = {"folds": self.folds, "helper": self.helper and list(self.helper), "options": options}
        newer["blind"] = self.blind
        return {name: values[name] for name in _ALWAYS} | {name: newer[name] for name in _IF_SET if newer[name]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Run:
        """The run that `to_dict` described; an unknown name is an error that gives the nearest."""
        from votewise.training import TrainConfig

        for name in values:
            check_choice("a name in the config of a run", name, (*_ALWAYS, *_IF_SET))
        missing = [name for name in _ALWAYS if name not in values]
        if missing:
            raise InputError(
                "the config of a run must be complete", f"it lacks {first_few(missing)}", "Use what to_dict returned"
            )
        if values["version"] != RUN_VERSION:
            raise InputError(
                f"the run must be of version {RUN_VERSION}",
                f"got {values['version']!r}",
                "Use the votewise that made it",
            )
        held = {} if values["hold"] == 1 else {"hold": values["hold"]}
        changed: dict[str, Any] = {
            "recipe": TrainConfig.from_dict(values["recipe"]),
            "helper": tuple(values["helper"]) if "helper" in values else None,
            "options": tuple({**held, **values.get("options", {})}.items()),
        }
        plain = {name: value for name, value in values.items() if name not in ("hold", "version")}
        return cls(**{**plain, **changed})


def training_method(run: Run) -> Method:
    """The method that makes a run's labels: for mixup the majority, whose labels the recipe then mixes."""
    return find_method("majority" if run.method == "mixup" else run.method)


def check_votes_for_runs(runs: Iterable[Run], votes: Votes) -> None:
    """Refuse shares where single votes are needed, unless these are redrawn, and one vote each where two are needed."""
    for run in runs:
        method = training_method(run)
        if run.votes is None and method.single_votes and votes.counts is None:
            votes.require_counts(run.method)
        if method.repeated_votes and (run.votes == 1 or (run.votes is None and not method.suits(votes))):
            raise InputError(
                f"{run.method} needs items with two votes or more, to which it fits a prior",
                "every item has one",
                "Choose a method that needs no prior, or collect more votes",
            )


def helpers(run: Run) -> tuple[Run, ...]:
    """The runs whose out-of-fold predictions a run's method needs; none for most methods."""
    method = training_method(run)
    if not method.helper:
        return ()
    options: dict[str, Any] = {**method.options, **dict(run.options)}
    # Rounded down, since the share limits what they cost; a product of floats may fall just short of a whole number.
    recipe = replace(run.recipe, epochs=max(1, math.floor(options["share"] * run.recipe.epochs + 1e-9)))
    folds, draws = options["folds"], options.get("seeds", 1)
    return tuple(
        replace(run, method=method.helper, options=(), recipe=recipe, helper=(k, folds)) for k in range(folds * draws)
    )


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of the data: to train on, to choose the best epoch by (may be empty), to score (may be empty)."""

    train: IntArray
    selection: IntArray
    held_out: IntArray


def split_items(run: Run, data: Prepared) -> Split:
    """The split of a seed, stratified by true label, or majority unless blind; the same for all methods and votes."""
    votes, labels = data.votes, data.hard_labels
    if run.blind and data.labels is None:
        labels = np.zeros_like(labels)
    if run.folds:
        permutation, fold = divmod(run.seed, run.folds)
        is_out = votes.folds(run.folds, seed=permutation, strata=labels) == fold
        rest, held_out = np.flatnonzero(~is_out), np.flatnonzero(is_out)
    elif run.held_out:
        rest, held_out = votes.split(run.held_out, seed=run.seed, strata=labels)
    else:
        rest, held_out = np.arange(votes.n_items), np.arange(0)
    train, selection = rest, rest[:0]
    if run.selected:
        share = run.selected / (1 - run.held_out)
        if not 0 < round(share * len(rest)) < len(rest):
            raise InputError(
                "choosing the epoch takes at least one item that is neither trained on nor scored",
                f"{run.selected:g} of {votes.n_items} items is none",
                "Take more items, or the last epoch (--at last)",
            )
        kept, chosen = votes.take(rest).split(share, seed=run.seed, strata=labels[rest])
        train, selection = rest[kept], rest[chosen]
    if run.helper is not None:
        k, n = run.helper
        # Without strata: hard labels may be an item's own votes, which must have no say in what is predicted for it.
        is_out = cross_fit_folds(votes.take(train), n, seed=run.seed, repeat=k // n) == k % n
        train, held_out = train[~is_out], train[is_out]
    return Split(train, selection, held_out)


def split_runs(runs: Iterable[Run], data: Prepared) -> dict[Run, Split]:
    """The split of each run; runs that share one get the same object."""
    known: dict[Any, Split] = {}
    splits = {}
    for run in runs:
        key = run.seed, run.held_out, run.selected, run.folds, run.helper, run.blind
        if key not in known:
            known[key] = split_items(run, data)
        splits[run] = known[key]
    return splits


class HelperFailedError(VotewiseError):
    """A run cannot be done, since one of its helper runs failed."""


def out_of_fold(data: Prepared, records: Iterable[RunRecord]) -> FloatArray | None:
    """What helper runs predict for the items left out of each, as logits (N, K); NaN for other items.

    Where several predict an item, their logits are averaged.

    Args:
        data: data of the runs.
        records: records of all helper runs of a run; None is returned for a run without any.
    """
    records = list(records)
    if not records:
        return None
    total = np.zeros(data.votes.probs.shape)
    times = np.zeros(data.votes.n_items)
    for record in records:
        if record.failure is not None:
            raise HelperFailedError(f"a helper run failed: {record.failure}")
        # After the last epoch: the best one is chosen on the items that are predicted, by their votes.
        total[record.arrays["held_out"]] += record.arrays["last_logits"]
        times[record.arrays["held_out"]] += 1
    return np.divide(total, times[:, None], out=np.full_like(total, np.nan), where=times[:, None] > 0)


def make_job(
    run: Run,
    data: Prepared,
    split: Split | None = None,
    *,
    method: Method | None = None,
    logits: FloatArray | None = None,
) -> Job:
    """A run as the trainer takes it: rows, and the delivery of their votes.

    Args:
        run: the run.
        data: its data.
        split: its split, if it is known.
        method: its method, in a process that may not know it by name.
        logits: out-of-fold predictions, if its method needs them.
    """
    from votewise.training import Job

    split = split_items(run, data) if split is None else split
    method = training_method(run) if method is None else method
    votes = data.votes.take(split.train)
    if run.votes is not None:
        votes = votes.subsample(run.votes, seed=run.seed)
    choosing = split.selection if len(split.selection) else split.held_out
    own_targets = None
    chosen_votes = data.votes.take(choosing) if len(split.selection) else None
    # Helper runs predict the training items alone; and votes that are redrawn for training need not suit as they are.
    if chosen_votes is not None and not method.helper and method.suits(chosen_votes):
        of_chosen = method.deliver(chosen_votes, seed=run.seed, options=dict(run.options))
        each_epoch = [of_chosen.targets(epoch) for epoch in range(run.recipe.epochs)]
        own_targets = np.asarray(np.mean(each_epoch, axis=0, dtype=np.float64))
    return Job(
        run.seed,
        split.train,
        method.deliver(
            votes, seed=run.seed, options=dict(run.options), logits=None if logits is None else logits[split.train]
        ),
        np.concatenate([split.selection, split.held_out]),
        data.votes.probs[choosing],
        own_targets,
    )


def split_of(run: Run, job: Job) -> Split:
    """The split that a job was made with."""
    chosen = len(job.selection) if run.selected else 0
    return Split(job.train, job.held_out[:chosen], job.held_out[chosen:])


def record_training(
    run: Run,
    job: Job,
    material: Prepared,
    outcome: Trained | DivergedError,
    *,
    seconds: float,
    device: str,
    at_once: int = 1,
) -> RunRecord:
    """The record of a run, finished or diverged, that took `seconds` as one of `at_once` runs."""
    timing = {"seconds": seconds, "at_once": float(at_once)}
    if isinstance(outcome, DivergedError):
        return record_failed_run(run, outcome, device=device, timing=timing)
    split = split_of(run, job)
    first = len(split.selection)
    numbers = {"best_epoch": outcome.best_epoch + 1.0}
    curves = {"train_loss": outcome.losses}
    scored = {"best": outcome.best_logits[first:], "last": outcome.last_logits[first:]}
    if len(split.held_out):
        curves |= _training_curves(material, split, outcome)
        for at, logits in scored.items():
            numbers |= {f"{name}_{at}": value for name, value in score_run(material, split.held_out, logits).items()}
        if first:
            numbers |= _scaled_scores(material, split, {"best": outcome.best_logits, "last": outcome.last_logits})
    arrays: dict[str, Any] = {"held_out": split.held_out, **{f"{at}_logits": logits for at, logits in scored.items()}}
    if job.own_targets is not None and len(split.held_out):
        own = np.array([metrics.soft_nll(job.own_targets, softmax(epoch[:first])) for epoch in outcome.logits])
        curves["selection_own_loss"] = own
        # This epoch may be neither the best nor the last, so its logits are in the precision of training.
        of_own = outcome.logits[own.argmin()][first:]
        numbers |= {f"{name}_own": value for name, value in score_run(material, split.held_out, of_own).items()}
        numbers["own_epoch"] = own.argmin() + 1.0
        arrays["own_logits"] = of_own.astype(np.float16)
    of_training = metrics.soft_nll_per_item(material.votes.probs[split.train], softmax(outcome.train_logits))
    most = np.finfo(np.float16).max
    return RunRecord(
        config=run.to_dict(),
        status="done",
        curves=curves,
        arrays={
            **arrays,
            "train_soft_nll": np.clip(of_training, -most, most).astype(np.float16),  # infinite ones become the largest
        },
        numbers=numbers,
        environment={**run_environment(device), WEIGHTS: digest_of_trained_weights(outcome.best)},
        timing=timing,
    )


def record_failed_run(
    run: Run, error: VotewiseError, *, device: str = "cpu", timing: Mapping[str, float] | None = None
) -> RunRecord:
    """The record of a run that failed, with the reason."""
    return RunRecord(
        config=run.to_dict(),
        status="failed",
        failure=str(error),
        environment=run_environment(device),
        timing=dict(timing or {}),
    )


def digest_of_trained_weights(weights: State) -> str:
    """The SHA-256 of some weights and buffers."""
    import torch

    digest = sha256()
    for name in sorted(weights):
        value = weights[name]
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def score_run(material: Prepared, rows: IntArray, logits: Any) -> dict[str, float]:
    """Every metric of a run on some rows, from its logits for them."""
    reference, probs = _scoring_reference(material, rows), softmax(logits)
    return {name: metric.of(reference, probs) for name, metric in metrics.METRICS.items()}


def _scoring_reference(material: Prepared, rows: IntArray) -> metrics.Reference:
    """What predictions for some rows are scored against."""
    counts = material.votes.counts
    return metrics.Reference(
        material.votes.probs[rows], material.hard_labels[rows], None if counts is None else counts[rows].sum(axis=1)
    )


def softmax(logits: Any) -> FloatArray:
    """Probabilities (N, K) of logits, in float64."""
    import scipy.special

    return np.asarray(scipy.special.softmax(np.asarray(logits, dtype=np.float64), axis=-1))


def _scaled_scores(material: Prepared, split: Split, logits: Mapping[str, Any]) -> dict[str, float]:
    """Soft NLL with a temperature that the items which chose the epoch fit, and that temperature, by epoch."""
    shares, first = material.votes.probs, len(split.selection)
    numbers: dict[str, float] = {}
    for at, values in logits.items():
        temperature = metrics.fit_temperature(shares[split.selection], values[:first])
        probs = metrics.scaled_softmax(values[first:], temperature)
        numbers |= {
            f"scaled_soft_nll_{at}": metrics.soft_nll(shares[split.held_out], probs),
            f"temperature_{at}": temperature,
        }
    return numbers


def _training_curves(material: Prepared, split: Split, outcome: Trained) -> dict[str, FloatArray]:
    first = len(split.selection)
    reference = _scoring_reference(material, split.held_out)
    probs = [softmax(epoch[first:]) for epoch in outcome.logits]
    curves = {
        name: np.array([metric.of(reference, q) for q in probs])
        for name, metric in metrics.METRICS.items()
        if metric.headline
    }
    if first:
        chosen = material.votes.probs[split.selection]
        curves["selection_nll"] = np.array([metrics.soft_nll(chosen, softmax(q[:first])) for q in outcome.logits])
    return curves


def run_environment(device: str) -> dict[str, str]:
    """Versions, platform and device that a run was done with."""
    import torch

    return {
        "votewise": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "torch": torch.__version__,
        "platform": platform.platform(),
        "device_kind": device,
        "device": torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine(),
    }


def choose_device(wanted: str) -> str:
    """The device to use; "auto" takes the GPU if there is one."""
    import torch

    check_choice("the device", wanted, DEVICES)
    available = torch.cuda.is_available()
    if wanted == "auto":
        return "cuda" if available else "cpu"
    if wanted == "cuda" and not available:
        raise InputError("the device must be available", "torch finds no GPU", "Pass --device cpu, or auto")
    return wanted


Weights = dict[str, "State"]


def train_run(run: Run, data: Prepared, *, device: str = "cpu") -> RunRecord:
    """One run with the plain loop, from votes to record; its helper runs are done first."""
    records = [train_run(helper, data, device=device) for helper in helpers(run)]
    try:
        job = make_job(run, data, logits=out_of_fold(data, records))
    except HelperFailedError as error:
        return record_failed_run(run, error, device=device)
    return train_with_weights(run, job, data, device=device)[0]


def train_with_weights(
    run: Run,
    job: Job,
    data: Prepared,
    *,
    device: str = "cpu",
    keep_epoch: int | None = None,
    on_epoch: Callable[[], None] | None = None,
) -> tuple[RunRecord, Weights]:
    """The record of one run with the plain loop, and its weights by checkpoint."""
    import torch

    from votewise.training import train_job

    start = time.perf_counter()
    outcome: Trained | DivergedError
    try:
        outcome = train_job(
            model_maker(run, data),
            torch.tensor(data.inputs),  # a copy, since the data are read-only
            job,
            run.recipe,
            device=device,
            keep_epoch=keep_epoch,
            on_epoch=on_epoch,
        )
    except DivergedError as error:
        outcome = error
    record = record_training(run, job, data, outcome, seconds=time.perf_counter() - start, device=device)
    return record, trained_weights(outcome)


def trained_weights(outcome: Trained | DivergedError) -> Weights:
    """The weights of a run by checkpoint: "best", "last" and, if an epoch was given for it, "common"."""
    if isinstance(outcome, DivergedError):
        return {}
    weights = {"best": outcome.best, "last": outcome.last}
    return weights if outcome.kept is None else weights | {"common": outcome.kept}


def model_maker(run: Run, data: Prepared) -> Callable[[], Any]:
    """A function that builds the model of a run for its data."""
    from votewise.models import find_model

    label, folder = data.encoder or (None, None)
    if label is not None and run.model != label:
        raise InputError(
            "a run must have the model that its data were prepared for", f"they are {run.model} and {label}",
            "Prepare the data for that model",
        )  # fmt: skip
    row = find_model(run.model, data.kind, folder=folder)
    return lambda: row.build(data.votes.n_classes, data.inputs.shape[1:])
