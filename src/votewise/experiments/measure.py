"""What is measured of models: of one curvature, OOD detection, features and Grad-CAM; between two the loss barrier.

Each measurement is a record of its own in the store's folder `diagnostics`, identified by the runs and by what was
measured; its environment names the weights it was made of, as the records of the runs do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise._checks import IntArray
from votewise._errors import InputError
from votewise._numerics import top_classes
from votewise._random import stream_generator
from votewise.data import Outliers
from votewise.data.dataset import Prepared
from votewise.experiments.robustness import measure_robustness
from votewise.experiments.run import (
    WEIGHTS,
    Run,
    Split,
    digest_of_trained_weights,
    model_maker,
    run_environment,
    split_items,
)
from votewise.records import RecordStore, RunRecord, RunSummary, run_id

if TYPE_CHECKING:
    from torch import Tensor, nn

    from votewise.training import Inputs
    from votewise.training.runs import State

# Part of every diagnosis: raised when the same plan would measure something else.
DIAGNOSIS_VERSION = 2

# Most Hessian products for an eigenvalue, and probes for a trace; a model that needs more is recorded as not converged.
_MOST = 40

# Settings of KNN and ODIN: the usual ones, and others to compare with.
_NEIGHBOUR, _OTHER_NEIGHBOURS = 50, (1, 5, 10, 200)
_ODIN_TEMPERATURE = 1000.0

FULL = "full"
SLICES = ("top-20%", "top-10%", "top-5%", "H>0.5")

# Share of the epochs after which the weights of all runs are compared, as the checkpoint "common". The best epoch is
# earlier for some methods than for others; a common one separates what is due to the method from the learning rate.
_COMMON_SHARE = 0.75

_SUFFIX = ".safetensors"

Arrays = dict[str, Any]
Numbers = dict[str, float]
Weights = Mapping[str, "State"]


@dataclass(frozen=True)
class Plan:
    """What to measure of a run.

    Attributes:
        curvature: the slices to measure curvature on, by checkpoint ("best", "last", "common").
        ood: whether to measure how well the best model detects out-of-distribution images.
        features: whether to keep features and Grad-CAM maps of the best model, in 16 bits, for the held-out items and
            for some items that all runs share.
        trace_error: standard error of the trace, as a share of it, that is small enough; seeds differ by more.
        others: names of further measurements in `MEASUREMENTS`.
    """

    curvature: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ood: bool = False
    features: bool = False
    trace_error: float = 0.03
    others: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be measured."""
        return not self.names

    @property
    def names(self) -> tuple[str, ...]:
        """The measurements, in order."""
        asked = {"curvature": bool(self.curvature), "ood": self.ood, "features": self.features}
        return (*(name for name, wanted in asked.items() if wanted), *self.others)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a record keeps them."""
        values: dict[str, Any] = {
            "curvature": {when: list(names) for when, names in self.curvature.items()},
            "unknown": self.ood,  # stored under this name, since records are named by a hash of these values
            "features": self.features,
            "trace_error": self.trace_error,
        }
        return values | ({"others": list(self.others)} if self.others else {})


@dataclass(frozen=True, eq=False)
class Measurement:
    """Something to measure of finished runs.

    Attributes:
        runs: one run, to be measured as planned; or two, between whose best models to measure the loss barrier.
        plan: what to measure of one run.
        weights: those of each run by checkpoint, once they are at hand.
    """

    runs: tuple[Run, ...]
    plan: Plan = field(default_factory=Plan)
    weights: tuple[Weights, ...] = ()

    @cached_property
    def config(self) -> dict[str, Any]:
        """What identifies the measurement."""
        if len(self.runs) > 1:
            return {"barrier": [run.to_dict() for run in self.runs], "version": DIAGNOSIS_VERSION}
        return {"run": self.runs[0].to_dict(), "plan": self.plan.to_dict(), "version": DIAGNOSIS_VERSION}

    @cached_property
    def id(self) -> str:
        """The name of its record."""
        return run_id(self.config)

    @property
    def checkpoints(self) -> set[str]:
        """The checkpoints whose weights it needs."""
        return {"best", *self.plan.curvature}

    def has_weights_in(self, store: RecordStore) -> bool:
        """Whether its runs are finished and the weights it needs are kept."""
        return all(has_weights_to_measure(run, self.checkpoints, store) for run in self.runs)


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """A run to measure, its data, and the device to measure on.

    Attributes:
        run: the run.
        data: its data.
        device: where to compute.
        outliers: out-of-distribution images.
    """

    run: Run
    data: Prepared
    device: str
    outliers: Sequence[Outliers] = ()

    @cached_property
    def split(self) -> Split:
        """The rows that the run was trained and scored on."""
        return split_items(self.run, self.data)

    def model(self, state: State) -> nn.Module:
        """The network with these weights, in the memory layout that suits the device."""
        import torch

        network: nn.Module = model_maker(self.run, self.data)()
        network.load_state_dict(state)
        network = network.to(self.device).eval()
        return network.to(memory_format=torch.channels_last) if self.device == "cuda" else network  # type: ignore[call-overload]

    def network_inputs(self, rows: IntArray) -> Tensor:
        """Items as the network takes them, without augmentation."""
        return self.prepared_for_network(self.data.inputs[rows])

    def prepared_for_network(self, values: Any) -> Tensor:
        """Inputs from elsewhere, such as out-of-distribution images, in the same form."""
        import torch

        placed = self.placed(values)
        return placed.plain(torch.arange(len(placed), device=self.device))

    def placed(self, values: Any) -> Inputs:
        """Inputs from elsewhere on the device, to be normalised in batches."""
        import torch

        from votewise.training import Inputs

        return Inputs.place(torch.tensor(values), self.run.recipe, self.device)


def measure_run(subject: MeasuredRun, weights: Weights, plan: Plan) -> tuple[Numbers, Arrays]:
    """The numbers, such as "best/full/trace", and arrays that a plan asks for.

    Args:
        subject: the run.
        weights: those of its models, by checkpoint.
        plan: what to measure.
    """
    numbers: Numbers = {}
    arrays: Arrays = {}
    for name in plan.names:
        more_numbers, more_arrays = MEASUREMENTS[name](subject, weights, plan)
        numbers |= more_numbers
        arrays |= more_arrays
    return numbers, arrays


def measure_barrier(subject: MeasuredRun, ends: Sequence[State]) -> tuple[Numbers, Arrays]:
    """The loss barrier between two models, plain and with norm statistics recomputed at each point."""
    from votewise.diagnostics import barrier

    split = subject.split
    people = subject.data.votes.probs[split.held_out]
    model, inputs = subject.model(ends[0]), subject.network_inputs(split.held_out)
    numbers: Numbers = {}
    arrays: Arrays = {}
    seen = subject.network_inputs(split.train[: len(split.held_out)])
    for name, recalibrate in (("plain", None), ("recalibrated", seen)):
        line = barrier(model, ends[0], ends[1], inputs, people, recalibrate=recalibrate, tf32=True)
        numbers |= {f"{name}/height": line.height, f"{name}/peak": line.peak}
        arrays |= {f"{name}_losses": line.losses, "positions": line.positions}
    return numbers, arrays


def measure_runs(
    measurement: Measurement, data: Prepared, *, device: str, outliers: Sequence[Outliers] = ()
) -> RunRecord:
    """The record of a measurement; one that fails leaves a record that says why.

    Args:
        measurement: what to measure, with the weights.
        data: what the runs were trained on.
        device: "cpu" or "cuda".
        outliers: out-of-distribution images, for the plans that want them.
    """
    start = time.perf_counter()
    subject, weights = MeasuredRun(measurement.runs[0], data, device, outliers), measurement.weights
    numbers: Numbers = {}
    arrays: Arrays = {}
    failure = None
    try:
        if len(measurement.runs) > 1:
            numbers, arrays = measure_barrier(subject, [each["best"] for each in weights])
        else:
            numbers, arrays = measure_run(subject, weights[0], measurement.plan)
    except (InputError, RuntimeError) as error:  # RuntimeError is what torch raises, also when a GPU is out of memory
        failure = str(error)
    return RunRecord(
        config=measurement.config,
        status="done" if failure is None else "failed",
        failure=failure,
        numbers=numbers,
        arrays=arrays,
        environment={
            **run_environment(device),
            WEIGHTS: " ".join(digest_of_trained_weights(each["best"]) for each in weights),
        },
        timing={"seconds": time.perf_counter() - start},
    )


# --- what is stored


def measurement_store(store: RecordStore) -> RecordStore:
    """Where the measurements of a store's runs lie."""
    return RecordStore(store.folder / "diagnostics")


def is_measurement_current(measured: RunSummary, runs: Sequence[RunSummary | None]) -> bool:
    """Whether a measurement was made of the weights that its runs have now, as far as the records name them."""
    named = measured.environment.get(WEIGHTS)
    now = [None if run is None else run.environment.get(WEIGHTS) for run in runs]
    return named is None or None in now or named == " ".join(map(str, now))


def missing_measurements(
    measurements: Sequence[Measurement],
    store: RecordStore,
    *,
    outliers: Sequence[Outliers] = (),
    retry_failed: bool = False,
) -> list[Measurement]:
    """The measurements without a record, or with one that is of other weights or incomplete.

    Args:
        measurements: all that is wanted.
        store: where the runs lie.
        outliers: the out-of-distribution images at hand.
        retry_failed: whether failed measurements are missing.
    """
    known = measurement_store(store)
    missing = []
    for measurement in measurements:
        plan, record = measurement.plan, _summary_of_run(known, measurement.id)
        wanted = {f"{when}/{FULL}/trace" for when in plan.curvature}
        wanted |= {f"{images.name}/energy/auroc" for images in outliers if plan.ood}
        if record is None:
            is_there = False
        elif record.status == "failed":
            is_there = not retry_failed
        else:
            finished = [finished_run_to_measure(run, store) for run in measurement.runs]
            is_there = wanted <= record.numbers.keys() and is_measurement_current(record, finished)
        if not is_there and (not plan.is_empty or len(measurement.runs) > 1):
            missing.append(measurement)
    return missing


def runs_to_repeat(
    missing: Sequence[Measurement], wanted: Sequence[Measurement], untrained: Sequence[Run], store: RecordStore
) -> list[Run]:
    """Finished runs whose weights are needed but not kept: for what is missing, and for pairs of which one is trained.

    Args:
        missing: measurements to make.
        wanted: all measurements, among them the barriers of pairs.
        untrained: runs that are trained in any case.
        store: where the runs lie.
    """

    def has_lost(run: Run, checkpoints: set[str]) -> bool:
        return finished_run_to_measure(run, store) is not None and not has_weights_to_measure(run, checkpoints, store)

    repeated = dict.fromkeys(
        run for each in missing for run in each.runs if run not in untrained and has_lost(run, each.checkpoints)
    )
    pairs = [each for each in wanted if len(each.runs) > 1]
    while True:  # a barrier is of two models that were there together
        trained = {*repeated, *untrained}
        more = [
            run
            for pair in pairs
            if trained & {*pair.runs}
            for run in pair.runs
            if run not in trained and has_lost(run, {"best"})
        ]
        if not more:
            return list(repeated)
        repeated |= dict.fromkeys(more)


def finished_run_to_measure(run: Run, store: RecordStore) -> RunSummary | None:
    """The record of a finished run; None if it failed, is missing or is damaged."""
    summary = _summary_of_run(store, run.id)
    return summary if summary is not None and summary.status == "done" else None


def has_weights_to_measure(run: Run, checkpoints: set[str], store: RecordStore) -> bool:
    """Whether a run is finished and the weights of all these checkpoints are attached to its record."""
    return finished_run_to_measure(run, store) is not None and {f"{name}{_SUFFIX}" for name in checkpoints} <= {
        *store.attached(run.id)
    }


def load_weights_to_measure(run: Run, store: RecordStore) -> Weights:
    """The weights attached to a run's record, by checkpoint."""
    from votewise.training.checkpoint import load_state

    return {name.removesuffix(_SUFFIX): load_state(store.attachment(run.id, name)) for name in store.attached(run.id)}


def _summary_of_run(store: RecordStore, name: str) -> RunSummary | None:
    try:
        return store.read_summary(name)
    except InputError:  # missing or damaged
        return None


# --- what is measured


def common_checkpoint_epoch(run: Run) -> int:
    """The epoch, counted from 0, of the checkpoint "common"."""
    return max(round(_COMMON_SHARE * run.recipe.epochs) - 1, 0)


def common_measured_items(data: Prepared, *, items: int = 1000) -> IntArray:
    """Rows, ascending, on which the features and maps of all runs are compared, whichever rows they were trained on."""
    n_items = data.votes.n_items
    return np.sort(stream_generator(0, "shared-items").permutation(n_items)[: min(items, n_items)])


def measure_curvature(subject: MeasuredRun, weights: Weights, plan: Plan) -> tuple[Numbers, Arrays]:
    """Largest eigenvalue and trace of the Hessian on each slice of the held-out items, at each checkpoint."""
    import torch

    from votewise.diagnostics import curvature, high_disagreement_slices

    inputs, people = subject.network_inputs(subject.split.held_out), subject.data.votes.probs[subject.split.held_out]
    there = high_disagreement_slices(people)
    numbers: Numbers = {}
    for when in (when for when in plan.curvature if when in weights):
        model = subject.model(weights[when])
        options: dict[str, Any] = {
            "slices": {name: there[name] for name in plan.curvature[when] if name in there},
            "tf32": True, "relative_error": plan.trace_error, "max_products": _MOST, "max_probes": _MOST,
        }  # fmt: skip
        try:
            measured = curvature(model, inputs, people, **options)
        except torch.OutOfMemoryError:  # one graph of all items is fast; several smaller ones need less memory
            measured = None
        if measured is None:  # only here, since an error being handled keeps that memory alive
            measured = curvature(model, inputs, people, **options, batch_size=200, keep_graph=False)
        for name, values in measured.items():
            numbers |= {f"{when}/{name}/{part}": float(value) for part, value in asdict(values).items()}
    return numbers, {}


def measure_ood(subject: MeasuredRun, weights: Weights, plan: Plan) -> tuple[Numbers, Arrays]:  # noqa: ARG001
    """How well each score of the best model tells held-out items from each set of out-of-distribution images."""
    from votewise.diagnostics import collect_outputs, knn, msp, odin, ood_scores, ood_table

    model, train = subject.model(weights["best"]), subject.split.train
    numbers: Numbers = {}
    with _fast_arithmetic():
        bank = collect_outputs(model, subject.network_inputs(train)).features

        def scores(inputs: Tensor) -> Mapping[str, Any]:
            outputs = collect_outputs(model, inputs)
            # Papers leave settings of ODIN and KNN open, so others are measured as well as the usual ones.
            return {
                **ood_scores(outputs, bank, k=min(_NEIGHBOUR, len(train))),
                "odin": odin(model, inputs, std=subject.run.recipe.std),
                "odin_in_inputs": odin(model, inputs, std=1.0),
                "odin_without_step": msp(outputs.logits, temperature=_ODIN_TEMPERATURE),
                "knn_by_length": knn(outputs.features, bank, k=min(_NEIGHBOUR, len(train)), normalize=False),
                **{f"knn_{k}": knn(outputs.features, bank, k=k) for k in _OTHER_NEIGHBOURS if k <= len(train)},
            }

        in_distribution = scores(subject.network_inputs(subject.split.held_out))
        for images in subject.outliers:
            for name, row in ood_table(in_distribution, scores(subject.prepared_for_network(images.images))).items():
                numbers[f"{images.name}/{name}/auroc"] = row.auroc
                numbers[f"{images.name}/{name}/fpr95"] = row.fpr95
    return numbers, {}


def measure_features(subject: MeasuredRun, weights: Weights, plan: Plan) -> tuple[Numbers, Arrays]:  # noqa: ARG001
    """Features and Grad-CAM maps in 16 bits, and squared lengths; maps of the people's top class and of the model's."""
    from votewise.diagnostics import collect_outputs, gradcam_maps
    from votewise.models import find_model

    model = subject.model(weights["best"])
    arrays: Arrays = {}
    layer_of = find_model(subject.run.model, subject.data.kind).last_maps
    for name, rows in (("held_out", subject.split.held_out), ("shared", common_measured_items(subject.data))):
        inputs = subject.network_inputs(rows)
        with _fast_arithmetic():
            outputs = collect_outputs(model, inputs)
        features = outputs.features
        arrays[f"{name}_features"] = features.half().cpu().numpy()
        arrays[f"{name}_square_length"] = features.double().square().sum(dim=1).cpu().numpy()
        if layer_of is not None:
            by_people = top_classes(subject.data.votes.probs[rows])
            for kind, classes in (("maps", by_people), ("maps_of_predicted", outputs.logits.argmax(dim=1))):
                maps = gradcam_maps(model, layer_of(model), inputs, classes)
                arrays[f"{name}_{kind}"] = maps.half().cpu().numpy()
    return {}, arrays


# What a plan can ask for, by name.
MEASUREMENTS: dict[str, Callable[[MeasuredRun, Weights, Plan], tuple[Numbers, Arrays]]] = {
    "curvature": measure_curvature,
    "ood": measure_ood,
    "features": measure_features,
    "robustness": measure_robustness,
}


@contextmanager
def _fast_arithmetic() -> Iterator[None]:
    """TF32 on a GPU, which is precise enough for scores and features."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=True):
            yield
    finally:
        torch.set_float32_matmul_precision(before)
