"""`votewise compare`: which delivery suits a user's own data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._errors import InputError, VotewiseError
from votewise.cli import options
from votewise.cli.comparisons import comparison_json, print_content, report_file
from votewise.cli.inputs import METHOD_NAMES, InputOptions, TrainingOptions, check_deliverable, load_material, takes
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
        str, typer.Option(help=f"Deliveries, separated by commas, the baseline first, of: {METHOD_NAMES}")
    ] = "soft,multipass,sls,soft-smoothed,majority",
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
    from votewise.experiments.compare import ComparisonPlan, comparison_runs, failures, summarise_comparison
    from votewise.records import RecordStore

    training.check(inputs.kind())
    if runs is not None and runs.exists() and not runs.is_dir():
        raise InputError(
            "--runs must be a folder", f"{str(runs)!r} is a file", "Name a folder; it is created if need be"
        )
    names = tuple(name for part in methods.split(",") if (name := part.strip()))
    silent = quiet or as_json
    with report_file(output) as report:
        material, source = load_material(load_votes(), inputs, training, name=votes_file.stem, item=item, quiet=silent)
        check_deliverable(material.votes, names, "--methods")
        plan = ComparisonPlan(names, seeds, training.model_name(material), training.recipe(material), held_out, at)
        configs = comparison_runs(plan, material)
        store = None if runs is None else RecordStore(runs)
        trained = _train(configs, material, store, training.device, jobs, retry_failed, silent)
        content = summarise_comparison(plan, material, trained.records, caption=source.caption)
        report.write(content)
    failed = failures(plan, trained.records)
    if as_json:
        options.print_json(
            {
                "report": report.written,
                "items": material.votes.n_items,
                "classes": material.votes.classes,
                "runs": len(configs),
                "trained": trained.now,
                "failed": failed,
                "notes": material.notes,
                "comparisons": [comparison_json(one) for one in content.comparisons],
            }
        )
    else:
        print_content(content)
    report.tell(silent)
    trained.tell()
    if failed:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Trained:
    """What came of the runs.

    Attributes:
        records: of all runs, in their order.
        now: how many had to be trained.
        refused: why the system did not keep some of them.
    """

    records: list[RunRecord]
    now: int
    refused: OSError | None = None

    def tell(self) -> None:
        """That a run was not kept is an error, told once the results are shown."""
        if self.refused is not None:
            raise VotewiseError(f"some runs were not kept: {self.refused}. Check space and permissions of --runs.")


def _train(
    configs: list[RunConfig],
    material: Material,
    store: RecordStore | None,
    device: str,
    jobs: int | None,
    retry_failed: bool,
    silent: bool,
) -> _Trained:
    from votewise.experiments.execution import execute, missing_runs

    todo = missing_runs(configs, store, retry_failed=retry_failed)
    if store is not None:
        _tell_known(set(configs) - set(todo), len(configs), store, silent)
    done: dict[str, RunRecord] = {}
    with follow_runs(todo, material, silent) as listener:

        def on_done(record: RunRecord) -> None:
            done[record.run_id] = record
            listener.on_done(record)

        try:
            records = execute(
                configs,
                material,
                store,
                device=device,
                jobs=jobs,
                retry_failed=retry_failed,
                listener=replace(listener, on_done=on_done),
            )
        except OSError as error:
            if store is None or len(done) < len(todo):
                raise
            return _Trained(_of_either(configs, done, store), len(todo), error)
    return _Trained(records, len(todo))


def _tell_known(known: set[RunConfig], of: int, store: RecordStore, silent: bool) -> None:
    from votewise.records import run_id

    if known:
        options.note(f"{len(known)} of {of} runs are in {store.folder} already.", silent)
    failed = [config for config in known if store.read_summary(run_id(config.to_dict())).status == "failed"]
    if failed:
        options.note(f"{len(failed)} of them failed; --retry-failed does them again.", silent)


def _of_either(configs: list[RunConfig], done: dict[str, RunRecord], store: RecordStore) -> list[RunRecord]:
    from votewise.records import run_id

    ids = [run_id(config.to_dict()) for config in configs]
    return [done[name] if name in done else store.read(name) for name in ids]
