"""POPQUORN: one row per rating, with the annotator's demographics (Pei and Jurgens 2023, arXiv 2306.06826)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from votewise.votes.exports.answers import votes_of
from votewise.votes.exports.asked import Asked, choose_question, item_column
from votewise.votes.sources import engine_errors
from votewise.votes.table import Votes
from votewise.votes.tally import as_text

if TYPE_CHECKING:
    import polars as pl

_TITLE = "POPQUORN table"
_PERSON = frozenset(["gender", "race", "age", "occupation", "education"])
_REST = frozenset(["instance_id", "user_id", "text", "", "Unnamed: 0"]) | _PERSON


def fits_columns(names: Sequence[str]) -> bool:
    """Whether columns are those of the released tables."""
    return {"instance_id", "user_id"} | _PERSON <= set(names)


def read_table(table: pl.LazyFrame, names: Sequence[str], asked: Asked) -> Votes:
    """Votes from the column of ratings, whose name is the task's.

    Args:
        table: one row per rating.
        names: its columns.
        asked: how to read it.
    """
    import polars as pl

    item = item_column(names, asked, "instance_id")
    question = choose_question(asked, [name for name in names if name not in _REST and name != item], _TITLE)
    with engine_errors("the table"):
        frame = table.select(item, "user_id", question).collect()
        rated = as_text(frame[question], "label").str.strip_chars()
        classes = (
            rated.fill_null("")
            .to_frame("cell")
            .select(
                pl.when(pl.col("cell") == "").then(pl.lit([], pl.List(pl.String))).otherwise(pl.concat_list("cell"))
            )
        )
        answers = pl.DataFrame(
            {
                "item": as_text(frame[item], "item"),
                "annotator": as_text(frame["user_id"], "annotator"),
                "classes": classes.to_series(),
            }
        ).with_columns(why_not=pl.lit(None, pl.String), when=pl.lit(None, pl.Float64), number=pl.lit(None, pl.String))
    return votes_of(answers, asked, f"{_TITLE}, question {question!r}")
