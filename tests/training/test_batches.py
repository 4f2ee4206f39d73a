"""What chance decides in an epoch, and the images that come of it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oracles import pixels
from votewise import InputError
from votewise.training import Inputs, TrainConfig
from votewise.training.batches import batch_sizes, epoch_crops, epoch_order


@given(st.integers(0, 2**63 - 1), st.integers(0, 10**6), st.integers(0, 200))
def test_an_epoch_visits_every_item_once(seed: int, epoch: int, n: int) -> None:
    order = epoch_order(seed, epoch, n)
    assert sorted(order.tolist()) == list(range(n))
    assert (order == epoch_order(seed, epoch, n)).all()


def test_the_order_changes_with_seed_and_epoch_alone() -> None:
    orders = {tuple(epoch_order(seed, epoch, 50)) for seed in range(6) for epoch in range(6)}
    assert len(orders) == 36
    np.random.seed(5)
    torch.manual_seed(5)
    assert tuple(epoch_order(0, 0, 50)) in orders


def images_of(**values: object) -> TrainConfig:
    return TrainConfig(mean=(0.5,), std=(0.5,), **values)  # type: ignore[arg-type]


def test_crops_are_even_over_all_corners_and_half_are_mirrored() -> None:
    crops = epoch_crops(0, 0, 40_500, images_of(crop=4, flip=True))
    corners = Counter(map(tuple, crops[:, :2].tolist()))
    assert set(corners) == {(top, left) for top in range(9) for left in range(9)}
    # 500 expected at each of 81 corners, with a standard deviation of 22.
    assert max(abs(found - 500) for found in corners.values()) < 5 * 22.2
    assert set(crops[:, 2]) == {0, 1}
    assert abs(crops[:, 2].mean() - 0.5) < 5 * 0.5 / 40_500**0.5


def test_crops_depend_on_seed_and_epoch_alone() -> None:
    both, unflipped = images_of(crop=2, flip=True), images_of(crop=2)
    assert (epoch_crops(3, 4, 30, both) == epoch_crops(3, 4, 30, both)).all()
    assert len({epoch_crops(seed, epoch, 30, both).tobytes() for seed in range(4) for epoch in range(4)}) == 16
    assert (epoch_crops(3, 4, 30, both)[:, :2] == epoch_crops(3, 4, 30, unflipped)[:, :2]).all()
    assert not epoch_crops(3, 4, 30, unflipped)[:, 2].any()
    assert not epoch_crops(3, 4, 30, images_of()).any()


@given(st.integers(0, 500), st.integers(1, 60))
def test_batches_are_full_but_for_the_last(n: int, size: int) -> None:
    sizes = batch_sizes(n, size)
    assert sum(sizes) == n
    assert all(one == size for one in sizes[:-1])
    assert sizes == [len(part) for part in torch.split(torch.arange(n), size) if len(part)]


@st.composite
def cropping(draw: st.DrawFn) -> tuple[np.ndarray, TrainConfig, np.ndarray]:
    """Images, a recipe, and the corners and mirrors to cut them by."""
    n, side, channels, crop = (draw(st.integers(*ends)) for ends in ((1, 4), (1, 5), (1, 3), (0, 3)))
    shape = (n, side, draw(st.integers(1, 5)), channels)
    images = draw(hnp.arrays(np.uint8, shape))
    shares = st.lists(st.floats(0.05, 0.95), min_size=channels, max_size=channels).map(tuple)
    recipe = TrainConfig(crop=crop, flip=True, fill=draw(st.sampled_from(["black", "mean"])), mean=draw(shares), std=draw(shares))  # fmt: skip
    corners = draw(hnp.arrays(np.int64, (n, 2), elements=st.integers(0, 2 * crop)))
    mirrored = draw(hnp.arrays(np.int64, (n, 1), elements=st.integers(0, 1)))
    return images, recipe, np.concatenate([corners, mirrored], axis=1)


@given(cropping(), st.randoms(use_true_random=False))
def test_crops_are_those_of_the_slow_way(case: tuple[np.ndarray, TrainConfig, np.ndarray], chance: object) -> None:
    images, recipe, crops = case
    items = torch.tensor([chance.randrange(len(images)) for _ in crops])  # type: ignore[attr-defined]
    found = Inputs.place(torch.from_numpy(images), recipe, "cpu").cropped(items, torch.from_numpy(crops))
    mean, std = (np.float32(values).tolist() for values in (recipe.mean, recipe.std))
    fill = [0 if recipe.fill == "black" else round(float(np.float32(255) * np.float32(one))) for one in mean]
    for image, item, (top, left, mirrored) in zip(found, items, crops.tolist(), strict=True):
        slow = pixels.cropped(images[item], (top, left), bool(mirrored), recipe.crop, fill, mean, std)
        np.testing.assert_allclose(image.numpy(), slow, rtol=1e-5, atol=1e-4)


@given(cropping())
def test_plain_images_are_the_middle_crop_unmirrored(case: tuple[np.ndarray, TrainConfig, np.ndarray]) -> None:
    images, recipe, _ = case
    data, items = Inputs.place(torch.from_numpy(images), recipe, "cpu"), torch.arange(len(images))
    middle = torch.tensor([[recipe.crop, recipe.crop, 0]] * len(images))
    assert torch.equal(data.plain(items), data.cropped(items, middle))
    assert torch.equal(torch.cat(list(data.chunks(items, 3))), data.plain(items))
    scaled = (images.transpose(0, 3, 1, 2) / 255 - np.reshape(recipe.mean, (-1, 1, 1))) / np.reshape(
        recipe.std, (-1, 1, 1)
    )
    np.testing.assert_allclose(data.plain(items).numpy(), scaled, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("values", [torch.randn(5, 3), torch.randint(0, 9, (5, 7))])
def test_other_inputs_pass_as_they_are(values: torch.Tensor) -> None:
    data = Inputs.place(values, TrainConfig(), "cpu")
    items = torch.tensor([4, 0, 0])
    assert len(data) == 5
    assert torch.equal(data.plain(items), values[items])
    assert torch.equal(data.cropped(items, torch.zeros(3, 3, dtype=torch.int64)), values[items])


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (torch.zeros(2, 4, 4, 3), "got torch.float32 of shape (2, 4, 4, 3)"),
        (torch.zeros(2, 3, 4, 4, dtype=torch.uint8), "got torch.uint8 of shape (2, 3, 4, 4)"),
        (torch.zeros(2, 4, 4, dtype=torch.uint8), "got torch.uint8 of shape (2, 4, 4)"),
    ],
)
def test_what_are_no_images(values: torch.Tensor, got: str) -> None:
    recipe = TrainConfig(mean=(0.5,) * 3, std=(0.5,) * 3)
    with pytest.raises(InputError) as error:
        Inputs.place(values, recipe, "cpu")
    assert str(error.value) == (
        f"images must be uint8 of shape (N, H, W, 3), but {got}. Convert them, or leave mean and std empty."
    )
