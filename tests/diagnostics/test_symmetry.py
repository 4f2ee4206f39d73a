"""The probe: second derivatives that torch has wrong are refused, and rounding is not taken for them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from votewise import InputError
from votewise.diagnostics import curvature

REFUSED = (
    r"products with the Hessian must be symmetric, u'Hv = v'Hu, but they differ by [\d.]+% in float64: a layer has wrong "
    r"second derivatives in torch\. Rewrite that layer with plain tensor operations\."
)


class Cubed(torch.autograd.Function):
    """x cubed, whose first derivative is right and whose second is not, as the backward pass forgets what g depends on."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g.detach()


class Cubing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return Cubed.apply(x)  # type: ignore[no-any-return, no-untyped-call]


class Single(nn.Sequential):
    """Layers that always run in float32."""

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = super().forward(x.float())
        return logits


def targets(items: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(4, 0.4), size=items)


def cubing(kind: type[nn.Sequential], seed: int, dtype: torch.dtype = torch.float32) -> tuple[nn.Sequential, Tensor]:
    torch.manual_seed(seed)
    return kind(nn.Linear(6, 8), Cubing(), nn.Linear(8, 4)).to(dtype), torch.randn(20, 6, dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("options", [{}, {"batch_size": 6, "keep_graph": False}], ids=str)
def test_a_layer_with_wrong_second_derivatives_is_refused(options: dict[str, Any], dtype: torch.dtype) -> None:
    for seed in range(4):
        model, inputs = cubing(nn.Sequential, seed, dtype)
        with pytest.raises(InputError) as caught:
            curvature(model, inputs, targets(20), **options)
        assert re.fullmatch(REFUSED, str(caught.value))
        assert model.training


def test_torch_is_not_blamed_where_a_model_cannot_run_in_float64() -> None:
    model, inputs = cubing(Single, 0)
    with pytest.raises(InputError) as caught:
        curvature(model, inputs, targets(20))
    assert re.fullmatch(
        r"products with the Hessian must be symmetric, u'Hv = v'Hu, but they differ by [\d.]+%, from rounding or a layer "
        r"with wrong second derivatives in torch\. Make the model run in float64, model\.double\(\) on inputs\.double\(\), "
        r"to rule out rounding\.",
        str(caught.value),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_weight_norm_passes(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(weight_norm(nn.Linear(6, 8)), nn.Tanh(), weight_norm(nn.Linear(8, 4))).to(dtype)
    assert curvature(model, torch.randn(20, 6, dtype=dtype), targets(20), max_probes=200)["full"].converged


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
