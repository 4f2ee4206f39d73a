"""From the outcomes of many runs to what a report shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from votewise import metrics
from votewise._checks import FloatArray, IntArray
from votewise._numerics import top_classes
from votewise.report.content import Comparison, Curve, Example, MethodRow, Spread
from votewise.report.numbers import counted, format_number, format_p
from votewise.statistics import compare_paired, holm
from votewise.votes import Votes, entropy_per_item

# The metric by which methods are compared.
PRIMARY = "soft NLL"

_METRICS: dict[str, Callable[[FloatArray, IntArray, FloatArray], float]] = {
    PRIMARY: lambda people, _, probs: metrics.soft_nll(people, probs),
    "accuracy": lambda _, majority, probs: metrics.accuracy(majority, probs),
    "ECE": lambda _, majority, probs: metrics.ece(majority, probs),
    "ECE floor": lambda _people, _majority, probs: metrics.ece_floor(probs).mean,
    "entropy correlation": lambda people, _, probs: metrics.entropy_correlation(people, probs),
}

_EXAMPLES = 12

# What a method is called within a sentence.
_IN_WORDS = {"soft": "soft labels", "majority": "majority labels"}

# A difference in soft NLL that three digits do not show.
_LEVEL = 0.0005

_SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class Outcome:
    """The predictions of one run for its held-out items.

    Attributes:
        method: its name.
        seed: runs with the same seed are compared with each other.
        held_out: (m,) rows of the votes.
        probs: (m, K) predictions.
        curve: (epochs,) soft NLL on those items after each epoch.
    """

    method: str
    seed: int
    held_out: IntArray
    probs: FloatArray
    curve: FloatArray


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of the runs of one method.

    Attributes:
        seeds: one for each run, all different.
        values: name of a metric to its values, (seeds,) in the order of the seeds.
    """

    seeds: Sequence[int]
    values: Mapping[str, FloatArray]


def compare_methods(votes: Votes, outcomes: Sequence[Outcome], methods: Sequence[str], title: str) -> Comparison:
    """Methods side by side: scores over seeds, and each method against the first, seed by seed.

    Args:
        votes: the votes that predictions are scored against.
        outcomes: one for each method and seed.
        methods: names, the baseline first.
        title: of the comparison.
    """
    runs = {
        method: sorted((one for one in outcomes if one.method == method), key=lambda one: one.seed)
        for method in methods
    }
    scores = {
        method: Scores([run.seed for run in its_runs], _values(votes, its_runs)) for method, its_runs in runs.items()
    }
    return Comparison(
        title,
        method_rows(scores),
        tuple(learning_curve(method, [run.curve for run in its_runs]) for method, its_runs in runs.items()),
        tuple(_reliability(votes, method, its_runs) for method, its_runs in runs.items()),
        _without_model(votes, runs[methods[0]]),
    )


def _without_model(votes: Votes, runs: Sequence[Outcome]) -> Spread | None:
    """Soft NLL of predicting the mean shares of the items not held out; None if they rule out what people chose."""
    losses = []
    for run in runs:
        mean = np.delete(votes.probs, run.held_out, axis=0).mean(axis=0)
        people = votes.probs[run.held_out]
        losses.append(metrics.soft_nll(people, np.tile(mean / mean.sum(), (len(people), 1))))
    return _spread(np.array(losses)) if np.isfinite(losses).all() else None


def hardest_items(votes: Votes, outcomes: Sequence[Outcome]) -> tuple[Example, ...]:
    """The held-out items of the first seed that people disagree on most, with the predictions of its models."""
    first = min(outcome.seed for outcome in outcomes)
    runs = [outcome for outcome in outcomes if outcome.seed == first]
    held_out = runs[0].held_out
    hardest = np.argsort(-entropy_per_item(votes)[held_out], kind="stable")[:_EXAMPLES]
    return tuple(
        Example(
            str(votes.item_ids[held_out[place]]),
            tuple(votes.probs[held_out[place]].tolist()),
            {run.method: tuple(run.probs[place].tolist()) for run in runs},
        )
        for place in hardest
    )


def in_words(comparison: Comparison) -> str:
    """The comparison in a few sentences: best method, baseline, majority labels, and what is significant."""
    baseline, *others = comparison.rows
    if not others:
        return f"Soft NLL of {_called(baseline)}: {_shown_nll(baseline)}."
    compared = [row for row in others if row.difference is not None]
    if not compared:
        shown = ", ".join(f"{_called(row)} {_shown_nll(row)}" for row in comparison.rows)
        return f"Soft NLL: {shown}. No method shares a seed with the first."
    best = min(compared, key=_gap)
    ahead = "" if _gap(best) < 0 else f"{_called(baseline)}, {_shown_nll(baseline)}; next "
    majority = next((row for row in others if row.method == "majority" and row is not best), None)
    return (
        f"Lowest soft NLL: {ahead}{_called(best)}, {_shown_nll(best)}, {_against(best, baseline)} "
        f"(better on {best.wins} of {counted(best.pairs, 'seed')})"
        + (f"; majority labels end at {_shown_nll(majority)}. " if majority else ". ")
        + _significance(baseline, others)
        + _nothing_learnt(comparison)
    )


def _nothing_learnt(comparison: Comparison) -> str:
    """Which methods are no better than predicting without a model, in a sentence; empty if all are."""
    if comparison.no_model is None:
        return ""
    level = comparison.no_model.mean
    behind = [_called(row) for row in comparison.rows if _nll(row) >= level]
    if not behind:
        return ""
    advice = " Change the recipe before comparing." if len(behind) == len(comparison.rows) else ""
    return (
        " The mean vote shares of the other items, without a model, give "
        f"{format_number(level)}. No better: {', '.join(behind)}.{advice}"
    )


def least_p(seeds: int) -> str:
    """The smallest p-value that a number of seeds can give, in a sentence."""
    if seeds == 1:
        return "One seed allows no test."
    return f"With {seeds} seeds no two-sided p can be below {2.0 ** (1 - seeds):.4g}."


def _against(row: MethodRow, baseline: MethodRow) -> str:
    gap, name = _gap(row), _called(baseline)
    if abs(gap) < _LEVEL:
        return f"level with {name}"
    return f"{format_number(abs(gap))} {'below' if gap < 0 else 'above'} {name}"


def _significance(baseline: MethodRow, others: Sequence[MethodRow]) -> str:
    """Which methods differ significantly from the baseline, if any was tested."""
    tested = {row.method: row.p_holm for row in others if row.p_holm is not None}
    if not tested:
        return "One seed allows no test."
    found = [f"{method} (p = {format_p(p)})" for method, p in tested.items() if p <= _SIGNIFICANT]
    if found:
        return f"Significantly different from {_called(baseline)} at {_SIGNIFICANT:g} after Holm: {', '.join(found)}."
    return (
        f"No difference from {_called(baseline)} is significant: "
        f"the smallest p after Holm is {format_p(min(tested.values()))}."
    )


def method_rows(scores: Mapping[str, Scores]) -> tuple[MethodRow, ...]:
    """One row per method; all but the first are tested against the first on the seeds that both have."""
    baseline, *others = scores
    pairs = {method: _in_pairs(scores[method], scores[baseline]) for method in others}
    tests = {method: compare_paired(*pair) for method, pair in pairs.items() if len(pair[0])}
    testable = {method: test.test.p_value for method, test in tests.items() if test.n > 1}  # one seed allows no test
    adjusted = dict(zip(testable, holm(list(testable.values())).tolist(), strict=True)) if testable else {}

    def row(method: str) -> MethodRow:
        values, test = scores[method].values, tests.get(method)
        return MethodRow(
            method,
            {name: _spread(per_seed) for name, per_seed in values.items()},
            tuple(values[PRIMARY].tolist()),
            pairs=test.n if test else 0,
            difference=test.mean if test else None,
            wins=test.wins if test else None,
            p_value=testable.get(method),
            p_holm=adjusted.get(method),
        )

    return tuple(row(method) for method in scores)


def learning_curve(method: str, curves: Sequence[FloatArray]) -> Curve:
    """Soft NLL by epoch: the mean over seeds, and a band from lowest to highest."""
    return _band(method, np.arange(1, len(curves[0]) + 1), curves)


def _in_pairs(scores: Scores, baseline: Scores) -> tuple[FloatArray, FloatArray]:
    """Soft NLL of a method and of the baseline on the seeds that both have."""
    _, mine, theirs = np.intersect1d(scores.seeds, baseline.seeds, return_indices=True)
    return scores.values[PRIMARY][mine], baseline.values[PRIMARY][theirs]


def _values(votes: Votes, runs: Sequence[Outcome]) -> dict[str, FloatArray]:
    """Each metric of each seed."""
    people = [votes.probs[run.held_out] for run in runs]
    return {
        name: np.array([measure(p, top_classes(p), run.probs) for p, run in zip(people, runs, strict=True)])
        for name, measure in _METRICS.items()
    }


def _reliability(votes: Votes, method: str, runs: Sequence[Outcome]) -> Curve:
    curves = [metrics.reliability_curve(top_classes(votes.probs[run.held_out]), run.probs) for run in runs]
    # Drawn only where every seed has enough items; elsewhere a few items would decide the curve.
    common = np.all([np.isfinite(curve.accuracy) & (curve.density > 0.1) for curve in curves], axis=0)
    return _band(method, curves[0].confidence[common], [curve.accuracy[common] for curve in curves])


def _band(name: str, x: FloatArray | IntArray, lines: Sequence[FloatArray]) -> Curve:
    stack = np.stack(lines)
    return Curve(name, x.astype(np.float64), stack.mean(axis=0), stack.min(axis=0), stack.max(axis=0))


def _gap(row: MethodRow) -> float:
    """By how much a method is above the baseline, on the seeds that both have."""
    assert row.difference is not None
    return row.difference


def _called(row: MethodRow) -> str:
    return _IN_WORDS.get(row.method, row.method)


def _shown_nll(row: MethodRow) -> str:
    return format_number(_nll(row))


def _nll(row: MethodRow) -> float:
    return row.metrics[PRIMARY].mean


def _spread(values: FloatArray) -> Spread:
    return Spread(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else math.nan, len(values))
