"""However a table is shuffled, renamed or added to: the votes stay the same, or the table is refused."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from votewise import InputError, read_votes

from .outcomes import alike, as_truth
from .shapes import Truth, by_item, count_rows, long_rows, slot_rows, tally, text, votes, wide_rows

Rows = list[dict[str, Any]]

VOTES = votes(91, items=24, people=7, each=4)
NUMBERED = [type(v)(v.item, f"annotator_{int(v.annotator[1:]) - 10}", v.label) for v in VOTES]
FORMS: dict[str, Rows] = {
    "long": long_rows(VOTES),
    "wide": wide_rows(NUMBERED),
    "slots": slot_rows(VOTES, "rating_"),
    "counts": count_rows(VOTES),
    "lists": [{"id": item, "labels": ";".join(v.label for v in group)} for item, group in by_item(VOTES).items()],
}


def shuffle_columns(rows: Rows, rng: random.Random) -> Rows:
    names = rng.sample(list(rows[0]), len(rows[0]))
    return [{name: row[name] for name in names} for row in rows]


def shuffle_rows(rows: Rows, rng: random.Random) -> Rows:
    return rng.sample(rows, len(rows))


def neutral_names(rows: Rows, rng: random.Random) -> Rows:
    names = {name: chr(ord("a") + place) for place, name in enumerate(rows[0])}
    return [{names[name]: cell for name, cell in row.items()} for row in rows]


def with_total(rows: Rows, rng: random.Random) -> Rows:
    return [{**row, "total": sum(row.get(name, 1) for name in ("bird", "cat", "dog"))} for row in rows]


def with_winner(rows: Rows, rng: random.Random) -> Rows:
    best = {i: max(sorted(c), key=c.get) for i, c in tally(VOTES).items()}
    return [{**row, "majority": best[row.get("item_id") or row.get("id")]} for row in rows]


def with_winner_number(rows: Rows, rng: random.Random) -> Rows:
    best = {i: sorted(["bird", "cat", "dog"]).index(max(sorted(c), key=c.get)) for i, c in tally(VOTES).items()}
    return [{**row, "class": best[row.get("item_id") or row.get("id")]} for row in rows]


def with_text(rows: Rows, rng: random.Random) -> Rows:
    texts = {item: text(rng) for item in tally(VOTES)}
    return [{**row, "text": texts[row.get("item_id") or row.get("id")]} for row in rows]


def with_index(rows: Rows, rng: random.Random) -> Rows:
    return [{"": number, **row} for number, row in enumerate(rows)]


def with_row_number(rows: Rows, rng: random.Random) -> Rows:
    return [{"row": number, **row} for number, row in enumerate(rows)]


def with_gold(rows: Rows, rng: random.Random) -> Rows:
    gold = {item: rng.choice(["cat", "dog", "bird"]) for item in tally(VOTES)}
    return [{**row, "gold": gold[row.get("item_id") or row.get("id")]} for row in rows]


CHANGES: dict[str, Callable[[Rows, random.Random], Rows]] = {
    change.__name__: change
    for change in (
        shuffle_columns, shuffle_rows, neutral_names, with_total, with_winner, with_winner_number, with_text, with_index,
        with_row_number, with_gold,
    )
}  # fmt: skip


def _read(rows: Rows, path: Path) -> Truth | None:
    """The votes; None if the table is refused."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8")
    try:
        return as_truth(read_votes(path))
    except InputError:
        return None


@pytest.mark.parametrize("form", FORMS)
def test_the_tables_themselves_are_read(form: str, tmp_path: Path) -> None:
    found = _read(FORMS[form], tmp_path / "votes.csv")
    assert found is not None
    assert alike(found, tally(VOTES))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(12))
def test_votes_are_the_same_or_the_table_is_refused(form: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"{form} {seed}")
    for chosen in [[name] for name in CHANGES] + [rng.sample(list(CHANGES), rng.randint(2, 4)) for _ in range(6)]:
        rows = FORMS[form]
        # Names are changed last: what is added has a name of its own.
        for name in sorted(chosen, key="neutral_names".__eq__):
            rows = CHANGES[name](rows, rng)
        found = _read(rows, tmp_path / "votes.csv")
        assert found is None or alike(found, tally(VOTES)), (chosen, list(rows[0]), rows[:3])
