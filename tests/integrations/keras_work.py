"""Real fits of a tiny Keras model; saves what the loss saw. Run by test_keras.py, which names the backend."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import torch

from votewise import InputError, Multipass, Soft, Votes, metrics
from votewise.integrations import keras as integration
from votewise.integrations.keras import VotesLoss

BATCHES: list[tuple[list[int], torch.Tensor]] = []


def record(delivery: Any, epoch: int, rows: torch.Tensor) -> torch.Tensor:
    targets = targets_of(delivery, epoch, rows)
    BATCHES.append((rows.tolist(), targets))
    return targets


targets_of, integration.targets_of = integration.targets_of, record


def tiny_model(loss: VotesLoss, rate: float = 0.1) -> keras.Model:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile(optimizer=keras.optimizers.SGD(rate), loss=loss)
    return model


def fit_twice(inputs: np.ndarray, votes: Votes, folder: str) -> None:
    """Three epochs, then epochs 3 and 4 in another fit, as after a restart."""
    loss = VotesLoss(Multipass(votes, seed=3), from_logits=True)
    model = tiny_model(loss)
    for first, last in ((0, 3), (3, 5)):
        model.fit(
            inputs, loss.rows, batch_size=8, initial_epoch=first, epochs=last, callbacks=[loss.callback], verbose=0
        )
    rows, targets = (np.concatenate([np.asarray(part) for part in parts]) for parts in zip(*BATCHES, strict=True))
    np.savez(f"{folder}/seen.npz", rows=rows, targets=targets)


def fit_with_prior(inputs: np.ndarray, votes: Votes, folder: str) -> None:
    """Two epochs of targets that are not one-hot."""
    BATCHES.clear()
    loss = VotesLoss(Multipass(votes, seed=3, prior=0.5), from_logits=True)
    tiny_model(loss).fit(inputs, loss.rows, batch_size=20, epochs=2, callbacks=[loss.callback], verbose=0)
    np.savez(
        f"{folder}/prior.npz", rows=[rows for rows, _ in BATCHES], targets=[np.asarray(each) for _, each in BATCHES]
    )


def loss_is_soft_cross_entropy(inputs: np.ndarray, votes: Votes) -> None:
    loss = VotesLoss(Soft(votes), from_logits=True)
    model = tiny_model(loss, rate=0.0)
    options = {"batch_size": 20, "callbacks": [loss.callback], "verbose": 0}
    history = model.fit(inputs, loss.rows, validation_data=(inputs, votes.probs), **options).history
    logits = model(inputs).detach().double()
    expected = metrics.soft_nll(votes.probs, logits.softmax(dim=1).numpy())
    assert abs(history["loss"][0] - expected) < 1e-6
    assert abs(history["val_loss"][0] - expected) < 1e-6
    probs = np.full((20, 3), 1 / 3, dtype=np.float32)
    uniform = VotesLoss(Soft(votes))(keras.ops.convert_to_tensor(votes.probs), keras.ops.convert_to_tensor(probs))
    assert abs(float(uniform) - np.log(3)) < 1e-6


def refusal(action: Callable[..., Any], *given: Any, **options: Any) -> str:
    try:
        action(*given, **options)
    except InputError as error:
        return str(error)
    raise AssertionError("not refused")


def mistakes_are_refused(inputs: np.ndarray, votes: Votes) -> None:
    loss = VotesLoss(Soft(votes))
    no_epoch = (
        "rows stand for labels only while fit trains with the loss's callback, but no training epoch is under way. "
        "Pass callbacks=[loss.callback] to fit; for validation pass y with one column per class, e.g. votes.probs."
    )
    assert refusal(tiny_model(loss).fit, inputs, loss.rows, verbose=0) == no_epoch
    trained = tiny_model(loss)
    options = {"callbacks": [loss.callback], "verbose": 0}
    trained.fit(inputs, loss.rows, **options)
    assert refusal(trained.fit, inputs, loss.rows, verbose=0) == no_epoch
    assert refusal(trained.fit, inputs, loss.rows, validation_data=(inputs, loss.rows), **options) == no_epoch
    assert refusal(trained.fit, inputs, loss.rows, validation_split=0.2, **options) == no_epoch
    assert refusal(trained.evaluate, inputs, loss.rows, **options) == no_epoch
    trained.fit(inputs, loss.rows, epochs=2, validation_data=(inputs, votes.probs), **options)
    assert refusal(VotesLoss, votes) == (
        "delivery must be Delivery, but got Votes. Build one, e.g. votewise.Multipass(votes, seed=0)."
    )
    # No other backend is there to be tried.
    assert refusal(integration._check_backend, "jax") == (
        "Keras must run on torch, but it runs on jax. Set KERAS_BACKEND=torch before Keras is imported."
    )
    assert refusal(integration._check_size, 2**24 + 1) == (
        "there can be at most 16,777,216 items, but got 16,777,217. "
        "Use a loop of your own, with votewise.integrations.torch."
    )


def rows_stay_whole_in_half_precision() -> None:
    """bfloat16 tells 256 from 258 but not from 257."""
    votes = Votes.from_counts([[2, 1, 1]] * 300)
    usual = keras.config.floatx()
    keras.config.set_floatx("bfloat16")
    loss = VotesLoss(Soft(votes), from_logits=True)
    model = tiny_model(loss)
    BATCHES.clear()
    model.fit(np.zeros((300, 4)), loss.rows, batch_size=300, callbacks=[loss.callback], verbose=0)
    keras.config.set_floatx(usual)
    assert sorted(BATCHES[-1][0]) == list(range(300))


if __name__ == "__main__":
    table = Votes.from_counts(np.load(f"{sys.argv[1]}/counts.npy"))
    features = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    fit_twice(features, table, sys.argv[1])
    fit_with_prior(features, table, sys.argv[1])
    loss_is_soft_cross_entropy(features, table)
    mistakes_are_refused(features, table)
    rows_stay_whole_in_half_precision()
