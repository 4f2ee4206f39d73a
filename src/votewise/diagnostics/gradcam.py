"""Grad-CAM maps (Selvaraju et al. 2017, arXiv 1610.02391), and how far those of several runs agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from votewise._checks import FloatArray, IntArray, check_kind, check_whole_number, frozen
from votewise._errors import InputError
from votewise.diagnostics._measuring import arithmetic, evaluating
from votewise.diagnostics._tensors import as_array, check_derivable, check_inputs, check_numbers, device_of, outputs_of


@dataclass(frozen=True, eq=False)
class MapStability:
    """How far the maps of several runs agree.

    Attributes:
        per_image: (N,) mean Pearson correlation over the pairs of runs whose maps of the image both vary; NaN where
            fewer than two do.
        constant_maps: how many of the runs x images maps are constant, so that their correlations are not defined:
            mostly zero everywhere, of a class that nothing in the image supports.
    """

    per_image: FloatArray
    constant_maps: int

    @property
    def undefined(self) -> int:
        """Images without a single defined correlation."""
        return int(np.isnan(self.per_image).sum())

    @property
    def mean(self) -> float:
        """Mean over the images where it is defined; NaN if there are none."""
        defined = self.per_image[~np.isnan(self.per_image)]
        return float(defined.mean()) if defined.size else math.nan


def gradcam_maps(model: nn.Module, layer: nn.Module, inputs: Tensor, classes: Any, *, batch_size: int = 500) -> Tensor:
    """Grad-CAM maps ReLU(sum_c w_c A_c), where w_c is the mean over places of the slope of a class's logit in A_c.

    In eval mode, where an item's logits depend only on that item. Layers before `layer` run without a graph, so a map
    costs little more than a prediction.

    Args:
        model: any module from inputs to (B, K) logits; left as it was.
        layer: the module in it whose output A is (B, C, h, w), such as the last block of a residual network.
        inputs: (N, ...) images as the model takes them.
        classes: (N,) class to explain in each image, such as the majority's.
        batch_size: images per pass.

    Returns:
        (N, h, w) maps at the layer's size, not negative, on the model's device.
    """
    check_derivable()
    size = check_whole_number("batch_size", batch_size, least=1)
    given = check_inputs("inputs", inputs)
    device = device_of(model)
    labels = torch.from_numpy(_check_classes(classes, len(given)))
    if all(layer is not module for module in model.modules()):
        raise InputError("layer must be a module of the model", "got another", "Pick it from model.modules()")
    one = model.module if isinstance(model, nn.DataParallel) else model
    with evaluating(one), arithmetic(device):
        batches = zip(torch.split(given, size), torch.split(labels, size), strict=True)
        maps = torch.cat([_maps(one, layer, images.to(device), wanted) for images, wanted in batches])
    return check_numbers("the maps", maps, 3)


def upsampled_maps(maps: Tensor, size: tuple[int, int]) -> Tensor:
    """Maps (N, h, w) at the size of the images, (N, H, W): bilinear, each then scaled to lie between 0 and 1.

    A constant map becomes zero everywhere.

    Args:
        maps: the result of `gradcam_maps`.
        size: (H, W).
    """
    check_kind("maps", maps, Tensor, "Pass the result of gradcam_maps")
    if maps.ndim != 3:
        raise InputError("maps must be of shape (N, h, w)", f"got {tuple(maps.shape)}", "Pass one map per image")
    smooth = functional.interpolate(maps[:, None], size=size, mode="bilinear", align_corners=False)[:, 0]
    # Compared before interpolation, whose rounding would be scaled up to look like a map.
    varies = maps.amax(dim=(1, 2)) > maps.amin(dim=(1, 2))
    return _scaled(smooth.flatten(1)).reshape(smooth.shape) * varies[:, None, None]


def map_stability(maps: Sequence[Any] | Tensor) -> MapStability:
    """Mean Pearson correlation of an image's maps over all pairs of runs.

    With maps z_r centred and of length one, the correlations of R runs sum to (||sum_r z_r||^2 - R) / 2: no pair is
    ever formed.

    Args:
        maps: (R, N, ...) maps of at least two runs of the same images, tensors on any device or arrays.
    """
    tables = [check_numbers("the maps of a run", run, 2, or_more=True).flatten(1) for run in maps]
    if len(tables) < 2 or len({table.shape for table in tables}) > 1:
        raise InputError(
            "maps must be those of at least two runs, of one shape (N, ...)",
            f"got shapes {[tuple(table.shape) for table in tables]}",
            "Run the same images through each model",
        )
    total = torch.zeros_like(tables[0], dtype=torch.float64)
    varying = torch.zeros(len(total), dtype=torch.float64, device=total.device)
    for table in tables:
        direction = _directions(table.to(total.device))
        total += direction
        varying += direction.any(dim=1)
    pairs = varying * (varying - 1)
    mean = ((total.square().sum(dim=1) - varying) / pairs).where(pairs > 0, math.nan)
    constant = len(tables) * len(total) - int(varying.sum().item())
    return MapStability(frozen(mean.clamp(-1, 1).cpu().numpy()), constant)


def _maps(model: nn.Module, layer: nn.Module, images: Tensor, classes: Tensor) -> Tensor:
    activation, logits = _forward_from(layer, model, images)
    picked = _logits_of(classes, logits).sum()
    (slope,) = torch.autograd.grad(picked, activation)
    return torch.relu(torch.einsum("bchw,bc->bhw", activation.detach(), slope.mean(dim=(2, 3))))


def _forward_from(layer: nn.Module, model: nn.Module, images: Tensor) -> tuple[Tensor, Any]:
    """The layer's output as the leaf of a graph that begins there, and the model's output at its end."""
    leaves: list[Tensor] = []

    def begin_graph(_layer: nn.Module, _given: Any, output: Any) -> Tensor:
        leaves.append(_check_activation(output).detach().requires_grad_())
        return leaves[-1].clone()  # so that a layer after it may work in place

    weights = {name: weight.detach() for name, weight in model.named_parameters()}
    with layer.register_forward_hook(begin_graph):
        logits = outputs_of(lambda given: torch.func.functional_call(model, weights, (given,)), images)
    if len(leaves) != 1:
        raise InputError("layer must run once in a forward pass", f"it ran {len(leaves)} times", "Pick another")
    return leaves[0], logits


def _logits_of(classes: Tensor, logits: Any) -> Tensor:
    """Each row's logit of its class, (B, 1)."""
    if not isinstance(logits, Tensor) or logits.ndim != 2 or len(logits) != len(classes):
        raise InputError(
            f"the model must give logits of shape ({len(classes)}, K), items x classes",
            f"got {tuple(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__}",
            "Wrap the model",
        )
    if not logits.requires_grad:  # only the layer's output requires a gradient
        raise InputError("the logits must depend on layer", "they do not", "Pick another")
    low, high = (int(bound) for bound in classes.aminmax())  # on the host, so no device waits
    if low < 0 or high >= logits.shape[1]:
        raise InputError(
            f"classes must lie between 0 and {logits.shape[1] - 1}, the model's last",
            f"they run from {low} to {high}",
            "Pass the index of a class",
        )
    return logits.gather(1, classes[:, None].to(logits.device))


def _scaled(rows: Tensor) -> Tensor:
    """Each row moved and stretched to lie between 0 and 1; constant rows become zero."""
    low, high = rows.aminmax(dim=1, keepdim=True)
    return (rows - low) / torch.where(high > low, high - low, 1)


def _directions(rows: Tensor) -> Tensor:
    """Each row centred and of length one; constant rows are zero."""
    scaled = _scaled(rows.double())
    return functional.normalize(scaled - scaled.mean(dim=1, keepdim=True), dim=1)


def _check_activation(output: Any) -> Tensor:
    if not isinstance(output, Tensor) or output.ndim != 4:
        got = f"shape {tuple(output.shape)}" if isinstance(output, Tensor) else type(output).__name__
        raise InputError("layer must give a tensor (B, C, h, w)", f"got {got}", "Pick a convolution or block")
    return output


def _check_classes(classes: Any, n_items: int) -> IntArray:
    try:
        labels = np.asarray(as_array(classes))
    except ValueError:
        labels = np.zeros((0, 0))
    if labels.shape != (n_items,) or labels.dtype.kind not in "iu":
        raise InputError(
            f"classes must be {n_items:,} whole numbers, one per image",
            f"got an array of shape {labels.shape} and type {labels.dtype}",
            "Pass class indices",
        )
    return labels.astype(np.int64)
