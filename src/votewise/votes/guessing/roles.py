"""Who is the item and who the annotator: names propose, content confirms."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from votewise._checks import first_few
from votewise.votes.columns import derived, known, mentions, orders, says
from votewise.votes.guessing.look import (
    ROWS_THAT_TELL,
    Look,
    agreement,
    all_same_parts,
    by_name,
    first_of,
    holds_single_votes,
    recurs,
    same_parts,
    several_valued,
    told_by,
    unique_by_design,
)
from votewise.votes.profile import BITS, Column, determines, joint_codes, unique_pairs


def item_order(look: Look, taken: Sequence[str]) -> list[tuple[str, ...]]:
    """The columns that may name items, those named so first."""
    if look.asked.item:
        return [look.asked.item]
    sure, vague = by_name(look, "item", taken)
    others = [
        name
        for name in look.names
        if name not in (*sure, *vague, *taken)
        and look.columns[name].kind in ("ids", "text", "few values")
        and not derived(name)
        and not says("annotator", name)
        and not says("label", name)
    ]
    others.sort(key=lambda name: -look.columns[name].distinct)
    # A name that speaks against an item counts less than cells that speak for one.
    last = [
        name
        for name in look.names
        if name not in (*sure, *vague, *taken, *others)
        and look.columns[name].kind in ("ids", "text")
        and not says("annotator", name)
        and look.columns[name].numbers is None
    ]
    return [(name,) for name in (*sure, *vague, *others, *last)]


def people_order(look: Look, taken: Sequence[str]) -> list[str]:
    """The columns named like annotators that may be them."""
    sure, vague = by_name(look, "annotator", taken)
    return [name for name in (*sure, *vague) if _may_be_person(look.columns[name])]


def _may_be_person(column: Column) -> bool:
    return column.kind in ("ids", "few values", "one value", "text") and column.split is None


def find_pair(
    look: Look, items: Sequence[tuple[str, ...]], people: Sequence[str], label: str | None
) -> tuple[tuple[str, ...] | None, str | None]:
    """Item and annotator: the first by name, if no annotator has two rows of an item; else those that make it so."""
    sure_items = known("item", several_valued(look, [name for name in look.names if name not in (label, *people)]))
    sure_people = known("annotator", [name for name in look.names if name != label])
    if not look.asked.annotator and len(sure_people) > 1:
        # Who wrote an item is told by it; who judges it is not.
        told = [name for name in sure_people if any(told_by(look, item, name) for item in items if item[0] != name)]
        sure_people = [name for name in sure_people if name not in told] or sure_people
        people = [name for name in people if name not in told] or people
    person = first_of(people)
    if not look.asked.annotator and not all_same_parts(look, sure_people):
        look.doubt(
            "one column must be the annotator",
            f"{first_few(sure_people)} could all be",
            {"annotator": sure_people[0]},
        )
    if look.asked.item:
        return _checked_pairs(look, look.asked.item, person, label), person
    if not all_same_parts(look, sure_items):
        best = _best_item(look, [(name,) for name in sure_items], person, label) or (sure_items[0],)
        if person is not None and not unique_pairs([look.columns[best[0]], look.columns[person]]):
            best = _make_unique(look, best, person, label) or best
        look.doubt("one column must be the item", f"{first_few(sure_items)} could all be", {"item": best})
        return best, person
    if person is not None:
        return _item_of_people(look, items, person, label), person
    if sure_items:
        return (sure_items[0],), None
    recurring = [(name,) for (name,) in items if recurs(look, name)]
    speaking = [(name,) for (name,) in recurring if says("item", name)]
    if not holds_single_votes(look):
        once = [(name,) for (name,) in items if look.columns[name].distinct == look.rows]
        speaking += [one for one in once if mentions("item", one[0])]
    return next(iter(speaking), None), None


def item_by_content(look: Look, items: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The item where no name speaks for one, and nobody is known: a column that recurs, in which answers agree."""
    columns = look.columns
    found = next(
        (
            one
            for one in items
            if recurs(look, one[0]) and columns[one[0]].kind != "few values" and _is_judged(look, one[0])
        ),
        None,
    )
    if found is not None:
        look.doubt("the item column must be known", f"{found[0]!r} may be", {"item": found})
    return found


def _is_judged(look: Look, name: str) -> bool:
    """Whether answers agree in the values of a column, as far as there are enough of them to tell."""
    columns = look.columns
    answers = [one for one in look.names if one != name and columns[one].is_few and columns[one].distinct > 1]
    return look.rows < ROWS_THAT_TELL or any(agreement(columns[name].codes, columns[one]) > 0.1 for one in answers)


def _item_of_runs(look: Look, run: str, items: Sequence[tuple[str, ...]], person: str) -> tuple[str, ...] | None:
    """The item where a column names single votes; annotators may have voted again on a few items. Doubted."""
    if look.rows < 2 * ROWS_THAT_TELL or look.columns[run].distinct < look.rows:
        return None
    for item in items:
        column = look.columns[item[0]]
        pairs = len(np.unique(joint_codes([column, look.columns[person]])))
        often = 2 * column.distinct <= look.rows and column.filled == look.rows
        if often and column.distinct > 3 and pairs >= 0.9 * look.rows and _is_judged(look, item[0]):
            look.doubt(
                "the item column must name items",
                f"{run!r} has a value of its own in every row, as votes have; {item[0]!r} may name items",
                {"item": item, "annotator": person},
            )
            return item
    return None


def _item_of_people(
    look: Look, items: Sequence[tuple[str, ...]], person: str, label: str | None
) -> tuple[str, ...] | None:
    """The item where the annotator is known: no annotator has two rows of one."""
    columns = look.columns
    best = _best_item(look, items, person, label)
    first = items[0] if items else None
    if first is None or not (known("item", first) or says("item", first[0])):
        first = None
    elif best is None and not known("item", first) and (found := _item_of_runs(look, first[0], items, person)):
        return found
    elif best is None or best == first or same_parts(look, first[0], best[0]):
        return _checked_pairs(look, first, person, label)
    if best is None:
        pair = _two_columns(look, person, label)
        if pair is not None:
            got = f"no column alone names items; {' and '.join(pair)} may"
            look.doubt("the item column must be known", got, {"item": pair})
        return pair
    if first is not None and known("item", first):
        look.doubt(
            "the item column must name items",
            f"{first[0]!r} has {columns[first[0]].distinct:,} values for {look.rows:,} rows, and in {best[0]!r} no "
            "annotator has two rows of an item",
            {"item": best},
        )
        return best
    _rival_items(look, best, items, person)
    return best


def _rival_items(look: Look, best: tuple[str, ...], items: Sequence[tuple[str, ...]], person: str) -> None:
    """Doubt an item or annotator of unknown name, or an item that another column could be as well."""
    rivals = [
        other
        for other in items
        if other != best
        and says("item", other[0])
        and _fits(look, other, person)
        and not same_parts(look, other[0], best[0])
    ]
    by_design = look.rows >= ROWS_THAT_TELL and look.whole and known("annotator", [person]) and len(best) == 1
    alone = not rivals and by_design and unique_by_design(look, best[0], person) and not derived(best[0])
    if alone and not any(_fits(look, other, person) and not same_parts(look, other[0], best[0]) for other in items):
        return
    if rivals or not says("item", best[0]):
        look.doubt(
            "the item column must be known",
            f"{first_few([best[0], *(other[0] for other in rivals)])} may name items",
            {"item": best, "annotator": person},
        )
    elif not known("annotator", [person]) and not says("annotator", person):
        look.doubt("the annotator column must be known", f"{person!r} may be", {"annotator": person})


def _fits(look: Look, item: tuple[str, ...], person: str) -> bool:
    """Whether items recur, each annotator has one row of each, and neither tells the other."""
    column = look.columns[item[0]]
    return (
        recurs(look, item[0])
        and unique_pairs([column, look.columns[person]])
        and (look.rows < ROWS_THAT_TELL or not determines(look.columns[person], column))
        and column.distinct > 1
    )


def _best_item(
    look: Look, items: Sequence[tuple[str, ...]], person: str | None, label: str | None
) -> tuple[str, ...] | None:
    fitting = [item for item in items if item[0] != label and person is not None and _fits(look, item, person)]
    # Of columns that tell the same rows apart, the shorter names make the better ids.
    for item in fitting:
        same = [
            other
            for other in fitting
            if says("item", other[0]) == says("item", item[0]) and same_parts(look, item[0], other[0])
        ]
        if known("item", [item[0]]):
            return item
        return min(same, key=lambda one: (look.columns[one[0]].kind == "text", items.index(one)))
    return None


def _two_columns(look: Look, person: str, label: str | None) -> tuple[str, str] | None:
    """Two columns that together name items, where none does alone."""
    columns = look.columns
    free = [
        name
        for name in look.names
        if name not in (person, label)
        and columns[name].kind in ("ids", "few values", "text")
        and not says("label", name)
    ]
    for one, other in itertools.combinations(free[:20], 2):
        codes = joint_codes([columns[one], columns[other]])
        recurs = 2 * len(np.unique(codes)) <= look.rows
        if (
            recurs
            and unique_pairs([columns[one], columns[other], columns[person]])
            and not same_parts(look, one, other)
        ):
            return one, other
    return None


def _make_unique(look: Look, item: tuple[str, ...], person: str, label: str | None) -> tuple[str, ...] | None:
    """The item with the column, or the two, that leave no annotator two rows of an item."""
    columns = look.columns
    again = 1 - len(np.unique(joint_codes(columns[one] for one in (*item, person)))) / look.rows
    free = [
        name
        for name in look.names
        if name not in (*item, person, label)
        and columns[name].kind not in ("dates", "numbers", "empty", "lists", "one value")
        and columns[name].filled == look.rows
        # What is seldom needed to tell rows apart says of a second answer what it is, not of which item.
        and (again > 0.3 or not (derived(name) or set(columns[name].values) <= BITS.keys()))
    ]
    for number in (1, 2):
        found = []
        for names in itertools.combinations(free if number == 1 else free[:12], number):
            both = [*(columns[one] for one in item), *(columns[name] for name in names)]
            if not unique_pairs([*both, columns[person]]):
                continue
            times = look.rows / max(len(np.unique(joint_codes(both))), 1)
            unlike = sum(not says("item", name) for name in names)
            found.append((unlike, sum(orders(name) or derived(name) for name in names), -times, names))
        if found:
            break
    if not found:
        return None
    _, _, times, names = min(found)
    if look.rows >= ROWS_THAT_TELL and look.whole and -times < 1.2:
        return None
    alone = [look.columns[names[0]], look.columns[person]]
    if len(names) == 1 and unique_pairs(alone) and determines(look.columns[names[0]], look.columns[item[0]]):
        return names
    return tuple(one for one in columns if one in (*item, *names))


def _checked_pairs(look: Look, item: tuple[str, ...], person: str | None, label: str | None) -> tuple[str, ...]:
    """The item; where an annotator has two rows of it, doubted, with the columns that make them different items."""
    if person is None or look.asked.duplicates or look.asked.several == "each":
        return item
    columns = [look.columns[name] for name in item if name in look.columns]
    if len(columns) < len(item) or person not in look.columns or unique_pairs([*columns, look.columns[person]]):
        return item
    wider = _make_unique(look, item, person, label)
    if wider is None or wider == item:
        _taken_back(look, item, person)
        return item
    added = [name for name in wider if name not in item]
    look.doubt(
        "an annotator may vote on an item only once",
        f"in {' + '.join(item)} some have several rows; with {' and '.join(map(repr, added))} none has",
        {"item": wider},
    )
    return wider


def _taken_back(look: Look, item: tuple[str, ...], person: str) -> None:
    """Doubt rows that a column of yes and no tells from the one vote that an annotator has on each item."""
    for name in look.names:
        column = look.columns[name]
        if name in (*item, person) or column.distinct != 2 or not set(column.values) <= BITS.keys():
            continue
        rarer = column.values[-1]
        kept = (column.cells != rarer).fill_null(True).to_numpy()
        codes = joint_codes(look.columns[one] for one in (*item, person))[kept]
        if len(np.unique(codes)) == len(codes):
            look.doubt(
                "an annotator may vote on an item only once",
                f"{int((~kept).sum()):,} rows vote again, and {name!r} is {rarer} in them (to count the last vote of "
                "each instead, say duplicates='last', --duplicates last)",
                {"without": (*look.asked.without, f"{name}={rarer}")},
            )
            return


def people_by_content(
    look: Look, item: tuple[str, ...] | None, label: str | None
) -> tuple[tuple[str, ...] | None, str | None]:
    """The column that looks like annotators though its name does not say so: once in each item, and in many items.

    Where nothing is known of the items either, the pair of columns that look most like items and annotators.
    """
    columns = look.columns
    if look.rows < 2 * ROWS_THAT_TELL or not look.whole:
        return item, None
    if item is None:
        pairs = [
            (orders(one) + orders(other), derived(one) + derived(other), -columns[one].distinct, one, other)
            for one, other in itertools.combinations([name for name in look.names if name != label], 2)
            if _may_be_person(columns[one])
            and _may_be_person(columns[other])
            and (_looks_like_people(look, (one,), other, label) or _looks_like_people(look, (other,), one, label))
        ]
        if not pairs:
            return None, None
        *_, one, other = min(pairs)
        one, other = _item_first(look, one, other)
        look.doubt(
            "the columns of items and annotators must be known",
            f"{one!r} and {other!r} may be",
            {"item": (one,), "annotator": other},
        )
        return (one,), other
    if not all(name in columns for name in item):
        return item, None
    for name in look.names:
        if _looks_like_people(look, item, name, label):
            if _is_item_of(look, item, name) or _named_wrongly(look, item, name):
                look.doubt(
                    "the columns of items and annotators must be known",
                    f"{name!r} tells more of a row than {' + '.join(item)} does, as items do",
                    {"item": (name,), "annotator": item[0]},
                )
                return (name,), item[0]
            is_order = orders(name)
            look.doubt(
                "a column that looks like annotators must be used or ignored",
                f"{name!r} recurs over items, never twice in one (ignore it with ignore={name!r}, --ignore {name})",
                {"ignored": (*look.asked.ignored, name)} if is_order else {"annotator": name},
            )
            return item, None if is_order else name
    return item, None


def finer_items_and_people(look: Look, item: tuple[str, ...], label: str | None) -> tuple[tuple[str, ...], str | None]:
    """Item and annotator where an item of many rows holds others, on which each annotator has one row: words of a text.

    They are doubted, and taken only where answers agree more within the finer items.
    """
    columns = look.columns
    if look.rows < 2 * ROWS_THAT_TELL or not look.whole or look.asked.item or not all(one in columns for one in item):
        return item, None
    coarse = joint_codes(columns[one] for one in item)
    if look.rows < 6 * len(np.unique(coarse)):
        return item, None
    few = [
        name
        for name in look.names
        if name not in (*item, label)
        and columns[name].kind in ("ids", "few values")
        and columns[name].filled == look.rows >= 2 * columns[name].distinct > 2
        and not told_by(look, item, name)
    ][:12]
    found = []
    for inner, person in itertools.permutations(few, 2):
        finer = joint_codes([*(columns[one] for one in item), columns[inner]])
        if look.rows < 1.5 * len(np.unique(finer)) or derived(person) or orders(person):
            continue
        if not unique_pairs([*(columns[one] for one in item), columns[inner], columns[person]]):
            continue
        answers = [name for name in (label, *few) if name in columns and name not in (inner, person)]
        more = max(
            (
                gain
                for name in answers
                if columns[name].is_few
                and (within := agreement(finer, columns[name])) < 1
                and (gain := within - max(agreement(coarse, columns[name]), 0)) == gain
            ),
            default=0.0,
        )
        found.append((round(more, 3), inner, person))
    more, inner, person = max(found, default=(0.0, "", ""))
    if more < 0.1:
        return item, None
    finest = tuple(one for one in columns if one in (*item, inner))
    look.doubt(
        "the columns of items and annotators must be known",
        f"{' and '.join(map(repr, finest))} together and {person!r} may be",
        {"item": finest, "annotator": person},
    )
    return finest, person


def _item_first(look: Look, one: str, other: str) -> tuple[str, str]:
    """Item and annotator: answers agree more within items than within annotators; where they do not, items are more."""
    most = _rather_item(look, one, other)
    if abs(most) < 0.05:
        most = look.columns[one].distinct - look.columns[other].distinct
    return (one, other) if most >= 0 else (other, one)


def _rather_item(look: Look, one: str, other: str) -> float:
    """How much more answers agree within one column than within another; below 0 if less."""
    columns = look.columns
    found = []
    for name in look.names:
        if name in (one, other) or not columns[name].is_few or columns[name].distinct < 2 or derived(name):
            continue
        by_one, by_other = agreement(columns[one].codes, columns[name]), agreement(columns[other].codes, columns[name])
        if max(by_one, by_other) < 1:  # else it describes an item or a person
            found.append(by_one - by_other)
    return max((value for value in found if value == value), key=abs, default=0.0)


def _is_item_of(look: Look, item: tuple[str, ...], name: str) -> bool:
    """Whether a column describes items sooner than the item does: other columns are told by it alone."""
    if len(item) > 1 or look.asked.item or look.asked.annotator or orders(name):
        return False
    others = [one for one in look.names if one not in (*item, name) and look.columns[one].distinct > 1]
    mine = [one for one in others if told_by(look, (name,), one)]
    theirs = [one for one in others if told_by(look, item, one)]
    return len(mine) > len(theirs) and says("item", name) and not mentions("annotator", name)


def _named_wrongly(look: Look, item: tuple[str, ...], name: str) -> bool:
    """Whether an item has no more than 'id' in its name, and answers agree in the other column instead."""
    alone = len(item) == 1 and not look.asked.item and not known("item", list(item)) and not mentions("item", item[0])
    return alone and not orders(name) and _rather_item(look, name, item[0]) > 0.05


def _looks_like_people(look: Look, item: tuple[str, ...], name: str, label: str | None) -> bool:
    """Whether a column recurs over items, never twice in one, and is not told by them."""
    column = look.columns[name]
    if name in item or name == label or column.kind not in ("ids", "few values", "one value"):
        return False
    if (derived(name) or says("count", name) or says("weight", name)) and not says("annotator", name):
        return False
    items = joint_codes(look.columns[one] for one in item)
    n_items = len(np.unique(items))
    return (
        look.rows >= 1.5 * n_items
        and n_items >= 3
        and column.distinct >= 2
        and look.rows >= 2 * column.distinct
        and not told_by(look, item, name)
        and unique_pairs([*(look.columns[one] for one in item), column])
    )
