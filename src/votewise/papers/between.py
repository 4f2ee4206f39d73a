"""Comparisons between runs of one paper: loss barriers, and how similar features and Grad-CAM maps are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from votewise._checks import FloatArray
from votewise.records import POSITIONS, Array, Between, RunRecord

_IMAGE_SIZE = (32, 32)


# What is kept of one model's look at N images: their "rows" in the data set (N,), "features" (N, D), the inputs of its
# last layer, and Grad-CAM "maps" and "maps_of_predicted" (N, h, w) for the majority's and for the predicted class.
View = Mapping[str, Array]


def reduce_barriers(records: Sequence[RunRecord]) -> Between:
    """Losses along the line between two models of each seed, (S, T), and barrier heights, (S,).

    Args:
        records: at least one measured barrier, and no two of one seed.
    """

    def seed(record: RunRecord) -> int:
        first: Any = record.config["barrier"][0]  # type: ignore[index]
        return int(first["seed"])

    ordered = sorted(records, key=seed)
    arrays: dict[str, Array] = {
        POSITIONS: ordered[0].arrays["positions"],
        "seconds": np.array([record.timing.get("seconds", np.nan) for record in ordered]),
    }
    for name in ("plain", "recalibrated"):
        arrays[f"{name}.losses"] = np.stack([record.arrays[f"{name}_losses"] for record in ordered])
        arrays[f"{name}.heights"] = np.array([record.numbers[f"{name}/height"] for record in ordered])
    return Between(tuple(map(seed, ordered)), arrays)


def reduce_similarity(views: Mapping[int, View], people: FloatArray | None) -> Between:
    """How similar the models of each pair of seeds are, on the images that both were looked at on.

    "cka" compares features, "maps" Grad-CAM maps for the majority's class at the size of the images, "maps_raw" at the
    size the layer gives them, and "maps_of_predicted" those for the class that each model predicts. A name that ends in
    "_high" is the same on the fifth of the images that people disagree on most.

    Args:
        views: each seed's best model.
        people: (N, K) vote shares of all images; None if they are not at hand, which leaves out the disputed fifth.
    """
    import torch

    from votewise.diagnostics import high_disagreement_slices, linear_cka, map_stability, upsampled_maps

    def enlarged(maps: Array) -> Array:
        return upsampled_maps(torch.from_numpy(maps.astype(np.float32)), _IMAGE_SIZE).numpy()

    seeds, tables = sorted(views), dict[str, Array]()
    for pair in combinations(range(len(seeds)), 2):
        first, second = (views[seeds[place]] for place in pair)
        _, *common = np.intersect1d(first["rows"], second["rows"], assume_unique=True, return_indices=True)
        both = [
            {name: array[places] for name, array in view.items()}
            for view, places in zip((first, second), common, strict=True)
        ]
        maps = {
            "maps": [enlarged(view["maps"]) for view in both],
            "maps_raw": [view["maps"] for view in both],
            "maps_of_predicted": [enlarged(view["maps_of_predicted"]) for view in both],
        }
        values = {name: map_stability(each).mean for name, each in maps.items()}
        values["cka"] = linear_cka(*(view["features"] for view in both))
        if people is not None:
            high = high_disagreement_slices(people[both[0]["rows"]])["top-20%"]
            values |= {f"{name}_high": map_stability([one[high] for one in each]).mean for name, each in maps.items()}
        for name, value in values.items():
            table = tables.setdefault(name, np.eye(len(seeds)))
            table[pair] = table[pair[::-1]] = value
    return Between(tuple(seeds), tables, pairs=True)
