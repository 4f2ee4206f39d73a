"""`votewise compare`: which delivery suits a user's own data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.comparisons import comparison_json, print_content
from votewise.cli.inputs import InputOptions, TrainingOptions, load_material, takes
from votewise.cli.options import Json, Quiet, VotesLoader, reads_votes
from votewise.cli.run_display import follow_runs

if TYPE_CHECKING:
    from votewise.experiments.material import Material
    from votewise.experiments.run import RunConfig
    from votewise.records import RecordStore, RunRecord


@reads_votes
@takes(inputs=InputOptions, training=TrainingOptions)
def compare(
    load_votes: VotesLoader,
    inputs: InputOptions,
    training: TrainingOptions,
    votes_file: Path,
    output: Annotated[Path, typer.Option("--output", "-o", help="Report to write.")] = Path("report.html"),
    methods: Annotated[
        str, typer.Option(help="Deliveries, separated by commas, the baseline first.")
    ] = "soft,multipass,sls,majority",
    seeds: Annotated[int, typer.Option(min=1, help="Seeds a method.")] = 5,
    held_out: Annotated[float, typer.Option(help="Share of the items that are scored.")] = 0.2,
    at: Annotated[
        str, typer.Option(help="Epoch that is scored: last, or best on a further tenth of the items.")
    ] = "last",
    runs: Annotated[
        Path | None, typer.Option(help="Folder that keeps the runs; those in it are not repeated.", show_default=False)
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Do failed runs again.")] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes on a CPU, runs at once on a GPU.", show_default=False)
    ] = None,
    item: str | None = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare deliveries on your own data."""
    options.require_torch("training")
    from votewise._files import whole_file
    from votewise.experiments.compare import ComparisonPlan, comparison_runs, failures, summarise_comparison
    from votewise.records import RecordStore
    from votewise.report import render

    training.check(inputs.kind())
    if runs is not None and runs.exists() and not runs.is_dir():
        raise InputError(
            "--runs must be a folder", f"{str(runs)!r} is a file", "Name a folder; it is created if need be"
        )
    names = tuple(name.strip() for name in methods.split(","))
    with whole_file(output) as partial:  # opened first: a path that cannot be written should fail before the work
        silent = quiet or as_json
        material, source = load_material(load_votes(), inputs, training, name=votes_file.stem, item=item, quiet=silent)
        plan = ComparisonPlan(names, seeds, training.model_name(material), training.recipe(material), held_out, at)
        configs = comparison_runs(plan, material)
        store = None if runs is None else RecordStore(runs)
        records, trained = _train(configs, material, store, training.device, jobs, retry_failed, silent)
        content = summarise_comparison(plan, material, records, caption=source.caption)
        partial.write_text(render(content), encoding="utf-8")
    failed = failures(records)
    if as_json:
        options.print_json(
            {
                "report": str(output),
                "items": material.votes.n_items,
                "classes": material.votes.classes,
                "runs": len(records),
                "trained": trained,
                "failed": failed,
                "notes": material.notes,
                "comparisons": [comparison_json(one) for one in content.comparisons],
            }
        )
    else:
        print_content(content)
        options.note(f"the report is in {output}; open it in a browser.", quiet)
    if failed:
        raise typer.Exit(1)


def _train(
    configs: list[RunConfig],
    material: Material,
    store: RecordStore | None,
    device: str,
    jobs: int | None,
    retry_failed: bool,
    silent: bool,
) -> tuple[list[RunRecord], int]:
    """The records of all runs, and how many of them had to be trained."""
    from votewise.experiments.execute import execute, missing_runs

    todo = missing_runs(configs, store, retry_failed=retry_failed)
    if store is not None and len(todo) < len(configs):
        options.note(f"{len(configs) - len(todo)} of {len(configs)} runs are in {store.folder} already.", silent)
    with follow_runs(todo, material, silent) as listener:
        records = execute(
            configs, material, store, device=device, jobs=jobs, retry_failed=retry_failed, listener=listener
        )
    return records, len(todo)
