"""Hugging Face Trainer: real trainers on a tiny model; what the loss saw is compared with the delivery."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch.utils.data import Subset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EvalPrediction,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)

from votewise import Delivery, InputError, Multipass, Soft, Votes, metrics
from votewise.integrations import transformers as integration
from votewise.integrations.torch import VotesDataset
from votewise.integrations.transformers import VotesCallback, VotesCollator

Batch = tuple[list[int], torch.Tensor]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def tiny_model(dropout: float = 0.0) -> BertForSequenceClassification:
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    dropouts = {"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": 0.0}
    torch.manual_seed(0)
    return BertForSequenceClassification(
        BertConfig(vocab_size=30, max_position_embeddings=4, num_labels=3, **sizes, **dropouts)
    )


def texts(votes: Votes) -> VotesDataset:
    return VotesDataset([{"input_ids": [row, 29 - row, 3], "label": 2} for row in range(20)], votes)


def arguments(folder: Path, **options: Any) -> TrainingArguments:
    given = {"per_device_train_batch_size": 4, "learning_rate": 0.01, "max_grad_norm": 0.0, "save_strategy": "no"}
    quiet = {"report_to": "none", "disable_tqdm": True, "logging_strategy": "no", "dataloader_pin_memory": False}
    return TrainingArguments(folder, use_cpu=True, remove_unused_columns=False, seed=5, **{**given, **quiet, **options})


def trainer(args: TrainingArguments, votes: Votes, labels: VotesCallback, *callbacks: Any, **options: Any) -> Trainer:
    options = {"model": tiny_model(), "train_dataset": texts(votes), **options}
    collator = VotesCollator(default_data_collator)
    return Trainer(
        args=args, data_collator=collator, compute_loss_func=labels.loss, callbacks=[labels, *callbacks], **options
    )


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Batch]:
    """The rows and the targets of every call of the loss in training, in order."""
    batches: list[Batch] = []
    rows_of, loss_of = integration._rows, integration.cross_entropy

    def rows(labels: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled():
            batches.append((labels[:, 0].tolist(), torch.empty(0)))
        return rows_of(labels)

    def loss(logits: torch.Tensor, targets: torch.Tensor, **options: Any) -> torch.Tensor:
        if torch.is_grad_enabled():
            batches[-1] = (batches[-1][0], targets)
        return loss_of(logits, targets, **options)

    monkeypatch.setattr(integration, "_rows", rows)
    monkeypatch.setattr(integration, "cross_entropy", loss)
    return batches


def assert_seen(delivery: Delivery, seen: list[Batch], epochs: list[int]) -> None:
    assert len(seen) == len(epochs)
    for (rows, targets), epoch in zip(seen, epochs, strict=True):
        assert torch.equal(targets, torch.from_numpy(delivery.targets(epoch, rows)))


def weights(trained: Trainer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trained.model.parameters()])


class StopAt(TrainerCallback):
    """Saves and stops after a step, or ends each epoch after that many."""

    def __init__(self, step: int, what: str = "should_training_stop") -> None:
        self.step, self.what, self.in_epoch = step, what, 0

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.in_epoch = 0

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.in_epoch += 1
        if (self.in_epoch if self.what == "should_epoch_stop" else state.global_step) == self.step:
            setattr(control, self.what, True)
            control.should_save = self.what == "should_training_stop"


def test_the_loss_sees_the_labels_of_each_epoch(
    delivery: Delivery, votes: Votes, tmp_path: Path, seen: list[Batch]
) -> None:
    workers = {"dataloader_num_workers": 2, "dataloader_persistent_workers": True}
    args = arguments(tmp_path, num_train_epochs=3, gradient_accumulation_steps=2, **workers)
    trainer(args, votes, VotesCallback(delivery)).train()
    assert_seen(delivery, seen, [0] * 5 + [1] * 5 + [2] * 5)
    assert sorted(row for rows, _ in seen[5:10] for row in rows) == list(range(20))


@pytest.mark.parametrize(("accumulated", "step", "left"), [(1, 7, 8), (2, 4, 8)])
def test_a_checkpoint_inside_an_epoch_continues_as_if_nothing_had_happened(
    accumulated: int, step: int, left: int, votes: Votes, tmp_path: Path, seen: list[Batch]
) -> None:
    delivery = Multipass(votes, seed=3)
    args = arguments(tmp_path, num_train_epochs=3, gradient_accumulation_steps=accumulated)
    whole = trainer(args, votes, VotesCallback(delivery), model=tiny_model(0.3))
    whole.train()
    uninterrupted = list(seen)
    trainer(args, votes, VotesCallback(delivery), StopAt(step), model=tiny_model(0.3)).train()
    seen.clear()
    resumed = trainer(args, votes, VotesCallback(delivery), model=tiny_model(0.3))
    resumed.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{step}"))
    assert [rows for rows, _ in seen] == [rows for rows, _ in uninterrupted[-left:]]
    assert_seen(delivery, seen, [1] * (left - 5) + [2] * 5)
    assert torch.equal(weights(resumed), weights(whole))


def test_epochs_that_a_callback_ends_early_are_counted(votes: Votes, tmp_path: Path, seen: list[Batch]) -> None:
    delivery = Multipass(votes, seed=3)
    args = arguments(tmp_path, num_train_epochs=3)
    trainer(args, votes, VotesCallback(delivery), StopAt(2, "should_epoch_stop")).train()
    assert_seen(delivery, seen, [0, 0, 1, 1, 2, 2])


def test_accumulated_batches_are_one_large_batch(votes: Votes, tmp_path: Path) -> None:
    """20 items in batches of 8 are 8, 8 and 4; in twice 4 also, which a mean of means would weight otherwise."""
    small, large = (
        trainer(arguments(tmp_path, num_train_epochs=2, **sizes), votes, VotesCallback(Soft(votes)))
        for sizes in (
            {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
            {"per_device_train_batch_size": 8},
        )
    )
    small.train()
    large.train()
    torch.testing.assert_close(weights(small), weights(large), rtol=0, atol=1e-5)


def test_label_smoothing_of_trainer_has_no_effect(votes: Votes, tmp_path: Path) -> None:
    """docs/transformers.md says so."""
    plain, smoothed = (
        trainer(
            arguments(tmp_path, num_train_epochs=1, label_smoothing_factor=factor), votes, VotesCallback(Soft(votes))
        )
        for factor in (0.0, 0.5)
    )
    plain.train()
    smoothed.train()
    assert torch.equal(weights(plain), weights(smoothed))


def test_the_loss_is_soft_cross_entropy(votes: Votes) -> None:
    labels = VotesCallback(Soft(votes), reference=votes)
    labels.on_train_begin(None, type("State", (), {"epoch": None}), None)
    labels.on_epoch_begin(None, None, None)
    logits = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = metrics.soft_nll(votes.probs, torch.softmax(logits, dim=1).numpy())
    rows = torch.arange(20)[:, None]
    assert labels.loss({"logits": logits}, rows).item() == pytest.approx(expected, abs=1e-6)
    assert labels.loss((logits,), rows, num_items_in_batch=torch.tensor(40)).item() == pytest.approx(
        expected / 2, abs=1e-6
    )
    with torch.no_grad():
        assert labels.loss({"logits": logits}, rows).item() == pytest.approx(expected, abs=1e-6)


def test_left_to_itself_the_model_would_train_binary_cross_entropy(votes: Votes, tmp_path: Path) -> None:
    targets = torch.tensor(votes.probs, dtype=torch.float32)
    inputs = torch.tensor([[row, 29 - row, 3] for row in range(20)])
    alone = tiny_model()
    outputs = alone(input_ids=inputs, labels=targets)
    soft = metrics.soft_nll(votes.probs, outputs.logits.detach().double().softmax(dim=1).numpy())
    binary = torch.nn.functional.binary_cross_entropy_with_logits(outputs.logits, targets)
    assert alone.config.problem_type == "multi_label_classification"
    assert outputs.loss.item() == pytest.approx(binary.item())
    assert abs(outputs.loss.item() - soft) > 0.1

    args = arguments(tmp_path, num_train_epochs=1, per_device_train_batch_size=20, learning_rate=0.0)
    ours = trainer(args, votes, VotesCallback(Soft(votes)))
    assert ours.train().training_loss == pytest.approx(soft, abs=1e-6)
    assert ours.model.config.problem_type is None


def test_evaluation_scores_against_what_people_said(votes: Votes, tmp_path: Path) -> None:
    labels = VotesCallback(Multipass(votes, seed=3), reference=votes)
    held_out = Subset(texts(votes), [4, 9, 2, 11, 5])
    args = arguments(tmp_path, num_train_epochs=2, per_device_eval_batch_size=2, eval_strategy="epoch")
    ours = trainer(
        args,
        votes,
        labels,
        eval_dataset=held_out,
        compute_metrics=labels.metrics(soft_nll=metrics.soft_nll, kl=metrics.kl),
    )
    ours.train()
    scores = ours.evaluate()
    probs = torch.from_numpy(ours.predict(held_out).predictions).double().softmax(dim=1).numpy()
    said = votes.probs[[4, 9, 2, 11, 5]]
    assert scores["eval_soft_nll"] == pytest.approx(metrics.soft_nll(said, probs), abs=1e-6)
    assert scores["eval_kl"] == pytest.approx(metrics.kl(said, probs), abs=1e-6)
    assert scores["eval_loss"] == pytest.approx(metrics.soft_nll(said, probs), abs=1e-6)


def test_the_evaluation_set_must_have_the_items_of_the_reference(votes: Votes, tmp_path: Path) -> None:
    labels = VotesCallback(Soft(votes), reference=votes)
    others = VotesDataset([{"input_ids": [row, 29 - row, 3]} for row in range(4)], votes.take([4, 5, 6, 7]))
    ours = trainer(arguments(tmp_path), votes, labels, eval_dataset=texts(votes))
    ours.evaluate()
    for scored in (ours.evaluate, ours.predict):
        with pytest.raises(InputError, match="the same items in the same order, but they have 4 and 20"):
            scored(others)


def test_metrics_take_the_first_of_several_outputs(votes: Votes) -> None:
    compute = VotesCallback(Soft(votes), reference=votes).metrics(soft_nll=metrics.soft_nll)
    given = EvalPrediction(predictions=(np.log(votes.probs + 1e-9), np.zeros(3)), label_ids=np.arange(20)[:, None])
    assert compute(given)["soft_nll"] == pytest.approx(metrics.soft_nll(votes.probs, votes.probs), abs=1e-6)


@pytest.mark.parametrize("wrapped", [True, False])
def test_datasets_are_wrapped_or_have_an_item_of_their_own(
    wrapped: bool, votes: Votes, tmp_path: Path, seen: list[Batch]
) -> None:
    columns = {"input_ids": [[row, 29 - row, 3] for row in range(20)], "label": [2] * 20}
    table = Dataset.from_dict(columns if wrapped else {**columns, "item": range(20)})
    delivery = Multipass(votes, seed=3)
    data = VotesDataset(table, votes) if wrapped else table
    trainer(arguments(tmp_path, num_train_epochs=2), votes, VotesCallback(delivery), train_dataset=data).train()
    assert_seen(delivery, seen, [0] * 5 + [1] * 5)


COLLATED = "Pass data_collator=VotesCollator(...), features with an 'item' (VotesDataset adds it) and remove_unused_columns=False."


def test_the_item_must_reach_the_collator_in_training(votes: Votes, tmp_path: Path) -> None:
    args = arguments(tmp_path, num_train_epochs=1)
    args.remove_unused_columns = True
    with pytest.raises(InputError) as error:
        trainer(args, votes, VotesCallback(Soft(votes))).train()
    assert str(error.value) == (f"labels must be the rows of the items, whole numbers (B, 1), but got none. {COLLATED}")


def test_new_inputs_are_predicted_without_items(votes: Votes, tmp_path: Path) -> None:
    labels = VotesCallback(Soft(votes), reference=votes)
    ours = trainer(arguments(tmp_path), votes, labels, compute_metrics=labels.metrics(kl=metrics.kl))
    new = [{"input_ids": [row, 29 - row, 3], "label": 2} for row in range(5)]
    found = ours.predict(new)
    np.testing.assert_allclose(found.predictions, ours.predict(texts(votes)).predictions[:5], atol=1e-6)
    assert found.label_ids is None
    with pytest.raises(InputError) as error:
        VotesCollator(default_data_collator)([new[0], {**new[1], "item": 1}])
    assert str(error.value) == (
        "every feature must have an 'item', the row of its item in the votes, or none may, but 1 of 2 have one. "
        "Wrap all features in VotesDataset."
    )


def test_a_delivery_of_other_items_is_refused(votes: Votes, tmp_path: Path) -> None:
    labels = VotesCallback(Multipass(votes.take(range(15)), seed=3))
    with pytest.raises(InputError, match="the same items in the same order, but they have 20 and 15"):
        trainer(arguments(tmp_path, num_train_epochs=1), votes, labels).train()


@pytest.mark.parametrize(
    ("labels", "got"),
    [
        (None, "got none"),
        (torch.tensor([0, 1]), "got torch.int64 of shape (2,)"),
        (torch.zeros(2, 3), "got torch.float32 of shape (2, 3)"),
        (torch.zeros(2, 1), "got torch.float32 of shape (2, 1)"),
    ],
)
def test_labels_of_another_collator_are_refused(labels: torch.Tensor | None, got: str, votes: Votes) -> None:
    with pytest.raises(InputError) as error:
        VotesCallback(Soft(votes)).loss((torch.zeros(2, 3),), labels)
    assert str(error.value) == f"labels must be the rows of the items, whole numbers (B, 1), but {got}. {COLLATED}"


def test_a_loss_without_its_callback_is_refused(votes: Votes) -> None:
    with pytest.raises(InputError) as error:
        VotesCallback(Soft(votes)).loss((torch.zeros(2, 3),), torch.tensor([[0], [1]]))
    assert str(error.value) == (
        "the loss must know the epoch, but no training has begun. Pass callbacks=[...] to Trainer, too."
    )


def test_evaluation_without_a_reference_is_refused(votes: Votes) -> None:
    message = "evaluation needs what people said about its items, but no reference was given. Pass reference=votes."
    labels = VotesCallback(Soft(votes))
    with torch.no_grad(), pytest.raises(InputError) as error:
        labels.loss((torch.zeros(2, 3),), torch.tensor([[0], [1]]))
    assert str(error.value) == message
    with pytest.raises(InputError) as error:
        labels.metrics()(EvalPrediction(predictions=np.zeros((1, 3)), label_ids=np.zeros((1, 1), dtype=int)))
    assert str(error.value) == message


def test_a_model_of_other_classes_is_refused(votes: Votes) -> None:
    with torch.no_grad(), pytest.raises(InputError) as error:
        VotesCallback(Soft(votes), reference=votes).loss((torch.zeros(2, 2),), torch.tensor([[0], [1]]))
    assert (
        str(error.value)
        == "the model must give logits of shape (2, 3), but it gave (2, 2). Build it with num_labels=3."
    )


def test_votes_are_not_a_delivery(votes: Votes) -> None:
    with pytest.raises(InputError) as error:
        VotesCallback(votes)  # type: ignore[arg-type]
    assert str(error.value) == (
        "delivery must be Delivery, but got Votes. Build one, e.g. votewise.Multipass(votes, seed=0)."
    )


def test_rows_beyond_the_reference_are_refused(votes: Votes) -> None:
    with torch.no_grad(), pytest.raises(InputError, match="items must lie between 0 and 19, but they run from 0 to 20"):
        VotesCallback(Soft(votes), reference=votes).loss((torch.zeros(2, 3),), torch.tensor([[0], [20]]))
