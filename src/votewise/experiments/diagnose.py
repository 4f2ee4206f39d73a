"""What the models of finished runs are like: curvature, the unknown, features and maps; and the way between two.

Each diagnosis is a record of its own, in the folder `diagnostics` of the store, named by the run and by what was
measured. It is made from the weights attached to the run's record, so that it can be made at any later time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise._checks import IntArray
from votewise._errors import InputError
from votewise._random import stream_generator
from votewise.datasets import OutlierImages
from votewise.experiments.execute import NOBODY, Keeping, Listener, execute
from votewise.experiments.material import Material
from votewise.experiments.run import RunConfig, choose_device, environment, model_maker, split_items
from votewise.records import RecordStore, RunRecord, RunSummary, run_id

if TYPE_CHECKING:
    from torch import Tensor, nn

    from votewise.training import Inputs
    from votewise.training.runs import State

# Part of every diagnosis: raised when the same plan would measure something else.
DIAGNOSIS_VERSION = 2

# Hessian products for an eigenvalue, and probes for a trace: a model that wants more is recorded as not converged.
_MOST = 60

# Part by which the loss of one model differs between the arithmetic of training and that of a measurement, at most.
_SAME_LOSS = 2e-4

# Of KNN and ODIN: as usual, and others to compare with.
_NEIGHBOUR, _OTHER_NEIGHBOURS = 50, (1, 5, 10, 200)
_ODIN_TEMPERATURE = 1000.0

FULL = "full"
SLICES = ("top-20%", "top-10%", "top-5%", "H>0.5")

Arrays = dict[str, Any]
Numbers = dict[str, float]


@dataclass(frozen=True)
class Plan:
    """What to measure of a run.

    Attributes:
        curvature: the slices to measure it on, by checkpoint ("best", "last", "common").
        unknown: whether to see how the best model takes images of other things.
        features: whether to keep features and maps of the best model, in 16 bits, of the held-out items and of some
            that all runs share.
    """

    curvature: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: bool = False
    features: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a record keeps them."""
        return {**asdict(self), "curvature": {when: list(names) for when, names in self.curvature.items()}}


@dataclass(frozen=True, eq=False)
class Subject:
    """A run's data and one of its models on a device.

    Attributes:
        config: the run.
        material: what it was made of.
        device: where to compute.
    """

    config: RunConfig
    material: Material
    device: str

    def model(self, state: State) -> nn.Module:
        """The network with certain weights, laid out as the device likes it."""
        import torch

        network: nn.Module = model_maker(self.config, self.material)()
        network.load_state_dict(state)
        network = network.to(self.device).eval()
        return network.to(memory_format=torch.channels_last) if self.device == "cuda" else network  # type: ignore[call-overload]

    def inputs(self, rows: IntArray) -> Tensor:
        """Items as the network takes them, not augmented."""
        return self._placed(self.material.inputs[rows])

    def outliers(self, images: Any) -> Tensor:
        """Other images, prepared in the same way."""
        return self._placed(images)

    def _placed(self, values: Any) -> Tensor:
        import torch

        from votewise.training import Inputs

        data: Inputs = Inputs.place(torch.tensor(values), self.config.recipe, self.device)
        return data.plain(torch.arange(len(data), device=self.device))


def diagnoses_of(store: RecordStore) -> RecordStore:
    """Where the diagnoses of a store's runs lie."""
    return RecordStore(store.folder / "diagnostics")


def diagnosis_config(config: RunConfig, plan: Plan) -> dict[str, Any]:
    """What names the diagnosis of a run."""
    return {"run": config.to_dict(), "plan": plan.to_dict(), "version": DIAGNOSIS_VERSION}


def barrier_config(first: RunConfig, second: RunConfig) -> dict[str, Any]:
    """What names the measurement of the way between the best models of two runs."""
    return {"barrier": [first.to_dict(), second.to_dict()], "version": DIAGNOSIS_VERSION}


def is_loss_of(loss: float, run: RunSummary | RunRecord) -> bool:
    """Whether a loss that was measured of a model is that of a run's best one, but for the arithmetic.

    A run that is done again has other models; what was measured of the former is none of theirs.
    """
    return math.isclose(loss, run.numbers["soft_nll_best"], rel_tol=_SAME_LOSS)


def undiagnosed(
    plans: Mapping[RunConfig, Plan],
    store: RecordStore,
    *,
    outliers: Sequence[OutlierImages] = (),
    retry_failed: bool = False,
) -> dict[RunConfig, Plan]:
    """The runs whose diagnosis the store lacks, has of other models, or has without something there is to measure.

    Args:
        plans: what to measure of which run.
        store: where the runs lie.
        outliers: images of other things that are at hand.
        retry_failed: whether a diagnosis that failed counts as lacking.
    """
    known = diagnoses_of(store)

    def lacks(config: RunConfig, plan: Plan) -> bool:
        name = run_id(diagnosis_config(config, plan))
        if not known.has(name):
            return True
        found = known.read_summary(name)
        if found.status == "failed":
            return retry_failed
        wanted = [f"{when}/{FULL}/trace" for when in plan.curvature]
        wanted += [f"{other.name}/energy/auroc" for other in outliers if plan.unknown]
        loss, run = found.numbers.get(f"best/{FULL}/loss"), _finished(config, store)
        stale = loss is not None and run is not None and not is_loss_of(loss, run)
        return stale or not found.numbers.keys() >= set(wanted)

    return {config: plan for config, plan in plans.items() if lacks(config, plan)}


def unmeasured(
    pairs: Sequence[tuple[RunConfig, RunConfig]], store: RecordStore, *, retry_failed: bool = False
) -> list[tuple[RunConfig, RunConfig]]:
    """The pairs of runs the way between which the store lacks, or has of other models."""
    known = diagnoses_of(store)

    def lacks(pair: tuple[RunConfig, RunConfig]) -> bool:
        name = run_id(barrier_config(*pair))
        if not known.has(name):
            return True
        found = known.read(name)
        if found.status == "failed":
            return retry_failed
        runs = [_finished(config, store) for config in pair]
        return not all(run is None or is_loss_of(loss, run) for loss, run in zip(ends_of(found), runs, strict=True))

    return [pair for pair in pairs if lacks(pair)]


def ends_of(barrier: RunRecord) -> tuple[float, float]:
    """The losses of the two models that a barrier lies between."""
    losses = barrier.arrays["plain_losses"]
    return float(losses[0]), float(losses[-1])


def run_and_diagnose(
    plans: Mapping[RunConfig, Plan],
    pairs: Sequence[tuple[RunConfig, RunConfig]],
    material: Material,
    store: RecordStore,
    *,
    common_epoch: int | None = None,
    keep_models: bool = False,
    outliers: Sequence[OutlierImages] = (),
    device: str = "auto",
    jobs: int | None = None,
    retry_failed: bool = False,
    listener: Listener = NOBODY,
) -> list[RunRecord]:
    """Do the runs that a store lacks, and every diagnosis it lacks; the records of the runs.

    Weights are attached to records until everything is measured. A run that must be diagnosed and has none is trained
    again and replaces its record, so that the two belong together.

    Args:
        plans: the runs, and what to measure of each.
        pairs: of runs, to measure the way between them.
        material: what they are made of.
        store: where records lie.
        common_epoch: the epoch, counted from 0, of the checkpoint "common".
        keep_models: whether the weights stay attached.
        outliers: images of other things.
        device: "cpu", "cuda" or "auto".
        jobs: processes on a CPU, all cores if left out; runs at once on a GPU.
        retry_failed: whether to do failed runs again.
        listener: who is told.
    """
    if common_epoch is None and any("common" in plan.curvature for plan in plans.values()):
        raise InputError(
            'a plan for the checkpoint "common" needs the epoch it is of', "None came", "Pass common_epoch"
        )
    how: dict[str, Any] = {"outliers": outliers, "retry_failed": retry_failed}
    lacking = undiagnosed(plans, store, **how)
    anew = to_train_again(lacking, pairs, store, retry_failed=retry_failed)
    keeping = Keeping(models=True, epoch=common_epoch, anew=frozenset(anew))
    records = execute(
        list(plans), material, store,
        device=device, jobs=jobs, retry_failed=retry_failed, keeping=keeping, listener=listener,
    )  # fmt: skip
    diagnose(undiagnosed(plans, store, **how), material, store, outliers=outliers, device=device, listener=listener)
    between = unmeasured(pairs, store, retry_failed=retry_failed)
    measure_barriers(between, material, store, device=device, listener=listener)
    if not keep_models:
        for config in plans.keys() - _still_wanted(plans, pairs, store, outliers):
            store.detach(run_id(config.to_dict()))
    return records


def _still_wanted(
    plans: Mapping[RunConfig, Plan],
    pairs: Sequence[tuple[RunConfig, RunConfig]],
    store: RecordStore,
    outliers: Sequence[OutlierImages],
) -> set[RunConfig]:
    """Runs of which something failed to be measured: with their weights it can be tried again."""
    between = unmeasured(pairs, store, retry_failed=True)
    return {
        *undiagnosed(plans, store, outliers=outliers, retry_failed=True),
        *(run for pair in between for run in pair),
    }


def to_train_again(
    lacking: Mapping[RunConfig, Plan],
    pairs: Sequence[tuple[RunConfig, RunConfig]],
    store: RecordStore,
    *,
    retry_failed: bool = False,
) -> list[RunConfig]:
    """Finished runs that lack a diagnosis, or the way to another, and to whose records the weights are not attached.

    Args:
        lacking: runs to diagnose, as of `undiagnosed`.
        pairs: of runs, to measure the way between them.
        store: where they lie.
        retry_failed: whether a way whose measurement failed counts as lacking.
    """
    wanted = {config: {"best", *plan.curvature} for config, plan in lacking.items()}
    for pair in unmeasured(pairs, store, retry_failed=retry_failed):
        for config in pair:
            wanted.setdefault(config, {"best"})
    return [
        config
        for config, states in wanted.items()
        if _finished(config, store) and not {f"{state}.safetensors" for state in states} <= _attached(config, store)
    ]


def diagnose(
    plans: Mapping[RunConfig, Plan],
    material: Material,
    store: RecordStore,
    *,
    outliers: Sequence[OutlierImages] = (),
    device: str = "auto",
    listener: Listener = NOBODY,
) -> None:
    """Diagnose finished runs from the weights attached to their records; those without weights are left out.

    What fails leaves a record that says why; the others go on.

    Args:
        plans: what to measure of which run.
        material: what the runs were made of.
        store: where they lie.
        outliers: images of other things, for the plans that want them.
        device: "cpu", "cuda" or "auto".
        listener: who is told.
    """
    chosen = choose_device(device)
    for config, plan in plans.items():
        if _has_models(config, store):
            subject = Subject(config, material, chosen)
            work = partial(_diagnose_attached, subject, store, plan, outliers)
            _record_of(diagnosis_config(config, plan), work, store, chosen, listener)


def measure_barriers(
    pairs: Sequence[tuple[RunConfig, RunConfig]],
    material: Material,
    store: RecordStore,
    *,
    device: str = "auto",
    listener: Listener = NOBODY,
) -> None:
    """Measure the loss between the best models of pairs of runs of one seed; those without weights are left out.

    What fails leaves a record that says why; the others go on.

    Args:
        pairs: of runs.
        material: what they were made of.
        store: where they lie, with their weights attached.
        device: "cpu", "cuda" or "auto".
        listener: who is told.
    """
    chosen = choose_device(device)
    for pair in pairs:
        if all(_has_models(run, store) for run in pair):
            work = partial(_barrier_between, pair, store, Subject(pair[0], material, chosen))
            _record_of(barrier_config(*pair), work, store, chosen, listener)


def _diagnose_attached(
    subject: Subject, store: RecordStore, plan: Plan, outliers: Sequence[OutlierImages]
) -> tuple[Numbers, Arrays]:
    return diagnose_run(subject, _attached_states(subject.config, store), plan, outliers)


def _barrier_between(pair: tuple[RunConfig, RunConfig], store: RecordStore, subject: Subject) -> tuple[Numbers, Arrays]:
    return _barrier(subject, [_attached_states(run, store)["best"] for run in pair])


def diagnose_run(
    subject: Subject, states: Mapping[str, State], plan: Plan, outliers: Sequence[OutlierImages] = ()
) -> tuple[Numbers, Arrays]:
    """The numbers, such as "best/full/trace", and arrays of a diagnosis.

    Args:
        subject: the run.
        states: weights by checkpoint.
        plan: what to measure.
        outliers: images of other things.
    """
    numbers: Numbers = {}
    arrays: Arrays = {}
    split = split_items(subject.config, subject.material)
    held_out = subject.inputs(split.held_out)
    people = subject.material.votes.probs[split.held_out]
    for when, slices in plan.curvature.items():
        if when in states:
            found = _curvature(subject.model(states[when]), held_out, people, slices)
            numbers |= {f"{when}/{name}": value for name, value in found.items()}
    if plan.unknown or plan.features:
        model = subject.model(states["best"])
        if plan.unknown:
            numbers |= _unknown(subject, model, held_out, split.train, outliers)
        if plan.features:
            arrays |= _features(subject, model, split.held_out)
    return numbers, arrays


def shared_items(material: Material, *, items: int = 1000) -> IntArray:
    """Rows, ascending, on which the features and maps of all runs are compared, whatever they were trained on."""
    n_items = material.votes.n_items
    return np.sort(stream_generator(0, "shared-items").permutation(n_items)[: min(items, n_items)])


def _curvature(model: nn.Module, inputs: Tensor, people: Any, slices: Sequence[str]) -> Numbers:
    import torch

    from votewise.diagnostics import curvature, high_disagreement_slices

    there = high_disagreement_slices(people)
    chosen = {name: there[name] for name in slices if name in there}
    options: dict[str, Any] = {"slices": chosen, "tf32": True, "max_products": _MOST, "max_probes": _MOST}
    try:
        found = curvature(model, inputs, people, **options)
    except torch.OutOfMemoryError:  # the graph of all items at once is the quick way, a part at a time the thrifty one
        found = None
    if found is None:  # only here, as an error that is being handled holds on to the memory that was too much
        found = curvature(model, inputs, people, **options, batch_size=200, keep_graph=False)
    return {
        f"{name}/{part}": float(value) for name, measured in found.items() for part, value in asdict(measured).items()
    }


def _unknown(
    subject: Subject, model: nn.Module, held_out: Tensor, train: IntArray, outliers: Sequence[OutlierImages]
) -> Numbers:
    from votewise.diagnostics import collect_outputs, knn, msp, odin, ood_scores, ood_table

    numbers: Numbers = {}
    with _quick_arithmetic():
        bank = collect_outputs(model, subject.inputs(train)).features

        def scores(inputs: Tensor) -> Mapping[str, Any]:
            outputs = collect_outputs(model, inputs)
            # Papers leave settings of ODIN and KNN open, so that others are measured beside the usual ones.
            return {
                **ood_scores(outputs, bank, k=min(_NEIGHBOUR, len(train))),
                "odin": odin(model, inputs, std=subject.config.recipe.std),
                "odin_in_inputs": odin(model, inputs, std=1.0),
                "odin_without_step": msp(outputs.logits, temperature=_ODIN_TEMPERATURE),
                "knn_by_length": knn(outputs.features, bank, k=min(_NEIGHBOUR, len(train)), normalise=False),
                **{f"knn_{k}": knn(outputs.features, bank, k=k) for k in _OTHER_NEIGHBOURS if k <= len(train)},
            }

        familiar = scores(held_out)
        for other in outliers:
            for name, found in ood_table(familiar, scores(subject.outliers(other.images))).items():
                numbers[f"{other.name}/{name}/auroc"] = found.auroc
                numbers[f"{other.name}/{name}/fpr95"] = found.fpr95
    return numbers


def _features(subject: Subject, model: nn.Module, held_out: IntArray) -> Arrays:
    """Features, and maps of the class most people chose and of the one the model does, in 16 bits; squared lengths."""
    from votewise.diagnostics import collect_outputs, gradcam_maps
    from votewise.models import find_model

    arrays: Arrays = {}
    layer_of = find_model(subject.config.model, subject.material.kind).last_maps
    for name, rows in (("held_out", held_out), ("shared", shared_items(subject.material))):
        inputs = subject.inputs(rows)
        with _quick_arithmetic():
            outputs = collect_outputs(model, inputs)
        features = outputs.features
        arrays[f"{name}_features"] = features.half().cpu().numpy()
        arrays[f"{name}_square_length"] = features.double().square().sum(dim=1).cpu().numpy()
        if layer_of is not None:
            by_people = subject.material.votes.probs[rows].argmax(axis=1)
            for kind, classes in (("maps", by_people), ("maps_of_predicted", outputs.logits.argmax(dim=1))):
                maps = gradcam_maps(model, layer_of(model), inputs, classes)
                arrays[f"{name}_{kind}"] = maps.half().cpu().numpy()
    return arrays


def _barrier(subject: Subject, states: Sequence[State]) -> tuple[Numbers, Arrays]:
    """The way as it is, and with the norms' statistics taken anew from training items at each point."""
    from votewise.diagnostics import barrier

    split = split_items(subject.config, subject.material)
    people = subject.material.votes.probs[split.held_out]
    model, inputs = subject.model(states[0]), subject.inputs(split.held_out)
    numbers: Numbers = {}
    arrays: Arrays = {}
    seen = subject.inputs(split.train[: len(split.held_out)])
    for name, recalibrate in (("plain", None), ("recalibrated", seen)):
        found = barrier(states[0], states[1], model, inputs, people, recalibrate=recalibrate, tf32=True)
        numbers |= {f"{name}/height": found.height, f"{name}/peak": found.peak}
        arrays |= {f"{name}_losses": found.losses, "positions": found.positions}
    return numbers, arrays


def _record_of(
    config: dict[str, Any],
    work: Callable[[], tuple[Numbers, Arrays]],
    store: RecordStore,
    device: str,
    listener: Listener,
) -> None:
    """Do a diagnosis and keep what came of it, be it a reason why nothing did."""
    start = time.perf_counter()
    numbers: Numbers = {}
    arrays: Arrays = {}
    failure = None
    try:
        numbers, arrays = work()
    except (InputError, RuntimeError) as error:  # RuntimeError is what torch raises, of a GPU without memory too
        failure = str(error)
    record = RunRecord(
        config=config,
        status="done" if failure is None else "failed",
        failure=failure,
        numbers=numbers,
        arrays=arrays,
        environment=environment(device),
        timing={"seconds": time.perf_counter() - start},
    )
    diagnoses_of(store).write(record, replace=True)
    listener.on_diagnosis(record)


def _finished(config: RunConfig, store: RecordStore) -> RunSummary | None:
    """The record of a run that came to its end; None if it did not, is not there, or is damaged."""
    try:
        summary = store.read_summary(run_id(config.to_dict()))
    except InputError:
        return None
    return summary if summary.status == "done" else None


def _attached(config: RunConfig, store: RecordStore) -> set[str]:
    return set(store.attached(run_id(config.to_dict())))


def _has_models(config: RunConfig, store: RecordStore) -> bool:
    return _finished(config, store) is not None and "best.safetensors" in _attached(config, store)


def _attached_states(config: RunConfig, store: RecordStore) -> dict[str, State]:
    from votewise.training.checkpoint import load_state

    run = run_id(config.to_dict())
    return {name.removesuffix(".safetensors"): load_state(store.attachment(run, name)) for name in store.attached(run)}


@contextmanager
def _quick_arithmetic() -> Iterator[None]:
    """On a GPU in TF32: scores and features need no more digits."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=True):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
