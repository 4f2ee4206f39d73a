"""Of an annotator's votes on an item the last in time counts, wherever its row stands."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from votewise import InputError, Votes, read_votes

COLUMNS = {"item": ["b", "a", "a", "b"], "who": ["x", "x", "x", "y"], "label": ["n", "new", "old", "o"]}


def read(times: list[Any], name: str = "submitted_at", **options: Any) -> Votes:
    frame = pl.DataFrame({**COLUMNS, name: times})
    return read_votes(frame, item="item", annotator="who", label="label", duplicates="last", **options)


def of_a(votes: Votes) -> str:
    assert votes.item_ids.tolist() == ["b", "a"], "items keep the order of the source"
    assert votes.counts is not None
    return votes.classes[int(votes.counts[1].argmax())]


NEW_AND_OLD = {
    "ISO": ("2023-05-02 10:00:00", "2023-05-01 10:00:00"),
    "ISO with a zone": ("2023-05-02T10:00:00.5+02:00", "2023-05-01T10:00:00.25+02:00"),
    "days": ("2023-05-02", "2023-05-01"),
    "German": ("02.05.2023 9:05", "01.05.2023 10:00"),
    "American": ("5/13/2023", "5/12/2023"),
    "British": ("13/05/2023 11:05", "12/05/2023 11:00"),
    "of Mechanical Turk": ("Fri Mar 05 10:00:00 PDT 2021", "Thu Mar 04 10:00:00 PDT 2021"),
    "seconds": (1_700_000_000, 1_600_000_000),
}


@pytest.mark.parametrize("kind", NEW_AND_OLD)
def test_the_last_in_time_counts(kind: str) -> None:
    new, old = NEW_AND_OLD[kind]
    votes = read([new, new, old, old])
    assert of_a(votes) == "new"
    assert (
        "repeated votes are put in order by 'submitted_at' (ignore='submitted_at' keeps the order of rows)"
        in votes.notes
    )
    assert of_a(read([new, new, old, old], ignore="submitted_at")) == "old"
    assert of_a(read([new, old, new, old])) == "old"


def test_what_is_no_time_does_not_count() -> None:
    assert of_a(read([3, 30, 20, 1], "time_spent")) == "old", "durations"
    assert of_a(read(["2023-05-01"] * 4)) == "old", "the time of the item"
    assert of_a(read(["2023-05-01", "2023-05-02", "2023-05-01", "2023-05-01"], "q")) == "new", "by content"


@pytest.mark.parametrize(
    ("times", "why"),
    [
        (["1/1/2023", "03/04/2023", "04/03/2023", "1/1/2023"], "'submitted_at' can be read in ways that disagree"),
        (["x", "2023-05-02 10:00 PDT", "2023-05-01 10:00 PST", "x"], "'submitted_at' cannot be read as points in time"),
    ],
)
def test_an_order_that_nobody_knows_is_refused(times: list[str], why: str) -> None:
    with pytest.raises(InputError, match=f"the last vote of an annotator on an item must be known, but {why}"):
        read(times)
