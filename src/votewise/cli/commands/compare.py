"""`votewise compare`: compare deliveries on a user's own data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from votewise._errors import InputError, VotewiseError
from votewise.cli import options
from votewise.cli.comparisons import comparison_json, print_content
from votewise.cli.groups import ReadingOptions, VotesFile, grouped_options
from votewise.cli.inputs import METHOD_NAMES, InputOptions, TrainingOptions, check_deliverable, load_material
from votewise.cli.options import Json, Quiet
from votewise.cli.report_file import report_file
from votewise.cli.run_display import follow_runs

if TYPE_CHECKING:
    from votewise.experiments.compare import ComparisonPlan
    from votewise.experiments.material import Material
    from votewise.experiments.run import RunConfig
    from votewise.records import RecordStore, RunRecord


@dataclass(frozen=True)
class PlanOptions:
    """What is compared, and how often."""

    methods: Annotated[
        str, typer.Option(help=f"Deliveries separated by commas, the baseline first. Choose from: {METHOD_NAMES}")
    ] = "soft,multipass,sls,soft-smoothed,majority"
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per method.")] = 5
    held_out: Annotated[float, typer.Option(help="Share of the items held out and scored.")] = 0.2
    at: Annotated[str, typer.Option(help="Epoch to score: last, or best on a further tenth of the items.")] = "last"

    def plan(self, material: Material, training: TrainingOptions) -> ComparisonPlan:
        """The comparison to make on some data."""
        from votewise.experiments.compare import ComparisonPlan

        names = tuple(name for part in self.methods.split(",") if (name := part.strip()))
        check_deliverable(material.votes, names, "--methods")
        model, recipe = training.model_name(material), training.recipe(material)
        return ComparisonPlan(names, self.seeds, model, recipe, self.held_out, self.at)


@dataclass(frozen=True)
class RunOptions:
    """Where runs are kept, and how they are trained."""

    runs: Annotated[
        Path | None, typer.Option(help="Folder for run records; finished runs are skipped.", show_default=False)
    ] = None
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat failed runs.")] = False
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes on a CPU, simultaneous runs on a GPU.", show_default=False)
    ] = None

    def store(self) -> RecordStore | None:
        """Where runs are kept; None to keep none."""
        from votewise.records import RecordStore

        if self.runs is None:
            return None
        if self.runs.exists() and not self.runs.is_dir():
            raise InputError(
                "--runs must be a folder",
                f"{str(self.runs)!r} is a file",
                "Name a folder; it is created if it does not exist",
            )
        return RecordStore(self.runs)


@grouped_options
def compare(
    *,
    votes_file: VotesFile,
    inputs: InputOptions,
    output: Annotated[Path, typer.Option("--output", "-o", help="Report to write.")] = Path("report.html"),
    compared: PlanOptions,
    kept: RunOptions,
    training: TrainingOptions,
    reading: ReadingOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare deliveries on your own data."""
    options.require_torch("training")
    from votewise.experiments.compare import failures, summarise_comparison

    training.check(inputs.kind())
    options.check_overwrites([output], [votes_file, inputs.path])
    store = kept.store()
    silent = quiet or as_json
    with report_file(output) as report:
        votes = reading.load(votes_file, quiet=quiet)
        material, source = load_material(votes, inputs, training, name=votes_file.stem, item=reading.item, quiet=silent)
        plan = compared.plan(material, training)
        trained = _train(plan, material, store, kept, training.device, silent)
        content = summarise_comparison(plan, material, trained.records, caption=source.caption)
        report.write(content)
    failed = failures(plan, trained.records)
    if as_json:
        about = {"report": report.written, "items": material.votes.n_items, "classes": material.votes.classes}
        about |= {"runs": len(trained.records), "trained": trained.now, "failed": failed, "notes": material.notes}
        options.print_json(
            {**about, "summary": content.summary, "comparisons": [comparison_json(one) for one in content.comparisons]}
        )
    else:
        print_content(content)
    report.announce(silent)
    trained.check_kept()
    if failed:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Trained:
    """The runs of a comparison.

    Attributes:
        records: of all runs, in their order.
        now: how many had to be trained.
        refused: why some of them could not be saved.
    """

    records: list[RunRecord]
    now: int
    refused: OSError | None = None

    def check_kept(self) -> None:
        """Raise an error if a run could not be saved; called once the results are shown."""
        if self.refused is not None:
            raise VotewiseError(f"some runs were not saved: {self.refused}. Check space and permissions of --runs.")


def _train(
    plan: ComparisonPlan, material: Material, store: RecordStore | None, kept: RunOptions, device: str, silent: bool
) -> _Trained:
    from votewise.experiments.compare import comparison_runs
    from votewise.experiments.execution import execute, missing_runs

    configs = comparison_runs(plan, material)
    todo = missing_runs(configs, store, retry_failed=kept.retry_failed)
    if store is not None:
        _note_known(set(configs) - set(todo), len(configs), store, silent)
    done: dict[str, RunRecord] = {}
    with follow_runs(todo, material, silent, kept=store is not None) as listener:

        def on_done(record: RunRecord) -> None:
            done[record.run_id] = record
            listener.on_done(record)

        how: dict[str, Any] = {"device": device, "jobs": kept.jobs, "retry_failed": kept.retry_failed}
        try:
            records = execute(configs, material, store, listener=replace(listener, on_done=on_done), **how)
        except OSError as error:
            if store is None or len(done) < len(todo):
                raise
            return _Trained(_done_or_stored(configs, done, store), len(todo), error)
    return _Trained(records, len(todo))


def _note_known(known: set[RunConfig], of: int, store: RecordStore, silent: bool) -> None:
    from votewise.records import run_id

    if known:
        options.note(f"{len(known)} of {of} runs are in {store.folder} already.", silent)
    failed = [config for config in known if store.read_summary(run_id(config.to_dict())).status == "failed"]
    if failed:
        options.note(f"{len(failed)} of them failed; --retry-failed repeats them.", silent)


def _done_or_stored(configs: list[RunConfig], done: dict[str, RunRecord], store: RecordStore) -> list[RunRecord]:
    from votewise.records import run_id

    ids = [run_id(config.to_dict()) for config in configs]
    return [done[name] if name in done else store.read(name) for name in ids]
