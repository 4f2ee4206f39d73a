"""`votewise reproduce`: the runs of a paper, its numbers beside ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from votewise._checks import check_choice
from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.beside_paper import USUAL_RUNS, Sources, tell_parts
from votewise.cli.options import Json, Quiet
from votewise.cli.run_display import follow_runs

if TYPE_CHECKING:
    from votewise.datasets import OutlierImages
    from votewise.experiments.material import Material
    from votewise.experiments.run import RunConfig
    from votewise.papers.same_target import Line
    from votewise.records import RecordStore, RunSummary

PAPERS = ("same-target",)
RESULTS = Path("results/same-target")


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="same-target: arXiv 2605.20642", show_default=False)],
    suite: Annotated[str, typer.Option(help="main, family, sweep, resampling, all, sparse, mixup or tiny.")] = "all",
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds, from 0; each suite's own number if left out.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with CIFAR-10H; $VOTEWISE_DATA if left out.", show_default=False)
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Folder of the records; what is in it is not done again [runs].", show_default=False),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    precision: Annotated[
        str | None, typer.Option(help="bf16 or fp32; bf16 on a GPU if left out.", show_default=False)
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes on a CPU, runs at once on a GPU.", show_default=False)
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Do failed runs again.")] = False,
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Measure the models, too: curvature, the unknown, features.")
    ] = False,
    keep_models: Annotated[
        bool, typer.Option("--keep-models", help="Keep the weights that diagnostics needed.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and for how long.")] = False,
    only: Annotated[
        str | None,
        typer.Option(help="Train nothing; show summary, table-1, figure-8, choices, cost, all...", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the figures of --only.", show_default=False)
    ] = None,
    results: Annotated[Path, typer.Option(help="Runs in brief, shown where there are no --runs.")] = RESULTS,
    reduce: Annotated[
        bool, typer.Option("--reduce", help="Train nothing; put the --runs in brief into --results.")
    ] = False,
    page: Annotated[
        Path | None, typer.Option(help="Train nothing; put all parts between this page's markers.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a paper's runs; numbers beside its own."""
    check_choice("the paper", paper, PAPERS)
    if only is not None or output is not None or reduce or page is not None:
        sources = Sources(runs, results, data, precision or "bf16")
        tell_parts(sources, only, output, page, reduce=reduce, as_json=as_json, quiet=quiet)
        return
    options.require_torch("training")
    from votewise.datasets import load_cifar10h
    from votewise.experiments.diagnose import run_and_diagnose, to_train_again, undiagnosed, unmeasured
    from votewise.experiments.execution import execute, missing_runs
    from votewise.experiments.material import Material
    from votewise.experiments.run import choose_device
    from votewise.papers.same_target import compare_with_paper, suite_runs, tiny_material
    from votewise.papers.same_target.diagnoses import TINY_PLAN, barrier_pairs, common_epoch, plan_of
    from votewise.papers.same_target.suites import find_suites, run_of, tiny_outliers
    from votewise.records import RecordStore

    find_suites(suite)
    chosen = choose_device(device)
    material = Material.of_images("cifar10h", load_cifar10h(data))
    if suite == "tiny":
        material = tiny_material(material)
    store = RecordStore(runs or USUAL_RUNS)
    configs = suite_runs(suite, material, seeds=seeds, precision=precision or ("bf16" if chosen == "cuda" else "fp32"))
    named = {config: run_of(config.to_dict()) for config in configs if diagnostics}
    plans = {config: TINY_PLAN if suite == "tiny" else plan_of(run) for config, run in named.items()}
    pairs = barrier_pairs(list(plans))
    outliers = _outliers(data, quiet) if diagnostics else []
    if suite == "tiny":
        outliers = [tiny_outliers(images) for images in outliers]
    lacking = undiagnosed(plans, store, outliers=outliers, retry_failed=retry_failed)
    again = to_train_again(lacking, pairs, store, retry_failed=retry_failed)
    todo = list(dict.fromkeys([*missing_runs(configs, store, retry_failed=retry_failed), *again]))
    measurements = len(lacking) + len(unmeasured(pairs, store, retry_failed=retry_failed))
    if dry_run:
        _tell_plan(configs, todo, material, store, chosen, jobs, measurements, as_json)
        return
    with follow_runs(todo, material, quiet or as_json, diagnoses=measurements) as listener:
        how: dict[str, Any] = {"device": chosen, "jobs": jobs, "retry_failed": retry_failed, "listener": listener}
        if diagnostics:
            records = run_and_diagnose(
                plans, pairs, material, store,
                common_epoch=common_epoch(configs[0].recipe.epochs), keep_models=keep_models,
                outliers=outliers, **how,
            )  # fmt: skip
        else:
            records = execute(configs, material, store, **how)
    _tell_results(compare_with_paper(records), records, as_json)
    still_lacking = undiagnosed(plans, store, outliers=outliers, retry_failed=True)
    still_unmeasured = unmeasured(pairs, store, retry_failed=True)
    if still_lacking or still_unmeasured or any(record.status == "failed" for record in records):
        raise typer.Exit(1)


def _outliers(data: Path | None, quiet: bool) -> list[OutlierImages]:
    """The images of other things that are there; those that are not are told."""
    from votewise.datasets import load_cifar100, load_svhn

    found = []
    for load in (load_svhn, load_cifar100):
        try:
            found.append(load(data))
        except InputError as error:
            options.note(f"without these images: {error}", quiet=quiet)
    return found


def _tell_plan(
    configs: Sequence[RunConfig],
    todo: Sequence[RunConfig],
    material: Material,
    store: RecordStore,
    device: str,
    jobs: int | None,
    measurements: int,
    as_json: bool,
) -> None:
    """What would be run, and how long training would take."""
    from votewise.experiments.estimate import expected_seconds
    from votewise.papers.same_target.suites import run_of

    seconds = expected_seconds(todo, material, store, device=device, jobs=jobs)
    if as_json:
        planned = [config.to_dict() for config in todo]
        plan = {"runs": len(configs), "done": len(configs) - len(todo), "device": device, "expected_seconds": seconds}
        plan["diagnoses"] = measurements
        options.print_json({**plan, "todo": planned})
        return
    screen = options.console()
    named = (run_of(config.to_dict()) for config in todo)
    for (method, votes, hold), seeds in Counter((run.method, run.votes, run.hold) for run in named).items():
        screen.print(f"  {_row_name(method, votes, hold)}: {seeds} {'run' if seeds == 1 else 'runs'}")
    if todo:
        screen.print(f"{len(todo)} of {len(configs)} runs to do on {device}, in about {_duration(seconds)}.")
    else:
        screen.print(f"All {len(configs)} runs are there already.")
    if measurements:
        screen.print(f"{measurements} {'diagnosis' if measurements == 1 else 'diagnoses'} to make.")


def _tell_results(lines: Sequence[Line], records: Sequence[RunSummary], as_json: bool) -> None:
    failed = [record for record in records if record.status == "failed"]
    if as_json:
        rows = [{**asdict(line), "distance": line.distance} for line in lines]
        options.print_json({"runs": len(records), "failed": len(failed), "lines": rows})
        return
    from rich.table import Table

    beside_paper = any(line.published is not None for line in lines)
    table = Table(box=None, pad_edge=False, padding=(0, 1), header_style="bold")
    for name in ("method", "metric"):
        table.add_column(name)
    for name in ("seeds", "best epoch", "last epoch", *(("published", "apart") if beside_paper else ())):
        table.add_column(name, justify="right", no_wrap=True)
    for line in lines:
        table.add_row(*_cells(line)[: len(table.columns)])
    screen = options.console()
    screen.print(table)
    if beside_paper:
        screen.print(
            "apart: ours at the best epoch less the published, in standard errors of the difference", style="dim"
        )
    if failed:
        screen.print(f"{len(failed)} of {len(records)} runs failed; votewise runs says why.")


def _cells(line: Line) -> tuple[str, ...]:
    paper = line.published
    return (
        _row_name(line.method, line.votes, line.hold),
        line.metric,
        str(line.seeds),
        _spread(line.best, line.best_sd),
        _spread(line.last, line.last_sd),
        "-" if paper is None else _spread(paper.mean, paper.sd),
        "-" if line.distance is None else f"{line.distance:+.1f}",
    )


def _row_name(method: Any, votes: Any, hold: Any) -> str:
    kept = "" if hold == 1 else f", kept {hold} epochs"
    return f"{method}{'' if votes is None else f', {votes} votes'}{kept}"


def _spread(mean: float, sd: float | None) -> str:
    return f"{mean:.4f}" if sd is None or math.isnan(sd) else f"{mean:.4f} ± {sd:.4f}"


def _duration(seconds: float) -> str:
    """Roughly: it is an estimate."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds > 2 * length:
            return f"{float(f'{seconds / length:.2g}'):g} {unit}"
    return f"{seconds:.0f} seconds"
