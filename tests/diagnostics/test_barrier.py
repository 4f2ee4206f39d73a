"""The loss between two models: against interpolation by hand, laws, and what it must leave alone."""

from __future__ import annotations

import copy
import math
import re
import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from leaks import assert_nothing_kept
from strategies import distributions
from votewise import InputError, metrics
from votewise.diagnostics import Barrier, Hessian, barrier
from votewise.models import ResNet18

ITEMS, CLASSES = 24, 3


class Net(nn.Module):
    """A convolution, norms in 2-D and 1-D, dropout, and a buffer that is no number to interpolate."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)
        self.head, self.last = nn.Linear(4, CLASSES), nn.BatchNorm1d(CLASSES)
        self.register_buffer("flipped", torch.tensor(False))

    def forward(self, images: Tensor) -> Tensor:
        pooled = torch.relu(self.norm(self.conv(images))).mean(dim=(2, 3))
        logits = self.last(self.head(self.drop(pooled)))
        return torch.where(self.flipped, -logits, logits)


def make_net(seed: int) -> nn.Module:
    """A net whose weights and statistics are its own."""
    torch.manual_seed(seed)
    net = Net().double()
    for norm in (net.norm, net.last):
        nn.init.normal_(norm.weight)
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        norm.num_batches_tracked += 10 * seed
    return net


def make_data(seed: int = 0, items: int = ITEMS) -> tuple[Tensor, np.ndarray]:
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.normal(size=(items, 2, 5, 5))), rng.dirichlet(np.ones(CLASSES) / 3, size=items)


def loss_of(net: nn.Module, inputs: Tensor, targets: np.ndarray) -> float:
    with torch.no_grad():
        return metrics.soft_nll(targets, torch.softmax(net.eval()(inputs), dim=1).numpy())


def by_hand(first: nn.Module, second: nn.Module, prepare: Callable[[nn.Module], None] | None = None) -> np.ndarray:
    """The loss at 21 points, each of a new model built number by number."""
    losses = []
    for a in np.linspace(0, 1, 21):
        state = {}
        for name, value in first.state_dict().items():
            other = second.state_dict()[name]
            near = value if a < 0.5 else other
            state[name] = (1 - a) * value + a * other if value.is_floating_point() else near.clone()
        net = Net().double()
        net.load_state_dict(state)
        if prepare is not None:
            prepare(net)
        losses.append(loss_of(net, *make_data()))
    return np.array(losses)


def test_is_interpolation_by_hand() -> None:
    first, second = make_net(1), make_net(2)
    result = barrier(Net().double(), first.state_dict(), second.state_dict(), *make_data(), batch_size=7)
    expected = by_hand(first, second)
    line = np.linspace(expected[0], expected[-1], 21)
    np.testing.assert_allclose(result.losses, expected, rtol=1e-12)
    np.testing.assert_allclose(result.excess, expected - line, atol=1e-12)
    assert result.height == pytest.approx((expected - line).max(), abs=1e-12)
    assert result.peak == result.positions[(expected - line).argmax()]
    np.testing.assert_array_equal(result.positions, np.linspace(0, 1, 21))


def test_ends_are_the_models_own_losses() -> None:
    first, second = make_net(3), make_net(4)
    result = barrier(Net().double(), first.state_dict(), second.state_dict(), *make_data(), points=3)
    assert result.losses[0] == pytest.approx(loss_of(first, *make_data()), rel=1e-14)
    assert result.losses[2] == pytest.approx(loss_of(second, *make_data()), rel=1e-14)


@pytest.mark.parametrize("again", [None, make_data(9)[0]], ids=["plain", "recalibrated"])
def test_there_is_none_between_a_model_and_itself(again: Tensor | None) -> None:
    state = make_net(1).state_dict()
    result = barrier(Net().double(), state, state, *make_data(), recalibrate=again)
    assert (result.height, result.peak) == (0.0, 0.0)
    assert len(set(result.losses)) == 1


@settings(max_examples=25)
@given(distributions(min_items=2, max_items=8, min_classes=2), st.integers(0, 10**6))
def test_there_is_none_where_the_loss_is_convex(targets: np.ndarray, seed: int) -> None:
    torch.manual_seed(seed)
    inputs = torch.randn(len(targets), 3, dtype=torch.float64)
    models = [nn.Linear(3, targets.shape[1]).double() for _ in range(2)]
    result = barrier(models[0], *(model.state_dict() for model in models), inputs, targets, points=9)
    assert result.height == pytest.approx(0, abs=1e-14)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_way_back_is_the_way_there(one: int, other: int) -> None:
    states = [make_net(seed).state_dict() for seed in (one, other)]
    there, back = (barrier(Net().double(), *pair, *make_data(), points=11) for pair in (states, states[::-1]))
    np.testing.assert_allclose(there.losses, back.losses[::-1], rtol=1e-11)
    assert there.height == pytest.approx(back.height, abs=1e-11)
    assert there.height >= 0


def test_there_is_a_hill_between_two_orders_of_the_same_units() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(64, 4, dtype=torch.float64)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).double()
    with torch.no_grad():
        targets = torch.softmax(4 * net(inputs), dim=1)
        net[2].weight *= 4
        net[2].bias *= 4
    other, order = copy.deepcopy(net), torch.arange(7, -1, -1)
    other[0].weight.data, other[0].bias.data = net[0].weight.data[order], net[0].bias.data[order]
    other[2].weight.data = net[2].weight.data[:, order]
    result = barrier(net, net.state_dict(), other.state_dict(), inputs, targets)
    assert result.losses[0] == pytest.approx(result.losses[-1], rel=1e-12)
    assert result.height > 0.1
    assert result.peak == 0.5


def test_whole_numbers_are_those_of_the_nearer_end() -> None:
    first, second = make_net(1), make_net(1)
    second.flipped.fill_(True)
    losses = barrier(Net().double(), first.state_dict(), second.state_dict(), *make_data(), points=5).losses
    np.testing.assert_array_equal(losses, losses[[0, 0, 4, 4, 4]])
    assert losses[0] != losses[4]


def test_recalibration_on_one_batch_takes_its_statistics() -> None:
    fresh = make_data(5, items=40)[0]

    def refresh(net: nn.Module) -> None:
        for norm in (net.norm, net.last):
            norm.momentum = 1.0
            norm.train()
        net.drop.eval()
        net(fresh)

    first, second = make_net(1), make_net(2)
    result = barrier(Net().double(), first.state_dict(), second.state_dict(), *make_data(), recalibrate=fresh)
    np.testing.assert_allclose(result.losses, by_hand(first, second, refresh), rtol=1e-12)


def test_recalibration_on_equal_batches_is_torchs_cumulative_average() -> None:
    fresh = make_data(5, items=40)[0]

    def refresh(net: nn.Module) -> None:
        for norm in (net.norm, net.last):
            norm.reset_running_stats()
            norm.momentum = None
            norm.train()
        net.drop.eval()
        for part in fresh.split(10):
            net(part)

    states = make_net(1), make_net(2)
    pair = [net.state_dict() for net in states]
    result = barrier(Net().double(), *pair, *make_data(), recalibrate=fresh, batch_size=10)
    np.testing.assert_allclose(result.losses, by_hand(*states, refresh), rtol=1e-12)


def test_recalibration_weighs_uneven_batches_by_their_items() -> None:
    torch.manual_seed(0)
    norm = nn.Sequential(nn.BatchNorm1d(2, affine=False)).double()
    fresh = torch.randn(11, 2, dtype=torch.float64) * 3 + 1
    parts = [fresh[:6], fresh[6:]]  # as even as 11 items in batches of 5 can be
    mean, var = fresh.mean(dim=0), sum(len(part) * part.var(dim=0) for part in parts) / 11
    targets = np.full((4, 2), 0.5)
    expected = metrics.soft_nll(targets, torch.softmax((fresh[:4] - mean) / (var + 1e-5).sqrt(), dim=1).numpy())
    state = norm.state_dict()
    result = barrier(norm, state, state, fresh[:4], targets, recalibrate=fresh, batch_size=5)
    np.testing.assert_allclose(result.losses, expected, rtol=1e-12)


def test_recalibration_forgets_the_stored_statistics() -> None:
    first, second, fresh = make_net(1), make_net(2), make_data(5)[0]
    plain = barrier(Net().double(), first.state_dict(), second.state_dict(), *make_data(), recalibrate=fresh)
    second.norm.running_mean.fill_(50.0)
    second.last.running_var.fill_(1e4)
    again = barrier(Net().double(), first.state_dict(), second.state_dict(), *make_data(), recalibrate=fresh)
    np.testing.assert_allclose(again.losses, plain.losses, rtol=1e-12)


def test_recalibration_without_norms_changes_nothing() -> None:
    torch.manual_seed(0)
    nets, inputs = [nn.Linear(3, 2).double() for _ in range(2)], torch.randn(6, 3, dtype=torch.float64)
    states, targets = [net.state_dict() for net in nets], np.full((6, 2), 0.5)
    plain = barrier(nets[0], *states, inputs, targets)
    np.testing.assert_array_equal(plain.losses, barrier(nets[0], *states, inputs, targets, recalibrate=inputs).losses)


def test_leaves_model_states_and_data_alone() -> None:
    model, states = make_net(3), [make_net(seed).state_dict() for seed in (1, 2)]
    model.train()
    model.norm.eval()
    inputs, targets = make_data()
    targets.flags.writeable = False
    kept = copy.deepcopy((model.state_dict(), states, inputs))
    modes = [module.training for module in model.modules()]
    momentum, generator = model.norm.momentum, torch.get_rng_state()
    barrier(model, *states, inputs, targets, recalibrate=inputs, batch_size=5)
    torch.testing.assert_close((model.state_dict(), states, inputs), kept, rtol=0, atol=0)
    assert modes == [module.training for module in model.modules()]
    assert model.norm.momentum == momentum
    assert torch.equal(torch.get_rng_state(), generator)


def test_result_cannot_be_changed() -> None:
    state = make_net(1).state_dict()
    result = barrier(Net().double(), state, state, *make_data(), points=3)
    for array in (result.positions, result.losses):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_small_resnet_in_single_precision() -> None:
    """States in double for a model in single are brought to its precision; ends agree with its own predictions."""
    torch.manual_seed(0)
    nets = [ResNet18(4, width=8).eval() for _ in range(2)]
    inputs, targets = torch.randn(12, 3, 16, 16), torch.softmax(torch.randn(12, 4), dim=1)
    states = [
        {name: value.double() if value.ndim else value for name, value in net.state_dict().items()} for net in nets
    ]
    result = barrier(ResNet18(4, width=8), *states, inputs, targets, points=5, batch_size=5)
    with torch.no_grad():
        ends = [nn.functional.cross_entropy(net(inputs), targets).item() for net in nets]
    np.testing.assert_allclose(result.losses[[0, -1]], ends, rtol=1e-5)
    assert math.isfinite(result.height)


def test_keeps_no_memory() -> None:
    states, data, net = [make_net(seed).state_dict() for seed in (1, 2)], make_data(), Net().double()
    assert_nothing_kept(lambda: barrier(net, *states, *data, points=3, recalibrate=data[0]))


def fail(**changes: object) -> str:
    net = make_net(1)
    inputs, targets = make_data()
    arguments = {
        "model": net,
        "first_state": net.state_dict(),
        "second_state": net.state_dict(),
        "inputs": inputs,
        "targets": targets,
    }
    with pytest.raises(InputError) as caught:
        barrier(**{**arguments, **changes})  # type: ignore[arg-type]
    return str(caught.value)


def test_states_of_another_model_are_refused() -> None:
    other = {**make_net(1).state_dict(), "extra": torch.zeros(1)}
    del other["conv.bias"]
    assert fail(first_state=other) == (
        "first_state must have the names and shapes of the model's state, but they differ in 'conv.bias', 'extra'. "
        "Pass the state_dict() of a model of the same kind."
    )
    assert fail(second_state={**make_net(1).state_dict(), "head.bias": torch.zeros(7)}) == (
        "second_state must have the names and shapes of the model's state, but they differ in 'head.bias'. "
        "Pass the state_dict() of a model of the same kind."
    )
    assert "differ in 'head.bias'" in fail(second_state={**make_net(1).state_dict(), "head.bias": [0.0] * CLASSES})
    assert fail(first_state=7) == ("first_state must be Mapping, but got int. Pass the state_dict() of a model.")


def test_weights_that_are_no_numbers_are_refused() -> None:
    broken = make_net(1).state_dict()
    broken["head.bias"] = torch.full((CLASSES,), math.nan, dtype=torch.float64)
    assert fail(second_state=broken, points=3) == (
        "the loss must be finite on the whole line, but it is not at '0.5', '1.0'. "
        "Check both states and the inputs for NaN and infinity."
    )


def test_other_wrong_arguments_are_refused() -> None:
    assert fail(points=2) == "points must be a whole number of at least 3, but got 2. Pass an int, 3 or more."
    assert fail(batch_size=1) == "batch_size must be a whole number of at least 2, but got 1. Pass an int, 2 or more."
    assert fail(recalibrate=make_data()[0][:1]) == (
        "recalibrate must have at least 2 rows, one per item, but its shape is (1, 2, 5, 5). Pass more."
    )
    assert fail(model=print).startswith("model must be Module, but got builtin_function_or_method.")
    assert fail(inputs=[[1.0]]).startswith("inputs must be Tensor, but got list.")
    assert "row" in fail(targets=make_data()[1][:-1])
    assert fail(targets=np.full((ITEMS, 5), 0.2)).startswith(
        f"the model must give logits of shape ({ITEMS}, 5), one column for each class"
    )


def test_excess_is_exactly_zero_at_the_ends() -> None:
    result = Barrier(np.linspace(0, 1, 3), np.array([0.1, 0.9, 0.3]), 0.7, 0.5)
    np.testing.assert_allclose(result.excess, [0, 0.7, 0], atol=1e-15)
    assert result.excess[0] == result.excess[-1] == 0


@pytest.mark.parametrize("options", [{}, {"recalibrate": torch.ones(4, 2, 5, 5).double()}, {"batch_size": 5}], ids=len)
def test_a_model_that_draws_chance_is_refused(options: dict[str, object]) -> None:
    class Dropping(Net):
        def forward(self, images: Tensor) -> Tensor:
            return nn.functional.dropout(super().forward(images), 0.5, training=True)

    torch.manual_seed(0)
    model = Dropping().double()
    inputs, targets = make_data()
    states = [make_net(seed).state_dict() for seed in (1, 2)]
    drawn = torch.get_rng_state()
    with pytest.raises(InputError) as caught:
        barrier(model, *states, inputs, targets, **options)
    assert torch.equal(torch.get_rng_state(), drawn)
    assert re.fullmatch(
        r"two passes over the same data must give the same losses, but they differ by [\d.e+-]+ in [\d.e+-]+\. "
        r"Switch off dropout, noise and augmentation that the model also applies in eval mode\.",
        str(caught.value),
    )


class Causal(nn.Module):
    """A mask of -inf as a buffer, a feature and a lock that are kept as attributes, and an extra state."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.inner, self.head = nn.Linear(4, 4).double(), nn.Linear(4, CLASSES).double()
        self.register_buffer("mask", torch.full((5, 5), -math.inf).triu(1).double())
        self.lock = threading.Lock()

    def forward(self, x: Tensor) -> Tensor:
        shares = (self.inner(x) @ x.transpose(1, 2) + self.mask).softmax(dim=-1)
        self.feature = (shares @ x).mean(dim=1)
        return self.head(self.feature)

    def get_extra_state(self) -> int:
        return 1

    def set_extra_state(self, state: int) -> None:
        assert state == 1


def test_models_with_infinite_masks_and_kept_features_are_measured() -> None:
    first, second = Causal(1), Causal(2)
    inputs, targets = torch.randn(ITEMS, 5, 4).double(), make_data()[1]
    first(inputs)
    found = barrier(first, first.state_dict(), second.state_dict(), inputs, targets, points=5).losses
    for a, loss in zip(np.linspace(0, 1, 5), found, strict=True):
        between = Causal(3)
        for name, weight in between.named_parameters():
            weight.data = (1 - a) * first.get_parameter(name).data + a * second.get_parameter(name).data
        assert loss == pytest.approx(loss_of(between, inputs, targets), rel=1e-12)


def test_the_states_may_be_those_of_the_model_that_is_measured() -> None:
    first, second = make_net(1), make_net(2)
    expected = barrier(Net().double(), first.state_dict(), second.state_dict(), *make_data(), points=5)
    for model in (first, second):
        found = barrier(model, first.state_dict(), second.state_dict(), *make_data(), points=5)
        np.testing.assert_array_equal(found.losses, expected.losses)


def test_the_model_gets_its_weights_back_after_an_error_and_kept_graphs_stay_valid() -> None:
    model, (inputs, targets) = make_net(1).eval(), make_data()
    before = copy.deepcopy(model.state_dict())
    with Hessian(model, inputs, targets) as hessian:
        vector = torch.ones(hessian.size).double()
        expected = hessian.product(vector)
        broken = {**model.state_dict(), "head.bias": torch.full((CLASSES,), math.nan).double()}
        with pytest.raises(InputError):
            barrier(model, model.state_dict(), broken, inputs, targets, recalibrate=inputs)
        assert torch.equal(hessian.product(vector), expected)
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    assert model.norm.momentum == 0.1
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_recalibration_of_a_norm_that_runs_twice_is_torchs() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.first, self.norm, self.last = nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, CLASSES)

        def forward(self, x: Tensor) -> Tensor:
            return self.last(self.norm(3 * self.norm(self.first(x)).tanh() + 2).tanh())

    model, inputs = Twice().double(), torch.randn(ITEMS, 3).double()
    targets = make_data()[1]
    found = barrier(
        model, model.state_dict(), model.state_dict(), inputs, targets, points=3, recalibrate=inputs, batch_size=8
    )
    torch.optim.swa_utils.update_bn(list(inputs.split(8)), model)
    assert found.losses[0] == pytest.approx(loss_of(model, inputs, targets), rel=1e-12)


def test_inputs_to_recalibrate_on_that_do_not_fit_are_named() -> None:
    assert fail(recalibrate=torch.ones(4, 7, 5, 5).double()).startswith(
        "the model must take inputs of shape (4, 7, 5, 5) and type torch.float64, but it says: "
    )


@pytest.mark.parametrize("normed", [weight_norm, torch.nn.utils.spectral_norm], ids=["weight norm", "spectral norm"])
def test_normed_weights_lie_on_the_line_by_their_parts(normed: Callable[[nn.Module], nn.Module]) -> None:
    torch.manual_seed(0)
    nets = [nn.Sequential(normed(nn.Linear(3, 4)), nn.Tanh(), nn.Linear(4, CLASSES)).double() for _ in range(2)]
    inputs, targets = torch.randn(ITEMS, 3).double(), make_data()[1]
    ends = [loss_of(net, inputs, targets) for net in nets]  # also leaves a weight that is no leaf of a graph
    nets[0](inputs)
    states = [net.state_dict() for net in nets]
    np.testing.assert_allclose(barrier(nets[0], *states, inputs, targets).losses[[0, -1]], ends, rtol=1e-12)
