"""What the curves and levels of trained models say about the training, and what to change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from votewise._text import format_number, listed
from votewise.statistics import LearningShape, Sample
from votewise.statistics.decide import MARGINS

Kind = Literal["overfits", "baseline overfits", "still learning", "nothing learnt", "too weak"]

# A model that closes less than this share of the gap between no model and the votes themselves leaves most of what
# people said to chance, whatever its labels: deliveries then differ by less than seeds do. Networks from nothing on
# 1,500 photographs closed a fourth of it, with all methods level; frozen features of the same photographs nine tenths.
WEAK = 1 / 3

# Two methods differ if their soft NLL does by this much, and by twice the standard error of the difference.
LEVEL = MARGINS["soft NLL"]


@dataclass(frozen=True)
class Advice:
    """Something to change about a training.

    Attributes:
        kind: what is wrong.
        sentence: the same for readers, with the option to change.
        methods: the methods it is about.
    """

    kind: Kind
    sentence: str
    methods: tuple[str, ...]


def another_model(model: str) -> str:
    """Which model to try instead of one, by its label in a run."""
    name, _, rest = model.partition(":")
    if name in ("ngram", "small-cnn", "resnet18"):
        return "Pass a pretrained encoder with --model encoder:NAME_OR_FOLDER (docs/encoders.md)"
    if name == "encoder":
        tuned = "" if "way=tuned" in rest else ", or tune this one with :way=tuned"
        return f"Pass a larger encoder with --model{tuned}"
    return "Give features that say more of the items, or more items"


def advise_on_curves(
    shapes: Mapping[str, LearningShape], *, epochs: int, at: str, baseline: str, words: Mapping[str, str]
) -> list[Advice]:
    """What to change about the number of epochs.

    Args:
        shapes: shape of each method's mean learning curve.
        epochs: number of epochs that were trained.
        at: the epoch that is scored, "last" or "best".
        baseline: the method that others are compared with.
        words: each method's name in a sentence.
    """
    turned = {name: shape for name, shape in shapes.items() if shape.shape == "turned"}
    falling = {name: shape for name, shape in shapes.items() if shape.shape == "falling"}
    advice = []
    if turned:
        told = listed(
            [f"{words[name]} (lowest after {one.lowest}, {_lost(one)} at the end)" for name, one in turned.items()]
        )
        fewer = min(max(2 * max(shape.lowest for shape in turned.values()), 1), epochs)
        shorter = f", or --epochs {fewer}" if fewer < epochs else ""
        if at == "last":
            sentence = f"Within {epochs} epochs these overfit: {told}. Pass --at best{shorter}."
        else:
            what = f" --epochs {fewer} takes less time." if fewer < epochs else ""
            sentence = f"Within {epochs} epochs these overfit: {told}. Scores are from before.{what}"
        advice.append(Advice("overfits", sentence, tuple(turned)))
        if at == "last" and baseline in turned and len(shapes) > 1:
            sentence = (
                f"The baseline, {words[baseline]}, is one of them: others may be ahead of it only because their labels "
                "regularise. Compare at the best epoch before believing that."
            )
            advice.append(Advice("baseline overfits", sentence, (baseline,)))
    if falling:
        told = listed([f"{words[name]} (by {format_number(shape.gained)})" for name, shape in falling.items()])
        sentence = (
            f"The loss still fell in the second half of {epochs} epochs: {told}. Pass more, such as "
            f"--epochs {2 * epochs}."
        )
        advice.append(Advice("still learning", sentence, tuple(falling)))
    return advice


def advise_on_levels(
    losses: Mapping[str, Sample], *, no_model: float, people: float, model: str, words: Mapping[str, str]
) -> list[Advice]:
    """What to change about a model that learns nothing, or too little to tell methods apart.

    Args:
        losses: soft NLL of each method by seed, the baseline first.
        no_model: that of the mean vote shares of the items not held out; NaN if it is not known.
        people: mean entropy of the vote shares of the scored items, the soft NLL of a model that says them.
        model: the model's label in its run.
        words: each method's name in a sentence.
    """
    if not math.isfinite(no_model) or not losses:
        return []
    baseline, *others = losses
    best = min(losses, key=lambda name: losses[name].mean)
    if losses[best].mean >= no_model:
        sentence = (
            f"With this recipe nothing can be said about methods, since none learnt anything. {another_model(model)}."
        )
        return [Advice("nothing learnt", sentence, tuple(losses))]
    closed = (no_model - losses[best].mean) / max(no_model - people, 1e-12)
    if closed >= WEAK or not others or any(_differ(losses[name].less(losses[baseline])) for name in others):
        return []
    sentence = (
        f"The model is too weak to tell methods apart: the best closes {closed:.0%} of the gap between no model "
        f"({format_number(no_model)}) and the votes themselves ({format_number(people)}), and all are level with "
        f"{words[baseline]}. {another_model(model)}."
    )
    return [Advice("too weak", sentence, tuple(losses))]


def _lost(shape: LearningShape) -> str:
    return f"{format_number(shape.lost)} higher" if math.isfinite(shape.lost) else "without limit"


def _differ(difference: Sample) -> bool:
    """Whether a difference is larger than what passes for level; that of one seed by its size alone."""
    if difference.n == 0:
        return False
    error = 0.0 if difference.n == 1 else difference.error
    return abs(difference.mean) >= max(LEVEL, 2 * error)
