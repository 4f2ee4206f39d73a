"""Which runs can be compared, and which of them with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from votewise.delivery.methods import METHODS, method_label
from votewise.records import Results

# The number by which methods are compared; lower is better.
PRIMARY = "soft_nll"

# What runs of one condition may differ in, beside the options of their method.
_COMPARED = frozenset({"method", "seed", "hold", "recipe.mixup"})


@dataclass(frozen=True)
class Condition:
    """Runs that differ in nothing but method and seed.

    Attributes:
        title: the data, the votes, and whatever else tells this condition from the others.
        opening: how a sentence about this condition begins, if it must be told from others; else empty.
        factors: what all its runs share.
        rows: rows of each method's runs in the results, by the method's name, the baseline first.
    """

    title: str
    opening: str
    factors: Mapping[str, Any]
    rows: Mapping[str, Sequence[int]]

    @property
    def overlap(self) -> float:
        """Items scored per item trained on: how much seeds that split the same items anew have in common."""
        held_out, selected = (float(self.factors.get(name) or 0.0) for name in ("held_out", "selected"))
        return held_out / (1 - held_out - selected)


def comparable_runs(
    results: Results, *, at: str
) -> tuple[dict[int, dict[str, Any]], list[tuple[Mapping[str, Any], str]]]:
    """The runs that can be compared, and those that cannot.

    Args:
        results: finished runs and failures.
        at: the epoch that is scored, "last" or "best".

    Returns:
        What each usable run was, by its row in the results; and what each other was, with the reason.
    """
    scores = results.numbers.get(f"{PRIMARY}_{at}", np.full(len(results), math.nan))
    curves = results.series.get(f"curve_{PRIMARY}", (None,) * len(results))
    usable: dict[int, dict[str, Any]] = {}
    left_out: list[tuple[Mapping[str, Any], str]] = [(failure.factors, failure.reason) for failure in results.failures]
    for row, run in enumerate(results.runs):
        if not (isinstance(run.get("method"), str) and isinstance(run.get("seed"), int) and curves[row] is not None):
            left_out.append((run, "it is no finished training run"))
        elif not math.isfinite(scores[row]):
            left_out.append((run, "its soft NLL is not finite, as when classes that people chose get probability 0"))
        else:
            usable[row] = run
    return usable, left_out


def comparable_conditions(runs: Mapping[int, Mapping[str, Any]], *, baseline: str | None) -> list[Condition]:
    """The conditions among finished training runs, by data set, all votes before few.

    Args:
        runs: what each run was, by its row in the results; each has a method and a seed.
        baseline: the method that comes first; soft labels if None. Where a condition lacks it, the first that it has.
    """
    names = {row: row_name(run) for row, run in runs.items()}
    alike: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for row, run in runs.items():
        others = {name for name in run if not name.startswith("options.")} - _COMPARED
        alike.setdefault(tuple((name, run[name]) for name in sorted(others)), []).append(row)
    values = {name: {dict(shared)[name] for shared in alike} for name in dict(next(iter(alike), ()))}
    varied = sorted(name for name in values if len(values[name]) > 1)

    def by_data_and_votes(shared: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
        votes = dict(shared).get("votes")
        number = -math.inf if votes is None else votes if isinstance(votes, (int, float)) else math.inf
        return str(dict(shared).get("dataset")), number, repr(shared)

    def in_table(row: int) -> tuple[Any, ...]:
        method, known, hold = runs[row]["method"], list(METHODS), runs[row].get("hold")
        place = known.index(str(method)) if method in METHODS else len(known)
        held = hold if isinstance(hold, (int, float)) else math.inf
        return names[row] != baseline, place, str(method), held, names[row]

    conditions = []
    for shared in sorted(alike, key=by_data_and_votes):
        factors = dict(shared)
        rows: dict[str, list[int]] = {}
        for row in sorted(alike[shared], key=in_table):
            rows.setdefault(names[row], []).append(row)
        votes = factors.get("votes")
        told = "all votes" if votes is None else f"{votes} votes per item"
        settings = [setting_in_words(name, factors[name]) for name in varied if name not in ("dataset", "votes")]
        title = ", ".join([str(factors.get("dataset") or "unnamed data"), told, *settings])
        opening = f"With {told}, " if varied == ["votes"] else f"{title}: " if varied else ""
        conditions.append(Condition(title, opening, factors, rows))
    return conditions


def setting_in_words(name: str, value: Any) -> str:
    """A setting of a run in words.

    >>> setting_in_words("recipe.batch_size", 64)
    'batch size 64'
    """
    if name == "data":
        return f"data {str(value)[:8]}"
    return f"{name.removeprefix('recipe.').replace('_', ' ')} {'–' if value is None else value}"


def row_name(run: Mapping[str, Any]) -> str:
    """A run's method with its options, as the command line names it, and the alpha of mixup.

    >>> row_name({"method": "sls", "hold": 5})
    'sls:hold=5'

    Args:
        run: the run's config, flat.
    """
    hold, alpha = run.get("hold"), run.get("recipe.mixup")
    options = {"hold": hold} if hold not in (None, 1) else {}
    options |= {name.removeprefix("options."): value for name, value in run.items() if name.startswith("options.")}
    label = method_label(str(run["method"]), {name: value for name, value in options.items() if value is not None})
    return f"{label}, α {alpha:g}" if isinstance(alpha, (int, float)) and alpha else label
