"""Keras 3 on PyTorch: rows travel as `y`, and the loss looks up the targets of the epoch.

Keras asks a dataset for batches before it tells callbacks about the epoch, and a `PyDataset` with workers delivers
batches prepared in the epoch before. The loss is computed after both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from votewise._checks import IntArray, check_kind
from votewise._errors import InputError, MissingExtraError
from votewise.delivery import Delivery
from votewise.integrations.torch import targets_of

try:
    import keras
    import torch
    from torch import Tensor
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("keras", "torch"):
        raise  # it is there, and lacks something itself
    raise MissingExtraError("votewise.integrations.keras", "keras", "keras") from error

# Keras hands y to a loss in float32, which is exact for whole numbers up to here.
_MOST_ITEMS = 2**24


class VotesLoss(keras.losses.Loss):  # type: ignore[misc]
    """Soft cross-entropy: `model.compile(loss=votes)`, `model.fit(x, votes.rows, callbacks=[votes.callback])`.

    Where `y` has one column per class, as in `validation_data=(x, votes.probs)`, it is used as it is.

    Attributes:
        rows: (N,) int64, the `y` of all items; take parts of it with parts of `x`.
        callback: tells the loss which epoch `fit` is in, including with an `initial_epoch`.
    """

    def __init__(self, delivery: Delivery, *, from_logits: bool = False) -> None:
        """Set the labels.

        Args:
            delivery: labels of the training items.
            from_logits: whether the model ends in logits; else in probabilities.
        """
        super().__init__(
            name="soft_cross_entropy", dtype="float32"
        )  # rows need it, whatever precision Keras computes in
        check_kind("delivery", delivery, Delivery, "Build one, e.g. votewise.Multipass(votes, seed=0)")
        _check_backend(keras.backend.backend())
        _check_size(len(delivery.item_ids))
        self.delivery = delivery
        self.from_logits = from_logits
        self.rows: IntArray = np.arange(len(delivery.item_ids))
        # Validation ends an epoch: rows in it would be scored against the labels drawn for training.
        self.callback = keras.callbacks.LambdaCallback(
            on_epoch_begin=self._begin_epoch, on_test_begin=self._end, on_train_end=self._end
        )
        self._epoch: int | None = None

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Cross-entropy of each item, (B,).

        Args:
            y_true: rows of items, (B,) or (B, 1), or distributions, (B, K).
            y_pred: logits or probabilities, (B, K).
        """
        targets = y_true if y_true.shape == y_pred.shape else self._targets(y_true, y_pred)
        return keras.losses.categorical_crossentropy(targets, y_pred, from_logits=self.from_logits)

    def _targets(self, rows: Tensor, y_pred: Tensor) -> Tensor:
        if rows.is_meta:  # Keras infers output shapes before training
            return torch.zeros_like(y_pred)
        if self._epoch is None:
            raise InputError(
                "rows stand for labels only while fit trains with the loss's callback",
                "no training epoch is under way",
                "Pass callbacks=[loss.callback] to fit; for validation pass y with one column per class, "
                "e.g. votes.probs",
            )
        return targets_of(self.delivery, self._epoch, rows.reshape(-1).long())

    def _begin_epoch(self, epoch: int, logs: Any = None) -> None:
        self._epoch = epoch

    def _end(self, logs: Any = None) -> None:
        """Forget the epoch: a later fit without the callback would use its labels."""
        self._epoch = None


def _check_backend(name: str) -> None:
    """Refuse backends that compile the loss: it would keep the labels of its first epoch for ever."""
    if name != "torch":
        raise InputError(
            "Keras must run on torch", f"it runs on {name}", "Set KERAS_BACKEND=torch before Keras is imported"
        )


def _check_size(n_items: int) -> None:
    if n_items > _MOST_ITEMS:
        raise InputError(
            f"there can be at most {_MOST_ITEMS:,} items",
            f"got {n_items:,}",
            "Use a loop of your own, with votewise.integrations.torch",
        )
