"""Hessian-vector products against the Hessian written out, in float64."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.checkpoint import checkpoint

from oracles.curvature import dense_hessian, softmax_regression_hessian
from votewise import InputError
from votewise.diagnostics import Hessian, curvature
from votewise.diagnostics._derivatives import QuickSecondDerivatives
from votewise.diagnostics._measuring import evaluating
from votewise.models import NgramNet, hash_ngrams


class Doubled(nn.Module):
    """A weight used twice, one not used, and one that is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self.shared, self.unused, self.frozen = nn.Linear(4, 4), nn.Linear(2, 2), nn.Linear(4, 3)
        self.frozen.requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return self.frozen(torch.tanh(self.shared(torch.tanh(self.shared(x)))))


def conv_net(norm: nn.Module | None = None) -> nn.Module:
    layers = [nn.Conv2d(2, 3, 2, bias=False), norm or nn.BatchNorm2d(3), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(3 * 4, 3))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "conv and norm": (conv_net, (2, 3, 3)),
    "strides and a bias": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3, 2, 1), nn.Tanh(), nn.Flatten(), nn.Linear(12, 3)),
        (2, 3, 3),
    ),
    "norm without weights": (lambda: conv_net(nn.BatchNorm2d(3, affine=False)), (2, 3, 3)),
    "norm without bias": (lambda: conv_net(_without_bias(nn.BatchNorm2d(3))), (2, 3, 3)),
    "a norm after a layer in place": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, 2), nn.ReLU(inplace=True), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(12, 3)
        ),
        (2, 3, 3),
    ),
    "norm of the batch": (lambda: conv_net(nn.BatchNorm2d(3, track_running_stats=False)), (2, 3, 3)),
    "norm of vectors": (lambda: nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh(), nn.Linear(5, 3)), (4,)),
    "shared, unused, frozen": (Doubled, (4,)),
    "one layer": (lambda: nn.Linear(4, 3), (4,)),
}


def _without_bias(norm: nn.BatchNorm2d) -> nn.BatchNorm2d:
    norm.bias = None
    return norm


def case(name: str, items: int = 5, dtype: torch.dtype = torch.float64) -> tuple[nn.Module, Tensor, Tensor]:
    make, shape = MODELS[name]
    torch.manual_seed(3)
    model = make().to(dtype)
    inputs = torch.randn(items, *shape, dtype=dtype)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d) and module.affine:
                nn.init.normal_(module.weight)
        model.train()(torch.cat([inputs, inputs + 1]))  # statistics that are neither 0 nor 1
    return model.eval(), inputs, torch.softmax(torch.randn(items, 3, dtype=dtype) * 2, dim=1)


def written_out(hessian: Hessian) -> Tensor:
    return torch.stack([hessian.product(row) for row in torch.eye(hessian.size, dtype=hessian.dtype)])


BATCHES = [{}, {"batch_size": 2}, {"batch_size": 2, "keep_graph": False}]
CASES = [(name, options) for name in MODELS for options in BATCHES if not options or name != "norm of the batch"]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_products_are_those_of_the_hessian_written_out(name: str, options: dict[str, int]) -> None:
    model, inputs, targets = case(name)
    expected = dense_hessian(model, inputs, targets)
    with Hessian(model, inputs, targets, **options) as hessian:
        torch.testing.assert_close(written_out(hessian), expected, rtol=1e-10, atol=1e-12)
        loss = nn.functional.cross_entropy(model(inputs), targets).item()
        assert hessian.loss == pytest.approx(loss, rel=1e-12)
        assert hessian.size == len(expected)


@pytest.mark.filterwarnings("ignore:`torch.jit")  # of what curvlinops imports
# It wants all parameters used; and for norms of the batch it is 5 % off differences of the gradient, where ours are not.
@pytest.mark.parametrize(
    "name", [name for name in MODELS if name not in ("shared, unused, frozen", "norm of the batch")]
)
def test_products_are_those_of_curvlinops(name: str) -> None:
    from curvlinops import HessianLinearOperator

    model, inputs, targets = case(name)
    theirs = HessianLinearOperator(
        model, nn.CrossEntropyLoss(), list(model.parameters()), [(inputs, targets)], progressbar=False
    )
    with Hessian(model, inputs, targets) as hessian:
        vector = torch.from_numpy(np.random.default_rng(0).standard_normal(hessian.size))
        torch.testing.assert_close(hessian.product(vector), theirs @ vector, rtol=1e-10, atol=1e-12)


def test_in_float32_the_products_are_those_of_float64_to_its_precision() -> None:
    model, inputs, targets = case("conv and norm", dtype=torch.float32)
    with Hessian(model, inputs, targets) as single:
        found = written_out(single)
    with Hessian(model.double(), inputs.double(), targets.double()) as double:
        expected = written_out(double)
    assert found.dtype == torch.float32
    assert (found - expected).norm() < 1e-5 * expected.norm()


@pytest.mark.parametrize("name", ["norm of vectors", "norm of the batch"])
def test_products_agree_with_differences_of_the_gradient_and_are_symmetric(name: str) -> None:
    model, inputs, targets = case(name)
    rng = np.random.default_rng(0)

    def gradient_at(offset: Tensor) -> Tensor:
        flat = nn.utils.parameters_to_vector(model.parameters())
        nn.utils.vector_to_parameters(flat + offset, model.parameters())
        loss = nn.functional.cross_entropy(model(inputs), targets)
        gradient = torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(model.parameters()))])
        nn.utils.vector_to_parameters(flat, model.parameters())
        return gradient

    size = sum(parameter.numel() for parameter in model.parameters())
    u, v = torch.from_numpy(rng.standard_normal((2, size)))
    difference = (gradient_at(1e-5 * v) - gradient_at(-1e-5 * v)) / 2e-5
    with Hessian(model, inputs, targets) as hessian:
        torch.testing.assert_close(hessian.product(v), difference, rtol=1e-6, atol=1e-8)
        assert (u @ hessian.product(v)).item() == pytest.approx((v @ hessian.product(u)).item(), rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_softmax_regression_has_its_closed_form_whatever_the_targets(n: int, k: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = nn.Linear(d, k, bias=False).double()
    features = torch.from_numpy(rng.standard_normal((n, d)))
    probs = torch.softmax(model(features), dim=1).detach().numpy()
    expected = softmax_regression_hessian(probs, features.numpy())
    assert np.trace(expected) == pytest.approx(((1 - (probs**2).sum(1)) * (features.numpy() ** 2).sum(1)).mean())
    for targets in (rng.dirichlet(np.ones(k), size=n), np.eye(k)[rng.integers(0, k, size=n)]):
        with Hessian(model, features, targets) as hessian:
            np.testing.assert_allclose(written_out(hessian).numpy(), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_quick_layers_give_the_same_logits_and_gradients(name: str) -> None:
    model, inputs, targets = case(name)
    plain = torch.autograd.grad(nn.functional.cross_entropy(model(inputs), targets), used(model))
    with QuickSecondDerivatives():
        quick = torch.autograd.grad(nn.functional.cross_entropy(model(inputs), targets), used(model))
    for ours, theirs in zip(quick, plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-13)


def used(model: nn.Module) -> list[nn.Parameter]:
    return [value for name, value in model.named_parameters() if value.requires_grad and "unused" not in name]


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2, "padding": (2, 1)}, {"groups": 2}], ids=str
)
def test_quick_convolutions_can_be_derived_twice_and_thrice(options: dict[str, Any]) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 5, 6, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(2, 4 // options.get("groups", 1), 3, 2, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, dtype=torch.float64, requires_grad=True)

    def convolved(*arguments: Tensor) -> Tensor:
        with QuickSecondDerivatives():
            return nn.functional.conv2d(*arguments, **options)

    def slope(*arguments: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(convolved(*arguments).tanh().sum(), arguments, create_graph=True)

    torch.testing.assert_close(convolved(x, weight, bias), nn.functional.conv2d(x, weight, bias, **options))
    assert torch.autograd.gradcheck(convolved, (x, weight, bias))
    assert torch.autograd.gradgradcheck(convolved, (x, weight, bias))
    assert torch.autograd.gradgradcheck(slope, (x, weight, bias))


class Watched(nn.Module):
    """A convolution and a norm, with something done in between."""

    def __init__(self, between: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.conv, self.norm, self.head = nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), nn.Linear(3, 3)
        self.between = between

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.norm(self.between(self, x.clone())).tanh().mean(dim=(2, 3)))
        return logits


def without_gradient(model: Watched, x: Tensor) -> Tensor:
    with torch.no_grad():
        return model.conv(x)


def before_its_input_changes(model: Watched, x: Tensor) -> Tensor:
    y: Tensor = model.conv(x)
    x.mul_(3).add_(1)
    return y


def whose_gradient_is_dropped(model: Watched, x: Tensor) -> Tensor:
    y: Tensor = model.conv(x)
    y.register_hook(lambda gradient: 0 * gradient)
    return y


@pytest.mark.parametrize("options", BATCHES, ids=str)
@pytest.mark.parametrize("between", [without_gradient, before_its_input_changes, whose_gradient_is_dropped])
def test_a_norm_is_folded_only_into_a_convolution_that_would_be_the_same_again(
    between: Callable[[Watched, Tensor], Tensor], options: dict[str, int]
) -> None:
    torch.manual_seed(0)
    model, inputs = Watched(between).double(), torch.randn(5, 2, 3, 3).double()
    targets = torch.softmax(torch.randn(5, 3).double(), dim=1)
    model(inputs)
    model.eval()
    if between is before_its_input_changes:
        model.conv.requires_grad_(False)  # else torch itself refuses to derive it
    expected = dense_hessian(model, inputs, targets)
    with Hessian(model, inputs, targets, **options) as hessian:
        assert hessian.loss == pytest.approx(nn.functional.cross_entropy(model(inputs), targets).item(), rel=1e-12)
        torch.testing.assert_close(written_out(hessian), expected, rtol=1e-10, atol=1e-12)


def test_gradient_hooks_on_parameters_are_refused() -> None:
    model, inputs, targets = case("one layer")
    handle = model.weight.register_hook(lambda gradient: gradient / 2)
    for measure in (Hessian, curvature):
        with pytest.raises(InputError) as caught:
            measure(model, inputs, targets)
        assert str(caught.value) == (
            "the model's parameters must have no gradient hooks, which would change its second derivatives, but there "
            "are some on 'weight'. Remove them, or measure a model that was loaded from the state_dict()."
        )
    handle.remove()
    assert curvature(model, inputs, targets)["full"].converged


@pytest.mark.parametrize("sureness", [1, 3, 10, 30])
def test_the_curvature_of_a_sure_model_in_float32_is_that_in_float64(sureness: float) -> None:
    """Whether the model runs in float64 too, or casts to float32: its loss is as low as 1e-11 nats an item."""

    class Single(nn.Sequential):
        def forward(self, x: Tensor) -> Tensor:
            logits: Tensor = super().forward(x.to(self[0].weight.dtype))
            return logits

    torch.manual_seed(0)
    model = Single(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 3))
    inputs = torch.randn(13, 5)
    model[2].weight.data *= 20 * sureness
    targets = np.eye(3)[model(inputs).argmax(dim=1).numpy()]
    found = curvature(model, inputs, targets, max_probes=1000)["full"]
    expected = dense_hessian(model.double(), inputs.double(), torch.from_numpy(targets))
    assert found.largest == pytest.approx(torch.linalg.eigvalsh(expected)[-1].item(), rel=1e-3)
    assert found.trace == pytest.approx(expected.trace().item(), rel=1e-3)


class Checkpointed(nn.Module):
    def __init__(self, *layers: nn.Module) -> None:
        super().__init__()
        self.body, self.again = nn.Sequential(*layers), True

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = checkpoint(self.body, x, use_reentrant=False) if self.again else self.body(x)
        return logits


class ByItem(nn.Module):
    """A convolution under vmap, which knows nothing of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.again = nn.Conv2d(2, 3, 2), True

    def forward(self, x: Tensor) -> Tensor:
        def one(image: Tensor) -> Tensor:
            return self.conv(image[None]).tanh().mean(dim=(0, 2, 3))

        return torch.vmap(one)(x) if self.again else torch.stack([one(image) for image in x])


RUN_AGAIN: dict[str, Callable[[], nn.Module]] = {
    "norm": lambda: Checkpointed(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), nn.Tanh(), nn.Flatten(), nn.Linear(12, 3)),
    "dropout": lambda: Checkpointed(nn.Flatten(), nn.Linear(18, 4), nn.Tanh(), nn.Dropout(0.5), nn.Linear(4, 3)),
    "vmap": ByItem,
}


@pytest.mark.parametrize("options", [{}, {"batch_size": 2, "keep_graph": False}], ids=str)
@pytest.mark.parametrize("name", RUN_AGAIN)
def test_layers_that_run_again_or_under_vmap_are_measured(name: str, options: dict[str, int]) -> None:
    torch.manual_seed(0)
    model, inputs = RUN_AGAIN[name]().double(), torch.randn(5, 2, 3, 3).double()
    targets = torch.softmax(torch.randn(5, 3).double(), dim=1)
    with Hessian(model, inputs, targets, **options) as hessian:
        found = written_out(hessian)
    assert model.training
    model.again = False
    torch.testing.assert_close(found, dense_hessian(model.eval(), inputs, targets), rtol=1e-10, atol=1e-12)


def test_autocast_within_a_model_is_left_to_it() -> None:
    class Halved(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = conv_net()[:4]
            self.head = nn.Linear(12, 3)

        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cpu", torch.bfloat16):
                features = self.layers(x)
            logits: Tensor = self.head(features.float())
            return logits

    torch.manual_seed(0)
    model, inputs = Halved().eval(), torch.randn(5, 2, 3, 3)
    targets = torch.softmax(torch.randn(5, 3), dim=1)
    with Hessian(model, inputs, targets) as hessian:
        found = written_out(hessian)
    expected = dense_hessian(model, inputs, targets)
    assert (found - expected).norm() < 0.02 * expected.norm()


def test_what_quick_layers_do_not_know_is_left_to_torch() -> None:
    x, weight = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3)
    norm = nn.BatchNorm2d(3).train()
    with QuickSecondDerivatives():
        named, single, trained = nn.functional.conv2d(x, weight, padding="same"), torch.conv2d(x[0], weight), norm(x)
    torch.testing.assert_close(named, nn.functional.conv2d(x, weight, padding=1))
    torch.testing.assert_close(single, torch.conv2d(x, weight)[0])
    torch.testing.assert_close(trained.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-6, rtol=0)
    assert norm.num_batches_tracked == 1


def test_the_model_is_found_as_it_was_also_after_an_error() -> None:
    model, inputs, targets = case("conv and norm")
    model.train()
    model[3].eval()
    modes = [module.training for module in model.modules()]
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad(), Hessian(model, inputs, targets) as hessian:
        assert hessian.product(torch.ones(hessian.size).double()).requires_grad is False
    with pytest.raises(InputError):
        Hessian(model, inputs, targets[:, :2] / targets[:, :2].sum(1, keepdim=True))
    with pytest.raises(RuntimeError, match="inside"), evaluating(model):
        raise RuntimeError("inside")
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())


def test_arithmetic_set_by_the_user_comes_back() -> None:
    model, inputs, targets = case("one layer", dtype=torch.float32)
    torch.set_float32_matmul_precision("high")
    try:
        with torch.autocast("cpu", torch.bfloat16), Hessian(model, inputs, targets, tf32=True) as hessian:
            inexact = hessian.product(torch.ones(hessian.size))
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
    with Hessian(model, inputs, targets) as hessian:
        assert torch.equal(hessian.product(torch.ones(hessian.size), exact=True), inexact)  # no bf16 came in


@pytest.mark.parametrize("items", [1, 3])
def test_few_items_one_hot_targets_and_a_batch_larger_than_all(items: int) -> None:
    model, inputs, _ = case("norm of vectors", items)
    targets = torch.eye(3, dtype=torch.float64)[:items]
    with Hessian(model, inputs, targets, batch_size=100) as hessian:
        torch.testing.assert_close(written_out(hessian), dense_hessian(model, inputs, targets), rtol=1e-10, atol=1e-12)


def test_one_parameter_and_a_loss_without_curvature() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(0.0).double())

        def forward(self, x: Tensor) -> Tensor:
            return x * self.scale

    logits = torch.tensor([[1.0, -1.0]]).double()
    with Hessian(Scaled(), logits, [[0.5, 0.5]]) as hessian:
        assert hessian.product(torch.ones(1).double()).item() == pytest.approx(1.0)  # variance of +-1
        assert hessian.loss == pytest.approx(math.log(2))
    model = Scaled()
    model.forward = torch.no_grad()(model.forward)  # type: ignore[method-assign]
    with pytest.raises(InputError) as error:
        Hessian(model, logits, [[0.5, 0.5]])
    assert str(error.value) == (
        "the logits must have a derivative with respect to the model's parameters, but they have none. Remove no_grad() "
        "and detach() from the model."
    )


class Attentive(nn.Module):
    """A layer of attention, of which torch's quick kinds cannot be derived twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True).double()
        self.head = nn.Linear(4, 3).double()

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.head(self.layer(x).mean(dim=1))
        return logits


def test_attention_can_be_derived_twice() -> None:
    torch.manual_seed(0)
    model, x = Attentive(), torch.randn(3, 5, 4, dtype=torch.float64)
    targets = torch.rand(3, 3, dtype=torch.float64).softmax(dim=1)
    with Hessian(model, x, targets) as hessian:
        vector, step = torch.randn(hessian.size, dtype=torch.float64), 1e-5
        found = hessian.product(vector)
    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    gradients = []
    for sign in (1, -1):
        nn.utils.vector_to_parameters(weights + sign * step * vector, model.parameters())
        model.zero_grad()
        (-(targets * torch.log_softmax(model.eval()(x), dim=1)).sum() / 3).backward()
        gradients.append(nn.utils.parameters_to_vector([p.grad for p in model.parameters()]))
    torch.testing.assert_close(found, (gradients[0] - gradients[1]) / (2 * step), rtol=1e-5, atol=1e-7)


class Counted(nn.Module):
    """What a bag gives, of how often each entry is in it, (B, V), divided by the entries that count for a mean."""

    def __init__(self, bag: nn.EmbeddingBag) -> None:
        super().__init__()
        self.weight = bag.weight

    def forward(self, counts: Tensor) -> Tensor:
        return counts @ self.weight


def shares_in_bags(bags: Tensor, entries: int, padding: int | None, mode: str) -> Tensor:
    counts = torch.stack([torch.bincount(bag, minlength=entries) for bag in bags]).double()
    if padding is not None:
        counts[:, padding] = 0
    return counts / counts.sum(dim=1, keepdim=True).clamp_min(1) if mode == "mean" else counts


@pytest.mark.parametrize("options", BATCHES, ids=str)
@pytest.mark.parametrize("padding", [None, 0, -1])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_embeddings_are_derived_twice(mode: str, padding: int | None, options: dict[str, int]) -> None:
    torch.manual_seed(0)
    bag = nn.EmbeddingBag(6, 2, mode=mode, padding_idx=padding).double()
    nn.init.normal_(bag.weight)  # the row of padding too, which must not count
    model = nn.Sequential(bag, nn.Tanh(), nn.Linear(2, 3).double())
    bags = torch.tensor([[0, 0, 0], [5, 5, 5], [1, 0, 5], [2, 2, 3], [4, 0, 0]])
    targets = torch.softmax(torch.randn(5, 3).double(), dim=1)
    with Hessian(model, bags, targets, **options) as hessian:
        found = written_out(hessian)
        assert hessian.loss == pytest.approx(nn.functional.cross_entropy(model(bags), targets).item(), rel=1e-12)
    counted = nn.Sequential(Counted(bag), *model[1:])
    shares = shares_in_bags(bags, 6, padding, mode)
    torch.testing.assert_close(found, dense_hessian(counted, shares, targets), rtol=1e-10, atol=1e-12)


def test_the_network_for_texts_can_be_measured() -> None:
    torch.manual_seed(0)
    model = NgramNet(3, buckets=12, width=3).double()
    bags = torch.from_numpy(hash_ngrams(["yes", "no", "", "yes and no"], buckets=12))
    targets = torch.softmax(torch.randn(4, 3).double(), dim=1)
    found = curvature(model, bags, targets)["full"]
    with Hessian(model, bags, targets) as hessian:
        matrix = written_out(hessian)
    model.embed = Counted(model.embed)  # type: ignore[assignment]
    expected = dense_hessian(model.eval(), shares_in_bags(bags, 12, 0, "mean"), targets)
    torch.testing.assert_close(matrix, expected, rtol=1e-10, atol=1e-12)
    assert found.largest == pytest.approx(torch.linalg.eigvalsh(expected).max().item(), rel=1e-5)
    assert found.trace == pytest.approx(expected.trace().item(), rel=1e-10)


@pytest.mark.parametrize("keep_graph", [True, False])
def test_gradients_that_torch_keeps_sparse_are_those_that_it_does_not(keep_graph: bool) -> None:
    torch.manual_seed(0)
    embedding = nn.Embedding(6, 2).double()
    model = nn.Sequential(embedding, nn.Flatten(), nn.Tanh(), nn.Linear(4, 3).double())
    rows, targets = torch.tensor([[0, 1], [5, 5], [1, 2]]), np.full((3, 3), 1 / 3)
    expected = curvature(model, rows, targets)
    embedding.sparse = True
    assert curvature(model, rows, targets, keep_graph=keep_graph) == expected


def test_bags_that_are_given_otherwise_are_left_to_torch() -> None:
    torch.manual_seed(0)
    weight, bags = torch.randn(6, 2), torch.tensor([[0, 1, 2], [5, 5, 5]])
    given: list[dict[str, Any]] = [
        {"input": bags.flatten(), "offsets": torch.tensor([0, 3])},
        {"input": bags, "mode": "max"},
        {"input": bags, "mode": "sum", "per_sample_weights": torch.randn(2, 3)},
        {"input": bags, "max_norm": 0.1},
    ]
    for options in given:
        expected = nn.functional.embedding_bag(weight=weight.clone(), **options)
        with QuickSecondDerivatives():
            assert torch.equal(nn.functional.embedding_bag(weight=weight.clone(), **options), expected)


class Scaled(nn.Module):
    """What weight_norm makes of a layer, written out."""

    def __init__(self, bias: Tensor, scale: Tensor, direction: Tensor, dim: int | None) -> None:
        super().__init__()
        self.bias, self.scale, self.direction = (nn.Parameter(each.detach()) for each in (bias, scale, direction))
        self.axes = (0, 1) if dim is None else (1 - dim,)

    def forward(self, x: Tensor) -> Tensor:
        length = self.direction.square().sum(dim=self.axes, keepdim=True).sqrt()
        return nn.functional.linear(x, self.scale * self.direction / length, self.bias)


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("old", [False, True])
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
def test_weight_norm_has_the_derivatives_of_its_formula(old: bool, dim: int | None) -> None:
    torch.manual_seed(0)
    layer = (torch.nn.utils.weight_norm if old else weight_norm)(nn.Linear(4, 3).double(), dim=dim)
    parts = dict(layer.named_parameters())
    scale, direction = list(parts.values())[1:]
    inputs, targets = torch.randn(5, 4).double(), torch.softmax(torch.randn(5, 3).double(), dim=1)
    with Hessian(layer, inputs, targets) as hessian:
        found = written_out(hessian)
    plain = Scaled(parts["bias"], scale, direction, dim)
    torch.testing.assert_close(found, dense_hessian(plain, inputs, targets), rtol=1e-10, atol=1e-12)


class WithOffsets(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.bag(x.flatten(), torch.arange(0, x.numel(), x.shape[1])).tanh()
        return logits


class Distances(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.centres = nn.Parameter(torch.eye(3))

    def forward(self, x: Tensor) -> Tensor:
        return -torch.cdist(x.float(), self.centres)


class Once(torch.autograd.Function):
    """As the backward pass of a compiled model, which says so in more than a line."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return 2 * x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        if g.requires_grad or torch.is_grad_enabled():
            raise RuntimeError("no double backward.\nSee the log.")
        return 2 * g


class Compiled(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return Once.apply(super().forward(x.float()))  # type: ignore[no-any-return, no-untyped-call]


@pytest.mark.parametrize("keep_graph", [True, False])
@pytest.mark.parametrize(
    ("model", "told"),
    [
        (WithOffsets, "the derivative for '_embedding_bag_backward' is not implemented"),
        (Distances, "the derivative for '_cdist_backward' is not implemented"),
        (lambda: Compiled(3, 3), "no double backward"),
    ],
)
def test_layers_without_a_second_derivative_are_named(
    model: Callable[[], nn.Module], told: str, keep_graph: bool
) -> None:
    with pytest.raises(InputError) as caught:
        curvature(model(), torch.tensor([[0, 1, 2], [3, 4, 5]]), np.eye(3)[:2], keep_graph=keep_graph)
    assert str(caught.value) == (
        f"the model must have second derivatives, but torch says: {told}. Measure it uncompiled, or write that layer "
        "with operations that have second derivatives."
    )


def test_that_memory_is_short_is_said_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    model, inputs, targets = case("one layer")

    def short(*_: object, **__: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with Hessian(model, inputs, targets) as hessian:
        monkeypatch.setattr(torch.autograd, "grad", short)
        with pytest.raises(torch.OutOfMemoryError):
            hessian.product(torch.ones(15).double())
    with pytest.raises(torch.OutOfMemoryError):
        Hessian(model, inputs, targets)


def test_bad_input_is_refused_in_full_sentences() -> None:
    model, inputs, targets = case("one layer")

    def refused(*arguments: object, **options: object) -> str:
        with pytest.raises(InputError) as caught:
            Hessian(*arguments, **options)  # type: ignore[arg-type]
        return str(caught.value)

    with torch.inference_mode():
        assert refused(model, inputs, targets) == (
            "gradients must be possible, but torch.inference_mode is on. Call this outside of it."
        )
    assert refused(nn.Linear(4, 3).bfloat16(), torch.ones(1, 4), [[1, 0, 0]]) == (
        "the model must be in float32 or float64, as second derivatives are lost to rounding in lower precision, but it "
        "is in torch.bfloat16. Measure copy.deepcopy(model).float()."
    )
    assert refused(nn.Linear(4, 3), torch.ones(1, 4).double(), [[1, 0, 0]]).startswith(
        "the model must take inputs of shape (1, 4) and type torch.float64, but it says: "
    )
    assert refused(model, inputs.numpy(), targets) == (
        "inputs must be Tensor, but got ndarray. Pass torch.from_numpy(...) of an array."
    )
    assert refused(model, inputs[:2], targets) == (
        "inputs and targets must have one row per item, but got 2 and 5 rows. Pass the same items in both."
    )
    assert refused(model, inputs, np.full((5, 2), 0.5)) == (
        "the model must give logits of shape (5, 2), one column for each class, but it gave shape (5, 3). "
        "Check the classes of targets, or wrap the model."
    )
    assert "each row of targets must be non-negative and sum to 1" in refused(model, inputs, 2 * targets)
    assert "targets must have two dimensions" in refused(model, inputs[:0], targets[:0])
    assert "batch_size must be a whole number of at least 1" in refused(model, inputs, targets, batch_size=0)
    assert "model must be Module, but got function" in refused(lambda x: x, inputs, targets)
    assert "must have trainable parameters" in refused(model.requires_grad_(False), inputs, targets)
    broken, _, _ = case("one layer")
    nn.init.constant_(broken.weight, math.nan)
    assert "the loss and its gradient must be finite, but got NaN or infinity" in refused(broken, inputs, targets)


def test_vectors_of_another_size_and_use_after_release_are_refused() -> None:
    model, inputs, targets = case("one layer")
    hessian = Hessian(model, inputs, targets)
    with pytest.raises(InputError) as caught:
        hessian.product(torch.ones(3, 5).double())
    assert str(caught.value) == (
        "the vector must be flat, one number for each of 15 parameters, but its shape is (3, 5). "
        "Flatten and concatenate the parts in the order of model.parameters()."
    )
    hessian.release()
    hessian.release()
    with pytest.raises(InputError) as caught:
        hessian.product(torch.ones(15).double())
    assert str(caught.value) == "a Hessian must be in use, but this Hessian has been released. Make a new one."


def _resident() -> int:
    """Bytes of memory held by this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("keep_graph", [True, False])
def test_memory_does_not_grow(keep_graph: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(4096, 2)
    )
    inputs, targets = torch.randn(16, 3, 16, 16), torch.full((16, 2), 0.5)

    def measures(times: int) -> Iterator[int]:
        for _ in range(times):
            with Hessian(model, inputs, targets, keep_graph=keep_graph) as hessian:
                hessian.product(torch.ones(hessian.size))
        gc.collect()
        yield _resident()
        yield sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())

    (before, tensors), (after, tensors_after) = measures(5), measures(50)
    assert tensors_after == tensors
    assert after - before < 20e6  # each graph holds 5 MB
