"""A column for each annotator and question: R1_joy, R1_anger, R2_joy, or joy_anna, anger_anna, joy_ben."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from votewise._checks import first_few
from votewise.votes.columns import derived, speaks_of_raters, stem
from votewise.votes.guessing.look import Look, concord, find_row_item, holds_single_votes
from votewise.votes.guessing.wide import check_gaps
from votewise.votes.profile import BITS
from votewise.votes.reading import Reading

_BETWEEN = (" - ", ": ", " / ", "::", "__", "/", ":", "|", ".", "_", "-", " ")


def guess_crossed(look: Look) -> Reading | None:
    """One question of a table with a column for each annotator and question; never without asking which."""
    columns = look.columns
    few = [name for name in look.names if columns[name].is_few and not derived(name)]
    found = max(_grids(few), key=lambda one: len(one.firsts) * len(one.lasts), default=None)
    if found is None or look.rows < 4 or holds_single_votes(look):
        return None
    grid = _in_rows_of_questions(look, found)
    if grid is None:
        return None
    first = max(grid.rows, key=lambda one: concord(look, one))
    names = [name for row in grid.rows for name in row]
    item, _ = find_row_item(look, names)
    binary = all(set(columns[name].values) <= BITS.keys() for name in names)
    look.doubt(
        "one question must be the one whose answers are votes",
        f"{first_few(names)} have a column for each of {len(grid.lasts)} annotators ({first_few(grid.lasts)}) and "
        f"{len(grid.rows)} {'classes' if binary else 'questions'} ({first_few(grid.firsts)}; choose another with "
        "raters=, --raters" + ("; to count all together, make a row for each annotator" if binary else "") + ")",
        {"raters": first, "item": (item,) if item else ()},
    )
    check_gaps(look, first)
    return Reading(form="wide", item=(item,) if item else (), raters=first)


@dataclass(frozen=True)
class _Grid:
    """Columns in rows by the first part of their names, which all have the same last parts."""

    firsts: tuple[str, ...]
    lasts: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def turned(self) -> _Grid:
        """The grid in rows by the last part."""
        return _Grid(self.lasts, self.firsts, tuple(zip(*self.rows, strict=True)))


def _grids(names: Sequence[str]) -> Iterator[_Grid]:
    for mark in _BETWEEN:
        for cut in (str.partition, str.rpartition):
            rows: dict[str, dict[str, str]] = defaultdict(dict)
            for name in names:
                first, found, last = cut(name, mark)
                if found and first and last:
                    rows[first][last] = name
            alike: dict[frozenset[str], list[str]] = defaultdict(list)
            for first, row in rows.items():
                alike[frozenset(row)].append(first)
            for firsts in alike.values():
                lasts = tuple(rows[firsts[0]])
                if len(firsts) > 1 and len(lasts) > 1:
                    yield _Grid(tuple(firsts), lasts, tuple(tuple(rows[one][last] for last in lasts) for one in firsts))


def _in_rows_of_questions(look: Look, grid: _Grid) -> _Grid | None:
    """The grid turned so that a row is a question: its columns share values, and agree; None if neither way is."""
    best = max(
        (grid, grid.turned),
        key=lambda way: (_share_values(look, way), round(_mean_concord(look, way), 1), _names_people(way)),
    )
    if not _share_values(look, best) or (_mean_concord(look, best) < 0.1 and not _names_people(best)):
        return None
    return best


def _names_people(grid: _Grid) -> bool:
    """Whether the last parts of names speak of annotators: R1, rater_2."""
    return all(speaks_of_raters(stem(name) or name) for name in grid.lasts)


def _mean_concord(look: Look, grid: _Grid) -> float:
    return float(np.mean([concord(look, row) for row in grid.rows]))


def _share_values(look: Look, grid: _Grid) -> bool:
    """Whether the columns of each row have most of their values in common."""
    for row in grid.rows:
        sets = [set(look.columns[name].values) for name in row]
        if 2 * len(set.intersection(*sets)) < len(set.union(*sets)):
            return False
    return True
