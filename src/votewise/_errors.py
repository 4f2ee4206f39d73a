"""What votewise raises. Every message says what was wanted, what was given, and what to do."""

from __future__ import annotations

from typing import Any


class VotewiseError(Exception):
    """Base of every error votewise raises on purpose."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors of other processes arrive whole, although their kinds are built from different parts."""
        return _rebuilt, (type(self), self.args, vars(self))


def _rebuilt(kind: type[VotewiseError], args: tuple[Any, ...], values: dict[str, Any]) -> VotewiseError:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(values)
    return error


class InputError(VotewiseError, ValueError):
    """Something handed to votewise does not have the content it needs."""

    def __init__(self, wanted: str, got: str, remedy: str) -> None:
        """Compose the message from its three parts, none with a full stop; the remedy may be a question."""
        super().__init__(f"{wanted}, but {got}. {remedy}" + ("" if remedy.endswith("?") else "."))
        self.wanted = wanted
        self.got = got
        self.remedy = remedy


class MissingFileError(InputError):
    """A file that is not there."""

    def __init__(self, path: str, near: str | None) -> None:
        """Name the file, and one with a similar name in the same folder."""
        VotewiseError.__init__(self, f"cannot find {path!r}." + (f" Did you mean {near!r}?" if near else ""))
        self.wanted, self.got, self.remedy = f"{path!r} must be a file", "it does not exist", "Check the path"


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
