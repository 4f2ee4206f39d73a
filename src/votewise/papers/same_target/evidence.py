"""What the runs show, in few enough numbers to make all tables and figures anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from votewise._checks import FloatArray


@dataclass(frozen=True)
class Run:
    """One run of the paper: the method, votes per item (None for all), epochs a label is kept, and the seed."""

    method: str
    votes: int | None
    hold: int
    seed: int


@dataclass(frozen=True)
class Group:
    """The runs of one row: a method under one condition, perhaps its first seeds alone."""

    method: str
    votes: int | None = None
    hold: int = 1
    first: int | None = None

    def has(self, run: Run) -> bool:
        """Whether a run belongs to the group."""
        same = (run.method, run.votes, run.hold) == (self.method, self.votes, self.hold)
        return same and (self.first is None or run.seed < self.first)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Numbers and small arrays of R runs.

    Attributes:
        runs: which they are.
        numbers: by name, (R,) each; NaN where a run lacks one. See docs/results.md for the names.
        series: by name, (R, T) each: curves over epochs, bins and the like; rows of NaN where a run lacks one.
        across: by name, arrays about several runs: loss along a line, similarity of all pairs.
        log_probs: (R, N, K) float16 log-probabilities of the held-out items at the best epoch.
        origin: what the runs were: paper, checksum of the data, precision.
    """

    runs: tuple[Run, ...]
    numbers: Mapping[str, FloatArray]
    series: Mapping[str, FloatArray]
    across: Mapping[str, npt.NDArray[Any]]
    log_probs: npt.NDArray[np.float16]
    origin: Mapping[str, str] = field(default_factory=dict)

    def values(self, group: Group, name: str) -> dict[int, float]:
        """A number of each run of a group, by seed; runs without it, or where it is not finite, are left out."""
        column = self.numbers.get(name, np.full(len(self.runs), np.nan))
        found = {run.seed: float(column[row]) for row, run in enumerate(self.runs) if group.has(run)}
        return {seed: found[seed] for seed in sorted(found) if np.isfinite(found[seed])}

    def lines(self, group: Group, name: str) -> dict[int, FloatArray]:
        """A series of each run of a group, by seed; runs without it are left out."""
        if name not in self.series:
            return {}
        rows = {run.seed: self.series[name][row] for row, run in enumerate(self.runs) if group.has(run)}
        return {seed: rows[seed] for seed in sorted(rows) if not np.isnan(rows[seed]).all()}
