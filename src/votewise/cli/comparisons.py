"""Comparisons of methods, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from votewise._errors import MissingExtraError, VotewiseError
from votewise.cli import options

if TYPE_CHECKING:
    from votewise.report import Comparison, Content, MethodRow


@dataclass
class ReportFile:
    """The place of a report.

    Attributes:
        path: where it shall be.
        partial: where it is written first.
        begun: whether it was rendered; what fails before is not its fault.
        refused: why it could not be written.
    """

    path: Path
    partial: Path
    begun: bool = False
    refused: Exception | None = None

    def write(self, content: Content) -> None:
        """Render a report and write it."""
        from votewise.report import render

        self.begun = True
        self.partial.write_text(render(content), encoding="utf-8")

    @property
    def written(self) -> str | None:
        """Its path, if it is there."""
        return None if self.refused else str(self.path)

    def tell(self, quiet: bool) -> None:
        """Say where the report is; that there is none is an error."""
        if self.refused is not None:
            reason = getattr(self.refused, "strerror", None) or str(self.refused)
            raise VotewiseError(f"the report {str(self.path)!r} was not written: {reason.removesuffix('.')}.")
        options.note(f"the report is in {self.path}; open it in a browser.", quiet)


@contextmanager
def report_file(path: Path) -> Iterator[ReportFile]:
    """Reserve the place of a report before the work; if it cannot be written after it, the caller tells that last.

    Args:
        path: where it shall be. One that cannot be written fails at once.
    """
    from votewise._files import whole_file

    report = ReportFile(path, path)
    try:
        with whole_file(path) as report.partial:
            yield report
    except (OSError, MissingExtraError) as error:
        if not report.begun:
            raise
        report.refused = error


def comparison_json(comparison: Comparison) -> dict[str, object]:
    """A comparison without its curves."""
    return {"title": comparison.title, "rows": [asdict(row) for row in comparison.rows]}


def print_content(content: Content) -> None:
    """Print what a report is about, and a table for each of its comparisons."""
    screen = options.console()
    for sentence in content.data:
        screen.print(sentence, markup=False)
    for comparison in content.comparisons:
        screen.print()
        screen.print(comparison.title, style="bold", markup=False)
        screen.print(_table(comparison))
    screen.print()


def _table(comparison: Comparison) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    table.add_column("method")
    baseline = comparison.rows[0].method
    for name in ("soft NLL", "accuracy", "ECE (floor)", "ent. corr.", f"vs {baseline}", "better", "p", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in comparison.rows:
        table.add_row(*_cells(row))
    return table


def _cells(row: MethodRow) -> list[str]:
    from votewise.report import format_difference, format_number, format_p

    mean = {name: format_number(spread.mean) for name, spread in row.metrics.items()}
    spread = row.metrics["soft NLL"]
    return [
        row.method,
        mean["soft NLL"] + (f" ± {format_number(spread.sd)}" if spread.n > 1 else ""),
        mean["accuracy"],
        f"{mean['ECE']} ({mean['ECE floor']})",
        mean["entropy correlation"],
        format_difference(row.difference),
        "–" if row.wins is None else f"{row.wins}/{row.pairs}",
        format_p(row.p_value),
        format_p(row.p_holm),
    ]
