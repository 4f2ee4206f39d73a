"""Outcomes of many runs to what a report shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from votewise import __version__, metrics
from votewise._checks import FloatArray, IntArray
from votewise.experiments.demo import DEMO_METHODS, DEMO_VOTES, HELD_OUT, DemoOutcome
from votewise.report.content import Comparison, Content, Curve, Example, MethodRow, Spread
from votewise.statistics import compare_paired, holm
from votewise.votes import Votes, entropy_per_item

_METRICS: dict[str, Callable[[FloatArray, IntArray, FloatArray], float]] = {
    "soft NLL": lambda people, _, probs: metrics.soft_nll(people, probs),
    "accuracy": lambda _, majority, probs: metrics.accuracy(majority, probs),
    "ECE": lambda _, majority, probs: metrics.ece(majority, probs),
    "ECE floor": lambda _people, _majority, probs: metrics.ece_floor(probs).mean,
    "entropy correlation": lambda people, _, probs: metrics.entropy_correlation(people, probs),
}

_EXAMPLES = 12


def summarise_demo(votes: Votes, outcomes: Sequence[DemoOutcome]) -> Content:
    """The demo's report: a comparison for each number of votes, and the items people disagree on most."""
    seeds = len({outcome.run.seed for outcome in outcomes})
    comparisons = tuple(_compare(votes, outcomes, number) for number in DEMO_VOTES)
    return Content(
        title="Train on votes, not verdicts",
        summary=tuple(_in_words(comparison) for comparison in comparisons),
        data=(
            f"{votes.n_items:,} words and emoticons, each rated by ten people (Hutto and Gilbert 2014), "
            f"in {votes.n_classes} classes.",
            f"{seeds} seeds; each holds out {HELD_OUT:.0%} of the items and scores against all ten votes. "
            "With one seed, methods share split, start and order: only the labels differ.",
            "A small network on character n-grams, scored after its last epoch. "
            f"With this many seeds no two-sided p can be below {2.0 ** (1 - seeds):.2g}.",
        ),
        classes=votes.classes,
        comparisons=comparisons,
        examples_title=f"Where people disagree most (held-out items; models of {DEMO_VOTES[-1]} votes, first seed)",
        examples=_examples(
            votes, [outcome for outcome in outcomes if outcome.run.votes == DEMO_VOTES[-1] and outcome.run.seed == 0]
        ),
        version=__version__,
    )


def _compare(votes: Votes, outcomes: Sequence[DemoOutcome], number: int) -> Comparison:
    of_method = {
        method: sorted(
            (o for o in outcomes if (o.run.votes, o.run.method) == (number, method)), key=lambda o: o.run.seed
        )
        for method in DEMO_METHODS
    }
    values = {method: _values(votes, runs) for method, runs in of_method.items()}
    baseline, *others = DEMO_METHODS
    tests = {method: compare_paired(values[method]["soft NLL"], values[baseline]["soft NLL"]) for method in others}
    adjusted = dict(zip(others, holm([tests[method].test.p_value for method in others]), strict=True))
    rows = []
    for method in DEMO_METHODS:
        spreads = {name: _spread(per_seed) for name, per_seed in values[method].items()}
        per_seed = tuple(values[method]["soft NLL"].tolist())
        if method == baseline:
            rows.append(MethodRow(method, spreads, per_seed))
        else:
            test = tests[method]
            rows.append(
                MethodRow(method, spreads, per_seed, test.mean, test.wins, test.test.p_value, float(adjusted[method]))
            )
    return Comparison(
        f"{number} votes an item",
        tuple(rows),
        tuple(
            _band(method, np.arange(1, len(runs[0].curve) + 1), [run.curve for run in runs])
            for method, runs in of_method.items()
        ),
        tuple(_reliability(votes, method, runs) for method, runs in of_method.items()),
    )


def _values(votes: Votes, runs: Sequence[DemoOutcome]) -> dict[str, FloatArray]:
    """Each metric of each seed."""
    people = [votes.probs[run.held_out] for run in runs]
    return {
        name: np.array([measure(p, p.argmax(axis=1), run.probs) for p, run in zip(people, runs, strict=True)])
        for name, measure in _METRICS.items()
    }


def _reliability(votes: Votes, method: str, runs: Sequence[DemoOutcome]) -> Curve:
    curves = [metrics.reliability_curve(votes.probs[run.held_out].argmax(axis=1), run.probs) for run in runs]
    # Drawn where every seed has a fair share of its items; elsewhere a curve is the accident of a few.
    common = np.all([np.isfinite(curve.accuracy) & (curve.density > 0.1) for curve in curves], axis=0)
    return _band(method, curves[0].confidence[common], [curve.accuracy[common] for curve in curves])


def _band(name: str, x: FloatArray | IntArray, lines: Sequence[FloatArray]) -> Curve:
    stack = np.stack(lines)
    return Curve(name, x.astype(np.float64), stack.mean(axis=0), stack.min(axis=0), stack.max(axis=0))


def _examples(votes: Votes, runs: Sequence[DemoOutcome]) -> tuple[Example, ...]:
    held_out = runs[0].held_out
    hardest = np.argsort(-entropy_per_item(votes)[held_out], kind="stable")[:_EXAMPLES]
    return tuple(
        Example(
            str(votes.item_ids[held_out[place]]),
            tuple(votes.probs[held_out[place]].tolist()),
            {run.run.method: tuple(run.probs[place].tolist()) for run in runs},
        )
        for place in hardest
    )


def _in_words(comparison: Comparison) -> str:
    """The comparison in a sentence: the best hard delivery against soft labels, and the majority."""
    soft, *others = comparison.rows
    best = min(others, key=lambda row: row.metrics["soft NLL"].mean)
    majority = next(row for row in others if row.method == "majority")
    gap = best.metrics["soft NLL"].mean - soft.metrics["soft NLL"].mean
    return (
        f"{comparison.title}: {best.method} ends at a soft NLL of {best.metrics['soft NLL'].mean:.3f}, {abs(gap):.3f} "
        f"{'below' if gap < 0 else 'above'} soft labels (better on {best.wins} of {len(best.per_seed)} seeds); "
        f"majority labels end at {majority.metrics['soft NLL'].mean:.3f}."
    )


def _spread(values: FloatArray) -> Spread:
    return Spread(float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else math.nan, len(values))
