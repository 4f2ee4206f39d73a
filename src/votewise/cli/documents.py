"""Showing documents: a page reserved before the work and written after it, and what is printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from votewise._errors import InputError, MissingExtraError, VotewiseError
from votewise.cli import printing

if TYPE_CHECKING:
    from votewise.report import Document

_SUFFIXES = (".html", ".htm")


def print_document(document: Document, *, about: Mapping[str, Any], as_json: bool) -> None:
    """Print a document, or its data after what else there is to say.

    Args:
        document: what to print.
        about: keys that come before the document's own in JSON.
        as_json: whether to print JSON.
    """
    from votewise.report import to_json

    if as_json:
        printing.print_json({**about, **to_json(document)})
    else:
        printing.say(document_for_terminal(document), is_safe=True)


def document_for_terminal(document: Document) -> str:
    """A document as text as wide as the terminal, with its colours; nothing of the data in it acts on a terminal."""
    from votewise.report import to_terminal

    screen = printing.console()
    return to_terminal(document, width=screen.width, colour=screen.is_terminal)


@dataclass
class CommandPage:
    """A document on its way to a page and to the terminal.

    Attributes:
        path: the page's place.
        as_json: whether the terminal gets JSON.
        partial: where the page is written first.
        begun: whether rendering began; an earlier failure is not the page's.
        refused: why the page could not be written.
        text: what the terminal gets, unless it is JSON.
        data: what JSON gets.
    """

    path: Path
    as_json: bool
    partial: Path
    begun: bool = False
    refused: Exception | None = None
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def write(self, document: Document) -> None:
        """Render a document for the terminal and as a page, and write the page."""
        from votewise.report import to_html, to_json

        self.begun = True
        if self.as_json:
            self.data = to_json(document)
        else:
            self.text = document_for_terminal(document)
        self.partial.write_text(to_html(document), encoding="utf-8")

    def show(self, about: Mapping[str, Any], *, quiet: bool) -> None:
        """Print what was rendered, and say where the page is; raise an error if it was not written.

        Args:
            about: keys that come before the document's own in JSON, after that of the page.
            quiet: whether to leave out the note.
        """
        if self.as_json:
            printing.print_json({"report": None if self.refused else str(self.path), **about, **self.data})
        else:
            printing.say(self.text, is_safe=True)
        if self.refused is not None:
            reason = getattr(self.refused, "strerror", None) or str(self.refused)
            raise VotewiseError(f"the report {str(self.path)!r} was not written: {reason.removesuffix('.')}.")
        printing.print_note(f"the report is in {self.path}; open it in a browser.", quiet or self.as_json)


@contextmanager
def reserved_page(path: Path, *, as_json: bool) -> Iterator[CommandPage]:
    """Reserve the place of a page; if it cannot be written after the work, `show` raises that error.

    Args:
        path: its place. A path that cannot be written fails immediately.
        as_json: whether its document is printed as JSON.
    """
    from votewise._files import whole_file

    if path.suffix.lower() not in _SUFFIXES:
        raise InputError(f"the report must end in {' or '.join(_SUFFIXES)}", f"got {str(path)!r}", "Rename it")
    page = CommandPage(path, as_json, path)
    try:
        with whole_file(path) as page.partial:
            yield page
    except (OSError, MissingExtraError) as error:
        if not page.begun:
            raise
        page.refused = error
