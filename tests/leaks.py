"""Does a call leave something behind? Counted in live Python objects, tensors among them."""

from __future__ import annotations

import gc
from collections.abc import Callable

import torch


def assert_nothing_kept(call: Callable[[], object], times: int = 50) -> None:
    """Repeat a call; after the first two, which may fill caches, nothing may pile up."""
    call(), call()
    before = _live()
    for _ in range(times):
        call()
    tensors, things = (after - start for after, start in zip(_live(), before, strict=True))
    assert tensors == 0
    assert things < times


def _live() -> tuple[int, int]:
    gc.collect()
    things = gc.get_objects()
    return sum(issubclass(type(thing), torch.Tensor) for thing in things), len(things)
