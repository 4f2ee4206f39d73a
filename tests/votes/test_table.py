"""The Votes object."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import votes
from votewise import InputError, Votes, _checks, read_votes
from votewise._numerics import top_classes
from votewise.votes.table import sort_classes

PEOPLE = Votes.from_counts([[3, 1, 0], [0, 2, 2]], item_ids=["a", "b"], classes=["cat", "cow", "dog"])


def test_votes_are_frozen_through_and_through() -> None:
    with pytest.raises(AttributeError):
        PEOPLE.counts = None  # type: ignore[misc]
    for array in (PEOPLE.counts, PEOPLE.item_ids, PEOPLE.probs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_votes_do_not_follow_what_the_caller_writes_to_the_array_later() -> None:
    mine, ids = np.array([[1.0, 0.0]]), np.array(["a"])
    stated, counted = Votes.from_probabilities(mine, item_ids=ids), Votes.from_counts(mine, item_ids=ids)
    mine[:], ids[:] = 0.5, "b"
    for table in (stated, counted):
        assert (table.probs.tolist(), table.item_ids.tolist()) == ([[1.0, 0.0]], ["a"])


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda votes: pickle.loads(pickle.dumps(votes))])
def test_copies_are_frozen_too(duplicate: Callable[[Votes], Votes]) -> None:
    table = read_votes(np.array([[0, 1, -1], [1, 1, 0]]), form="wide", gap="-1")
    assert table.probs.sum() == 2
    again = duplicate(table)
    assert (again.item_ids.tolist(), again.classes, again.provenance) == (["0", "1"], ("0", "1"), table.provenance)
    assert again.ballots is not None
    np.testing.assert_array_equal(again.counts, table.counts)
    for array in (again.counts, again.item_ids, again.probs, again.ballots.item, again.ballots.annotator_ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_take_keeps_ballots_and_ids() -> None:
    table = read_votes(np.array([[0, 1, -1], [1, 1, 0], [-1, 0, -1]]), form="wide", gap="-1")
    part = table.take([2, 0])
    assert part.item_ids.tolist() == ["2", "0"]
    assert part.ballots is not None
    assert part.ballots.annotator_ids.tolist() == ["0", "1"]
    rebuilt = np.zeros_like(part.counts)
    np.add.at(rebuilt, (part.ballots.item, part.ballots.label), 1)
    np.testing.assert_array_equal(rebuilt, part.counts)


@pytest.mark.parametrize("rows", [[], [2], [-1], [0, 0], [0.5], [[0]]])
def test_take_refuses_anything_but_rows(rows: list[object]) -> None:
    with pytest.raises(InputError):
        PEOPLE.take(rows)


def test_with_classes_moves_columns_by_name() -> None:
    wider = PEOPLE.with_classes(["dog", "emu", "cat", "cow"])
    np.testing.assert_array_equal(wider.counts, [[0, 0, 3, 1], [2, 0, 0, 2]])
    with pytest.raises(InputError, match="the class list must name every class with a vote, but it lacks 'cow'"):
        PEOPLE.with_classes(["cat", "dog"])
    table = read_votes(np.array([[0, 1], [1, 1]]), form="wide").with_classes(["1", "0"])
    assert table.ballots is not None
    np.testing.assert_array_equal(table.counts, [[1, 1], [2, 0]])
    assert sorted(zip(table.ballots.item.tolist(), table.ballots.label.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 0),
    ]


def test_classes_are_sorted_by_value_or_by_name_never_by_appearance() -> None:
    assert sort_classes(["10", "9", "-2.5", "9.5"]) == ["-2.5", "9", "9.5", "10"]
    assert sort_classes(["b", "10", "a"]) == ["10", "a", "b"]
    assert sort_classes(["nan", "1"]) == ["1", "nan"]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"item_ids": ["a"]}, "a table of shape (2, 3) needs 2 item ids and 3 class names, but got 1 and 3"),
        ({"item_ids": ["a", "a"]}, "item ids must be different and not empty, but 1 appear more than once ('a')"),
        ({"item_ids": ["a", ""]}, "item ids must be different and not empty, but row 1 has none"),
        (
            {"classes": ["x", "x", "y"]},
            "class names must be different, non-empty and at least one, but 'x' appears twice",
        ),
        ({"classes": ["x", "", "y"]}, "class names must be different, non-empty and at least one, but one is empty"),
    ],
)
def test_wrong_names(keywords: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError) as error:
        Votes.from_counts([[1, 0, 0], [0, 1, 1]], **keywords)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "ids", [pd.Series(["x", "y"]), pd.Index(["x", "y"]), pl.Series(["x", "y"]), np.array(["x", "y"]), ("x", "y")]
)
def test_names_may_come_in_any_sequence(ids: object) -> None:
    named = Votes.from_counts([[1, 2], [3, 4]], item_ids=ids, classes=ids)
    assert (named.item_ids.tolist(), named.classes) == (["x", "y"], ("x", "y"))
    assert Votes.from_counts([[1]], item_ids=np.array([7])).item_ids.tolist() == ["7"]


@pytest.mark.parametrize(
    ("name", "got"),
    [
        (None, "None"),
        (float("nan"), "nan"),
        (np.nan, "nan"),
        (pd.NA, "<NA>"),
        (pd.NaT, "NaT"),
        (b"b", "b'b'"),
    ],
)
def test_missing_names_and_bytes_are_refused(name: object, got: str) -> None:
    for what, keyword in (("item ids", "item_ids"), ("class names", "classes")):
        with pytest.raises(InputError) as error:
            Votes.from_counts([[1, 2], [3, 4]], **{keyword: ["a", name]})
        assert str(error.value) == f"{what} must be text or numbers, but number 1 is {got}. Give each a name."


@pytest.mark.parametrize("ids", ["ab", b"ab", 7, {"a": 0, "b": 1}, {"a", "b"}, np.array([["a", "b"]]), np.array("a")])
def test_names_must_be_a_list(ids: object) -> None:
    with pytest.raises(InputError) as error:
        Votes.from_counts([[1, 2], [3, 4]], item_ids=ids)
    got = type(ids).__name__
    assert str(error.value) == f"item ids must be a list, but got {got}. Pass a list or an array of names."


def test_frames_are_left_to_read_votes() -> None:
    for frame in (pd.DataFrame({"cat": [1], "dog": [0]}), pl.DataFrame({"cat": [1], "dog": [0]})):
        for form, build in (("counts", Votes.from_counts), ("probabilities", Votes.from_probabilities)):
            with pytest.raises(InputError) as error:
                build(frame)
            assert str(error.value) == (
                f"{form} must be an array, but got a DataFrame. "
                f"Read it with read_votes(frame, form='{form}'), which keeps the names of its columns."
            )
            assert read_votes(frame, form=form).classes == ("cat", "dog")


def test_texts_may_be_ids_but_not_beyond_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each id takes as much memory as the longest."""
    text = "word " * 400
    assert Votes.from_counts([[1], [1]], item_ids=["a", text]).item_ids[1] == text
    monkeypatch.setattr(_checks, "_MOST_LETTERS", 4003)
    monkeypatch.setattr(_checks, "_MOST_PADDED", 1)
    message = (
        "{} ids must be short enough for memory, as each takes as much of it as the longest, but one of 2 has 2,002 "
        "characters ('word word word word word word word word ...'). "
        "Use short ids, e.g. numbers, and keep the texts in another column."
    )
    assert Votes.from_counts([[1], [1]], item_ids=["a", text + "x"]).n_items == 2
    with pytest.raises(InputError) as error:
        Votes.from_counts([[1], [1]], item_ids=["a", text + "xy"])
    assert str(error.value) == message.format("item")
    for role in ("item", "annotator"):
        frame = pd.DataFrame({"item": ["a", "b"], "annotator": ["c", "d"], "label": ["x", "y"]})
        frame.loc[1, role] = text + "xy"
        with pytest.raises(InputError) as error:
            read_votes(frame)
        assert str(error.value) == message.format(role)


@pytest.mark.parametrize(("count", "got"), [(2.0**53, "1.8e+16"), (1e308, "inf")])
def test_counts_beyond_exact_sums_are_refused(count: float, got: str) -> None:
    with pytest.raises(InputError) as error:
        Votes.from_counts([[count], [count]])
    assert str(error.value) == (
        f"counts must sum to less than 2**53, but they sum to {got}. Check the units of the table."
    )


def test_parts_keep_the_notes() -> None:
    noted = replace(PEOPLE, notes=("left out: 1 row without a label",))
    assert noted.take([1]).notes == noted.with_classes(["dog", "cow", "cat"]).notes == noted.notes


def test_shares_that_differ_by_rounding_are_one_stratum() -> None:
    """0.15 + 0.3 is not 0.45, so without rounding the tied items would fall into two strata by chance."""
    tied = [[0.15 + 0.3, 0.45, 0.1], [0.45, 0.15 + 0.3, 0.1]]
    assert tied[0][0] != tied[0][1]
    table = Votes.from_probabilities(np.tile(tied, (5, 1)))
    by_majority = table.split(0.4, seed=2, strata=np.zeros(10))
    np.testing.assert_array_equal(table.split(0.4, seed=2)[1], by_majority[1])


def test_strata_of_mixed_kinds_are_refused() -> None:
    with pytest.raises(InputError) as error:
        PEOPLE.split(0.5, seed=0, strata=np.array([None, "a"], dtype=object))
    assert str(error.value) == (
        "strata must be all text or all numbers, but they cannot be put into order. Give each item a group of one kind."
    )


@given(votes(min_items=2, max_items=40), st.floats(0.05, 0.95), st.integers(0, 99))
def test_splits_are_stratified_and_follow_the_ids(table: Votes, fraction: float, seed: int) -> None:
    if not 0 < round(fraction * table.n_items) < table.n_items:
        with pytest.raises(InputError, match="a split must leave at least one item on each side"):
            table.split(fraction, seed=seed)
        return
    kept, held = table.split(fraction, seed=seed)
    assert sorted([*kept, *held]) == list(range(table.n_items))
    assert len(held) == round(fraction * table.n_items)
    strata = table.probs.argmax(axis=1)
    for group in np.unique(strata):
        assert abs((strata[held] == group).sum() - fraction * (strata == group).sum()) < 1
    order = np.random.default_rng(seed).permutation(table.n_items)
    again = table.take(order).split(fraction, seed=seed, strata=strata[order])
    if len(np.unique(strata)) == 1:  # with several strata the rounding of shares is settled in class order all the same
        assert set(order[again[1]]) == set(held)


def test_splits_of_different_seeds_differ() -> None:
    table = Votes.from_counts(np.ones((1000, 2), dtype=int))
    common = len(set(table.split(0.2, seed=0)[1]) & set(table.split(0.2, seed=1)[1]))
    assert 15 < common < 70  # 40 expected


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, float("nan")])
def test_split_fractions(fraction: float) -> None:
    with pytest.raises(InputError, match=r"a number from 0 to 1|must leave at least one item"):
        PEOPLE.split(fraction, seed=0)


@given(votes(), st.integers(0, 99))
def test_drawing_all_votes_without_replacement_gives_them_back(table: Votes, seed: int) -> None:
    np.testing.assert_array_equal(table.subsample(100, seed=seed, replace=False).counts, table.counts)


def test_draws_without_replacement_are_hypergeometric() -> None:
    table = Votes.from_counts(np.tile([6, 3, 1], (20_000, 1)))
    drawn = table.subsample(4, seed=0, replace=False).counts
    np.testing.assert_allclose(drawn.mean(axis=0), [2.4, 1.2, 0.4], atol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), 4 * np.array([0.24, 0.21, 0.09]) * 6 / 9, atol=0.03)


def test_redraws_of_different_sizes_are_not_nested() -> None:
    table = Votes.from_counts(np.tile([5, 5], (2000, 1)))
    small, large = table.subsample(5, seed=0).counts, table.subsample(10, seed=0).counts
    assert ((large - small) < 0).any()


# --- folds


@given(votes(min_items=4, max_items=40), st.integers(2, 4), st.integers(0, 99))
def test_folds_are_even_and_follow_the_ids(table: Votes, n: int, seed: int) -> None:
    folds = table.folds(n, seed=seed)
    sizes = np.bincount(folds, minlength=n)
    assert (len(sizes), sizes.sum()) == (n, table.n_items)
    assert np.ptp(sizes) <= 1
    strata = top_classes(table.probs)
    for group in np.unique(strata):
        assert np.ptp(np.bincount(folds[strata == group], minlength=n)) <= 1
    order = np.random.default_rng(seed).permutation(table.n_items)
    np.testing.assert_array_equal(table.take(order).folds(n, seed=seed), folds[order])
    np.testing.assert_array_equal(table.folds(n, seed=seed, strata=strata), folds)


@given(votes(min_items=4, max_items=40), st.integers(2, 4))
def test_without_strata_folds_do_not_depend_on_votes(table: Votes, n: int) -> None:
    others = Votes.from_counts(table.counts[::-1], item_ids=table.item_ids)
    alike = np.zeros(table.n_items)
    np.testing.assert_array_equal(table.folds(n, seed=1, strata=alike), others.folds(n, seed=1, strata=alike))


def test_folds_of_different_seeds_differ() -> None:
    table = Votes.from_counts(np.eye(4, dtype=int)[np.arange(400) % 4])
    agreeing = (table.folds(5, seed=0) == table.folds(5, seed=1)).mean()
    assert 0.1 < agreeing < 0.3, "as by chance"
    assert agreeing != (table.folds(5, seed=0) == table.folds(5, seed=2)).mean()


@pytest.mark.parametrize(
    ("n", "message"),
    [
        (1, "the number of folds must be a whole number of at least 2, but got 1."),
        (
            9,
            "9 folds need at least 9 items, so that each holds out some, but got 2. Choose fewer folds, or draw what is held out (--held-out).",
        ),
    ],
)
def test_folds_that_are_refused(n: int, message: str) -> None:
    with pytest.raises(InputError) as error:
        PEOPLE.folds(n, seed=0)
    assert str(error.value).startswith(message.removesuffix("."))
