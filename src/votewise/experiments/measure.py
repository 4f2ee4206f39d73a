"""What is measured of a model: curvature, the unknown, features and maps; and of the way between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from votewise._checks import IntArray
from votewise._numerics import top_classes
from votewise._random import stream_generator
from votewise.datasets import OutlierImages
from votewise.experiments.material import Material
from votewise.experiments.run import RunConfig, model_maker, split_items

if TYPE_CHECKING:
    from torch import Tensor, nn

    from votewise.training import Inputs
    from votewise.training.runs import State

# Hessian products for an eigenvalue, and probes for a trace: a model that wants more is recorded as not converged.
_MOST = 40

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
        trace_error: standard error, as a share of the trace, that is small enough: seeds differ by more.
    """

    curvature: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown: bool = False
    features: bool = False
    trace_error: float = 0.03

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


def measure_run(
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
            found = _curvature(subject.model(states[when]), held_out, people, slices, plan.trace_error)
            numbers |= {f"{when}/{name}": value for name, value in found.items()}
    if plan.unknown or plan.features:
        model = subject.model(states["best"])
        if plan.unknown:
            numbers |= _unknown(subject, model, held_out, split.train, outliers)
        if plan.features:
            arrays |= _features(subject, model, split.held_out)
    return numbers, arrays


def measure_barrier(subject: Subject, states: Sequence[State]) -> tuple[Numbers, Arrays]:
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


def shared_items(material: Material, *, items: int = 1000) -> IntArray:
    """Rows, ascending, on which the features and maps of all runs are compared, whatever they were trained on."""
    n_items = material.votes.n_items
    return np.sort(stream_generator(0, "shared-items").permutation(n_items)[: min(items, n_items)])


def _curvature(model: nn.Module, inputs: Tensor, people: Any, slices: Sequence[str], trace_error: float) -> Numbers:
    import torch

    from votewise.diagnostics import curvature, high_disagreement_slices

    there = high_disagreement_slices(people)
    chosen = {name: there[name] for name in slices if name in there}
    options: dict[str, Any] = {
        "slices": chosen, "tf32": True, "relative_error": trace_error, "max_products": _MOST, "max_probes": _MOST
    }  # fmt: skip
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
            by_people = top_classes(subject.material.votes.probs[rows])
            for kind, classes in (("maps", by_people), ("maps_of_predicted", outputs.logits.argmax(dim=1))):
                maps = gradcam_maps(model, layer_of(model), inputs, classes)
                arrays[f"{name}_{kind}"] = maps.half().cpu().numpy()
    return arrays


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
