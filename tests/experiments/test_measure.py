"""What is measured of a run: each number against a separate computation, and unequal to those it could be mistaken for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, logsumexp, softmax
from scipy.stats import entropy
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from oracles.curvature import dense_hessian
from small_runs import IMAGES, feature_material, feature_run
from votewise.data import Outliers
from votewise.data.dataset import Prepared
from votewise.experiments.measure import (
    FULL,
    MEASUREMENTS,
    MeasuredRun,
    Plan,
    common_measured_items,
    measure_barrier,
    measure_run,
)
from votewise.experiments.run import Run, Split, model_maker, split_items
from votewise.models import MODELS
from votewise.models.resnet import ResNet18
from votewise.training.runs import State

N_ITEMS, N_CLASSES, SIDE = 300, 5, 8
MEAN, STD = (0.5, 0.45, 0.55), (0.1, 0.2, 0.4)
CHANCE = np.random.default_rng(4)


def faint_images(n: int, contrast: int) -> np.ndarray:
    """Of so little contrast that the steps of ODIN, a third of a grey level, change what a model says."""
    return CHANCE.integers(128 - contrast, 128 + contrast, size=(n, SIDE, SIDE, 3), dtype=np.uint8)


# Labels unlike the majority's, so that it shows which of the two is taken.
MATERIAL = feature_material(
    N_ITEMS, N_CLASSES, kind="images", inputs=faint_images(N_ITEMS, 4), labels=CHANCE.integers(0, N_CLASSES, N_ITEMS)
)
RECIPE = replace(IMAGES, mean=MEAN, std=STD)
RUN = Run("toy", MATERIAL.checksum, "sls", 3, RECIPE, "small-cnn", selected=0.05)
OUTLIERS = [
    Outliers(name, faint_images(50, contrast), np.zeros(50, dtype=np.int64), f"{name}.npz")
    for name, contrast in (("faint", 4), ("strong", 5))
]
# Two images with nearly equal scores may be ordered either way; this is how much of an AUROC one pair is.
ONE_PAIR = 1.01 / (60 * 50)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    torch.set_num_threads(1)


def weights(config: Run, material: Prepared, seed: int) -> State:
    """Of a network that has seen some items, sure enough of itself for temperatures to tell."""
    torch.manual_seed(seed)
    model = model_maker(config, material)().train()
    with torch.no_grad():
        model.head.weight *= 10
        model(MeasuredRun(config, material, "cpu").network_inputs(np.arange(30)))
    return {name: value.clone() for name, value in model.state_dict().items()}


def prepared(pixels: np.ndarray) -> Tensor:
    """Images as the network takes them."""
    return torch.tensor(((pixels / 255 - MEAN) / STD).transpose(0, 3, 1, 2), dtype=torch.float32)


def network(state: State) -> nn.Module:
    model: nn.Module = model_maker(RUN, MATERIAL)()
    model.load_state_dict(state)
    return model.eval()


def logits_of(model: nn.Module, inputs: Tensor) -> np.ndarray:
    with torch.no_grad():
        return model(inputs).double().numpy()


def features_of(model: nn.Module, inputs: Tensor) -> np.ndarray:
    with torch.no_grad():
        return model.features(inputs).double().numpy()


@dataclass(frozen=True, eq=False)
class Measured:
    """A network, what was measured of it, and the rows of its run."""

    model: nn.Module
    numbers: Mapping[str, float]
    arrays: Mapping[str, np.ndarray]
    split: Split


@pytest.fixture(scope="module")
def measured() -> Measured:
    state = weights(RUN, MATERIAL, seed=0)
    subject, plan = MeasuredRun(RUN, MATERIAL, "cpu", OUTLIERS), Plan(ood=True, features=True)
    return Measured(network(state), *measure_run(subject, {"best": state}, plan), split_items(RUN, MATERIAL))


def certainty(logits: np.ndarray, temperature: float) -> np.ndarray:
    return softmax(logits / temperature, axis=1).max(axis=1)


def after_step(model: nn.Module, inputs: Tensor, step: np.ndarray) -> np.ndarray:
    """ODIN, by its definition: a step of each channel, then the certainty at a temperature of 1000."""
    x = inputs.clone().requires_grad_()
    (model(x).double() / 1000).softmax(dim=1).amax(dim=1).log().sum().backward()
    moved = inputs + torch.tensor(step, dtype=torch.float32).view(-1, 1, 1) * x.grad.sign()
    return certainty(logits_of(model, moved), 1000)


def nearness(features: np.ndarray, bank: np.ndarray, k: int) -> np.ndarray:
    return -np.sort(cdist(features, bank), axis=1)[:, k - 1]


def directions(features: np.ndarray) -> np.ndarray:
    return features / np.linalg.norm(features, axis=1, keepdims=True)


Score = Callable[[Tensor], np.ndarray]


def scores(model: nn.Module, bank: np.ndarray) -> dict[str, Score]:
    """Every score of the table, by its definition."""

    def neighbour(k: int) -> Score:
        return lambda x: nearness(directions(features_of(model, x)), directions(bank), k)

    def of_logits(score: Callable[[np.ndarray], np.ndarray]) -> Score:
        return lambda x: score(logits_of(model, x))

    return {
        "energy": of_logits(lambda z: logsumexp(z, axis=1)),
        "msp": of_logits(lambda z: certainty(z, 1)),
        "predictive_entropy": of_logits(lambda z: -entropy(softmax(z, axis=1), axis=1)),
        "logit_margin": of_logits(lambda z: np.diff(np.sort(z, axis=1)[:, -2:], axis=1)[:, 0]),
        "odin": lambda x: after_step(model, x, 0.0014 / np.array(STD)),
        "odin_in_inputs": lambda x: after_step(model, x, np.full(3, 0.0014)),
        "odin_without_step": of_logits(lambda z: certainty(z, 1000)),
        "knn": neighbour(50),
        "knn_by_length": lambda x: nearness(features_of(model, x), bank, 50),
        **{f"knn_{k}": neighbour(k) for k in (1, 5, 10, 200)},
    }


def auroc(familiar: np.ndarray, strange: np.ndarray) -> float:
    truth = np.repeat([1, 0], [len(familiar), len(strange)])
    return float(roc_auc_score(truth, np.concatenate([familiar, strange])))


def let_in(familiar: np.ndarray, strange: np.ndarray) -> float:
    threshold = max(each for each in familiar if (familiar >= each).mean() >= 0.95)
    return float((strange >= threshold).mean())


@pytest.mark.parametrize("outliers", OUTLIERS, ids=lambda outliers: outliers.name)
def test_each_score_tells_outliers_as_its_definition_does(measured: Measured, outliers: Outliers) -> None:
    bank = features_of(measured.model, prepared(MATERIAL.inputs[measured.split.train]))
    familiar, strange = prepared(MATERIAL.inputs[measured.split.held_out]), prepared(outliers.images)
    for name, score in scores(measured.model, bank).items():
        pair = score(familiar), score(strange)
        assert measured.numbers[f"{outliers.name}/{name}/auroc"] == pytest.approx(auroc(*pair), abs=ONE_PAIR), name
        assert measured.numbers[f"{outliers.name}/{name}/fpr95"] == pytest.approx(let_in(*pair), abs=1.01 / 50), name


@pytest.mark.parametrize(
    "readings",
    [
        ("msp", "odin", "odin_in_inputs", "odin_without_step"),
        ("knn", "knn_by_length", "knn_1", "knn_5", "knn_10", "knn_200"),
    ],
)
def test_no_reading_of_odin_or_knn_passes_for_another(measured: Measured, readings: tuple[str, ...]) -> None:
    found = sorted(measured.numbers[f"strong/{name}/auroc"] for name in readings)
    assert np.diff(found).min() > ONE_PAIR


def test_the_table_has_no_other_scores(measured: Measured) -> None:
    names = {tuple(name.split("/")) for name in measured.numbers}
    known = scores(measured.model, np.ones((1, 1)))
    assert names == {(other.name, name, part) for other in OUTLIERS for name in known for part in ("auroc", "fpr95")}


def test_neighbours_that_are_not_there_are_not_asked_for() -> None:
    run = replace(RUN, held_out=0.9, selected=0.0)
    state, rows = weights(run, MATERIAL, seed=0), split_items(run, MATERIAL)
    numbers, _ = measure_run(MeasuredRun(run, MATERIAL, "cpu", OUTLIERS[:1]), {"best": state}, Plan(ood=True))
    assert len(rows.train) == 30
    assert {f"knn_{k}" for k in (1, 5, 10, 200)} & {name.split("/")[1] for name in numbers} == {
        "knn_1", "knn_5", "knn_10",
    }  # fmt: skip
    model = network(state)
    bank = features_of(model, prepared(MATERIAL.inputs[rows.train]))
    farthest = [
        nearness(features_of(model, prepared(pixels)), bank, 30)
        for pixels in (MATERIAL.inputs[rows.held_out], OUTLIERS[0].images)
    ]
    assert numbers["faint/knn_by_length/auroc"] == pytest.approx(auroc(*farthest), abs=1e-4)


@pytest.mark.parametrize("where", ["held_out", "shared"])
def test_features_and_their_lengths(measured: Measured, where: str) -> None:
    rows = measured.split.held_out if where == "held_out" else common_measured_items(MATERIAL)
    features = features_of(measured.model, prepared(MATERIAL.inputs[rows]))
    found = measured.arrays[f"{where}_features"]
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, features, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(measured.arrays[f"{where}_square_length"], (features**2).sum(axis=1), rtol=2e-6)


@pytest.mark.parametrize("where", ["held_out", "shared"])
def test_maps_are_of_the_class_people_chose_and_of_the_one_the_model_does(measured: Measured, where: str) -> None:
    rows = measured.split.held_out if where == "held_out" else common_measured_items(MATERIAL)
    images = prepared(MATERIAL.inputs[rows])
    with torch.no_grad():
        activation = measured.model.stages(images)
        by_class = torch.einsum("kc,nchw->nkhw", measured.model.head.weight, activation) / activation[0, 0].numel()
    by_class = by_class.relu().numpy()
    of_people = MATERIAL.votes.counts[rows].argmax(axis=1)
    of_model = logits_of(measured.model, images).argmax(axis=1)
    assert 0.1 < (of_people != of_model).mean() < 0.95
    for kind, classes in (("maps", of_people), ("maps_of_predicted", of_model)):
        found = measured.arrays[f"{where}_{kind}"]
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, by_class[np.arange(len(rows)), classes], rtol=2e-3, atol=1e-4)


def test_only_what_the_plan_wants_is_measured(measured: Measured) -> None:
    subject, states = MeasuredRun(RUN, MATERIAL, "cpu", OUTLIERS), {"best": measured.model.state_dict()}
    assert measure_run(subject, states, Plan()) == ({}, {})
    numbers, arrays = measure_run(subject, states, Plan(features=True))
    assert (numbers, arrays.keys()) == ({}, measured.arrays.keys())


def test_a_made_up_measurement_is_one_row(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    def size(
        subject: MeasuredRun, weights: Mapping[str, State], plan: Plan
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        return {f"{when}/size": sum(value.numel() for value in state.values()) for when, state in weights.items()}, {}

    monkeypatch.setitem(MEASUREMENTS, "size", size)
    plan, states = Plan(others=("size",)), {"best": measured.model.state_dict()}
    assert not plan.is_empty
    numbers, _ = measure_run(MeasuredRun(RUN, MATERIAL, "cpu"), states, plan)
    assert numbers == {"best/size": sum(value.numel() for value in states["best"].values())}
    assert plan.to_dict() == {**Plan().to_dict(), "others": ["size"]}


class TestCurvature:
    """On a network so small that its Hessian can be written out."""

    material = feature_material(150)
    run = feature_run(material)
    subject = MeasuredRun(run, material, "cpu")
    rows = split_items(run, material).held_out

    def states(self) -> dict[str, State]:
        return {when: weights(self.run, self.material, seed) for seed, when in enumerate(("best", "last"))}

    def slices(self) -> dict[str, np.ndarray]:
        """Of the held-out items those with the highest entropy, ties in order, as rows of the material."""
        disorder = entropy(self.material.votes.probs[self.rows], axis=1).round(12)
        falling = self.rows[sorted(range(30), key=lambda place: (-disorder[place], place))]
        return {FULL: self.rows, "top-20%": falling[:6], "top-10%": falling[:3], "H>0.5": self.rows[disorder > 0.5]}

    @pytest.mark.parametrize(
        "wanted",
        [
            {"best": (FULL,)},
            {"best": (FULL, "top-20%"), "last": (FULL, "H>0.5", "top-10%"), "common": (FULL,)},
        ],
        ids=str,
    )
    def test_each_slice_at_each_checkpoint(self, wanted: dict[str, tuple[str, ...]]) -> None:
        states = self.states()
        numbers, arrays = measure_run(self.subject, states, Plan(wanted))
        assert arrays == {}
        there = {(when, name) for when, names in wanted.items() if when in states for name in names}
        assert {(when, name) for when, name, _ in (key.split("/") for key in numbers)} == there
        for when, name in there:
            rows = self.slices()[name]
            model = self.subject.model(states[when])
            targets = torch.tensor(self.material.votes.probs[rows], dtype=torch.float32)
            hessian = dense_hessian(model, self.subject.network_inputs(rows), targets).double()
            found = {part: numbers[f"{when}/{name}/{part}"] for part in ("items", "loss", "largest", "trace")}
            loss = -(targets.numpy() * log_softmax(logits_of(model, self.subject.network_inputs(rows)), axis=1)).sum(
                axis=1
            )
            assert found["items"] == len(rows)
            assert found["loss"] == pytest.approx(loss.mean(), rel=1e-5)
            assert found["largest"] == pytest.approx(torch.linalg.eigvalsh(hessian)[-1].item(), rel=1e-3)
            error = numbers[f"{when}/{name}/trace_error"]
            assert found["trace"] == pytest.approx(hessian.trace().item(), abs=4 * error + 1e-4 * found["trace"])

    def test_the_trace_is_taken_as_closely_as_the_plan_wants(self) -> None:
        close, rough = (
            measure_run(self.subject, self.states(), Plan({"best": (FULL,)}, trace_error=error))[0]
            for error in (1e-9, 1e9)
        )
        assert (close["best/full/converged"], rough["best/full/converged"]) == (0, 1)
        assert close["best/full/products"] == rough["best/full/products"] + 30, "40 probes, the most, instead of 10"
        assert close["best/full/largest"] == rough["best/full/largest"]


class TestBarrier:
    """Between two narrow residual networks: what recalibrates needs norms over batches."""

    material = feature_material(
        60, kind="images", inputs=np.random.default_rng(0).integers(0, 256, size=(60, 16, 16, 3), dtype=np.uint8)
    )
    run = replace(RUN, model="resnet18", selected=0.0)

    def loss_between(self, states: list[State], position: float, seen: np.ndarray | None) -> float:
        """Mean soft NLL of the held-out items on the way, the norms' statistics taken from the items seen, if any."""
        subject, rows = MeasuredRun(self.run, self.material, "cpu"), split_items(self.run, self.material).held_out
        mixed = {
            name: (1 - position) * value + position * states[1][name] if value.is_floating_point() else value
            for name, value in states[0].items()
        }
        model = subject.model(mixed)
        if seen is not None:
            for norm in (module for module in model.modules() if isinstance(module, nn.BatchNorm2d)):
                norm.momentum = 1.0
            model.train()(subject.network_inputs(seen))
        logits = logits_of(model.eval(), subject.network_inputs(rows))
        return float(-(self.material.votes.probs[rows] * log_softmax(logits, axis=1)).sum(axis=1).mean())

    def test_both_ways(self, monkeypatch: pytest.MonkeyPatch) -> None:
        narrow = replace(MODELS["resnet18"], build=lambda n_classes, _shape: ResNet18(n_classes, width=4))
        monkeypatch.setitem(MODELS, "resnet18", narrow)
        states = [weights(self.run, self.material, seed) for seed in (0, 1)]
        numbers, arrays = measure_barrier(MeasuredRun(self.run, self.material, "cpu"), states)
        split = split_items(self.run, self.material)
        np.testing.assert_allclose(arrays["positions"], np.arange(21) / 20, atol=1e-12)
        for name, seen in (("plain", None), ("recalibrated", split.train[:12])):
            losses = np.array([self.loss_between(states, position, seen) for position in arrays["positions"]])
            np.testing.assert_allclose(arrays[f"{name}_losses"], losses, rtol=1e-4)
            excess = losses - np.linspace(losses[0], losses[-1], 21)
            assert numbers[f"{name}/height"] == pytest.approx(excess.max(), abs=1e-3)
            assert numbers[f"{name}/peak"] == pytest.approx(excess.argmax() / 20)
        assert numbers.keys() == {f"{name}/{part}" for name in ("plain", "recalibrated") for part in ("height", "peak")}
