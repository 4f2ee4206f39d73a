"""`votewise datasets`: known data sets, where their files go, their licences; and downloading them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.padding import Padding
from rich.progress import TaskID
from rich.text import Text

from votewise._errors import InputError
from votewise.cli import printing
from votewise.cli.options import Json, Quiet
from votewise.data import RELEASES, data_folder, fetch, find_release, release_file_states


def datasets_command(
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
    folder = data_folder() if data is None else data
    if (verb == "fetch") != (name is not None):
        got = " ".join(filter(None, (verb, name)))
        raise InputError(
            "datasets takes no argument, NAME, or fetch NAME", f"got {got!r}", "Run 'votewise datasets' for the names"
        )
    if name is not None:
        _fetch_with_progress_bars(name, folder, as_json, quiet)
        return
    chosen = RELEASES if verb is None else {verb: find_release(verb)}
    if as_json:
        told = [{"name": key, **release.about(folder)} for key, release in chosen.items()]
        printing.print_json({"folder": str(folder), "datasets": told})
        return
    screen = printing.console()
    for key, release in chosen.items():
        screen.print(f"[bold]{key}[/bold]  {escape(release.title)}")
        origin = [] if verb is None else [f"cite: {release.citation}", f"from: {release.source}"]
        files = dict.fromkeys(map(str, release_file_states(release, folder)))
        for line in (f"{release.votes}; licence: {release.licence}", *origin, *files):
            screen.print(Padding(Text(line), (0, 0, 0, 2), expand=False))
    if not quiet:
        where = f"Files belong in {folder}, named as above (set VOTEWISE_DATA to change the folder)."
        how = "To download missing files: votewise datasets fetch NAME. Where they come from: votewise datasets NAME"
        screen.print(f"\n{where}\n{how}", markup=False)


def _fetch_with_progress_bars(name: str, folder: Path, as_json: bool, quiet: bool) -> None:
    bars: dict[str, TaskID] = {}
    with printing.progress_bars(quiet or as_json) as display:

        def advance(file: str, done: int, total: int | None) -> None:
            if file not in bars:
                bars[file] = display.add_task(file, total=total)
            display.update(bars[file], completed=done, total=total)

        states = fetch(name, folder, on_progress=advance)
    if as_json:
        printing.print_json({"folder": str(folder), "name": name, "files": [asdict(state) for state in states]})
    else:
        printing.say("\n".join(map(str, states)) or f"{name}: nothing to fetch; it comes with a package")
        printing.print_note(f"the files are in {folder}.", quiet or not states)
