"""A document as one HTML page that needs no network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from votewise import __version__
from votewise._errors import MissingExtraError
from votewise._text import text_parts
from votewise.report.document import Document, Figure, Items, Text
from votewise.report.figures import class_colours, draw_figure


def to_html(document: Document) -> str:
    """The page as HTML; all text is escaped. A legend that ends the document stands in the footer."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
        from markupsafe import Markup, escape
    except ImportError:
        raise MissingExtraError("writing a report", "jinja2", "report") from None

    def number(cell: str, stressed: bool = False) -> Markup:
        """A cell with typographic minus signs; a spread is small, and the last line may be bold."""
        escaped = str(escape(re.sub(r"(?<![\w.])-(?=[\d.])", "−", cell)))
        lines = [Markup(line) for line in re.sub(r" (± \S+)", r" <small>\1</small>", escaped).split("\n")]
        if stressed:
            lines[-1] = Markup('<b class="best">') + lines[-1] + Markup("</b>")
        return Markup("<br>").join(lines)

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["lines"] = lambda text: Markup("<br>").join(text.split("\n"))
    environment.filters["parts"] = text_parts
    environment.filters["kind"] = lambda block: "figures" if isinstance(block, list) else type(block).__name__.lower()
    environment.filters["draw"] = lambda figure: Markup(draw_figure(figure, transparent=True))
    environment.filters["shades"] = class_colours
    blocks = list(document.blocks)
    last = blocks[-1] if blocks else None
    legend = blocks.pop() if isinstance(last, Text) and last.role == "legend" and not last.heading else Text()
    # A heading of level 2 or items begin a section; figures that follow each other stand side by side, in a list.
    sections: list[list[Any]] = [[]]
    for block in blocks:
        if isinstance(block, Items) or (isinstance(block, Text) and block.heading and block.level == 2):
            sections.append([])
        if not isinstance(block, Figure):
            sections[-1].append(block)
        elif sections[-1] and isinstance(sections[-1][-1], list):
            sections[-1][-1].append(block)
        else:
            sections[-1].append([block])
    return environment.get_template("report.html").render(
        title=document.title, sections=sections, legend=legend, version=__version__
    )
