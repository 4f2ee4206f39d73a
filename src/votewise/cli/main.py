"""The `votewise` command: the list of commands, and one message and exit code for each error."""

from __future__ import annotations

import io
import signal
import sys
from enum import IntEnum
from typing import Annotated

import typer

from votewise._errors import InputError, VotewiseError
from votewise.cli.commands import (
    compare,
    datasets,
    deliver,
    demo,
    inspect,
    predict,
    report,
    reproduce,
    runs,
    score,
    train,
)


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130


program = typer.Typer(
    name="votewise",
    help="Train on votes, not verdicts: read votes, turn them into labels for any trainer, score models against them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
program.command("demo")(demo.demo)
program.command("inspect")(inspect.inspect)
program.command("deliver")(deliver.deliver)
program.command("score")(score.score)
program.command("compare")(compare.compare)
program.command("train")(train.train)
program.command("predict")(predict.predict)
program.command("reproduce")(reproduce.reproduce)
program.command("runs")(runs.runs)
program.command("report")(report.report)
program.command("datasets")(datasets.datasets)


def _print_version(wanted: bool) -> None:
    if wanted:
        from votewise import __version__

        typer.echo(f"votewise {__version__}")
        raise typer.Exit


@program.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Train on votes, not verdicts: read votes, turn them into labels for any trainer, score models against them."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code. Errors give one message, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal cannot encode is no reason to stop
    try:
        program(args=arguments, prog_name="votewise")
        return Exit.OK
    except SystemExit as stop:
        if stop.code == Exit.INTERRUPTED:
            return _complain("stopped before the end.", Exit.INTERRUPTED)
        return stop.code if isinstance(stop.code, int) else Exit.OK
    except InputError as error:
        return _complain(str(error), Exit.BAD_INPUT)
    except VotewiseError as error:
        return _complain(str(error), Exit.FAILED)
    except OSError as error:
        return _complain(f"operating system error: {error}. Check disk space and permissions.", Exit.FAILED)
    except MemoryError:
        return _complain("the data do not fit into memory. Use fewer rows, or a machine with more memory.", Exit.FAILED)


def run() -> None:
    """Entry point of the installed command. SIGTERM ends it as Ctrl-C does: partial files go, finished runs stay."""
    received: list[int] = []

    def stop(number: int, _frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    code = main()
    sys.exit(128 + received[0] if received else code)


def _complain(message: str, code: Exit) -> Exit:
    typer.echo(f"votewise: {message}", err=True)
    return code
