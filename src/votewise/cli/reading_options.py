"""The options that say how a table of votes is to be read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from votewise._errors import InputError
from votewise.cli.options import option
from votewise.cli.printing import print_note
from votewise.votes import FORMATS, FORMS, Reading, Votes, names_in, read_votes

VotesFile = Annotated[
    Path, typer.Argument(metavar="VOTES", help="Votes: .csv .tsv .parquet .jsonl .json .npy", show_default=False)
]


@dataclass(frozen=True)
class ReadingOptions:
    """How a table of votes is to be read."""

    heading: ClassVar[str] = "Votes"

    reading: Annotated[Path | None, option("A plan for reading: .toml or .json. The options below go before it.")] = (
        None
    )
    form: Annotated[str | None, option(f"One of {', '.join(FORMS)}; detected if omitted.")] = None
    format: Annotated[str | None, option(f"Export of an annotation tool: {', '.join(FORMATS)}.")] = None
    question: Annotated[str | None, option("Question of an export whose answers are votes.")] = None
    item: Annotated[str | None, option("Item column, or several (story,line); or field of an export.")] = None
    annotator: Annotated[str | None, option("Annotator column.")] = None
    label: Annotated[str | None, option("Label column.")] = None
    raters: Annotated[str | None, option("Columns of a wide table, one for each annotator: a,b,c or 'Score*'.")] = None
    rater_ids: Annotated[str | None, option("Columns with the annotators' ids, parallel to --raters.")] = None
    item_columns: Annotated[
        str | None, option("Columns of a survey, one for each item, where a row is an annotator.")
    ] = None
    item_ids: Annotated[str | None, option("Columns with the items' ids, parallel to --item-columns.")] = None
    classes: Annotated[str | None, option("All classes in order, or the columns of classes, separated by commas.")] = (
        None
    )
    count: Annotated[str | None, option("Column that says how many votes a row stands for.")] = None
    weight: Annotated[str | None, option("Column of weights, which make shares of the votes.")] = None
    ignore: Annotated[str | None, option("Columns that do not matter.")] = None
    without: Annotated[str | None, option("Rows to leave out: status=Rejected.")] = None
    fill: Annotated[str | None, option("Columns of merged cells: a blank is the cell above.")] = None
    split: Annotated[
        str | None, option("What separates labels in a cell: ', ', lines, json or chars; or counts, people.")
    ] = None
    gap: Annotated[str | None, option("Labels that mean 'no answer'.")] = None
    label_bins: Annotated[str | None, option("Number of equal bins for numbers, or their edges: 0,50,100.")] = None
    duplicates: Annotated[
        str | None,
        option("If an annotator voted twice on an item: error (tables), last (exports) or all."),
    ] = None
    several: Annotated[str | None, option("If an answer has several classes: error, drop or each.")] = None
    missing: Annotated[str | None, option("If a row has no label: error or drop.")] = None
    empty: Annotated[str | None, option("If an item has no votes: error or drop.")] = None
    separator: Annotated[str | None, option("What separates cells: , ; tab or another.")] = None
    quote: Annotated[str | None, option("none if quotes are plain text.")] = None
    encoding: Annotated[str | None, option("Encoding of a text file: utf-8, latin-1, ...")] = None
    no_header: Annotated[bool, typer.Option("--no-header", help="There are no column names; columns are 1, 2, ...")] = (
        False
    )
    header_rows: Annotated[int | None, option("Rows of column names.")] = None
    skip_rows: Annotated[int | None, option("Rows above the column names.")] = None

    def load(self, file: Path, *, quiet: bool) -> Votes:
        """Read the votes in a file, and say what was left out.

        Args:
            file: a table, or an export of an annotation tool.
            quiet: whether to keep notes to oneself.
        """
        values = asdict(self)
        del values["no_header"], values["label_bins"]
        values["reading"] = None if self.reading is None else Reading.load(self.reading)
        values["classes"] = names_in(self.classes) or None
        values["bins"] = None if self.label_bins is None else _label_bins_option(self.label_bins)
        values["header_rows"] = 0 if self.no_header else self.header_rows
        votes = read_votes(file, **values)
        for sentence in votes.notes:
            print_note(f"{sentence}.", quiet)
        return votes


def _label_bins_option(text: str) -> int | list[float]:
    """A number of bins, or their edges."""
    try:
        edges = [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            "--label-bins must be a number of bins, or edges", f"got {text!r}", "Write 5, or 0,50,100"
        ) from None
    return edges if len(edges) > 1 else int(edges[0])
