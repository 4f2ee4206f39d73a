"""What the runs took, and what all of the paper's would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from votewise._checks import FloatArray
from votewise.papers.same_target.diagnoses import plan_of
from votewise.papers.same_target.evidence import Evidence, Run
from votewise.papers.same_target.suites import all_runs


@dataclass(frozen=True)
class Cost:
    """Device time, line by line.

    Attributes:
        name: "cost".
        title: what it shows.
        lines: what was counted, and how much it is.
    """

    name: str
    title: str
    lines: tuple[tuple[str, str], ...]


def cost(evidence: Evidence) -> Cost:
    """Device time of the runs there; and of all of the paper's, once each kind of diagnosis has been made."""
    return Cost("cost", "device time", tuple(_lines(evidence)))


def _lines(evidence: Evidence) -> Iterator[tuple[str, str]]:
    training, diagnosis = (_column(evidence, name) for name in ("seconds", "diagnosis_seconds"))
    trained, diagnosed = training[~np.isnan(training)], diagnosis[~np.isnan(diagnosis)]
    if not trained.size:
        return
    yield "devices", ", ".join(evidence.across.get("devices", np.array(["not recorded"])).tolist())
    yield "training", f"{len(trained)} runs, {trained.mean():.1f} s each, {_minutes(trained.sum())} in all"
    rate = _column(evidence, "images_per_second")
    if not np.isnan(rate).all():
        yield "images a second in training", f"{np.nanmean(rate):,.0f}"
    if diagnosed.size:
        each = f"{diagnosed.min():.1f} to {diagnosed.max():.1f} s each"
        yield "diagnoses", f"{len(diagnosed)}, {each}, {_minutes(diagnosed.sum())} in all"
    expected = _of_all_diagnoses(evidence, diagnosis)
    if expected is not None:
        whole = trained.mean() * len(all_runs())
        yield (
            "all runs of the paper",
            f"{_minutes(whole)} of training and {_minutes(expected)} of diagnoses ({expected / whole:.0%} of it), "
            f"{_minutes(whole + expected)} in all",
        )


def _of_all_diagnoses(evidence: Evidence, seconds: FloatArray) -> float | None:
    """Seconds that diagnoses of all the paper's runs take; None where a kind of diagnosis has not been made yet."""
    found: dict[str, list[float]] = {}
    for run, taken in zip(evidence.runs, seconds, strict=True):
        if not np.isnan(taken):
            found.setdefault(_kind(run), []).append(taken)
    between = evidence.across.get("barrier.seconds", np.zeros(0))
    wanted = [_kind(run) for run in all_runs()]
    if not found.keys() >= set(wanted) or not between.size:
        return None
    pairs = sum(run.method == "sls" and run.votes is None and run.hold == 1 for run in all_runs())
    return float(sum(np.mean(found[kind]) for kind in wanted) + between.mean() * pairs)


def _kind(run: Run) -> str:
    return str(plan_of(run).to_dict())


def _column(evidence: Evidence, name: str) -> FloatArray:
    return evidence.numbers.get(name, np.full(len(evidence.runs), np.nan))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min"
