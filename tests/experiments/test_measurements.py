"""Measurements of runs: made where the runs are trained, of the right weights and rows, whatever happens in between."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from small_runs import IMAGES, Here, feature_material
from votewise import diagnostics, metrics
from votewise._errors import InputError
from votewise.data import Outliers
from votewise.data.corruptions import blur_images
from votewise.data.dataset import Prepared
from votewise.diagnostics import (
    collect_outputs,
    curvature,
    gradcam_maps,
    high_disagreement_slices,
    ood_scores,
    ood_table,
)
from votewise.experiments import measure
from votewise.experiments.backends import Event, Finished, Tell
from votewise.experiments.backends.device import Device
from votewise.experiments.backends.processes import Processes
from votewise.experiments.execution import execute
from votewise.experiments.measure import (
    MeasuredRun,
    Measurement,
    Plan,
    common_measured_items,
    measure_run,
    measurement_store,
    missing_measurements,
    runs_to_repeat,
)
from votewise.experiments.run import (
    WEIGHTS,
    Run,
    digest_of_trained_weights,
    make_job,
    model_maker,
    softmax,
    split_items,
    train_with_weights,
)
from votewise.records import RecordStore, RunRecord
from votewise.training import TrainConfig

PIXELS = np.random.default_rng(0).integers(0, 256, size=(60, 16, 16, 3), dtype=np.uint8)
MATERIAL = feature_material(kind="images", inputs=PIXELS)
OTHERS = [Outliers("noise", PIXELS[::-1][:20].copy(), np.zeros(20, dtype=np.int64), "noise.npz")]
RUNS = [Run("toy", MATERIAL.checksum, method, 0, replace(IMAGES, epochs=4), "small-cnn") for method in ("sls", "soft")]
COMMON = 2  # three quarters of four epochs
OF_SLS = Measurement((RUNS[0],), Plan({"best": ("full", "top-20%"), "common": ("full",)}, ood=True, features=True))
OF_SOFT = Measurement((RUNS[1],), Plan({"last": ("full",)}))
BARRIER = Measurement((RUNS[0], RUNS[1]))
ALL = [OF_SLS, OF_SOFT, BARRIER]


class Apart(Here):
    """As the engine does: it trains, and leaves measuring to its caller."""

    def map(self, data: Prepared, tasks: Iterable[Any], tell: Tell, **options: Any) -> None:
        tasks = list(tasks)
        self.trained += [task.run for task in tasks if not isinstance(task, Measurement)]
        Device("cpu", engine=True).map(data, tasks, tell, **options)


@pytest.fixture(autouse=True)
def few_products(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setattr(measure, "_MOST", 12)


@pytest.fixture(params=[Here, Apart])
def backend(request: pytest.FixtureRequest) -> Here:
    """Measures where it trains, or afterwards."""
    return request.param()


def do(
    store: RecordStore, backend: Any, wanted: Sequence[Measurement] = ALL, runs: Sequence[Run] = RUNS, **options: Any
) -> list[RunRecord]:
    """Train and measure; the records of what was measured."""
    told: list[Event] = []
    settings: dict[str, Any] = {"outliers": OTHERS, "tell": told.append, **options}
    execute([*runs, *wanted], MATERIAL, store, backend=backend, **settings)
    return [event.record for event in told if isinstance(event, Finished) and isinstance(event.task, Measurement)]


def diagnosis(store: RecordStore, measurement: Measurement) -> RunRecord:
    return measurement_store(store).read(measurement.id)


def test_numbers_and_arrays_are_those_of_the_runs_models(tmp_path: Path, backend: Here) -> None:
    store = RecordStore(tmp_path)
    do(store, backend)
    record, weights = train_with_weights(RUNS[0], make_job(RUNS[0], MATERIAL), MATERIAL, keep_epoch=COMMON)
    rows = split_items(RUNS[0], MATERIAL)
    subject, people = MeasuredRun(RUNS[0], MATERIAL, "cpu"), MATERIAL.votes.probs[rows.held_out]
    inputs, best = subject.network_inputs(rows.held_out), subject.model(weights["best"])
    found = diagnosis(store, OF_SLS)
    assert (
        found.environment[WEIGHTS]
        == store.read(RUNS[0].id).environment[WEIGHTS]
        == digest_of_trained_weights(weights["best"])
    )

    few: dict[str, Any] = {"max_products": 12, "max_probes": 12}
    slices = {"top-20%": high_disagreement_slices(people)["top-20%"]}
    for name, measured in curvature(best, inputs, people, slices=slices, **few).items():
        assert found.numbers[f"best/{name}/largest"] == measured.largest
        assert found.numbers[f"best/{name}/trace_error"] == measured.trace_error
    assert found.numbers["best/full/loss"] == pytest.approx(record.numbers["soft_nll_best"], rel=1e-5)
    common = curvature(subject.model(weights["common"]), inputs, people, **few)["full"]
    assert found.numbers["common/full/trace"] == common.trace != found.numbers["best/full/trace"]

    outputs = collect_outputs(best, inputs)
    bank = collect_outputs(best, subject.network_inputs(rows.train)).features
    other = ood_scores(collect_outputs(best, subject.prepared_for_network(OTHERS[0].images)), bank, k=48)
    table = ood_table(ood_scores(outputs, bank, k=48), other)
    assert found.numbers["noise/knn/auroc"] == table["knn"].auroc
    assert found.numbers["noise/energy/fpr95"] == table["energy"].fpr95
    assert "noise/odin/auroc" in found.numbers

    np.testing.assert_array_equal(found.arrays["held_out_features"], outputs.features.half().numpy())
    np.testing.assert_allclose(found.arrays["held_out_square_length"], (outputs.features**2).sum(1), rtol=1e-5)
    shared = common_measured_items(MATERIAL)
    maps = gradcam_maps(
        best, best.stages[-1], subject.network_inputs(shared), MATERIAL.votes.probs[shared].argmax(axis=1)
    )
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

    subject = MeasuredRun(RUNS[0], MATERIAL, "cpu")
    states = {"best": model_maker(RUNS[0], MATERIAL)().state_dict()}
    plan = Plan({"best": ("full",)})
    expected, _ = measure_run(subject, states, plan)
    monkeypatch.setattr(diagnostics, "curvature", short_of_memory)
    found, _ = measure_run(subject, states, plan)
    assert len(held) == 1
    assert found["best/full/trace"] == pytest.approx(expected["best/full/trace"], rel=1e-4)


def test_the_barrier_between_two_runs_ends_at_their_losses(tmp_path: Path, backend: Here) -> None:
    store = RecordStore(tmp_path)
    do(store, backend)
    found = diagnosis(store, BARRIER)
    records = [store.read(run.id) for run in RUNS]
    ends = [record.numbers["soft_nll_best"] for record in records]
    np.testing.assert_allclose(found.arrays["plain_losses"][[0, -1]], ends, rtol=1e-5)
    assert found.numbers["plain/height"] >= 0
    assert len(found.arrays["positions"]) == 21
    assert found.environment[WEIGHTS].split() == [record.environment[WEIGHTS] for record in records]


def test_what_is_done_is_not_done_again_and_weights_go(tmp_path: Path, backend: Here) -> None:
    store = RecordStore(tmp_path)
    assert [record.status for record in do(store, backend)] == ["done"] * 3
    assert [store.attached(name) for name in store.ids()] == [(), ()]
    assert do(store, backend) == []
    assert backend.trained == RUNS


def test_in_other_processes_runs_are_measured_where_they_are_trained(tmp_path: Path) -> None:
    store, expected = RecordStore(tmp_path / "there"), RecordStore(tmp_path / "here")
    do(expected, Here(), [OF_SOFT, BARRIER])
    assert [record.status for record in do(store, Processes(2), [OF_SOFT, BARRIER])] == ["done"] * 2
    for measurement in (OF_SOFT, BARRIER):
        one, other = (diagnosis(where, measurement) for where in (store, expected))
        assert one.environment[WEIGHTS] == other.environment[WEIGHTS]
    one, other = (diagnosis(where, BARRIER).arrays["plain_losses"] for where in (store, expected))
    np.testing.assert_array_equal(one, other)


def test_weights_stay_where_they_are_wanted(tmp_path: Path, backend: Here) -> None:
    store = RecordStore(tmp_path)
    do(store, backend, keep_weights=True)
    names = ("best.safetensors", "common.safetensors", "last.safetensors")
    attached = [store.attached(run.id) for run in RUNS]
    assert attached[0] == names
    assert attached[1] in (names, (names[0], names[2])), "the engine keeps the common epoch of all runs of a wave"
    assert do(store, backend) == []
    assert [store.attached(run.id) for run in RUNS] == attached, "a call that needs none leaves them alone"


def test_runs_that_were_done_without_weights_are_done_again(tmp_path: Path, backend: Here) -> None:
    store = RecordStore(tmp_path)
    execute(RUNS, MATERIAL, store, backend=backend)
    assert missing_measurements(ALL, store) == ALL
    assert runs_to_repeat(ALL, ALL, [], store) == RUNS
    assert runs_to_repeat(ALL, ALL, RUNS, store) == [], "they are trained in any case"
    assert len(do(store, backend)) == 3
    assert backend.trained == RUNS * 2
    assert missing_measurements(ALL, store, outliers=OTHERS) == []


def test_an_interrupted_measurement_continues_from_the_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where measuring comes after training."""
    store, real, backend = RecordStore(tmp_path), measure.measure_run, Apart()

    def interrupted(subject: MeasuredRun, *rest: Any) -> Any:
        if subject.run == RUNS[1]:
            raise KeyboardInterrupt
        return real(subject, *rest)

    monkeypatch.setattr(measure, "measure_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        do(store, backend)
    monkeypatch.setattr(measure, "measure_run", real)
    assert len(do(store, backend)) == 2  # the second run's, and the barrier
    assert backend.trained == RUNS


def test_an_interrupted_call_leaves_no_weights_of_what_is_measured(tmp_path: Path) -> None:
    store = RecordStore(tmp_path)

    def interrupt(event: Event) -> None:
        if isinstance(event, Finished) and isinstance(event.task, Measurement):
            assert store.attached(RUNS[0].id)
            raise KeyboardInterrupt

    wanted = [Measurement((RUNS[0],), Plan({"last": ("full",)})), Measurement((RUNS[1],), Plan({"best": ("full",)}))]
    with pytest.raises(KeyboardInterrupt):
        do(store, Apart(), wanted, tell=interrupt)
    assert [bool(store.attached(run.id)) for run in RUNS] == [False, True]


def test_a_measurement_that_fails_says_why_and_the_others_continue(
    tmp_path: Path, backend: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise InputError("the loss must be finite", "got NaN", "Look for NaN in weights")

    with monkeypatch.context() as patched:
        patched.setitem(measure.MEASUREMENTS, "ood", refuse)
        store = RecordStore(tmp_path)
        told = do(store, backend)
    assert [record.status for record in told] == ["failed", "done", "done"]
    assert told[0].failure == "the loss must be finite, but got NaN. Look for NaN in weights."
    assert [bool(store.attached(run.id)) for run in RUNS] == [True, False]

    assert do(store, backend) == []
    assert [record.status for record in do(store, backend, retry_failed=True)] == ["done"]
    assert not any(store.attached(run.id) for run in RUNS)
    assert backend.trained == RUNS, "the weights were kept"


def test_a_barrier_that_could_not_be_measured_is_tried_again_if_asked(
    tmp_path: Path, backend: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError("an error of cuDNN")

    store = RecordStore(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(measure, "measure_barrier", refuse)
        assert [(record.status, record.failure) for record in do(store, backend)][2] == ("failed", "an error of cuDNN")
    assert do(store, backend) == []
    (told,) = do(store, backend, retry_failed=True)
    assert (told.status, "plain/height" in told.numbers) == ("done", True)
    assert backend.trained == RUNS, "the weights were kept"


def test_damaged_weights_fail_what_needs_them(tmp_path: Path) -> None:
    store, backend = RecordStore(tmp_path), Apart()

    def damage(event: Event) -> None:
        if isinstance(event, Finished) and event.task == RUNS[0]:
            weights = store.folder / RUNS[0].id / "best.safetensors"
            content = bytearray(weights.read_bytes())
            content[-1] ^= 1
            weights.write_bytes(content)

    do(store, backend, tell=damage)
    records = {measurement.id: diagnosis(store, measurement) for measurement in ALL}
    assert [records[measurement.id].status for measurement in ALL] == ["failed", "done", "failed"]
    assert "the bytes of best.safetensors have changed" in str(records[OF_SLS.id].failure)


def test_what_was_measured_of_other_weights_is_measured_again(tmp_path: Path, backend: Here) -> None:
    """As when a run is repeated on a GPU, where its result differs."""
    store = RecordStore(tmp_path)
    do(store, backend)
    other = store.read(RUNS[0].id)
    store.write(replace(other, environment={**other.environment, WEIGHTS: "0" * 64}), replace=True)
    assert missing_measurements(ALL, store) == [OF_SLS, BARRIER]
    assert runs_to_repeat([OF_SLS], ALL, [], store) == RUNS, "a barrier is of two that were there together"
    do(store, backend)
    assert backend.trained == RUNS * 2
    assert missing_measurements(ALL, store, outliers=OTHERS) == []


def test_both_runs_of_a_pair_are_done_again_if_one_is(
    tmp_path: Path, backend: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = RecordStore(tmp_path)
    wanted = [Measurement((RUNS[0],), Plan(ood=True)), Measurement((RUNS[1],), Plan({"best": ("full",)})), BARRIER]
    do(store, backend, wanted, outliers=[])
    # As on a GPU, where a repeated run gives another result; here because it starts from other weights.
    monkeypatch.setattr(
        "votewise.experiments.backends.tasks.make_job", lambda *a, **b: replace(make_job(*a, **b), seed=7)
    )
    assert [record.status for record in do(store, backend, wanted)] == ["done"] * 3
    assert backend.trained == RUNS * 2
    assert missing_measurements(wanted, store, outliers=OTHERS) == []


def test_weights_are_needed_of_all_runs_paired_with_one_that_is_trained(tmp_path: Path) -> None:
    store, runs = RecordStore(tmp_path), [replace(RUNS[0], seed=seed) for seed in range(4)]
    pairs = [Measurement((runs[0], runs[1])), Measurement((runs[2], runs[1]))]
    records = [RunRecord(config=run.to_dict(), status="done", numbers={"soft_nll_best": 1.0}) for run in runs]
    for record in records:
        store.write(record)
    for pair in pairs:
        measurement_store(store).write(RunRecord(config=pair.config, status="done"))

    assert missing_measurements(pairs, store) == runs_to_repeat([], pairs, [], store) == []
    alone = [Measurement((run,), Plan(ood=True)) for run in runs]
    assert runs_to_repeat([alone[3]], pairs, [], store) == [runs[3]]
    assert runs_to_repeat([alone[0]], pairs, [], store) == [runs[0], runs[1], runs[2]]
    assert runs_to_repeat([], pairs, [runs[0]], store) == [runs[1], runs[2]], "the first is done in any case"
    store.write(records[1], {"best.safetensors": Path.touch}, replace=True)
    assert runs_to_repeat([], pairs, [runs[0]], store) == []


def test_records_that_do_not_name_their_weights_are_believed(tmp_path: Path) -> None:
    store, pair = RecordStore(tmp_path), Measurement((RUNS[0], RUNS[1]))
    for run in RUNS:
        store.write(RunRecord(config=run.to_dict(), status="done"))
    measurement_store(store).write(RunRecord(config=pair.config, status="done", environment={WEIGHTS: "a b"}))
    assert missing_measurements([pair], store) == []


def test_weights_without_a_checkpoint_of_the_plan_are_not_enough(tmp_path: Path, backend: Here) -> None:
    store, rough = RecordStore(tmp_path), [replace(OF_SLS, plan=Plan({"last": ("full",)})), OF_SOFT]
    do(store, backend, rough, keep_weights=True)
    assert "common.safetensors" not in store.attached(RUNS[0].id)
    assert runs_to_repeat([OF_SLS, OF_SOFT], [], [], store) == RUNS[:1]
    do(store, backend, [OF_SLS, OF_SOFT])
    assert backend.trained == [*RUNS, RUNS[0]]
    assert missing_measurements([OF_SLS, OF_SOFT], store, outliers=OTHERS) == []


def test_missing_outliers_are_measured_once_they_are_there(tmp_path: Path, backend: Here) -> None:
    store = RecordStore(tmp_path)
    do(store, backend, outliers=[])
    assert missing_measurements(ALL, store) == []
    assert missing_measurements(ALL, store, outliers=OTHERS) == [OF_SLS]
    do(store, backend)
    assert "noise/energy/auroc" in diagnosis(store, OF_SLS).numbers
    assert backend.trained == RUNS * 2


def test_a_run_that_diverged_has_nothing_to_measure(tmp_path: Path, backend: Here) -> None:
    config = replace(RUNS[0], recipe=replace(RUNS[0].recipe, learning_rate=1e30))
    store, plan = RecordStore(tmp_path), Plan({"best": ("full",)}, ood=True, features=True)
    assert do(store, backend, [Measurement((config,), plan)], runs=[]) == []
    assert store.read(config.id).status == "failed"


def test_shared_items_are_the_same_for_every_seed_and_a_part() -> None:
    assert list(common_measured_items(MATERIAL)) == list(range(60))
    few = common_measured_items(MATERIAL, items=7)
    assert len(set(few)) == 7
    assert list(few) == sorted(few)


def test_robustness_is_that_of_the_runs_best_model_on_corrupted_held_out_images(tmp_path: Path, backend: Here) -> None:
    store, wanted = RecordStore(tmp_path), Measurement((RUNS[0],), Plan(others=("robustness",)))
    do(store, backend, [wanted], RUNS[:1])
    record, weights = train_with_weights(RUNS[0], make_job(RUNS[0], MATERIAL), MATERIAL)
    numbers = diagnosis(store, wanted).numbers
    assert len(numbers) == 4 * 3 * 3
    rows = record.arrays["held_out"]
    subject = MeasuredRun(RUNS[0], MATERIAL, "cpu")
    model = subject.model(weights["best"])
    with torch.no_grad():
        plain, blurred = (
            softmax(model(subject.prepared_for_network(images)).numpy())
            for images in (PIXELS[rows], blur_images(PIXELS[rows], 1.5))
        )
    people = MATERIAL.votes.probs[rows]
    assert metrics.soft_nll(people, plain) == pytest.approx(record.numbers["soft_nll_best"], rel=1e-5)
    assert numbers["blur/3/soft_nll"] == pytest.approx(metrics.soft_nll(people, blurred), rel=1e-5)
    assert numbers["blur/3/accuracy"] == pytest.approx(metrics.accuracy(people.argmax(axis=1), blurred))
    assert numbers["blur/3/soft_nll"] != numbers["blur/1/soft_nll"]


def test_robustness_of_a_model_of_features(tmp_path: Path) -> None:
    material = feature_material()
    run = Run("toy", material.checksum, "soft", 0, replace(TrainConfig(epochs=1), batch_size=16), "mlp")
    wanted = Measurement((run,), Plan(others=("robustness",)))
    execute([run, wanted], material, RecordStore(tmp_path), backend=Here())
    assert diagnosis(RecordStore(tmp_path), wanted).failure == (
        "robustness is measured on images, but got features. Leave it out of the plan."
    )
