"""The generator behind every delivery: fixed for ever, and random enough."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from votewise import InputError
from votewise._random import cumulative, draw_classes, item_keys, random_bits, stream_key, unit_interval


def test_known_answers() -> None:
    """Labels must be the same for ever, on every platform: these were computed once and are part of the contract."""
    assert stream_key(0, "sls", 0) == 0xD5C2BEAEA4186CD1
    assert [hex(int(key)) for key in item_keys(np.array(["0", "cat.png", "日本"]))] == [
        "0x774615d7b1a1f2e1",
        "0x28c91897e292d189",
        "0x39f2aef207f247f3",
    ]
    bits = random_bits(stream_key(7, "x"), item_keys(np.array(["a", "b"])))
    assert [hex(int(word)) for word in bits] == ["0x471a2d6340cf3dbe", "0x88639d84ffc40535"]


@given(
    st.lists(st.text(min_size=1).filter(lambda name: "\x00" not in name), min_size=1, max_size=20, unique=True),
    st.integers(1, 30),
)
def test_keys_depend_on_the_text_alone(names: list[str], padding: int) -> None:
    width = max(len(name) for name in names) + padding
    together = item_keys(np.array(names))
    np.testing.assert_array_equal(together, item_keys(np.array(names, dtype=f"<U{width}")))
    np.testing.assert_array_equal(together, item_keys(np.array(names, dtype=f">U{width}")))
    np.testing.assert_array_equal(together, [item_keys(np.array([name]))[0] for name in names])
    assert len(set(together.tolist())) == len(names)


def test_numbered_items_have_different_keys() -> None:
    assert len(np.unique(item_keys(np.arange(1_000_000).astype(str)))) == 1_000_000


@pytest.mark.parametrize("shift", [0, 8, 16, 31, 40, 56])
def test_every_byte_is_uniform_over_items(shift: int) -> None:
    keys = item_keys(np.arange(200_000).astype(str))
    bytes_ = (random_bits(stream_key(0, "sls", 3), keys) >> np.uint64(shift)) & np.uint64(255)
    expected = len(keys) / 256
    chi = ((np.bincount(bytes_.astype(int), minlength=256) - expected) ** 2 / expected).sum()
    assert abs(chi - 255) < 5 * np.sqrt(2 * 255)


def test_streams_seeds_and_epochs_are_uncorrelated() -> None:
    keys = item_keys(np.arange(50_000).astype(str))
    streams = [stream_key(seed, name, epoch) for seed in (0, 1) for name in ("a", "b") for epoch in (0, 1, 2)]
    draws = np.array([unit_interval(random_bits(key, keys)) for key in streams])
    correlation = np.corrcoef(draws) - np.eye(len(draws))
    assert np.abs(correlation).max() < 5 / np.sqrt(50_000)
    neighbours = [np.corrcoef(row[:-1], row[1:])[0, 1] for row in draws]
    assert np.abs(neighbours).max() < 5 / np.sqrt(50_000)


def test_one_flipped_bit_of_the_key_changes_half_the_bits() -> None:
    keys = item_keys(np.arange(2_000).astype(str))
    plain = random_bits(12345, keys)
    for bit in range(64):
        changed = np.bitwise_count(plain ^ random_bits(12345 ^ (1 << bit), keys))
        assert abs(changed.mean() - 32) < 5 * 4 / np.sqrt(len(keys))


def test_a_class_of_probability_zero_is_never_drawn() -> None:
    probs = np.array([[0.0, 0.3, 0.0, 0.7, 0.0], [1 / 3, 1 / 3, 1 / 3, 0.0, 0.0]])
    cdf = cumulative(probs)
    for uniform in (0.0, 0.3 - 1e-16, 0.3, 2 / 3, 1 - 2**-53):
        drawn = draw_classes(cdf, np.array([uniform, uniform]))
        assert (probs[[0, 1], drawn] > 0).all()


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, None])
def test_seeds_are_whole_numbers(seed: object) -> None:
    with pytest.raises(InputError, match="seed must be a whole number of at least 0, but"):
        stream_key(seed, "x")  # type: ignore[arg-type]
