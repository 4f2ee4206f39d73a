"""What votewise raises. Every message says what was wanted, what was given, and what to do."""

from __future__ import annotations


class VotewiseError(Exception):
    """Base of every error votewise raises on purpose."""


class InputError(VotewiseError, ValueError):
    """Something handed to votewise does not have the content it needs."""

    def __init__(self, wanted: str, got: str, remedy: str) -> None:
        """Compose the message from its three parts, none with a full stop; the remedy may be a question."""
        super().__init__(f"{wanted}, but {got}. {remedy}" + ("" if remedy.endswith("?") else "."))
        self.wanted = wanted
        self.got = got
        self.remedy = remedy


class MissingExtraError(VotewiseError, ImportError):
    """A part of votewise needs an optional dependency that is not installed."""

    def __init__(self, purpose: str, module: str, extra: str) -> None:
        """Name the missing module and the extra that brings it."""
        super().__init__(
            f"{purpose} needs the package {module}, which is not installed. "
            f"Install it with: pip install 'votewise[{extra}]'."
        )


class DivergedError(VotewiseError):
    """A training run whose loss is no longer a number."""

    def __init__(self, epoch: int) -> None:
        """Say in which epoch, counted from 1."""
        super().__init__(
            f"the training loss became NaN or infinite in epoch {epoch + 1}. "
            "Lower the learning rate, or check the inputs."
        )
        self.epoch = epoch
