"""Several ResNet-18s as one, against each by itself under autograd. Needs a GPU: the kernels run nowhere else."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from votewise.models import ResNet18
from votewise.training import TrainConfig, soft_cross_entropy

pytest.importorskip("triton", reason="the kernels are written in Triton, which is not installed")
if not torch.cuda.is_available():
    pytest.skip("the kernels need a GPU, and torch finds none", allow_module_level=True)

from votewise.training.loop import make_optimizer
from votewise.training.stacked import StackedResNet

DEVICE = torch.device("cuda")
RECIPE = TrainConfig(optimizer="sgd", learning_rate=0.05, weight_decay=5e-4)


def some_models(runs: int) -> list[ResNet18]:
    torch.manual_seed(0)
    return [ResNet18().to(DEVICE) for _ in range(runs)]


def a_batch(runs: int, items: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    images = torch.randn(runs, items, 3, 32, 32, device=DEVICE)
    return images, torch.rand(runs, items, 10, device=DEVICE).mul(3).softmax(dim=2)


def gradients_of(model: ResNet18, images: torch.Tensor, targets: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    soft_cross_entropy(model.train()(images), targets).mean().backward()
    return {name: parameter.grad.double().to(DEVICE) for name, parameter in model.named_parameters()}


def stacked_gradients(stacked: StackedResNet, run: int) -> dict[str, torch.Tensor]:
    """Each parameter's gradient of one run, shaped as the model keeps it."""
    tables = (stacked.convolutions, stacked.norms, stacked.head, stacked.bias)
    found = {name: table.view(table.gradients, name)[run].double() for table in tables for name in table.shapes}
    return {name: value.permute(0, 3, 1, 2) if value.ndim == 4 else value for name, value in found.items()}


@pytest.mark.parametrize("items", [24, 33], ids=["even", "odd tiles"])
def test_gradients_in_fp32_are_as_near_to_the_truth_as_autograds(items):
    models = some_models(2)
    images, targets = a_batch(2, items)
    stacked = StackedResNet(models[0], 2, RECIPE, DEVICE)
    for run, model in enumerate(models):
        stacked.load(run, model.state_dict())
    with torch.backends.cudnn.flags(allow_tf32=False, deterministic=True):
        stacked.train_step(images, targets, torch.tensor(0.0, device=DEVICE))
        for run, model in enumerate(models):
            own, eager = stacked_gradients(stacked, run), gradients_of(model, images[run], targets[run])
            exactly = copy.deepcopy(model).double().cpu()  # a GPU takes minutes for float64
            truth = gradients_of(exactly, images[run].double().cpu(), targets[run].double().cpu())
            errors = {}
            for name, exact in truth.items():
                ours = own[name][:, : exact.shape[1]] if exact.ndim == 4 else own[name]
                errors[name] = [((found - exact).norm() / exact.norm()).item() for found in (ours, eager[name])]
            # A relu at its threshold may open in one and not in the other. Late in the network that moves all gradients
            # before it by half a percent; an item too many or too few would do so by more than ten.
            assert {name: error for name, error in errors.items() if not error[0] < 0.05} == {}
            ours, theirs = torch.tensor(list(errors.values())).median(dim=0).values.tolist()
            assert ours < max(5 * theirs, 0.01), errors


@pytest.mark.parametrize(
    "change", [{}, {"nesterov": True}, {"decayed": "weights"}], ids=["plain", "nesterov", "spared"]
)
def test_steps_in_fp32_follow_those_of_each_network_by_itself(change):
    # So much decay that its absence would show; steps so short that the second starts from where the other's does.
    recipe = replace(RECIPE, learning_rate=1e-3, weight_decay=0.5, **change)
    models = some_models(2)
    stacked = StackedResNet(models[0], 2, recipe, DEVICE)
    starts = [copy.deepcopy(model.state_dict()) for model in models]
    for run, start in enumerate(starts):
        stacked.load(run, start)
    optimizers = [make_optimizer(model, recipe, recipe.learning_rate) for model in models]
    images, targets = a_batch(2, 24)
    with torch.backends.cudnn.flags(allow_tf32=False, deterministic=True):
        for _ in range(2):
            losses = stacked.train_step(images, targets, torch.tensor(recipe.learning_rate, device=DEVICE))
            for run, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
                loss = soft_cross_entropy(model.train()(images[run]), targets[run]).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                assert losses[run].item() == pytest.approx(loss.item(), abs=1e-4)
        for run, (model, start) in enumerate(zip(models, starts, strict=True)):
            state = stacked.state(run, stacked.values())
            errors = {}
            for name, value in model.state_dict().items():
                if not name.endswith("num_batches_tracked"):
                    way = value - start[name]
                    errors[name] = ((state[name].to(DEVICE) - value).norm() / way.norm()).item()
            assert {name: error for name, error in errors.items() if not error < 0.02} == {}
            model.load_state_dict(state)
            model.eval()
            torch.testing.assert_close(stacked.predict(images)[run], model(images[run]), atol=1e-3, rtol=1e-3)


def test_bf16_is_as_near_to_fp32_as_autocast_is():
    (model,) = some_models(1)
    images, targets = a_batch(1, 128)
    gradients = {}
    for precision in ("fp32", "bf16"):
        model.zero_grad()
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bf16"):
            logits = model.train()(images[0])
        soft_cross_entropy(logits, targets[0]).mean().backward()
        gradients[precision] = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    stacked = StackedResNet(model, 1, replace(RECIPE, precision="bf16"), DEVICE)
    stacked.load(0, model.state_dict())
    stacked.train_step(images, targets, torch.tensor(0.0, device=DEVICE))
    for name, exact in gradients["fp32"].items():
        if exact.ndim == 4:
            own = stacked.convolutions.view(stacked.convolutions.gradients, name)[0].float()
            own = own.permute(0, 3, 1, 2)[:, : exact.shape[1]]
            assert (own - exact).norm() < 1.5 * (gradients["bf16"][name] - exact).norm(), name


def test_runs_do_not_touch_each_other():
    models = some_models(3)
    images, targets = a_batch(3, 32)
    images[1] = float("nan")
    together, alone = (StackedResNet(models[0], runs, RECIPE, DEVICE) for runs in (3, 1))
    for run, model in enumerate(models):
        together.load(run, model.state_dict())
    alone.load(0, models[2].state_dict())
    with torch.backends.cudnn.flags(allow_tf32=False, deterministic=True):
        together.train_step(images, targets, torch.tensor(0.1, device=DEVICE))
        alone.train_step(images[2:], targets[2:], torch.tensor(0.1, device=DEVICE))
    ours, theirs = together.state(2, together.values()), alone.state(0, alone.values())
    # The head is computed by the library, which rounds in other ways for other numbers of runs; all before it is equal.
    assert [name for name in ours if "running" in name and not torch.equal(ours[name], theirs[name])] == []
    for name, value in theirs.items():
        torch.testing.assert_close(ours[name], value, atol=1e-5, rtol=1e-3, msg=name)
