"""Device time of the runs done, and of all of the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from votewise._checks import FloatArray
from votewise.papers.same_target.diagnoses import plan_of
from votewise.papers.same_target.evidence import Evidence, Group, Run
from votewise.papers.same_target.suites import SUITES, all_runs

_BARRIER = "barrier"


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
    """Device time of the runs done; and of all of the paper's, once each kind of diagnosis has been made."""
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
        yield "training images per second", f"{np.nanmean(rate):,.0f}"
    if diagnosed.size:
        span = f"{diagnosed.min():.1f} to {diagnosed.max():.1f} s each"
        yield "diagnoses", f"{len(diagnosed)}, {span}, {_minutes(diagnosed.sum())} in all"
        planned = int((_column(evidence, "diagnosis_as_planned") == 1).sum())
        yield (
            "diagnoses of exactly what would be measured today",
            f"{planned} of {len(diagnosed)}; those by earlier plans stand for the rest",
        )
    each = _seconds_of_kinds(evidence, diagnosis)
    yield from _of_suite("all runs of the paper", all_runs(), float(trained.mean()), each)
    for name, suite in SUITES.items():
        yield from _of_suite(f"suite {name} alone", all_runs([suite]), float(trained.mean()), each)


def _of_suite(
    words: str, runs: Sequence[Run], training: float, diagnoses: Mapping[str, float]
) -> Iterator[tuple[str, str]]:
    """The line of a suite started from nothing; none where a kind of diagnosis has not been made yet."""
    kinds = [_kind(run) for run in runs]
    kinds += [_BARRIER for run in runs if Group("soft").has(run) and replace(run, method="sls") in runs]
    if diagnoses.keys() >= set(kinds):
        whole, expected = training * len(runs), sum(diagnoses[kind] for kind in kinds)
        yield (
            words,
            f"{_minutes(whole)} of training and {_minutes(expected)} of diagnoses ({expected / whole:.0%} of it), "
            f"{_minutes(whole + expected)} in all",
        )


def _seconds_of_kinds(evidence: Evidence, seconds: FloatArray) -> dict[str, float]:
    """Seconds of each kind of diagnosis; those made by an earlier plan count only where none follows today's."""
    planned = _column(evidence, "diagnosis_as_planned") == 1
    found: dict[str, float] = {}
    for kind in dict.fromkeys(map(_kind, evidence.runs)):
        made = ~np.isnan(seconds) & np.array([_kind(run) == kind for run in evidence.runs])
        if made.any():
            found[kind] = float(seconds[made & planned if (made & planned).any() else made].mean())
    between = evidence.across.get("barrier.seconds", np.zeros(0))
    return found | ({_BARRIER: float(between.mean())} if between.size else {})


def _kind(run: Run) -> str:
    return str(plan_of(run).to_dict())


def _column(evidence: Evidence, name: str) -> FloatArray:
    return evidence.numbers.get(name, np.full(len(evidence.runs), np.nan))


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min"
