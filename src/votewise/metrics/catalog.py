"""The metrics by name: what `votewise score` prints, every record of a run holds and every table shows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from votewise._checks import FloatArray, IntArray
from votewise._numerics import top_classes
from votewise.metrics._accuracy import accuracy
from votewise.metrics.calibration import (
    brier_parts,
    classwise_vote_ece,
    ece,
    ece_equal_width,
    ece_floor,
    smooth_ece,
    vote_ece,
    vote_ece_floor,
)
from votewise.metrics.proper import (
    js_distance,
    js_distance_per_item,
    jsd,
    jsd_per_item,
    kl,
    kl_per_item,
    manhattan,
    manhattan_per_item,
    soft_accuracy,
    soft_accuracy_per_item,
    soft_brier,
    soft_brier_per_item,
    soft_nll,
    soft_nll_per_item,
)
from votewise.metrics.ranking import entropy_correlation, entropy_pearson

Against: TypeAlias = Literal["votes", "label", "majority", "vote counts", "predictions"]


@dataclass(frozen=True, eq=False)
class Reference:
    """All that predictions for N items can be compared with.

    Attributes:
        shares: (N, K) vote shares.
        labels: (N,) hard labels; the majority (lowest class in a tie) if left out.
        vote_counts: (N,) number of votes on each item; None where only their shares are known.
    """

    shares: FloatArray
    labels: IntArray | None = None
    vote_counts: IntArray | None = None

    def part(self, against: Against) -> Any:
        """What a metric against `against` takes as its reference."""
        match against:
            case "votes":
                return self.shares
            case "vote counts":
                return self.vote_counts
            case "predictions":
                return None
            case "label" if self.labels is not None:
                return self.labels
            case _:
                return top_classes(self.shares)


@dataclass(frozen=True)
class Metric:
    """One score of predictions.

    Attributes:
        score: function of (reference, probs); the reference is the part of a `Reference` that `against` names.
        against: what predictions are compared with. "label" is the true label where it is known, and the majority's
            otherwise; "predictions" is nothing but the predictions themselves.
        title: heading that says what the score is against, for data with true labels; `title_for` gives it for others.
        short: heading of a narrow column.
        meaning: a few words of explanation.
        lower: whether lower values are better; None where neither is.
        unit: unit of the values; empty for pure numbers.
        per_item: function of the same arguments that gives (N,) values, if the score is their mean.
        range: least and largest value it can take.
        floor: name of the metric that says what chance alone would show; empty if there is none.
        headline: whether it stands in short tables, and is recorded after every epoch.
    """

    score: Callable[[Any, FloatArray], float]
    against: Against
    title: str
    short: str
    meaning: str
    lower: bool | None
    unit: str = ""
    per_item: Callable[[Any, FloatArray], FloatArray] | None = None
    range: tuple[float, float] = (0.0, math.inf)
    floor: str = ""
    headline: bool = False

    def of(self, reference: Reference, probs: FloatArray) -> float:
        """The score of predictions, (N, K)."""
        return self.score(reference.part(self.against), probs)

    def title_for(self, *, true_labels: bool | None) -> str:
        """The title for data whose hard labels are true ones, or else the majority's; None for any data."""
        if true_labels is None:
            return self.title.removesuffix(" (true label)")
        return self.title if true_labels else self.title.replace("true label", "majority")


_LOG_2 = math.log(2)

METRICS: dict[str, Metric] = {
    "soft_nll": Metric(
        soft_nll, "votes", "soft NLL", "soft NLL", "cross-entropy with the votes",
        lower=True, unit="nats", per_item=soft_nll_per_item, headline=True,
    ),
    "kl": Metric(
        kl, "votes", "KL divergence", "KL", "KL divergence from the votes",
        lower=True, unit="nats", per_item=kl_per_item,
    ),
    "soft_brier": Metric(
        soft_brier, "votes", "soft Brier score", "soft Brier", "squared distance from the votes",
        lower=True, per_item=soft_brier_per_item, range=(0, 2),
    ),
    "accuracy": Metric(
        accuracy, "label", "accuracy (true label)", "accuracy", "top class is the label",
        lower=False, range=(0, 1), headline=True,
    ),
    "accuracy_majority": Metric(
        accuracy, "majority", "accuracy (majority)", "acc. (maj.)", "top class has most votes",
        lower=False, range=(0, 1),
    ),
    "vote_ece": Metric(
        vote_ece, "votes", "ECE (votes)", "vote ECE", "confidence against the vote share of that class",
        lower=True, range=(0, 1), floor="vote_ece_floor", headline=True,
    ),
    "vote_ece_floor": Metric(
        lambda counts, probs: math.nan if counts is None else vote_ece_floor(probs, counts).mean,
        "vote counts", "ECE floor (votes)", "vote ECE floor", "ECE (votes) of a model that is right",
        lower=None, range=(0, 1),
    ),
    "classwise_vote_ece": Metric(
        classwise_vote_ece, "votes", "class-wise ECE (votes)", "class-wise vote ECE",
        "the same for each class's probability, mean over classes",
        lower=True, range=(0, 1),
    ),
    "ece": Metric(
        ece, "label", "ECE (true label)", "ECE", "confidence against how often that class is the label",
        lower=True, range=(0, 1), floor="ece_floor", headline=True,
    ),
    "ece_floor": Metric(
        lambda _, probs: ece_floor(probs).mean, "predictions", "ECE floor", "ECE floor", "ECE of a calibrated model",
        lower=None, range=(0, 1),
    ),
    "ece_equal_width": Metric(
        ece_equal_width, "label", "ECE, equal width (true label)", "ECE, equal width",
        "the same over bins of equal width",
        lower=True, range=(0, 1),
    ),
    "smooth_ece": Metric(
        smooth_ece, "label", "smooth ECE (true label)", "smooth ECE", "calibration error, smoothed",
        lower=True, range=(0, 1),
    ),
    "entropy_correlation": Metric(
        entropy_correlation, "votes", "entropy correlation", "ent. corr.", "rank correlation of model and vote entropy",
        lower=False, range=(-1, 1), headline=True,
    ),
    "entropy_pearson": Metric(
        entropy_pearson, "votes", "Pearson of entropies", "ent. Pearson",
        "linear correlation of model and vote entropy",
        lower=False, range=(-1, 1),
    ),
    "jsd": Metric(
        jsd, "votes", "JS divergence", "JSD", "Jensen-Shannon divergence from the votes",
        lower=True, unit="nats", per_item=jsd_per_item, range=(0, _LOG_2),
    ),
    "js_distance": Metric(
        js_distance, "votes", "JS distance", "JS dist.", "root of the JS divergence, as ChaosNLI has it",
        lower=True, per_item=js_distance_per_item, range=(0, math.sqrt(_LOG_2)),
    ),
    "manhattan": Metric(
        manhattan, "votes", "Manhattan distance", "Manhattan", "sum of absolute differences",
        lower=True, per_item=manhattan_per_item, range=(0, 2),
    ),
    "soft_accuracy": Metric(
        soft_accuracy, "votes", "soft accuracy", "soft acc.", "overlap with the votes",
        lower=False, per_item=soft_accuracy_per_item, range=(0, 1),
    ),
    "brier_reliability": Metric(
        lambda shares, probs: brier_parts(shares, probs).reliability, "votes",
        "Brier reliability", "reliability", "predicted against observed shares",
        lower=True, range=(0, 2),
    ),
    "brier_resolution": Metric(
        lambda shares, probs: brier_parts(shares, probs).resolution, "votes",
        "Brier resolution", "resolution", "how well items are separated",
        lower=False, range=(0, 2),
    ),
    "brier_uncertainty": Metric(
        lambda shares, probs: brier_parts(shares, probs).uncertainty, "votes",
        "Brier uncertainty", "uncertainty", "variance of the vote shares",
        lower=None, range=(0, 2),
    ),
}  # fmt: skip


def headlines() -> dict[str, Metric]:
    """The metrics of short tables by name, each followed by its floor."""
    return {
        name: METRICS[name] for metric, row in METRICS.items() if row.headline for name in (metric, row.floor) if name
    }
