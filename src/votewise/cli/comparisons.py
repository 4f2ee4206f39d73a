"""Comparisons of methods, for people and for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from votewise.cli import options

if TYPE_CHECKING:
    from votewise.report import Comparison, Content, MethodRow


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
    from votewise.report import format_number, format_p

    mean = {name: format_number(spread.mean) for name, spread in row.metrics.items()}
    return [
        row.method,
        f"{mean['soft NLL']} ± {format_number(row.metrics['soft NLL'].sd)}",
        mean["accuracy"],
        f"{mean['ECE']} ({mean['ECE floor']})",
        mean["entropy correlation"],
        "-" if row.difference is None else f"{row.difference:+.3f}",
        "-" if row.wins is None else f"{row.wins}/{len(row.per_seed)}",
        format_p(row.p_value),
        format_p(row.p_holm),
    ]
