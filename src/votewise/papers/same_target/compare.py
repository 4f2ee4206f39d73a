"""Recorded runs beside the published numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from votewise.papers.same_target.cells import Cell
from votewise.papers.same_target.published import METRICS, PUBLISHED, Published
from votewise.papers.same_target.suites import run_of
from votewise.records import RunSummary
from votewise.report.content import Spread


@dataclass(frozen=True)
class Line:
    """One method's number over seeds, and the paper's.

    Attributes:
        method: by name.
        votes: votes per item, None for all.
        hold: epochs a label is kept.
        metric: by name.
        seeds: n of ours.
        best: mean at the best epoch.
        best_sd: over seeds, NaN for one.
        last: mean after the last epoch.
        last_sd: likewise.
        published: the paper's, where it prints one.
    """

    method: str
    votes: int | None
    hold: int
    metric: str
    seeds: int
    best: float
    best_sd: float
    last: float
    last_sd: float
    published: Published | None

    @property
    def distance(self) -> float | None:
        """Ours at the best epoch less the paper's, in standard errors of that difference."""
        return Cell("", "", Spread(self.best, self.best_sd, self.seeds), self.published).distance


def compare_with_paper(records: Sequence[RunSummary]) -> list[Line]:
    """One line per method, number of votes, period and metric of the finished runs, in the order of the records."""
    groups: dict[tuple[str, int | None, int], list[RunSummary]] = {}
    for record in records:
        if record.status == "done":
            run = run_of(record.config)
            groups.setdefault((run.method, run.votes, run.hold), []).append(record)
    return [_line(key, metric, group) for key, group in groups.items() for metric in METRICS]


def _line(key: tuple[str, int | None, int], metric: str, records: Sequence[RunSummary]) -> Line:
    best, last = (np.array([record.numbers[f"{metric}_{at}"] for record in records]) for at in ("best", "last"))
    sds = [float(values.std(ddof=1)) if len(values) > 1 else math.nan for values in (best, last)]
    published = PUBLISHED.get((*key, metric)) if all(map(_is_the_papers, records)) else None
    return Line(
        *key,
        metric,
        len(records),
        float(best.mean()),
        sds[0],
        float(last.mean()),
        sds[1],
        published,
    )


def _is_the_papers(record: RunSummary) -> bool:
    """Whether a run is one of the paper's, not a smaller variant."""
    recipe = record.config["recipe"]
    return record.config["model"] == "resnet18" and isinstance(recipe, dict) and recipe["epochs"] == 200
