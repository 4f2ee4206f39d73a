"""Lightning: a callback that gives each batch the targets of the trainer's epoch."""

from __future__ import annotations

from typing import Any

from votewise._checks import check_kind
from votewise._errors import InputError, MissingExtraError
from votewise.delivery import Delivery, Soft
from votewise.integrations.torch import TARGET, check_items, check_named, item_rows, targets_of
from votewise.targets import Targets
from votewise.votes import Votes

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "lightning":
        raise  # it is there, and lacks something itself
    raise MissingExtraError("votewise.integrations.lightning", "lightning", "lightning") from error


class VotesCallback(Callback):
    """Batches of a `VotesDataset` reach the steps of a module with targets (B, K) float32 in place of rows.

    They are resolved in the main process, on the batch's device, for `trainer.current_epoch`, which Lightning restores
    with a checkpoint. Batches of validation and testing get what people said, the same in each epoch.
    """

    def __init__(self, delivery: Delivery, *, reference: Votes | Targets | None = None) -> None:
        """Set the labels.

        Args:
            delivery: labels of the training items.
            reference: what validation and testing are scored against; without it their batches are left unchanged.
        """
        check_kind("delivery", delivery, Delivery, "Build one, e.g. votewise.Multipass(votes, seed=0)")
        self.delivery = delivery
        self.reference = None if reference is None else Soft(reference)
        self._rows_known = {"train": True, "evaluation": True}

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Check that the rows of the training set mean the items of the delivery."""
        self._rows_known["train"] = check_items(trainer.train_dataloader, self.delivery)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Check that the rows of the validation or test set mean the items of the reference."""
        if self.reference is not None:
            # `trainer.val_dataloaders` would be those of an earlier `fit`.
            loaders = trainer._evaluation_loop._combined_loader
            self._rows_known["evaluation"] = check_items(getattr(loaders, "iterables", None), self.reference)

    on_test_start = on_validation_start

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        """Give a training batch the targets of the epoch."""
        check_named(batch, self._rows_known["train"])
        _give_targets(batch, self.delivery, trainer.current_epoch)

    def on_validation_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Give a validation batch what people said."""
        if self.reference is not None:
            check_named(batch, self._rows_known["evaluation"])
            _give_targets(batch, self.reference, 0)

    on_test_batch_start = on_validation_batch_start


def _give_targets(batch: Any, delivery: Delivery, epoch: int) -> None:
    """Change a batch in place: Lightning passes the same object to the step and ignores what a callback returns."""
    targets = targets_of(delivery, epoch, item_rows(batch))
    if isinstance(batch, tuple):
        raise InputError(
            "a batch must be a list or a dictionary, which a callback can change",
            "got a tuple",
            "Collate into one of those, as torch's default does",
        )
    batch[TARGET if isinstance(batch, dict) else 1] = targets
