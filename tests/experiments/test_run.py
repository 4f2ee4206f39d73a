"""Runs from votes to record: what identifies them, their split, their labels, what is kept of them."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from small_runs import CROSS_FITTED, feature_material, feature_run
from votewise import SLS, Soft, Votes, metrics
from votewise._errors import InputError
from votewise.data.dataset import Prepared
from votewise.delivery.methods import METHODS
from votewise.experiments import run
from votewise.experiments.run import (
    Run,
    choose_device,
    helpers,
    make_job,
    out_of_fold,
    record_training,
    softmax,
    split_items,
    split_runs,
    train_run,
)
from votewise.records import RunRecord, record_differences
from votewise.training import TrainConfig, train_job

MATERIAL = feature_material()


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


# -- names --------------------------------------------------------------------------------------------------------


def test_every_part_of_a_config_changes_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = TrainConfig(mean=(0.5,), std=(0.5,), schedule="step")
    config = Run("data", "sum", "soft", 0, recipe, "mlp")
    changed = {
        "dataset": "other", "data": "other", "method": "sls", "seed": 1, "model": "ngram", "votes": 5,
        "held_out": 0.3, "selected": 0.1, "folds": 5, "helper": (0, 5), "blind": True,
    }  # fmt: skip
    recipes = {
        "epochs": 21, "batch_size": 255, "optimizer": "sgd", "learning_rate": 0.02, "weight_decay": 2e-4,
        "momentum": 0.8, "nesterov": True, "decayed": "weights", "schedule": "epoch", "crop": 1, "fill": "mean",
        "flip": True, "mean": (0.4,), "std": (0.4,), "mixup": 1.0, "precision": "bf16", "warm_up": 0.1, "micro_batch": 8,
    }  # fmt: skip
    assert set(changed) | {"recipe", "options"} == {field.name for field in fields(Run)}
    assert set(recipes) == {field.name for field in fields(TrainConfig)}
    variants = [config, *(replace(config, **{name: value}) for name, value in changed.items())]
    variants += [replace(config, recipe=replace(recipe, **{name: value})) for name, value in recipes.items()]
    sls = Run("data", "sum", "sls", 0, recipe, "mlp")
    variants += [replace(sls, options=(("hold", hold),)) for hold in (2, 5)]
    variants += [replace(config, method="soft-smoothed", options=(("epsilon", share),)) for share in (0.2, 0.3)]
    ids = [variant.id for variant in variants]
    monkeypatch.setattr(run, "RUN_VERSION", run.RUN_VERSION + 1)
    ids.append(config.id)
    assert len(set(ids)) == len(ids) == 1 + 11 + 18 + 4 + 1


def test_what_is_newer_than_stored_runs_is_written_only_if_set() -> None:
    old = {
        "dataset", "data", "method", "seed", "recipe", "model", "votes", "hold", "held_out", "selected", "version"
    }  # fmt: skip
    plain = feature_run(MATERIAL)
    assert set(plain.to_dict()) == old
    held = replace(plain, options=(("hold", 4),))
    assert (set(held.to_dict()), held.to_dict()["hold"], held.label) == (old, 4, "sls:hold=4")
    smoothed = replace(plain, method="soft-smoothed", folds=4, helper=(1, 3), options=(("epsilon", 0.2),))
    newer = {"folds": 4, "helper": [1, 3], "options": {"epsilon": 0.2}}
    assert {name: value for name, value in smoothed.to_dict().items() if name not in old} == newer


def test_equal_runs_are_equal_however_they_are_written() -> None:
    assert replace(feature_run(MATERIAL), options=(("hold", 1),)) == feature_run(MATERIAL)
    assert feature_run(MATERIAL, folds=4).held_out == 0.25
    with pytest.raises(InputError, match="an option of sls must be one of hold, but got 'hod'"):
        replace(feature_run(MATERIAL), options=(("hod", 2),))


# -- what a run is made of ----------------------------------------------------------------------------------------


def labelled_material(per_class: int = 50, n_classes: int = 4) -> Prepared:
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
        feature_run(material, method, votes=votes, recipe__epochs=epochs)
        for method in (*METHODS, "mixup")
        for votes in (None, 5)
        for epochs in (2, 9)
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


def drawn_counts(material: Prepared, method: str, seed: int, k: int) -> np.ndarray:
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


@pytest.mark.parametrize("n", [3, 5])
def test_n_seeds_hold_out_every_item_once(n: int) -> None:
    material = labelled_material()
    runs = [feature_run(material, seed=seed, folds=n) for seed in range(2 * n)]
    splits = [split_items(each, material) for each in runs]
    for turn in (splits[:n], splits[n:]):
        assert sorted(np.concatenate([split.held_out for split in turn]).tolist()) == list(range(200))
        sizes = [len(split.held_out) for split in turn]
        assert max(sizes) - min(sizes) <= 1
    assert {split.held_out.tobytes() for split in splits[:n]} != {split.held_out.tobytes() for split in splits[n:]}
    for split in splits:
        labels = np.bincount(material.hard_labels[split.held_out], minlength=4)
        assert np.ptp(labels) <= 1
        assert sorted([*split.train, *split.held_out]) == list(range(200))


def test_the_best_epoch_is_chosen_on_items_of_their_own_with_folds_too() -> None:
    material = labelled_material()
    plain, choosing = (split_items(feature_run(material, folds=5, selected=share), material) for share in (0.0, 0.1))
    assert (plain.held_out == choosing.held_out).all()
    assert len(choosing.selection) == 20
    assert sorted([*choosing.train, *choosing.selection]) == sorted(plain.train)


def test_runs_of_one_split_share_it() -> None:
    runs = [feature_run(MATERIAL, method, seed) for seed in (0, 1) for method in ("soft", "sls")]
    splits = split_runs(runs, MATERIAL)
    assert splits[runs[0]] is splits[runs[1]] is not splits[runs[2]]
    for each in runs:
        assert (splits[each].held_out == split_items(each, MATERIAL).held_out).all()


def test_a_run_without_held_out_items_trains_on_all() -> None:
    record = train_run(feature_run(MATERIAL, held_out=0.0), MATERIAL)
    assert (record.status, len(record.arrays["held_out"])) == ("done", 0)
    assert len(record.arrays["train_soft_nll"]) == MATERIAL.votes.n_items
    assert (record.numbers, set(record.curves)) == ({"best_epoch": 2.0}, {"train_loss"})


# -- helper runs --------------------------------------------------------------------------------------------------


@pytest.fixture
def cross_fitted(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(METHODS, "cross-fitted", CROSS_FITTED)
    return "cross-fitted"


def test_most_methods_need_no_helper() -> None:
    assert [name for name in METHODS if helpers(feature_run(MATERIAL, name))] == ["multipass-crossfit"]
    assert helpers(feature_run(MATERIAL, "mixup")) == ()


def test_helpers_predict_every_training_item_once(cross_fitted: str) -> None:
    material = labelled_material()
    config = feature_run(material, cross_fitted, seed=3, folds=4, votes=5, selected=0.1, recipe__epochs=8)
    found = helpers(config)
    assert [helper.helper for helper in found] == [(0, 3), (1, 3), (2, 3)]
    assert {(helper.method, helper.recipe.epochs, helper.seed, helper.votes) for helper in found} == {("sls", 4, 3, 5)}
    assert len({helper.id for helper in found} | {replace(found[0], helper=None).id}) == 4
    more = replace(config, options=(("folds", 5), ("share", 0.01)))
    assert [(helper.helper, helper.recipe.epochs) for helper in helpers(more)] == [((k, 5), 1) for k in range(5)]
    whole, splits = split_items(config, material), [split_items(helper, material) for helper in found]
    assert sorted(np.concatenate([split.held_out for split in splits])) == sorted(whole.train)
    for split in splits:
        assert sorted([*split.train, *split.held_out]) == sorted(whole.train)
        assert (split.selection == whole.selection).all()
        assert not {*split.train, *split.held_out} & {*whole.held_out, *whole.selection}


def test_the_labels_are_made_of_out_of_fold_predictions(cross_fitted: str) -> None:
    config = feature_run(MATERIAL, cross_fitted, seed=1, recipe__epochs=4)
    records = [train_run(helper, MATERIAL) for helper in helpers(config)]
    job = make_job(config, MATERIAL, logits=out_of_fold(MATERIAL, records))
    predicted = np.zeros_like(MATERIAL.votes.probs)
    for record in records:
        predicted[record.arrays["held_out"]] = softmax(record.arrays["last_logits"])
    expected = 0.5 * MATERIAL.votes.probs[job.train] + 0.5 * predicted[job.train]
    np.testing.assert_allclose(job.delivery.targets(0), expected, rtol=1e-6)
    assert train_run(config, MATERIAL).status == "done"


def test_a_run_fails_with_its_helper(cross_fitted: str) -> None:
    config = feature_run(MATERIAL, cross_fitted, recipe__learning_rate=1e30, recipe__optimizer="sgd")
    record = train_run(config, MATERIAL)
    assert record.failure == (
        "a helper run failed: the training loss became NaN or infinite in epoch 1. Lower the learning rate, or check the "
        "inputs."
    )


@pytest.mark.parametrize("labelled", [True, False])
def test_an_items_own_votes_have_no_say_in_what_is_predicted_for_it(cross_fitted: str, labelled: bool) -> None:
    """With true labels the votes may turn round; without, the majority stays, since the outer split is stratified by it."""
    votes = Votes.from_counts(MATERIAL.votes.counts * 2 + 1)
    labels = MATERIAL.votes.probs.argmax(axis=1) if labelled else None
    before = feature_material(votes=votes, labels=labels)
    config = feature_run(before, cross_fitted, seed=2, recipe__epochs=6, recipe__learning_rate=0.05)
    item = int(split_items(config, before).train[7])
    counts = votes.counts.copy()
    counts[item] = counts[item, ::-1] + 1 if labelled else counts[item] * 3 + 50 * (counts[item] == counts[item].max())
    after = feature_material(votes=Votes.from_counts(counts), labels=labels)
    assert (before.votes.probs[item] != after.votes.probs[item]).any()
    others_changed = 0
    for helper in helpers(config):
        assert (split_items(helper, before).held_out == split_items(helper, after).held_out).all()
        records = [train_run(helper, data) for data in (before, after)]
        rows, logits = records[0].arrays["held_out"], [record.arrays["last_logits"] for record in records]
        if item in rows:
            np.testing.assert_array_equal(logits[0], logits[1])
        else:
            others_changed += (logits[0] != logits[1]).any(axis=1).sum()
    assert others_changed > 0, "votes do have a say in what is predicted for others"


# -- records ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("selected", [0.0, 0.2])
def test_a_record_holds_what_the_model_said(selected: float) -> None:
    import torch

    config = feature_run(MATERIAL, seed=4, selected=selected, recipe__epochs=5)
    record = train_run(config, MATERIAL)
    split = split_items(config, MATERIAL)
    outcome = train_job(run.model_maker_of_run(config, MATERIAL), torch.tensor(MATERIAL.inputs), make_job(config, MATERIAL), config.recipe)  # fmt: skip
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
    assert ("selection_own_loss" in record.curves, "own_logits" in record.arrays) == (bool(selected),) * 2
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
    assert record_differences(record, train_run(feature_run(MATERIAL), MATERIAL)) == []


def test_a_run_that_fails_says_why() -> None:
    record = train_run(feature_run(MATERIAL, recipe__learning_rate=1e30, recipe__optimizer="sgd"), MATERIAL)
    assert record.status == "failed"
    assert record.failure == (
        "the training loss became NaN or infinite in epoch 1. Lower the learning rate, or check the inputs."
    )
    assert record.arrays == {}
    assert record.timing["seconds"] > 0


def test_soft_of_a_job_is_soft_of_its_votes() -> None:
    """Guards the tests above: a delivery of other items would show."""
    config = feature_run(MATERIAL, "soft")
    job = make_job(config, MATERIAL)
    assert (job.delivery.targets(3) == Soft(MATERIAL.votes.take(job.train)).targets(3)).all()
    record = record_training(
        config,
        job,
        MATERIAL,
        train_job(run.model_maker_of_run(config, MATERIAL), _tensor(MATERIAL), job, config.recipe),
        seconds=1.0,
        device="cpu",
        at_once=3,
    )
    assert record.timing == {"seconds": 1.0, "at_once": 3.0}


def _tensor(material: Prepared) -> Any:
    import torch

    return torch.tensor(material.inputs)


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


def test_a_config_survives_being_stored() -> None:
    for config in (
        feature_run(MATERIAL),
        feature_run(
            MATERIAL,
            "dirichlet",
            votes=3,
            selected=0.1,
            recipe__mixup=0.5,
            folds=3,
            helper=(1, 4),
            options=(("weight", 2.0),),
        ),
        feature_run(MATERIAL, options=(("hold", 2),)),
    ):
        record = RunRecord(config=config.to_dict(), status="done")
        assert Run.from_dict(record.config) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sed": 1}, "a name in the config of a run must be one of dataset, data, method, seed, recipe, model, votes, hold, held_out, selected, version, folds, helper, options, blind, but got 'sed'. Did you mean 'seed'?"),
        ({"version": 7}, "the run must be of version 1, but got 7. Use the votewise that made it."),
        ({"recipe": {"epoch": 1}}, "Did you mean 'epochs'?"),
    ],
)  # fmt: skip
def test_stored_configs_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Run.from_dict({**feature_run(MATERIAL).to_dict(), **changes})
    assert str(error.value).endswith(message)


def test_a_stored_config_must_be_complete() -> None:
    stored = feature_run(MATERIAL).to_dict()
    del stored["seed"], stored["version"]
    with pytest.raises(InputError) as error:
        Run.from_dict(stored)
    assert str(error.value) == (
        "the config of a run must be complete, but it lacks 'seed', 'version'. Use what to_dict returned."
    )


def test_softmax_is_exact_and_takes_large_logits() -> None:
    logits = np.random.default_rng(0).normal(scale=30, size=(200, 7)).astype(np.float32)
    exact = logits.astype(np.float64)
    expected = np.exp(exact - exact.max(axis=1, keepdims=True))
    np.testing.assert_array_equal(softmax(logits), expected / expected.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(softmax([[1e4, 0.0]]), [[1.0, 0.0]])


@pytest.mark.parametrize("method", ["soft", "majority", "label-smoothing", "multipass", "sls"])
def test_the_epoch_of_a_methods_own_loss(method: str) -> None:
    """The lowest loss, on the items that choose, against what the method would itself deliver for them."""
    import torch

    config = feature_run(MATERIAL, method, seed=2, selected=0.2, recipe__epochs=14, recipe__learning_rate=0.1)
    record, split = train_run(config, MATERIAL), split_items(config, MATERIAL)
    outcome = train_job(run.model_maker_of_run(config, MATERIAL), torch.tensor(MATERIAL.inputs), make_job(config, MATERIAL), config.recipe)  # fmt: skip
    people, first = MATERIAL.votes.probs[split.selection], len(split.selection)
    majority = np.eye(3)[people.argmax(axis=1)]
    log_probs = torch.log_softmax(torch.from_numpy(outcome.logits).double(), dim=-1).numpy()
    if method == "sls":
        drawn = SLS(MATERIAL.votes.take(split.selection), seed=2)
        targets = np.mean([drawn.targets(epoch) for epoch in range(14)], axis=0)
    else:  # seven votes each, so that multipass goes through them twice
        targets = {"majority": majority, "label-smoothing": 0.9 * majority + 0.1 / 3}.get(method, people)
    own = -(targets * log_probs[:, :first]).sum(axis=2).mean(axis=1)
    np.testing.assert_allclose(record.curves["selection_own_loss"], own, rtol=1e-6)
    epoch = int(own.argmin())
    assert record.numbers["own_epoch"] == epoch + 1
    np.testing.assert_allclose(record.arrays["own_logits"], outcome.logits[epoch, first:], rtol=2e-3, atol=1e-4)
    expected = metrics.kl(MATERIAL.votes.probs[split.held_out], softmax(outcome.logits[epoch, first:]))
    assert record.numbers["kl_own"] == pytest.approx(expected)
    if method == "majority":
        assert record.numbers["own_epoch"] != record.numbers["best_epoch"], "the two choices differ here"


def test_methods_with_helper_runs_have_no_own_loss(cross_fitted: str) -> None:
    record = train_run(feature_run(MATERIAL, cross_fitted, selected=0.2, recipe__epochs=4), MATERIAL)
    assert "selection_nll" in record.curves
    assert "selection_own_loss" not in record.curves
