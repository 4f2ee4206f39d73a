"""Results that came in parts: joined as if they had come at once, and what some hold beyond others."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from votewise._errors import InputError
from votewise.records.results import DEVICES, POSITIONS, Array, Between, Results, result_columns, result_number_columns
from votewise.records.rows import sort_key

# Numbers computed on two machines may differ by rounding, and how long something took by anything.
_ROUNDING = 1e-6
_TIMES = ("seconds", "per_second")


class Place(NamedTuple):
    """Where a value stands in results.

    Attributes:
        way: the names that lead to it, such as ("numbers", "accuracy_best") or ("between", "sls.shared", "cka").
        owner: the run, as its factors without those that are None; for what is between runs, their one or two seeds.
    """

    way: tuple[str, ...]
    owner: frozenset[tuple[str, Any]] | tuple[int, ...]


def join_results(parts: Mapping[str, Results]) -> Results:
    """The results of several parts as if they had come at once, in order of what the runs were.

    Parts may hold different numbers of one run but not contradict each other. What is NaN everywhere is not known, and
    numbers and series that no run has are left out.

    Args:
        parts: one or more parts, by the names that messages use, such as "batch 2".
    """
    origins = {" ".join(f"{key} {value[:16]}" for key, value in sorted(part.origin.items())) for part in parts.values()}
    if len(origins) > 1:
        raise InputError(
            "all batches of results must be of one paper, data set and precision",
            f"they are of {'; '.join(sorted(origins))}",
            "Keep each kind in a folder of its own",
        )
    values: dict[Place, Any] = {}
    part_of: dict[Place, str] = {}
    for name, part in parts.items():
        for place, value in known_result_values(part):
            if place not in values:
                values[place], part_of[place] = value, name
            elif not place.way[-1].endswith(_TIMES):
                _check_equal(place, values[place], part_of[place], value, name)
    return _join_parts(values, parts.values())


def results_beyond(results: Results, known: Results) -> Results:
    """What results hold that is not known; runs and seeds without any of it are left out."""
    places = {place for place, _ in known_result_values(known)}
    return _join_parts(
        {place: value for place, value in known_result_values(results) if place not in places}, [results]
    )


def known_result_values(results: Results) -> list[tuple[Place, Any]]:
    """Every value that is known, and its place: a number, a whole series, what was measured of one seed or pair."""
    runs = [frozenset((name, value) for name, value in run.items() if value is not None) for run in results.runs]
    tables: dict[tuple[str, ...], Sequence[Any]] = {
        **{("numbers", name): column.tolist() for name, column in results.numbers.items()},
        **{("series", name): arrays for name, arrays in results.series.items()},
        **{("predicted", at): arrays for at, arrays in results.predicted.items()},
        ("held_out", "rows"): results.held_out or (None,) * len(results),
    }
    values = [(Place(way, run), value) for way, table in tables.items() for run, value in zip(runs, table, strict=True)]
    for group, between in results.between.items():
        for owner in combinations_with_replacement(enumerate(between.seeds), 2 if between.pairs else 1):
            place, seeds = tuple(place for place, _ in owner), tuple(sorted(seed for _, seed in owner))
            names = between.arrays.keys() - {POSITIONS}
            values += [(Place(("between", group, name), seeds), between.arrays[name][place]) for name in names]
    return [
        (place, value)
        for place, value in values
        if value is not None and not (math.isnan(value) if isinstance(value, float) else np.isnan(value).all())
    ]


def _join_parts(values: Mapping[Place, Any], parts: Collection[Results]) -> Results:
    """The opposite of `known_result_values`.

    Args:
        values: every value by its place.
        parts: the results they are from, for what belongs to no run or to all.
    """
    of_runs: dict[Any, dict[str, dict[str, Any]]] = {}
    groups: dict[str, dict[str, dict[tuple[int, ...], Any]]] = {}
    for ((kind, *names), owner), value in values.items():
        if kind == "between":
            groups.setdefault(names[0], {}).setdefault(names[1], {})[owner] = value  # type: ignore[index]
        else:
            of_runs.setdefault(owner, {}).setdefault(kind, {})[names[0]] = value
    runs = sorted(of_runs, key=lambda run: sort_key(dict(run)))
    rows = {
        kind: [dict(sorted(of_runs[run].get(kind, {}).items())) for run in runs]
        for kind in ("numbers", "series", "predicted", "held_out")
    }
    grids = _shared_result_arrays(parts)
    between = {}
    for group, arrays in sorted(groups.items()):
        pairs = any(part.between[group].pairs for part in parts if group in part.between)
        seeds = sorted({seed for by_owner in arrays.values() for owner in by_owner for seed in owner})
        tables = {name: grid for (of, name), grid in grids.items() if of == group}
        for name, by_owner in sorted(arrays.items()):
            shape = np.shape(next(iter(by_owner.values())))
            tables[name] = np.full((len(seeds),) * (2 if pairs else 1) + shape, np.nan)
            for owner, value in by_owner.items():
                place = tuple(map(seeds.index, owner))
                tables[name][place] = tables[name][place[::-1]] = value  # pairs have no order
        between[group] = Between(tuple(seeds), tables, pairs)
    named = [dict(run) for run in runs]
    return Results(
        {
            name: tuple(run.get(name) for run in named)
            for name in dict.fromkeys(n for part in parts for n in part.factors)
        },
        result_number_columns(rows["numbers"]),
        result_columns(rows["series"]),
        result_columns(rows["predicted"]),
        result_columns(rows["held_out"]).get("rows", ()),
        between,
        {name: grid for (group, name), grid in grids.items() if not group},
        tuple(failure for part in parts for failure in part.failures),
        next(iter(parts)).origin,
    )


def _shared_result_arrays(parts: Collection[Results]) -> dict[tuple[str, str], Array]:
    """The shared arrays, as ("", name), and the positions of each group: all devices, and what all parts agree on."""
    grids: dict[tuple[str, str], Array] = {}
    for part in parts:
        theirs = {("", name): grid for name, grid in part.shared.items()}
        for group, between in part.between.items():
            theirs |= {(group, name): between.arrays[name] for name in between.arrays.keys() & {POSITIONS}}
        for (group, name), grid in theirs.items():
            if name == DEVICES:
                grids[group, name] = np.union1d(grids.get((group, name), grid), grid)
            elif not np.array_equal(grids.setdefault((group, name), grid), grid):
                raise InputError(
                    "all batches of results must be measured on the same grid",
                    f"those of {'.'.join(filter(None, (group, name)))} differ",
                    "Keep results measured in another way in another folder",
                )
    return grids


def _check_equal(place: Place, known: Any, earlier: str, value: Any, part: str) -> None:
    """Refuse another value of the same thing that differs by more than rounding where both are known.

    Args:
        place: where the two values stand.
        known: the first value.
        earlier: the part it is from.
        value: the other value.
        part: the part that one is from.
    """
    if np.array_equal(known, value):
        return
    first, second = np.asarray(known), np.asarray(value)
    cell: list[int] = []
    shown = [f"of shape {one.shape}" for one in (first, second)]
    if first.shape == second.shape:
        rounding = max(_ROUNDING, float(np.finfo(second.dtype).eps)) if second.dtype.kind == "f" else 0.0
        close = np.isclose(first.astype(np.float64), second.astype(np.float64), rtol=rounding, atol=0)
        clash = ~(close | np.isnan(first) | np.isnan(second))
        if not clash.any():
            return
        cell = np.argwhere(clash)[0].tolist()
        shown = [str(one[tuple(cell)]) for one in (first, second)]
    kind, *names = place.way
    number = f"{names[0]}_log_probs" if kind == "predicted" else ".".join(names)
    if isinstance(place.owner, tuple):
        seed, other = place.owner[0], place.owner[-1]
        subject = f"seed {seed}" if seed == other else f"seeds {seed} and {other}"
    else:
        run = dict(place.owner)
        words = [str(run.pop("method", "a run"))]
        words += [f"{run['votes']} votes"] if "votes" in run else []
        words += [f"kept {run['hold']} epochs"] if run.get("hold", 1) != 1 else []
        words += [f"{name} {run[name]}" for name in sorted(run.keys() - {"votes", "hold"}) if "." not in name]
        subject = f"{', '.join(words)},"
    raise InputError(
        f"{subject} must have the same numbers in all results",
        f"{number}{cell or ''} is {shown[0]} in {earlier} and {shown[1]} in {part}",
        "Keep what was done again in another folder of results",
    )
