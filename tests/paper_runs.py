"""A small store that looks like the paper's runs, and results of chosen numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from votewise import Votes, metrics
from votewise.data.dataset import Prepared
from votewise.experiments.measure import Measurement, common_measured_items, measurement_store
from votewise.experiments.run import Run, softmax, split_items
from votewise.papers import work
from votewise.papers.published import PaperCell
from votewise.papers.same_target import PAPER
from votewise.papers.same_target.choices import KNN, ODIN
from votewise.records import RecordStore, Results, RunRecord, result_columns, result_number_columns, run_id
from votewise.statistics import Published, Sample
from votewise.statistics.decide import agreements

N_ITEMS, N_CLASSES, EPOCHS, WIDTH = 200, 10, 12, 6
OUTLIERS, SCORES = ("svhn", "cifar100"), ("energy", "msp", "odin", "predictive_entropy", "logit_margin", "knn")


def paper_material() -> Prepared:
    """Images of nothing with votes of fifty people, two in five of them unanimous."""
    rng = np.random.default_rng(5)
    shares = rng.dirichlet(np.full(N_CLASSES, 0.15), size=N_ITEMS)
    shares[: 2 * N_ITEMS // 5] = np.eye(N_CLASSES)[rng.integers(0, N_CLASSES, 2 * N_ITEMS // 5)]
    votes = Votes.from_counts(np.array([rng.multinomial(50, row) for row in shares]))
    pixels = np.zeros((N_ITEMS, 32, 32, 3), np.uint8)
    return Prepared("cifar10h", "images", "c" * 64, pixels, votes, votes.probs.argmax(axis=1))


def suite_runs(name: str, material: Prepared, **more: Any) -> list[Run]:
    """The runs of a suite of the paper."""
    return list(named_runs(name, material, **more))


def named_runs(name: str, material: Prepared, **more: Any) -> dict[Run, dict[str, Any]]:
    """The same with what results call them."""
    return work.suite_runs(PAPER, PAPER.find_suites(name), material, **more)


def tiny_material(material: Prepared) -> Prepared:
    """The part of the data that the tiny suite takes."""
    return material.take(np.arange(PAPER.suites["tiny"].items))


def rng_of(config: Run, *more: int) -> np.random.Generator:
    return np.random.default_rng(
        [sum(map(ord, config.method)), config.votes or 0, config.to_dict()["hold"], config.seed, *more]
    )


def paper_record(config: Run, material: Prepared) -> RunRecord:
    """A run whose model knows a little of what people say."""
    rng, rows = rng_of(config), split_items(config, material).held_out
    logits = {
        f"{at}_logits": (3 * material.votes.probs[rows] + rng.normal(size=(len(rows), N_CLASSES))).astype(np.float32)
        for at in ("best", "last")
    }
    numbers = {"best_epoch": float(rng.integers(1, EPOCHS))}
    people, labels = material.votes.probs[rows], material.hard_labels[rows]
    for at in ("best", "last"):
        probs = softmax(logits[f"{at}_logits"])
        for score in (metrics.soft_nll, metrics.kl, metrics.soft_brier, metrics.entropy_correlation):
            numbers[f"{score.__name__}_{at}"] = score(people, probs)
        for rate in (metrics.accuracy, metrics.ece):
            numbers[f"{rate.__name__}_{at}"] = rate(labels, probs)
        numbers |= {f"{name}_{at}": rng.random() for name in ("smooth_ece", "ece_floor", "accuracy_majority")}
    curves = {"soft_nll": 1 + rng.random(EPOCHS), "accuracy": rng.random(EPOCHS)}
    arrays = {"held_out": rows, **logits}
    return RunRecord(
        config=config.to_dict(), status="done", curves=curves, numbers=numbers, arrays=arrays,
        environment={"device": "a fast one"}, timing={"seconds": 80.0 + config.seed, "at_once": 4.0},
    )  # fmt: skip


MEASURED_SCORES = (*SCORES, *ODIN.values(), *KNN.values())  # each reading of those the paper leaves open


def paper_diagnosis(config: Run, material: Prepared) -> RunRecord:
    name = PAPER.name_of(config.to_dict(), precision=config.recipe.precision)
    plan, rng = PAPER.measure(name), rng_of(config, 1)
    parts = [f"{when}/{part}" for when, slices in plan.curvature.items() for part in slices]
    numbers = {f"{part}/{what}": 10 + rng.random() for part in parts for what in ("largest", "trace")}
    if plan.ood:
        numbers |= {f"{other}/{score}/auroc": rng.random() for other in OUTLIERS for score in MEASURED_SCORES}
    arrays = {}
    for where, rows in (
        ("held_out", split_items(config, material).held_out),
        ("shared", common_measured_items(material)),
    ):
        features = rng.normal(size=(len(rows), WIDTH))
        arrays[f"{where}_features"] = features.astype(np.float16)
        arrays[f"{where}_square_length"] = (features**2).sum(axis=1)
        arrays[f"{where}_maps"] = rng.random((len(rows), 4, 4)).astype(np.float16)
        arrays[f"{where}_maps_of_predicted"] = rng.random((len(rows), 4, 4)).astype(np.float16)
    return RunRecord(
        config=Measurement((config,), plan).config, status="done", numbers=numbers, arrays=arrays if plan.features else {},
        timing={"seconds": 10.0 if plan.features else 5.0 if plan.ood else 2.0},
    )  # fmt: skip


def paper_barrier(pair: tuple[Run, Run], store: RecordStore) -> RunRecord:
    """A way that ends where the two runs do."""
    positions, losses = np.linspace(0, 1, 5), rng_of(pair[0], 2).random((2, 5))
    losses[0, [0, -1]] = [store.read_summary(run_id(run.to_dict())).numbers["soft_nll_best"] for run in pair]
    arrays = {"positions": positions, "plain_losses": losses[0], "recalibrated_losses": losses[1]}
    numbers = {"plain/height": float(losses[0].max()), "recalibrated/height": float(losses[1].max())}
    return RunRecord(
        config=Measurement(pair).config, status="done", numbers=numbers, arrays=arrays, timing={"seconds": 1.0}
    )


def write_store(store: RecordStore, material: Prepared, *, seeds: int | None, suite: str = "all") -> None:
    """The runs of a suite, and everything measured of them."""
    configs = named_runs(suite, material, seeds=seeds, precision="bf16")
    known = measurement_store(store)
    for config in configs:
        store.write(paper_record(config, material))
        known.write(paper_diagnosis(config, material))
    for measured in work.paper_measurements(PAPER, configs):
        if len(measured.runs) == 2:
            known.write(paper_barrier(measured.runs, store))


def results_with(rows: Mapping[tuple[str, int | None, int], Mapping[str, Sequence[float]]], **more: Any) -> Results:
    """Results of chosen numbers, a list over seeds for each method, number of votes and period."""
    runs, numbers = [], []
    for (method, votes, hold), values in rows.items():
        for seed in range(max(map(len, values.values()))):
            runs.append({"method": method, "votes": votes, "hold": hold, "seed": seed})
            numbers.append({name: column[seed] for name, column in values.items() if seed < len(column)})
    factors = {"method": (), "votes": (), "hold": (), "seed": ()} | result_columns(runs)
    return Results(factors, result_number_columns(numbers), **more)


def beside(ours: Sample | None, published: Published | None) -> PaperCell:
    """A number of ours beside a published one, with an SD of its own."""
    (agreement,) = agreements([ours or Sample({})], [published])
    return PaperCell("", "", ours, published, agreement)


def sample(*values: float) -> Sample:
    """A number on the seeds 0, 1, ..."""
    return Sample(dict(enumerate(values)))
