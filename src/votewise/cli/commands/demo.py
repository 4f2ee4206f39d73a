"""`votewise demo`: the main job on embedded real votes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise.cli import options
from votewise.cli.comparisons import comparison_json, print_content
from votewise.cli.options import Json, Quiet


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
    options.require_torch("training")
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
            {"report": str(output), "comparisons": [comparison_json(one) for one in content.comparisons]}
        )
    else:
        print_content(content)
        options.note(f"the report is in {output}; open it in a browser.", quiet)
