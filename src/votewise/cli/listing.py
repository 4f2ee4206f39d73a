"""Lists of recorded runs and of batches on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from votewise._text import counted
from votewise.cli import printing
from votewise.records import Listing, RunSummary

_ID_SHOWN = 10
_COLUMNS = ("id", "method", "votes", "seed", "status", "epochs", "best epoch", "soft NLL best", "last", "seconds")


def print_runs(folder: Path, listed: Listing) -> None:
    """Print a table of runs, and why runs failed or cannot be read.

    Args:
        folder: where they lie.
        listed: the runs.
    """
    if listed.runs:
        printing.print_table(_COLUMNS, map(_terminal_cells_of_run, listed.runs), names=("id", "method", "status"))
    elif listed.all_runs:
        printing.say(f"None of the {listed.all_runs:,} runs in {folder} matches.")
    elif not listed.faults:
        printing.say(f"There are no runs in {folder}.")
    print_reasons("failed", [(run.run_id, run.failure) for run in listed.runs if run.status == "failed"], gap=True)
    print_reasons("cannot be read", [(fault.run_id, fault.reason) for fault in listed.faults], gap=True)


def _terminal_cells_of_run(run: RunSummary) -> list[str]:
    def cell(value: object, form: str = "") -> str:
        return "-" if value is None else format(value, form)

    config, numbers = run.config, run.numbers
    return [
        run.run_id[:_ID_SHOWN],
        cell(config.get("method")),
        "all" if "votes" in config and config["votes"] is None else cell(config.get("votes")),
        cell(config.get("seed")),
        run.status,
        cell(run.epochs or None),
        cell(numbers.get("best_epoch"), "g"),
        cell(numbers.get("soft_nll_best"), ".4f"),
        cell(numbers.get("soft_nll_last"), ".4f"),
        cell(run.timing.get("seconds"), ".1f"),
    ]


def print_batches(listed: Listing) -> None:
    """Print what each batch of stored results adds."""
    for about in listed.batches or ():
        runs, completed = about["runs"], about["completed"]
        parts = [counted(len(runs), "run")] if runs or not completed else []
        parts += [f"numbers of {counted(completed, 'earlier run')}"] if completed else []
        name = f"batch {about['batch']} ({about['id'][:_ID_SHOWN]})"
        printing.say(f"{name}: {' and '.join(parts)}, {about['bytes'] / 1e3:,.0f} kB")
        if runs:
            titles = {name: {"hold": "epochs kept"}.get(name, name) for name in runs[0] if name != "seed"}
            seeds_of: dict[tuple[str, ...], list[int]] = {}
            for run in runs:
                row = tuple("all" if run[name] is None else str(run[name]) for name in titles)
                seeds_of.setdefault(row, []).append(run["seed"])
            rows = [(*row, seeds_for_terminal(seeds)) for row, seeds in seeds_of.items()]
            printing.print_table((*titles.values(), "seeds"), rows, names=("method",), words=("seeds",))
        for group, seeds in about["compared"].items():
            printing.say(f"compared between runs: {group} on seeds {seeds_for_terminal(seeds)}")
        for count in dict.fromkeys(about["missing"].values()):
            names = [name for name, lacking in about["missing"].items() if lacking == count]
            printing.say(f"missing in {counted(count, 'run')}: {', '.join(names)}")
        printing.say()
    print_reasons("cannot be read", [(fault.run_id, fault.reason) for fault in listed.faults])


def seeds_for_terminal(seeds: Sequence[int]) -> str:
    """Seeds as ranges.

    >>> seeds_for_terminal([0, 1, 2, 5, 7, 8])
    '0–2, 5, 7–8'
    """
    runs = [[seed for _, seed in group] for _, group in groupby(enumerate(seeds), lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs)


def print_reasons(title: str, reasons: Iterable[tuple[str, str | None]], *, gap: bool = False) -> None:
    """Print why some records are not as they should be.

    Args:
        title: what is wrong with all of them.
        reasons: id and reason of each; nothing is printed if there are none.
        gap: whether a blank line comes first.
    """
    listed = list(reasons)
    if listed:
        printing.say(f"{chr(10) if gap else ''}{len(listed):,} {title}:")
        for run_id, reason in listed:
            printing.say(f"  {run_id[:_ID_SHOWN]}  {reason}")
