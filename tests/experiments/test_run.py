"""Runs from votes to record, and suites of them: only missing runs are done, and finished ones are kept."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_runs import Deadly, feature_material, feature_run
from votewise import SLS, Soft, Votes, metrics
from votewise._errors import InputError, VotewiseError
from votewise.experiments import estimate, run
from votewise.experiments.catalog import METHODS
from votewise.experiments.estimate import expected_seconds, training_images
from votewise.experiments.execution import Keeping, Listener, execute, missing_runs
from votewise.experiments.material import Material
from votewise.experiments.run import (
    RunConfig,
    choose_device,
    make_job,
    make_record,
    softmax,
    split_items,
    train_run,
    train_run_with_models,
)
from votewise.records import RecordStore, RunRecord, differences, run_id, same_result
from votewise.training import TrainConfig, train_job

MATERIAL = feature_material()


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[RunConfig]:
    """Train in this process instead of others, which take seconds to start; what was trained, in order."""
    trained: list[RunConfig] = []

    def in_this_process(
        configs: Sequence[RunConfig], material: Material, _jobs: int | None, _listener: Listener, keeper: Any
    ) -> None:
        for config in configs:
            trained.append(config)
            keeper.keep(config, train_run(config, material), {})

    monkeypatch.setattr("votewise.experiments.execution._on_cores", in_this_process)
    return trained


# -- names --------------------------------------------------------------------------------------------------------


def test_every_part_of_a_config_changes_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = TrainConfig(mean=(0.5,), std=(0.5,))
    config = RunConfig("data", "sum", "soft", 0, recipe, "mlp")
    changed = {
        "dataset": "other", "data": "other", "method": "sls", "seed": 1, "model": "ngram", "votes": 5, "hold": 2,
        "held_out": 0.3, "selected": 0.1,
    }  # fmt: skip
    recipes = {
        "epochs": 21, "batch_size": 255, "optimizer": "sgd", "learning_rate": 0.02, "weight_decay": 2e-4,
        "momentum": 0.8, "nesterov": True, "decayed": "weights", "schedule": "step", "crop": 1, "fill": "mean",
        "flip": True, "mean": (0.4,), "std": (0.4,), "mixup": 1.0, "precision": "bf16",
    }  # fmt: skip
    assert set(changed) | {"recipe"} == {field.name for field in fields(RunConfig)}
    assert set(recipes) == {field.name for field in fields(TrainConfig)}
    variants = [config, *(replace(config, **{name: value}) for name, value in changed.items())]
    variants += [replace(config, recipe=replace(recipe, **{name: value})) for name, value in recipes.items()]
    ids = [run_id(variant.to_dict()) for variant in variants]
    monkeypatch.setattr(run, "RUN_VERSION", run.RUN_VERSION + 1)
    ids.append(run_id(config.to_dict()))
    assert len(set(ids)) == len(ids) == 1 + 9 + 16 + 1


# -- what a run is made of ----------------------------------------------------------------------------------------


def labelled_material(per_class: int = 50, n_classes: int = 4) -> Material:
    """Items in no order of their labels, on which the crowd often errs."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(n_classes), per_class))
    counts = np.array([rng.multinomial(10, np.where(np.arange(n_classes) == label, 0.7, 0.1)) for label in labels])
    return feature_material(
        inputs=rng.normal(size=(len(labels), 4)).astype(np.float32), votes=Votes.from_counts(counts), labels=labels
    )


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("selected", [0.0, 0.1])
def test_a_split_has_its_share_of_every_label(seed: int, selected: float) -> None:
    material = labelled_material()
    assert (material.hard_labels != material.votes.probs.argmax(axis=1)).any()
    split = split_items(feature_run(material, seed=seed, selected=selected), material)
    chosen = [5] * 4 if selected else [0] * 4
    for rows, expected in ((split.held_out, [10] * 4), (split.selection, chosen)):
        assert np.bincount(material.hard_labels[rows], minlength=4).tolist() == expected
    everything = np.concatenate([split.train, split.selection, split.held_out])
    assert sorted(everything.tolist()) == list(range(200))


def test_the_split_is_the_seeds_alone() -> None:
    material = labelled_material()
    alike = [
        feature_run(material, method, votes=votes, hold=hold, recipe__epochs=epochs)
        for method in (*METHODS, "mixup")
        for votes in (None, 5)
        for hold, epochs in ((1, 2), (3, 9))
    ]
    assert len({split_items(config, material).held_out.tobytes() for config in alike}) == 1
    others = [feature_run(material, seed=seed) for seed in range(10)]
    assert len({split_items(config, material).held_out.tobytes() for config in others}) == 10
    # Which items are held out does not depend on whether others choose the epoch.
    choosing = split_items(feature_run(material, selected=0.1), material)
    assert (choosing.held_out == split_items(alike[0], material).held_out).all()


def test_a_job_says_what_the_config_says() -> None:
    material = labelled_material()
    config = feature_run(material, "soft", seed=3, selected=0.1)
    job, split = make_job(config, material), split_items(config, material)
    assert job.seed == 3
    assert (job.train == split.train).all()
    assert (job.held_out == np.concatenate([split.selection, split.held_out])).all()
    np.testing.assert_array_equal(job.selection, material.votes.probs[split.selection])
    np.testing.assert_array_equal(job.delivery.targets(0), np.float32(material.votes.probs[split.train]))
    on_held_out = make_job(replace(config, selected=0.0), material)
    np.testing.assert_array_equal(on_held_out.selection, material.votes.probs[on_held_out.held_out])


def drawn_counts(material: Material, method: str, seed: int, k: int) -> np.ndarray:
    """The votes that a run's delivery was made of, as its targets tell."""
    delivery = make_job(feature_run(material, method, seed=seed, votes=k), material).delivery
    shares = sum(delivery.targets(epoch).astype(np.float64) for epoch in range(k))
    return np.rint(shares).astype(int)


@pytest.mark.parametrize("k", [5, 10])
def test_all_methods_of_a_sweep_have_the_same_draw(k: int) -> None:
    material = labelled_material()
    for seed in (0, 1):
        counts = drawn_counts(material, "soft", seed, k)
        assert (counts.sum(axis=1) == k).all()
        assert (drawn_counts(material, "multipass", seed, k) == counts).all()
        assert (drawn_counts(material, "deterministic-control", seed, k) == counts).all()
        job = make_job(feature_run(material, "sls", seed=seed, votes=k), material)
        expected = SLS(Votes.from_counts(counts, item_ids=material.votes.item_ids[job.train]), seed=seed)
        assert all((job.delivery.targets(epoch) == expected.targets(epoch)).all() for epoch in range(5))
    assert (drawn_counts(material, "soft", 0, k) != drawn_counts(material, "soft", 1, k)).any()


def test_the_draws_of_a_sweep_are_independent() -> None:
    """The errors of two draws of one seed are uncorrelated; a nested draw's would be by half."""
    material = labelled_material(per_class=2000)
    rows = split_items(feature_run(material), material).train
    errors = [drawn_counts(material, "soft", 0, k) / k - material.votes.probs[rows] for k in (5, 10)]
    correlation = np.corrcoef(errors[0].ravel(), errors[1].ravel())[0, 1]
    assert abs(correlation) < 5 / np.sqrt(len(rows) * 3)


def test_held_out_items_are_scored_on_all_their_votes() -> None:
    few, all_votes = (train_run(feature_run(MATERIAL, "soft", votes=k), MATERIAL) for k in (2, None))
    assert (few.arrays["held_out"] == all_votes.arrays["held_out"]).all()
    for record in (few, all_votes):
        people = MATERIAL.votes.probs[record.arrays["held_out"]]
        nll = metrics.soft_nll(people, softmax(record.arrays["best_logits"]))
        assert record.numbers["soft_nll_best"] == nll


# -- records ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("selected", [0.0, 0.2])
def test_a_record_holds_what_the_model_said(selected: float) -> None:
    import torch

    config = feature_run(MATERIAL, seed=4, selected=selected, recipe__epochs=5)
    record = train_run(config, MATERIAL)
    split = split_items(config, MATERIAL)
    outcome = train_job(run.model_maker(config, MATERIAL), torch.tensor(MATERIAL.inputs), make_job(config, MATERIAL), config.recipe)  # fmt: skip
    first, held_out = len(split.selection), split.held_out
    assert (record.arrays["held_out"] == held_out).all()
    np.testing.assert_array_equal(record.arrays["best_logits"], outcome.best_logits[first:])
    np.testing.assert_array_equal(record.arrays["last_logits"], outcome.last_logits[first:])
    assert record.numbers["best_epoch"] == outcome.best_epoch + 1
    people, labels = MATERIAL.votes.probs[held_out], MATERIAL.hard_labels[held_out]
    for at in ("best", "last"):
        probs = softmax(record.arrays[f"{at}_logits"])
        for name, expected in (
            ("soft_nll", metrics.soft_nll(people, probs)),
            ("kl", metrics.kl(people, probs)),
            ("accuracy", metrics.accuracy(labels, probs)),
            ("ece", metrics.ece(labels, probs)),
            ("entropy_correlation", metrics.entropy_correlation(people, probs)),
        ):
            assert record.numbers[f"{name}_{at}"] == expected, name
    assert {len(curve) for curve in record.curves.values()} == {5}
    assert record.curves["soft_nll"][-1] == pytest.approx(record.numbers["soft_nll_last"])
    choosing = record.curves["selection_nll" if selected else "soft_nll"]
    assert record.numbers["best_epoch"] == choosing.argmin() + 1
    np.testing.assert_array_equal(record.curves["train_loss"], outcome.losses)
    assert record.config == config.to_dict()
    assert record.environment["device_kind"] == "cpu"
    assert record.timing["at_once"] == 1


def test_a_run_does_not_depend_on_what_came_before() -> None:
    import torch

    record = train_run(feature_run(MATERIAL), MATERIAL)
    torch.manual_seed(99)
    train_run(feature_run(MATERIAL, seed=5), MATERIAL)
    assert differences(record, train_run(feature_run(MATERIAL), MATERIAL)) == []


def test_a_run_that_fails_says_why() -> None:
    record = train_run(feature_run(MATERIAL, recipe__learning_rate=1e30, recipe__optimizer="sgd"), MATERIAL)
    assert record.status == "failed"
    assert record.failure == (
        "the training loss became NaN or infinite in epoch 1. Lower the learning rate, or check the inputs."
    )
    assert record.arrays == {}
    assert record.timing["seconds"] > 0


# -- suites -------------------------------------------------------------------------------------------------------


def suite(n: int = 4) -> list[RunConfig]:
    return [feature_run(MATERIAL, method, seed) for seed in range(n // 2) for method in ("soft", "sls")]


FAILING = feature_run(MATERIAL, "majority", recipe__learning_rate=1e30, recipe__optimizer="sgd")


def test_only_what_is_missing_is_done(here: list[RunConfig], tmp_path: Path) -> None:
    store, told = RecordStore(tmp_path / "runs"), []
    runs = suite(4)
    execute(runs[:1], MATERIAL, store, device="cpu")
    assert missing_runs(runs, store) == runs[1:]
    records = execute([*runs, *runs], MATERIAL, store, device="cpu", listener=Listener(on_done=told.append))
    assert here == [*runs[:1], *runs[1:]]  # each once
    assert [record.config for record in records] == [config.to_dict() for config in [*runs, *runs]]
    assert [record.config for record in told] == [config.to_dict() for config in runs[1:]]
    again = execute(runs, MATERIAL, store, device="cpu")
    assert len(here) == 4
    assert all(same_result(one, other) for one, other in zip(records, again, strict=False))
    assert missing_runs(runs, store) == []
    assert execute([], MATERIAL, store) == []


def test_without_a_store_nothing_is_kept(here: list[RunConfig]) -> None:
    runs = suite(2)
    assert missing_runs([*runs, runs[0]], None) == runs
    records = execute([*runs, runs[0]], MATERIAL, device="cpu")
    assert len(here) == 2
    assert records[0] is records[2]


def test_failed_runs_are_done_again_only_if_asked(here: list[RunConfig], tmp_path: Path) -> None:
    store, runs = RecordStore(tmp_path / "runs"), [FAILING, *suite(2)]
    records = execute(runs, MATERIAL, store, device="cpu")
    assert [record.status for record in records] == ["failed", "done", "done"]
    assert execute(runs, MATERIAL, store, device="cpu")[0].failure == records[0].failure
    assert len(here) == 3
    assert missing_runs(runs, store, retry_failed=True) == [FAILING]
    execute(runs, MATERIAL, store, device="cpu", retry_failed=True)
    assert here[3:] == [FAILING]
    assert store.read(run_id(FAILING.to_dict())).status == "failed"


@pytest.mark.usefixtures("here")
def test_a_finished_record_stands_if_the_run_fails_when_it_is_done_anew(tmp_path: Path) -> None:
    runs = [FAILING, *suite(2)]
    store, keeping = RecordStore(tmp_path / "runs"), Keeping(again=frozenset(runs))
    before = [RunRecord(config=run.to_dict(), status="done", numbers={"soft_nll_best": 9.0}) for run in runs]
    for record in before:
        store.write(record)
    told: list[RunRecord] = []
    after = execute(runs, MATERIAL, store, device="cpu", keeping=keeping, listener=Listener(on_done=told.append))
    assert [record.status for record in told] == ["failed", "done", "done"]
    assert [same_result(one, other) for one, other in zip(before, after, strict=True)] == [True, False, False]
    assert [record.status for record in store.records()] == ["done"] * 3


@pytest.mark.parametrize("part", ["arrays.npz", "record.json"])
def test_a_damaged_record_is_done_again_and_kept_aside(here: list[RunConfig], tmp_path: Path, part: str) -> None:
    store, runs = RecordStore(tmp_path / "runs"), suite(2)
    before = execute(runs, MATERIAL, store, device="cpu")
    file = store.folder / before[0].run_id / part
    damaged = file.read_bytes()[:-7]
    file.write_bytes(damaged)
    assert missing_runs(runs, store) == runs[:1]
    after = execute(runs, MATERIAL, store, device="cpu")
    assert here == [*runs, runs[0]]
    assert all(same_result(one, other) for one, other in zip(before, after, strict=True))
    assert store.faults() == []
    (aside,) = store.folder.glob(".corrupt-*")
    assert (aside / part).read_bytes() == damaged


def test_a_full_disk(here: list[RunConfig], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other runs continue and are kept; a note tells of the error at once, and it is raised at the end."""
    store, runs, notes, told = RecordStore(tmp_path / "runs"), suite(4), [], []
    write = store.write

    def refuse(record: RunRecord, *rest: Any, **options: Any) -> None:
        if record.config == runs[1].to_dict():
            raise OSError(errno.ENOSPC, "No space left on device")
        write(record, *rest, **options)

    monkeypatch.setattr(store, "write", refuse)
    with pytest.raises(OSError, match="No space left on device") as error:
        execute(runs, MATERIAL, store, device="cpu", listener=Listener(on_note=notes.append, on_done=told.append))
    assert error.value.errno == errno.ENOSPC
    assert notes == ["the record of sls, seed 0, was not written: [Errno 28] No space left on device."]
    assert len(told) == 4
    monkeypatch.setattr(store, "write", write)
    assert missing_runs(runs, store) == [runs[1]]
    execute(runs, MATERIAL, store, device="cpu")
    assert here[4:] == [runs[1]]


def test_in_processes_of_one_or_two_the_results_are_the_same(tmp_path: Path) -> None:
    """Real processes; a failing run among the others; the count of images is whole."""
    runs = [*suite(4), FAILING]
    here = [train_run(config, MATERIAL) for config in runs]
    for jobs in (1, 2):
        store, images, told = RecordStore(tmp_path / str(jobs)), [], []
        listener = Listener(on_images=images.append, on_done=told.append)
        records = execute(runs, MATERIAL, store, device="cpu", jobs=jobs, listener=listener)
        assert [differences(one, other) for one, other in zip(records, here, strict=True)] == [[]] * 5
        assert [store.read(record.run_id).status for record in records] == ["done"] * 4 + ["failed"]
        assert sorted(record.run_id for record in told) == sorted(record.run_id for record in records)
        assert sum(images) == sum(training_images(config, MATERIAL) for config in runs[:4])


def test_a_process_that_the_system_ends(tmp_path: Path) -> None:
    store, runs = RecordStore(tmp_path / "runs"), suite(4)
    deadly = Deadly(**{field.name: getattr(runs[0], field.name) for field in fields(RunConfig)} | {"seed": 77})
    with pytest.raises(VotewiseError) as error:
        execute([*runs[:2], deadly, *runs[2:]], MATERIAL, store, device="cpu", jobs=1)
    assert str(error.value) == (
        "a training process ended unexpectedly: the system ended it, probably for lack of memory, or the calling script "
        "does not do its work under if __name__ == '__main__':. Finished runs are kept; add that line, or call again with "
        "fewer jobs."
    )
    assert missing_runs(runs, store) == runs[2:]
    assert store.faults() == []


# -- devices ------------------------------------------------------------------------------------------------------


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    for there, found in ((True, "cuda"), (False, "cpu")):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert choose_device("auto") == found
        assert choose_device("cpu") == "cpu"
    with pytest.raises(InputError) as error:
        choose_device("cuda")
    assert str(error.value) == "the device must be available, but torch finds no GPU. Pass --device cpu, or auto."
    with pytest.raises(InputError) as error:
        choose_device("gpu")
    assert str(error.value) == "the device must be one of auto, cpu, cuda, but got 'gpu'. Did you mean 'cpu'?"


@pytest.fixture
def pretended_gpu(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The path of runs on a GPU, taken on the CPU; the sizes of calls of the engine and how many runs at once."""
    from votewise import training
    from votewise.training import train_jobs

    calls: list[tuple[int, int]] = []

    def on_cpu(make: Any, inputs: Any, jobs: Any, config: TrainConfig, **options: Any) -> Any:
        calls.append((len(jobs), options["at_once"]))
        return train_jobs(make, inputs, jobs, config, device="cpu", **options)

    real: Callable[..., Any] = train_run_with_models
    monkeypatch.setattr(training, "train_jobs", on_cpu)
    monkeypatch.setattr(
        "votewise.experiments.execution.train_run_with_models",
        lambda *args, **options: real(*args, **{**options, "device": "cpu"}),
    )
    monkeypatch.setattr("votewise.experiments.execution.choose_device", lambda _: "cuda")
    monkeypatch.setattr(run, "environment", lambda device: {"device_kind": device})
    return calls


def image_material() -> Material:
    rng = np.random.default_rng(5)
    votes = Votes.from_counts(rng.multinomial(6, [0.5, 0.3, 0.2], size=60))
    pixels = rng.integers(0, 256, size=(60, 8, 8, 3), dtype=np.uint8)
    return feature_material(kind="images", inputs=pixels, votes=votes)


def test_on_a_gpu_runs_that_are_alike_go_together(pretended_gpu: list[tuple[int, int]], tmp_path: Path) -> None:
    material, images = image_material(), []
    plain = TrainConfig(epochs=2, batch_size=16, mean=(0.5,) * 3, std=(0.25,) * 3, crop=1)
    runs = [
        replace(feature_run(material, method, seed), recipe=recipe, model="small-cnn")
        for seed in (0, 1)
        for method, recipe in (("soft", plain), ("sls", plain), ("mixup", replace(plain, mixup=1.0)))
    ]
    store = RecordStore(tmp_path / "runs")
    records = execute(runs, material, store, jobs=3, listener=Listener(on_images=images.append))
    assert pretended_gpu == [(4, 3), (2, 3)]
    for config, record in zip(runs, records, strict=True):
        assert differences(record, train_run(config, material)) == []
        assert same_result(store.read(record.run_id), record)
    assert sum(images) == sum(training_images(config, material) for config in runs)
    assert {record.timing["at_once"] for record in records} <= {1.0, 2.0, 3.0}


def test_on_a_gpu_models_with_dropout_go_one_by_one(pretended_gpu: list[tuple[int, int]]) -> None:
    """In the engine all would draw from one generator, and no run could be repeated."""
    runs, images = suite(2), []
    records = execute(runs, MATERIAL, listener=Listener(on_images=images.append))
    assert pretended_gpu == []
    assert [differences(record, train_run(config, MATERIAL)) for config, record in zip(runs, records, strict=True)] == [[], []]  # fmt: skip
    assert sum(images) == sum(training_images(config, MATERIAL) for config in runs)


# -- how long -----------------------------------------------------------------------------------------------------


def test_the_expected_time_is_that_of_finished_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, runs = RecordStore(tmp_path / "runs"), suite(6)
    outcome = train_run(runs[0], MATERIAL)
    for config, seconds in zip(runs[:3], (10.0, 20.0, 90.0), strict=True):
        record = replace(outcome, config=config.to_dict(), timing={"seconds": seconds, "at_once": 2.0})
        store.write(replace(record, environment={"device_kind": "cuda"}))
    monkeypatch.setattr(estimate, "_measured_rate", lambda *_: pytest.fail("known runs say how long"))
    # Two at once in the median of 20 seconds: ten seconds a run.
    assert expected_seconds(runs[3:], MATERIAL, store, device="cuda", jobs=None) == pytest.approx(3 * 10)
    assert expected_seconds([], MATERIAL, store, device="cuda", jobs=None) == 0


def test_the_expected_time_is_measured_where_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, runs = RecordStore(tmp_path / "runs"), suite(4)
    monkeypatch.setattr(estimate, "_measured_rate", lambda *_: 100.0)
    images = 4 * training_images(runs[0], MATERIAL)
    assert training_images(runs[0], MATERIAL) == 2 * len(split_items(runs[0], MATERIAL).train)
    assert expected_seconds(runs, MATERIAL, store, device="cpu", jobs=1) == images / 100
    assert expected_seconds(runs, MATERIAL, None, device="cpu", jobs=2) == images / 200
    assert expected_seconds(runs, MATERIAL, None, device="cpu", jobs=64) == images / 400
    monkeypatch.undo()
    assert 0 < expected_seconds(runs, MATERIAL, store, device="cpu", jobs=1) < 60


def test_soft_of_a_job_is_soft_of_its_votes() -> None:
    """Guards the tests above: a delivery of other items would show."""
    config = feature_run(MATERIAL, "soft")
    job = make_job(config, MATERIAL)
    assert (job.delivery.targets(3) == Soft(MATERIAL.votes.take(job.train)).targets(3)).all()
    record = make_record(
        config,
        MATERIAL,
        train_job(run.model_maker(config, MATERIAL), _tensor(MATERIAL), job, config.recipe),
        seconds=1.0,
        device="cpu",
        at_once=3,
    )
    assert record.timing == {"seconds": 1.0, "at_once": 3.0}


def _tensor(material: Material) -> Any:
    import torch

    return torch.tensor(material.inputs)


def test_the_images_of_runs_of_different_sizes_are_counted_each(tmp_path: Path) -> None:
    """As they are counted in the processes: each run by its own number of training items."""
    runs, images = [feature_run(MATERIAL, held_out=share) for share in (0.2, 0.5)], []
    execute(runs, MATERIAL, device="cpu", jobs=1, listener=Listener(on_images=images.append))
    assert sum(images) == sum(training_images(config, MATERIAL) for config in runs)
    assert len({training_images(config, MATERIAL) for config in runs}) == 2


def test_a_config_survives_being_stored() -> None:
    for config in (feature_run(MATERIAL), feature_run(MATERIAL, votes=3, hold=2, selected=0.1, recipe__mixup=0.5)):
        record = RunRecord(config=config.to_dict(), status="done")
        assert RunConfig.from_dict(record.config) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sed": 1}, "a name in the config of a run must be one of dataset, data, method, seed, recipe, model, votes, hold, held_out, selected, version, but got 'sed'. Did you mean 'seed'?"),
        ({"version": 7}, "the run must be of version 1, but got 7. Use the votewise that made it."),
        ({"recipe": {"epoch": 1}}, "Did you mean 'epochs'?"),
    ],
)  # fmt: skip
def test_stored_configs_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        RunConfig.from_dict({**feature_run(MATERIAL).to_dict(), **changes})
    assert str(error.value).endswith(message)


def test_a_stored_config_must_be_complete() -> None:
    stored = feature_run(MATERIAL).to_dict()
    del stored["seed"], stored["version"]
    with pytest.raises(InputError) as error:
        RunConfig.from_dict(stored)
    assert str(error.value) == (
        "the config of a run must be complete, but it lacks 'seed', 'version'. Use what to_dict returned."
    )


def test_softmax_is_exact_and_takes_large_logits() -> None:
    logits = np.random.default_rng(0).normal(scale=30, size=(200, 7)).astype(np.float32)
    exact = logits.astype(np.float64)
    expected = np.exp(exact - exact.max(axis=1, keepdims=True))
    np.testing.assert_array_equal(softmax(logits), expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(softmax([[1e4, 0.0]]), [[1.0, 0.0]])
