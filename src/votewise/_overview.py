"""What a table of votes holds, and which delivery suits it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from votewise._checks import IntArray, check_choice
from votewise._text import counted
from votewise.votes import (
    Votes,
    entropy_per_item,
    entropy_reliability,
    fleiss_kappa,
    krippendorff_alpha,
    tied,
    unanimous,
)


@dataclass(frozen=True)
class Advice:
    """Which delivery to start with, and why.

    Attributes:
        method: a name of `votewise.delivery.METHODS`.
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
        ordinal_alpha: the same where the order of classes counts; None unless they are numbers, or `level` says so.
        reliability: split-half reliability of the items' entropies; negative where halves of the votes correlate so.
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
    ordinal_alpha: float | None
    reliability: float | None
    advice: Advice

    def facts(self) -> dict[str, str]:
        """The numbers in words, by name."""
        facts = {"items": f"{self.items:,}"}
        if self.annotators is not None:
            facts["annotators"] = f"{self.annotators:,}"
        facts["votes"] = "shares only; their number is unknown"
        if self.votes is not None and self.votes_per_item is not None:
            per_item = "{min:g} to {max:g} per item, median {median:g}, mean {mean:.2f}".format(**self.votes_per_item)
            facts["votes"] = f"{self.votes:,} ({per_item})"
        facts["unanimous"] = f"{self.unanimous:.1%} of items"
        facts["tied"] = counted(self.ties, "item")
        facts["entropy"] = ", ".join(f"{name} {value:.3f}" for name, value in self.entropy.items()) + " nats"
        for name, value in (("Fleiss' kappa", self.fleiss_kappa), ("Krippendorff's alpha", self.krippendorff_alpha)):
            facts[name] = "undefined" if value is None else f"{value:.3f}"
        if self.ordinal_alpha is not None:
            facts["ordinal alpha"] = f"{self.ordinal_alpha:.3f} (classes in order: {', '.join(self.classes[:8])})"
        if self.reliability is not None:
            halves = (
                "split halves, Spearman-Brown" if self.reliability >= 0 else "two halves of the votes disagree on them"
            )
            facts["reliability"] = f"{self.reliability:.2f} (of the item entropies; {halves})"
        return facts


def overview(votes: Votes, *, level: str | None = None) -> Overview:
    """Describe votes and advise on a delivery.

    Args:
        votes: the votes.
        level: "nominal", or "ordinal" where the order of `votes.classes` is a scale; by the classes if left out.
    """
    if level is not None:
        check_choice("level", level, ("nominal", "ordinal"))
    level = level or ("ordinal" if is_scale(votes.classes) else "nominal")
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
        ordinal_alpha=_defined(krippendorff_alpha(votes, level="ordinal")) if known and level == "ordinal" else None,
        reliability=corrected,
        advice=advise(votes, corrected),
    )


def is_scale(classes: Sequence[str]) -> bool:
    """Whether classes are the steps of a rating scale: three numbers or more."""
    return len(classes) > 2 and all(re.fullmatch(r"[-+]?\d+([.,]\d+)?|[-\d.]+ to [-\d.]+", name) for name in classes)


def advise(votes: Votes, reliability: float | None) -> Advice:
    """Which delivery to start with.

    Args:
        votes: the votes.
        reliability: split-half reliability of the items' entropies, as `overview` measures it.
    """
    if unanimous(votes).all():
        single = votes.counts is not None and votes.counts.sum(axis=1).max() == 1
        several = "one vote per item says nothing about disagreement; collect more." if single else "nobody disagrees."
        return Advice("soft", (f"Soft labels, multipass, sls and majority are all the same here: {several}",))
    agreed = float(unanimous(votes).mean())
    disputed = f"{1 - agreed:.0%}" if 1 - agreed >= 0.01 else "Less than 1%"
    reasons = [f"{disputed} of the items show disagreement, which a majority label would discard."]
    if votes.counts is None:
        method = "sls"
        reasons.append(
            "The votes are shares without counts, so multipass cannot use them. SLS draws a label from the shares in "
            "every epoch. In our runs it overfitted less than the shares themselves, most clearly in long training."
        )
    else:
        method = "multipass"
        reasons.append(
            f"Multipass trains on the votes themselves, one per epoch; the median is "
            f"{np.median(votes.counts.sum(axis=1)):g} votes per item. In our runs it overfitted less than the vote "
            "shares, most clearly with few votes or long training."
        )
    reasons.append(
        "If training is short or strongly regularised, take soft labels. To be sure, run votewise compare, which also "
        "tries smoothed shares."
    )
    if reliability is not None and 0 < reliability < 1:
        now, doubled = math.sqrt(reliability), math.sqrt(2 * reliability / (1 + reliability))
        reasons.append(
            f"Disagreement is measured with reliability {reliability:.2f}, so even a perfect model would reach an "
            f"entropy correlation of only about {now:.2f} (somewhat more if votes are few); doubling the votes would "
            f"raise that to {doubled:.2f}."
        )
    if reliability is not None and reliability < 0:
        reasons.append(
            f"Two halves of the votes find different items disputed (correlation {reliability:.2f}), as in a fixed "
            "panel whose members have opposite habits. Nothing then says what entropy correlation a model can reach."
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
