"""Comparisons between runs: loss barriers, and how similar features and Grad-CAM maps are."""

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
class ModelView:
    """One model's features and Grad-CAM maps on some images.

    Attributes:
        rows: (N,) which images.
        features: (N, D) inputs of its last layer.
        maps: (N, h, w) for the majority's class.
        maps_of_predicted: (N, h, w) for the class it predicts.
    """

    rows: IntArray
    features: Array
    maps: Array
    maps_of_predicted: Array

    def at(self, places: IntArray) -> ModelView:
        """The same for some of the images."""
        return ModelView(self.rows[places], self.features[places], self.maps[places], self.maps_of_predicted[places])


Similarity = Callable[[ModelView, ModelView], float]


def barriers(records: Sequence[RunRecord]) -> dict[str, Array]:
    """Losses along the line from SLS to soft labels of each seed, (P, T), and barrier heights, (P,)."""
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


def similarity_within(views: Mapping[int, ModelView], people: FloatArray | None) -> dict[str, FloatArray]:
    """How similar the runs of a method are, on the images that both of a pair have, (S, S) for seeds in order.

    "cka" compares features, "maps" Grad-CAM maps at the size of the images, "maps_raw" as the layer gives them,
    "maps_of_predicted" those of the class that each model predicts; the suffix "_high" stands for the fifth of the
    images that people disagree on most.

    Args:
        views: of each seed's best model.
        people: (N, K) vote shares of all images; None if they are not at hand, which leaves out the disputed fifth.
    """
    measures: dict[str, Similarity] = {
        "cka": _feature_similarity,
        "maps": lambda first, second: _map_similarity(first.maps, second.maps),
        "maps_raw": lambda first, second: _raw_map_similarity(first.maps, second.maps),
        "maps_of_predicted": lambda first, second: _map_similarity(first.maps_of_predicted, second.maps_of_predicted),
    }
    found = {name: _matrix(views, measure) for name, measure in measures.items()}
    if people is not None:
        for name in ("maps", "maps_raw", "maps_of_predicted"):
            found[f"{name}_high"] = _matrix(views, _on_disputed(measures[name], people))
    return found


def _matrix(views: Mapping[int, ModelView], measure: Similarity) -> FloatArray:
    seeds = sorted(views)
    similarity = np.eye(len(seeds))
    for row, column in combinations(range(len(seeds)), 2):
        pair = _common(views[seeds[row]], views[seeds[column]])
        similarity[row, column] = similarity[column, row] = measure(*pair)
    return similarity


def _common(first: ModelView, second: ModelView) -> tuple[ModelView, ModelView]:
    """The images both have, in one order."""
    _, here, there = np.intersect1d(first.rows, second.rows, assume_unique=True, return_indices=True)
    return first.at(here), second.at(there)


def _on_disputed(measure: Similarity, people: FloatArray) -> Similarity:
    """The same similarity, on the fifth of the images that people disagree on most."""
    from votewise.diagnostics import high_disagreement_slices

    def measured(first: ModelView, second: ModelView) -> float:
        high = high_disagreement_slices(people[first.rows])["top-20%"]
        return measure(first.at(high), second.at(high))

    return measured


def _feature_similarity(first: ModelView, second: ModelView) -> float:
    from votewise.diagnostics import linear_cka

    return linear_cka(first.features, second.features)


def _map_similarity(first: Array, second: Array) -> float:
    return _raw_map_similarity(_as_large_as_images(first), _as_large_as_images(second))


def _raw_map_similarity(first: Array, second: Array) -> float:
    from votewise.diagnostics import map_stability

    return map_stability([first, second]).mean


def _as_large_as_images(maps: Array) -> Array:
    import torch

    from votewise.diagnostics import upsampled_maps

    return upsampled_maps(torch.from_numpy(maps.astype(np.float32)), _IMAGE_SIZE).numpy()


def _seed_of_pair(record: RunRecord) -> int:
    first: Any = record.config["barrier"][0]  # type: ignore[index]
    return int(first["seed"])
