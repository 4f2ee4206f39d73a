"""What a reader wants first: how much of the paper came out as printed, what did not, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from votewise.papers.same_target.cells import Cell, Claim, Table

OPEN = "Left open: no reason was found. Of numbers that do agree one in twenty would be apart by chance."


@dataclass(frozen=True)
class Explanation:
    """Why certain numbers differ.

    Attributes:
        part: table, or "scalars".
        row: pattern that the whole name of the row fits.
        column: the same of the column.
        words: the reason.
    """

    part: str
    row: str
    column: str
    words: str

    def is_of(self, part: str, cell: Cell) -> bool:
        """Whether a number is one of those."""
        return part == self.part and bool(re.fullmatch(self.row, cell.row) and re.fullmatch(self.column, cell.column))


EXPLANATIONS = (
    Explanation(
        "scalars", "epochs SLS is earlier.*", ".*",
        "The other way round, on every seed: SLS goes on improving almost to the last epoch; soft labels are best some "
        "50 epochs before, and lose about 0.01 by the last. The paper may have exchanged the two: with the sign turned "
        "both numbers come out.",
    ),
    Explanation(
        "scalars", "Grad-CAM.*", ".*",
        "The maps of SLS are the more alike ones, as the paper says, but less alike than printed. No reading "
        "that was tried (images, class, size of the maps) gives all four of its numbers; left open.",
    ),
    Explanation(
        "table-4", ".*", "(λmax|trace), top-.*",
        "The paper does not define its slice. The smaller the slice the greater the curvature; the twentieth of "
        "highest entropy fits soft labels and SLS best, and may still not be it.",
    ),
    Explanation(
        "table-6", "SLS.*", "λmax, full",
        "Ours are above by an eighth to a fifth. The paper's spreads here, 1 to 8 over five seeds, and ours are mostly "
        "small beside that of ten seeds on all votes, 9 in both, where the numbers agree; which may be chance. Left "
        "open.",
    ),
    Explanation(
        "table-6", ".*", "λmax, top-.*",
        "The paper does not define its slice. Its value falls with more votes, as ours hardly does; left open, as a "
        "slice chosen by the redrawn votes would be less disputed, and flatter, where these are few.",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """Counts, and what is apart.

    Attributes:
        name: "summary".
        title: what it is.
        numbers: how many published ones there are by verdict.
        statements: how many there are by verdict.
        apart: for each reason, the numbers it explains, as "table: row, column".
        failed: claims that do not hold.
    """

    name: str
    title: str
    numbers: dict[str, int]
    statements: dict[str, int]
    apart: dict[str, tuple[str, ...]]
    failed: tuple[Claim, ...]

    @property
    def counts(self) -> tuple[str, str]:
        """Both in words."""
        cells, told = Counter(self.numbers), Counter(self.statements)
        judged = f"{cells['agrees']} agree with ours and {cells['apart']} are apart"
        unjudged = cells["too few seeds"] + cells["no spread"]
        others = f"{unjudged} are of too few seeds, or without spread, and not judged, {cells['not run']} are not run"
        return (
            f"Of {cells.total()} published numbers {judged}; {others}. Where the paper leaves a definition open, that "
            "is by the reading used, which often is the one that fits best (see Choices).",
            f"Of {told.total()} statements, the paper's and some beyond, {told['holds']} hold, {told['fails']} fail, "
            f"{told['undecided']} cannot be told from so few runs, {told['not run']} are not run.",
        )


def summary(tables: Sequence[Table], claims: Sequence[Claim]) -> Summary:
    """Sum up the tables, the numbers quoted in the text, and the claims."""
    apart: dict[str, list[str]] = {}
    for table in tables:
        for cell in table.cells:
            if cell.verdict == "apart":
                apart.setdefault(reason(table.name, cell), []).append(f"{table.name}: {cell.row}, {cell.column}")
    return Summary(
        "summary",
        "in one minute",
        _numbers(tables),
        dict(Counter(claim.verdict for claim in claims)),
        {words: tuple(places) for words, places in apart.items()},
        tuple(claim for claim in claims if claim.verdict == "fails"),
    )


def reason(part: str, cell: Cell) -> str:
    """Why a number differs, or that this is not known."""
    return next((one.words for one in EXPLANATIONS if one.is_of(part, cell)), OPEN)


def _numbers(tables: Sequence[Table]) -> dict[str, int]:
    found: dict[tuple[str, str, int], Cell] = {}
    for table in tables:
        for cell in table.cells:
            if cell.published is not None:  # of two readings of one number, the first; equal numbers are not one
                found.setdefault((table.name, cell.row, id(cell.published)), cell)
    return dict(Counter(cell.verdict for cell in found.values()))
