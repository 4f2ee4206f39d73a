"""One row per item and one column of numbers per class."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from votewise._checks import first_few
from votewise.votes.columns import derived, is_unnamed, known, names_a_class, says, says_how_many
from votewise.votes.guessing.look import (
    ROWS_THAT_TELL,
    Look,
    find_row_item,
    first_of,
    holds_single_votes,
    names_the_greatest,
)
from votewise.votes.guessing.wide import check_gaps, on_a_grid, winner_of, without_nameless
from votewise.votes.profile import Column
from votewise.votes.reading import Reading

# Grades such as 1.0, 1.3, 1.7, 2.0 are no more than these.
_MOST_LEVELS = 12


def _numeric(look: Look) -> list[str]:
    """Columns of numbers that are not negative."""
    found = []
    for name in look.names:
        numbers = look.columns[name].numbers
        if numbers is not None and not np.isnan(numbers).any() and (numbers >= 0).all():
            found.append(name)
    return found


def guess_counts_beside(look: Look) -> Reading | None:
    """Counts or shares confirmed by their sum: a column of totals, or the same sum in every row."""
    asked, columns = look.asked, look.columns
    if known("annotator", look.names) and not asked.classes:
        return None
    if asked.classes:
        block = [name for name in asked.classes if name in columns]
        return guess_counts(look) if block and all(columns[name].numbers is not None for name in block) else None
    numeric = _numeric(look)
    if len(numeric) < 2 or look.rows < 8:
        return None
    sure = [name for name in known("item", look.names) if columns[name].distinct == look.rows]
    items = {*asked.item, *sure}
    taken = items.union(numeric)
    free = [name for name in numeric if name not in items and not (derived(name) and "total" not in name.lower())]
    others = [name for name in look.names if name not in taken]
    found = _totalled(look, free)
    if not found:
        return None
    block, total = list(found[0][0]), found[0][1]
    if len(found) > 1:
        look.doubt(
            "one group of columns must be the classes",
            f"{len(found)} groups have a total of their own ({first_few([one[0] for one, _ in found])}, ...)",
            {"classes": tuple(block)},
        )
    classes = set(block)
    beside = [name for name in (*free, *others) if name not in classes]
    if not beside and total is None and asked.form is None:
        return None  # a table of numbers and nothing else, for `guess_numbers_only`
    item, sure_item = find_row_item(look, block)
    if item in (None, total):
        item, sure_item = None, True
    if not sure_item:
        look.doubt("the item column must be known", f"{item!r} may be", {"item": (item,) if item else ()})
    whole = all(columns[name].whole for name in block)
    return Reading(
        form="counts" if whole else "probabilities",
        item=(item,) if item else (),
        classes=tuple(block),
        ignored=tuple(name for name in look.columns if name not in classes and name != item),
    )


def guess_shares_of_number(look: Look) -> Reading | None:
    """Shares of those who said yes, and how many were asked in another column: their product is whole in each row."""
    columns, asked = look.columns, look.asked
    item, _ = find_row_item(look, [])
    if item is None or asked.item or look.rows < 8:
        return None
    pairs = []
    for total, part in itertools.permutations([name for name in look.names if columns[name].numbers is not None], 2):
        shares, number = columns[part].numbers, columns[total].numbers
        if (
            columns[total].whole
            and not columns[part].whole
            and shares is not None
            and number is not None
            and _may_be_shares_of(shares, number)
        ):
            pairs.append((part, total))
    if not pairs:
        return None
    part, total = pairs[0]
    look.doubt(
        "shares must be those of all classes, or of yes among a number of votes",
        f"{first_few([f'{one} × {other}' for one, other in pairs])} {'are' if len(pairs) > 1 else 'is'} whole in every "
        "row (choose the question with classes=, --classes)",
        {"classes": (part,), "count": total, "item": (item,)},
    )
    return Reading(form="counts", item=(item,), classes=(part,), count=total)


def guess_part_of_number(look: Look) -> Reading | None:
    """How many said yes, and how many were asked, who are never fewer; or several such numbers beside that of all."""
    columns, asked = look.columns, look.asked
    item, _ = find_row_item(look, [])
    if item is None or asked.classes or look.rows < 8:
        return None
    whole = [name for name in _numeric(look) if name != item and columns[name].whole]
    others = [name for name in look.names if name not in whole]
    if any(columns[name].distinct < look.rows and columns[name].kind not in ("text", "one value") for name in others):
        return None  # rows are no items
    for total in whole:
        parts = [name for name in whole if name != total and not derived(name)]
        if not parts or not says_how_many(total):
            continue
        number = columns[total].numbers
        sums = np.sum([cells for name in parts if (cells := columns[name].numbers) is not None], axis=0)
        if number is None or (sums > number).any() or np.allclose(sums, number):
            continue
        alone = len(parts) == 1
        look.doubt(
            "every column of numbers must be a class, or say how many were asked",
            f"{total!r} is never less than {'the sum of ' * (not alone)}{first_few(parts)} "
            f"(if it is a class, say classes='{','.join((*parts, total))}', --classes)",
            {"classes": tuple(parts), "item": (item,), **({"count": total} if alone else {"ignored": (total,)})},
        )
        return Reading(form="counts", item=(item,), classes=tuple(parts), count=total if alone else None)
    return None


def _may_be_shares_of(shares: Any, number: Any) -> bool:
    """Whether shares times a number are whole in all rows that tell: not only where the share is 0 or 1."""
    known = ~np.isnan(shares) & ~np.isnan(number)
    telling = known & (shares > 0) & (shares < 1)
    if not known.any() or telling.sum() < 5 or np.nanmin(shares) < 0 or np.nanmax(shares) > 1 or np.nanmin(number) < 0:
        return False
    times = shares[telling] * number[telling]
    rounding = np.maximum(0.006 * number[telling], 1e-6)
    return bool((np.abs(times - np.round(times)) <= rounding).all() and rounding.max() < 0.2)


def _totalled(look: Look, names: Sequence[str]) -> list[tuple[tuple[str, ...], str | None]]:
    """Columns whose sum another column holds, or is the same in each row; and that other column."""
    values = {name: numbers for name in names if (numbers := look.columns[name].numbers) is not None}
    whole = [name for name in names if look.columns[name].whole]
    parts = [name for name in names if not look.columns[name].whole]
    found: dict[tuple[str, ...], str | None] = {}
    totals = [name for name in names if says("count", name) or "total" in name.lower()]
    for total in totals or whole:
        for block in _runs([name for name in whole if name != total]):
            if _varies(values, block) and np.allclose(np.sum([values[one] for one in block], axis=0), values[total]):
                found.setdefault(tuple(block), total)
                break
    if found:
        return list(found.items())
    for pool, wanted in ((whole, None), (parts, 1.0)):
        for block in _runs(pool):
            if not _varies(values, block):
                continue
            sums = np.sum([values[one] for one in block], axis=0)
            if np.ptp(sums) < 0.02 and (sums[0] > 1.5 if wanted is None else abs(sums[0] - wanted) < 0.02):
                return [(tuple(block), None)]
    return []


def _runs(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Columns side by side, the most first; then all without a few."""
    # Of very many columns only all together are tried: the pieces are too many.
    for length in range(len(names), 1, -1) if len(names) <= 40 else (len(names),):
        for start in range(len(names) - length + 1):
            yield names[start : start + length]
    for dropped in (1, 2, 3) if len(names) <= 12 else (1,) if len(names) < 30 else ():
        for left in itertools.combinations(names, dropped) if len(names) - dropped > 1 else ():
            yield [name for name in names if name not in left]


def _varies(values: dict[str, Any], block: Sequence[str]) -> bool:
    """Whether each column varies, or is all zero: a constant does not show whether it belongs to a sum."""
    return all(np.ptp(values[name]) > 0 for name in block) if len(values[block[0]]) > 1 else True


def guess_numbers_only(look: Look) -> Reading | None:
    """A table of numbers beside at most an item: counts or shares, unless it looks like ratings."""
    asked, columns = look.asked, look.columns
    names = list(look.columns)
    item = asked.item[0] if asked.item else first_of(known("item", names))
    cells = [name for name in names if name != item and not (item is not None and is_unnamed(name))]
    meant = [name for name in cells if _mostly_numbers(columns[name])]
    if not meant or (meant != cells and meant != cells[1:]):
        return None
    if meant != cells and item is None:
        item = cells[0]
    if asked.form is None and _not_counts(look, meant, item):
        return None
    running = [name for name in meant if _numbers_rows(look, name)] if asked.form is None else []
    if running and len(meant) - len(running) > 1:
        meant = [name for name in meant if name not in running]
        item = item or running[0]
    odd = [name for name in meant if name != item and (derived(name) or _is_winner(look, name, meant))]
    if odd and len(meant) - len(odd) > 1 and asked.form is None:
        look.doubt(
            "every column of numbers must be a class, or be ignored",
            f"{first_few(odd)} may be something else (if they are classes, say form='counts', --form counts)",
            {"ignored": (*asked.ignored, *odd), "item": (item,) if item else ()},
        )
        meant = [name for name in meant if name not in odd]
    _ratings_doubt(look, meant, item)
    whole = all(columns[name].numbers is None or columns[name].whole for name in meant)
    return Reading(
        form="counts" if whole else "probabilities",
        item=(item,) if item else (),
        classes=tuple(meant) if odd or running else (),
    )


def _not_counts(look: Look, names: Sequence[str], item: str | None) -> bool:
    """Whether numbers are something else than those of classes: votes in rows, totals, or two raters crossed."""
    columns = look.columns
    if (item is None or columns[item].distinct < look.rows) and holds_single_votes(look):
        return True
    if len(names) == 1 and item is not None:
        look.doubt("an item must have votes for several classes", f"there is one column of numbers, {names[0]!r}", None)
    elif item is not None and len(names) > 1 and set(columns[item].values) == set(names):
        look.doubt("rows must be items", f"the values of {item!r} are the names of the other columns: a crossing", None)
    return False


def _is_winner(look: Look, name: str, block: Sequence[str]) -> bool:
    others = [one for one in block if one != name]
    return look.columns[name].distinct <= len(others) > 1 and names_the_greatest(look, name, others)


def _numbers_rows(look: Look, name: str) -> bool:
    """Whether a column holds each whole number from 0 or 1 once, in any order."""
    numbers = look.columns[name].numbers
    if numbers is None or look.rows < ROWS_THAT_TELL:
        return False
    return bool((np.sort(numbers) - np.arange(look.rows) == min(numbers)).all()) and min(numbers) in (0, 1)


def _mostly_numbers(column: Column) -> bool:
    from votewise.votes.numbers import to_float

    return 2 * to_float(column.cells).null_count() <= len(column.cells)


def _ratings_doubt(look: Look, names: Sequence[str], item: str | None) -> None:
    """Doubt counts that look like the ratings of people: they rise and fall together, or have gaps."""
    if look.asked.form is not None or look.rows < 4 or len(names) < 2 or all(map(names_a_class, names)):
        return
    columns = [look.columns[name] for name in names]
    raters = without_nameless(look, names, winner_of(look, names))
    fix: dict[str, Any] = {"raters": raters, "item": (item,) if item else (), "classes": ()}
    if len(names) > 2 * look.rows:
        fix = {"item_columns": tuple(names), "annotator": item}
    tables = [column.numbers for column in columns if column.numbers is not None]
    if len(tables) < len(columns):
        return
    if any(column.filled < look.rows for column in columns) and look.rows >= 4:
        look.doubt(
            "columns must be counts of classes or ratings by annotators",
            f"{first_few(names)} have blank cells, as annotators who were not asked would",
            fix,
        )
        check_gaps(look, names)
        return
    table = np.column_stack(tables)
    if table.min() < 0:
        look.doubt(
            "columns must be counts of classes or ratings by annotators",
            f"{first_few(names)} have negative numbers, as ratings would",
            fix,
        )
        check_gaps(look, names)
        return
    sums = table.sum(axis=1)
    levels = on_a_grid(columns) or len(np.unique(table)) <= _MOST_LEVELS
    if not (table % 1 == 0).all() and np.median(np.abs(sums - 1)) > 0.1 and levels:
        look.doubt(
            "columns must be shares of classes or ratings by annotators",
            f"{first_few(names)} do not sum to 1, as shares would",
            fix,
        )
    if table.max() > 11 or look.rows < 8 or not (table % 1 == 0).all():
        return
    together = sums.var() > table.var(axis=0).sum() * 0.9 and len(np.unique(sums)) > 1
    no_zero = table.min() >= 1 and len(np.unique(sums)) > 1 and len(names) > 2
    if together or no_zero:
        look.doubt(
            "columns must be counts of classes or ratings by annotators",
            f"{first_few(names)} "
            + ("rise and fall together" if together else "are never 0")
            + ", as ratings would (say form='counts', --form counts, if they are counts)",
            fix,
        )


def guess_counts(look: Look) -> Reading | None:
    """Counts or shares in the columns that the caller named, or in all."""
    asked, columns = look.asked, look.columns
    form = asked.form or "counts"
    if not asked.classes:
        sure = asked.item or tuple(known("item", list(columns))[:1])
        return Reading(form=form, item=sure)
    block = [name for name in asked.classes if name in columns]
    if asked.form is None and not all(columns[name].whole for name in block):
        form = "probabilities"
    item, sure_item = find_row_item(look, block)
    classes = set(block)
    left = [name for name in look.names if name not in classes and name not in (item, asked.count)]
    rest = [
        name
        for name in left
        if (numbers := columns[name].numbers) is not None and not derived(name) and _belongs(look, numbers, block)
    ]
    forgotten = set(rest)
    if rest:
        look.doubt(
            "a column that looks like a class must be one or be ignored",
            f"{first_few(rest)} hold numbers like those of {block[0]!r}",
            {"ignored": (*asked.ignored, *rest)},
        )
    if not sure_item:
        look.doubt("the item column must be known", f"{item!r} may be", {"item": (item,) if item else ()})
    return Reading(
        form=form, item=(item,) if item else (), ignored=tuple(name for name in left if name not in forgotten)
    )


def _belongs(look: Look, numbers: Any, block: Sequence[str]) -> bool:
    """Whether a column of numbers may be a class that was forgotten: not the sum, not the winner, not a mean."""
    values = [look.columns[name].numbers for name in block]
    if any(one is None for one in values) or np.isnan(numbers).any() or (numbers < 0).any():
        return False
    table = np.column_stack(values)  # type: ignore[arg-type]
    sums = table.sum(axis=1)
    winner = table.max(axis=1)
    is_sum = np.allclose(numbers, sums)
    places = numbers.astype(int)
    by_place = [
        np.mean(
            [
                0 <= place - start < table.shape[1] and row[place - start] == best
                for row, place, best in zip(table, places, winner, strict=True)
            ]
        )
        for start in (0, 1)
    ]
    whole = all(look.columns[name].whole for name in block)
    same_kind = (numbers % 1 == 0).all() == whole
    constant = np.ptp(sums) == 0
    return bool(same_kind and not is_sum and max(by_place) < 0.9 and not constant and numbers.max() <= table.max())
