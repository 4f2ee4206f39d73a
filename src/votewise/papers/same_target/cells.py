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

        SD is pooled from both, as two samples of one experiment have one spread; ours where the paper prints none. None
        where there is neither.
        """
        if self.ours is None or self.published is None:
            return None
        sd, _ = self._pooled
        if not (sd > 0 and math.isfinite(self.ours.mean)):
            return None
        error = sd * math.sqrt(1 / self.published.seeds + 1 / self.ours.n)
        return (self.ours.mean - self.published.mean) / error

    @property
    def verdict(self) -> str:
        """Whether it "agrees", else "apart"; or why neither can be said.

        As many standard errors are allowed as Student's t says for the degrees of freedom of the SD.
        """
        if self.ours is None:
            return "not run"
        if self.published is None:
            return "no published number"
        if self.ours.n < ENOUGH:
            return "too few seeds"
        if self.distance is None:
            return "no spread"
        _, freedom = self._pooled
        return "agrees" if abs(self.distance) <= stdtrit(freedom, (1 + _CHANCE) / 2) else "apart"

    @property
    def _pooled(self) -> tuple[float, int]:
        """The SD of the samples that have one, and its degrees of freedom; NaN and 0 of none."""
        assert self.ours is not None
        assert self.published is not None
        samples = ((self.ours.sd, self.ours.n), (self.published.sd, self.published.seeds))
        known = [(sd, n - 1) for sd, n in samples if sd is not None and math.isfinite(sd)]
        freedom = sum(free for _, free in known)
        return math.sqrt(sum(free * sd**2 for sd, free in known) / freedom) if freedom else math.nan, freedom


@dataclass(frozen=True)
class PairedTest:
    """An exact paired Wilcoxon test of two rows on their common seeds.

    Attributes:
        row: what is tested, and against what.
        column: of the table.
        alternative: "two-sided", or whether the first is thought "less" or "greater".
        n: pairs.
        difference: mean over pairs, first less second; NaN without pairs.
        favourable: pairs in which the first is better: below in losses and calibration errors, else above.
        untied: pairs that differ, which alone the test goes by.
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
    untied: int
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
