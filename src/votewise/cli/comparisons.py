"""Comparisons of methods, printed as tables or JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from votewise.cli import options

if TYPE_CHECKING:
    from votewise.report import Comparison, Content, MethodRow, Spread

_COLUMNS = ("method", "soft NLL", "accuracy", "ECE (floor)", "ent. corr.")


def comparison_json(comparison: Comparison) -> dict[str, object]:
    """A comparison without its curves."""
    no_model = None if comparison.no_model is None else asdict(comparison.no_model)
    return {"title": comparison.title, "rows": [asdict(row) for row in comparison.rows], "no_model": no_model}


def print_content(content: Content) -> None:
    """Print what a report is about, one table per comparison, and what they show."""
    screen = options.console()
    for sentence in content.data:
        screen.print(sentence, markup=False)
    for comparison in content.comparisons:
        screen.print()
        screen.print(comparison.title, style="bold", markup=False)
        baseline = comparison.rows[0].method
        header = (*_COLUMNS, f"vs {baseline}", "better", "p", "p (Holm)")
        options.print_table(header, map(_cells, comparison.rows), names=("method",))
        if comparison.no_model is not None:
            screen.print(_no_model(comparison.no_model), markup=False)
    screen.print()
    for sentence in content.summary:
        screen.print(sentence, markup=False)
    screen.print()


def _no_model(level: Spread) -> str:
    from votewise.report import format_number

    sd = f" ± {format_number(level.sd)}" if level.n > 1 else ""
    return (
        "Without a model, predicting the mean vote shares of the other items: "
        f"soft NLL {format_number(level.mean)}{sd}."
    )


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
