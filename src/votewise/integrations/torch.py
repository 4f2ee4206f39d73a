"""PyTorch: samples carry the row of their item, and the main process turns rows into the targets of the epoch.

A worker of a `DataLoader` keeps the copy of the dataset it was started with, so with persistent workers a dataset that
knows the epoch would deliver the labels of epoch 0 for ever. Rows never go stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from operator import index
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from votewise._checks import check_kind, check_whole_number
from votewise._errors import InputError, MissingExtraError
from votewise.delivery import Delivery

try:
    import torch
    from torch import Tensor
    from torch.utils.data import DataLoader, Dataset
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "torch":
        raise  # it is there, and lacks something itself
    raise MissingExtraError("votewise.integrations.torch", "torch", "train") from error

ITEM, TARGET = "item", "target"


class HasItems(Protocol):
    """Votes, targets or a delivery: anything with one row per item."""

    @property
    def item_ids(self) -> npt.NDArray[np.str_]:
        """(N,) text."""


class VotesDataset(Dataset[Any]):
    """Samples with the row of their item: `(sample, row)`, or the sample with an "item" where it is a dictionary.

    Take parts of it with `torch.utils.data.Subset` or `random_split`: the rows stay those of the votes.

    Example:
        >>> from votewise import Votes
        >>> VotesDataset(["good", "bad"], Votes.from_counts([[3, 1], [0, 4]]))[1]
        ('bad', 1)
    """

    def __init__(self, samples: Any, votes: HasItems) -> None:
        """Number the samples.

        Args:
            samples: N samples with `len` and `[]`, e.g. a tensor, a list or another dataset, in the order of the votes.
            votes: votes, targets or a delivery of N items.
        """
        is_table = isinstance(samples, Mapping) or hasattr(samples, "columns")  # whose [] takes names
        if is_table or not (hasattr(samples, "__len__") and hasattr(samples, "__getitem__")):
            raise InputError(
                "samples must have len() and [] by number",
                f"got {type(samples).__name__}",
                "Pass a map-style dataset or a list",
            )
        if len(samples) != len(votes.item_ids):
            raise InputError(
                "there must be one sample for each item of the votes",
                f"got {len(samples):,} samples and {len(votes.item_ids):,} items",
                "Take the same items of both, and parts afterwards with torch.utils.data.Subset",
            )
        self.samples = samples
        self.item_ids = votes.item_ids

    def __len__(self) -> int:
        """The number of samples, and of items."""
        return len(self.samples)

    def __getitem__(self, row: int) -> Any:
        """The sample of an item, with its row; -1 is the last row."""
        try:
            row = range(len(self))[index(row)]
        except TypeError:
            raise InputError(
                "samples must be addressed by one row number",
                f"got {type(row).__name__}",
                "Take parts with torch.utils.data.Subset",
            ) from None
        sample = self.samples[row]
        if not isinstance(sample, Mapping):
            return sample, row
        for key in (ITEM, TARGET):
            if key in sample:
                raise InputError(
                    f"a sample must leave the key {key!r} to votewise", f"sample {row} has one", "Rename or drop it"
                )
        return {**sample, ITEM: row}


class VotesLoader:
    """The batches of a `DataLoader` over a `VotesDataset`, with the targets of their epoch.

    It holds no epoch and so has nothing to save: ask for the epoch your loop is in.
    """

    def __init__(self, loader: DataLoader[Any], delivery: Delivery) -> None:
        """Join batches and labels.

        Args:
            loader: any loader; workers, samplers and collating are its own.
            delivery: the labels, of the items the dataset was built with.
        """
        check_kind("delivery", delivery, Delivery, "Build one, e.g. votewise.Multipass(votes, seed=0)")
        self._rows_known = check_items(loader, delivery)
        self.loader = loader
        self.delivery = delivery

    def __len__(self) -> int:
        """The number of batches of an epoch."""
        return len(self.loader)

    def epoch(self, epoch: int, *, skip: int = 0) -> Iterator[Any]:
        """The batches of an epoch: `(inputs, targets)`, or dictionaries with a "target"; targets are (B, K) float32.

        Samplers with a `set_epoch`, such as `DistributedSampler`, are given the epoch.

        Args:
            epoch: counted from 0.
            skip: batches to leave out at the start, to resume inside an epoch; they are loaded and discarded.
        """
        return self._batches(check_whole_number("epoch", epoch), check_whole_number("skip", skip))

    def _batches(self, epoch: int, skip: int) -> Iterator[Any]:
        """The batches; samplers are given the epoch when its first batch is requested, not before."""
        for part in _samplers(self.loader):
            if hasattr(part, "set_epoch"):
                part.set_epoch(epoch)
        for batch in islice(self.loader, skip, None):
            check_named(batch, self._rows_known)
            yield with_targets(batch, self.delivery, epoch)


def with_targets(batch: Any, delivery: Delivery, epoch: int) -> Any:
    """A batch of a `VotesDataset` with the targets of an epoch in place of its rows, on their device.

    Args:
        batch: a dictionary with an "item", which stays, or a pair of inputs and rows.
        delivery: the labels.
        epoch: counted from 0.
    """
    targets = targets_of(delivery, epoch, item_rows(batch))
    return {**batch, TARGET: targets} if isinstance(batch, Mapping) else (batch[0], targets)


def targets_of(delivery: Delivery, epoch: int, rows: Tensor) -> Tensor:
    """Targets (B, K) float32 of items in an epoch, on the device of their rows."""
    return torch.from_numpy(delivery.targets(epoch, rows.cpu().numpy())).to(rows.device)


def check_items(loader: Any, items: HasItems) -> bool:
    """Refuse a loader whose dataset was built on other items: its rows would mean other items.

    Args:
        loader: a loader, or several in a list or dictionary.
        items: what its rows are looked up in.

    Returns:
        Whether every dataset inside says which items its rows are: a `VotesDataset`, or another with `item_ids`.
    """
    sources = list(_sources(loader))
    for source in sources:
        if source is not None and not np.array_equal(source.item_ids, items.item_ids):
            numbers = len(source.item_ids), len(items.item_ids)
            raise InputError(
                "the dataset and the labels must have the same items in the same order",
                "their ids differ" if numbers[0] == numbers[1] else f"they have {numbers[0]:,} and {numbers[1]:,}",
                "Build both on the same votes, and take parts with torch.utils.data.Subset",
            )
    return None not in sources


def check_named(batch: Any, rows_known: bool) -> None:
    """Refuse a pair from a loader without item ids: its second part may as well be class labels.

    Args:
        batch: a batch; a dictionary names its rows itself, as "item".
        rows_known: what `check_items` found.
    """
    if not rows_known and not isinstance(batch, Mapping):
        raise InputError(
            "the second part of a batch must be known to hold rows of items, not class labels",
            "the loader has no VotesDataset",
            f"Wrap the samples in VotesDataset, or name the rows: a dictionary with {ITEM!r}, "
            "or a dataset with an attribute item_ids",
        )


def _sources(part: Any) -> Iterator[Any]:
    """The datasets with item ids inside a loader, a subset or a concatenation; None for a dataset without."""
    if hasattr(part, "item_ids"):
        yield part
        return
    several = part if isinstance(part, (list, tuple, dict)) else getattr(part, "datasets", None)
    if several is not None:
        inner = list(several.values() if isinstance(several, dict) else several)
    else:
        inner = [getattr(part, "dataset", None)]
    for one in inner:
        # A list of samples is a data set, too, of which nothing is known; its samples are not looked through.
        if isinstance(one, (Dataset, DataLoader)) or hasattr(one, "item_ids"):
            yield from _sources(one)
        else:
            yield None


def item_rows(batch: Any) -> Tensor:
    """The rows (B,) of a batch's items, as `VotesDataset` and collating left them."""
    rows = batch.get(ITEM) if isinstance(batch, Mapping) else batch[1] if _is_pair(batch) else None
    if isinstance(rows, Tensor) and rows.ndim == 1 and not rows.is_floating_point():
        return rows
    raise InputError(
        f"a batch must be a dictionary with {ITEM!r} or a pair of inputs and rows of items",
        f"got {_described(batch)}",
        "Wrap the samples in VotesDataset, and let a collator of your own keep the rows",
    )


def _samplers(loader: DataLoader[Any]) -> tuple[Any, ...]:
    """What may decide the order of a loader: itself, its samplers, and the one inside its sampler of batches."""
    of_batches = getattr(loader, "batch_sampler", None)
    return loader, getattr(loader, "sampler", None), of_batches, getattr(of_batches, "sampler", None)


def _is_pair(batch: Any) -> bool:
    return isinstance(batch, (list, tuple)) and len(batch) == 2


def _described(batch: Any) -> str:
    """A batch in a few words."""
    if isinstance(batch, Mapping):
        return f"a dictionary with {', '.join(map(repr, batch)) or 'nothing'}"
    if isinstance(batch, (list, tuple)):
        return f"a {type(batch).__name__} of {len(batch)}"
    return type(batch).__name__
