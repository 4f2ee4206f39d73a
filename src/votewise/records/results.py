"""Results: the numbers, curves and predictions of many runs, selected by what the runs were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray, IntArray
from votewise._errors import InputError
from votewise._numerics import log_softmax
from votewise.records.record import JSON, RunRecord
from votewise.statistics import Sample, pair_sample

Array = npt.NDArray[Any]
Factors = Mapping[str, JSON]

# What runs may differ in and still be put side by side under one heading.
SEED, METHOD = "seed", "method"

# The grid, such as points along a line, on which everything between some runs was measured.
POSITIONS = "positions"

# The shared array that may differ between results that are joined: it is united.
DEVICES = "devices"


@dataclass(frozen=True, eq=False)
class Prediction:
    """What one run predicts for the items it was scored on.

    Attributes:
        factors: what the run was.
        rows: (m,) rows of the data set.
        log_probs: (m, K) logarithms of the predicted probabilities.
    """

    factors: Factors
    rows: IntArray
    log_probs: FloatArray

    @property
    def probs(self) -> FloatArray:
        """(m, K) predicted probabilities, float64."""
        return np.asarray(np.exp(self.log_probs))


@dataclass(frozen=True)
class Failure:
    """A run that failed, and why."""

    factors: Factors
    reason: str


@dataclass(frozen=True, eq=False)
class Between:
    """What was measured between runs that were at hand together.

    Attributes:
        seeds: the seeds of these runs, ascending.
        arrays: measurements by name, (S, ...) with a row for each seed, or (S, S, ...) for pairs of seeds, NaN for
            those that never were together; "positions" alone is a grid on which all of them were taken.
        pairs: whether something was measured of each pair of seeds, rather than of each seed.
    """

    seeds: tuple[int, ...]
    arrays: Mapping[str, Array]
    pairs: bool = False


@dataclass(frozen=True, eq=False)
class Results:
    """What R runs gave.

    Attributes:
        factors: what each run was, R values by name. Nested settings have dotted names, such as "recipe.epochs"; None
            stands for a setting that a run does not have.
        numbers: single numbers, (R,) by name; NaN where a run lacks one.
        series: curves over epochs and the like, R arrays by name; None where a run lacks one.
        predicted: log-probabilities, R arrays (m, K) by epoch ("best", "last"); None where a run kept none.
        held_out: rows of the items predicted, R arrays (m,); None where a run kept none. Empty if no run did.
        between: what was measured between runs, by name.
        shared: arrays that belong to no run, such as the confidences at which reliability curves are given.
        failures: the runs that failed; they have no row.
        origin: what is common to all, such as the paper and the checksum of the data.
    """

    factors: Mapping[str, tuple[JSON, ...]]
    numbers: Mapping[str, FloatArray] = field(default_factory=dict)
    series: Mapping[str, tuple[Array | None, ...]] = field(default_factory=dict)
    predicted: Mapping[str, tuple[Array | None, ...]] = field(default_factory=dict)
    held_out: tuple[IntArray | None, ...] = ()
    between: Mapping[str, Between] = field(default_factory=dict)
    shared: Mapping[str, Array] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        """How many runs there are."""
        return len(next(iter(self.factors.values()), ()))

    @property
    def runs(self) -> list[dict[str, JSON]]:
        """What each run was."""
        return [self.run(row) for row in range(len(self))]

    def run(self, row: int) -> dict[str, JSON]:
        """What one run was."""
        return {name: values[row] for name, values in self.factors.items()}

    def rows(self, where: Mapping[str, Any] | None = None, /, **more: Any) -> list[int]:
        """The rows of the runs with these factors, in order.

        Args:
            where: value by factor; a range, tuple or set stands for any of its values.
            more: the same for factors whose names are words.
        """

        def fits(value: JSON, wanted: Any) -> bool:
            return value in wanted if isinstance(wanted, (range, tuple, frozenset, set)) else bool(value == wanted)

        selected = {**(where or {}), **more}
        return [
            row
            for row, run in enumerate(self.runs)
            if all(fits(run.get(name), wanted) for name, wanted in selected.items())
        ]

    def where(self, where: Mapping[str, Any] | None = None, /, **more: Any) -> Results:
        """The runs with these factors alone; what was measured between runs, and failures, stay as they are."""
        return self.take(self.rows(where, **more))

    def take(self, rows: Sequence[int]) -> Results:
        """Some of the runs, in this order."""

        def part(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[row] for row in rows)

        return Results(
            {name: part(values) for name, values in self.factors.items()},
            {name: column[list(rows)] for name, column in self.numbers.items()},
            {name: part(values) for name, values in self.series.items()},
            {at: part(values) for at, values in self.predicted.items()},
            part(self.held_out) if self.held_out else (),
            self.between,
            self.shared,
            self.failures,
            self.origin,
        )

    def sample(self, number: str, where: Mapping[str, Any] | None = None, /, **more: Any) -> Sample:
        """A number of the runs with these factors, by seed; runs without it, or where it is not finite, are left out.

        Two runs of one seed are an error: then more factors must say which of them is meant. What was measured between
        runs is named by the measurement and its array, such as "barrier:plain.heights"; an array over pairs of seeds
        gives the mean of the pairs (`pair_sample`).
        """
        measurement, _, array = number.partition(":")
        if array:
            between = self.between.get(measurement)
            if between is None or array not in between.arrays:
                return Sample({})
            measured = between.arrays[array]
            if between.pairs:
                return pair_sample(between.seeds, measured)
            return Sample(dict(zip(between.seeds, map(float, measured), strict=True)))
        column = self.numbers.get(number)
        if column is None:
            return Sample({})
        values = {seed: float(column[row]) for seed, row in self._by_seed(where, more)}
        return Sample({seed: value for seed, value in values.items() if math.isfinite(value)})

    def lines(self, series: str, where: Mapping[str, Any] | None = None, /, **more: Any) -> dict[int, Array]:
        """A series of the runs with these factors, by seed; runs without it are left out."""
        arrays = self.series.get(series)
        if arrays is None:
            return {}
        found = {seed: arrays[row] for seed, row in self._by_seed(where, more)}
        return {seed: array for seed, array in found.items() if array is not None}

    def predictions(
        self, at: str = "best", where: Mapping[str, Any] | None = None, /, **more: Any
    ) -> Iterator[Prediction]:
        """What the runs with these factors predict, in their order; runs that kept no predictions are left out."""
        for row in self.rows(where, **more):
            log_probs = self.predicted[at][row] if at in self.predicted else None
            items = self.held_out[row] if self.held_out else None
            if log_probs is not None and items is not None:
                yield Prediction(self.run(row), items, np.asarray(log_probs, dtype=np.float64))

    def values(self, factor: str) -> tuple[JSON, ...]:
        """The different values of a factor, in the order of the runs."""
        return tuple(dict.fromkeys(self.factors.get(factor, ())))

    def _by_seed(self, where: Mapping[str, Any] | None, more: Mapping[str, Any]) -> list[tuple[int, int]]:
        """Seed and row of each run with these factors, by seed."""
        seeds = self.factors.get(SEED, ())
        pairs = sorted((int(seeds[row]), row) for row in self.rows(where, **more))  # type: ignore[arg-type]
        twice = next((one[0] for one, other in pairwise(pairs) if one[0] == other[0]), None)
        if twice is not None:
            raise InputError(
                "a selection of results must have one run for each seed",
                f"{sum(seed == twice for seed, _ in pairs)} have seed {twice} ({ ({**(where or {}), **more}) })",
                "Name more of what the runs differ in",
            )
        return pairs


def results_of(records: Iterable[RunRecord]) -> Results:
    """The results of finished runs, with their configs as factors; failed ones are listed as failures.

    Args:
        records: records of training runs.
    """
    done, failures = [], []
    for record in records:
        if record.status == "done":
            done.append(record)
        else:
            failures.append(Failure(flat_config(record.config), str(record.failure)))
    return Results(
        result_columns([flat_config(record.config) for record in done]),
        result_number_columns([record.numbers for record in done]),
        result_columns([{f"curve_{name}": curve for name, curve in record.curves.items()} for record in done]),
        {
            at: tuple(log_softmax(record.arrays[name]) if name in record.arrays else None for record in done)
            for at, name in (("best", "best_logits"), ("last", "last_logits"))
        },
        tuple(record.arrays.get("held_out") for record in done),
        shared={
            "devices": np.array(sorted({record.environment.get("device", "an unknown device") for record in done}))
        },
        failures=tuple(failures),
    )


def flat_config(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of a config under dotted names; lists become tuples, which can be compared and be keys.

    >>> flat_config({"seed": 0, "recipe": {"epochs": 20}})
    {'seed': 0, 'recipe.epochs': 20}
    """
    leaves: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, dict):
            leaves |= flat_config(value, f"{prefix}{name}.")
        else:
            leaves[prefix + name] = _hashable_factor(value)
    return leaves


def result_columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """Values by name, one for each row; None where a row lacks one.

    >>> result_columns([{"seed": 0}, {"seed": 1, "votes": 5}])
    {'seed': (0, 1), 'votes': (None, 5)}
    """
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: tuple(row.get(name) for row in rows) for name in names}


def result_number_columns(rows: Sequence[Mapping[str, float]]) -> dict[str, FloatArray]:
    """Numbers by name, one for each row; NaN where a row lacks one."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, math.nan) for row in rows]) for name in names}


def _hashable_factor(value: Any) -> Any:
    return tuple(map(_hashable_factor, value)) if isinstance(value, list) else value
