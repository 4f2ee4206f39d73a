"""How much of a paper is done: its runs, the scores of those that just finished, and what all of it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np

from votewise._text import counted
from votewise.papers.cells import mean_and_sd
from votewise.papers.paper import Paper
from votewise.papers.published import Key
from votewise.papers.suites import Where
from votewise.records import Results
from votewise.report.document import Document, Table, Text
from votewise.statistics.decide import agreements


@dataclass(frozen=True)
class Coverage:
    """How many of the paper's runs are done, and which are not.

    Attributes:
        there: number of the paper's runs that are done.
        wanted: number of runs that the paper did.
        missing: number of missing runs by row.
    """

    there: int
    wanted: int
    missing: dict[str, int]


def paper_coverage(paper: Paper, results: Results) -> Coverage:
    """How many of the paper's runs are done."""
    missing = Counter(paper.row_name({**run, "seed": None}) for run in missing_paper_runs(paper, results))
    wanted = len(paper.runs_of("all"))
    return Coverage(wanted - missing.total(), wanted, dict(missing))


def missing_paper_runs(paper: Paper, results: Results) -> list[Where]:
    """The runs of the paper that are not done."""
    done = set(zip(*(results.factors.get(factor, ()) for factor in paper.factors), strict=True))
    return [run for run in paper.runs_of("all") if tuple(run.values()) not in done]


def paper_coverage_in_words(paper: Paper, results: Results) -> str:
    """How many of the paper's runs are done, and which are missing, in a sentence."""
    missing, wanted = missing_paper_runs(paper, results), len(paper.runs_of("all"))
    if not missing:
        return f"All {wanted} runs of the paper are done."
    rows = Counter((run["method"], paper.condition(run)) for run in missing)
    # Methods of which equally many runs are missing under a condition, and conditions of the same methods, go together.
    methods: dict[tuple[int, str], list[str]] = {}
    for (method, condition), number in rows.items():
        methods.setdefault((number, condition), []).append(paper.names.get(method, method))
    conditions: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for (number, condition), together in methods.items():
        conditions.setdefault((number, tuple(together)), []).append(condition)
    parts = []
    for (number, names), under in conditions.items():
        where = f" ({'; '.join(under)})" if any(under) else ""
        each = " each" if len(names) * len(under) > 1 else ""
        parts.append(f"{counted(number, 'run')}{each} of {', '.join(names)}{where}")
    return f"{wanted - len(missing)} of the paper's {wanted} runs are done. Not run: {'; '.join(parts)}."


def paper_cost_part(paper: Paper, results: Results) -> Document:
    """Device time of the runs done; and of all of the paper's, once each kind of measurement has been made."""
    absent = np.full(len(results), np.nan)
    seconds, measuring, rate = (
        results.numbers.get(name, absent) for name in ("seconds", "diagnosis_seconds", "images_per_second")
    )
    trained, measured = seconds[~np.isnan(seconds)], measuring[~np.isnan(measuring)]
    lines: list[tuple[str, str]] = []
    if trained.size:
        lines.append(("devices", ", ".join(results.shared.get("devices", np.array(["not recorded"])).tolist())))
        each = f"{len(trained)} runs, {trained.mean():.1f} s each"
        lines.append(("training", f"{each}, {paper_cost_in_minutes(trained.sum())} in all"))
        if not np.isnan(rate).all():
            lines.append(("training images per second", f"{np.nanmean(rate):,.0f}"))
        if measured.size:
            span = f"{measured.min():.1f} to {measured.max():.1f} s each"
            lines.append(("diagnoses", f"{len(measured)}, {span}, {paper_cost_in_minutes(measured.sum())} in all"))
        lengths: dict[str, list[float]] = {}
        for row in np.flatnonzero(~np.isnan(measuring)).tolist():
            for kind in paper.measured([results.run(row)]):
                lengths.setdefault(kind, []).append(measuring[row])
        lengths |= {
            name: between.arrays["seconds"].tolist()
            for name, between in results.between.items()
            if "seconds" in between.arrays
        }
        known = {kind: float(np.mean(values)) for kind, values in lengths.items() if values}
        wanted = {"all runs of the paper": paper.runs_of("all")}
        own = [name for name, suite in paper.suites.items() if not suite.beyond]
        wanted |= {f"suite {name} alone": paper.runs_of(name) for name in own}
        for words, runs in wanted.items():
            kinds = paper.measured(runs)
            if known.keys() >= set(kinds):
                whole, expected = trained.mean() * len(runs), sum(known[kind] for kind in kinds)
                parts = f"{paper_cost_in_minutes(whole)} of training and {paper_cost_in_minutes(expected)} of diagnoses"
                share = f"({expected / whole:.0%} of it)"
                lines.append((words, f"{parts} {share}, {paper_cost_in_minutes(whole + expected)} in all"))
    header = ("", "device time")
    title = "device time"
    blocks = (Table(header, tuple(lines), words=header),)
    return Document(title, blocks, {"name": "cost", "title": title, "lines": lines})


def paper_cost_in_minutes(seconds: float) -> str:
    """A time, rounded."""
    return f"{seconds / 60:.0f} min"


def paper_finished_part(paper: Paper, results: Results, *, beside_paper: bool) -> Document:
    """Scores of finished runs at the best and the last epoch, beside the printed ones if the paper did the same."""
    condition_of = paper.factors[:-1]
    printed: dict[tuple[object, ...], Key] = {}
    for table in (*paper.tables, *((paper.quoted,) if paper.quoted else ())):
        for entry in table.entries:
            printed.setdefault((entry.number, *(entry.where.get(factor) for factor in condition_of)), entry.key)
    rows: list[tuple[str, ...]] = []
    data = []
    for condition in dict.fromkeys(zip(*(results.factors[factor] for factor in condition_of), strict=True)):
        where = dict(zip(condition_of, condition, strict=True))
        rows.append((paper.run_label(where), "", "", "", "", ""))
        for score in paper.scores:
            best, last = (results.sample(f"{score}_{at}", where) for at in ("best", "last"))
            number = (
                paper.published.numbers.get(printed.get((f"{score}_best", *condition), ())) if beside_paper else None
            )
            (agreement,) = agreements([best], [number])
            rows.append(
                (
                    f"  {score}",
                    str(best.n),
                    mean_and_sd(best.mean, best.sd),
                    mean_and_sd(last.mean, last.sd),
                    "-" if number is None else mean_and_sd(number.mean, number.sd),
                    "-" if agreement.distance is None else f"{agreement.distance:+.1f}",
                )
            )
            numbers = {"best": best.mean, "best_sd": best.sd, "last": last.mean, "last_sd": last.sd}
            beside = {"published": number and asdict(number), "distance": agreement.distance}
            data.append({**where, "metric": score, "seeds": best.n, **numbers, **beside})
    header = ("", "seeds", "best epoch", "last epoch", "published", "apart")
    shown_columns = len(header) if any(line["published"] for line in data) else 4
    table = Table(header[:shown_columns], tuple(row[:shown_columns] for row in rows), names=("",))
    legend = "apart: ours at the best epoch minus the published, in standard errors of the difference"
    blocks = (table, *((Text((legend,), role="legend"),) if shown_columns > 4 else ()))
    return Document("", blocks, {"lines": data})
