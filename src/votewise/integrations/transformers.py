"""Hugging Face `Trainer`: rows travel as labels, and the loss looks up the targets of the epoch.

Left to itself, a model given float labels (B, K) infers "multi_label_classification" and trains binary cross-entropy,
and `Trainer` would count B * K labels in a batch. Rows are whole numbers, one per item, so that gradient accumulation
divides by the number of items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from votewise._checks import FloatArray, check_kind, check_rows
from votewise._errors import InputError, MissingExtraError
from votewise.delivery import Delivery
from votewise.integrations.torch import ITEM, check_items, targets_of
from votewise.targets import Targets, as_targets
from votewise.votes import Votes

try:
    import torch
    from torch import Tensor
    from torch.nn.functional import cross_entropy
    from transformers import EvalPrediction, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("transformers", "torch"):
        raise  # it is there, and lacks something itself
    raise MissingExtraError("votewise.integrations.transformers", "transformers", "transformers") from error

Collator = Callable[[list[dict[str, Any]]], Any]

_REPLACED = (ITEM, "label", "labels", "label_ids")


class VotesCollator:
    """Collates features with an "item" into a batch whose labels are the rows of the items, (B, 1).

    Features without, as in prediction of new inputs, make a batch without labels.
    """

    def __init__(self, collator: Collator) -> None:
        """Wrap the collator of everything else, e.g. `DataCollatorWithPadding(tokenizer)`."""
        self.collator = collator

    def __call__(self, features: Sequence[Mapping[str, Any]]) -> Any:
        """One batch."""
        rows = [int(feature[ITEM]) for feature in features if ITEM in feature]
        if rows and len(rows) < len(features):
            raise InputError(
                f"every feature must have an {ITEM!r}, the row of its item in the votes, or none may",
                f"{len(rows)} of {len(features)} have one",
                "Wrap all features in VotesDataset",
            )
        batch = self.collator([{key: value for key, value in f.items() if key not in _REPLACED} for f in features])
        if rows:
            # A column, since class numbers would be (B,): the loss can tell that this collator was not used.
            batch["labels"] = torch.tensor(rows)[:, None]
        return batch


class VotesCallback(TrainerCallback):
    """What `Trainer` needs beside a `VotesCollator`: `compute_loss_func=votes.loss, callbacks=[votes]`.

    It has no state of its own to save: the epoch is that of the trainer, also after a checkpoint inside an epoch.
    """

    def __init__(self, delivery: Delivery, *, reference: Votes | Targets | None = None) -> None:
        """Set the labels.

        Args:
            delivery: labels of the training items; rows of the training set are its rows.
            reference: what evaluation is scored against; rows of the evaluation set are its rows.
        """
        check_kind("delivery", delivery, Delivery, "Build one, e.g. votewise.Multipass(votes, seed=0)")
        self.delivery = delivery
        self.reference = None if reference is None else as_targets(reference)
        self._epoch = -1
        self._evaluated: Any = None  # the loader checked last

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Start before the epoch the trainer will begin or resume."""
        check_items(kwargs.get("train_dataloader"), self.delivery)
        self._epoch = math.floor(state.epoch or 0) - 1

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Advance; `state.epoch` itself lags behind when a callback ends an epoch early."""
        self._epoch += 1

    def on_prediction_step(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Check once per loader that rows of the evaluation set mean the items of the reference."""
        loader = kwargs.get("eval_dataloader")
        if self.reference is not None and loader is not self._evaluated:
            check_items(loader, self.reference)
            self._evaluated = loader

    def loss(self, outputs: Any, labels: Tensor | None, num_items_in_batch: Tensor | int | None = None) -> Tensor:
        """Soft cross-entropy with the epoch's targets; in evaluation, with what people said.

        Args:
            outputs: the model's output; its logits are (B, K).
            labels: rows of the items, (B, 1), as `VotesCollator` makes them.
            num_items_in_batch: items of all batches of an optimizer step; those of this batch if left out.
        """
        rows = _rows(labels)
        # Trainer evaluates without gradients, and trains with them.
        targets = self._delivered(rows) if torch.is_grad_enabled() else self._said(rows).float()
        logits = outputs["logits"] if isinstance(outputs, Mapping) else outputs[0]
        if logits.shape != targets.shape:
            raise InputError(
                f"the model must give logits of shape {tuple(targets.shape)}",
                f"it gave {tuple(logits.shape)}",
                f"Build it with num_labels={targets.shape[1]}",
            )
        total = cross_entropy(logits.float(), targets, reduction="sum")
        return total / (len(rows) if num_items_in_batch is None else num_items_in_batch)

    def metrics(
        self, **metrics: Callable[[FloatArray, FloatArray], float]
    ) -> Callable[[EvalPrediction], dict[str, float]]:
        """A `compute_metrics` of scores against what people said.

        Args:
            **metrics: functions of (reference, probs) by name, e.g. `soft_nll=votewise.metrics.soft_nll`.
        """

        def compute(prediction: EvalPrediction) -> dict[str, float]:
            rows = _rows(torch.from_numpy(np.asarray(prediction.label_ids)))
            given = prediction.predictions
            logits = torch.from_numpy(given[0] if isinstance(given, tuple) else given)
            reference, probs = self._said(rows), logits.double().softmax(dim=1)
            return {name: metric(reference.numpy(), probs.numpy()) for name, metric in metrics.items()}

        return compute

    def _delivered(self, rows: Tensor) -> Tensor:
        """What is delivered in the trainer's epoch, (B, K) float32."""
        if self._epoch < 0:
            raise InputError(
                "the loss must know the epoch", "no training has begun", "Pass callbacks=[...] to Trainer, too"
            )
        return targets_of(self.delivery, self._epoch, rows)

    def _said(self, rows: Tensor) -> Tensor:
        """What people said, (B, K) float64."""
        if self.reference is None:
            raise InputError(
                "evaluation needs what people said about its items", "no reference was given", "Pass reference=votes"
            )
        shares = self.reference.probs[check_rows(rows.cpu().numpy(), len(self.reference.probs))]
        return torch.from_numpy(shares).to(rows.device)


def _rows(labels: Tensor | None) -> Tensor:
    """The rows in a batch's labels, (B,)."""
    if labels is None or labels.ndim != 2 or labels.shape[1] != 1 or labels.is_floating_point():
        got = "got none" if labels is None else f"got {labels.dtype} of shape {tuple(labels.shape)}"
        raise InputError(
            "labels must be the rows of the items, whole numbers (B, 1)",
            got,
            f"Pass data_collator=VotesCollator(...), features with an {ITEM!r} (VotesDataset adds it) and "
            "remove_unused_columns=False",
        )
    return labels[:, 0]
