"""A document as a terminal shows it."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from votewise._text import printable
from votewise.report.document import Document, Table, Text

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod


def to_terminal(document: Document, *, width: int = 120, colour: bool = False) -> str:
    """The texts and tables of a document; figures and items are for pages.

    The summary comes last, since a terminal is read from its end. Control characters in names are dropped.

    Args:
        document: what to show.
        width: columns of the terminal.
        colour: whether headings may be bold and notes dim.
    """
    from rich.console import Console

    out = io.StringIO()
    screen = Console(
        file=out, width=width, highlight=False, markup=False, emoji=False, force_terminal=colour,
        legacy_windows=False,
    )  # fmt: skip
    texts = [block for block in document.blocks if isinstance(block, Text)]
    summaries = [text for text in texts if text.role == "summary"]
    if document.title:
        screen.print(printable(document.title), style="bold")
    for block in document.blocks:
        if isinstance(block, Table):
            _terminal_table(block, screen)
        elif isinstance(block, Text) and block.role not in ("summary", "aside"):
            _terminal_text(block, screen)
    for text in summaries:
        screen.print()
        _terminal_text(text, screen)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _terminal_text(text: Text, screen: Console) -> None:
    if text.heading:
        screen.print()
        screen.print(printable(text.heading), style="bold")
    elif text.role == "legend":
        screen.print()
    dim = "dim" if text.role in ("note", "legend") else None
    for sentence in text.sentences:
        screen.print(("- " if text.bullets else "") + printable(sentence), style=dim)


def _terminal_table(table: Table, screen: Console) -> None:
    """Print a table without lines; on a narrow terminal numbers and words wrap, names stay whole."""
    from rich.table import Table as Grid
    from rich.text import Text as Words

    columns, left_out = _table_columns_that_fit(table, screen.width)
    padding = (0, 1) if _table_width(columns.values(), between=2) <= screen.width else (0, 1, 0, 0)
    grid = Grid(box=None, pad_edge=False, padding=padding, header_style="bold")
    for place, (title, *_) in columns.items():
        name = table.header[place]
        justify: JustifyMethod = "left" if name in table.names or name in table.words else "right"
        grid.add_column(Words(title), justify=justify, no_wrap=name in table.names)
    for row in range(len(table.rows)):
        cells = {place: Words(cells[1 + row]) for place, cells in columns.items()}
        for place, cell in cells.items():
            if (row, place) in table.bold:
                cell.stylize("bold", cell.plain.rfind("\n") + 1)
        grid.add_row(*cells.values())
    screen.print(grid)
    if left_out:
        screen.print(f"For want of room, without {', '.join(left_out)}.", style="dim")


def _table_columns_that_fit(table: Table, width: int) -> tuple[dict[int, list[str]], list[str]]:
    """The columns of a table by their place, each with its title, less what is optional and finds no room.

    Returns:
        The columns, and what was left out.
    """
    columns = {
        place: [printable(name), *(printable(row[place]) for row in table.rows)]
        for place, name in enumerate(table.header)
    }
    spreads = [place for place, cells in columns.items() if any(" ± " in cell for cell in cells)]
    left_out = []
    for name in table.optional:
        if _table_width(columns.values(), between=1) <= width:
            break
        if name == "±" and len(spreads) > 1:
            left_out.append(f"the spreads of all but {columns[spreads[0]][0]}")
            columns |= {place: [cell.partition(" ± ")[0] for cell in columns[place]] for place in spreads[1:]}
        elif name in table.header:
            left_out.append(columns.pop(table.header.index(name))[0])
    return columns, [name.replace("\n", " ") for name in left_out]


def _table_width(columns: Iterable[Sequence[str]], *, between: int) -> int:
    """The width of columns that are not wrapped, with so many spaces between them."""
    from rich.cells import cell_len

    widths = [max(cell_len(line) for cell in cells for line in cell.split("\n")) for cells in columns]
    return sum(widths) + between * (len(widths) - 1)
