"""The two methods with a fitted prior in whole runs: what they cost, what they may see, and the same run anywhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from small_runs import PLAIN, feature_material, feature_run, image_material, items
from votewise import InputError, Multipass, Votes, fit_dirichlet_prior, fit_prior
from votewise.data.dataset import Prepared
from votewise.experiments.backends import Event
from votewise.experiments.backends.device import Device
from votewise.experiments.backends.processes import Processes
from votewise.experiments.execution import execute
from votewise.experiments.grid import Grid
from votewise.experiments.planning import expected_training_items, helper_store
from votewise.experiments.run import WEIGHTS, Run, helpers, make_job, out_of_fold, split_items, train_run
from votewise.experiments.train import train_model
from votewise.records import RecordStore, record_differences
from votewise.training import TrainConfig

METHODS = ("multipass-prior", "multipass-crossfit")
MATERIAL = feature_material()


def labelled(votes: Votes) -> Prepared:
    """Data whose split does not depend on votes, since true labels are known."""
    return feature_material(votes=votes, labels=MATERIAL.votes.probs.argmax(axis=1))


# -- what it is ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("votes", [None, 4])
def test_the_prior_is_made_of_out_of_fold_predictions(votes: int | None) -> None:
    run = feature_run(MATERIAL, "multipass-crossfit", seed=1, votes=votes, recipe__epochs=10)
    logits = out_of_fold(MATERIAL, [train_run(helper, MATERIAL) for helper in helpers(run)])
    job = make_job(run, MATERIAL, logits=logits)
    trained_on = MATERIAL.votes.take(job.train)
    trained_on = trained_on if votes is None else trained_on.subsample(votes, seed=1)
    prior = fit_prior(trained_on, logits[job.train])
    expected = Multipass(trained_on, seed=1, prior=prior.pseudo_votes)
    for epoch in range(8):
        np.testing.assert_array_equal(job.delivery.targets(epoch), expected.targets(epoch))
    free = make_job(replace(run, method="multipass-prior"), MATERIAL).delivery
    expected = Multipass(trained_on, seed=1, prior=fit_dirichlet_prior(trained_on))
    np.testing.assert_array_equal(free.targets(3), expected.targets(3))


def test_folds_share_of_epochs_and_seeds_are_options() -> None:
    run = feature_run(MATERIAL, "multipass-crossfit", recipe__epochs=20, recipe__learning_rate=0.01)
    assert [(helper.helper, helper.recipe.epochs, helper.method) for helper in helpers(run)] == [
        ((0, 2), 6, "soft"),
        ((1, 2), 6, "soft"),
    ]
    more = replace(run, options=(("folds", 3), ("share", 0.5), ("seeds", 2)))
    assert [(helper.helper, helper.recipe.epochs) for helper in helpers(more)] == [((k, 3), 10) for k in range(6)]
    assert len({helper.id for helper in helpers(more)}) == 6
    whole = split_items(more, MATERIAL)
    splits = [split_items(helper, MATERIAL) for helper in helpers(more)]
    for draw in (splits[:3], splits[3:]):
        assert sorted(np.concatenate([split.held_out for split in draw])) == sorted(whole.train)
    assert {tuple(split.held_out) for split in splits[:3]} != {tuple(split.held_out) for split in splits[3:]}
    records = [train_run(helper, MATERIAL) for helper in helpers(more)]
    found = out_of_fold(MATERIAL, records)
    for item in whole.train:
        seen = [record.arrays["last_logits"][record.arrays["held_out"] == item] for record in records]
        np.testing.assert_allclose(found[item], np.concatenate(seen).mean(axis=0), rtol=1e-6)
    assert np.isnan(found[whole.held_out]).all()
    for wrong in ("folds=1", "share=0", "share=2", "seeds=0"):
        name, _, value = wrong.partition("=")
        with pytest.raises(InputError, match=f"multipass-crossfit:{name} must be a number from"):
            replace(run, options=((name, value),))


# -- what it costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epochs", [3, 8, 10, 20, 29, 30, 90, 200])
def test_helper_runs_cost_at_most_a_third_of_a_run(epochs: int) -> None:
    """In training items, for every number of epochs but 1 and 2, in which a helper needs one, too."""
    run = feature_run(MATERIAL, "multipass-crossfit", recipe__epochs=epochs)
    of_helpers = expected_training_items(helpers(run), MATERIAL)
    assert of_helpers <= 0.35 * expected_training_items([run], MATERIAL)
    assert expected_training_items(helpers(replace(run, method="multipass-prior")), MATERIAL) == 0


def test_the_items_that_pass_are_counted() -> None:
    told: dict[str, list[Event]] = {}
    for method in ("multipass", *METHODS):
        told[method] = []
        execute(
            [feature_run(MATERIAL, method, recipe__epochs=20)],
            MATERIAL,
            backend=Device("cpu"),
            tell=told[method].append,
        )
    plain = items(told["multipass"])
    assert items(told["multipass-prior"]) == plain
    assert 1.25 * plain < items(told["multipass-crossfit"]) <= 1.35 * plain


# -- what it sees -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("selected", [0.0, 0.2])
@pytest.mark.parametrize("method", METHODS)
def test_votes_of_scored_items_have_no_say(method: str, selected: float) -> None:
    """Nonsense in their place, and with items that choose the epoch every model is the same bit for bit.

    Without such items the scored ones choose the best epoch, as in the paper, but the last one still is the same.
    """
    votes = Votes.from_counts(MATERIAL.votes.counts)
    before = labelled(votes)
    run = feature_run(before, method, seed=3, selected=selected, recipe__epochs=12, recipe__learning_rate=0.02)
    scored = split_items(run, before).held_out
    counts = votes.counts.copy()
    counts[scored] = np.random.default_rng(0).integers(0, 50, size=(len(scored), 3)) ** 2 + [1, 0, 0]
    after = labelled(Votes.from_counts(counts))
    for helper in helpers(run):
        of_helper = [train_run(helper, data) for data in (before, after)]
        assert of_helper[0].arrays["last_logits"].tobytes() == of_helper[1].arrays["last_logits"].tobytes()
    one, other = (train_run(run, data) for data in (before, after))
    np.testing.assert_array_equal(one.arrays["held_out"], other.arrays["held_out"])
    assert one.arrays["last_logits"].tobytes() == other.arrays["last_logits"].tobytes()
    assert one.curves["train_loss"].tobytes() == other.curves["train_loss"].tobytes()
    assert one.numbers["soft_nll_last"] != other.numbers["soft_nll_last"], "they are scored by other votes"
    if selected:
        assert one.environment[WEIGHTS] == other.environment[WEIGHTS]
        assert one.numbers["best_epoch"] == other.numbers["best_epoch"]


def test_an_items_own_votes_have_no_say_in_what_is_predicted_for_it() -> None:
    """Each training item in turn: its votes turn round, and the prediction its prior is made of stays, bit for bit."""
    before = labelled(Votes.from_counts(MATERIAL.votes.counts + 1))
    run = feature_run(before, "multipass-crossfit", seed=2, recipe__epochs=20, recipe__learning_rate=0.05)
    plain = out_of_fold(before, [train_run(helper, before) for helper in helpers(run)])
    train = split_items(run, before).train
    for item in train[::6]:
        counts = before.votes.counts.copy()
        counts[item] = counts[item, ::-1] + [9, 0, 0]
        after = labelled(Votes.from_counts(counts))
        now = out_of_fold(after, [train_run(helper, after) for helper in helpers(run)])
        assert now[item].tobytes() == plain[item].tobytes()
        assert (now[train] != plain[train]).any(axis=1).sum() > len(train) / 3, "they do for those of the other fold"


# -- the same anywhere --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("votes", [None, 3])
def test_the_engine_on_a_cpu_equals_the_loop_bit_for_bit(votes: int | None) -> None:
    material = image_material()
    runs = Grid(METHODS, range(2), (votes,), folds=4).runs(material, replace(PLAIN, epochs=4))
    by_engine = execute(runs, material, backend=Device("cpu", engine=True))
    for run, record in zip(runs, by_engine, strict=True):
        assert record.status == "done"
        assert record_differences(record, train_run(run, material)) == []


def test_interrupted_work_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    """Begun in other processes, and after the records of a helper run and of runs were lost ended in this one."""
    store = RecordStore(tmp_path / "runs")
    runs = Grid(METHODS, range(2), folds=5).runs(MATERIAL, TrainConfig(epochs=4, batch_size=16))
    whole = execute(runs, MATERIAL, store, backend=Processes(2))
    kept = helper_store(store)
    assert len(kept.ids()) == 4
    for folder in (store.folder / runs[1].id, kept.folder / helpers(runs[3])[1].id, store.folder / runs[3].id):
        (folder / "arrays.npz").write_bytes(b"")
    again = execute(runs, MATERIAL, store, backend=Device("cpu"))
    for run, one, other in zip(runs, whole, again, strict=True):
        assert record_differences(one, other) == []
        assert record_differences(one, train_run(run, MATERIAL)) == []


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("held_out", [0.0, 0.2])
def test_one_model_is_trained_on_users_data(method: str, held_out: float) -> None:
    run = feature_run(MATERIAL, method, held_out=held_out, recipe__epochs=6)
    trained = train_model(run, MATERIAL, device="cpu")
    assert trained.trained_on == round(60 * (1 - held_out))
    assert trained.config.training["method"] == method
    if held_out:
        logits = train_run(run, MATERIAL).arrays["last_logits"].astype(np.float64)
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(trained.probs, shares, rtol=1e-5)


@pytest.mark.parametrize("method", [*METHODS, "dirichlet-fitted"])
def test_one_vote_each_is_refused_before_anything_is_trained(method: str) -> None:
    single = feature_material(votes=Votes.from_counts(np.eye(3, dtype=int)[np.arange(60) % 3]))
    message = (
        f"{method} needs items with two votes or more, to which it fits a prior, but every item has one. Choose a method "
        "that needs no prior, or collect more votes."
    )
    for data, run in ((single, feature_run(single, method)), (MATERIAL, feature_run(MATERIAL, method, votes=1))):
        with pytest.raises(InputError) as error:
            execute([run], data, backend=Device("cpu"))
        assert str(error.value) == message
    shares = feature_material(votes=Votes.from_probabilities(MATERIAL.votes.probs))
    with pytest.raises(InputError, match=f"{method} needs the number of votes for each class"):
        execute([feature_run(shares, method)], shares, backend=Device("cpu"))
    redrawn: Run = feature_run(shares, method, votes=3)
    assert [record.status for record in execute([redrawn], shares, backend=Device("cpu"))] == ["done"]


@pytest.mark.parametrize("method", ["multipass", "multipass-prior", "dirichlet-fitted"])
def test_what_a_method_would_deliver_of_choosing_items_is_left_out_where_it_cannot(method: str) -> None:
    """Their votes are not redrawn, as those for training are; or hold too little for a prior."""
    shares = feature_material(votes=Votes.from_probabilities(MATERIAL.votes.probs))
    run = feature_run(shares, method, votes=3, selected=0.2)
    assert "selection_own_loss" not in train_run(run, shares).curves
    run = feature_run(MATERIAL, method, selected=0.2)
    assert "selection_own_loss" in train_run(run, MATERIAL).curves
    counts = MATERIAL.votes.counts.copy()
    rows = split_items(run, labelled(MATERIAL.votes)).selection
    counts[rows] = np.eye(3, dtype=int)[np.arange(len(rows)) % 3]
    single = labelled(Votes.from_counts(counts))
    assert ("selection_own_loss" in train_run(run, single).curves) == (method == "multipass")
