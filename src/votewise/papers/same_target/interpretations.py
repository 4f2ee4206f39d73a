"""How we interpret what the paper leaves open: the usual way, unless another clearly fits its numbers better.

`choices` shows what each interpretation gives.
"""

from __future__ import annotations

# The slice of high disagreement in Tables 4 and 6, by its name in `high_disagreement_slices`; and the likely ones,
# which are measured. Figures 6 and 9 take the top fifth.
SLICE = "top-5%"
LIKELY_SLICES = ("top-10%", SLICE)

# ODIN's step is taken in the network's inputs, not in pixels; KNN's features are not normalised.
SCORES = {"odin": "odin_in_inputs", "knn": "knn_by_length"}
SETTINGS = {"odin": "T 1000 and a step of 0.0014 in the network's inputs", "knn": "k 50 and features as they are"}

# Features of two models are compared on the images that both held out.
FEATURE_IMAGES = "held_out"

# Grad-CAM maps of two models: on images that all share, of the majority's class, at the layer's size. None fits well.
MAP_IMAGES = "shared"
MAPS = "maps_raw"

# "95 % of its best": the first epoch after which the loss has made 95 % of its total descent. If the paper exchanged
# SLS and soft labels, this interpretation gives its number and the others do not.
NEARNESS = "descent"

# The variance of the last layer's gradient over labels drawn from the votes: from 100 draws.
GRADIENT = "spearman_sampled"


def score_interpretation(score: str) -> str:
    """The name, in a diagnosis, of what we take the paper's score to be."""
    return SCORES.get(score, score)
