"""The probe: second derivatives that torch has wrong are refused, and rounding is not taken for them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import remove_parametrizations

from votewise import InputError
from votewise.diagnostics import curvature

REFUSED = (
    r"products with the Hessian must be symmetric, u'Hv = v'Hu, but they differ by [\d.]+%: torch derives a layer of the "
    r"model wrongly\. It is known to with weight_norm, which torch\.nn\.utils\.parametrize\.remove_parametrizations folds "
    r"into the weight\."
)


def targets(items: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(4, 0.4), size=items)


def normed(seed: int, dtype: torch.dtype) -> tuple[nn.Sequential, Tensor]:
    torch.manual_seed(seed)
    model = nn.Sequential(weight_norm(nn.Linear(6, 8)), nn.Tanh(), weight_norm(nn.Linear(8, 4))).to(dtype)
    return model, torch.randn(20, 6, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("options", [{}, {"batch_size": 6, "keep_graph": False}], ids=str)
def test_weight_norm_is_refused_until_it_is_folded_in(options: dict[str, Any], dtype: torch.dtype) -> None:
    for seed in range(4):
        model, inputs = normed(seed, dtype)
        with pytest.raises(InputError) as caught:
            curvature(model, inputs, targets(20), **options)
        assert re.fullmatch(REFUSED, str(caught.value))
        assert model.training
        for layer in (model[0], model[2]):
            remove_parametrizations(layer, "weight")
        assert curvature(model, inputs, targets(20), relative_error=1, **options)["full"].largest > 0


def test_one_that_counts_on_float32_is_refused_all_the_same() -> None:
    class Single(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            logits: Tensor = super().forward(x.float())
            return logits

    model, inputs = normed(0, torch.float32)
    with pytest.raises(InputError, match=REFUSED):
        curvature(Single(*model), inputs, targets(20))


@pytest.mark.parametrize("seed", range(5))
def test_a_network_in_float32_passes(seed: int) -> None:
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4)
    )
    inputs = torch.randn(30, 3, 8, 8)
    model(inputs)
    quick = {"relative_error": 1.0, "max_products": 5, "max_probes": 10}
    assert curvature(model, inputs, targets(30, seed), **quick)["full"].items == 30


@pytest.mark.parametrize("seed", range(3))
def test_what_float32_makes_of_items_beyond_doubt_is_no_fault_of_a_layer(seed: int) -> None:
    torch.manual_seed(seed)
    model, inputs = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4)), torch.eye(4)
    with torch.no_grad():
        model[2].weight.copy_(torch.linalg.lstsq(model[:2](inputs), 18 * torch.eye(4)).solution.T)
        model[2].bias.zero_()
    assert curvature(model, inputs, np.eye(4))["full"].loss < 1e-6


def test_one_parameter_and_no_curvature_pass() -> None:
    class Scaled(nn.Module):
        def __init__(self, power: float) -> None:
            super().__init__()
            self.scale, self.power = nn.Parameter(torch.ones(())), power

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale * self.power

    inputs = torch.tensor([[1.0, -1.0]])
    assert curvature(Scaled(1), inputs, [[0.5, 0.5]])["full"].largest > 0
    assert curvature(Scaled(0), inputs, [[0.5, 0.5]])["full"].largest == 0
