"""What a table of votes holds, and which delivery suits it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from votewise._checks import IntArray
from votewise.votes import (
    Votes,
    entropy_per_item,
    entropy_reliability,
    fleiss_kappa,
    krippendorff_alpha,
    tied,
    unanimous,
)

# Up to SPARSE votes per item, arXiv 2605.20642 (Table 1) finds hard deliveries ahead of soft labels most clearly; up to
# VERY_SPARSE, smoothed shares did best in our own runs (docs/choosing.md).
SPARSE, VERY_SPARSE = 10, 5


@dataclass(frozen=True)
class Advice:
    """Which delivery to start with, and why.

    Attributes:
        method: a name of `votewise.experiments.METHODS`.
        reasons: sentences.
    """

    method: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Overview:
    """A table of votes at a glance; None where a number is undefined.

    Attributes:
        items: N.
        classes: names.
        annotators: how many; None where the source does not say.
        votes: total number; None for probabilities.
        votes_per_item: min, median, mean, max; None for probabilities.
        unanimous: share of items on which all agree.
        ties: number of items on which several classes share the most votes.
        entropy: mean, median, max of the items' entropies, nats.
        fleiss_kappa: agreement beyond chance.
        krippendorff_alpha: the same by Krippendorff's nominal alpha.
        reliability: split-half reliability of the items' entropies.
        advice: what to try.
    """

    items: int
    classes: tuple[str, ...]
    annotators: int | None
    votes: int | None
    votes_per_item: dict[str, float] | None
    unanimous: float
    ties: int
    entropy: dict[str, float]
    fleiss_kappa: float | None
    krippendorff_alpha: float | None
    reliability: float | None
    advice: Advice


def overview(votes: Votes) -> Overview:
    """Describe votes and advise on a delivery."""
    entropy = entropy_per_item(votes)
    known = votes.counts is not None
    per_item = votes.counts.sum(axis=1) if votes.counts is not None else None
    reliability = entropy_reliability(votes) if known else None
    corrected = None if reliability is None else reliability.reliability
    return Overview(
        items=votes.n_items,
        classes=votes.classes,
        annotators=None if votes.ballots is None else len(votes.ballots.annotator_ids),
        votes=None if per_item is None else int(per_item.sum()),
        votes_per_item=None if per_item is None else _spread(per_item),
        unanimous=float(unanimous(votes).mean()),
        ties=int(tied(votes).sum()),
        entropy={"mean": float(entropy.mean()), "median": float(np.median(entropy)), "max": float(entropy.max())},
        fleiss_kappa=_defined(fleiss_kappa(votes)) if known else None,
        krippendorff_alpha=_defined(krippendorff_alpha(votes)) if known else None,
        reliability=corrected,
        advice=advise(votes, corrected),
    )


def advise(votes: Votes, reliability: float | None) -> Advice:
    """Which delivery to start with.

    Args:
        votes: the votes.
        reliability: of the items' entropies, as `overview` measures it.
    """
    if votes.counts is None:
        return Advice("soft", ("The votes are shares without counts: soft and sls can use them, multipass cannot.",))
    per_item = votes.counts.sum(axis=1)
    typical = float(np.median(per_item))
    agreed = float(unanimous(votes).mean())
    if agreed == 1:
        several = (
            "one vote per item says nothing about disagreement; collect more." if typical == 1 else "nobody disagrees."
        )
        return Advice("majority", (f"Soft labels, multipass, sls and majority are all the same here: {several}",))
    disputed = f"{1 - agreed:.0%}" if 1 - agreed >= 0.01 else "Less than 1%"
    reasons = [f"{disputed} of the items show disagreement, which a majority label would discard."]
    if typical <= VERY_SPARSE:
        method = "soft-smoothed"
        reasons.append(
            f"A median of {typical:g} votes per item is very few, so vote shares are noisy. Smoothed shares usually "
            "give the best likelihood and accuracy when the model learns the task well, at some cost in calibration. "
            "Choose multipass (one vote per epoch) if it mostly overfits, or if calibration and entropies matter."
        )
    elif typical <= SPARSE:
        method = "multipass"
        reasons.append(
            f"A median of {typical:g} votes per item is few, so vote shares are noisy. Multipass (one vote per epoch) "
            "usually gives better likelihoods than training on the shares themselves; where people disagree a lot, "
            "soft-smoothed may be better still."
        )
    else:
        method = "soft"
        reasons.append(
            f"A median of {typical:g} votes per item is many, so deliveries differ little and soft labels are the "
            "simplest. In long training, multipass and sls tend to end slightly ahead, and in flatter minima."
        )
    if reliability is not None and 0 < reliability < 1:
        now, doubled = math.sqrt(reliability), math.sqrt(2 * reliability / (1 + reliability))
        reasons.append(
            f"Disagreement is measured with reliability {reliability:.2f}, so even a perfect model would reach an "
            f"entropy correlation of only about {now:.2f} (somewhat more if votes are few); doubling the votes would "
            f"raise that to {doubled:.2f}."
        )
    return Advice(method, tuple(reasons))


def _spread(per_item: IntArray) -> dict[str, float]:
    return {
        "min": int(per_item.min()),
        "median": float(np.median(per_item)),
        "mean": float(per_item.mean()),
        "max": int(per_item.max()),
    }


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
