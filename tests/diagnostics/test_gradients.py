"""Gradient variance of drawn labels: against autograd, enumeration and identities."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from leaks import assert_nothing_kept
from strategies import distributions
from votewise import InputError
from votewise.diagnostics import gradient_variance_per_item, sampled_gradient_variance_per_item
from votewise.diagnostics.gradients import stream_generator


def gradients_by_class(net: nn.Module, item: Tensor, classes: int) -> Tensor:
    """The gradient for each label an item could be given, (K, P), by autograd."""
    rows = []
    for label in range(classes):
        loss = nn.functional.cross_entropy(net(item[None]), torch.tensor([label]))
        rows.append(torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(net.parameters()))]))
    return torch.stack(rows)


def covariance(gradients: Tensor, p: Tensor) -> Tensor:
    """Of gradients (K, P) that come up with chances p (K,)."""
    centred = gradients - p @ gradients
    return (centred * p[:, None]).T @ centred


@given(distributions(max_items=4, min_classes=2), st.integers(0, 10**6), st.booleans())
def test_is_what_autograd_over_all_labels_gives(reference: np.ndarray, seed: int, bias: bool) -> None:
    torch.manual_seed(seed)
    features = torch.randn(len(reference), 3, dtype=torch.float64)
    head = nn.Linear(3, reference.shape[1], bias=bias).double()
    expected = [
        covariance(gradients_by_class(head, h, len(p)), torch.from_numpy(p)).trace().item()
        for h, p in zip(features, reference, strict=True)
    ]
    np.testing.assert_allclose(gradient_variance_per_item(features, reference, bias=bias), expected, atol=1e-10)


def test_of_a_whole_net_it_is_the_jacobian_around_the_label_variance() -> None:
    """Cov = J^T (Diag p - p p^T) J, whatever the net predicts; the part of the last layer has the trace given here."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    item, p = torch.randn(4, dtype=torch.float64), torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    names = [name for name, _ in net.named_parameters()]

    def logits(*weights: Tensor) -> Tensor:
        return torch.func.functional_call(net, dict(zip(names, weights, strict=True)), (item,))

    parts = torch.autograd.functional.jacobian(logits, tuple(net.parameters()))
    jacobian = torch.cat([part.flatten(1) for part in parts], dim=1)
    expected = jacobian.T @ (torch.diag(p) - torch.outer(p, p)) @ jacobian
    actual = covariance(gradients_by_class(net, item, 3), p)
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-10)
    last = 3 * 5 + 3  # weights and biases of the last layer come last
    trace = gradient_variance_per_item(net[:2](item)[None], p[None], bias=True)[0]
    assert actual[-last:, -last:].trace().item() == pytest.approx(trace, abs=1e-10)


def test_samples_are_the_variance_of_the_drawn_gradients() -> None:
    """The same labels, drawn again here, go through autograd one by one."""
    torch.manual_seed(0)
    features, draws = torch.randn(3, 4, dtype=torch.float64), 7
    reference = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.6, 0.0, 0.4]])
    head = nn.Linear(4, 3).double()
    counts = stream_generator(5, "gradient variance").multinomial(draws, reference)
    expected = []
    for h, row in zip(features, counts, strict=True):
        drawn = gradients_by_class(head, h, 3)[np.repeat(np.arange(3), row)]
        expected.append(drawn.var(dim=0).sum().item())
    actual = sampled_gradient_variance_per_item(features, reference, draws=draws, seed=5, bias=True)
    np.testing.assert_allclose(actual, expected, atol=1e-12)


@pytest.mark.parametrize("draws", [2, 5, 100])
def test_samples_are_unbiased(draws: int) -> None:
    """Within four standard errors of the closed form over 4,000 items alike."""
    features, reference = np.full((4000, 2), 1.5), np.tile([0.6, 0.3, 0.1, 0.0], (4000, 1))
    sampled = sampled_gradient_variance_per_item(features, reference, draws=draws)
    error = sampled.std() / np.sqrt(len(sampled))
    assert abs(sampled.mean() - gradient_variance_per_item(features, reference)[0]) < 4 * error
    assert error > 0


@given(distributions(), st.integers(0, 10**6), st.booleans())
def test_laws(reference: np.ndarray, seed: int, bias: bool) -> None:
    features = np.random.default_rng(seed).normal(size=(len(reference), 4))
    exact = gradient_variance_per_item(features, reference, bias=bias)
    sampled = sampled_gradient_variance_per_item(features, reference, seed=seed, bias=bias)
    unanimous = (reference == 1).any(axis=1)
    assert (exact[unanimous] == 0).all()
    assert (sampled[unanimous] == 0).all()
    assert (exact[~unanimous] > 0).all()
    assert (sampled >= 0).all()
    length = (features**2).sum(axis=1) + bias
    np.testing.assert_allclose(exact, length * (1 - (reference**2).sum(axis=1)), atol=1e-12)
    np.testing.assert_allclose(
        gradient_variance_per_item(3 * features, reference), 9 * exact - 9 * bias * exact / length
    )


def test_chance_is_the_seeds_alone() -> None:
    features, reference = np.ones((50, 2)), np.full((50, 4), 0.25)
    first, again, other = (sampled_gradient_variance_per_item(features, reference, draws=9, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_takes_tensors_in_few_bits_and_rows_that_miss_one_by_rounding() -> None:
    features = torch.tensor([[1.0, 2.0], [3.0, 0.5]], dtype=torch.bfloat16, requires_grad=True)
    reference = torch.tensor([[1.000004, 0.0], [0.1, 0.9]])
    np.testing.assert_allclose(gradient_variance_per_item(features, reference), [0, 9.25 * 0.18], rtol=1e-6)
    assert sampled_gradient_variance_per_item(features, reference)[0] == 0


def test_keeps_no_memory() -> None:
    features, reference = torch.ones(5, 2), np.full((5, 2), 0.5)
    assert_nothing_kept(lambda: gradient_variance_per_item(features, reference))
    assert_nothing_kept(lambda: sampled_gradient_variance_per_item(features, reference, draws=3))


@pytest.mark.parametrize(
    ("features", "reference", "message"),
    [
        (
            np.ones((3, 2)),
            np.eye(2),
            "features and reference must be of the same items, but got 3 and 2 rows. Pass the same items in both.",
        ),
        (
            torch.tensor([[1.0], [float("nan")]]),
            np.eye(2),
            "features must be finite, but 1 rows hold NaN or infinity (rows 1). Fix or remove those rows.",
        ),
        (
            torch.ones(2),
            np.eye(2),
            "features must have two dimensions, items x classes, both at least 1, but its shape is (2,). Reshape it.",
        ),
    ],
)
def test_wrong_items_are_refused(features: object, reference: np.ndarray, message: str) -> None:
    for function in (gradient_variance_per_item, sampled_gradient_variance_per_item):
        with pytest.raises(InputError) as caught:
            function(features, reference)
        assert str(caught.value) == message


def test_what_is_no_distribution_and_too_few_draws_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"^each row of reference must be non-negative and sum to 1, but 1 of 1 do not"
    ):
        gradient_variance_per_item([[1.0]], [[0.5, 0.2]])
    with pytest.raises(InputError, match=r"^reference must be a table of numbers"):
        gradient_variance_per_item([[1.0]], [[0.5], [0.2, 0.8]])
    with pytest.raises(InputError, match=r"^draws must be a whole number of at least 2, but got 1\."):
        sampled_gradient_variance_per_item([[1.0]], [[1.0]], draws=1)
    with pytest.raises(InputError, match=r"^seed must be a whole number"):
        sampled_gradient_variance_per_item([[1.0]], [[1.0]], seed=-1)


def test_complex_features_are_refused() -> None:
    with pytest.raises(InputError, match="its entries are of type complex64"):
        gradient_variance_per_item(torch.ones(2, 2, dtype=torch.complex64), [[0.5, 0.5], [1, 0]])
