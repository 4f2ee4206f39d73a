"""Lightning: real trainers; what the training step saw is compared with the delivery."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Subset, TensorDataset

from votewise import Delivery, InputError, Multipass, Votes
from votewise.integrations.lightning import VotesCallback
from votewise.integrations.torch import VotesDataset

pytestmark = pytest.mark.filterwarnings(
    # Advice: more workers, more validation, a log in every epoch, a loader that can be resumed.
    "ignore::lightning.fabric.utilities.warnings.PossibleUserWarning",
    "ignore:Checkpoint directory .* exists and is not empty",
    # Lightning 2.6 asks torch 2.13 in a way that torch will drop.
    "ignore:`isinstance.treespec, LeafSpec.` is deprecated:FutureWarning",
)


class Recorder(LightningModule):
    """One linear layer on numbered inputs; keeps the rows and targets of each batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 3)
        self.seen: list[tuple[list[int], torch.Tensor]] = []
        self.validated: list[tuple[list[int], torch.Tensor]] = []

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        inputs, targets = _unpacked(batch)
        self.seen.append((inputs[:, 0].int().tolist(), targets))
        return cross_entropy(self.layer(inputs), targets)

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        inputs, targets = _unpacked(batch)
        self.validated.append((inputs[:, 0].int().tolist(), targets))

    test_step = validation_step

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def _unpacked(batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return (batch["input"], batch["target"]) if isinstance(batch, dict) else (batch[0], batch[1])


def numbered(votes: Votes) -> VotesDataset:
    return VotesDataset(torch.arange(20.0)[:, None], votes)


def trainer(folder: Path, *callbacks: Callback, **options: Any) -> Trainer:
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return Trainer(accelerator="cpu", default_root_dir=folder, callbacks=list(callbacks), **quiet, **options)


def assert_seen(delivery: Delivery, seen: list[tuple[list[int], torch.Tensor]], epochs: list[int]) -> None:
    assert len(seen) == len(epochs)
    for (rows, targets), epoch in zip(seen, epochs, strict=True):
        assert torch.equal(targets, torch.from_numpy(delivery.targets(epoch, rows)))


def test_steps_see_the_labels_of_each_epoch(delivery: Delivery, votes: Votes, tmp_path: Path) -> None:
    module = Recorder()
    loader = DataLoader(numbered(votes), 4, shuffle=True, num_workers=2, persistent_workers=True)
    options = {"max_epochs": 3, "accumulate_grad_batches": 2, "enable_checkpointing": False}
    trainer(tmp_path, VotesCallback(delivery), **options).fit(module, loader)
    assert_seen(delivery, module.seen, [0] * 5 + [1] * 5 + [2] * 5)
    assert sorted(row for rows, _ in module.seen[5:10] for row in rows) == list(range(20))


def test_a_checkpoint_inside_an_epoch_continues_with_its_labels(votes: Votes, tmp_path: Path) -> None:
    delivery = Multipass(votes, seed=3)
    saving = ModelCheckpoint(tmp_path, filename="middle", every_n_train_steps=7)
    stopped = trainer(tmp_path, VotesCallback(delivery), saving, max_steps=8)
    stopped.fit(Recorder(), DataLoader(numbered(votes), 4, shuffle=True))
    module = Recorder()
    resumed = trainer(tmp_path, VotesCallback(delivery), saving, max_epochs=3)
    resumed.fit(module, DataLoader(numbered(votes), 4, shuffle=True), ckpt_path=tmp_path / "middle.ckpt")
    assert resumed.global_step == 15
    assert_seen(delivery, module.seen, [1] * 3 + [2] * 5)


def test_validation_and_testing_see_what_people_said(votes: Votes, tmp_path: Path) -> None:
    module, delivery = Recorder(), Multipass(votes, seed=3)
    held_out = DataLoader(Subset(numbered(votes), [4, 9, 2]), 2)
    callback = VotesCallback(delivery, reference=votes)
    fit = trainer(tmp_path, callback, max_epochs=2, enable_checkpointing=False)
    fit.fit(module, DataLoader(numbered(votes), 20), held_out)
    fit.test(module, held_out, verbose=False)
    said = torch.tensor(votes.probs, dtype=torch.float32)
    assert [rows for rows, _ in module.validated] == [[4, 9], [2]] * 4  # before training, after each epoch, the test
    assert all(torch.equal(targets, said[rows]) for rows, targets in module.validated)
    assert_seen(delivery, module.seen, [0, 1])


def test_validation_and_testing_must_have_the_items_of_the_reference(votes: Votes, tmp_path: Path) -> None:
    callback = VotesCallback(Multipass(votes, seed=3), reference=votes)
    others = DataLoader(VotesDataset(torch.arange(4.0)[:, None], votes.take([4, 5, 6, 7])), 2)
    ours = DataLoader(numbered(votes), 20)
    fit = trainer(tmp_path, callback, max_epochs=1, enable_checkpointing=False)
    message = "the same items in the same order, but they have 4 and 20"
    with pytest.raises(InputError, match=message):
        fit.fit(Recorder(), ours, [ours, others])
    fit = trainer(tmp_path, callback, max_epochs=1, enable_checkpointing=False)
    fit.fit(Recorder(), ours, ours)
    for scored in (fit.validate, fit.test):
        with pytest.raises(InputError, match=message):
            scored(Recorder(), others, verbose=False)


def test_class_labels_are_not_taken_for_rows(votes: Votes, tmp_path: Path) -> None:
    labelled = DataLoader(TensorDataset(torch.zeros(20, 1), torch.arange(20) % 3), 4)
    callback = VotesCallback(Multipass(votes, seed=3), reference=votes)
    message = "must be known to hold rows of items, not class labels, but the loader has no VotesDataset"
    quiet = trainer(tmp_path, callback, max_epochs=1, enable_checkpointing=False)
    with pytest.raises(InputError, match=message):
        quiet.fit(Recorder(), labelled)
    with pytest.raises(InputError, match=message):
        quiet.test(Recorder(), labelled, verbose=False)


def test_dictionaries_get_a_target(votes: Votes, tmp_path: Path) -> None:
    module, delivery = Recorder(), Multipass(votes, seed=3)
    data = VotesDataset([{"input": torch.tensor([float(row)])} for row in range(20)], votes)
    trainer(tmp_path, VotesCallback(delivery), max_epochs=2, enable_checkpointing=False).fit(
        module, DataLoader(data, 10)
    )
    assert_seen(delivery, module.seen, [0, 0, 1, 1])


def test_without_a_reference_other_batches_stay_as_they_are(votes: Votes, tmp_path: Path) -> None:
    module = Recorder()
    testing = trainer(tmp_path, VotesCallback(Multipass(votes, seed=3)), enable_checkpointing=False)
    testing.test(module, DataLoader(numbered(votes), 20), verbose=False)
    assert module.validated[0][1].tolist() == list(range(20))


def test_tuples_are_refused(votes: Votes) -> None:
    batch = (torch.zeros(2), torch.tensor([0, 1]))
    callback = VotesCallback(Multipass(votes, seed=3), reference=votes)
    with pytest.raises(InputError) as error:
        callback.on_validation_batch_start(Trainer(logger=False), Recorder(), batch, 0)
    assert str(error.value) == (
        "a batch must be a list or a dictionary, which a callback can change, but got a tuple. "
        "Collate into one of those, as torch's default does."
    )


def test_a_delivery_of_other_items_is_refused(votes: Votes, tmp_path: Path) -> None:
    callback = VotesCallback(Multipass(votes.take(range(15)), seed=3))
    with pytest.raises(InputError, match="the same items in the same order, but they have 20 and 15"):
        trainer(tmp_path, callback, max_epochs=1, enable_checkpointing=False).fit(
            Recorder(), DataLoader(numbered(votes), 4)
        )


def test_votes_are_not_a_delivery(votes: Votes) -> None:
    with pytest.raises(InputError) as error:
        VotesCallback(votes)  # type: ignore[arg-type]
    assert str(error.value) == (
        "delivery must be Delivery, but got Votes. Build one, e.g. votewise.Multipass(votes, seed=0)."
    )
