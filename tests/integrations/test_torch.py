"""PyTorch: whoever loads the samples, the loss sees the labels of the epoch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
)

from votewise import Delivery, HardDelivery, InputError, Multipass, Votes
from votewise.integrations.torch import VotesDataset, VotesLoader, check_items, with_targets


def assert_labels_of_epoch(delivery: Delivery, epoch: int, rows: Any, targets: Any) -> None:
    np.testing.assert_array_equal(np.asarray(targets), delivery.targets(epoch, np.asarray(rows)))
    if isinstance(delivery, HardDelivery):
        np.testing.assert_array_equal(np.asarray(targets).argmax(axis=1), delivery.labels(epoch, np.asarray(rows)))


def test_persistent_workers_see_the_labels_of_each_epoch(votes: Votes) -> None:
    delivery = Multipass(votes, seed=3)
    data = VotesDataset(torch.arange(20), votes)
    batches = VotesLoader(DataLoader(data, 3, shuffle=True, num_workers=2, persistent_workers=True), delivery)
    for epoch in range(3):
        rows, targets = (torch.cat(parts) for parts in zip(*batches.epoch(epoch), strict=True))
        assert sorted(rows.tolist()) == list(range(20))
        assert_labels_of_epoch(delivery, epoch, rows, targets)
    assert len(batches) == 7


class KnowsItsEpoch(torch.utils.data.Dataset[Any]):
    """What votewise does not do: labels looked up where the samples are."""

    def __init__(self, delivery: HardDelivery) -> None:
        self.delivery, self.epoch = delivery, 0

    def __len__(self) -> int:
        return 20

    def __getitem__(self, row: int) -> int:
        return int(self.delivery.labels(self.epoch, [row])[0])


def test_labels_looked_up_in_persistent_workers_would_be_those_of_epoch_0(votes: Votes) -> None:
    delivery = Multipass(votes, seed=3)
    data = KnowsItsEpoch(delivery)
    loader = DataLoader(data, 20, num_workers=1, persistent_workers=True)
    seen = []
    for data.epoch in range(3):
        seen.extend(batch.tolist() for batch in loader)
    assert seen == [delivery.labels(0).tolist()] * 3
    assert delivery.labels(1).tolist() != seen[1]


def test_resuming_inside_an_epoch_gives_the_remaining_batches(delivery: Delivery, votes: Votes) -> None:
    def batches() -> VotesLoader:
        data = VotesDataset(torch.arange(20), votes)
        return VotesLoader(DataLoader(data, 3, sampler=DistributedSampler(data, 1, 0, seed=1)), delivery)

    whole = list(batches().epoch(1))
    rest = list(batches().epoch(1, skip=4))
    assert len(rest) == 3
    for (rows, targets), (same_rows, same_targets) in zip(whole[4:], rest, strict=True):
        assert torch.equal(rows, same_rows)
        assert torch.equal(targets, same_targets)
        assert_labels_of_epoch(delivery, 1, rows, targets)


def test_batch_samplers_are_given_the_epoch(votes: Votes) -> None:
    class OneBatch(list[list[int]]):
        epochs: tuple[int, ...] = ()

        def set_epoch(self, epoch: int) -> None:
            self.epochs += (epoch,)

    sampler = OneBatch([[0, 1]])
    loader = DataLoader(VotesDataset(range(20), votes), batch_sampler=sampler)
    for epoch in (0, 1, 5):
        assert len(list(VotesLoader(loader, Multipass(votes, seed=0)).epoch(epoch))) == 1
    assert sampler.epochs == (0, 1, 5)


def test_samplers_inside_batch_samplers_are_given_the_epoch(votes: Votes) -> None:
    data = VotesDataset(torch.arange(20), votes)
    sampler = BatchSampler(DistributedSampler(data, 1, 0, seed=1), batch_size=20, drop_last=False)
    batches = VotesLoader(DataLoader(data, batch_sampler=sampler), Multipass(votes, seed=0))
    first, second = (next(batches.epoch(epoch))[0].tolist() for epoch in range(2))
    assert first != second


def test_samplers_are_given_an_epoch_when_it_begins(votes: Votes) -> None:
    data = VotesDataset(torch.arange(20), votes)
    loader = DataLoader(data, 20, sampler=DistributedSampler(data, 1, 0, seed=1))
    batches = VotesLoader(loader, Multipass(votes, seed=0))
    in_turn = [next(batches.epoch(epoch))[0].tolist() for epoch in range(2)]
    at_once = [next(epoch)[0].tolist() for epoch in [batches.epoch(0), batches.epoch(1)]]
    assert at_once == in_turn


@pytest.mark.parametrize(
    ("others", "got"),
    [(range(15), "they have 20 and 15"), (range(19, -1, -1), "their ids differ")],
    ids=["fewer", "another order"],
)
def test_deliveries_of_other_items_are_refused(others: range, got: str, votes: Votes) -> None:
    loader = DataLoader(Subset(Subset(VotesDataset(range(20), votes), range(10)), [1, 2]))
    with pytest.raises(InputError) as error:
        VotesLoader(loader, Multipass(votes.take(others), seed=0))
    assert str(error.value) == (
        f"the dataset and the labels must have the same items in the same order, but {got}. "
        "Build both on the same votes, and take parts with torch.utils.data.Subset."
    )


def test_every_part_of_a_concatenation_must_have_the_items_of_the_delivery(votes: Votes) -> None:
    ours, other = VotesDataset(range(20), votes), VotesDataset(range(20), votes.take(range(19, -1, -1)))
    delivery = Multipass(votes, seed=0)
    same = VotesLoader(DataLoader(ConcatDataset([ours, Subset(ours, [3, 4])]), 22), delivery)
    (batch,) = same.epoch(1)
    assert_labels_of_epoch(delivery, 1, [*range(20), 3, 4], batch[1])
    with pytest.raises(InputError, match="the same items in the same order, but their ids differ"):
        VotesLoader(DataLoader(ConcatDataset([ours, Subset(other, [3])])), delivery)


UNNAMED = (
    "the second part of a batch must be known to hold rows of items, not class labels, but the loader has no "
    "VotesDataset. Wrap the samples in VotesDataset, or name the rows: a dictionary with 'item', or a dataset with an "
    "attribute item_ids."
)


def test_class_labels_are_not_taken_for_rows(votes: Votes) -> None:
    labelled = TensorDataset(torch.zeros(20, 4), torch.arange(20) % 3)
    ours = VotesDataset(torch.zeros(20, 4), votes)
    for data in (labelled, ConcatDataset([ours, labelled])):
        with pytest.raises(InputError) as error:
            next(VotesLoader(DataLoader(data, 5), Multipass(votes, seed=0)).epoch(0))
        assert str(error.value) == UNNAMED


def test_datasets_of_others_may_name_their_rows(votes: Votes) -> None:
    delivery = Multipass(votes, seed=0)
    (batch,) = VotesLoader(DataLoader([{"x": row, "item": 19 - row} for row in range(20)], 20), delivery).epoch(3)
    assert_labels_of_epoch(delivery, 3, range(19, -1, -1), batch["target"])
    data = TensorDataset(torch.zeros(20), torch.arange(20))
    data.item_ids = votes.item_ids
    (pair,) = VotesLoader(DataLoader(data, 20), delivery).epoch(3)
    assert_labels_of_epoch(delivery, 3, range(20), pair[1])
    data.item_ids = votes.item_ids[::-1]
    with pytest.raises(InputError, match="their ids differ"):
        VotesLoader(DataLoader(data, 20), delivery)


def test_rows_count_from_the_end_as_in_lists_and_slices_are_refused(votes: Votes) -> None:
    data = VotesDataset(torch.arange(20) * 10, votes)
    assert data[-1] == (torch.tensor(190), 19)
    assert data[torch.tensor(3)] == (torch.tensor(30), 3)
    assert len(list(data)) == 20
    with pytest.raises(IndexError):
        data[20]
    with pytest.raises(InputError) as error:
        data[2:5]  # type: ignore[index]
    assert str(error.value) == (
        "samples must be addressed by one row number, but got slice. Take parts with torch.utils.data.Subset."
    )


def test_dictionaries_keep_their_items_and_parts_keep_their_rows(delivery: Delivery, votes: Votes) -> None:
    data = Subset(VotesDataset([{"text": name} for name in votes.item_ids], votes), [7, 3, 19])
    (batch,) = VotesLoader(DataLoader(data, 3), delivery).epoch(2)
    assert batch["text"] == [str(votes.item_ids[row]) for row in (7, 3, 19)]
    assert batch["item"].tolist() == [7, 3, 19]
    assert_labels_of_epoch(delivery, 2, [7, 3, 19], batch["target"])
    assert batch["target"].dtype == torch.float32


def test_targets_are_on_the_device_of_the_rows(votes: Votes) -> None:
    rows = torch.tensor([1, 2])
    assert with_targets([None, rows], Multipass(votes, seed=0), 0)[1].device == rows.device


def test_one_sample_per_item_is_needed(votes: Votes) -> None:
    with pytest.raises(InputError) as error:
        VotesDataset(range(19), votes)
    assert str(error.value) == (
        "there must be one sample for each item of the votes, but got 19 samples and 20 items. "
        "Take the same items of both, and parts afterwards with torch.utils.data.Subset."
    )


def test_streams_and_tables_of_samples_are_refused(votes: Votes) -> None:
    class Stream(IterableDataset[int]):
        def __iter__(self) -> Any:
            return iter(range(20))

    with pytest.raises(InputError) as error:
        VotesDataset((row for row in range(20)), votes)
    assert str(error.value) == (
        "samples must have len() and [] by number, but got generator. Pass a map-style dataset or a list."
    )
    for samples in (Stream(), pd.DataFrame({"x": range(20)}), dict.fromkeys(range(20))):
        with pytest.raises(InputError, match=f"samples must have len.* but got {type(samples).__name__}"):
            VotesDataset(samples, votes)


@pytest.mark.parametrize("key", ["item", "target"])
def test_an_item_or_target_of_the_samples_own_is_refused(key: str, votes: Votes) -> None:
    with pytest.raises(InputError) as error:
        VotesDataset([{key: "x"}] * 20, votes)[4]
    assert (
        str(error.value) == f"a sample must leave the key {key!r} to votewise, but sample 4 has one. Rename or drop it."
    )


@pytest.mark.parametrize(
    ("batch", "got"),
    [
        ({"text": torch.zeros(2)}, "a dictionary with 'text'"),
        ({}, "a dictionary with nothing"),
        (torch.zeros(2), "Tensor"),
        ([torch.zeros(2)], "a list of 1"),
        ((torch.zeros(2), torch.zeros(2)), "a tuple of 2"),
        ((torch.zeros(2), torch.zeros((2, 2), dtype=torch.int64)), "a tuple of 2"),
    ],
)
def test_batches_without_rows_are_refused(batch: Any, got: str, votes: Votes) -> None:
    with pytest.raises(InputError) as error:
        with_targets(batch, Multipass(votes, seed=0), 0)
    assert str(error.value) == (
        f"a batch must be a dictionary with 'item' or a pair of inputs and rows of items, but got {got}. "
        "Wrap the samples in VotesDataset, and let a collator of your own keep the rows."
    )


def test_bad_epochs_and_deliveries_are_refused_before_the_first_batch(votes: Votes) -> None:
    loader = DataLoader(VotesDataset(range(20), votes), collate_fn=default_collate)
    with pytest.raises(InputError, match="epoch must be a whole number of at least 0, but got -1"):
        VotesLoader(loader, Multipass(votes, seed=0)).epoch(-1)
    with pytest.raises(InputError, match=r"skip must be a whole number of at least 0, but got 1\.5"):
        VotesLoader(loader, Multipass(votes, seed=0)).epoch(0, skip=1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError) as error:
        VotesLoader(loader, votes)  # type: ignore[arg-type]
    assert str(error.value) == (
        "delivery must be Delivery, but got Votes. Build one, e.g. votewise.Multipass(votes, seed=0)."
    )


@pytest.mark.parametrize("module", ["votewise", "votewise.integrations"])
def test_trainers_are_imported_only_by_name(module: str) -> None:
    script = (
        f"import sys, {module}; "
        "print({'torch', 'lightning', 'transformers', 'sklearn', 'keras', 'lightgbm'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


@pytest.mark.parametrize(
    ("module", "lacking", "package", "extra"),
    [
        ("torch", "torch", "torch", "train"),
        ("lightning", "lightning", "lightning", "lightning"),
        ("transformers", "transformers", "transformers", "transformers"),
        ("keras", "keras", "keras", "keras"),
        ("sklearn", "sklearn", "scikit-learn", "sklearn"),
    ],
)
def test_a_missing_trainer_names_the_extra_that_brings_it(module: str, lacking: str, package: str, extra: str) -> None:
    script = f"import sys; sys.modules[{lacking!r}] = None; import votewise.integrations.{module}"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1] == (
        f"votewise._errors.MissingExtraError: votewise.integrations.{module} needs the package {package}, "
        f"which is not installed. Install it with: pip install 'votewise[{extra}]'."
    )


def test_what_a_trainer_lacks_itself_is_not_blamed_on_the_trainer(tmp_path: Path) -> None:
    (tmp_path / "lightning").mkdir()
    (tmp_path / "lightning" / "__init__.py").write_text("import something_that_is_missing\n", encoding="utf-8")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import votewise.integrations.lightning"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'something_that_is_missing'"


def test_samples_are_not_searched_for_item_ids(votes: Votes) -> None:
    class Tokens(list[int]):
        looked = 0

        def __iter__(self) -> Any:
            Tokens.looked += 1
            return super().__iter__()

    samples: Any = [{"row": n % 3, "tokens": Tokens(range(9))} for n in range(5)]
    assert not check_items(DataLoader(samples, batch_size=2), votes)
    assert Tokens.looked == 0
