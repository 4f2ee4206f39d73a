"""Several ResNet-18s stacked as one: each layer of all runs in one launch, with an explicit backward pass.

The maths are those of `models.ResNet18` in bf16 with fp32 weights, statistics and head. docs/performance.md says how
much faster this is than one network at a time, and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from votewise.models.resnet import BasicBlock, ResNet18
from votewise.training import kernels
from votewise.training.config import TrainConfig
from votewise.training.kernels import Norm
from votewise.training.runs import State


class Table:
    """Parameters of all runs side by side, (R, N) each: weights, momenta, gradients, and a rounded copy if needed."""

    def __init__(self, shapes: Mapping[str, torch.Size], runs: int, device: torch.device, dtype: torch.dtype) -> None:
        """Allocate space for named parameters; gradients, and the copy that layers use, have type `dtype`."""
        self.shapes = shapes
        ends = list(accumulate(shape.numel() for shape in shapes.values()))
        self.starts, total = dict(zip(shapes, [0, *ends], strict=False)), ends[-1]
        self.weights = torch.zeros(runs, total, device=device)
        self.momenta = torch.zeros(runs, total, device=device)
        self.gradients = torch.zeros(runs, total, device=device, dtype=dtype)
        self.used = self.weights if dtype == torch.float32 else torch.zeros_like(self.gradients)

    def view(self, table: Tensor, name: str) -> Tensor:
        """One parameter in a table, (R, *shape)."""
        start, shape = self.starts[name], self.shapes[name]
        return torch.unflatten(table[:, start : start + shape.numel()], 1, shape)

    def update(self, rate: Tensor, config: TrainConfig, decay: float) -> None:
        """One step of SGD."""
        kernels.update(
            self.weights,
            self.momenta,
            self.gradients,
            None if self.used is self.weights else self.used,
            rate,
            momentum=config.momentum,
            decay=decay,
            nesterov=config.nesterov,
        )


@dataclass(frozen=True, eq=False)
class Layer:
    """A convolution and the norm after it: weights (R, out, k, k, in), the place of their gradients, and the stride."""

    weight: Tensor
    gradient: Tensor
    norm: Norm
    stride: int

    def __call__(self, x: Tensor, training: bool) -> Tensor:
        """The convolution's output, before its norm; in training its statistics are computed on the way."""
        if not training:
            return kernels.convolve(x, self.weight, stride=self.stride)
        y, parts = kernels.convolve(x, self.weight, stride=self.stride, parts=True)
        self.norm.measure(parts, y[0].numel() // y.shape[-1])
        return y


@dataclass(frozen=True, eq=False)
class Block:
    """Two layers around a shortcut, which is None where it is the input itself."""

    first: Layer
    second: Layer
    shortcut: Layer | None


class StackedResNet:
    """R networks with separate weights, trained in lockstep."""

    def __init__(self, template: nn.Module, runs: int, config: TrainConfig, device: torch.device) -> None:
        """Allocate R networks shaped like the template, a ResNet-18."""
        assert isinstance(template, ResNet18)
        self.runs, self.config = runs, config
        self.dtype = torch.bfloat16 if config.precision == "bf16" else torch.float32
        self.image_channels = template.conv.in_channels
        shapes = {name: value.shape for name, value in template.named_parameters()}
        convolutions = {name: _stacked_shape(shape) for name, shape in shapes.items() if len(shape) == 4}
        norms = {name: shape for name, shape in shapes.items() if len(shape) == 1 and name != "head.bias"}
        self.convolutions = Table(convolutions, runs, device, self.dtype)
        self.norms = Table(norms, runs, device, torch.float32)
        self.head = Table({"head.weight": shapes["head.weight"]}, runs, device, torch.float32)
        self.bias = Table({"head.bias": shapes["head.bias"]}, runs, device, torch.float32)
        self.norm_of: dict[str, Norm] = {}
        self.stem = self._layer("conv", "bn", 1)
        self.blocks = [self._block(f"blocks.{place}", block) for place, block in enumerate(template.blocks)]
        self.tape: list[tuple[Tensor, ...]] = []
        self.kept: list[tuple[Tensor, Tensor]] = []  # tensors that side streams still read
        on_gpu = device.type == "cuda"
        self.side = [torch.cuda.Stream(device) for _ in range(runs if on_gpu else 0)]  # type: ignore[no-untyped-call]

    def _block(self, name: str, block: nn.Module) -> Block:
        assert isinstance(block, BasicBlock)
        stride = block.conv1.stride[0]
        shortcut = self._layer(f"{name}.shortcut.0", f"{name}.shortcut.1", stride) if len(block.shortcut) else None
        return Block(
            self._layer(f"{name}.conv1", f"{name}.bn1", stride),
            self._layer(f"{name}.conv2", f"{name}.bn2", 1),
            shortcut,
        )

    def _layer(self, convolution: str, norm: str, stride: int) -> Layer:
        parts = (f"{norm}.weight", f"{norm}.bias")
        lines = [self.norms.view(table, part) for table in (self.norms.weights, self.norms.gradients) for part in parts]
        self.norm_of[norm] = Norm(*lines)
        used, gradients = self.convolutions.used, self.convolutions.gradients
        weight, gradient = (self.convolutions.view(table, f"{convolution}.weight") for table in (used, gradients))
        return Layer(weight, gradient, self.norm_of[norm], stride)

    def features(self, images: Tensor, *, training: bool) -> Tensor:
        """The head's inputs (R, B, width) fp32 from images (R, B, C, H, W); in training the tape is kept."""
        if not training:
            for norm in self.norm_of.values():
                norm.recall()
        rows = images.permute(0, 1, 3, 4, 2).to(self.dtype)
        given = functional.pad(rows, (0, _filled(self.image_channels) - self.image_channels)).contiguous()
        raw = self.stem(given, training)
        z = kernels.norm_relu(self.stem.norm, raw)
        self.tape = [(given, raw)] if training else []
        for block in self.blocks:
            r1 = block.first(z, training)
            a1 = kernels.norm_relu(block.first.norm, r1)
            r2 = block.second(a1, training)
            if block.shortcut is None:
                s, out = z, kernels.norm_relu(block.second.norm, r2, z)
            else:
                s = block.shortcut(z, training)
                out = kernels.norm_relu(block.second.norm, r2, s, block.shortcut.norm)
            if training:
                self.tape.append((z, r1, a1, r2, s, out))
            z = out
        return z.float().mean(dim=(2, 3))

    def backward(self, d_features: Tensor) -> None:
        """From the gradients of the features, fill in those of all parameters but the head's."""
        out = self.tape[-1][-1]
        places = out.shape[2] * out.shape[3]
        d = (d_features / places)[:, :, None, None, :].expand_as(out).to(self.dtype).contiguous()
        e: Tensor | None = None
        for block, (z, r1, a1, r2, s, out) in zip(self.blocks[::-1], self.tape[:0:-1], strict=True):
            norm = None if block.shortcut is None else block.shortcut.norm
            d2, ds = kernels.norm_relu_back(
                block.second.norm, r2, d, e, y=out, shortcut=None if norm is None else s, shortcut_norm=norm
            )
            self._weight_gradient(block.second, a1, d2)
            da1 = kernels.convolve(d2, block.second.weight, transposed=True)
            d1, _ = kernels.norm_relu_back(block.first.norm, r1, da1)
            self._weight_gradient(block.first, z, d1)
            if block.shortcut is None:
                d, e = kernels.convolve(d1, block.first.weight, transposed=True), ds
            else:
                self._weight_gradient(block.shortcut, z, ds)
                d, e = kernels.convolve_back_strided(d1, block.first.weight, ds, block.shortcut.weight), None
        given, raw = self.tape[0]
        d0, _ = kernels.norm_relu_back(self.stem.norm, raw, d, e)
        self._weight_gradient(self.stem, given, d0)
        self._join()

    def _weight_gradient(self, layer: Layer, x: Tensor, d: Tensor) -> None:
        """Queue the gradient of a layer's weights, one run per side stream, beside the rest of the backward pass."""
        self.kept.append((x, d))
        ready = torch.cuda.current_stream().record_event() if self.side else None
        for run in range(self.runs):
            with _on(self.side[run] if self.side else None, ready):
                weight = layer.weight[run].permute(0, 3, 1, 2)
                padding = weight.shape[2] // 2
                _, gradient, _ = torch.ops.aten.convolution_backward(
                    d[run].permute(0, 3, 1, 2), x[run].permute(0, 3, 1, 2), weight, None,
                    [layer.stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, [False, True, False],
                )  # fmt: skip
                layer.gradient[run].copy_(gradient.permute(0, 2, 3, 1))

    def _join(self) -> None:
        """Wait for the side streams, after which the tensors they read may be overwritten."""
        for stream in self.side:
            torch.cuda.current_stream().wait_stream(stream)
        self.kept.clear()
        self.tape.clear()

    def train_step(self, given: Tensor, wanted: Tensor, rate: Tensor) -> Tensor:
        """See `Network`."""
        features = self.features(given, training=True)
        log_probs = torch.log_softmax(self._logits(features), dim=2)
        d_logits = (log_probs.exp() - wanted) / wanted.shape[1]
        torch.bmm(d_logits.transpose(1, 2), features, out=self.head.view(self.head.gradients, "head.weight"))
        torch.sum(d_logits, dim=1, out=self.bias.gradients)
        self.backward(torch.bmm(d_logits, self.head.view(self.head.weights, "head.weight")))
        decay = self.config.weight_decay
        spared = 0.0 if self.config.decayed == "weights" else decay
        for table, share in ((self.convolutions, decay), (self.head, decay), (self.norms, spared), (self.bias, spared)):
            table.update(rate, self.config, share)
        return -(wanted * log_probs).sum(dim=2).mean(dim=1)

    def predict(self, given: Tensor) -> Tensor:
        """See `Network`."""
        return self._logits(self.features(given, training=False))

    def _logits(self, features: Tensor) -> Tensor:
        weight = self.head.view(self.head.weights, "head.weight")
        return torch.baddbmm(self.bias.weights[:, None], features, weight.transpose(1, 2))

    def values(self) -> dict[str, Tensor]:
        """See `Network`; convolutions in their layout in memory."""
        tables = (self.convolutions, self.norms, self.head, self.bias)
        return {
            **{name: table.view(table.weights, name) for table in tables for name in table.shapes},
            **{f"{name}.running_mean": norm.running_mean for name, norm in self.norm_of.items()},
            **{f"{name}.running_var": norm.running_var for name, norm in self.norm_of.items()},
        }

    def load(self, run: int, state: State) -> None:
        """See `Network`."""
        for name, stacked in self.values().items():
            value = state[name]
            if value.ndim == 4:
                value = functional.pad(value.permute(0, 2, 3, 1), (0, stacked.shape[-1] - value.shape[1]))
            stacked[run].copy_(value)
        for table in (self.convolutions, self.norms, self.head, self.bias):
            table.momenta[run].zero_()
            table.used[run].copy_(table.weights[run])

    def state(self, run: int, values: dict[str, Tensor]) -> State:
        """See `Network`."""
        state = {name: value[run].to("cpu", copy=True) for name, value in values.items()}
        for name, value in state.items():
            if value.ndim == 4:
                channels = self.image_channels if name == "conv.weight" else value.shape[3]
                state[name] = value[..., :channels].permute(0, 3, 1, 2).contiguous()
        return {**state, **{f"{name}.num_batches_tracked": torch.zeros((), dtype=torch.int64) for name in self.norm_of}}


def _stacked_shape(shape: torch.Size) -> torch.Size:
    """The shape of a convolution's weights with input channels last."""
    return torch.Size((shape[0], shape[2], shape[3], _filled(shape[1])))


def _filled(channels: int) -> int:
    """At least as many channels as the matrix units need: those of images are padded with zeros."""
    return max(channels, 16)


def _on(stream: torch.cuda.Stream | None, ready: torch.cuda.Event | None) -> AbstractContextManager[Any]:
    """A stream that first waits for its inputs; does nothing where there are no streams."""
    if stream is None or ready is None:
        return nullcontext()
    stream.wait_event(ready)
    return torch.cuda.stream(stream)
