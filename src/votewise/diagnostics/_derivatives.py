"""Layers written so that their second derivatives are fast and right; the values are those of torch.

The second derivative of torch's convolution treats items as channels for one of its terms, and that of its batch norm
uses the formula for training: on a GPU both are several times slower than the work they do. Here a convolution is
differentiated by convolutions, and a frozen batch norm behind one is folded into its weights, which are few. A bag of
embeddings, which torch cannot differentiate twice, is summed from the embeddings. A weight norm, whose second
derivative torch gets wrong, is written as its formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.modules.utils import _pair
from torch.overrides import TorchFunctionMode


class QuickSecondDerivatives(TorchFunctionMode):
    """While active, convolutions of images, frozen batch norms, bags and weight norms use the functions below."""

    def __init__(self) -> None:
        """Start before any convolution."""
        super().__init__()
        self._last: _Convolved | None = None

    def __torch_function__(
        self, func: Callable[..., Any], types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call the fast version of a function, if it has one."""
        options = kwargs or {}
        if func is torch.conv2d and not _autocast(args, options):
            self._last = _conv2d(*args, **options)
            return self._last.output
        if func is functional.batch_norm and not _autocast(args, options):
            return _batch_norm(self._last, *args, **options)
        if func is torch._weight_norm:
            return _weight_norm(*args, **options)
        if func is functional.embedding_bag:
            return _embedding_bag(*args, **options)
        return func(*args, **options)


class _Convolved(NamedTuple):
    """A convolution that was computed; `make` computes it again with another weight and bias."""

    output: Tensor
    input: Tensor
    weight: Tensor
    bias: Tensor | None
    versions: list[int]
    recorded: bool
    make: Callable[[Tensor, Tensor | None], Tensor]

    def gave(self, values: Tensor) -> bool:
        """Whether these are its output, and computing it again now would give the same values and derivatives.

        Not if one of the tensors was changed in place meanwhile, gradients were switched on or off, or someone asked
        for the gradient of the output itself.
        """
        watched = values.retains_grad or bool(values._backward_hooks)
        return values is self.output and not watched and self.versions == self.now and self.recorded == _recording()

    @property
    def now(self) -> list[int]:
        """How often each tensor has been changed in place."""
        return [each._version for each in (self.output, self.input, self.weight, self.bias) if each is not None]


class _Geometry(NamedTuple):
    """How a convolution moves over its input."""

    stride: Any
    padding: Any
    dilation: Any
    groups: int


class _Convolve(torch.autograd.Function):
    """y = x * w. Its derivatives are the two functions below, and theirs are these three again.

    All three are derivatives of the one form <g, x * w>, which is linear in each of g, x and w.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, geometry: _Geometry) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.geometry = geometry
        return torch.conv2d(x, weight.contiguous(memory_format=_layout(x)), None, *geometry)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        wants_x, wants_weight, _ = ctx.needs_input_grad
        return (
            _ToInput.apply(g, weight, x.shape, ctx.geometry) if wants_x else None,  # type: ignore[no-untyped-call]
            _ToWeight.apply(x, g, weight.shape, ctx.geometry) if wants_weight else None,  # type: ignore[no-untyped-call]
            None,
        )


class _ToInput(torch.autograd.Function):
    """The gradient of the input from the gradient g of the output."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, weight: Tensor, shape: torch.Size, geometry: _Geometry) -> Tensor:
        ctx.save_for_backward(g, weight)
        ctx.geometry = geometry
        like_x = torch.empty(shape, dtype=g.dtype, device=g.device, memory_format=_layout(g))
        return _backward(g, like_x, weight, geometry, [True, False, False])[0]

    @staticmethod
    def backward(ctx: Any, x: Tensor) -> Any:
        g, weight = ctx.saved_tensors
        wants_g, wants_weight, _, _ = ctx.needs_input_grad
        return (
            _Convolve.apply(x, weight, ctx.geometry) if wants_g else None,  # type: ignore[no-untyped-call]
            _ToWeight.apply(x, g, weight.shape, ctx.geometry) if wants_weight else None,  # type: ignore[no-untyped-call]
            None,
            None,
        )


class _ToWeight(torch.autograd.Function):
    """The gradient of the weight from the gradient g of the output."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, g: Tensor, shape: torch.Size, geometry: _Geometry) -> Tensor:
        ctx.save_for_backward(x, g)
        ctx.geometry = geometry
        like_weight = torch.empty(shape, dtype=x.dtype, device=x.device)
        return _backward(g, x, like_weight, geometry, [False, True, False])[1]

    @staticmethod
    def backward(ctx: Any, weight: Tensor) -> Any:
        x, g = ctx.saved_tensors
        wants_x, wants_g, _, _ = ctx.needs_input_grad
        return (
            _ToInput.apply(g, weight, x.shape, ctx.geometry) if wants_x else None,  # type: ignore[no-untyped-call]
            _Convolve.apply(x, weight, ctx.geometry) if wants_g else None,  # type: ignore[no-untyped-call]
            None,
            None,
        )


def _conv2d(
    input: Tensor,  # noqa: A002
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> _Convolved:
    """`torch.conv2d`, which still does padding given by name, and single images."""

    def make(weight: Tensor, bias: Tensor | None) -> Tensor:
        if isinstance(padding, str) or input.ndim != 4:
            return torch.conv2d(input, weight, bias, stride, padding, dilation, groups)
        geometry = _Geometry(stride, padding, dilation, groups)
        y: Tensor = _Convolve.apply(input, weight, geometry)  # type: ignore[no-untyped-call]
        return y if bias is None else y + bias[:, None, None]

    done = _Convolved(make(weight, bias), input, weight, bias, [], _recording(), make)
    return done._replace(versions=done.now)


def _recording() -> bool:
    return torch.is_grad_enabled()


def _autocast(args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether the function would choose the precision of its arguments itself."""
    first: Tensor = args[0] if args else options["input"]
    return torch.is_autocast_enabled(first.device.type)


def _batch_norm(
    before: _Convolved | None,
    input: Tensor,  # noqa: A002
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """`functional.batch_norm`; with frozen statistics it is (x - mean) / sqrt(var + eps) * weight + bias."""
    if training or running_mean is None or running_var is None:
        return functional.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    scale = torch.rsqrt(running_var + eps) * (1 if weight is None else weight)
    shift = (0 if bias is None else bias) - running_mean * scale
    if before is not None and before.gave(input):
        own = shift if before.bias is None else shift + before.bias * scale
        return before.make(before.weight * scale[:, None, None, None], own)
    shape = (1, -1) + (1,) * (input.ndim - 2)
    return input * scale.view(shape) + shift.view(shape)


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """`torch._weight_norm`: g v / ||v||, one norm for each index of a dimension, or for all of v with -1."""
    return v * (g / torch.norm_except_dim(v, 2, dim))


# Options of a bag that are left to torch.
_UNUSUAL = ("offsets", "per_sample_weights", "max_norm", "scale_grad_by_freq")


def _embedding_bag(bags: Tensor, weight: Tensor, **options: Any) -> Tensor:
    """`functional.embedding_bag` of bags (B, L) that are summed or averaged, padding left out."""
    mode, padding = options.get("mode", "mean"), options.get("padding_idx")
    usual = all(options.get(name) is None or options[name] is False for name in _UNUSUAL)
    if bags.ndim != 2 or bags.is_nested or bags.is_floating_point() or mode not in ("sum", "mean") or not usual:
        return functional.embedding_bag(bags, weight, **options)
    kept = torch.ones_like(bags, dtype=torch.bool) if padding is None else bags != padding % len(weight)
    total = functional.embedding(bags, weight).masked_fill(~kept[:, :, None], 0).sum(dim=1)
    return total if mode == "sum" else total / kept.sum(dim=1, keepdim=True).clamp_min(1)


def _backward(
    g: Tensor, x: Tensor, weight: Tensor, geometry: _Geometry, wanted: list[bool]
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of input, weight and bias, those that are wanted, from that of the output.

    If the gradient of the input or weight is wanted, only its shape and layout matter.
    """
    stride, padding, dilation = (list(_pair(value)) for value in geometry[:3])
    laid_out = weight.contiguous(memory_format=_layout(g))
    found: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.convolution_backward(
        g, x, laid_out, None, stride, padding, dilation, False, [0, 0], geometry.groups, wanted
    )
    return found


def _layout(images: Tensor) -> torch.memory_format:
    """The layout of images; weights and gradients in another one would have to be copied."""
    last = images.is_contiguous(memory_format=torch.channels_last) and not images.is_contiguous()
    return torch.channels_last if last else torch.contiguous_format
