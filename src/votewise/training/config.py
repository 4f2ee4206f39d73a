"""What a training run is told."""

from __future__ import annotations

from dataclasses import dataclass

from votewise._checks import check_whole_number
from votewise._errors import InputError


@dataclass(frozen=True)
class TrainConfig:
    """The recipe of a run: AdamW with a cosine schedule over whole epochs.

    Attributes:
        epochs: passes over the training items.
        batch_size: items a step; the last batch of an epoch may be smaller.
        learning_rate: at the first epoch; it falls along a cosine towards 0.
        weight_decay: decoupled.
    """

    epochs: int = 20
    batch_size: int = 256
    learning_rate: float = 1e-2
    weight_decay: float = 1e-4

    def __post_init__(self) -> None:
        """Refuse what cannot train."""
        check_whole_number("epochs", self.epochs, least=1)
        check_whole_number("batch_size", self.batch_size, least=1)
        if not (self.learning_rate > 0 and self.weight_decay >= 0):
            raise InputError(
                "learning_rate must be positive and weight_decay not negative",
                f"{self.learning_rate!r} and {self.weight_decay!r} came",
                "Pass e.g. 1e-2 and 1e-4",
            )
