"""Measurements on one model (curvature, OOD, features, Grad-CAM) and between two (loss barrier)."""

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

# Most Hessian products for an eigenvalue, and probes for a trace; a model that needs more is recorded as not converged.
_MOST = 40

# Settings of KNN and ODIN: the usual ones, and others to compare with.
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
        curvature: the slices to measure curvature on, by checkpoint ("best", "last", "common").
        ood: whether to measure how well the best model detects out-of-distribution images.
        features: whether to keep features and Grad-CAM maps of the best model, in 16 bits, for the held-out items and
            for some items that all runs share.
        trace_error: standard error of the trace, as a share of it, that is small enough; seeds differ by more.
    """

    curvature: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ood: bool = False
    features: bool = False
    trace_error: float = 0.03

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a record keeps them."""
        return {
            "curvature": {when: list(names) for when, names in self.curvature.items()},
            "unknown": self.ood,  # stored under this name, since records are named by a hash of these values
            "features": self.features,
            "trace_error": self.trace_error,
        }


@dataclass(frozen=True, eq=False)
class Subject:
    """A run, its data, and the device to measure on.

    Attributes:
        config: the run.
        material: its data.
        device: where to compute.
    """

    config: RunConfig
    material: Material
    device: str

    def model(self, state: State) -> nn.Module:
        """The network with these weights, in the memory layout that suits the device."""
        import torch

        network: nn.Module = model_maker(self.config, self.material)()
        network.load_state_dict(state)
        network = network.to(self.device).eval()
        return network.to(memory_format=torch.channels_last) if self.device == "cuda" else network  # type: ignore[call-overload]

    def inputs(self, rows: IntArray) -> Tensor:
        """Items as the network takes them, without augmentation."""
        return self._placed(self.material.inputs[rows])

    def outliers(self, images: Any) -> Tensor:
        """Out-of-distribution images, prepared in the same way."""
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
        outliers: out-of-distribution images.
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
    if plan.ood or plan.features:
        model = subject.model(states["best"])
        if plan.ood:
            numbers |= _ood_numbers(subject, model, held_out, split.train, outliers)
        if plan.features:
            arrays |= _features(subject, model, split.held_out)
    return numbers, arrays


def measure_barrier(subject: Subject, states: Sequence[State]) -> tuple[Numbers, Arrays]:
    """The loss barrier between two models, plain and with norm statistics recomputed at each point."""
    from votewise.diagnostics import barrier

    split = split_items(subject.config, subject.material)
    people = subject.material.votes.probs[split.held_out]
    model, inputs = subject.model(states[0]), subject.inputs(split.held_out)
    numbers: Numbers = {}
    arrays: Arrays = {}
    seen = subject.inputs(split.train[: len(split.held_out)])
    for name, recalibrate in (("plain", None), ("recalibrated", seen)):
        found = barrier(model, states[0], states[1], inputs, people, recalibrate=recalibrate, tf32=True)
        numbers |= {f"{name}/height": found.height, f"{name}/peak": found.peak}
        arrays |= {f"{name}_losses": found.losses, "positions": found.positions}
    return numbers, arrays


def shared_items(material: Material, *, items: int = 1000) -> IntArray:
    """Rows, ascending, on which the features and maps of all runs are compared, whichever rows they were trained on."""
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
    except torch.OutOfMemoryError:  # one graph of all items is fast; several smaller ones need less memory
        found = None
    if found is None:  # only here, since an error being handled keeps that memory alive
        found = curvature(model, inputs, people, **options, batch_size=200, keep_graph=False)
    return {
        f"{name}/{part}": float(value) for name, measured in found.items() for part, value in asdict(measured).items()
    }


def _ood_numbers(
    subject: Subject, model: nn.Module, held_out: Tensor, train: IntArray, outliers: Sequence[OutlierImages]
) -> Numbers:
    from votewise.diagnostics import collect_outputs, knn, msp, odin, ood_scores, ood_table

    numbers: Numbers = {}
    with _fast_arithmetic():
        bank = collect_outputs(model, subject.inputs(train)).features

        def scores(inputs: Tensor) -> Mapping[str, Any]:
            outputs = collect_outputs(model, inputs)
            # Papers leave settings of ODIN and KNN open, so others are measured as well as the usual ones.
            return {
                **ood_scores(outputs, bank, k=min(_NEIGHBOUR, len(train))),
                "odin": odin(model, inputs, std=subject.config.recipe.std),
                "odin_in_inputs": odin(model, inputs, std=1.0),
                "odin_without_step": msp(outputs.logits, temperature=_ODIN_TEMPERATURE),
                "knn_by_length": knn(outputs.features, bank, k=min(_NEIGHBOUR, len(train)), normalize=False),
                **{f"knn_{k}": knn(outputs.features, bank, k=k) for k in _OTHER_NEIGHBOURS if k <= len(train)},
            }

        in_distribution = scores(held_out)
        for images in outliers:
            for name, found in ood_table(in_distribution, scores(subject.outliers(images.images))).items():
                numbers[f"{images.name}/{name}/auroc"] = found.auroc
                numbers[f"{images.name}/{name}/fpr95"] = found.fpr95
    return numbers


def _features(subject: Subject, model: nn.Module, held_out: IntArray) -> Arrays:
    """Features and Grad-CAM maps in 16 bits, and squared lengths; maps of the people's top class and of the model's."""
    from votewise.diagnostics import collect_outputs, gradcam_maps
    from votewise.models import find_model

    arrays: Arrays = {}
    layer_of = find_model(subject.config.model, subject.material.kind).last_maps
    for name, rows in (("held_out", held_out), ("shared", shared_items(subject.material))):
        inputs = subject.inputs(rows)
        with _fast_arithmetic():
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
