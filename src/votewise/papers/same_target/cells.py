"""Ours beside theirs: the one shape of result that every table is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from votewise.papers.same_target.published import Published
from votewise.report.content import Spread

# How often two honest runs of one experiment, of other seeds, are to be found in agreement.
_CHANCE = 0.95

# Seeds, below which a mean decides nothing.
ENOUGH = 3


@dataclass(frozen=True)
class Cell:
    """One number of a table: ours over seeds, and the paper's.

    Attributes:
        row: of the table.
        column: of the table.
        ours: None where no run has it.
        published: None where the paper has none.
    """

    row: str
    column: str
    ours: Spread | None
    published: Published | None

    @property
    def distance(self) -> float | None:
        """Ours less the paper's in standard errors of that difference, SD sqrt(1 / n_paper + 1 / n_ours).

        SD is the paper's, or ours where it prints none; None where there is neither.
        """
        if self.ours is None or self.published is None:
            return None
        sd = self.ours.sd if self.published.sd is None else self.published.sd
        if math.isnan(sd) or sd == 0:
            return None
        error = sd * math.sqrt(1 / self.published.seeds + 1 / self.ours.n)
        return (self.ours.mean - self.published.mean) / error

    @property
    def verdict(self) -> str:
        """Whether it "agrees", else "apart"; or why neither can be said.

        As many standard errors are allowed as Student's t says for the seeds that the SD is of: 2.3 for ten, 2.8 for
        five.
        """
        if self.ours is None:
            return "not run"
        if self.published is None:
            return "no published number"
        if self.ours.n < ENOUGH:
            return "too few seeds"
        if self.distance is None:
            return "no spread"
        return "agrees" if abs(self.distance) <= self._allowed else "apart"

    @property
    def _allowed(self) -> float:
        assert self.ours is not None
        assert self.published is not None
        seeds = self.ours.n if self.published.sd is None else self.published.seeds
        return float(stdtrit(seeds - 1, (1 + _CHANCE) / 2))


@dataclass(frozen=True)
class PairedTest:
    """An exact paired Wilcoxon test of two rows on their common seeds.

    Attributes:
        row: what is tested, and against what.
        column: of the table.
        alternative: "two-sided", or whether the first is thought "less" or "greater".
        n: pairs.
        difference: mean over pairs, first less second; NaN without pairs.
        favourable: pairs in which the first is better, that is below in soft NLL and ECE, else above.
        p_value: None where fewer than two pairs allow no test.
        published_p: the paper's, where it prints one.
        p_holm: adjusted over the tests of the table, where the paper adjusts.
    """

    row: str
    column: str
    alternative: str
    n: int
    difference: float
    favourable: int
    p_value: float | None
    published_p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class Table:
    """A table of the paper, ours beside theirs.

    Attributes:
        name: such as "table-4".
        title: what it shows.
        cells: row by row.
        tests: paired tests that belong to it.
        notes: sentences a reader needs.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    tests: tuple[PairedTest, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Claim:
    """Something the paper says in words.

    Attributes:
        claim: what it says, or what follows from it.
        found: our numbers; empty where the runs for it are missing.
        holds: None where that cannot be said.
    """

    claim: str
    found: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """One of "holds", "fails", "undecided" (too few runs to tell) and "not run"."""
        if self.holds is None:
            return "undecided" if self.found else "not run"
        return "holds" if self.holds else "fails"


def spread(values: Iterable[float]) -> Spread | None:
    """Mean and standard deviation (n - 1) of numbers over seeds; None for none."""
    numbers = np.array(list(values), dtype=np.float64)
    if not numbers.size:
        return None
    return Spread(float(numbers.mean()), float(numbers.std(ddof=1)) if numbers.size > 1 else math.nan, numbers.size)
