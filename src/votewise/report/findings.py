"""What the runs of one condition show, computed once: finished numbers, curves and items, of which pages are made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray
from votewise.metrics import METRICS, entropy_per_item, headlines, soft_nll
from votewise.metrics.calibration import vote_reliability_over_runs
from votewise.records import ItemData, Results
from votewise.report.comparable import PRIMARY, Condition
from votewise.report.document import Curve, Item
from votewise.report.items import hardest_items
from votewise.statistics import LearningShape, PairedTest, Sample, Spread, adjusted, learning_shape, paired_test
from votewise.statistics.decide import MARGINS, Decision, Hypothesis, decide

# A score of finished runs that is no function of votes and predictions alone: `experiments.run` records it.
SCALED = "scaled_soft_nll"


@dataclass(frozen=True)
class Column:
    """A metric as tables show it.

    Attributes:
        name: its name in JSON, the same for all data.
        title: its heading, which says what it is against.
        lower: whether lower values are better; None where neither is.
    """

    name: str
    title: str
    lower: bool | None


@dataclass(frozen=True)
class Coverage:
    """How many items were held out, and how many runs of each method had not seen such an item.

    Attributes:
        items: number of items that some run held out.
        of: number of all items; None where the data were not kept.
        fewest: least number of runs that held out one of these items.
        most: largest such number.
    """

    items: int
    of: int | None
    fewest: int
    most: int


@dataclass(frozen=True, eq=False)
class MethodFindings:
    """What the runs of one method show.

    Attributes:
        name: the method with its options.
        by_seed: soft NLL by seed.
        scores: mean and spread by metric, those of soft NLL first.
        test: soft NLL against the baseline's, adjusted by Holm over all methods; None for the baseline itself.
        lower: what the seeds say of "its soft NLL is lower than the baseline's", adjusted by Holm over all methods;
            None for the baseline itself.
        level: what they say of "the two differ by less than the margin of level", likewise.
        learning: soft NLL by epoch.
        shape: shape of that curve on the items that chose the epoch, or on the scored items where these chose it.
        reliability: share of votes for the predicted class by confidence; None without votes or predictions.
    """

    name: str
    by_seed: Mapping[int, float]
    scores: Mapping[str, Spread]
    test: PairedTest | None
    lower: Decision | None
    level: Decision | None
    learning: Curve
    shape: LearningShape
    reliability: Curve | None

    @property
    def soft_nll(self) -> Spread:
        """Mean and spread of the number by which methods are compared."""
        return self.scores[PRIMARY]

    @property
    def verdict(self) -> str:
        """Where the seeds put it: "ahead" of the baseline, "behind", "level", or "undecided"; empty without a test."""
        if self.lower is None or self.level is None or self.lower.verdict == "not run":
            return ""
        side = {"confirmed": "ahead", "contradicted": "behind"}.get(self.lower.verdict, "")
        return side or ("level" if self.level.verdict == "confirmed" else "undecided")


@dataclass(frozen=True, eq=False)
class Findings:
    """What the runs of one condition show.

    Attributes:
        condition: which runs these are.
        data: votes and items behind them; None where they were not kept.
        against: what accuracy and ECE refer to, "true label" or "majority".
        columns: what tables show, by metric.
        methods: what each method shows, the baseline first.
        no_model: soft NLL of predicting the mean vote shares of the items not held out; of no seed without votes, and
            where these shares rule out what people chose, so that the loss is infinite.
        no_model_difference: mean difference of that from the baseline.
        people: mean entropy of the vote shares of the scored items, the soft NLL of a model that says them.
        at: the epoch that is scored.
        coverage: which items were scored; None where that is not known.
        items: the scored items that people disagree on most, with each method's prediction; none without votes.
    """

    condition: Condition
    data: ItemData | None
    against: str
    columns: Mapping[str, Column]
    methods: tuple[MethodFindings, ...]
    no_model: Spread
    no_model_difference: float
    people: float
    at: str
    coverage: Coverage | None
    items: tuple[Item, ...]


def findings_of(condition: Condition, results: Results, data: ItemData | None, *, at: str) -> Findings:
    """Compute all that pages show of a condition.

    Args:
        condition: which runs to put side by side.
        results: the results of these runs and others.
        data: votes and items behind the runs, where they were kept.
        at: the epoch that is scored.
    """
    # What the runs have in common, what people said, and what the runs gave.
    overlap = condition.overlap
    shares = None if data is None else data.votes.probs
    runs = {method: results.take(rows) for method, rows in condition.rows.items()}
    known = (*METRICS, SCALED)
    samples = {method: {name: one.sample(f"{name}_{at}") for name in known} for method, one in runs.items()}
    lines = {method: list(one.lines(f"curve_{PRIMARY}").values()) for method, one in runs.items()}
    chosen = {method: list(one.lines("curve_selection_nll").values()) for method, one in runs.items()}
    predicted = {method: [(one.rows, one.probs) for one in part.predictions(at)] for method, part in runs.items()}
    baseline, *others = runs
    pairs: Any = zip(runs[baseline].factors["seed"], runs[baseline].held_out or (), strict=False)
    held_out: dict[int, IntArray] = {seed: rows for seed, rows in sorted(pairs) if rows is not None}

    # Metrics. Without the data, runs whose two accuracies differ have true labels; where they never do, both fit.
    both = [[one.numbers.get(f"{name}_{at}") for name in ("accuracy", "accuracy_majority")] for one in runs.values()]
    differ = any(one is not None and other is not None and (np.abs(one - other) > 0).any() for one, other in both)
    true_labels = differ if data is None else data.labels is not None
    columns = {
        name: Column(metric.title_for(true_labels=None), metric.title_for(true_labels=true_labels), metric.lower)
        for name, metric in headlines().items()
    }
    if any(by_name[SCALED].by_seed for by_name in samples.values()):
        scaled = {SCALED: Column("scaled soft NLL", "soft NLL (scaled)", True)}
        columns = {PRIMARY: columns[PRIMARY], **scaled, **columns}
    no_model_losses, bands = {}, {}
    people = math.nan
    if data is not None and shares is not None:
        for seed, rows in held_out.items():
            mean = np.delete(shares, rows, axis=0).mean(axis=0)
            no_model_losses[seed] = soft_nll(shares[rows], np.tile(mean / mean.sum(), (len(rows), 1)))
        if held_out:
            people = float(entropy_per_item(shares[np.concatenate(list(held_out.values()))]).mean())
        bands = {
            method: vote_reliability_over_runs([(shares[rows], probs) for rows, probs in predictions])
            for method, predictions in predicted.items()
            if predictions
        }

    # Statistics over seeds.
    losses = {method: by_name[PRIMARY] for method, by_name in samples.items()}
    tests = dict(zip(others, adjusted([paired_test(losses[one], losses[baseline]) for one in others]), strict=True))
    gaps = [losses[one].less(losses[baseline]) for one in others]
    margin = MARGINS["soft NLL"]
    lower, level = (
        dict(zip(others, decide([Hypothesis((gap,), low, high) for gap in gaps], overlap=overlap), strict=True))
        for low, high in ((-math.inf, 0.0), (-margin, margin))
    )
    spreads = {method: {name: by_name[name].spread for name in columns} for method, by_name in samples.items()}
    no_model = Sample(no_model_losses if all(map(math.isfinite, no_model_losses.values())) else {})
    no_model_spread, no_model_difference = no_model.spread, no_model.less(losses[baseline]).mean

    epochs = min(len(line) for method in lines for line in lines[method])  # all of one length, unless made by hand
    shapes = {}
    for method, by_run in lines.items():
        told = chosen[method] if len(chosen[method]) == len(by_run) else by_run
        shapes[method] = learning_shape(np.mean([line[:epochs] for line in told], axis=0))

    # Pictures and items.
    learning = {
        method: _mean_curve(method, np.arange(1, epochs + 1), [line[:epochs] for line in lines[method]])
        for method in lines
    }
    reliability = {
        method: Curve(method, band.confidence, band.share, band.low, band.high)
        for method, band in bands.items()
        if band is not None
    }
    coverage = None
    if held_out:
        _, times = np.unique(np.concatenate(list(held_out.values())), return_counts=True)
        items = None if data is None else data.votes.n_items
        coverage = Coverage(len(times), items, int(times.min()), int(times.max()))
    return Findings(
        condition,
        data,
        "true label" if true_labels else "majority",
        columns,
        tuple(
            MethodFindings(
                method, losses[method].by_seed, spreads[method], tests.get(method), lower.get(method),
                level.get(method), learning[method], shapes[method], reliability.get(method),
            )
            for method in runs
        ),
        no_model_spread,
        no_model_difference,
        people,
        at,
        coverage,
        () if data is None else hardest_items(data, predicted),
    )  # fmt: skip


def _mean_curve(name: str, x: npt.NDArray[Any], lines: Sequence[FloatArray]) -> Curve:
    """The mean of some lines, from the lowest to the highest."""
    stack = np.stack(lines)
    return Curve(name, x.astype(np.float64), stack.mean(axis=0), stack.min(axis=0), stack.max(axis=0))
