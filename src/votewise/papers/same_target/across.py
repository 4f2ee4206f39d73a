"""What is between runs: the loss on the way from one to another, and how alike their features and maps are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray
from votewise.records import RunRecord

Array = npt.NDArray[Any]

_IMAGE_SIZE = (32, 32)


@dataclass(frozen=True, eq=False)
class Sight:
    """How a model sees some images.

    Attributes:
        rows: (N,) which images.
        features: (N, D) what its last layer is given.
        maps: (N, h, w) where it looks for the class most people chose.
        maps_of_predicted: (N, h, w) where it looks for the class it chooses itself.
    """

    rows: IntArray
    features: Array
    maps: Array
    maps_of_predicted: Array

    def at(self, places: IntArray) -> Sight:
        """The same of some of the images."""
        return Sight(self.rows[places], self.features[places], self.maps[places], self.maps_of_predicted[places])


Likeness = Callable[[Sight, Sight], float]


def barriers(records: Sequence[RunRecord]) -> dict[str, Array]:
    """Losses on the way from SLS to soft labels of each seed, (P, T), and heights above the straight line, (P,)."""
    ordered = sorted(records, key=_seed_of_pair)
    if not ordered:
        return {}
    found: dict[str, Array] = {
        "barrier.seeds": np.array([_seed_of_pair(record) for record in ordered]),
        "barrier.positions": ordered[0].arrays["positions"],
        "barrier.seconds": np.array([record.timing.get("seconds", np.nan) for record in ordered]),
    }
    for name in ("plain", "recalibrated"):
        found[f"barrier.{name}.losses"] = np.stack([record.arrays[f"{name}_losses"] for record in ordered])
        found[f"barrier.{name}.heights"] = np.array([record.numbers[f"{name}/height"] for record in ordered])
    return found


def likeness_within(sights: Mapping[int, Sight], people: FloatArray | None) -> dict[str, FloatArray]:
    """How alike the runs of a method are on the images that both of a pair have seen, (S, S) for seeds in order.

    "cka" compares features, "maps" Grad-CAM maps at the size of the images, "maps_raw" as the layer gives them,
    "maps_of_predicted" those of the class that each model predicts; with "_high" behind, they are those of the fifth of
    the images that people disagree on most.

    Args:
        sights: of each seed's best model.
        people: (N, K) vote shares of all images; None if they are not at hand, which leaves out the disputed fifth.
    """
    measures: dict[str, Likeness] = {
        "cka": _feature_likeness,
        "maps": lambda first, second: _map_likeness(first.maps, second.maps),
        "maps_raw": lambda first, second: _raw_map_likeness(first.maps, second.maps),
        "maps_of_predicted": lambda first, second: _map_likeness(first.maps_of_predicted, second.maps_of_predicted),
    }
    found = {name: _matrix(sights, measure) for name, measure in measures.items()}
    if people is not None:
        for name in ("maps", "maps_raw", "maps_of_predicted"):
            found[f"{name}_high"] = _matrix(sights, _on_disputed(measures[name], people))
    return found


def _matrix(sights: Mapping[int, Sight], measure: Likeness) -> FloatArray:
    seeds = sorted(sights)
    likeness = np.eye(len(seeds))
    for row, column in combinations(range(len(seeds)), 2):
        pair = _common(sights[seeds[row]], sights[seeds[column]])
        likeness[row, column] = likeness[column, row] = measure(*pair)
    return likeness


def _common(first: Sight, second: Sight) -> tuple[Sight, Sight]:
    """The images both have, in one order."""
    _, here, there = np.intersect1d(first.rows, second.rows, assume_unique=True, return_indices=True)
    return first.at(here), second.at(there)


def _on_disputed(measure: Likeness, people: FloatArray) -> Likeness:
    """The same likeness, on the fifth of the images that people disagree on most."""
    from votewise.diagnostics import high_disagreement_slices

    def measured(first: Sight, second: Sight) -> float:
        high = high_disagreement_slices(people[first.rows])["top-20%"]
        return measure(first.at(high), second.at(high))

    return measured


def _feature_likeness(first: Sight, second: Sight) -> float:
    from votewise.diagnostics import linear_cka

    return linear_cka(first.features, second.features)


def _map_likeness(first: Array, second: Array) -> float:
    return _raw_map_likeness(_as_large_as_images(first), _as_large_as_images(second))


def _raw_map_likeness(first: Array, second: Array) -> float:
    from votewise.diagnostics import map_stability

    return map_stability([first, second]).mean


def _as_large_as_images(maps: Array) -> Array:
    import torch

    from votewise.diagnostics import upsampled_maps

    return upsampled_maps(torch.from_numpy(maps.astype(np.float32)), _IMAGE_SIZE).numpy()


def _seed_of_pair(record: RunRecord) -> int:
    first: Any = record.config["barrier"][0]  # type: ignore[index]
    return int(first["seed"])
