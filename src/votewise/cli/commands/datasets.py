"""`votewise datasets`: known data sets, where their files go, their licences; and downloading them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from votewise._errors import InputError
from votewise.cli import options
from votewise.cli.options import Json, Quiet

if TYPE_CHECKING:
    from votewise.datasets import FileState


def datasets(
    verb: Annotated[
        str | None,
        typer.Argument(metavar="fetch", help="Download the missing files of a data set.", show_default=False),
    ] = None,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Data set to show in full, or to fetch.", show_default=False)
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Data folder, instead of $VOTEWISE_DATA.", show_default=False)
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List known data sets, or download one."""
    from votewise.datasets import data_folder

    folder = data_folder() if data is None else data
    if verb == "fetch" and name is not None:
        _fetch(name, folder, as_json, quiet)
    elif verb != "fetch" and name is None:
        _show(verb, folder, as_json, quiet)  # a single word is the name of a data set
    else:
        raise InputError(
            "datasets takes no argument, NAME, or fetch NAME",
            f"got {' '.join(filter(None, (verb, name)))!r}",
            "Run 'votewise datasets' for the names",
        )


def _show(name: str | None, folder: Path, as_json: bool, quiet: bool) -> None:
    from rich.markup import escape
    from rich.padding import Padding
    from rich.text import Text

    from votewise.datasets import DATASETS, file_states, find_dataset

    chosen = DATASETS if name is None else {name: find_dataset(name)}
    states = {key: file_states(dataset, folder) for key, dataset in chosen.items()}
    if as_json:
        facts = {key: {"name": key, **asdict(dataset)} for key, dataset in chosen.items()}
        for key, row in facts.items():
            del row["parts"]
            row["files"] = [asdict(state) for state in states[key]]
        options.print_json({"folder": str(folder), "datasets": list(facts.values())})
        return
    screen = options.console()
    for key, dataset in chosen.items():
        screen.print(f"[bold]{key}[/bold]  {escape(dataset.title)}")
        lines = [f"{dataset.votes}; licence: {dataset.licence}"]
        if name is not None:
            lines += [f"cite: {dataset.citation}", f"from: {dataset.source}"]
        for line in (*lines, *map(_line, states[key])):
            screen.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
    if not quiet:
        screen.print(
            f"\nFiles belong in {folder}, named as above (set VOTEWISE_DATA to change the folder).", markup=False
        )
        screen.print("To download missing files: votewise datasets fetch NAME", markup=False)


def _fetch(name: str, folder: Path, as_json: bool, quiet: bool) -> None:
    from votewise.datasets import fetch

    with options.progress(quiet or as_json) as display:
        tasks: dict[str, object] = {}

        def advance(file: str, done: int, total: int | None) -> None:
            if file not in tasks:
                tasks[file] = display.add_task(file, total=total)
            display.update(tasks[file], completed=done, total=total)  # type: ignore[arg-type]

        states = fetch(name, folder, on_progress=advance)
    if as_json:
        options.print_json({"folder": str(folder), "name": name, "files": [asdict(state) for state in states]})
        return
    for state in states:
        typer.echo(_line(state))
    if not states:
        typer.echo(f"{name}: nothing to fetch; it comes with a package")
    options.note(f"the files are in {folder}.", quiet or not states)


def _line(state: FileState) -> str:
    others = f" (or {' or '.join(state.instead)})" if state.instead else ""
    return f"{state.name}{others}: {state.state}"
