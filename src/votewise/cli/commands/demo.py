"""`votewise demo`: compare deliveries on real votes that come with a package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from votewise.cli import options
from votewise.cli.documents import reserved_page
from votewise.cli.options import Json, Quiet
from votewise.cli.run_display import run_display


def demo_command(
    output: Annotated[Path, typer.Option("--output", "-o", help="Report to write.")] = Path("report.html"),
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per method.")] = 5,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; all cores if omitted.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare deliveries on real votes, in a minute."""
    options.require_torch_for_command("training")
    from votewise.data import item_data
    from votewise.experiments import compare_methods, default_recipe, find_backend
    from votewise.experiments.demo import demo_data, demo_grid
    from votewise.records import results_of
    from votewise.report import compare_results

    silent = quiet or as_json
    with reserved_page(output, as_json=as_json) as page, run_display(silent, kept=False) as shown:
        words, data = demo_data()
        backend = find_backend("processes", device="cpu", jobs=jobs)
        done = compare_methods(demo_grid(seeds), data, default_recipe(data), backend=backend, tell=shown.hear)
        document = compare_results(
            results_of(done.records), {data.checksum: item_data(words)}, title="Train on votes, not verdicts"
        )
        page.write(document)
    page.show({}, quiet=quiet)
