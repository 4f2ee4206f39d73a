"""One row per item and one column per annotator."""

from __future__ import annotations

import itertools
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from votewise._checks import first_few
from votewise.votes.columns import (
    derived,
    is_unnamed,
    known,
    names_a_form,
    says,
    says_no_answer,
    says_nothing,
    says_unsure,
    speaks_of_raters,
    stem,
)
from votewise.votes.guessing.look import (
    ROWS_THAT_TELL,
    Look,
    agreement,
    find_row_item,
    first_of,
    holds_single_votes,
    names_the_greatest,
)
from votewise.votes.profile import Column, unique_pairs
from votewise.votes.reading import Reading


def numbered_blocks(look: Look) -> dict[str, list[str]]:
    """Numbered columns by their stem: Score1, Score2, ..."""
    blocks = defaultdict(list)
    for name in look.names:
        found = stem(name)
        if found is not None and found != "#":
            blocks[found].append(name)
    return {name: members for name, members in blocks.items() if len(members) > 1}


def guess_numbered_raters(look: Look) -> Reading | None:
    """A wide table whose raters are numbered columns."""
    blocks = numbered_blocks(look)
    raters = {
        name: members
        for name, members in blocks.items()
        if speaks_of_raters(name) and _one_value_set(look, members) and not _are_shares(look, members)
    }
    # Blocks of ids beside a block of what was said: TurkId1, ... beside Score1, ...
    said = {len(members) for name, members in raters.items() if not says("annotator", name.replace("#", ""))}
    raters = {
        name: members
        for name, members in raters.items()
        if not (says("annotator", name.replace("#", "")) and len(members) in said)
    }
    # What is numbered are items if each row is one annotator's.
    letters = all(len(name) == 2 for name in raters)  # S1, S2, ... may be subjects as well as statements
    people = [
        name
        for name in look.names
        if look.columns[name].distinct == look.rows > 1
        and (says("annotator", name) or (letters and names_a_form(name)))
    ]
    if not raters or any(name not in block for name in people for block in raters.values()):
        return None
    return _with_raters(look, raters)


def _check_counts(look: Look, block: Sequence[str]) -> None:
    """Doubt numbered columns of numbers that may be counts of classes."""
    numbers = [column.numbers for column in (look.columns[one] for one in block) if column.numbers is not None]
    if len(numbers) < len(block):
        return
    total = np.sum([np.nan_to_num(one) for one in numbers], axis=0)
    if look.rows >= ROWS_THAT_TELL and len(np.unique(total)) == 1:
        look.doubt(
            "columns must be annotators or counts of classes",
            f"{first_few(block)} sum to {total[0]:g} in every row, as counts would "
            f"(say form='counts', --form counts, if they are)",
            {"raters": tuple(block)},
        )
    elif _rather_counts(look, block):
        look.doubt(
            "columns must be annotators or counts of classes",
            f"{first_few(block)} are whole numbers that do not rise and fall together, as counts would be "
            "(say what they are with raters= or classes=, --raters or --classes)",
            {"raters": (), "form": "counts", "classes": tuple(block)},
        )


def _rather_counts(look: Look, block: Sequence[str]) -> bool:
    """Whether numbers without gaps, some of them 0, vary independently: people who rate the same items would not."""
    tables = [column.numbers for column in (look.columns[name] for name in block) if column.numbers is not None]
    if look.rows < 8 or len(tables) < len(block):
        return False
    table = np.column_stack(tables)
    if np.isnan(table).any() or table.min() != 0 or (table % 1 != 0).any() or table.max() < 2:
        return False
    return bool(table.sum(axis=1).var() < 1.1 * table.var(axis=0).sum())


def on_a_grid(columns: Iterable[Column]) -> bool:
    """Whether numbers are quarters at the finest, and few: levels of a scale."""
    values = {value for column in columns if column.numbers is not None for value in np.unique(column.numbers)}
    return len({value for value in values if value == value}) <= 25 and all(
        float(value) % 0.25 == 0 for value in values if value == value
    )


def _are_shares(look: Look, members: Sequence[str]) -> bool:
    numbers = [look.columns[name].numbers for name in members]
    if any(one is None for one in numbers):
        return False
    sums = np.sum(numbers, axis=0)  # type: ignore[arg-type]
    return bool((np.abs(sums - 1) < 0.02).all()) and any(not look.columns[name].whole for name in members)


def _one_value_set(look: Look, members: Sequence[str]) -> bool:
    """Whether columns share one set of few values, as the answers to one question do."""
    columns = [look.columns[name] for name in members]
    words = {word for column in columns for word in column.values[:200]}
    most = max(column.distinct for column in columns)
    small = len(words) <= 30 or len(words) <= look.rows / 3
    is_text = any(column.kind in ("text", "dates", "lists") for column in columns)
    numbers = all(column.numbers is not None for column in columns)
    if numbers and not all(column.whole for column in columns) and not on_a_grid(columns):
        return False
    shared = look.rows < ROWS_THAT_TELL or len(words) <= 2 * most + 2
    return small and not is_text and shared


def _with_raters(look: Look, raters: dict[str, list[str]]) -> Reading | None:
    asked, columns = look.asked, look.columns
    name, block = max(raters.items(), key=lambda one: len(one[1]))
    if len(raters) > 1:
        look.doubt(
            "one question must be the one whose answers are votes",
            f"several blocks of columns may hold them ({first_few([members[0] for members in raters.values()])}, ...)",
            {"raters": tuple(block)},
        )
    ids = next(
        (
            members
            for other, members in numbered_blocks(look).items()
            if other != name and len(members) == len(block) and says("annotator", other.replace("#", ""))
        ),
        [],
    )
    siblings = [
        members
        for other, members in numbered_blocks(look).items()
        if other != name
        and other.partition("#")[0] == name.partition("#")[0]
        and members != ids
        and len(members) > 1
        and all(columns[one].is_few for one in members)
        and not derived(other.partition("#")[2])
    ]
    if siblings and len(raters) == 1:
        look.doubt(
            "one question must be the one whose answers are votes",
            f"several blocks may hold them ({first_few([members[0] for members in (block, *siblings)])}, ...)",
            {"raters": tuple(block)},
        )
    taken = {*block, *ids}
    if not says("annotator", name.replace("#", "")):
        _check_counts(look, block)
    item, sure = find_row_item(look, list(taken))
    if item is None and asked.form is None and len(look.names) > len(taken):
        others = [one for one in look.names if one not in taken]
        repeated = [one for one in others if says("item", one)]
        key = row_key(look, repeated) or _wider_key(look, name, others, repeated)
        if repeated and not key:
            return None
        if key:
            check_gaps(look, block)
            return Reading(form="wide", item=key, raters=tuple(block), rater_ids=tuple(ids))
    others = [one for one in look.names if one not in taken and one != item]
    words = {word for one in block for word in columns[one].values}
    for one in others:
        alike = set(columns[one].values) <= words and columns[one].distinct > 1 and columns[one].is_few
        if alike and not derived(one) and not known("truth", [one]):
            look.doubt(
                "a column that looks like an annotator must be used or ignored",
                f"{one!r} has the values of {block[0]!r} (if it is one, name all with raters=, --raters)",
                {"ignored": (*asked.ignored, one), "raters": tuple(block)},
            )
            break
    if not sure:
        look.doubt("the item column must be known", f"{item!r} may be", {"item": (item,) if item else ()})
    check_gaps(look, block)
    return Reading(form="wide", item=(item,) if item else (), raters=tuple(block), rater_ids=tuple(ids))


def _wider_key(look: Look, stem: str, others: Sequence[str], repeated: Sequence[str]) -> tuple[str, ...]:
    """Columns that name an item together with one that is called so, beside columns of annotators; doubted."""
    few = [one for one in others if look.columns[one].kind in ("ids", "few values")]
    key = row_key(look, few) if says("annotator", stem.replace("#", "")) else ()
    if not {*key} & {*repeated}:
        return ()
    look.doubt("the item column must be known", f"{' and '.join(key)} together may be", {"item": key})
    return key


def _names_voters(look: Look, names: Sequence[str]) -> bool:
    """Whether a column names annotators, who recur, and each has one row of what another column names."""
    columns = look.columns
    return any(
        says("annotator", one)
        and 1 < 2 * columns[one].distinct <= look.rows
        and any(
            other != one and 1 < columns[other].distinct < look.rows and unique_pairs([columns[one], columns[other]])
            for other in names
        )
        for one in names
    )


def row_key(look: Look, names: Sequence[str]) -> tuple[str, ...]:
    """The fewest of some columns, two or three, that together differ in every row; nothing if there are none."""
    full = [name for name in names if look.columns[name].filled == look.rows][:8]
    for number in (2, 3):
        for some in itertools.combinations(full, number):
            if unique_pairs(look.columns[name] for name in some):
                return some
    return ()


def check_gaps(look: Look, raters: Sequence[str]) -> None:
    """Doubt -1 where it may be a gap as well as a class: beside 1, or beside blanks."""
    asked = look.asked
    if "-1" in asked.gaps or "-1" in asked.classes or asked.bins:
        return
    columns = [look.columns[name] for name in raters if name in look.columns]
    marks = {mark for column in columns for mark in column.marks} & {"NA", "N/A"}
    if (
        marks
        and not asked.classes
        and not marks <= set(asked.gaps)
        and any(column.cells.null_count() for column in columns)
    ):
        mark = min(marks)
        named = sorted({word for column in columns for word in column.values} | marks)
        look.doubt(
            f"{mark} must be a class or mean that there is no answer",
            f"it stands beside blank cells (if it means 'no answer', say gap={mark!r}, --gap {mark})",
            {"classes": tuple(named)},
        )
        return
    check_words(look, columns)
    words = {_plain(word) for column in columns for word in column.values}
    if "-1" not in words or any(word.startswith("-") and word[1:].isdigit() and word != "-1" for word in words):
        return
    blank = any(column.filled < len(column.cells) for column in columns)
    if words <= {"-1", "0", "1"} or blank or _agreed_on(columns):
        beside = "blank cells" if blank else "1" if words <= {"-1", "0", "1"} else "others, and raters agree on it"
        order = ",".join(sorted(words, key=lambda word: (len(word.lstrip("-")), word)))
        numbers = sorted((word for word in words if word.lstrip("-").isdigit()), key=int)
        order = ",".join(numbers) if len(numbers) == len(words) else order
        look.doubt(
            "-1 must be a class or mean that nobody was asked",
            f"it stands beside {beside} (if it means 'not asked', say gap='-1', --gap=-1)",
            {"classes": tuple(order.split(","))},
        )


def check_words(look: Look, columns: Sequence[Column], items: npt.NDArray[np.int64] | None = None) -> None:
    """Doubt words that may say that there is no answer; where raters agree on them, they are classes sooner.

    Args:
        look: the table.
        columns: what was said.
        items: the item of each row; each row is one if left out.
    """
    asked = look.asked
    every = sorted({word for column in columns for word in column.values} - {*asked.gaps, *asked.classes})
    if "+" in every and any("-" in column.marks for column in columns):
        every.append("-")
    may = [word for word in every if says_no_answer(word, perhaps=True)]
    if len(every) - len(may) < 2:  # present and absent, pass and fail
        may = [word for word in every if says_no_answer(word)]
    may = [word for word in may if word != "NE" or not {"N", "S", "E", "W", "NW", "SE", "SW"} & {*every}]
    gaps = [word for word in may if not _agreed_on(columns, word, items)]
    unsure = [word for word in every if says_unsure(word) and not _agreed_on(columns, word, items)]
    words = [*(word for word in may if word in gaps or says_no_answer(word)), *unsure]
    if not words or asked.bins or asked.classes or len(words) == len(every):
        return
    said = ",".join(words)
    fix = {"gaps": (*asked.gaps, *gaps)} if gaps else {"classes": tuple(every)}
    other = (
        f"if it is a class, say classes='{','.join(every)}', --classes"
        if gaps
        else f"if it means 'no answer', say gap={said!r}, --gap {shlex.quote(said)}"
    )
    look.doubt(
        "a word must be a class or mean that there is no answer", f"{first_few(words)} may be either ({other})", fix
    )


def _agreed_on(columns: Sequence[Column], word: str = "-1", items: npt.NDArray[np.int64] | None = None) -> bool:
    """Whether raters agree on a word in an item beyond chance, as on a class; nobody agrees on not being asked."""
    import polars as pl

    said = pl.concat([column.cells.alias("said") == word for column in columns])
    rows = np.tile(np.arange(len(columns[0].cells)) if items is None else items, len(columns))
    most = rows.max(initial=0) >= ROWS_THAT_TELL and 0 < said.mean() < 0.5  # type: ignore[operator]
    return bool(most and agreement(rows, Column("said", said.cast(pl.String))) > 0.15)


def _plain(word: str) -> str:
    return word.partition(".")[0] if word.endswith(".0") else word


def guess_wide(look: Look) -> Reading | None:
    """A wide table whose raters, or whose form, the caller named."""
    asked = look.asked
    if asked.raters:
        item, sure = find_row_item(look, [*asked.raters, *asked.rater_ids])
        if not sure:
            look.doubt("the item column must be known", f"{item!r} may be", {"item": (item,) if item else ()})
        check_gaps(look, asked.raters)
        return Reading(form="wide", item=(item,) if item else ())
    blocks = {name: members for name, members in numbered_blocks(look).items() if speaks_of_raters(name)}
    members_of_blocks = {name for members in blocks.values() for name in members}
    rest = [name for name in look.columns if name not in members_of_blocks]
    if len(blocks) == 1 and len(rest) <= 1:
        block = next(iter(blocks.values()))
        check_gaps(look, block)
        return Reading(form="wide", item=tuple(rest), raters=tuple(block))
    if len(blocks) == 1 and (found := _with_raters(look, blocks)) is not None:
        return found
    sure_item = asked.item or tuple(known("item", list(look.columns))[:1])
    raters = [name for name in look.columns if name not in sure_item and not (sure_item and is_unnamed(name))]
    if not sure_item:
        first = _first_column_of_ids(look, raters)
        sure_item = (first,) if first is not None else ()
        raters = [name for name in raters if name not in sure_item and not (sure_item and is_unnamed(name))]
    check_gaps(look, raters)
    odd = [name for name in raters if name in look.columns and look.columns[name].kind in ("text", "dates", "lists")]
    if odd and len(raters) - len(odd) >= 1:
        look.doubt(
            "every column of a wide table must be an annotator",
            f"{first_few(odd)} have values of their own",
            {"raters": tuple(name for name in raters if name not in odd)},
        )
    return Reading(form="wide", item=sure_item, raters=tuple(raters))


def _first_column_of_ids(look: Look, names: Sequence[str]) -> str | None:
    """The first column, if it surely names items: a different value in each row, none of them a label.

    Annotators may be few and disagree, so a column of numbers counts only where the others are named like annotators.
    """
    if len(names) < 3 or look.rows < 2:
        return None
    name, *rest = names
    first, others = look.columns[name], [look.columns[one] for one in rest]
    numbered = all((found := stem(one)) is not None and speaks_of_raters(found) for one in rest)
    if (
        name.isdigit()
        or (first.numbers is not None and not numbered)
        or ((one := stem(name)) and speaks_of_raters(one))
    ):
        return None
    shared = set(first.values) & {word for column in others for word in column.values}
    return name if first.distinct == look.rows and not shared else None


def sharing_values(look: Look, names: Sequence[str]) -> list[list[str]]:
    """Columns in groups that share values, directly or through others."""
    parent = list(range(len(names)))

    def group(column: int) -> int:
        while parent[column] != column:
            parent[column] = column = parent[parent[column]]
        return column

    first_with: dict[str, int] = {}
    for column, name in enumerate(names):
        for word in look.columns[name].values:
            other = first_with.setdefault(word, column)
            if other != column:
                parent[group(other)] = group(column)
    groups: dict[int, list[str]] = defaultdict(list)
    for column in reversed(range(len(names))):  # so that the group of the last column comes last
        groups[group(column)].append(names[column])
    found = [members[::-1] for members in reversed(groups.values()) if len(members) > 1]
    # Where ids have values in common, too, those with fewer are the classes.
    return sorted(found, key=lambda members: len({word for one in members for word in look.columns[one].values}))


def guess_shared_values(look: Look) -> Reading | None:
    """Columns of few values with values in common, beside others: perhaps annotators, never without asking."""
    columns = look.columns
    item, _ = find_row_item(look, [])
    few = [
        name
        for name in look.names
        if name != item and columns[name].is_few and columns[name].distinct > 1 and not derived(name)
    ]
    groups = sharing_values(look, few)
    nameless = look.asked.header_rows == 0
    if not groups or (item is None and not nameless) or holds_single_votes(look):
        return None
    items = (item,) if item is not None else ()
    block = max(groups, key=len)
    won = [name for name in block if names_the_greatest(look, name, [one for one in block if one != name])]
    if _rather_counts(look, block) and len(block) > 1 + len(won) > 1:
        block = [name for name in block if name not in won[:1]]
    if _rather_counts(look, block):
        _check_counts(look, block)
        return Reading(form="counts", item=items, classes=tuple(block))
    if not nameless:
        block = list(without_nameless(look, block, winner_of(look, block)))
    look.doubt(
        "columns with the same values must be annotators or questions",
        f"{first_few(block)} may be either",
        {"raters": tuple(block), "item": items},
    )
    check_gaps(look, block)
    return Reading(form="wide", item=items, raters=tuple(block))


def without_nameless(look: Look, block: Sequence[str], winner: str | None) -> tuple[str, ...]:
    """The columns without those that are no annotators: what most others say, and what has values of its own.

    Somebody with a name may be that good, or that odd.
    """
    said = Counter(word for name in block for word in look.columns[name].values)
    own = {
        name
        for name in block
        if len(block) > 3
        and any(said[word] == 1 and (look.columns[name].cells == word).sum() > 2 for word in look.columns[name].values)
    }
    left = tuple(name for name in block if not says_nothing(name) or (name != winner and name not in own))
    return left if len(left) > 1 else tuple(block)


def crossed(names: Sequence[str]) -> list[list[str]]:
    """Columns grouped by the first part of their names, where each group has the same second parts: questions."""
    for mark in (" - ", ": ", " / ", "/", "::", ":", "__", ".", " ", "_", "-"):
        parts = [name.rpartition(mark) for name in names]
        groups: dict[str, list[str]] = defaultdict(list)
        for first, _, last in parts:
            groups[first].append(last)
        ends = {tuple(last) for last in groups.values()}
        if "" not in groups and len(groups) > 1 and len(ends) == 1 and len(next(iter(ends))) > 1:
            return [[f"{first}{mark}{last}" for last in group] for first, group in groups.items()]
    return []


def winner_of(look: Look, block: Sequence[str]) -> str | None:
    """A column that always says what most of the others say; None if there is none, or too few rows to tell."""
    if len(block) < 4 or look.rows < ROWS_THAT_TELL:
        return None
    told = dict.fromkeys(range(len(block)), 0)  # for each column left: rows in which the others clearly agree with it
    for row in zip(*(look.columns[name].cells.to_list() for name in block), strict=True):
        counts = Counter(cell for cell in row if cell is not None)
        (_, best), (_, second) = (counts.most_common(2) + [(None, 0)] * 2)[:2]
        for place in list(told):
            others = counts[row[place]] - 1 if row[place] is not None else 0
            most = second if others + 1 == best else best  # that any other word has
            if others < max(most, 1):
                del told[place]
            else:
                told[place] += others > most
        if not told:
            return None
    return next((block[place] for place, rows in told.items() if rows > look.rows / 2), None)


def guess_shared_words(look: Look) -> Reading | None:
    """A wide table of words: each column uses a word that another one uses, too."""
    asked, columns = look.asked, look.columns
    names = look.names
    item = asked.item[0] if asked.item else first_of(known("item", names))
    texts = [name for name in names if name != item and columns[name].numbers is None]
    few = [name for name in texts if columns[name].kind in ("few values", "one value", "ids") and not derived(name)]
    block = max(sharing_values(look, few), key=len, default=[])
    if len(block) < 2 or holds_single_votes(look) or _names_voters(look, [name for name in names if name not in block]):
        return None
    numbers = [name for name in names if columns[name].numbers is not None and columns[name].distinct < look.rows]
    if len(numbers) > len(block) and _rather_counts(look, numbers):
        return None
    winner = winner_of(look, block)
    kept = without_nameless(look, block, winner)
    if item is None and block != names:
        item, _ = find_row_item(look, block)
    sharing = {*block, item}
    others = [name for name in names if name not in sharing]
    odd = [name for name in texts if name not in sharing]
    questions = crossed(block)
    if questions:
        look.doubt(
            "one question must be the one whose answers are votes",
            f"{first_few(block)} name {len(questions)} of them for each annotator",
            {"raters": tuple(questions[0]), "item": (item,) if item else ()},
        )
        block = list(questions[0])
    elif others or odd:
        look.doubt(
            "every column of a wide table must be an annotator, or be ignored",
            f"{first_few(block)} share values; {first_few(others or odd)} do not",
            {"raters": kept, "item": (item,) if item else ()},
        )
    elif any(says("label", name) or derived(name) or says("item", name) or says_nothing(name) for name in block):
        look.doubt(
            "columns with the same values must be annotators or questions",
            f"{first_few(block)} may be either",
            {"raters": kept, "item": (item,) if item else ()},
        )
    elif winner is not None:
        look.doubt(
            "every column of a wide table must be an annotator, or be ignored",
            f"{winner!r} is what most of the others say in every row",
            {"raters": tuple(name for name in block if name != winner), "item": (item,) if item else ()},
        )
    if item is not None and columns[item].distinct < look.rows:
        return None
    check_gaps(look, block)
    return Reading(form="wide", item=(item,) if item else (), raters=tuple(block))
