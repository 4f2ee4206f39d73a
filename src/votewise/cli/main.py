"""The `votewise` command: the list of commands, and one message and exit code for each error."""

from __future__ import annotations

import io
import re
import shlex
import signal
import sys
from enum import IntEnum
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, cast

import typer
from typer.core import TyperCommand

from votewise._errors import InputError, VotewiseError
from votewise.cli import printing

# The base of errors in what was typed, by way of one of them, since typer gives the base no public name.
_UsageError: Any = typer.BadParameter.__base__

# In the order of the help. The function NAME_command of the module `votewise.cli.commands.NAME` is the command.
COMMANDS = {
    "demo": "Compare deliveries on real votes, in a minute.",
    "inspect": "Describe the votes, and suggest a delivery.",
    "convert": "Write votes as a plain table, with the plan for reading beside.",
    "deliver": "Write labels or soft targets for any trainer.",
    "score": "Score predictions against the votes.",
    "compare": "Compare deliveries on your own data.",
    "train": "Train one model on your own data and save it.",
    "predict": "Predict new items with a saved model.",
    "reproduce": "Reproduce a paper and compare with its published numbers.",
    "runs": "List recorded runs, or export them.",
    "report": "Compare recorded runs on one page.",
    "datasets": "List known data sets, or download one.",
}


class Exit(IntEnum):
    """Exit codes."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    INTERRUPTED = 130


class Command(TyperCommand):
    """A command whose help shows its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write a section for the arguments, one for the command's own options, and one for each group of options."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            title = "Arguments" if parameter.param_type_name == "argument" else "Options"
            record = parameter.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(parameter, "rich_help_panel", None) or title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class _LazyCommand(TyperCommand):
    """A command known by its name and its line of help; its module is imported when it is called."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Hand everything to the command itself."""
        return load_command(str(self.name)).make_context(info_name, args, parent, **extra)


def load_command(name: str) -> Command:
    """A command with its options."""
    module = import_module(f"votewise.cli.commands.{name}")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=Command, epilog=getattr(module, "EPILOG", None))(getattr(module, f"{name}_command"))
    return cast("Command", typer.main.get_command(alone))


program = typer.Typer(
    name="votewise",
    help="Train on votes, not verdicts: read votes, make labels of them, score models.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _line in COMMANDS.items():
    program.command(_name, help=_line, cls=_LazyCommand)(lambda: None)


def _print_version(wanted: bool) -> None:
    if wanted:
        from votewise import __version__

        printing.say(f"votewise {__version__}")
        raise typer.Exit


@program.callback()
def _program_options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Train on votes, not verdicts: read votes, turn them into labels for any trainer, score models against them."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code. Errors give one message, never a traceback."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # a character that the terminal cannot encode is no reason to stop
        code = _run_program(arguments)
        return _complain("stopped before the end.", Exit.INTERRUPTED) if code == Exit.INTERRUPTED else code
    except KeyboardInterrupt:
        return _complain("stopped before the end.", Exit.INTERRUPTED)
    except InputError as error:
        return _complain(_as_typed(str(error), sys.argv[1:] if arguments is None else arguments), Exit.BAD_INPUT)
    except VotewiseError as error:
        return _complain(str(error), Exit.FAILED)
    except OSError as error:
        return _complain(f"operating system error: {error}. Check disk space and permissions.", Exit.FAILED)
    except MemoryError:
        return _complain("the data do not fit into memory. Use fewer rows, or a machine with more memory.", Exit.FAILED)


def _run_program(arguments: list[str] | None) -> int:
    try:
        # Calling `program` itself would replace the hook for what nothing catches.
        command = typer.main.get_command(program)
        return command.main(arguments, prog_name="votewise", standalone_mode=False) or Exit.OK
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else Exit.OK
    except _UsageError as error:
        # Typer would print what was typed as it is, and names of files may have been filled in by the shell.
        error.show(told := io.StringIO())
        printing.say(told.getvalue().removesuffix("\n"), error=True)
        return int(error.exit_code)


def run() -> None:
    """Entry point of the installed command. SIGTERM ends it as Ctrl-C does: partial files go, finished runs stay.

    Shells start background jobs with SIGINT ignored, and the command then ignores it, too; SIGTERM always ends it.
    """
    if COMMANDS.keys() & set(sys.argv):
        import numpy  # noqa: F401  # Every command needs it, and a KeyboardInterrupt in its C code is lost.
    received: list[int] = []

    def stop(number: int, _frame: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    def forget(kind: type[BaseException], *about: Any) -> None:
        """A Ctrl-C just before or after `main`, which nothing catches, ends the command all the same."""
        if not issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, *about)

    def raise_again(lost: sys.UnraisableHookArgs) -> None:
        """A Ctrl-C in a finalizer, out of which Python lets no exception, comes again outside."""
        if issubclass(lost.exc_type, KeyboardInterrupt):
            signal.raise_signal(received[-1])
        else:
            sys.__unraisablehook__(lost)

    sys.excepthook, sys.unraisablehook = forget, raise_again
    handled = [signal.SIGTERM] + [signal.SIGINT] * (signal.getsignal(signal.SIGINT) is not signal.SIG_IGN)
    for number in handled:
        signal.signal(number, stop)
    code = main()
    for number in handled:
        signal.signal(number, signal.SIG_DFL)  # Python would print a traceback for a Ctrl-C while it shuts down
    sys.exit(128 + received[0] if received else code)


def _as_typed(message: str, arguments: list[str]) -> str:
    """A message whose command is to convert a table, with the output that was named, where that is what was typed."""
    if arguments[:1] != ["convert"]:
        return message
    kept: list[str] = []
    for before, word in pairwise(arguments):
        if before in ("-o", "--output"):
            kept += ["-o", word]
        elif word.startswith("--output=") or word in ("--dry-run", "--safe-cells"):
            kept.append(word)
    return re.sub(
        r"^(.*type: votewise )inspect (.*)$",
        lambda found: f"{found[1]}convert {found[2]} {shlex.join(kept)}".rstrip(),
        message,
        flags=re.MULTILINE,
    )


def _complain(message: str, code: Exit) -> Exit:
    printing.say(f"votewise: {message}", error=True)
    return code
