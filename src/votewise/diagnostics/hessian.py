"""The Hessian of the mean soft cross-entropy, as products with vectors; it is never written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, Self

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


class SymmetricOperator(Protocol):
    """A symmetric matrix known by its products; what the estimators of this room take."""

    @property
    def size(self) -> int:
        """Rows, and columns."""

    @property
    def dtype(self) -> torch.dtype:
        """Of vectors."""

    @property
    def device(self) -> torch.device:
        """Where vectors lie."""

    def product(self, vector: Tensor, *, exact: bool = False) -> Tensor:
        """The matrix times a vector (size,); `exact` is for final numbers where products are else rounded."""


class Hessian:
    """Second derivatives of the mean over items of -sum_k p_k log softmax(z)_k, by all trainable parameters.

    The model is measured in eval mode, its batch norms with frozen statistics, and found again as it was. Parameters
    follow each other as in `model.parameters()`, each flattened.

    With `keep_graph` the gradient is derived once and its graph kept, so that a product is one pass back through it
    (Pearlmutter 1994); weights must not change meanwhile. Memory goes with `release`, or at the end of a `with`.

    Attributes:
        size: number of trainable parameters.
        loss: the mean soft cross-entropy.
        dtype: of the parameters.
        device: of the parameters.

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
            model: any module from inputs to (B, K) logits that can be derived twice.
            inputs: (N, ...).
            targets: (N, K) distributions.
            batch_size: rows of a pass; all by default. Bounds memory only with `keep_graph=False`.
            keep_graph: whether to keep the gradient's graph rather than derive it again for each product.
            tf32: whether products may round to TF32 on a GPU, where they are not asked to be exact.
        """
        self._parameters = check_trainable(model)
        self._model, self._data = model, check_data(inputs, targets)
        self._rows = check_batch_size(batch_size, len(self._data.targets))
        self._tf32, self._keep_graph, self._released = tf32, keep_graph, False
        self.size = sum(parameter.numel() for parameter in self._parameters)
        self.dtype, self.device = self._parameters[0].dtype, self._parameters[0].device
        self._graphs: list[tuple[Tensor, ...]] = []
        self.loss = self._derive()

    def product(self, vector: Tensor, *, exact: bool = False) -> Tensor:
        """The Hessian times a vector (size,)."""
        self._check_product(vector)
        pieces = torch.split(vector.detach(), [parameter.numel() for parameter in self._parameters])
        direction = [piece.view_as(parameter) for piece, parameter in zip(pieces, self._parameters, strict=True)]
        with arithmetic(self.device, tf32=self._tf32 and not exact):
            if self._keep_graph:
                return self._product(self._graphs, direction)
            with self._measuring():
                return self._product((gradient for _, gradient in self._gradients()), direction)

    def release(self) -> None:
        """Let go of the graph; there are no products afterwards."""
        self._graphs.clear()
        self._released = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @contextmanager
    def _measuring(self) -> Iterator[None]:
        with evaluating(self._model), QuickSecondDerivatives():
            yield

    def _gradients(self) -> Iterator[tuple[Tensor, tuple[Tensor, ...]]]:
        """Each batch's share of the mean loss, and its gradient with the graph that leads to it."""
        for batch in self._data.batches(self._rows, self.device):
            ready = batch._replace(inputs=_channels_last(batch.inputs))
            share = summed_loss(self._model, ready) / len(self._data.targets)
            yield share.detach(), _gradient(share, self._parameters)

    def _derive(self) -> float:
        """The mean loss, the graphs of its gradient being kept where they are to be."""
        loss, sums = torch.zeros((), device=self.device), torch.zeros((), device=self.device)
        with arithmetic(self.device), self._measuring():
            for share, gradient in self._gradients():
                loss = loss + share
                sums = sums + sum(part.detach().sum() for part in gradient)
                if self._keep_graph:
                    self._graphs.append(gradient)
        check_finite("the loss and its gradient", (loss + sums).item())
        return loss.item()

    def _product(self, gradients: Iterable[tuple[Tensor, ...]], direction: list[Tensor]) -> Tensor:
        """The sum over batches of the derivatives of their gradients along a direction."""
        total = torch.zeros(self.size, dtype=self.dtype, device=self.device)
        for gradient in gradients:
            total += _derivative_along(gradient, self._parameters, direction, keep_graph=self._keep_graph)
        return total

    def _check_product(self, vector: Tensor) -> None:
        if self._released:
            raise InputError("a Hessian gives products until it is released", "it was", "Make a new one")
        check_kind("vector", vector, Tensor, "Pass a tensor")
        if vector.shape != (self.size,):
            raise InputError(
                f"the vector must be flat, one number for each of {self.size:,} parameters",
                f"its shape is {tuple(vector.shape)}",
                "Flatten and join the parts in the order of model.parameters()",
            )


def _channels_last(inputs: Tensor) -> Tensor:
    """Images as a GPU's matrix units read them."""
    return inputs.contiguous(memory_format=torch.channels_last) if inputs.is_cuda and inputs.ndim == 4 else inputs


def _gradient(loss: Tensor, parameters: list[nn.Parameter]) -> tuple[Tensor, ...]:
    """Derivatives of a loss that can be derived again; zeros where it does not depend on a parameter."""
    if not loss.requires_grad:
        raise InputError(
            "the logits must have a derivative by the model's parameters",
            "they have none",
            "Take no_grad and detach out of the model",
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
    """Say in words that torch cannot; that memory is short is said as it is."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        told = str(error).partition("\n")[0].rstrip(".")
        raise InputError(
            "the model must be one that can be derived twice",
            f"torch says: {told}",
            "Measure it uncompiled, or write that layer by operations that have second derivatives",
        ) from error
