"""The probe: a model in training mode, or with chance of its own, is refused before anything is measured."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from votewise import InputError
from votewise.diagnostics import check_deterministic

INPUTS = torch.from_numpy(np.random.default_rng(0).standard_normal((6, 4)))
TARGETS = np.random.default_rng(1).dirichlet(np.ones(3), size=6)


class NoisyGradient(nn.Module):
    """The same loss each time, since the noise is multiplied by zero; not the same gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3).double()
        self.zero = nn.Parameter(torch.zeros(3, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x) + self.zero * torch.randn(3, dtype=torch.float64)


def refused(model: nn.Module, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        check_deterministic(model, INPUTS, TARGETS, **options)
    return str(caught.value)


def test_a_model_without_chance_passes_and_is_left_as_it_was() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.5), nn.Linear(5, 3)).double().eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    check_deterministic(model, INPUTS, TARGETS, batch_size=4)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_training_mode_is_refused_with_the_names_of_modules_and_before_statistics_move() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)).double()
    mean = model[1].running_mean.clone()
    assert refused(model) == (
        "the model must be in eval mode, but modules are in training mode ('the model itself', '0', '1'). "
        "Call model.eval(); in training mode, dropout and batch norm change the loss from pass to pass."
    )
    assert torch.equal(model[1].running_mean, mean)


def test_dropout_that_eval_mode_does_not_stop_is_found() -> None:
    class AlwaysDropping(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.dropout(super().forward(x), 0.5, training=True)

    torch.manual_seed(0)
    pattern = (
        r"two passes over the same data must give the same losses, but they differ by [\d.e-]+ in [\d.e-]+\. "
        r"Switch off dropout, noise and augmentation that the model also applies in eval mode\."
    )
    assert re.fullmatch(pattern, refused(AlwaysDropping(4, 3).double().eval()))


def test_a_gradient_that_varies_under_a_loss_that_does_not_is_found() -> None:
    torch.manual_seed(0)
    model = NoisyGradient().eval()
    assert "must give the same gradients" in refused(model)
    with torch.no_grad():
        assert "must give the same gradients" in refused(model)  # derivatives are taken all the same
    model.zero.requires_grad_(False)
    check_deterministic(model, INPUTS, TARGETS)


def test_a_model_without_numbers_or_parameters_is_refused() -> None:
    broken = nn.Linear(4, 3).double().eval()
    nn.init.constant_(broken.bias, float("nan"))
    assert refused(broken) == (
        "the loss and its gradient must be finite, but got NaN or infinity. "
        "Look for NaN in weights and inputs, or for layers without that derivative, such as a square root at 0."
    )
    assert refused(nn.Linear(4, 3).double().eval().requires_grad_(False)) == (
        "the model must have trainable parameters, but none of its 2 requires a gradient. "
        "Set requires_grad on those to measure."
    )
    assert "tolerance must be a number from 0 to 1" in refused(nn.Linear(4, 3).double().eval(), tolerance=-1)
