"""Notes below tables that the numbers call for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from votewise.papers.paper import Note
from votewise.papers.published import PaperCell
from votewise.records import Results


def note_on_widest_agreement_with_paper(_: Results, cells: Sequence[PaperCell]) -> list[str]:
    """The widest gap that still counts as agreement, which says how little agreement means."""
    gaps = [
        (abs(cell.ours.mean - cell.published.mean), cell)
        for cell in cells
        if cell.verdict == "agrees" and cell.ours is not None and cell.published is not None
    ]
    if not gaps:
        return []
    gap, widest = max(gaps, key=lambda pair: pair[0])
    return [
        f"Agreement means little here: {widest.row} with {widest.column} is {gap:.3f} from the paper's number and "
        "still agrees, and that is more than most of the differences between methods."
    ]


def note_on_unconverged_curvature(slices: Sequence[str], nothing_learnt: str, name: str) -> Note:
    """A note on how many measurements of curvature ended before they were as precise as asked for.

    Args:
        slices: the images that curvature was measured on.
        nothing_learnt: a method counted apart, as its traces are near zero.
        name: that method in words.
    """

    def note(results: Results, _: Sequence[PaperCell]) -> Iterator[str]:
        apart = np.array([method == nothing_learnt for method in results.factors["method"]], dtype=bool)
        absent = np.full(len(results), np.nan)
        for part in slices:
            converged, error, trace = (
                results.numbers.get(f"best/{part}/{number}", absent) for number in ("converged", "trace_error", "trace")
            )
            missed = converged == 0
            others = missed & ~apart
            if missed.any():
                largest = np.max(error[others] / trace[others], initial=-np.inf)
                words = f", with a standard error of the trace of at most {largest:.1%}" if np.isfinite(largest) else ""
                yield (
                    f"{part}: {missed.sum()} of {np.isfinite(converged).sum()} measurements ended before eigenvalue "
                    f"and trace were as precise as asked for: {(missed & apart).sum()} of {name}, whose traces are "
                    f"near zero, and {others.sum()} others{words}."
                )

    return note
