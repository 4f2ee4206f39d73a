"""`votewise demo`: the main job on embedded real votes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._errors import MissingExtraError
from votewise.cli import options
from votewise.cli.options import Json, Quiet

if TYPE_CHECKING:
    from votewise.report import Comparison, Content


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Report to write.")] = Path("report.html"),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds a method.")] = 5,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; all cores if left out.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare deliveries on real votes, in a minute."""
    _require_torch()
    from votewise._files import whole_file
    from votewise.datasets import load_vader
    from votewise.experiments.demo import DEMO_METHODS, DEMO_VOTES, run_demo
    from votewise.experiments.summarise import summarise_demo
    from votewise.report import render

    with whole_file(output) as partial:  # opened first: a path that cannot be written should fail before the work
        votes = load_vader()
        with options.progress(quiet or as_json) as display:
            task = display.add_task("training", total=seeds * len(DEMO_METHODS) * len(DEMO_VOTES))
            outcomes = run_demo(seeds, jobs=jobs, on_done=lambda _: display.advance(task))
        content = summarise_demo(votes, outcomes)
        partial.write_text(render(content), encoding="utf-8")
    if as_json:
        options.print_json(
            {"report": str(output), "comparisons": [_as_json(comparison) for comparison in content.comparisons]}
        )
    else:
        _print(content)
        options.note(f"the report is in {output}; open it in a browser.", quiet)


def _require_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError("training", "torch", "demo") from None


def _as_json(comparison: Comparison) -> dict[str, object]:
    return {"title": comparison.title, "rows": [asdict(row) for row in comparison.rows]}


def _print(content: Content) -> None:
    from rich.table import Table

    from votewise.report import format_number, format_p

    screen = options.console()
    for sentence in content.data:
        screen.print(sentence, markup=False)
    for comparison in content.comparisons:
        table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold", title_justify="left")
        table.add_column("method")
        for name in ("soft NLL", "accuracy", "ECE (floor)", "ent. corr.", "vs soft", "better", "p", "p (Holm)"):
            table.add_column(name, justify="right", no_wrap=True)
        for row in comparison.rows:
            mean = {name: f"{spread.mean:.3f}" for name, spread in row.metrics.items()}
            table.add_row(
                row.method,
                f"{mean['soft NLL']} ± {format_number(row.metrics['soft NLL'].sd)}",
                mean["accuracy"],
                f"{mean['ECE']} ({mean['ECE floor']})",
                mean["entropy correlation"],
                "-" if row.difference is None else f"{row.difference:+.3f}",
                "-" if row.wins is None else f"{row.wins}/{len(row.per_seed)}",
                format_p(row.p_value),
                format_p(row.p_holm),
            )
        screen.print(f"\n[bold]{comparison.title}[/bold]")
        screen.print(table)
    screen.print()
