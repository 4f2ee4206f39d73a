"""Diagnoses of runs: the numbers of the diagnostics package, on the right model and rows, whatever happens in between."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from small_runs import IMAGES, feature_material
from votewise import diagnostics
from votewise._errors import InputError
from votewise.datasets import OutlierImages
from votewise.diagnostics import (
    collect_outputs,
    curvature,
    gradcam_maps,
    high_disagreement_slices,
    ood_scores,
    ood_table,
)
from votewise.experiments import diagnose as module
from votewise.experiments import measure, run
from votewise.experiments.diagnose import run_and_diagnose
from votewise.experiments.diagnosis_plan import to_train_again, undiagnosed, unmeasured
from votewise.experiments.diagnosis_store import OF_RUN, barrier_config, diagnoses_of, diagnosis_config
from votewise.experiments.execution import Keeping, Listener, execute
from votewise.experiments.material import Material
from votewise.experiments.measure import Plan, Subject, measure_run, shared_items
from votewise.experiments.run import RunConfig, model_maker, split_items, train_run_with_models
from votewise.records import RecordStore, RunRecord, run_id

PIXELS = np.random.default_rng(0).integers(0, 256, size=(60, 16, 16, 3), dtype=np.uint8)
MATERIAL = feature_material(kind="images", inputs=PIXELS)
OTHERS = [OutlierImages("noise", PIXELS[::-1][:20].copy(), np.zeros(20, dtype=np.int64), "noise.npz")]
RUNS = [
    RunConfig("toy", MATERIAL.checksum, method, 0, replace(IMAGES, epochs=4), "small-cnn") for method in ("sls", "soft")
]
PLANS = {
    RUNS[0]: Plan({"best": ("full", "top-20%"), "common": ("full",)}, ood=True, features=True),
    RUNS[1]: Plan({"last": ("full",)}),
}
PAIRS = [(RUNS[0], RUNS[1])]
COMMON = 2


@pytest.fixture(autouse=True)
def trained(monkeypatch: pytest.MonkeyPatch) -> list[RunConfig]:
    """Train in this process, for the time, and with few products; what was trained, in order."""
    torch.set_num_threads(1)
    seen: list[RunConfig] = []

    def in_this_process(
        configs: Sequence[RunConfig], material: Material, _jobs: Any, _listener: Any, keeper: Any
    ) -> None:
        for config in configs:
            seen.append(config)
            keeper.keep(config, *train_run_with_models(config, material, keep_epoch=keeper.keeping.epoch))

    monkeypatch.setattr("votewise.experiments.execution._on_cores", in_this_process)
    monkeypatch.setattr(measure, "_MOST", 12)
    return seen


Pairs = list[tuple[RunConfig, RunConfig]]


def do(
    store: RecordStore, plans: dict[RunConfig, Plan] = PLANS, pairs: Pairs = PAIRS, **options: Any
) -> list[RunRecord]:
    """Run and diagnose; the diagnoses that the listener got."""
    told: list[RunRecord] = []
    listener = Listener(on_diagnosis=told.append)
    settings: dict[str, Any] = {"common_epoch": COMMON, "outliers": OTHERS, "device": "cpu", "listener": listener}
    run_and_diagnose(plans, pairs, MATERIAL, store, **{**settings, **options})
    return told


def diagnosis(store: RecordStore, config: RunConfig) -> RunRecord:
    return diagnoses_of(store).read(run_id(diagnosis_config(config, PLANS[config])))


def test_numbers_and_arrays_are_those_of_the_runs_models(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    do(store)
    record, models = train_run_with_models(RUNS[0], MATERIAL, keep_epoch=COMMON)
    rows = split_items(RUNS[0], MATERIAL)
    subject, people = Subject(RUNS[0], MATERIAL, "cpu"), MATERIAL.votes.probs[rows.held_out]
    inputs, best = subject.inputs(rows.held_out), subject.model(models["best"])
    found = diagnosis(store, RUNS[0])

    few: dict[str, Any] = {"max_products": 12, "max_probes": 12}
    slices = {"top-20%": high_disagreement_slices(people)["top-20%"]}
    for name, measured in curvature(best, inputs, people, slices=slices, **few).items():
        assert found.numbers[f"best/{name}/largest"] == measured.largest
        assert found.numbers[f"best/{name}/trace_error"] == measured.trace_error
    assert found.numbers["best/full/loss"] == pytest.approx(record.numbers["soft_nll_best"], rel=1e-5)
    common = curvature(subject.model(models["common"]), inputs, people, **few)["full"]
    assert found.numbers["common/full/trace"] == common.trace != found.numbers["best/full/trace"]

    outputs = collect_outputs(best, inputs)
    bank = collect_outputs(best, subject.inputs(rows.train)).features
    other = ood_scores(collect_outputs(best, subject.outliers(OTHERS[0].images)), bank, k=48)
    table = ood_table(ood_scores(outputs, bank, k=48), other)
    assert found.numbers["noise/knn/auroc"] == table["knn"].auroc
    assert found.numbers["noise/energy/fpr95"] == table["energy"].fpr95
    assert "noise/odin/auroc" in found.numbers

    np.testing.assert_array_equal(found.arrays["held_out_features"], outputs.features.half().numpy())
    np.testing.assert_allclose(found.arrays["held_out_square_length"], (outputs.features**2).sum(1), rtol=1e-5)
    shared = shared_items(MATERIAL)
    maps = gradcam_maps(best, best.stages[-1], subject.inputs(shared), MATERIAL.votes.probs[shared].argmax(axis=1))
    np.testing.assert_array_equal(found.arrays["shared_maps"], maps.half().numpy())


def test_what_does_not_fit_into_memory_is_freed_and_measured_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[weakref.ref[torch.Tensor]] = []
    real = diagnostics.curvature

    def short_of_memory(*arguments: Any, keep_graph: bool = True, **options: Any) -> Any:
        if keep_graph:
            graph = torch.zeros(1)
            held.append(weakref.ref(graph))
            raise torch.OutOfMemoryError("CUDA out of memory")
        assert [reference() for reference in held] == [None]
        return real(*arguments, keep_graph=keep_graph, **options)

    subject = Subject(RUNS[0], MATERIAL, "cpu")
    states = {"best": model_maker(RUNS[0], MATERIAL)().state_dict()}
    plan = Plan({"best": ("full",)})
    expected, _ = measure_run(subject, states, plan)
    monkeypatch.setattr(diagnostics, "curvature", short_of_memory)
    found, _ = measure_run(subject, states, plan)
    assert len(held) == 1
    assert found["best/full/trace"] == pytest.approx(expected["best/full/trace"], rel=1e-4)


def test_the_barrier_between_two_runs_ends_at_their_losses(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    do(store)
    found = diagnoses_of(store).read(run_id(barrier_config(*PAIRS[0])))
    ends = [store.read(run_id(config.to_dict())).numbers["soft_nll_best"] for config in PAIRS[0]]
    np.testing.assert_allclose(found.arrays["plain_losses"][[0, -1]], ends, rtol=1e-5)
    assert found.numbers["plain/height"] >= 0
    assert len(found.arrays["positions"]) == 21


def test_what_is_done_is_not_done_again_and_weights_go(tmp_path: Path, trained: list[RunConfig]) -> None:
    store = RecordStore(tmp_path)
    assert [record.status for record in do(store)] == ["done"] * 3
    assert [store.attached(run) for run in store.ids()] == [(), ()]
    assert do(store) == []
    assert trained == RUNS


def test_weights_stay_where_they_are_wanted(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)
    do(store, keep_models=True)
    names = ("best.safetensors", "common.safetensors", "last.safetensors")
    assert [store.attached(run) for run in store.ids()] == [names, names]
    assert do(store) == []
    assert [store.attached(run) for run in store.ids()] == [names, names], "a call that needs none leaves them alone"


def test_runs_that_were_done_without_weights_are_done_again(tmp_path: Path, trained: list[RunConfig]) -> None:
    store = RecordStore(tmp_path)
    execute(RUNS, MATERIAL, store, device="cpu")
    assert list(undiagnosed(PLANS, store)) == to_train_again(PLANS, PAIRS, store) == RUNS
    assert len(do(store)) == 3
    assert trained == RUNS * 2
    assert (undiagnosed(PLANS, store), to_train_again({}, PAIRS, store)) == ({}, [])


def test_an_interrupted_diagnosis_continues_from_the_weights(
    tmp_path: Path, trained: list[RunConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, real = RecordStore(tmp_path), module.measure_run

    def interrupted(subject: Subject, *rest: Any) -> Any:
        if subject.config == RUNS[1]:
            raise KeyboardInterrupt
        return real(subject, *rest)

    monkeypatch.setattr(module, "measure_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        do(store)
    monkeypatch.setattr(module, "measure_run", real)
    assert len(do(store)) == 2  # the second run's, and the barrier
    assert trained == RUNS


def test_an_interrupted_call_leaves_no_weights_of_what_is_measured(tmp_path: Path) -> None:
    store, first = RecordStore(tmp_path), run_id(RUNS[0].to_dict())

    def interrupt(_: RunRecord) -> None:
        assert store.attached(first)
        raise KeyboardInterrupt

    plans = {RUNS[0]: Plan({"last": ("full",)}), RUNS[1]: Plan({"best": ("full",)})}
    with pytest.raises(KeyboardInterrupt):
        do(store, plans, pairs=[], listener=Listener(on_diagnosis=interrupt))
    assert [bool(store.attached(run_id(run.to_dict()))) for run in RUNS] == [False, True]


def test_a_diagnosis_that_fails_says_why_and_the_others_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise InputError("the loss must be finite", "got NaN", "Look for NaN in weights")

    monkeypatch.setattr(measure, "_ood_numbers", refuse)
    store = RecordStore(tmp_path)
    told = do(store)
    assert [record.status for record in told] == ["failed", "done", "done"]
    assert told[0].failure == "the loss must be finite, but got NaN. Look for NaN in weights."
    assert [bool(store.attached(run_id(run.to_dict()))) for run in RUNS] == [True, False]

    assert do(store) == []
    monkeypatch.undo()
    monkeypatch.setattr(measure, "_MOST", 12)
    assert [record.status for record in do(store, retry_failed=True, jobs=1)] == ["done"]
    assert not any(store.attached(run_id(run.to_dict())) for run in RUNS)


def test_a_barrier_that_could_not_be_measured_is_tried_again_if_asked(
    tmp_path: Path, trained: list[RunConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError("an error of cuDNN")

    monkeypatch.setattr(module, "measure_barrier", refuse)
    store = RecordStore(tmp_path)
    assert [(record.status, record.failure) for record in do(store)][2] == ("failed", "an error of cuDNN")
    monkeypatch.undo()
    monkeypatch.setattr(measure, "_MOST", 12)
    assert do(store) == []
    (told,) = do(store, retry_failed=True)
    assert (told.status, "plain/height" in told.numbers) == ("done", True)
    assert trained == RUNS, "the weights were kept"


def test_damaged_weights_fail_one_diagnosis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, real = RecordStore(tmp_path), module.diagnose

    def damaged(*arguments: Any, **options: Any) -> None:
        weights = store.folder / run_id(RUNS[0].to_dict()) / "best.safetensors"
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
        real(*arguments, **options)

    monkeypatch.setattr(module, "diagnose", damaged)
    told = do(store)
    assert [record.status for record in told] == ["failed", "done", "failed"]
    assert "the bytes of best.safetensors have changed" in str(told[0].failure)


def test_what_was_measured_of_other_models_is_measured_again(tmp_path: Path, trained: list[RunConfig]) -> None:
    """As when a run is repeated on a GPU, where its result differs."""
    store = RecordStore(tmp_path)
    do(store)
    run = store.read(run_id(RUNS[0].to_dict()))
    numbers = {**run.numbers, "soft_nll_best": run.numbers["soft_nll_best"] * 1.001}
    store.write(replace(run, numbers=numbers), replace=True)
    assert list(undiagnosed(PLANS, store)) == [RUNS[0]]
    assert unmeasured(PAIRS, store) == PAIRS
    assert to_train_again(undiagnosed(PLANS, store), PAIRS, store) == RUNS
    assert do(store) == [], "trained again, here to the same bits, they are what was measured"
    assert trained == [*RUNS, *RUNS]
    assert undiagnosed(PLANS, store) == {}


def train_differently(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, where a repeated run gives another result; here because it starts from other weights."""
    real = run.make_job
    monkeypatch.setattr(run, "make_job", lambda *arguments: replace(real(*arguments), seed=7))


def test_both_runs_of_a_pair_are_done_again_if_one_is(
    tmp_path: Path, trained: list[RunConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, plans = RecordStore(tmp_path), {RUNS[0]: Plan(ood=True), RUNS[1]: Plan({"best": ("full",)})}
    do(store, plans, outliers=[])
    train_differently(monkeypatch)
    assert [record.status for record in do(store, plans)] == ["done"] * 3
    assert trained == RUNS * 2
    assert (undiagnosed(plans, store, outliers=OTHERS), unmeasured(PAIRS, store)) == ({}, [])


def test_weights_are_needed_of_all_runs_paired_with_one_that_is_trained(tmp_path: Path) -> None:
    store, runs = RecordStore(tmp_path), [replace(RUNS[0], seed=seed) for seed in range(4)]
    pairs, ends = [(runs[0], runs[1]), (runs[2], runs[1])], {"plain_losses": np.ones(2)}
    records = [RunRecord(config=run.to_dict(), status="done", numbers={"soft_nll_best": 1.0}) for run in runs]
    for record in records:
        store.write(record)
    for pair in pairs:
        diagnoses_of(store).write(RunRecord(config=barrier_config(*pair), status="done", arrays=ends))

    assert to_train_again({}, pairs, store) == []
    assert to_train_again({runs[3]: Plan()}, pairs, store) == [runs[3]]
    assert to_train_again({runs[0]: Plan()}, pairs, store) == [runs[0], runs[1], runs[2]]
    (store.folder / records[0].run_id / "arrays.npz").write_bytes(b"")
    assert to_train_again({}, pairs, store) == [runs[1], runs[2]], "the first is done in any case, as it is damaged"
    store.write(records[1], {"best.safetensors": Path.touch}, replace=True)
    assert to_train_again({}, pairs, store) == []


@pytest.mark.parametrize("plan", [Plan({"last": ("full",)}), Plan(features=True)])
def test_a_diagnosis_without_a_loss_of_the_best_model_says_which_it_is_of(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, plans = RecordStore(tmp_path), {RUNS[0]: plan}
    (told,) = do(store, plans, pairs=[])
    assert told.numbers[OF_RUN] == store.read(run_id(RUNS[0].to_dict())).numbers["soft_nll_best"]
    assert undiagnosed(plans, store) == {}
    train_differently(monkeypatch)
    execute(RUNS[:1], MATERIAL, store, device="cpu", keeping=Keeping(again=frozenset(RUNS)))
    assert undiagnosed(plans, store) == plans


def test_diagnoses_that_do_not_name_their_run_are_matched_by_their_loss(tmp_path: Path) -> None:
    """Those of earlier releases."""
    store, plans = RecordStore(tmp_path), {RUNS[0]: Plan({"best": ("full",)}), RUNS[1]: Plan({"last": ("full",)})}
    for told in do(store, plans, pairs=[]):
        numbers = {name: value for name, value in told.numbers.items() if name != OF_RUN}
        diagnoses_of(store).write(replace(told, numbers=numbers), replace=True)
    assert undiagnosed(plans, store) == {}
    for record in list(store.records()):
        worse = {**record.numbers, "soft_nll_best": record.numbers["soft_nll_best"] * 1.001}
        store.write(replace(record, numbers=worse), replace=True)
    assert list(undiagnosed(plans, store)) == RUNS[:1]


def test_weights_without_a_checkpoint_of_the_plan_are_not_enough(tmp_path: Path, trained: list[RunConfig]) -> None:
    store = RecordStore(tmp_path)
    execute(RUNS, MATERIAL, store, device="cpu", keeping=Keeping(models=True))
    assert "common.safetensors" not in store.attached(run_id(RUNS[0].to_dict()))
    wanted = [run for run in RUNS if "common" in PLANS[run].curvature]
    assert to_train_again(PLANS, [], store) == wanted != []
    do(store)
    assert undiagnosed(PLANS, store) == {}


def test_missing_outliers_are_measured_once_they_are_there(tmp_path: Path, trained: list[RunConfig]) -> None:
    store = RecordStore(tmp_path)
    do(store, outliers=[])
    assert undiagnosed(PLANS, store) == {}
    assert list(undiagnosed(PLANS, store, outliers=OTHERS)) == [RUNS[0]]
    (told,) = do(store)
    assert "noise/energy/auroc" in told.numbers
    assert trained == RUNS * 2


def test_a_common_checkpoint_needs_its_epoch(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        do(RecordStore(tmp_path), common_epoch=None)
    assert str(error.value) == ('a plan for the checkpoint "common" needs its epoch, but got none. Pass common_epoch.')


def test_a_run_that_diverged_has_nothing_to_diagnose(tmp_path: Path) -> None:
    config = replace(RUNS[0], recipe=replace(RUNS[0].recipe, learning_rate=1e30))
    store = RecordStore(tmp_path)
    assert do(store, {config: Plan({"best": ("full",)}, ood=True, features=True)}) == []
    assert store.read(run_id(config.to_dict())).status == "failed"


def test_shared_items_are_the_same_for_every_seed_and_a_part() -> None:
    assert list(shared_items(MATERIAL)) == list(range(60))
    few = shared_items(MATERIAL, items=7)
    assert len(set(few)) == 7
    assert list(few) == sorted(few)
