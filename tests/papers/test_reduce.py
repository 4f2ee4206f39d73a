"""A store of runs in brief: what is kept is what was there, and what is computed agrees with slow ways to it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cityblock, jensenshannon

from paper_runs import N_ITEMS, named_runs, paper_barrier, paper_diagnosis, paper_record, suite_runs
from votewise import InputError, metrics
from votewise.data.dataset import Prepared
from votewise.experiments.measure import common_measured_items, measurement_store
from votewise.experiments.run import softmax
from votewise.papers.derived import derive_scaled_nll, distance_bins
from votewise.papers.pages import paper_part_names, paper_terminal_document, write_paper_figures
from votewise.papers.paper import Paper
from votewise.papers.progress import paper_coverage
from votewise.papers.published import Printed
from votewise.papers.reduce import PaperRun, reduce_runs
from votewise.papers.same_target import PAPER
from votewise.papers.same_target.suites import MIXUPS, paper_recipe
from votewise.papers.suites import Suite
from votewise.records import RecordStore, Results, RunRecord, add_batch, read_batches, read_results, run_id

SEEDS = 3


@pytest.fixture(scope="session")
def material(votes_and_images: Prepared) -> Prepared:
    return votes_and_images


def called(method: str, seed: int, votes: int | None = None) -> dict[str, object]:
    return {"method": method, "votes": votes, "hold": 1, "seed": seed}


def numbers(results: Results, method: str, name: str, votes: int | None = None) -> Mapping[int, float]:
    """A number of a row of the paper's tables, by seed."""
    return results.sample(name, method=method, votes=votes, hold=1).by_seed


def lines(results: Results, method: str, name: str, votes: int | None = None) -> dict[int, np.ndarray]:
    return results.lines(name, method=method, votes=votes, hold=1)


def find(store: RecordStore, method: str, seed: int, votes: int | None = None) -> RunRecord:
    """The run of the paper's recipe."""
    wanted = called(method, seed, votes)
    (found,) = [record for record in store.records() if PAPER.name_of(record.config) == wanted]
    return found


def diagnosis(store: RecordStore, method: str, seed: int) -> RunRecord:
    (found,) = [
        record
        for record in measurement_store(store).records()
        if "run" in record.config and PAPER.name_of(record.config["run"]) == called(method, seed)
    ]
    return found


def test_the_papers_runs(reduced: Results, material: Prepared) -> None:
    wanted = [
        name
        for suite, seeds in (("all", SEEDS), ("mixup", 1))
        for name in named_runs(suite, material, seeds=seeds, precision="bf16").values()
    ]
    assert all(run in wanted for run in reduced.runs)
    assert all(run in reduced.runs for run in wanted)
    assert [*reduced.factors] == ["method", "votes", "hold", "seed"]
    assert reduced.origin == {"paper": "arXiv 2605.20642", "data": material.checksum, "precision": "bf16"}


def test_no_other_runs(material: Prepared, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    run = suite_runs("main", material, seeds=1, precision="bf16")[0]
    others = [
        replace(run, recipe=replace(run.recipe, precision="fp32")),
        replace(run, seed=1, recipe=replace(run.recipe, epochs=7)),
        replace(run, seed=2, recipe=replace(run.recipe, mixup=0.7)),
        replace(run, method="mixup", recipe=replace(run.recipe, mixup=0.7)),
        replace(run, method="mixup", seed=7),
        replace(run, seed=3, held_out=0.1),
        replace(run, seed=4, selected=0.1),
        replace(run, seed=5, model="small-cnn"),
    ]
    for config in (run, *others):
        store.write(paper_record(config, material))
    store.write(RunRecord(config=replace(run, seed=6).to_dict(), status="failed", failure="it broke"))
    assert reduce_runs(PAPER, store, material).runs == [called("soft", 0)]
    assert reduce_runs(PAPER, store, material, precision="fp32").runs == [called("soft", 0)]


def test_mixups_go_by_what_they_mix(material: Prepared, tmp_path: Path) -> None:
    store, runs = RecordStore(tmp_path), suite_runs("mixup", material, precision="bf16")
    for config in runs:
        store.write(paper_record(config, material))
    found = reduce_runs(PAPER, store, material)
    assert set(found.values("method")) == set(MIXUPS)
    assert {(run.method, run.recipe.mixup) for run in runs} == {(way, made["mixup"]) for way, made in MIXUPS.values()}
    assert paper_coverage(PAPER, found).there == 1, "the paper's own is among them"


def test_scores_curves_and_measurements_are_taken_over(reduced: Results, store: RecordStore) -> None:
    record, measured = find(store, "sls", 1), diagnosis(store, "sls", 1)
    for name, value in {**record.numbers, **measured.numbers}.items():
        assert numbers(reduced, "sls", name)[1] == value
    np.testing.assert_array_equal(
        lines(reduced, "sls", "curve_soft_nll")[1], record.curves["soft_nll"].astype(np.float32)
    )
    curve = record.curves["soft_nll"]
    first = next(epoch for epoch, loss in enumerate(curve, start=1) if loss <= curve.min() / 0.95)
    assert numbers(reduced, "sls", "near_best/quotient")[1] == first
    assert numbers(reduced, "mixup", "last/full/trace") == {}, "not measured of mixup"
    assert list(reduced.sample("soft_nll_best", method="sls", votes=None, hold=1, seed=range(2)).by_seed) == [0, 1]


def test_predictions_in_16_bits_score_as_before(reduced: Results, store: RecordStore, material: Prepared) -> None:
    (row,) = reduced.rows(called("majority", 2))
    probs = np.exp(reduced.predicted["best"][row].astype(np.float64))
    record = find(store, "majority", 2)
    people = material.votes.probs[record.arrays["held_out"]]
    found = metrics.soft_nll(people, probs / probs.sum(axis=1, keepdims=True))
    assert found == pytest.approx(record.numbers["soft_nll_best"], abs=2e-4)


def test_impossible_predictions_stay_finite(material: Prepared, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = paper_record(suite_runs("main", material, seeds=1, precision="bf16")[0], material)
    logits = record.arrays["best_logits"].copy()
    logits[0, 0] = -1e9
    store.write(RunRecord(**{**vars(record), "arrays": {**record.arrays, "best_logits": logits}}))
    (found,) = reduce_runs(PAPER, store, None).predicted["best"]
    assert np.isfinite(found).all()
    assert found[0, 0] == np.finfo(np.float16).min


@pytest.mark.parametrize("name", ["js", "l1", "js-high"])
def test_improvement_by_distance(name: str, reduced: Results, store: RecordStore, material: Prepared) -> None:
    soft, hard = find(store, "soft", 2, 10), find(store, "multipass", 2, 10)
    rows = hard.arrays["held_out"]
    people = material.votes.probs[rows]
    redrawn = material.votes.subsample(10, seed=2).probs[rows]  # what the runs would have got of these images
    if name == "l1":
        distance = np.array([cityblock(p, q) for p, q in zip(people, redrawn, strict=True)])
    else:
        distance = np.array([jensenshannon(p, q, base=2) for p, q in zip(people, redrawn, strict=True)])
    logs = [np.log(softmax(run.arrays["best_logits"])).astype(np.float16).astype(float) for run in (soft, hard)]
    losses = [-(people * np.log(softmax(of_run))).sum(axis=1) for of_run in logs]
    gain = losses[0] - losses[1]
    if name == "js-high":
        entropy = stats.entropy(people, axis=1)
        high = sorted(sorted(range(len(rows)), key=lambda row: (-round(entropy[row], 12), row))[: round(len(rows) / 5)])
        distance, gain = distance[high], gain[high]
    distance = np.where(distance < 1e-7, 0, distance).round(12)  # or the noise of summation parts what is equal
    expected = stats.spearmanr(distance, gain).statistic
    assert numbers(reduced, "multipass", f"{name}/spearman", votes=10)[2] == pytest.approx(expected, abs=1e-9)
    edges = np.quantile(distance[distance > 0], [0.2, 0.4, 0.6, 0.8])
    for place in range(6):
        inside = [
            value
            for value, far in zip(gain, distance, strict=True)
            if (0 if far == 0 else 1 + sum(edge <= far for edge in edges)) == place
        ]
        found = numbers(reduced, "multipass", f"{name}/gain/{place}", votes=10)
        assert found.get(2, math.nan) == pytest.approx(np.mean(inside) if inside else math.nan, abs=1e-6, nan_ok=True)


def test_temperatures_by_trying_many(reduced: Results, store: RecordStore, material: Prepared) -> None:
    record = find(store, "soft", 1)
    logits = record.arrays["best_logits"].astype(np.float64)
    people = material.votes.probs[record.arrays["held_out"]]
    losses = {
        temperature: -(people * np.log(softmax(logits / temperature))).sum(axis=1).mean()
        for temperature in np.geomspace(0.06, 10, 400)
    }
    found = numbers(reduced, "soft", "scaled_soft_nll_best")[1]
    assert found >= min(losses.values()) - 1e-4, "fitted on other images it cannot be better"
    assert found == pytest.approx(min(losses.values()), abs=0.05)
    best = min(losses, key=losses.__getitem__)
    assert numbers(reduced, "soft", "temperature_best")[1] == pytest.approx(best, rel=0.3)


def test_a_temperature_that_is_known(material: Prepared) -> None:
    config = suite_runs("main", material, seeds=1, precision="bf16")[0]
    record = paper_record(config, material)
    people = material.votes.probs[record.arrays["held_out"]]
    logits = 3 * np.log(np.maximum(people, 1e-9)).astype(np.float32)
    found = derive_scaled_nll(
        RunRecord(**{**vars(record), "arrays": {**record.arrays, "best_logits": logits}}), material
    )
    assert found["temperature_best"] == pytest.approx(3, rel=0.01)
    assert found["scaled_soft_nll_best"] == pytest.approx(metrics.soft_nll(people, softmax(logits / 3)), abs=1e-4)


def test_the_temperature_of_logits_so_far_apart_that_probabilities_vanish(material: Prepared) -> None:
    record = paper_record(suite_runs("main", material, seeds=1, precision="bf16")[0], material)
    logits = 200 * np.random.default_rng(0).standard_normal(record.arrays["best_logits"].shape)
    found = derive_scaled_nll(
        RunRecord(**{**vars(record), "arrays": {**record.arrays, "best_logits": logits}}), material
    )
    assert found["temperature_best"] == pytest.approx(20, rel=0.01), "what is sure of nonsense wants the highest"


def test_bins_of_distance() -> None:
    assert distance_bins(np.zeros(3)).tolist() == [0, 0, 0]
    assert distance_bins(np.array([1e-15, 0.5])).tolist() == [0, 5]
    bins = distance_bins(np.arange(101.0))
    assert np.bincount(bins).tolist() == [1, 20, 20, 20, 20, 20]


def test_gradient_variance_by_brute_force(reduced: Results, store: RecordStore, material: Prepared) -> None:
    people = material.votes.probs[find(store, "sls", 0).arrays["held_out"]]
    features = diagnosis(store, "sls", 0).arrays["held_out_features"].astype(np.float64)
    length = diagnosis(store, "sls", 0).arrays["held_out_square_length"]
    assert length == pytest.approx((features**2).sum(axis=1), rel=1e-2)
    variance = []
    for p, square in zip(people, length, strict=True):
        gradients = (p - np.eye(len(p))) * math.sqrt(square)  # by label, along the features; the prediction cancels
        mean = p @ gradients
        variance.append(p @ ((gradients - mean) ** 2).sum(axis=1))
    entropy = stats.entropy(people, axis=1).round(12)
    expected = stats.spearmanr(entropy, np.round(variance, 12)).statistic
    assert numbers(reduced, "sls", "gradient/spearman")[0] == pytest.approx(expected, abs=1e-9)
    assert numbers(reduced, "soft", "gradient/spearman") == {}
    low, middle, high = (lines(reduced, "sls", f"gradient_{part}")[0] for part in ("low", "middle", "high"))
    assert (low <= middle).all()
    assert (middle <= high).all()


def test_brier_parts_and_reliability(reduced: Results, store: RecordStore, material: Prepared) -> None:
    record = find(store, "majority", 1)
    rows, probs = record.arrays["held_out"], softmax(record.arrays["best_logits"])
    right = probs.argmax(axis=1) == material.hard_labels[rows]
    parts = {
        part: numbers(reduced, "majority", f"brier/correctness/{part}")[1]
        for part in ("reliability", "resolution", "uncertainty", "spread", "covariance")
    }
    total = (
        parts["reliability"] - parts["resolution"] + parts["uncertainty"] + parts["spread"] - 2 * parts["covariance"]
    )
    assert total == pytest.approx(np.mean((probs.max(axis=1) - right) ** 2))
    assert parts["uncertainty"] == pytest.approx(right.mean() * (1 - right.mean()))
    assert lines(reduced, "majority", "reliability_accuracy")[1].shape == reduced.shared["confidence"].shape
    assert lines(reduced, "sls", "reliability_accuracy", votes=5) == {}


def hsic(x: np.ndarray, y: np.ndarray) -> float:
    centre = np.eye(len(x)) - 1 / len(x)
    return float(np.trace(x @ x.T @ centre @ y @ y.T @ centre))


def enlarged(pixels: np.ndarray) -> np.ndarray:
    """16 pixels as 4 x 4, made 32 x 32 by straight lines between the middles of pixels; flat."""
    places = np.clip((np.arange(32) + 0.5) / 8 - 0.5, 0, 3)
    weights = np.maximum(1 - np.abs(places[:, None] - np.arange(4)), 0)
    return (weights @ pixels.reshape(4, 4) @ weights.T).ravel()


@pytest.mark.parametrize("where", ["shared", "held_out"])
def test_likeness_of_seeds(where: str, reduced: Results, store: RecordStore, material: Prepared) -> None:
    seen = {}
    for seed in range(SEEDS):
        arrays = diagnosis(store, "soft", seed).arrays
        rows = common_measured_items(material) if where == "shared" else find(store, "soft", seed).arrays["held_out"]
        features, maps = (arrays[f"{where}_{part}"].astype(np.float64) for part in ("features", "maps"))
        seen[seed] = {row: (features[place], maps[place].ravel()) for place, row in enumerate(rows)}
    entropy = stats.entropy(material.votes.probs, axis=1).round(12)
    between = reduced.between[f"soft.{where}"]
    assert (between.seeds, between.pairs) == ((0, 1, 2), True)
    for one, other in combinations(range(SEEDS), 2):
        common = sorted(seen[one].keys() & seen[other].keys())
        x, y = (np.array([seen[seed][row][0] for row in common]) for seed in (one, other))
        cka = hsic(x, y) / math.sqrt(hsic(x, x) * hsic(y, y))
        assert between.arrays["cka"][one, other] == pytest.approx(cka)
        alike = [np.corrcoef(seen[one][row][1], seen[other][row][1])[0, 1] for row in common]
        assert between.arrays["maps_raw"][one, other] == pytest.approx(np.mean(alike))
        large = [np.corrcoef(enlarged(seen[one][row][1]), enlarged(seen[other][row][1]))[0, 1] for row in common]
        assert between.arrays["maps"][one, other] == pytest.approx(np.mean(large), abs=1e-6)
        high = sorted(range(len(common)), key=lambda place: (-entropy[common[place]], place))[: round(len(common) / 5)]
        expected = np.mean([alike[place] for place in high])
        assert between.arrays["maps_raw_high"][one, other] == pytest.approx(expected)
        expected = np.mean([large[place] for place in high])
        assert between.arrays["maps_high"][one, other] == pytest.approx(expected, abs=1e-6)


def test_barriers_by_seed(reduced: Results, store: RecordStore) -> None:
    assert reduced.between["barrier"].seeds == (0, 1, 2)
    losses = reduced.between["barrier"].arrays["plain.losses"]
    assert losses.shape == (SEEDS, 5)
    np.testing.assert_array_equal(reduced.between["barrier"].arrays["plain.heights"], losses.max(axis=1))


def test_without_the_votes(store: RecordStore, reduced: Results) -> None:
    bare = reduce_runs(PAPER, store, None)
    assert bare.factors == reduced.factors
    lost = reduced.numbers.keys() - bare.numbers.keys()
    assert {name.split("/")[0] for name in lost} == {
        "brier", "ece", "entropy", "images_per_second", "js", "l1", "js-high", "gradient",
        *(f"{name}_{at}" for name in ("scaled_soft_nll", "temperature", "vote_ece", "vote_ece_floor") for at in ("best", "last")),
    }  # fmt: skip
    np.testing.assert_array_equal(bare.between["sls.shared"].arrays["cka"], reduced.between["sls.shared"].arrays["cka"])
    assert "maps_high" not in bare.between["sls.shared"].arrays


def test_runs_without_any_measurement(material: Prepared, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    config = suite_runs("main", material, seeds=1, precision="bf16")[0]
    store.write(paper_record(config, material))
    found = reduce_runs(PAPER, store, material)
    assert found.runs == [called("soft", 0)]
    assert (found.between, set(found.shared)) == ({}, {"devices", "confidence"})


def test_measurements_of_other_models_are_left_out(material: Prepared, tmp_path: Path) -> None:
    """Of an earlier version, of a run that was done again since, and of a pair of which one run is another now."""
    pair = [run for run in suite_runs("main", material, seeds=1, precision="bf16") if run.method in ("sls", "soft")]
    sls, soft = sorted(pair, key=lambda run: run.method)
    store = RecordStore(tmp_path)
    for run in pair:
        store.write(replace(paper_record(run, material), environment={"weights": run.method}))
    found = paper_diagnosis(sls, material)
    other = {"weights": "others"}
    for stale in (replace(found, config={**found.config, "version": 1}), replace(found, environment=other)):
        measurement_store(store).write(stale, replace=True)
    barrier = paper_barrier((sls, soft), store)
    measurement_store(store).write(replace(barrier, environment={"weights": "sls soft"}))
    reduced = reduce_runs(PAPER, store, material)
    assert not any("trace" in name for name in reduced.numbers)
    assert [*reduced.between] == ["barrier"]
    again = store.read(run_id(soft.to_dict()))
    store.write(replace(again, environment=other), replace=True)
    assert reduce_runs(PAPER, store, material).between == {}


def test_no_run_of_the_paper(tmp_path: Path, store: RecordStore, material: Prepared) -> None:
    with pytest.raises(InputError) as error:
        reduce_runs(PAPER, RecordStore(tmp_path / "none"), material)
    assert str(error.value) == (
        f"{str(tmp_path / 'none')!r} must hold finished runs of the paper's recipe in bf16, but none is there. Do some "
        "with votewise reproduce same-target, or name another folder or precision."
    )
    with pytest.raises(InputError, match="recipe in fp32, but none is there"):
        reduce_runs(PAPER, store, material, precision="fp32")


def test_other_votes_are_refused(store: RecordStore, material: Prepared) -> None:
    with pytest.raises(InputError) as error:
        reduce_runs(PAPER, store, replace(material, checksum="d" * 64))
    assert str(error.value) == (
        "runs and votes must be of the same data, but got checksums cccccccc, dddddddd. Pass the data the runs were made "
        "on, and keep runs on other data in another folder."
    )


def test_results_are_small(reduced: Results, tmp_path: Path) -> None:
    add_batch(reduced, tmp_path)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    predictions = len(reduced) * (N_ITEMS // 5) * 10 * 2
    assert sum(array.nbytes for array in reduced.predicted["best"]) == predictions
    assert size - predictions < 6000 * len(reduced)


def split(store: RecordStore, parts: Sequence[RecordStore], rng: random.Random) -> None:
    """Each run, with what was measured of it, into one of the stores; those compared with others into the first."""
    of_run = {}
    for record in store.records():
        run = PAPER.name_of(record.config)
        assert run is not None
        compared = run["method"] in ("soft", "sls") and (run["votes"], run["hold"]) == (None, 1)
        of_run[record.run_id] = parts[0] if compared else rng.choice(parts)
        of_run[record.run_id].write(record)
    for record in measurement_store(store).records():
        about = record.config["run"] if "run" in record.config else record.config["barrier"][0]  # type: ignore[index]
        measurement_store(of_run[run_id(about)]).write(record)  # type: ignore[arg-type]


def test_a_store_reduced_in_random_batches(
    store: RecordStore, reduced: Results, material: Prepared, tmp_path: Path
) -> None:
    """From raw runs to figures: soft labels and the method compared with them often come in different batches."""
    parts = [RecordStore(tmp_path / f"runs-{place}") for place in range(3)]
    split(store, parts, random.Random(20261119))
    folder = tmp_path / "results"
    for part in parts:
        known = read_results(folder) if folder.exists() else None
        add_batch(reduce_runs(PAPER, part, material, known=known), folder)
    found = read_results(folder)
    assert found.factors == reduced.factors
    for name, column in reduced.numbers.items():
        np.testing.assert_array_equal(found.numbers[name], column, err_msg=name)
    for name, arrays in {**reduced.series, **reduced.predicted}.items():
        for one, other in zip({**found.series, **found.predicted}[name], arrays, strict=True):
            assert (one is None) == (other is None)
            if other is not None:
                np.testing.assert_array_equal(one, other, err_msg=name)
    assert [len(batch.new_runs) > 10 for batch in read_batches(folder)] == [True] * 3
    shown = [paper_terminal_document(PAPER, paper_part_names(PAPER), one) for one in (found, reduced)]
    assert json.dumps(shown[0].data) == json.dumps(shown[1].data)
    drawn = [write_paper_figures(one, tmp_path / name) for one, name in zip(shown, ("batches", "once"), strict=True)]
    assert [path.read_bytes() for path in drawn[0]] == [path.read_bytes() for path in drawn[1]]
    for part in parts:
        assert add_batch(reduce_runs(PAPER, part, material, known=found), folder) is None, "nothing is new"


def test_stored_results_are_completed_by_what_their_predictions_allow(
    reduced: Results, material: Prepared, tmp_path: Path
) -> None:
    """Early batches kept no calibration against votes of most runs; nothing else of them is touched."""
    other = "js/spearman_of_other_redraw"
    late = ("vote_ece_best", "vote_ece_floor_best", other, f"{other}_given_entropy")
    early = {name: column for name, column in reduced.numbers.items() if name not in late}
    add_batch(replace(reduced, numbers=early), tmp_path / "results")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    nothing = RecordStore(tmp_path / "nothing")
    completed = reduce_runs(PAPER, nothing, material, known=read_results(tmp_path / "results"))
    batch = add_batch(completed, tmp_path / "results")
    assert batch is not None
    assert (len(batch.new_runs), batch.completed) == (0, len(reduced))
    assert set(batch.results.numbers) == set(late)
    found = read_results(tmp_path / "results")
    for name, column in early.items():
        np.testing.assert_array_equal(found.numbers[name], column)
    apart = np.abs(found.numbers["vote_ece_best"] - reduced.numbers["vote_ece_best"])
    assert np.quantile(apart, 0.95) < 1e-3, "in 16 bits few predictions change places"
    assert all(path.read_bytes() == content for path, content in before.items())


def test_another_paper_needs_only_its_own_functions(store: RecordStore, material: Prepared, tmp_path: Path) -> None:
    """It derives a number of each run and one of all, has barriers of its own, and tells apart what its suites mix."""
    methods = ("soft", "sls", "majority")
    suites = {
        name: Suite("cifar10h", model, paper_recipe, methods, 3)
        for name, model in (("main", "resnet18"), ("more", "mlp"))
    }

    def numbers_of_run(run: PaperRun, _: Prepared | None) -> list[tuple[dict[str, float], dict[str, np.ndarray]]]:
        return [({"epochs": float(run.record.epochs)}, {"twice": 2 * run.record.curves["accuracy"]})]

    def numbers_of_results(results: Results, row: int, _: Prepared) -> list[dict[str, float]]:
        losses = results.numbers["soft_nll_best"]
        return [{"gap": losses[row] - np.min(losses)}]

    other = Paper(
        "other-paper", "another paper", "", {}, Printed(), suites=suites, numbers_of_run=numbers_of_run, numbers_of_results=numbers_of_results,
        barriers={"ways": ({"method": "sls", "votes": None, "hold": 1}, {"method": "soft"})},
    )  # fmt: skip
    add_batch(reduce_runs(other, store, material), tmp_path)
    found = read_results(tmp_path)
    assert found.origin["paper"] == "another paper"
    assert other.factors == ("model", "method", "votes", "hold", "seed")
    assert (found.values("model"), set(methods) <= set(found.values("method"))) == (("resnet18",), True)
    assert (found.sample("gap", method="sls", votes=None, hold=1).values >= 0).all()
    assert set(found.numbers["epochs"]) == {12.0}
    sls = {"method": "sls", "votes": None, "hold": 1}
    np.testing.assert_array_equal(found.lines("twice", sls)[0], 2 * found.lines("curve_accuracy", sls)[0])
    assert found.between["ways"].seeds == (0, 1, 2)
