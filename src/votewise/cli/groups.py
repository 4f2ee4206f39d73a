"""Options that several commands share, as frozen dataclasses: the same options, in the same words, for each of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from votewise.cli import options
from votewise.votes import FORMATS, Votes, read_votes


def grouped_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: each parameter that is a dataclass becomes options for its fields.

    They appear in the help where that parameter stands; the command is called with the dataclass filled in.
    """
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for own in inspect.signature(command, eval_str=True).parameters.values():
        if isinstance(own.annotation, type) and is_dataclass(own.annotation):
            groups[own.name] = own.annotation
            parameters += inspect.signature(own.annotation, eval_str=True).parameters.values()
        else:
            parameters.append(own)
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]

    def run(**given: Any) -> None:
        filled = {
            name: group(**{field.name: given.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**filled, **given)

    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def option(text: str, *names: str) -> Any:
    """An option whose default goes without saying."""
    return typer.Option(*names, help=text, show_default=False)


VotesFile = Annotated[
    Path, typer.Argument(metavar="VOTES", help="Votes: .csv .tsv .parquet .jsonl .json .npy", show_default=False)
]


@dataclass(frozen=True)
class ReadingOptions:
    """How a table of votes is to be read."""

    form: Annotated[str | None, option("long, wide, counts or probabilities; detected if omitted.")] = None
    format: Annotated[str | None, option(f"Export of an annotation tool: {', '.join(FORMATS)}.")] = None
    question: Annotated[str | None, option("Question of an export whose answers are votes.")] = None
    item: Annotated[str | None, option("Item column, or field of an export.")] = None
    annotator: Annotated[str | None, option("Annotator column of a long table.")] = None
    label: Annotated[str | None, option("Label column of a long table.")] = None
    classes: Annotated[str | None, option("All classes in order, separated by commas.")] = None
    duplicates: Annotated[
        str | None,
        option("If an annotator voted twice on an item: error (tables), last (exports) or all."),
    ] = None
    several: Annotated[
        str, typer.Option(help="If an answer in an export has several classes: error, drop or each.")
    ] = "error"
    missing: Annotated[str, typer.Option(help="If a row has no label: error or drop.")] = "error"
    empty: Annotated[str, typer.Option(help="If an item has no votes: error or drop.")] = "error"

    def load(self, file: Path, *, quiet: bool) -> Votes:
        """Read the votes in a file, and say what was left out.

        Args:
            file: a table, or an export of an annotation tool.
            quiet: no notes.
        """
        classes = None if self.classes is None else [name.strip() for name in self.classes.split(",")]
        votes = read_votes(file, **(asdict(self) | {"classes": classes}))
        for sentence in votes.notes:
            options.note(f"{sentence}.", quiet)
        return votes
