"""What is made of votes and stands beside them: a column of results among raters, a row of means among judges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from votewise._checks import first_few
from votewise.votes.columns import names_a_result, names_a_summary, stem
from votewise.votes.guessing.look import ROWS_THAT_TELL, Guess, Look
from votewise.votes.reading import Reading

Voice = Sequence[str | None]

# Items looked at, and voices among which a result is looked for by content.
_MOST_ITEMS = 1_000
_MOST_VOICES = 50

# Somebody who always says what most others say is a result if it is that unlikely of one of them.
_UNLIKELY = 0.01

# Footers of a table are no more rows than these.
_MOST_FOOTERS = 3


def doubt_results(look: Look, plan: Reading) -> None:
    """Doubt columns or rows of a table, taken for people, that are made of what the others say."""
    settled = Guess(look.asked.over(plan), tuple(look.doubts)).settled
    if settled.form == "survey" or settled.item_columns:
        _doubt_rows(look, settled)
    elif settled.form == "wide" or settled.raters:
        _doubt_columns(look, settled)
        _doubt_footers(look, settled)


def _doubt_columns(look: Look, plan: Reading) -> None:
    raters = [name for name in plan.raters if name in look.columns]
    if look.asked.raters or len(raters) < 3:
        return
    named = [name for name in raters if names_a_result(name)]
    named = named if 2 * len(named) < len(raters) and len(raters) - len(named) > 1 else []
    rest = [name for name in raters if name not in named]
    few = look.rows < ROWS_THAT_TELL or len(rest) > _MOST_VOICES
    voices = {} if named or few else {name: look.columns[name].cells.head(_MOST_ITEMS).to_list() for name in rest}
    made = _made_of_others(voices)
    made = {name: why for name, why in made.items() if not _one_of_them(name, rest)}
    # Of two that may be made of each other neither surely is.
    made = made if len(made) == 1 else {}
    odd = [*named, *made]
    if not odd:
        return
    why = next(iter(made.values()), "is named like what came of the votes")
    look.doubt(
        "every column of a wide table must be an annotator, or be ignored",
        f"{first_few(odd)} {why} (if it is an annotator, name all with raters=, --raters)",
        {"raters": tuple(name for name in raters if name not in odd)},
    )


def _one_of_them(name: str, names: Sequence[str]) -> bool:
    """Whether a column is called like the others: the third of numbered raters is a rater, however well they vote."""
    mine = stem(name)
    return mine is not None and all(stem(other) == mine for other in names)


def _made_of_others(voices: dict[str, list[str | None]]) -> dict[str, str]:
    """The voices that are made of the others, and how that shows."""
    made = {}
    same, told = _with_most(list(voices.values()))
    blank = max(voices, key=lambda name: sum(word is None for word in voices[name]), default=None)
    if blank is not None and _blank_where_all_agree(
        voices[blank], [voice for name, voice in voices.items() if name != blank]
    ):
        made[blank] = "is filled in only where the others differ"
    for place, name in enumerate(voices):
        if len(voices) > 3 and name not in made and _always(place, same, told):
            made[name] = "is what most of the others say, wherever most say one thing"
    return made


def _blank_where_all_agree(voice: Voice, others: Sequence[Voice]) -> bool:
    """Whether somebody speaks almost exactly where others, who hardly have gaps, differ: to settle it."""
    agreed = [len({word for word in said if word is not None}) < 2 for said in zip(*others, strict=True)]
    blank = [word is None for word in voice]
    filled = sum(word is not None for other in others for word in other)
    few_gaps = filled > 0.8 * len(voice) * len(others)
    as_agreed = sum(one == other for one, other in zip(agreed, blank, strict=True))
    return few_gaps and 3 <= sum(blank) <= len(blank) - 3 and as_agreed >= 0.9 * len(blank)


def _with_most(voices: Sequence[Voice]) -> tuple[list[int], list[int]]:
    """For each voice, how often it says what more than half of the others say, and how often they say one thing."""
    same, told = [0] * len(voices), [0] * len(voices)
    for said in zip(*voices, strict=True):
        counts = Counter(word for word in said if word is not None)
        ranked = counts.most_common(2)
        number = counts.total()
        for place, word in enumerate(said):
            if word is None:
                continue
            for other, times in ranked:
                if 2 * (times - (other == word)) > number - 1:
                    told[place] += 1
                    same[place] += other == word
    return same, told


def _always(place: int, same: Sequence[int], told: Sequence[int]) -> bool:
    """Whether a voice always says what most say, and others do so too seldom for that to be chance."""
    rest = sum(told) - told[place]
    share = (sum(same) - same[place]) / rest if rest else 1.0
    return same[place] == told[place] >= ROWS_THAT_TELL and len(told) * share ** told[place] < _UNLIKELY


@dataclass(frozen=True)
class _Row:
    """A row at the edge of a table, by what names it."""

    name: str
    cells: list[str | None]


def _doubt_rows(look: Look, plan: Reading) -> None:
    """Doubt people, rows, that are the mean or the majority of the others, or are named so."""
    person = plan.annotator
    told = {condition.partition("=")[0].strip() for condition in look.asked.without}
    items = [name for name in plan.item_columns if name in look.columns][:_MOST_ITEMS]
    if person not in look.columns or person in told or not look.whole or look.rows < 4 or len(items) < 2:
        return
    names = look.columns[person].cells.to_list()
    odd = [name for name in dict.fromkeys(names) if name and (names_a_result(name) or names_a_summary(name))]
    why = f"{'is' if len(odd) == 1 else 'are'} named like what is made of votes"
    if 2 * len(odd) >= len(names):
        odd = []
    chosen = look.asked.annotator and look.asked.item_columns
    if not odd and not chosen and len(names) <= _MOST_VOICES:
        columns = [look.columns[name].cells.to_list() for name in items]
        rows = [_Row(name or "", list(cells)) for name, cells in zip(names, zip(*columns, strict=True), strict=True)]
        for row, others in ((rows[-1], rows[:-1]), (rows[0], rows[1:])):
            voices = [one.cells for one in others]
            if row.name and _is_mean(row.cells, voices):
                odd, why = [row.name], "is the mean of the others"
            elif row.name and len(others) > 2 and _always(-1, *_with_most([*voices, row.cells])):
                odd, why = [row.name], "says what most others say, wherever most say one thing"
    if odd:
        _leave_out(look, person, odd, why)


def _leave_out(look: Look, column: str, values: Sequence[str], why: str) -> None:
    fixes = [doubt.fix for doubt in look.doubts if doubt.fix and "without" in doubt.fix]
    before = fixes[-1]["without"] if fixes else look.asked.without
    without = tuple(dict.fromkeys((*before, *(f"{column}={value}" for value in values))))
    if without != before:
        look.doubt(
            "each row must be an item or a vote", f"{first_few(values)} in {column!r} {why}", {"without": without}
        )


def _is_mean(cells: Voice, others: Sequence[Voice]) -> bool:
    """Whether numbers are the means of those of others in every column, to more places than others have."""
    compared, finer = 0, False
    for place, cell in enumerate(cells):
        said = [_number(other[place]) for other in others]
        mine, numbers = _number(cell), [number for number in said if number is not None]
        if mine is None or cell is None or not numbers:
            continue
        digits = max(_places(other[place] or "") for other in others)
        if abs(sum(numbers) / len(numbers) - mine) > 0.5 * 10.0 ** -_places(cell) + 1e-9:
            return False
        compared, finer = compared + 1, finer or _places(cell) > digits
    return finer and compared > 2


def _number(cell: str | None) -> float | None:
    return float(cell.replace(",", ".")) if cell and re.fullmatch(r"-?\d+([.,]\d+)?", cell) else None


def _places(cell: str) -> int:
    """The digits after the point."""
    found = re.fullmatch(r"-?\d+[.,](\d+)", cell)
    return len(found[1]) if found else 0


def _doubt_footers(look: Look, plan: Reading) -> None:
    """Doubt items, rows at the end, that hold a statistic: named so, or the only ones with parts of numbers."""
    told = {condition.partition("=")[0].strip() for condition in look.asked.without}
    item = next((name for name in plan.item if name in look.columns), None)
    raters = [look.columns[name] for name in plan.raters if name in look.columns]
    if item is None or item in told or not look.whole or look.rows <= 2 * _MOST_FOOTERS or len(raters) < 2:
        return
    cells = look.columns[item].cells
    first, names = cells.head(1).to_list(), cells.tail(_MOST_FOOTERS).to_list()
    tails = [column.cells.tail(_MOST_FOOTERS).to_list() for column in raters]
    whole = not any(
        _has_parts(word) and column.times[word] > tail.count(word)
        for column, tail in zip(raters, tails, strict=True)
        for word in column.values
    )
    said_above = {
        word
        for column, tail in zip(raters, tails, strict=True)
        for word in column.values
        if column.times[word] > tail.count(word)
    }
    odd = []
    for name, *said in reversed(list(zip(names, *tails, strict=True))):
        parts = whole and any(map(_has_parts, said))
        own = parts or any(word not in said_above for word in said if word is not None)
        is_statistic = names_a_summary(name or "", wholly=not own) or (
            parts and not _one_of_them(name or "", [word or "" for word in first])
        )
        if name and is_statistic and look.columns[item].times[name] == 1:
            odd.append(name)
        elif any(word is not None for word in said):
            break
    if odd:
        _leave_out(look, item, odd, "may be a statistic below the votes")


def _has_parts(cell: str | None) -> bool:
    return cell is not None and re.fullmatch(r"-?\d*[.,]\d+", cell) is not None
