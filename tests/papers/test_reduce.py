"""A store of runs in brief: what is kept is what was there, and what is computed agrees with slow ways to it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cityblock, jensenshannon

from paper_runs import N_ITEMS, paper_barrier, paper_diagnosis, paper_record
from votewise import InputError, metrics
from votewise.experiments.diagnosis_store import diagnoses_of
from votewise.experiments.material import Material
from votewise.experiments.measure import shared_items
from votewise.experiments.run import softmax
from votewise.papers.same_target import suite_runs
from votewise.papers.same_target.evidence import Evidence, Group, Run
from votewise.papers.same_target.parts import coverage
from votewise.papers.same_target.reduce import reduce_runs
from votewise.papers.same_target.results import read_results, write_results
from votewise.papers.same_target.suites import MIXUPS, run_of
from votewise.papers.same_target.vote_statistics import distance_bins, scaled
from votewise.records import RecordStore, RunRecord, run_id

SEEDS = 3


@pytest.fixture(scope="session")
def material(votes_and_images: Material) -> Material:
    return votes_and_images


def find(store: RecordStore, method: str, seed: int, votes: int | None = None) -> RunRecord:
    """The run of the paper's recipe."""
    (found,) = [record for record in store.records() if run_of(record.config) == Run(method, votes, 1, seed)]
    return found


def diagnosis(store: RecordStore, method: str, seed: int) -> RunRecord:
    (found,) = [
        record
        for record in diagnoses_of(store).records()
        if "run" in record.config and run_of(record.config["run"]) == Run(method, None, 1, seed)  # type: ignore[arg-type]
    ]
    return found


def test_the_papers_runs(evidence: Evidence, material: Material) -> None:
    wanted = {
        run_of(config.to_dict())
        for suite, seeds in (("all", SEEDS), ("mixup", 1))
        for config in suite_runs(suite, material, seeds=seeds, precision="bf16")
    }
    assert set(evidence.runs) == wanted
    assert len(evidence.runs) == len(wanted)
    assert evidence.origin == {"paper": "arXiv 2605.20642", "data": material.checksum, "precision": "bf16"}


def test_no_other_runs(material: Material, tmp_path: Path) -> None:
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
    assert reduce_runs(store, material).runs == (Run("soft", None, 1, 0),)
    assert reduce_runs(store, material, precision="fp32").runs == (Run("soft", None, 1, 0),)


def test_mixups_go_by_what_they_mix(material: Material, tmp_path: Path) -> None:
    store, runs = RecordStore(tmp_path), suite_runs("mixup", material, precision="bf16")
    for config in runs:
        store.write(paper_record(config, material))
    found = {run.method for run in reduce_runs(store, material).runs}
    assert found == set(MIXUPS)
    assert {(config.method, config.recipe.mixup) for config in runs} == set(MIXUPS.values())
    assert coverage(reduce_runs(store, material)).there == 1, "the paper's own is among them"


def test_scores_curves_and_measurements_are_taken_over(evidence: Evidence, store: RecordStore) -> None:
    record, measured = find(store, "sls", 1), diagnosis(store, "sls", 1)
    for name, value in {**record.numbers, **measured.numbers}.items():
        assert evidence.values(Group("sls"), name)[1] == value
    np.testing.assert_array_equal(
        evidence.lines(Group("sls"), "curve_soft_nll")[1], record.curves["soft_nll"].astype(np.float32)
    )
    curve = record.curves["soft_nll"]
    first = next(epoch for epoch, loss in enumerate(curve, start=1) if loss <= curve.min() / 0.95)
    assert evidence.values(Group("sls"), "near_best/quotient")[1] == first
    assert evidence.values(Group("mixup"), "last/full/trace") == {}, "not measured of mixup"
    assert list(evidence.values(Group("sls", first=2), "soft_nll_best")) == [0, 1]


def test_predictions_in_16_bits_score_as_before(evidence: Evidence, store: RecordStore, material: Material) -> None:
    place = evidence.runs.index(Run("majority", None, 1, 2))
    probs = np.exp(evidence.log_probs[place].astype(np.float64))
    record = find(store, "majority", 2)
    people = material.votes.probs[record.arrays["held_out"]]
    found = metrics.soft_nll(people, probs / probs.sum(axis=1, keepdims=True))
    assert found == pytest.approx(record.numbers["soft_nll_best"], abs=2e-4)


def test_impossible_predictions_stay_finite(material: Material, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    record = paper_record(suite_runs("main", material, seeds=1, precision="bf16")[0], material)
    logits = record.arrays["best_logits"].copy()
    logits[0, 0] = -1e9
    store.write(RunRecord(**{**vars(record), "arrays": {**record.arrays, "best_logits": logits}}))
    found = reduce_runs(store, None).log_probs
    assert np.isfinite(found).all()
    assert found[0, 0, 0] == np.finfo(np.float16).min


@pytest.mark.parametrize("name", ["js", "l1", "js-high"])
def test_improvement_by_distance(name: str, evidence: Evidence, store: RecordStore, material: Material) -> None:
    soft, hard = find(store, "soft", 2, 10), find(store, "multipass", 2, 10)
    rows = hard.arrays["held_out"]
    people = material.votes.probs[rows]
    redrawn = material.votes.subsample(10, seed=2).probs[rows]
    if name == "l1":
        distance = np.array([cityblock(p, q) for p, q in zip(people, redrawn, strict=True)])
    else:
        distance = np.array([jensenshannon(p, q, base=2) for p, q in zip(people, redrawn, strict=True)])
    losses = [-(people * np.log(softmax(run.arrays["best_logits"]))).sum(axis=1) for run in (soft, hard)]
    gain = losses[0] - losses[1]
    if name == "js-high":
        entropy = stats.entropy(people, axis=1)
        high = sorted(sorted(range(len(rows)), key=lambda row: (-round(entropy[row], 12), row))[: round(len(rows) / 5)])
        distance, gain = distance[high], gain[high]
    distance = np.where(distance < 1e-7, 0, distance).round(12)  # or the noise of summation parts what is equal
    group = Group("multipass", 10)
    expected = stats.spearmanr(distance, gain).statistic
    assert evidence.values(group, f"{name}/spearman")[2] == pytest.approx(expected, abs=1e-9)
    edges = np.quantile(distance[distance > 0], [0.2, 0.4, 0.6, 0.8])
    for place in range(6):
        inside = [
            value
            for value, far in zip(gain, distance, strict=True)
            if (0 if far == 0 else 1 + sum(edge <= far for edge in edges)) == place
        ]
        found = evidence.values(group, f"{name}/gain/{place}")
        assert found.get(2, math.nan) == pytest.approx(np.mean(inside) if inside else math.nan, abs=1e-6, nan_ok=True)


def test_temperatures_by_trying_many(evidence: Evidence, store: RecordStore, material: Material) -> None:
    record = find(store, "soft", 1)
    logits = record.arrays["best_logits"].astype(np.float64)
    people = material.votes.probs[record.arrays["held_out"]]
    losses = {
        temperature: -(people * np.log(softmax(logits / temperature))).sum(axis=1).mean()
        for temperature in np.geomspace(0.06, 10, 400)
    }
    found = evidence.values(Group("soft"), "scaled/soft_nll")[1]
    assert found >= min(losses.values()) - 1e-4, "fitted on other images it cannot be better"
    assert found == pytest.approx(min(losses.values()), abs=0.05)
    best = min(losses, key=losses.__getitem__)
    assert evidence.values(Group("soft"), "scaled/temperature")[1] == pytest.approx(best, rel=0.3)


def test_a_temperature_that_is_known(material: Material) -> None:
    config = suite_runs("main", material, seeds=1, precision="bf16")[0]
    record = paper_record(config, material)
    people = material.votes.probs[record.arrays["held_out"]]
    logits = 3 * np.log(np.maximum(people, 1e-9)).astype(np.float32)
    found = scaled(RunRecord(**{**vars(record), "arrays": {**record.arrays, "best_logits": logits}}), material)
    assert found["scaled/temperature"] == pytest.approx(3, rel=0.01)
    assert found["scaled/soft_nll"] == pytest.approx(metrics.soft_nll(people, softmax(logits / 3)), abs=1e-4)


def test_the_temperature_of_logits_so_far_apart_that_probabilities_vanish(material: Material) -> None:
    record = paper_record(suite_runs("main", material, seeds=1, precision="bf16")[0], material)
    logits = 200 * np.random.default_rng(0).standard_normal(record.arrays["best_logits"].shape)
    found = scaled(RunRecord(**{**vars(record), "arrays": {**record.arrays, "best_logits": logits}}), material)
    assert found["scaled/temperature"] == pytest.approx(20, rel=0.01), "what is sure of nonsense wants the highest"


def test_bins_of_distance() -> None:
    assert distance_bins(np.zeros(3)).tolist() == [0, 0, 0]
    assert distance_bins(np.array([1e-15, 0.5])).tolist() == [0, 5]
    bins = distance_bins(np.arange(101.0))
    assert np.bincount(bins).tolist() == [1, 20, 20, 20, 20, 20]


def test_gradient_variance_by_brute_force(evidence: Evidence, store: RecordStore, material: Material) -> None:
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
    assert evidence.values(Group("sls"), "gradient/spearman")[0] == pytest.approx(expected, abs=1e-9)
    assert evidence.values(Group("soft"), "gradient/spearman") == {}
    low, middle, high = (evidence.lines(Group("sls"), f"gradient_{part}")[0] for part in ("low", "middle", "high"))
    assert (low <= middle).all()
    assert (middle <= high).all()


def test_brier_parts_and_reliability(evidence: Evidence, store: RecordStore, material: Material) -> None:
    record = find(store, "majority", 1)
    rows, probs = record.arrays["held_out"], softmax(record.arrays["best_logits"])
    right = probs.argmax(axis=1) == material.hard_labels[rows]
    parts = {
        part: evidence.values(Group("majority"), f"brier/correctness/{part}")[1]
        for part in ("reliability", "resolution", "uncertainty", "spread", "covariance")
    }
    total = (
        parts["reliability"] - parts["resolution"] + parts["uncertainty"] + parts["spread"] - 2 * parts["covariance"]
    )
    assert total == pytest.approx(np.mean((probs.max(axis=1) - right) ** 2))
    assert parts["uncertainty"] == pytest.approx(right.mean() * (1 - right.mean()))
    assert evidence.lines(Group("majority"), "reliability_accuracy")[1].shape == evidence.across["confidence"].shape
    assert evidence.lines(Group("sls", 5), "reliability_accuracy") == {}


def hsic(x: np.ndarray, y: np.ndarray) -> float:
    centre = np.eye(len(x)) - 1 / len(x)
    return float(np.trace(x @ x.T @ centre @ y @ y.T @ centre))


def enlarged(pixels: np.ndarray) -> np.ndarray:
    """16 pixels as 4 x 4, made 32 x 32 by straight lines between the middles of pixels; flat."""
    places = np.clip((np.arange(32) + 0.5) / 8 - 0.5, 0, 3)
    weights = np.maximum(1 - np.abs(places[:, None] - np.arange(4)), 0)
    return (weights @ pixels.reshape(4, 4) @ weights.T).ravel()


@pytest.mark.parametrize("where", ["shared", "held_out"])
def test_likeness_of_seeds(where: str, evidence: Evidence, store: RecordStore, material: Material) -> None:
    seen = {}
    for seed in range(SEEDS):
        arrays = diagnosis(store, "soft", seed).arrays
        rows = shared_items(material) if where == "shared" else find(store, "soft", seed).arrays["held_out"]
        features, maps = (arrays[f"{where}_{part}"].astype(np.float64) for part in ("features", "maps"))
        seen[seed] = {row: (features[place], maps[place].ravel()) for place, row in enumerate(rows)}
    entropy = stats.entropy(material.votes.probs, axis=1).round(12)
    assert evidence.across[f"soft.{where}.seeds"].tolist() == [0, 1, 2]
    for one, other in combinations(range(SEEDS), 2):
        common = sorted(seen[one].keys() & seen[other].keys())
        x, y = (np.array([seen[seed][row][0] for row in common]) for seed in (one, other))
        cka = hsic(x, y) / math.sqrt(hsic(x, x) * hsic(y, y))
        assert evidence.across[f"soft.{where}.cka"][one, other] == pytest.approx(cka)
        alike = [np.corrcoef(seen[one][row][1], seen[other][row][1])[0, 1] for row in common]
        assert evidence.across[f"soft.{where}.maps_raw"][one, other] == pytest.approx(np.mean(alike))
        large = [np.corrcoef(enlarged(seen[one][row][1]), enlarged(seen[other][row][1]))[0, 1] for row in common]
        assert evidence.across[f"soft.{where}.maps"][one, other] == pytest.approx(np.mean(large), abs=1e-6)
        high = sorted(range(len(common)), key=lambda place: (-entropy[common[place]], place))[: round(len(common) / 5)]
        expected = np.mean([alike[place] for place in high])
        assert evidence.across[f"soft.{where}.maps_raw_high"][one, other] == pytest.approx(expected)
        expected = np.mean([large[place] for place in high])
        assert evidence.across[f"soft.{where}.maps_high"][one, other] == pytest.approx(expected, abs=1e-6)


def test_barriers_by_seed(evidence: Evidence, store: RecordStore) -> None:
    assert evidence.across["barrier.seeds"].tolist() == [0, 1, 2]
    losses = evidence.across["barrier.plain.losses"]
    assert losses.shape == (SEEDS, 5)
    np.testing.assert_array_equal(evidence.across["barrier.plain.heights"], losses.max(axis=1))


def test_without_the_votes(store: RecordStore, evidence: Evidence) -> None:
    bare = reduce_runs(store, None)
    assert bare.runs == evidence.runs
    lost = evidence.numbers.keys() - bare.numbers.keys()
    assert {name.split("/")[0] for name in lost} == {
        "brier", "ece", "entropy", "images_per_second", "js", "l1", "js-high", "gradient", "scaled",
    }  # fmt: skip
    np.testing.assert_array_equal(bare.across["sls.shared.cka"], evidence.across["sls.shared.cka"])
    assert "sls.shared.maps_high" not in bare.across


def test_runs_without_any_measurement(material: Material, tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    config = suite_runs("main", material, seeds=1, precision="bf16")[0]
    store.write(paper_record(config, material))
    found = reduce_runs(store, material)
    assert found.runs == (Run("soft", None, 1, 0),)
    assert set(found.across) == {"devices", "confidence"}


def test_measurements_of_other_models_are_left_out(material: Material, tmp_path: Path) -> None:
    """Of an earlier version, of a run that was done again since, and of a pair of which one run is another now."""
    pair = [run for run in suite_runs("main", material, seeds=1, precision="bf16") if run.method in ("sls", "soft")]
    sls, soft = sorted(pair, key=lambda run: run.method)
    store = RecordStore(tmp_path)
    for run in pair:
        store.write(paper_record(run, material))
    found = paper_diagnosis(sls, material)
    apart = {**found.numbers, "best/full/loss": 9.0}
    for stale in (replace(found, config={**found.config, "version": 1}), replace(found, numbers=apart)):
        diagnoses_of(store).write(stale, replace=True)
    diagnoses_of(store).write(paper_barrier((sls, soft), store))
    evidence = reduce_runs(store, material)
    assert not any("trace" in name for name in evidence.numbers)
    assert any("barrier" in name for name in evidence.across)
    again = store.read(run_id(soft.to_dict()))
    store.write(replace(again, numbers={**again.numbers, "soft_nll_best": 0.9}), replace=True)
    assert not any("barrier" in name for name in reduce_runs(store, material).across)


def test_no_run_of_the_paper(tmp_path: Path, store: RecordStore, material: Material) -> None:
    with pytest.raises(InputError) as error:
        reduce_runs(RecordStore(tmp_path / "none"), material)
    assert str(error.value) == (
        f"{str(tmp_path / 'none')!r} must hold finished runs of the paper's recipe in bf16, but none is there. Do some "
        "with votewise reproduce same-target, or name another folder or precision."
    )
    with pytest.raises(InputError, match="recipe in fp32, but none is there"):
        reduce_runs(store, material, precision="fp32")


def test_other_votes_are_refused(store: RecordStore, material: Material) -> None:
    with pytest.raises(InputError) as error:
        reduce_runs(store, replace(material, checksum="d" * 64))
    assert str(error.value) == (
        "runs and votes must be of the same data, but got checksums cccccccc, dddddddd. Pass the data the runs were made "
        "on, and keep runs on other data in another folder."
    )


def test_results_come_back_as_they_were(evidence: Evidence, tmp_path: Path) -> None:
    write_results(evidence, tmp_path / "results")
    found = read_results(tmp_path / "results")
    assert (found.runs, found.origin) == (evidence.runs, evidence.origin)
    for part in ("numbers", "series", "across"):
        one, other = getattr(found, part), getattr(evidence, part)
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
            assert one[name].dtype == other[name].dtype
    np.testing.assert_array_equal(found.log_probs, evidence.log_probs)
    files = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_results(found, tmp_path / "results")
    assert {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == files


def test_results_are_small(evidence: Evidence, tmp_path: Path) -> None:
    write_results(evidence, tmp_path)
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    predictions = evidence.log_probs.nbytes
    assert predictions == len(evidence.runs) * (N_ITEMS // 5) * 10 * 2
    assert size - predictions < 6000 * len(evidence.runs)


def test_results_that_cannot_be_read(evidence: Evidence, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_results(tmp_path)
    assert (
        str(error.value) == f"{str(tmp_path)!r} must hold one set of results, but there is none. Reduce runs into it."
    )
    write_results(evidence, tmp_path)
    with pytest.raises(InputError) as error:
        write_results(replace(evidence, origin={**evidence.origin, "precision": "fp32"}), tmp_path)
    assert str(error.value) == (
        f"{str(tmp_path)!r} must hold one set of results, but there are 2. Delete the others, or use another folder."
    )
    (arrays,) = tmp_path.rglob("arrays.npz")
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match=r"the bytes of arrays\.npz have changed"):
        read_results(tmp_path)


def test_results_of_a_later_form(evidence: Evidence, tmp_path: Path) -> None:
    RecordStore(tmp_path).write(RunRecord(config={"form": 2}, status="done"))
    with pytest.raises(InputError) as error:
        read_results(tmp_path)
    assert str(error.value) == f"{str(tmp_path)!r} must hold results of form 1, but got form 2. Reduce the runs again."
