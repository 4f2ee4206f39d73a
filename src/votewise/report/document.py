"""A document: finished numbers in the one form that every renderer takes.

A paper's page, a comparison and a report are all documents. `to_terminal`, `to_markdown` and `to_html` each show one;
`to_json` gives its data, which `--json` prints.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from votewise._checks import FloatArray
from votewise._text import TextOrPair, text_parts

Role = Literal["summary", "facts", "plain", "note", "advice", "legend", "aside"]


@dataclass(frozen=True)
class Text:
    """Sentences, perhaps under a heading.

    Attributes:
        sentences: each a paragraph of its own.
        heading: line above them; empty for none.
        role: "summary" (what a reader should take away), "facts" (data and protocol), "plain", "note" (on what stands
            above), "advice" (what to change in the training behind it), "legend" (how to read it), or "aside" (what a
            terminal has already said while it was read).
        level: level of the heading, 2 for the sections of a page.
        bullets: whether the sentences are a list.
    """

    sentences: tuple[str, ...] = ()
    heading: str = ""
    role: Role = "plain"
    level: int = 2
    bullets: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of finished cells.

    Attributes:
        header: names of the columns; a line break divides a name into lines.
        rows: a cell for each column; a line break divides a cell into lines.
        names: columns that say what a row is, which are never wrapped.
        words: other columns of words; the rest hold numbers.
        bold: (row, column) numbers of cells whose last line is stressed.
        optional: columns that a terminal too narrow for all leaves out, the first of them first; "±" stands for the
            spreads in every column but the first that has them.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Curve:
    """A line with a band: y over x, between low and high."""

    name: str
    x: FloatArray
    y: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class Panel:
    """One of several plots in a figure.

    Attributes:
        title: line above the plot; may be empty.
        x_label: name of the x axis.
        y_label: name of the y axis.
        curves: lines with bands, or points with error bars if there are `ticks`.
        ticks: labels of the positions 0, 1, ... on the x axis.
        joined: whether to join points, where ticks are ordered.
        diagonal: whether to draw y = x, the line of perfect calibration.
        zero: whether to draw y = 0, the line of no difference.
        same_scale: whether to share the y range with the other panels of the figure that set this.
        y_top: top of the y axis, if curves may leave the panel; the legend marks those that do.
    """

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    ticks: tuple[str, ...] = ()
    joined: bool = True
    diagonal: bool = False
    zero: bool = False
    same_scale: bool = False
    y_top: float | None = None


@dataclass(frozen=True, eq=False)
class Figure:
    """Panels under one legend.

    Attributes:
        name: name of its file without the suffix, such as "figure-4"; no two figures of a document share it.
        title: what it shows, in words for those who cannot see it.
        panels: the plots, at least one.
        caption: sentences below it.
    """

    name: str
    title: str
    panels: tuple[Panel, ...]
    caption: str = ""


@dataclass(frozen=True)
class Item:
    """One item with its votes and the models' predictions, as shares over the classes.

    Attributes:
        id: the item's id.
        people: share of the votes for each class.
        models: predicted share of each class, by method.
        text: the item itself, if it is a text or a pair of texts.
        picture: the item itself as a data URI, if it is an image.
        note: anything else a reader should know about the item.
        path: path of the original image, if it was a file.
    """

    id: str
    people: tuple[float, ...]
    models: Mapping[str, tuple[float, ...]]
    text: TextOrPair = ""
    picture: str = ""
    note: str = ""
    path: str = ""


@dataclass(frozen=True)
class Items:
    """Some items, each with what people and models say.

    Attributes:
        heading: which items these are.
        classes: names of the classes, in the order of the shares.
        items: one card each.
    """

    heading: str
    classes: tuple[str, ...]
    items: tuple[Item, ...]

    def table(self) -> Table:
        """The items as rows, with the classes that people and each method give at least half a percent."""
        methods = tuple(dict.fromkeys(method for item in self.items for method in item.models))

        def listed(shares: tuple[float, ...]) -> str:
            largest_first = sorted(zip(shares, self.classes, strict=True), key=lambda pair: -pair[0])
            return "\n".join(f"{name} {share:.0%}" for share, name in largest_first if share >= 0.005)

        rows = (
            (
                "\n".join(filter(None, (item.id, *text_parts(item.text), item.path, item.note))),
                listed(item.people),
                *(listed(item.models.get(method, (0.0,) * len(self.classes))) for method in methods),
            )
            for item in self.items
        )
        header = ("item", "people", *methods)
        return Table(header, tuple(rows), names=("item",), words=header[1:])


Block = Text | Table | Figure | Items


@dataclass(frozen=True, eq=False)
class Document:
    """A whole page.

    Attributes:
        title: heading of the page.
        blocks: parts of the page, in reading order.
        data: the same results for machines: plain values under stable keys.
    """

    title: str
    blocks: tuple[Block, ...]
    data: Mapping[str, Any] = field(default_factory=dict)


def to_json(document: Document) -> dict[str, Any]:
    """The data of a document as JSON can write them: sequences as lists, NaN and infinite numbers as None."""
    return {name: _document_data_as_json(value) for name, value in document.data.items()}


def _document_data_as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _document_data_as_json(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_document_data_as_json(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
