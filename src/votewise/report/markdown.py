"""A document as Markdown."""

from __future__ import annotations

import re

from votewise.report.document import Document, Figure, Items, Table, Text


def to_markdown(document: Document, *, figures: str = "figures") -> str:
    """The document in Markdown; each figure is a link to a file named after it.

    Args:
        document: what to show.
        figures: folder of the drawn figures, relative to the page.
    """
    parts = [f"# {_markdown_line(document.title)}"] if document.title else []
    for block in document.blocks:
        if isinstance(block, Text):
            if block.heading:
                parts.append(f"{'#' * block.level} {_markdown_line(block.heading)}")
            sentences = [_markdown_line(sentence) for sentence in block.sentences]
            parts += ["\n".join(f"- {sentence}" for sentence in sentences)] if block.bullets else sentences
        elif isinstance(block, Figure):
            parts.append(f"![{_markdown_line(block.title)}]({figures}/{block.name}.svg)")
            parts += [_markdown_line(block.caption)] if block.caption else []
        elif isinstance(block, Items):
            parts += [f"## {_markdown_line(block.heading)}", _markdown_table(block.table())]
        else:
            parts.append(_markdown_table(block))
    return "\n\n".join(parts) + "\n"


def _markdown_table(table: Table) -> str:
    rows = [
        [_markdown_cell(cell, stressed=(row, column) in table.bold) for column, cell in enumerate(cells)]
        for row, cells in enumerate(table.rows)
    ]
    lines = [[_markdown_cell(name) for name in table.header], ["---"] * len(table.header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cell(text: str, *, stressed: bool = False) -> str:
    lines = _without_tags(text).replace("|", "\\|").split("\n")
    return "<br>".join([*lines[:-1], f"**{lines[-1]}**" if stressed else lines[-1]])


def _markdown_line(text: str) -> str:
    """A text in one line."""
    return _without_tags(" ".join(text.split("\n")))


def _without_tags(text: str) -> str:
    """What Markdown would pass on as HTML is shown as it was written."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
