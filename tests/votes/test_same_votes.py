"""However a table is shuffled, renamed or added to: the votes stay the same, or the table is refused.

Where it is refused with a command to type, that command gives the same votes or is refused as well.
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from votewise import InputError, read_votes
from votewise.votes import FORMS as ALL_FORMS

from .outcomes import alike, as_truth, options_in
from .shapes import Truth, Vote, by_item, count_rows, long_rows, slot_rows, tally, text, votes, wide_rows

Rows = list[dict[str, Any]]
CLASSES = ("bird", "cat", "dog")


@dataclass(frozen=True)
class Case:
    """A table and its votes."""

    form: str
    rows: Rows
    truth: Truth

    @property
    def by_item(self) -> bool:
        """Whether columns can say something of items: not where those are columns."""
        return self.form != "survey"


def _everybody(seed: int) -> list[Vote]:
    """Votes of eight people on each of 24 items."""
    rng = random.Random(seed)
    made = []
    for number in range(24):
        liked = rng.choice(CLASSES)
        made += [
            Vote(f"img_{number}", f"w{who}", liked if rng.random() < 0.6 else rng.choice(CLASSES))
            for who in range(1, 9)
        ]
    return made


VOTES = votes(91, items=24, people=7, each=4)
ALL = _everybody(92)
MANY = [vote for place, vote in enumerate(votes(93, items=80, people=20, each=7)) if place % 6]
SCALE = [Vote(v.item, v.annotator, str(1 + CLASSES.index(v.label))) for v in ALL]


def _numbered(made: list[Vote]) -> list[Vote]:
    return [Vote(v.item, f"annotator_{v.annotator[1:]}", v.label) for v in made]


CASES = {
    "long": Case("long", long_rows(VOTES), tally(VOTES)),
    "long, numbers": Case("long", long_rows(SCALE), tally(SCALE)),
    "long, counts": Case("long", [{"item_id": i, "label": c, "count": n} for i, row in tally(VOTES).items() for c, n in row.items()], tally(VOTES)),
    "one-hot": Case("one-hot", [{"item_id": v.item, "worker_id": v.annotator, **{c: int(c == v.label) for c in CLASSES}} for v in VOTES], tally(VOTES)),
    "wide": Case("wide", wide_rows(_numbered(VOTES)), tally(VOTES)),
    "wide, everybody": Case("wide", wide_rows(_numbered(ALL)), tally(ALL)),
    "wide, numbers": Case("wide", wide_rows(_numbered(SCALE)), tally(SCALE)),
    "slots": Case("wide", slot_rows(VOTES, "rating_"), tally(VOTES)),
    "lists": Case("lists", [{"id": item, "labels": ";".join(v.label for v in group)} for item, group in by_item(VOTES).items()], tally(VOTES)),
    "survey": Case("survey", [{"respondent": who, **{v.item: v.label for v in ALL if v.annotator == who}} for who in sorted({v.annotator for v in ALL})], tally(ALL)),
    "counts": Case("counts", count_rows(VOTES), tally(VOTES)),
    "counts, uneven": Case("counts", [{("id" if name == "item_id" else name): cell for name, cell in row.items()} for row in count_rows(MANY)], tally(MANY)),
    "probabilities": Case("probabilities", [{"item_id": row["item_id"], **{c: row[c] / 4 for c in CLASSES}} for row in count_rows(VOTES)], {i: {c: n / 4 for c, n in row.items()} for i, row in tally(VOTES).items()}),
}  # fmt: skip


def _item(row: dict[str, Any]) -> str:
    return row.get("item_id") or row["id"]


def shuffle_columns(case: Case, rows: Rows, rng: random.Random) -> Rows:
    names = rng.sample(list(rows[0]), len(rows[0]))
    return [{name: row[name] for name in names} for row in rows]


def shuffle_rows(case: Case, rows: Rows, rng: random.Random) -> Rows:
    return rng.sample(rows, len(rows))


def neutral_names(case: Case, rows: Rows, rng: random.Random) -> Rows:
    names = {name: f"{chr(ord('a') + place % 26)}{place // 26 or ''}" for place, name in enumerate(rows[0])}
    return [{names[name]: cell for name, cell in row.items()} for row in rows]


def with_total(case: Case, rows: Rows, rng: random.Random) -> Rows:
    if case.form in ("counts", "probabilities", "one-hot"):
        return [{**row, "total": sum(row[name] for name in CLASSES)} for row in rows]
    return [{**row, "total": sum(case.truth[_item(row)].values())} for row in rows] if case.by_item else rows


def _of_items(case: Case, rows: Rows, name: str, said: dict[str, Any]) -> Rows:
    return [{**row, name: said[_item(row)]} for row in rows] if case.by_item else rows


def with_winner(case: Case, rows: Rows, rng: random.Random) -> Rows:
    return _of_items(case, rows, "majority", {i: max(sorted(c), key=c.get) for i, c in case.truth.items()})


def with_winner_number(case: Case, rows: Rows, rng: random.Random) -> Rows:
    classes = sorted({c for row in case.truth.values() for c in row})
    best = {i: max(sorted(c), key=c.get) for i, c in case.truth.items()}
    return _of_items(case, rows, "class", {i: classes.index(c) for i, c in best.items()})


def with_text(case: Case, rows: Rows, rng: random.Random) -> Rows:
    if not case.by_item:
        return [{**row, "remarks": text(rng)} for row in rows]
    return _of_items(case, rows, "text", {item: text(rng) for item in case.truth})


def with_index(case: Case, rows: Rows, rng: random.Random) -> Rows:
    return [{"": number, **row} for number, row in enumerate(rows)]


def with_row_number(case: Case, rows: Rows, rng: random.Random) -> Rows:
    return [{"row": number, **row} for number, row in enumerate(rows)]


def with_gold(case: Case, rows: Rows, rng: random.Random) -> Rows:
    classes = sorted({c for row in case.truth.values() for c in row})
    return _of_items(case, rows, "gold", {item: rng.choice(classes) for item in case.truth})


def _of_people(case: Case, rows: Rows, name: str, said: Callable[[str], Any]) -> Rows:
    return [{**row, name: said(row["worker_id"])} for row in rows] if "worker_id" in rows[0] else rows


def with_team(case: Case, rows: Rows, rng: random.Random) -> Rows:
    return _of_people(case, rows, "team", lambda who: f"team {int(who[1:]) % 3}")


def with_batch(case: Case, rows: Rows, rng: random.Random) -> Rows:
    return _of_items(case, rows, "batch", {item: f"batch {place % 4}" for place, item in enumerate(case.truth)})


def with_time(case: Case, rows: Rows, rng: random.Random) -> Rows:
    return [{**row, "saved": f"2024-03-{rng.randint(1, 28):02} 10:{rng.randint(10, 59)}:00"} for row in rows]


def with_helpful_votes(case: Case, rows: Rows, rng: random.Random) -> Rows:
    if case.form in ("counts", "probabilities"):
        return rows
    return [{**row, "helpful_votes": rng.choice([0, 0, 0, 1, 1, 2, 3, 5, 8])} for row in rows]


CHANGES: dict[str, Callable[[Case, Rows, random.Random], Rows]] = {
    change.__name__: change
    for change in (
        shuffle_columns, shuffle_rows, neutral_names, with_total, with_winner, with_winner_number, with_text, with_index,
        with_row_number, with_gold, with_team, with_batch, with_time, with_helpful_votes,
    )
}  # fmt: skip


def _changed(case: Case, chosen: list[str], rng: random.Random) -> Rows:
    rows = case.rows
    # Names are changed last: what is added has a name of its own.
    for name in sorted(chosen, key="neutral_names".__eq__):
        rows = CHANGES[name](case, rows, rng)
    return rows


def _write(rows: Rows, path: Path) -> Path:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(out.getvalue(), encoding="utf-8")
    return path


def _becomes(case: Case, rows: Rows, path: Path) -> str:
    """What becomes of a table: "read" or "refused"; "wrong", or "wrong by the message's command"."""
    _write(rows, path)
    try:
        return "read" if alike(as_truth(read_votes(path)), case.truth) else "wrong"
    except InputError as error:
        options = options_in(str(error))
    if options is None:
        return "refused"
    try:
        votes = read_votes(path, **options)
    except InputError:
        return "refused"
    return "refused" if alike(as_truth(votes), case.truth) else "wrong by the message's command"


def test_all_forms_are_tried() -> None:
    assert {case.form for case in CASES.values()} == set(ALL_FORMS)


@pytest.mark.parametrize("name", CASES)
def test_the_tables_themselves_are_read(name: str, tmp_path: Path) -> None:
    assert _becomes(CASES[name], CASES[name].rows, tmp_path / "votes.csv") == "read"


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(4))
def test_votes_are_the_same_or_the_table_is_refused(name: str, seed: int, tmp_path: Path) -> None:
    case, rng = CASES[name], random.Random(f"{name} {seed}")
    found = []
    for chosen in [[change] for change in CHANGES] + [rng.sample(list(CHANGES), rng.randint(2, 4)) for _ in range(8)]:
        rows = _changed(case, chosen, rng)
        what = _becomes(case, rows, tmp_path / "votes.csv")
        # Without its name, a column of right answers is one more annotator, and no reader can know better.
        nameless_gold = {"with_gold", "neutral_names"} <= set(chosen) and case.form == "wide"
        assert what in ("read", "refused") or (nameless_gold and what != "wrong"), (what, chosen, rows[:3])
        found.append(what)
    assert found.count("read") >= len(found) / 3  # refusing everything would keep the law, too


@pytest.mark.parametrize("name", CASES)
def test_the_law_can_fail(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    items = list(case.truth)
    lost = {item: case.truth[item] for item in items[1:]}
    another = {**case.truth, items[0]: {"another class": 1.0}}
    more = {item: {**row, "total": sum(row.values())} for item, row in case.truth.items()}
    for truth in (lost, another, more):
        assert _becomes(Case(case.form, case.rows, truth), case.rows, tmp_path / "votes.csv") == "wrong"


def _in_batches(seed: int) -> tuple[Rows, Truth]:
    """Votes on items whose numbers begin again in each batch, which has annotators of its own."""
    rng = random.Random(seed)
    rows, made = [], []
    for batch in range(rng.randint(3, 6)):
        people = [f"w{batch}{who}" for who in range(rng.randint(4, 6))]
        for number in range(rng.randint(8, 12)):
            liked, words = rng.choice(CLASSES), text(rng)
            for who in rng.sample(people, 4):
                label = liked if rng.random() < 0.7 else rng.choice(CLASSES)
                rows.append({"batch": f"b{batch}", "number": number, "text": words, "worker_id": who, "label": label})
                made.append(Vote(f"b{batch} | {number}", who, label))
    return rows, tally(made)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("item", ["item_id", "idx", "sent_id"])
def test_items_whose_ids_restart_are_not_merged(seed: int, item: str, tmp_path: Path) -> None:
    rows, truth = _in_batches(seed)
    rows = [{(item if name == "number" else name): cell for name, cell in row.items()} for row in rows]
    case, rng = Case("long", rows, truth), random.Random(f"{seed} {item}")
    without_text = [{name: cell for name, cell in row.items() if name != "text"} for row in rows]
    for table in (rows, without_text):
        for change in (None, shuffle_columns, shuffle_rows, neutral_names):
            changed = table if change is None else change(case, table, rng)
            what = _becomes(case, changed, tmp_path / "votes.csv")
            assert what in ("read", "refused"), (what, change, changed[:2])
