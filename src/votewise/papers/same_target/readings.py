"""How what the paper leaves open is read here: as is usual, unless another reading fits its numbers clearly better.

`choices` shows what each reading gives.
"""

from __future__ import annotations

# The slice of high disagreement, of those that `high_disagreement_slices` names; and the likely ones, to be measured.
SLICE = "top-5%"
LIKELY_SLICES = ("top-10%", SLICE)

# ODIN's step is taken in the network's inputs, not in pixels; KNN's features are as long as they are.
SCORE_READINGS = {"odin": "odin_in_inputs", "knn": "knn_by_length"}

# Features of two models are compared on the images that both held out.
FEATURE_IMAGES = "held_out"

# Maps of two models: on images that all share, of the class most people chose, as the layer gives them. None fits well.
MAP_IMAGES = "shared"
MAPS = "maps_raw"

# "95 % of its best": the first epoch with 95 % of the loss's way down behind it. Were SLS and soft labels exchanged,
# the printed number would be this one and none of the others.
NEARNESS = "descent"

# The variance that drawn labels give the last layer's gradient, from 100 of them.
GRADIENT = "spearman_sampled"


def score_reading(score: str) -> str:
    """The number of a diagnosis that stands for a score of the paper's."""
    return SCORE_READINGS.get(score, score)
