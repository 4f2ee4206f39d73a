"""The contract between votes and any trainer: targets as a pure function of (seed, epoch, item)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import IntArray, check_rows, check_whole_number
from votewise._errors import InputError

TargetArray = npt.NDArray[np.float32]


class Delivery(ABC):
    """How labels reach the loss. No state: the same question always has the same answer.

    So the order, batch, worker or process in which items are requested does not matter, nor whether
    training was interrupted. Items are addressed by row number and drawn by id: an item keeps its labels
    in every subset of the votes it is part of.

    Attributes:
        item_ids: (N,) text.
        classes: K names, the meaning of target columns and label numbers.
        changes: whether an item may be given something else in another epoch.
    """

    item_ids: npt.NDArray[np.str_]
    classes: tuple[str, ...]
    changes: bool = True

    @abstractmethod
    def targets(self, epoch: int, items: npt.ArrayLike | None = None) -> TargetArray:
        """What the loss is given in an epoch, (B, K) float32, rows sum to one.

        Args:
            epoch: counted from 0.
            items: row numbers, (B,); all N if left out.
        """

    def _rows(self, items: npt.ArrayLike | None) -> npt.NDArray[Any] | slice:
        """Checked row numbers, or a slice over all."""
        return slice(None) if items is None else check_rows(items, len(self.item_ids))


class HardDelivery(Delivery):
    """A delivery of one class per item: the targets are one-hot rows of the labels."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies do not pass through `__new__`, which may need arguments."""
        return object.__new__, (type(self),), self.__dict__

    @abstractmethod
    def labels(self, epoch: int, items: npt.ArrayLike | None = None) -> IntArray:
        """The class each item has in an epoch, (B,) int64.

        Args:
            epoch: counted from 0.
            items: row numbers, (B,); all N if left out.
        """

    def targets(self, epoch: int, items: npt.ArrayLike | None = None) -> TargetArray:
        """One-hot rows of `labels(epoch, items)`, (B, K) float32."""
        labels = self.labels(epoch, items)
        one_hot = np.zeros((len(labels), len(self.classes)), dtype=np.float32)
        one_hot[np.arange(len(labels)), labels] = 1
        return one_hot


def check_epoch(epoch: int) -> int:
    """Return an epoch as an int, from 0 to 2**63 - 1, which 64-bit arithmetic can hold."""
    if check_whole_number("epoch", epoch) >= 2**63:
        raise InputError("epoch must be less than 2**63", f"got {epoch}", "Count epochs from 0")
    return int(epoch)
