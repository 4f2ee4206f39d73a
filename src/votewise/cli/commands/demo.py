"""`votewise demo`: compare deliveries on real votes that come with a package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise.cli import options
from votewise.cli.comparisons import comparison_json, print_content
from votewise.cli.options import Json, Quiet
from votewise.cli.report_file import report_file


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Report to write.")] = Path("report.html"),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per method.")] = 5,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; all cores if omitted.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare deliveries on real votes, in a minute."""
    options.require_torch("training")
    from votewise.datasets import load_vader
    from votewise.experiments.demo import DEMO_METHODS, DEMO_VOTES, run_demo, summarise_demo

    with report_file(output) as report:
        votes = load_vader()
        with options.progress(quiet or as_json) as display:
            task = display.add_task("training", total=seeds * len(DEMO_METHODS) * len(DEMO_VOTES))
            outcomes = run_demo(seeds, jobs=jobs, on_done=lambda _: display.advance(task))
        content = summarise_demo(votes, outcomes)
        report.write(content)
    if as_json:
        options.print_json(
            {
                "report": report.written,
                "summary": content.summary,
                "comparisons": [comparison_json(one) for one in content.comparisons],
            }
        )
    else:
        print_content(content)
    report.announce(quiet or as_json)
