"""`votewise datasets`: known data, where it goes, its licence."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from votewise.cli import options
from votewise.cli.options import Json, Quiet


def datasets(
    name: Annotated[str | None, typer.Argument(help="One data set, in full.", show_default=False)] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Known data: where it goes, its licence."""
    from rich.markup import escape

    from votewise.datasets import DATASETS, data_folder, file_states, find_dataset

    chosen = DATASETS if name is None else {name: find_dataset(name)}
    folder = data_folder()
    states = {key: file_states(dataset, folder) for key, dataset in chosen.items()}
    if as_json:
        rows = [
            {"name": key, **asdict(dataset), "files": [asdict(state) for state in states[key]]}
            for key, dataset in chosen.items()
        ]
        options.print_json({"folder": str(folder), "datasets": rows})
        return
    screen = options.console()
    for key, dataset in chosen.items():
        screen.print(f"[bold]{key}[/bold]  {escape(dataset.title)}")
        screen.print(f"  {dataset.votes}; licence: {dataset.licence}", markup=False)
        if name is not None:
            screen.print(f"  cite: {dataset.citation}\n  from: {dataset.source}", markup=False)
        for file in states[key]:
            screen.print(f"  {file.name}: {file.state}", markup=False)
    if not quiet:
        screen.print(f"\nFiles go to {folder} (set VOTEWISE_DATA to change that), named as above.", markup=False)
