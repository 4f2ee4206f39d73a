"""Grad-CAM against captum and by hand; how far maps agree against every pair; what must be left as it was."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from captum.attr import LayerGradCam
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.stats import pearsonr
from torch import Tensor, nn

from leaks import assert_nothing_kept
from votewise import InputError
from votewise.diagnostics import MapStability, gradcam_maps, map_stability, upsampled_maps
from votewise.models import ResNet18

CLASSES = np.array([0, 3, 1, 2, 3, 0, 1])


class InPlace(nn.Module):
    """A layer whose output the next one overwrites, as in many residual networks."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.relu = nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(inplace=True)
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(5, 4)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.drop(self.relu(self.norm(self.conv(images))).mean(dim=(2, 3))))


def make_resnet() -> ResNet18:
    torch.manual_seed(0)
    model = ResNet18(4, width=4).double()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(std=0.1)
            module.running_var.uniform_(0.5, 2)
    return model


def images() -> Tensor:
    return torch.randn(len(CLASSES), 3, 32, 32, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def captums(model: nn.Module, layer: nn.Module, given: Tensor) -> Tensor:
    tool = LayerGradCam(model.eval(), layer)
    return tool.attribute(given, target=torch.from_numpy(CLASSES), relu_attributions=True).detach()[:, 0]


@pytest.mark.parametrize("block", [-1, -3, 0])
def test_is_captums(block: int) -> None:
    model = make_resnet()
    maps = gradcam_maps(model, model.blocks[block], images(), CLASSES, batch_size=3)
    torch.testing.assert_close(maps, captums(model, model.blocks[block], images()), rtol=1e-10, atol=1e-12)
    assert (maps > 0).any()
    assert not maps.requires_grad


def test_last_block_of_the_papers_network_is_four_by_four() -> None:
    model = make_resnet()
    assert gradcam_maps(model, model.blocks[-1], images(), CLASSES).shape == (len(CLASSES), 4, 4)


def test_before_a_mean_and_a_linear_layer_it_is_a_weighted_sum() -> None:
    """The slope of a logit is then its row of weights over the number of places: Zhou et al.'s CAM, rectified."""
    model = nn.Sequential(nn.Conv2d(3, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 4)).double()
    features, weights = model[0](images()).detach(), model[3].weight.detach()[CLASSES] / 900
    expected = torch.relu((features * weights[:, :, None, None]).sum(dim=1))
    torch.testing.assert_close(gradcam_maps(model, model[0], images(), CLASSES), expected, rtol=1e-12, atol=1e-14)


def test_a_later_layer_may_work_in_place() -> None:
    torch.manual_seed(0)
    model = InPlace().double()
    given = images()
    logits_of, places = model.head.weight.detach()[CLASSES], 900
    with torch.no_grad():
        activation = model.eval().norm(model.conv(given))
    slope = (logits_of[:, :, None, None] / places * (activation > 0)).mean(dim=(2, 3), keepdim=True)
    expected = torch.relu((slope * activation).sum(dim=1))
    torch.testing.assert_close(gradcam_maps(model, model.norm, given, CLASSES), expected, rtol=1e-10, atol=1e-14)


def test_each_image_is_explained_alone() -> None:
    model = make_resnet()
    whole = gradcam_maps(model, model.blocks[-1], images(), CLASSES)
    for row in range(3):
        alone = gradcam_maps(model, model.blocks[-1], images()[row : row + 1], CLASSES[row : row + 1])
        torch.testing.assert_close(alone[0], whole[row], rtol=1e-10, atol=1e-14)


def test_frozen_weights_and_a_surrounding_no_grad_make_no_difference() -> None:
    model = make_resnet()
    expected = gradcam_maps(model, model.blocks[-1], images(), CLASSES)
    with torch.no_grad():
        assert torch.equal(gradcam_maps(model, model.blocks[-1], images(), torch.from_numpy(CLASSES)), expected)
    model.requires_grad_(False)
    assert torch.equal(gradcam_maps(model, model.blocks[-1], images(), CLASSES.tolist()), expected)


@pytest.mark.parametrize("fails", [False, True])
def test_leaves_the_model_as_it_was(fails: bool) -> None:
    model = InPlace().double().train()
    model.norm.eval()
    modes = [module.training for module in model.modules()]
    state = {name: value.clone() for name, value in model.state_dict().items()}
    weights = list(model.parameters())
    if fails:
        with pytest.raises(InputError, match="the model must take inputs of shape"):
            gradcam_maps(model, model.conv, images().flatten(1), CLASSES)
    else:
        gradcam_maps(model, model.conv, images(), CLASSES)
    assert modes == [module.training for module in model.modules()]
    assert not any(module._forward_hooks for module in model.modules())
    assert all(one is other and one.grad is None for one, other in zip(model.parameters(), weights, strict=True))
    torch.testing.assert_close(dict(model.state_dict()), state, rtol=0, atol=0)


def test_keeps_no_memory() -> None:
    model, given = InPlace().double(), images()[:, :, :6, :6]
    assert_nothing_kept(lambda: gradcam_maps(model, model.conv, given, CLASSES))
    maps = torch.rand(3, 4, 2, 2)
    assert_nothing_kept(lambda: (upsampled_maps(maps[0], (4, 4)), map_stability(maps)))


def refused(layer: nn.Module | None = None, model: nn.Module | None = None, **changes: object) -> str:
    model = InPlace().double() if model is None else model
    arguments = {"inputs": images(), "classes": CLASSES, **changes}
    with pytest.raises(InputError) as caught:
        gradcam_maps(model, model.conv if layer is None else layer, **arguments)  # type: ignore[arg-type]
    return str(caught.value)


def test_layers_it_cannot_explain_are_refused() -> None:
    model = InPlace().double()
    model.unused = nn.Conv2d(1, 1, 1)
    assert refused(nn.ReLU()) == "layer must be a module of the model, but got another. Pick it from model.modules()."
    assert refused(model.unused, model) == ("layer must run once in a forward pass, but it ran 0 times. Pick another.")
    assert refused(model.head, model) == (
        "layer must give a tensor (B, C, h, w), but got shape (7, 4). Pick a convolution or block."
    )
    twice = nn.Sequential(nn.Conv2d(3, 3, 1), nn.Flatten()).double()
    twice.insert(1, twice[0])
    assert refused(twice[0], twice) == ("layer must run once in a forward pass, but it ran 2 times. Pick another.")


def test_a_layer_that_the_logits_ignore_is_refused() -> None:
    class Ignoring(InPlace):
        def forward(self, images: Tensor) -> Tensor:
            return super().forward(images).detach()

    model = Ignoring().double()
    assert refused(model.conv, model) == ("the logits must depend on layer, but they do not. Pick another.")


def test_wrong_classes_and_inputs_are_refused() -> None:
    wanted = "classes must be 7 whole numbers, one per image, but got an array of shape"
    for wrong, got in ((CLASSES[:-1], "(6,) and type int64"), (CLASSES / 2, "(7,) and type float64")):
        assert refused(classes=wrong) == f"{wanted} {got}. Pass class indices."
    for wrong, got in ((-CLASSES, "-3 to 0"), (CLASSES + 1, "1 to 4")):
        assert refused(classes=wrong) == (
            f"classes must lie between 0 and 3, the model's last, but they run from {got}. Pass the index of a class."
        )
    pair = InPlace().double()
    pair.register_forward_hook(lambda _model, _given, logits: (logits, None))
    assert refused(pair.conv, pair).endswith("items x classes, but got tuple. Wrap the model.")
    flat = nn.Sequential(nn.Conv2d(3, 3, 1)).double()
    assert refused(flat[0], flat) == (
        "the model must give logits of shape (7, K), items x classes, but got (7, 3, 32, 32). Wrap the model."
    )
    assert refused(classes=[[0], [1, 2]]).startswith(wanted)
    assert refused(inputs=images()[:0], classes=[]).startswith("inputs must have at least 1 rows, one per item")
    assert refused(batch_size=0).startswith("batch_size must be a whole number of at least 1")


def test_upsampling_is_bilinear_then_from_zero_to_one() -> None:
    maps = torch.tensor([[[0.0, 1.0], [2.0, 3.0]]], dtype=torch.float64)
    # Half-pixel centres: places 0.25 and 0.75 between the two values, clamped beyond them.
    steps = torch.tensor([0, 0.25, 0.75, 1], dtype=torch.float64)
    expected = (steps + 2 * steps[:, None]) / 3
    torch.testing.assert_close(upsampled_maps(maps, (4, 4))[0], expected, rtol=0, atol=1e-15)


@given(hnp.arrays(np.float32, (3, 4, 4), elements=st.floats(0, 100, width=32)))
def test_upsampled_maps_lie_between_zero_and_one(values: np.ndarray) -> None:
    values[0] = values[0, 0, 0]
    small = torch.from_numpy(values)
    large = upsampled_maps(small, (32, 32))
    assert large.shape == (3, 32, 32)
    assert (large[0] == 0).all()
    for before, after in zip(small[1:], large[1:], strict=True):
        varies = bool(before.max() > before.min())
        assert (after.min().item(), after.max().item()) == (0, 1 if varies else 0)


def test_upsampling_wants_maps() -> None:
    with pytest.raises(InputError) as caught:
        upsampled_maps(torch.ones(2, 2), (4, 4))
    assert str(caught.value) == "maps must be of shape (N, h, w), but got (2, 2). Pass one map per image."


def by_pairs(maps: np.ndarray) -> np.ndarray:
    """Mean of scipy's correlations over the pairs of runs that have one."""
    means = []
    for image in range(maps.shape[1]):
        rows = [run[image].ravel() for run in maps if np.ptp(run[image]) > 0]
        pairs = [pearsonr(one, other).statistic for one, other in itertools.combinations(rows, 2)]
        means.append(np.mean(pairs) if pairs else math.nan)
    return np.array(means)


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 5), st.integers(1, 4), st.just(2), st.just(3)),
        elements=st.integers(-3, 3).map(float),
    )
)
def test_stability_is_the_mean_over_pairs(maps: np.ndarray) -> None:
    result = map_stability(maps)
    expected = by_pairs(maps)
    np.testing.assert_allclose(result.per_image, expected, atol=1e-12)
    assert result.constant_maps == sum(np.ptp(one) == 0 for run in maps for one in run)
    assert result.undefined == np.isnan(expected).sum()
    defined = expected[~np.isnan(expected)]
    assert result.mean == pytest.approx(defined.mean() if defined.size else math.nan, abs=1e-12, nan_ok=True)


@given(st.integers(0, 10**6), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_stability_does_not_see_scale_shift_or_the_order_of_runs(seed: int, scale: float, shift: float) -> None:
    maps = np.random.default_rng(seed).normal(size=(4, 3, 5, 5))
    before = map_stability(maps).per_image
    moved = maps.copy()
    moved[1] = scale * moved[1] + shift
    np.testing.assert_allclose(map_stability(moved[::-1]).per_image, before, atol=1e-8)
    assert (np.abs(before) <= 1).all()


def test_runs_that_agree_wholly() -> None:
    maps = np.random.default_rng(0).uniform(size=(3, 4, 4))
    np.testing.assert_allclose(map_stability([maps, 2 * maps, maps + 5]).per_image, 1, rtol=1e-12)
    np.testing.assert_allclose(map_stability([maps, -maps]).per_image, -1, rtol=1e-12)


def test_constant_maps_are_told() -> None:
    maps = torch.rand(3, 4, 2, 2, generator=torch.Generator().manual_seed(0))
    maps[0, 0] = 0  # leaves one pair
    maps[:2, 1] = 0.1  # leaves none
    maps[:, 2] = 0
    result = map_stability(maps)
    assert np.isnan(result.per_image).tolist() == [False, True, True, False]
    assert (result.constant_maps, result.undefined) == (6, 2)
    assert result.mean == pytest.approx(result.per_image[[0, 3]].mean())
    nothing = map_stability(torch.zeros(2, 3, 2, 2))
    assert (nothing.constant_maps, nothing.undefined) == (6, 3)
    assert math.isnan(nothing.mean)


def test_stability_of_maps_of_a_model_and_its_upsampled_ones() -> None:
    """Runs in float32 through the whole chain; one run against itself agrees wholly where its map varies."""
    model = make_resnet().float()
    maps = gradcam_maps(model, model.blocks[-1], images().float(), CLASSES)
    result = map_stability([upsampled_maps(maps, (32, 32)), upsampled_maps(maps, (32, 32))])
    varies = (maps.amax(dim=(1, 2)) > maps.amin(dim=(1, 2))).numpy()
    np.testing.assert_allclose(result.per_image[varies], 1, rtol=1e-6)
    assert result.constant_maps == 2 * (~varies).sum()


def test_result_cannot_be_changed() -> None:
    result = map_stability(np.random.default_rng(0).uniform(size=(2, 2, 3)))
    assert isinstance(result, MapStability)
    with pytest.raises(ValueError, match="read-only"):
        result.per_image[0] = 1


@pytest.mark.parametrize(
    ("maps", "message"),
    [
        (
            np.ones((1, 2, 4)),
            "maps must be those of at least two runs, of one shape (N, ...), but got shapes [(2, 4)]. "
            "Run the same images through each model.",
        ),
        (
            [np.ones((2, 4)), np.ones((3, 4))],
            "maps must be those of at least two runs, of one shape (N, ...), but got shapes [(2, 4), (3, 4)]. "
            "Run the same images through each model.",
        ),
        (
            np.ones((2, 3)),
            "the maps of a run must have 2 or more dimensions, the first of them items, none empty, "
            "but the shape is (3,). Reshape it.",
        ),
        (
            [np.ones((1, 2)), [[1.0, math.nan]]],
            "the maps of a run must be finite, but got NaN or infinity. Check the model they are from.",
        ),
    ],
)
def test_wrong_maps_are_refused(maps: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        map_stability(maps)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_images_of_nan_are_refused() -> None:
    model, broken = make_resnet(), images()
    broken[2] = math.nan
    with pytest.raises(InputError) as caught:
        gradcam_maps(model, model.blocks[-1], broken, CLASSES)
    assert str(caught.value) == "the maps must be finite, but got NaN or infinity. Check the model they are from."


def test_a_model_for_several_devices_is_measured_on_one() -> None:
    model = make_resnet()
    maps = gradcam_maps(nn.DataParallel(model), model.blocks[-1], images(), CLASSES)
    assert torch.equal(maps, gradcam_maps(model, model.blocks[-1], images(), CLASSES))


def test_images_may_be_from_inference_mode() -> None:
    model = make_resnet()
    with torch.inference_mode():
        inferred = images() * 1
    assert torch.equal(
        gradcam_maps(model, model.blocks[-1], inferred, CLASSES),
        gradcam_maps(model, model.blocks[-1], images(), CLASSES),
    )
