"""Ours beside the paper's: the one shape of result that every table is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from votewise.papers.same_target.published import Published
from votewise.report.content import Spread

# Confidence level of the agreement test.
_CONFIDENCE = 0.95

# With fewer seeds than this a mean decides nothing.
ENOUGH = 3

# A standard deviation and its degrees of freedom.
Deviation = tuple[float, int]


@dataclass(frozen=True)
class Cell:
    """One number of a table: ours over seeds, and the paper's.

    Attributes:
        row: of the table.
        column: of the table.
        ours: None where no run has it.
        published: None where the paper has none.
        deviation: SD over seeds and its degrees of freedom, where several cells share one; else this cell's own.
    """

    row: str
    column: str
    ours: Spread | None
    published: Published | None
    deviation: Deviation | None = None

    @property
    def distance(self) -> float | None:
        """Ours less the paper's in standard errors of that difference, SD sqrt(1 / n_paper + 1 / n_ours).

        SD is pooled from both, as two samples of one experiment have one spread; ours alone where the paper prints
        none. None where there is neither.
        """
        if self.ours is None or self.published is None:
            return None
        sd, _ = self._deviation
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
        _, freedom = self._deviation
        return "agrees" if abs(self.distance) <= stdtrit(freedom, (1 + _CONFIDENCE) / 2) else "apart"

    @property
    def _deviation(self) -> Deviation:
        return pooled_sd(self.samples) if self.deviation is None else self.deviation

    @property
    def samples(self) -> list[tuple[float | None, int]]:
        """SD and size of our sample and of the paper's, as far as there are any."""
        ours = [(one.sd, one.n) for one in (self.ours,) if one is not None]
        printed = [(one.sd, one.seeds) for one in (self.published,) if one is not None]
        return [*ours, *printed]


def pooled_sd(samples: Iterable[tuple[float | None, int]]) -> Deviation:
    """The SD that samples share, each given by its SD and size, and its degrees of freedom; NaN and 0 of none."""
    known = [(sd, n - 1) for sd, n in samples if sd is not None and math.isfinite(sd)]
    freedom = sum(free for _, free in known)
    return math.sqrt(sum(free * sd**2 for sd, free in known) / freedom) if freedom else math.nan, freedom


def sharing_sd(cells: Sequence[Cell], alike: Callable[[Cell], Hashable]) -> tuple[Cell, ...]:
    """Cells with one SD for all that are alike: single SDs of three or five seeds say little.

    Args:
        cells: of a table.
        alike: what cells that share an SD have in common. Only those with a published number count.
    """
    samples: dict[Hashable, list[tuple[float | None, int]]] = {}
    for cell in cells:
        if cell.published is not None:
            samples.setdefault(alike(cell), []).extend(cell.samples)
    shared = {key: pooled_sd(theirs) for key, theirs in samples.items()}
    return tuple(replace(cell, deviation=shared.get(alike(cell))) for cell in cells)


@dataclass(frozen=True)
class PairedTest:
    """An exact paired Wilcoxon test of two rows on their common seeds.

    Attributes:
        row: what is tested, and against what.
        column: of the table.
        alternative: "two-sided", or whether the first is expected to be "less" or "greater".
        n: pairs.
        difference: mean over pairs, first less second; NaN without pairs.
        favourable: pairs in which the first is better: below in losses and calibration errors, else above.
        untied: pairs that differ; only these count in the test.
        p_value: None where fewer than two pairs allow no test.
        published_p: the paper's, where it prints one.
        p_holm: adjusted by Holm over a family of tests, where one is named.
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
        """One of "holds", "fails", "undecided" (the runs leave it open) and "not run"."""
        if self.holds is None:
            return "undecided" if self.found else "not run"
        return "holds" if self.holds else "fails"


def spread(values: Iterable[float]) -> Spread | None:
    """Mean and standard deviation (n - 1) of numbers over seeds; None for none."""
    numbers = np.array(list(values), dtype=np.float64)
    if not numbers.size:
        return None
    return Spread(float(numbers.mean()), float(numbers.std(ddof=1)) if numbers.size > 1 else math.nan, numbers.size)
