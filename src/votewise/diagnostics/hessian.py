"""The Hessian of the mean soft cross-entropy, as products with vectors; it is never written out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Protocol, Self, TypeVar

import numpy.typing as npt
import torch
from torch import Tensor, nn

from votewise._checks import check_kind
from votewise._errors import InputError
from votewise.diagnostics._derivatives import QuickSecondDerivatives
from votewise.diagnostics._measuring import (
    arithmetic,
    check_batch_size,
    check_data,
    check_finite,
    check_trainable,
    evaluating,
    summed_loss,
)

Result = TypeVar("Result")


class SymmetricOperator(Protocol):
    """A symmetric matrix known by its products; the estimators of this package take one."""

    @property
    def size(self) -> int:
        """Rows, and columns."""

    @property
    def dtype(self) -> torch.dtype:
        """The type of vectors."""

    @property
    def device(self) -> torch.device:
        """The device of vectors."""

    def product(self, vector: Tensor, *, exact: bool = False) -> Tensor:
        """The matrix times a vector (size,); `exact` is for final numbers where other products are rounded."""


class Hessian:
    """Second derivatives of the mean over items of -sum_k p_k log softmax(z)_k by all trainable parameters.

    The model is measured in eval mode, its batch norms with frozen statistics, and left as it was. Parameters are in
    the order of `model.parameters()`, each flattened.

    With `keep_graph` the gradient is computed once and its graph kept, so that a product is one backward pass through
    it (Pearlmutter 1994); weights must not change meanwhile. `release`, or the end of a `with`, frees the memory.
    Layers are first computed as in `_derivatives`, and by torch alone if that raises.

    Attributes:
        size: number of trainable parameters.
        loss: the mean soft cross-entropy.
        dtype: type of the parameters.
        device: device of the parameters.

    Example:
        >>> model = nn.Linear(1, 2, bias=False).double()
        >>> _ = nn.init.zeros_(model.weight)
        >>> with Hessian(model, torch.ones(1, 1).double(), [[0.3, 0.7]]) as hessian:
        ...     hessian.product(torch.tensor([1.0, 0.0]).double()).tolist()
        [0.25, -0.25]
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Tensor,
        targets: npt.ArrayLike | Tensor,
        *,
        batch_size: int | None = None,
        keep_graph: bool = True,
        tf32: bool = False,
    ) -> None:
        """Derive the gradient.

        Args:
            model: any module from inputs to (B, K) logits that can be differentiated twice.
            inputs: (N, ...).
            targets: (N, K) distributions.
            batch_size: rows per pass; all by default. Bounds memory only with `keep_graph=False`.
            keep_graph: whether to keep the gradient's graph rather than compute it again for each product.
            tf32: whether products not asked to be exact may round to TF32 on a GPU.
        """
        self._parameters = check_trainable(model)
        self._model, self._data = model, check_data(inputs, targets)
        self._rows = check_batch_size(batch_size, len(self._data.targets))
        self._tf32, self._keep_graph, self._released, self._quick = tf32, keep_graph, False, True
        self.size = sum(parameter.numel() for parameter in self._parameters)
        self.dtype, self.device = self._parameters[0].dtype, self._parameters[0].device
        self._graphs: list[tuple[Tensor, ...]] = []
        self.loss = self._attempt(self._derive)

    def product(self, vector: Tensor, *, exact: bool = False) -> Tensor:
        """The Hessian times a vector (size,)."""
        self._check_product(vector)
        pieces = torch.split(vector.detach(), [parameter.numel() for parameter in self._parameters])
        direction = [piece.view_as(parameter) for piece, parameter in zip(pieces, self._parameters, strict=True)]
        with arithmetic(self.device, tf32=self._tf32 and not exact):
            return self._attempt(lambda: self._product(direction))

    def release(self) -> None:
        """Free the graph; there are no products afterwards."""
        self._graphs.clear()
        self._released = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _attempt(self, work: Callable[[], Result]) -> Result:
        """Work with the fast layers, or with torch's own if that raises."""
        try:
            with evaluating(self._model):  # products, too, as a checkpointed layer runs again in the backward pass
                return work()
        except torch.OutOfMemoryError:
            raise
        except Exception:
            if not self._quick:
                raise
        self._quick = False  # and outside of `except`, where the error would hold on to memory
        self._graphs.clear()
        return self._attempt(work)

    def _gradients(self) -> Iterator[tuple[Tensor, tuple[Tensor, ...]]]:
        """Each batch's share of the mean loss, and its gradient with its graph."""
        for batch in self._data.batches(self._rows, self.device):
            ready = batch._replace(inputs=_channels_last(batch.inputs))
            with QuickSecondDerivatives() if self._quick else nullcontext():
                share = summed_loss(self._model, ready) / len(self._data.targets)
            yield share.detach(), _gradient(share, self._parameters)

    def _derive(self) -> float:
        """The mean loss; keeps the graphs of its gradient if they are to be kept."""
        loss, sums = torch.zeros((), device=self.device), torch.zeros((), device=self.device)
        self._graphs.clear()
        with arithmetic(self.device):
            for share, gradient in self._gradients():
                loss = loss + share
                sums = sums + sum(part.detach().sum() for part in gradient)
                if self._keep_graph:
                    self._graphs.append(gradient)
        check_finite("the loss and its gradient", (loss + sums).item())
        return loss.item()

    def _product(self, direction: list[Tensor]) -> Tensor:
        """The sum over batches of the derivatives of their gradients along a direction."""
        gradients: Iterable[tuple[Tensor, ...]] = (gradient for _, gradient in self._gradients())
        if self._keep_graph:
            if not self._graphs:
                self._derive()
            gradients = self._graphs
        total = torch.zeros(self.size, dtype=self.dtype, device=self.device)
        for gradient in gradients:
            total += _derivative_along(gradient, self._parameters, direction, keep_graph=self._keep_graph)
        return total

    def _check_product(self, vector: Tensor) -> None:
        if self._released:
            raise InputError("a Hessian must be in use", "this Hessian has been released", "Make a new one")
        check_kind("vector", vector, Tensor, "Pass a tensor")
        if vector.shape != (self.size,):
            raise InputError(
                f"the vector must be flat, one number for each of {self.size:,} parameters",
                f"its shape is {tuple(vector.shape)}",
                "Flatten and concatenate the parts in the order of model.parameters()",
            )


def _channels_last(inputs: Tensor) -> Tensor:
    """Images in the layout that a GPU's matrix units read."""
    return inputs.contiguous(memory_format=torch.channels_last) if inputs.is_cuda and inputs.ndim == 4 else inputs


def _gradient(loss: Tensor, parameters: list[nn.Parameter]) -> tuple[Tensor, ...]:
    """Derivatives of a loss that can be differentiated again; zeros where it does not depend on a parameter."""
    if not loss.requires_grad:
        raise InputError(
            "the logits must have a derivative with respect to the model's parameters",
            "they have none",
            "Remove no_grad() and detach() from the model",
        )
    with _deriving_twice():
        return torch.autograd.grad(loss, parameters, create_graph=True, materialize_grads=True)


def _derivative_along(
    gradient: tuple[Tensor, ...], parameters: list[nn.Parameter], direction: list[Tensor], *, keep_graph: bool
) -> Tensor:
    """Derivative (size,) of <gradient, direction>, which is the Hessian times the direction."""
    varying = [(part, along) for part, along in zip(gradient, direction, strict=True) if part.requires_grad]
    if not varying:
        return torch.cat([torch.zeros_like(parameter).flatten() for parameter in parameters])
    parts, along = zip(*varying, strict=True)
    with _deriving_twice():
        derivative = torch.autograd.grad(parts, parameters, along, retain_graph=keep_graph, materialize_grads=True)
    return torch.cat([part.to_dense().flatten() for part in derivative])


@contextmanager
def _deriving_twice() -> Iterator[None]:
    """Turn an error of torch into an `InputError`; one that says that memory is short stays as it is."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            "the model must have second derivatives",
            f"torch says: {reason}",
            "Measure it uncompiled, or write that layer with operations that have second derivatives",
        ) from error
