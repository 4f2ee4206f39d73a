"""Methods compared, from the results of their runs: tables, curves, tests, items, and what they show in words."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from votewise._advice import Advice
from votewise._checks import check_choice
from votewise._errors import InputError, VotewiseError
from votewise._text import counted, format_difference, format_number, format_p, listed
from votewise.records import ItemData, Results
from votewise.report.comparable import PRIMARY, comparable_conditions, comparable_runs, row_name, setting_in_words
from votewise.report.document import Block, Document, Figure, Items, Panel, Table, Text
from votewise.report.findings import Column, Findings, MethodFindings, findings_of
from votewise.report.verdict import advice_on, coverage_sentence, verdict
from votewise.statistics import Spread
from votewise.statistics.decide import ALPHA, FEWEST, MARGINS

EPOCHS = ("last", "best")

# Told of all runs where they share it.
_TOLD = (
    "model",
    "held_out",
    "folds",
    *(f"recipe.{name}" for name in ("epochs", "batch_size", "optimizer", "learning_rate")),
)


def compare_results(
    results: Results,
    items: Mapping[str, ItemData],
    *,
    at: str | None = None,
    baseline: str | None = None,
    title: str = "Methods compared",
    notes: Sequence[str] = (),
) -> Document:
    """Compare methods: one comparison for each set of runs that differ in nothing but method and seed.

    Runs that failed, or have no finite score, are left out, and the page says so. Without the votes behind the runs it
    also lacks the row without a model, reliability curves and items.

    Args:
        results: finished runs and failures, as `results_of` gives them.
        items: votes and items behind the runs, by checksum of the data.
        at: the epoch whose scores are compared, "last" or "best". If left out, the best where every run chose it on
            items that are not scored, else the last.
        baseline: the method that others are tested against; soft labels if left out. Where a comparison lacks it, the
            first method it has.
        title: heading of the page.
        notes: further sentences for readers, about records that could not be read, for instance.

    Returns:
        The document. Its data hold "failed" (sentences on runs left out), "notes", "summary" and "comparisons".
    """
    if at is None:
        at = "best" if results.runs and all(run.get("selected") for run in results.runs) else "last"
    check_choice("at", at, EPOCHS)
    usable, left_out = comparable_runs(results, at=at)
    failed = tuple(
        f"{run.get('method') or 'a record'}, seed {'–' if run.get('seed') is None else run['seed']}, is left out: "
        f"{reason.removesuffix('.')}."
        for run, reason in left_out
    )
    methods = tuple(
        dict.fromkeys(row_name(run) for run in [*usable.values(), *(run for run, _ in left_out)] if run.get("method"))
    )
    if not usable and methods:
        raise VotewiseError(
            f"nothing can be compared, since no run has a finite score ({', '.join(methods)}; the first: "
            f"{left_out[0][1].removesuffix('.')}). Change the recipe; --retry-failed repeats failed runs."
        )
    if not usable:
        raise InputError(
            "a report needs finished training runs",
            f"none of {counted(len(left_out), 'record')} is one" if left_out else "there are no records",
            "Train with compare --runs or reproduce --runs; votewise runs lists what is there",
        )

    if baseline is not None:
        check_choice("the baseline", baseline, methods)

    compared = [
        findings_of(condition, results, items.get(str(condition.factors.get("data"))), at=at)
        for condition in comparable_conditions(usable, baseline=baseline)
    ]
    told = (*dict.fromkeys(note for one in compared if one.data is not None for note in one.data.notes), *notes)
    advice = [advice_on(findings) for findings in compared]
    summary = tuple(map(verdict, compared))
    blocks: list[Block] = [
        Text(summary, role="summary"),
        Text((*_facts_of_comparison(list(usable.values()), results, compared, at), *failed), role="facts"),
        *([Text(told, role="aside")] if told else []),
    ]
    for number, findings in enumerate(compared, start=1):
        scored = coverage_sentence(findings)
        blocks += [Text(heading=findings.condition.title), _comparison_table(findings)]
        blocks += [Text((scored,), role="note")] if scored else []
        blocks += [Text(tuple(one.sentence for one in advice[number - 1]), role="advice")] if advice[number - 1] else []
        blocks += _comparison_figures(findings, number)
    # Of several numbers of votes the fewest, where methods differ most.
    for findings in {one.condition.factors.get("data"): one for one in compared}.values():
        if findings.items and findings.data is not None:
            where = f"; models of {findings.condition.title}" if len(compared) > 1 else ""
            heading = f"Where people disagree most (held-out items{where})"
            blocks.append(Items(heading, findings.data.votes.classes, findings.items))
    blocks.append(Text(_comparison_legend(compared[0].columns.values()), role="legend"))
    comparisons = [_comparison_as_json(*one) for one in zip(compared, advice, strict=True)]
    values = {"failed": failed, "notes": (*failed, *told), "summary": summary, "comparisons": comparisons}
    return Document(title, tuple(blocks), values)


def _facts_of_comparison(
    runs: Sequence[Mapping[str, Any]], results: Results, compared: Sequence[Findings], at: str
) -> tuple[str, ...]:
    """The data and the protocol, in sentences."""
    sentences = []
    for data in dict.fromkeys(one.data for one in compared if one.data is not None):
        votes = data.votes
        number = "" if votes.counts is None else f"{counted(int(votes.counts.sum()), 'vote')}, "
        read = f" ({votes.provenance})" if votes.provenance else ""
        sentences.append(
            f"{data.name}: {counted(votes.n_items, 'item')}, {number}"
            f"{counted(len(votes.classes), 'class', 'classes')}{read}."
        )
    devices = ", ".join(map(str, results.shared.get("devices", ())))
    trained = f", trained on {devices}" if devices else ""
    sentences.append(f"{counted(len(runs), 'run')} in {counted(len(compared), 'comparison')}{trained}.")
    chosen = ""
    if at == "best":
        apart = all(run.get("selected", 0) for run in runs)
        chosen = ", chosen on further items" if apart else ", which was chosen on the items that are scored"
    sentences.append(
        f"Scores are those after the {at} epoch{chosen}. With the same seed, methods share split, initial weights and "
        "order: only the labels differ. A method is tested against the first of its table on the seeds that both have."
    )
    values = {name: {run.get(name) for run in runs} for name in _TOLD}
    shared = [setting_in_words(name, *one) for name, one in values.items() if len(one) == 1 and one != {None}]
    if shared:
        sentences.append(f"All runs share: {', '.join(shared)}.")
    lacking = [one.condition.title for one in compared if one.data is None]
    if lacking:
        which = "these runs" if len(lacking) == len(compared) else "; ".join(lacking)
        sentences.append(
            f"The votes behind {which} are not stored with them, so what needs votes is left out: the row without a "
            "model, reliability and items."
        )
    return tuple(sentences)


def _comparison_table(findings: Findings) -> Table:
    """Scores over seeds, and each method against the baseline; a metric that no run has is left out."""
    headings = {
        metric: "\n(".join(column.title.split(" (")) if "(" in column.title else column.title.replace(" ", "\n")
        for metric, column in findings.columns.items()
        if any(method.scores[metric].n for method in findings.methods)
    } | {PRIMARY: findings.columns[PRIMARY].title}
    baseline = findings.methods[0].name
    counts = {method.soft_nll.n for method in findings.methods}
    seeds = ("seeds",) if len(counts) > 1 else ()
    header = ("method", *seeds, *headings.values(), f"NLL vs\n{baseline}", "interval", "better", "verdict", "p\n(Holm)")
    rows = []
    for method in findings.methods:
        n, test = method.soft_nll.n, method.test
        cells = [_spread_cell(method.scores[metric], of=n) for metric in headings]
        compared = ["–"] * 5
        if test is not None and test.n and method.lower is not None:
            (gap,) = method.lower.estimates
            interval = f"{gap.low:+.3f} to {gap.high:+.3f}" if math.isfinite(gap.low) else "–"
            wins = f"{test.wins}/{test.n}"
            compared = [format_difference(gap.mean), interval, wins, method.verdict, format_p(method.lower.p_holm)]
        rows.append((method.name, *(str(n) for _ in seeds), *cells, *compared))
    if findings.no_model.n:
        n, unknown = findings.no_model.n, ["–"] * (len(headings) - 1)
        cells = [_spread_cell(findings.no_model, of=n), *unknown, format_difference(findings.no_model_difference)]
        rows.append(("no model", *(str(n) for _ in seeds), *cells, *["–"] * 4))
    # A narrow terminal leaves out first what explains other columns, and soft NLL never.
    floors = [heading for metric, heading in headings.items() if findings.columns[metric].lower is None]
    scores = [heading for metric, heading in headings.items() if heading not in floors and metric != PRIMARY]
    optional = ("±", "interval", *floors, "p\n(Holm)", "better", *reversed(scores))
    return Table(header, tuple(rows), names=("method",), optional=optional)


def _spread_cell(spread: Spread, *, of: int) -> str:
    """A mean with its spread, and the number of seeds where it is not that of the row."""
    beside = f" ± {format_number(spread.sd)}" if spread.n > 1 else ""
    return f"{format_number(spread.mean)}{beside}" + (f" ({spread.n})" if 0 < spread.n < of else "")


def _comparison_figures(findings: Findings, number: int) -> list[Figure]:
    """Learning curves, and reliability where votes and predictions are known.

    Args:
        findings: what the curves show.
        number: number of the condition on its page, for the names of the figures.
    """
    title = findings.condition.title
    learning = tuple(method.learning for method in findings.methods)
    # One method that overfits would squeeze all other curves, so the panel ends a little above the second worst.
    tops = sorted(float(curve.y.max()) for curve in learning)
    top = tops[-2] * 1.08 if len(tops) > 1 and tops[-1] > 1.3 * tops[-2] else None
    figures = [
        Figure(
            f"learning-{number}",
            f"Soft NLL of held-out items by epoch: {title}",
            (Panel("", "epoch", "soft NLL, held-out items", learning, y_top=top),),
            "Learning: mean over seeds, band from lowest to highest.",
        )
    ]
    if reliability := tuple(method.reliability for method in findings.methods if method.reliability is not None):
        figures.append(
            Figure(
                f"reliability-{number}",
                f"Vote share by confidence: {title}",
                (Panel("", "confidence", "share of votes, same class", reliability, diagonal=True),),
                "Reliability: the share of votes for the predicted class by the model's confidence in it, over bins of "
                "equal mass; mean over the items of all seeds, band from the lowest seed to the highest. On the dotted "
                "line a model is as sure as people agree.",
            )
        )
    return figures


def _comparison_as_json(findings: Findings, advice: Sequence[Advice]) -> dict[str, Any]:
    """A comparison for machines, without curves and items."""
    rows = []
    for method in findings.methods:
        test = method.test
        tested = test is not None and test.n > 0
        rows.append(
            {
                "method": method.name,
                "learning": asdict(method.shape),
                "metrics": {column.name: asdict(method.scores[metric]) for metric, column in findings.columns.items()},
                "seeds": tuple(method.by_seed),
                "per_seed": tuple(method.by_seed.values()),
                "pairs": test.n if test else 0,
                "difference": test.difference if test and tested else None,
                "wins": test.wins if test and tested else None,
                "p_value": test.p_value if test else None,
                "p_holm": test.p_holm if test else None,
                "decision": _decision_as_json(method),
            }
        )
    scored = findings.coverage
    return {
        "title": findings.condition.title,
        "rows": rows,
        "no_model": asdict(findings.no_model) if findings.no_model.n else None,
        "people": findings.people,
        "at": findings.at,
        "advice": [asdict(one) for one in advice],
        "against": findings.against,
        "scored": {"items": scored.items, "models": [scored.fewest, scored.most]} if scored else None,
    }


def _decision_as_json(method: MethodFindings) -> dict[str, Any] | None:
    """Where the seeds put a method beside the baseline; None for the baseline itself."""
    if method.lower is None or method.level is None or not method.verdict:
        return None
    (gap,) = method.lower.estimates
    return {
        "verdict": method.verdict,
        "interval": (gap.low, gap.high) if math.isfinite(gap.low) else None,
        "p_holm": method.lower.p_holm,
        "p_overlapping": method.lower.p_overlapping,
        "could_have_shown": method.lower.reach,
        "level": {"margin": MARGINS["soft NLL"], "p_holm": method.level.p_holm},
    }


def _comparison_legend(columns: Collection[Column]) -> tuple[str, ...]:
    """How to read the tables and figures."""
    scaled: tuple[str, ...] = ()
    if any(column.name == "scaled soft NLL" for column in columns):
        scaled = (
            "scaled: with a temperature fitted on the items that chose the epoch; what is left when every model is as "
            "sure as it should be.",
        )
    lower, higher = (
        listed([column.name for column in columns if column.lower is direction]) for direction in (True, False)
    )
    return (
        "Mean ± SD (n − 1) over seeds; (n) where a number is known for fewer seeds than the others. Lower is better "
        f"for {lower}, higher for {higher}.",
        "ECE (votes): how far confidence is from the share of votes for the predicted class; 0 for a model that says "
        "what people said. The other ECE is against one label for each item, which the vote shares themselves miss "
        "wherever people disagree. ECE floor: the ECE that chance alone would give a calibrated model with the same "
        "confidences, and as many votes.",
        *scaled,
        "no model: predicting the average vote shares of the items not held out.",
        "better: seeds with a lower soft NLL than the baseline. interval: 95 %, by Student's t of the differences seed "
        "by seed. p: the same test, adjusted by Holm over the methods of a table. verdict: ahead or behind where p is "
        f"at most {ALPHA:g}; level where two one-sided tests put the difference within {MARGINS['soft NLL']:g}, a "
        f"margin fixed beforehand; undecided otherwise, and with fewer than {FEWEST} seeds.",
    )
