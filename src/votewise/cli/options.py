"""Options that almost every command has, and groups of options: frozen dataclasses that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from votewise._errors import InputError, MissingExtraError

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no notes.")]
SafeCells = Annotated[
    bool, typer.Option("--safe-cells", help="In .csv, put ' before texts that a spreadsheet would take for formulas.")
]
Runs = Annotated[Path, typer.Argument(metavar="RUNS", help="Folder of recorded runs.", show_default=False)]


def check_output_options(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse to write over a file that is read."""
    read = [path for path in inputs if path is not None and path.exists()]
    for output in outputs:
        if output is not None and output.exists() and any(output.samefile(path) for path in read):
            raise InputError(
                "the output must not be one of the inputs", f"{str(output)!r} is read, too", "Write to another file"
            )


def require_torch_for_command(purpose: str) -> None:
    """Say what to install if torch is missing.

    Args:
        purpose: what needs torch, the subject of the message.
    """
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingExtraError(purpose, "torch", "demo") from None


def grouped_options(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: each parameter that is a dataclass becomes options for its fields.

    In the help they stand under the `heading` of the dataclass, if it has one; the command is called with the dataclass
    filled in.
    """
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for own in inspect.signature(command, eval_str=True).parameters.values():
        if isinstance(own.annotation, type) and is_dataclass(own.annotation):
            groups[own.name] = own.annotation
            for one in inspect.signature(own.annotation, eval_str=True).parameters.values():
                kind, info = get_args(one.annotation)
                info = copy(info)  # which may be shared with a command that has the option outside a group
                info.rich_help_panel = getattr(own.annotation, "heading", None)
                parameters.append(one.replace(annotation=Annotated[kind, info]))
        else:
            parameters.append(own)
    parameters = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]

    def run(**values: Any) -> None:
        filled = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**filled, **values)

    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def option(text: str, *names: str) -> Any:
    """An option whose default goes without saying."""
    return typer.Option(*names, help=text, show_default=False)
