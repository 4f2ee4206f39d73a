"""A report on recorded runs: all comparisons that a folder of runs holds. It needs neither votes, data nor torch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from votewise import __version__
from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.experiments.catalog import METHODS
from votewise.experiments.summarise import PRIMARY, Scores, in_words, learning_curve, method_rows
from votewise.records import RunSummary, in_order
from votewise.report.content import Comparison, Content
from votewise.report.numbers import counted

EPOCHS = ("last", "best")

# Columns of the report, and the numbers of a record behind them.
_NUMBERS = {
    PRIMARY: "soft_nll",
    "accuracy": "accuracy",
    "ECE": "ece",
    "ECE floor": "ece_floor",
    "entropy correlation": "entropy_correlation",
}

# What differs between the runs of one comparison; everything else in their configs must be the same.
_COMPARED = ("method", "seed", "hold", "recipe.mixup")

# Always shown in the title of a comparison; and told of all runs where it is the same.
_TITLED = ("dataset", "votes")
_TOLD = ("model", "held_out", *(f"recipe.{name}" for name in ("epochs", "batch_size", "optimizer", "learning_rate")))


def summarise_records(
    runs: Sequence[RunSummary], *, name: str, at: str = "last", baseline: str | None = None, notes: Sequence[str] = ()
) -> Content:
    """The report of recorded runs: one comparison for each set of runs that differ in nothing but method and seed.

    Args:
        runs: in any order. Failed runs and other records are left out, and a note says so.
        name: of the runs, for the heading.
        at: which epoch's scores are compared, "last" or "best".
        baseline: the method that others are compared with; soft labels if left out. Where a comparison lacks it, the
            first method it has.
        notes: further notes for readers.
    """
    check_choice("at", at, EPOCHS)
    runs = in_order(runs)
    usable = [run for run in runs if _is_training(run, at)]
    if not usable:
        raise InputError(
            "a report needs finished training runs",
            f"none of {counted(len(runs), 'record')} is one" if runs else "there are no records",
            "Train with compare --runs or reproduce --runs; votewise runs lists what is there",
        )
    conditions = _by_condition(usable)
    if baseline is not None:
        check_choice("the baseline", baseline, tuple(dict.fromkeys(_row_name(run) for run in usable)))
    varied = _varied(list(conditions))
    comparisons = tuple(
        _comparison(_title(dict(condition), varied), alike, at, baseline) for condition, alike in conditions.items()
    )
    return Content(
        title=f"Runs recorded in {name}",
        summary=tuple(f"{one.title}: {in_words(one)}" for one in comparisons),
        data=_facts(usable, list(conditions), varied, at),
        classes=(),
        comparisons=comparisons,
        version=__version__,
        notes=(*_left_out(runs, at), *notes),
    )


def _is_training(run: RunSummary, at: str) -> bool:
    """Whether a record is of a finished training run with a finite score."""
    config, score = run.config, run.numbers.get(f"soft_nll_{at}", math.nan)
    named = isinstance(config.get("method"), str) and isinstance(config.get("seed"), int)
    return run.status == "done" and named and math.isfinite(score) and "soft_nll" in run.curves


def _left_out(runs: Sequence[RunSummary], at: str) -> tuple[str, ...]:
    """A sentence for each run that is left out, with the reason."""
    faults = [(run, run.failure or "it has no finite soft NLL") for run in runs if not _is_training(run, at)]
    return tuple(
        f"{run.config.get('method', 'a record')}, seed {run.config.get('seed', '–')}, is left out: "
        f"{fault.removesuffix('.')}."
        for run, fault in faults
    )


Leaves = tuple[tuple[str, Any], ...]


def _by_condition(runs: Sequence[RunSummary]) -> dict[Leaves, list[RunSummary]]:
    """Runs grouped by what must be the same to compare them, in order of data set and votes."""
    found: dict[Leaves, list[RunSummary]] = {}
    for run in runs:
        leaves = ((name, value) for name, value in _flat(run.config) if name not in _COMPARED)
        found.setdefault(tuple(sorted(leaves)), []).append(run)
    return dict(sorted(found.items(), key=lambda item: _order(dict(item[0]))))


def _flat(config: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Leaves of a config under dotted names; lists become tuples, which can be keys."""
    leaves: list[tuple[str, Any]] = []
    for name, value in config.items():
        if isinstance(value, dict):
            leaves += _flat(value, f"{prefix}{name}.")
        else:
            leaves.append((prefix + name, _hashable(value)))
    return leaves


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _order(condition: Mapping[str, Any]) -> tuple[Any, ...]:
    """By data set, then all votes before few, then the rest."""
    votes = condition.get("votes")
    number = -math.inf if votes is None else votes if isinstance(votes, (int, float)) else math.inf
    return str(condition.get("dataset")), number, repr(sorted(condition.items()))


def _varied(conditions: Sequence[Leaves]) -> list[str]:
    """The names of the settings that differ between conditions."""
    values: dict[str, set[Any]] = {}
    for condition in conditions:
        for name, value in condition:
            values.setdefault(name, set()).add(value)
    absent = {name for name in values if any(name not in dict(condition) for condition in conditions)}
    return sorted(name for name, found in values.items() if len(found) > 1 or name in absent)


def _title(condition: Mapping[str, Any], varied: Sequence[str]) -> str:
    """The data, the votes, and the settings in which this comparison differs from the others."""
    votes = condition.get("votes")
    parts = [str(condition.get("dataset", "unnamed data")), "all votes" if votes is None else f"{votes} votes per item"]
    parts += [_said(name, condition.get(name)) for name in varied if name not in _TITLED]
    return ", ".join(parts)


def _said(name: str, value: Any) -> str:
    if name == "data":
        return f"data {str(value)[:8]}"
    return f"{name.removeprefix('recipe.').replace('_', ' ')} {'–' if value is None else value}"


def _facts(runs: Sequence[RunSummary], conditions: Sequence[Leaves], varied: Sequence[str], at: str) -> tuple[str, ...]:
    same = [_said(name, value) for name, value in conditions[0] if name in _TOLD and name not in varied]
    devices = sorted({run.environment.get("device", "an unknown device") for run in runs})
    chosen = [run for run in runs if at == "best" and not run.config.get("selected")]
    return (
        f"{counted(len(runs), 'run')} in {counted(len(conditions), 'comparison')}, trained on {', '.join(devices)}.",
        f"Scores are those after the {at} epoch"
        + (", which was chosen on the items that are scored" if chosen else "")
        + ". With the same seed, methods share split, initial weights and order: only the labels differ. A method is "
        "tested against the first of its table on the seeds that both have.",
        *([f"All runs share: {', '.join(same)}."] if same else []),
    )


def _comparison(title: str, runs: Sequence[RunSummary], at: str, baseline: str | None) -> Comparison:
    """The methods of one condition, side by side."""
    by_row: dict[str, list[RunSummary]] = {}
    for run in sorted(runs, key=lambda run: (_rank(run, baseline), run.config["seed"])):
        by_row.setdefault(_row_name(run), []).append(run)
    scores = {row: Scores([_seed(run) for run in alike], _values(alike, at)) for row, alike in by_row.items()}
    shortest = min(len(run.curves["soft_nll"]) for run in runs)  # all of one length, unless made by hand
    curves = {row: [run.curves["soft_nll"][:shortest] for run in alike] for row, alike in by_row.items()}
    return Comparison(
        title,
        method_rows(scores),
        tuple(learning_curve(row, lines) for row, lines in curves.items()),
        reliability=(),  # would need the labels, which records do not hold
    )


def _values(runs: Sequence[RunSummary], at: str) -> dict[str, Any]:
    return {
        column: np.array([run.numbers.get(f"{number}_{at}", math.nan) for run in runs])
        for column, number in _NUMBERS.items()
    }


def _row_name(run: RunSummary) -> str:
    """The method with its settings."""
    hold, recipe = run.config.get("hold", 1), run.config.get("recipe")
    alpha = recipe.get("mixup", 0) if isinstance(recipe, dict) else 0
    kept = f", kept {hold} epochs" if hold != 1 else ""
    return f"{run.config['method']}{kept}" + (f", α {alpha:g}" if isinstance(alpha, (int, float)) and alpha else "")


def _rank(run: RunSummary, baseline: str | None) -> tuple[Any, ...]:
    """Sort key: the baseline first, then methods in the order of the catalogue, each by its settings."""
    name, known = _row_name(run), list(METHODS)
    method = run.config["method"]
    place = known.index(str(method)) if method in METHODS else len(known)
    hold = run.config.get("hold", 1)
    return name != baseline, place, str(method), hold if isinstance(hold, (int, float)) else math.inf, name


def _seed(run: RunSummary) -> int:
    return int(run.config["seed"])  # type: ignore[arg-type]  # _is_training looked
