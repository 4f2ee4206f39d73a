"""`votewise reproduce`: reproduce a paper and compare with its published numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from votewise._checks import check_choice
from votewise.cli import options
from votewise.cli.groups import grouped_options
from votewise.cli.inputs import Device
from votewise.cli.options import Json, Quiet
from votewise.cli.paper_results import USUAL_RUNS, ResultOptions, Sources, show_results
from votewise.cli.run_display import follow_runs

if TYPE_CHECKING:
    from votewise.papers.same_target import Line
    from votewise.papers.same_target.reproduce import Done, Work

PAPERS = ("same-target",)


@dataclass(frozen=True)
class WorkOptions:
    """What is trained and measured, and how."""

    suite: Annotated[str, typer.Option(help="main, family, sweep, resampling, all, sparse, mixup or tiny.")] = "all"
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Number of seeds, from 0; each suite's own number if omitted.", show_default=False),
    ] = None
    device: Device = "auto"
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes on a CPU, simultaneous runs on a GPU.", show_default=False)
    ] = None
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Repeat failed runs and diagnoses.")] = False
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Also run diagnostics: curvature, OOD detection, features.")
    ] = False
    keep_models: Annotated[bool, typer.Option("--keep-models", help="Keep model weights after diagnostics.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be run, and how long it would take.")
    ] = False


@grouped_options
def reproduce(
    *,
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="same-target: arXiv 2605.20642", show_default=False)],
    work: WorkOptions,
    data: Annotated[
        Path | None, typer.Option(help="Folder with CIFAR-10H; $VOTEWISE_DATA if omitted.", show_default=False)
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Folder for run records; finished runs are skipped [runs].", show_default=False),
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="bf16 or fp32; bf16 on a GPU if omitted.", show_default=False)
    ] = None,
    results: ResultOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Reproduce a paper and compare with its published numbers."""
    check_choice("the paper", paper, PAPERS)
    if results.asked_for():
        sources = Sources(runs, results.results, data, precision or "bf16")
        show_results(sources, results, as_json=as_json, quiet=quiet)
        return
    options.require_torch("training")
    from votewise.papers.same_target.reproduce import do_work, plan_work
    from votewise.records import RecordStore

    planned = plan_work(
        work.suite,
        RecordStore(runs or USUAL_RUNS),
        data=data,
        seeds=work.seeds,
        device=work.device,
        precision=precision,
        diagnostics=work.diagnostics,
        retry_failed=work.retry_failed,
        on_note=lambda sentence: options.note(sentence, quiet),
    )
    if work.dry_run:
        _print_plan(planned, planned.expected_seconds(work.jobs), as_json)
        return
    silent = quiet or as_json
    with follow_runs(planned.to_train, planned.material, silent, diagnoses=planned.measurements) as listener:
        done = do_work(planned, jobs=work.jobs, keep_models=work.keep_models, listener=listener)
    _print_done(done, as_json)
    if not done.complete:
        raise typer.Exit(1)


def _print_plan(work: Work, seconds: float, as_json: bool) -> None:
    """What would be run, and how long training would take."""
    from votewise.papers.same_target.suites import run_of

    todo, runs, screen = work.to_train, len(work.configs), options.console()
    if as_json:
        plan = {"runs": runs, "done": runs - len(todo), "device": work.device, "expected_seconds": seconds}
        planned = [config.to_dict() for config in todo]
        options.print_json({**plan, "diagnoses": work.measurements, "todo": planned})
        return
    named = (run_of(config.to_dict()) for config in todo)
    for (method, votes, hold), seeds in Counter((run.method, run.votes, run.hold) for run in named).items():
        screen.print(f"  {_row_name(method, votes, hold)}: {seeds} {'run' if seeds == 1 else 'runs'}")
    if todo:
        screen.print(f"{len(todo)} of {runs} runs to do on {work.device}, in about {_duration(seconds)}.")
    else:
        screen.print(f"All {runs} runs are there already.")
    if work.measurements:
        screen.print(f"{work.measurements} {'diagnosis' if work.measurements == 1 else 'diagnoses'} to make.")


def _print_done(done: Done, as_json: bool) -> None:
    from votewise.papers.same_target import compare_with_paper

    lines, runs = compare_with_paper(done.records), len(done.records)
    failed = sum(record.status == "failed" for record in done.records)
    if as_json:
        rows = [{**asdict(line), "distance": line.distance} for line in lines]
        options.print_json({"runs": runs, "failed": failed, "lines": rows})
        return
    screen = options.console()
    _print_lines(lines)
    if failed:
        screen.print(f"{failed} of {runs} runs failed; 'votewise runs' shows why.")


def _print_lines(lines: Sequence[Line]) -> None:
    published = any(line.published is not None for line in lines)
    header = ("", "seeds", "best epoch", "last epoch", *(("published", "apart") if published else ()))
    rows: list[tuple[str, ...]] = []
    for (method, votes, hold), group in groupby(lines, lambda line: (line.method, line.votes, line.hold)):
        rows.append((_row_name(method, votes, hold), *[""] * (len(header) - 1)))
        rows += (_cells(line)[: len(header)] for line in group)
    options.print_table(header, rows, names=("",))
    if published:
        legend = "apart: ours at the best epoch minus the published, in standard errors of the difference"
        options.console().print(legend, style="dim")


def _cells(line: Line) -> tuple[str, ...]:
    paper = line.published
    return (
        f"  {line.metric}",
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
    """An estimate, rounded."""
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds > 2 * length:
            return f"{float(f'{seconds / length:.2g}'):g} {unit}"
    return f"{seconds:.0f} seconds"
