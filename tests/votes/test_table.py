"""The Votes object."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import votes
from votewise import InputError, Votes, read_votes
from votewise.votes.table import sort_classes

PEOPLE = Votes.from_counts([[3, 1, 0], [0, 2, 2]], item_ids=["a", "b"], classes=["cat", "cow", "dog"])


def test_votes_are_frozen_through_and_through() -> None:
    with pytest.raises(AttributeError):
        PEOPLE.counts = None  # type: ignore[misc]
    for array in (PEOPLE.counts, PEOPLE.item_ids, PEOPLE.probs):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]


def test_the_caller_keeps_writing_to_his_own_array() -> None:
    mine = np.array([[1.0, 0.0]])
    Votes.from_probabilities(mine)
    mine[0, 0] = 0.5


def test_take_keeps_ballots_and_ids() -> None:
    table = read_votes(np.array([[0, 1, -1], [1, 1, 0], [-1, 0, -1]]), form="wide")
    part = table.take([2, 0])
    assert part.item_ids.tolist() == ["2", "0"]
    assert part.ballots is not None
    assert part.ballots.annotator_ids.tolist() == ["0", "1"]
    rebuilt = np.zeros_like(part.counts)
    np.add.at(rebuilt, (part.ballots.item, part.ballots.label), 1)
    np.testing.assert_array_equal(rebuilt, part.counts)


@pytest.mark.parametrize("rows", [[], [2], [-1], [0, 0], [0.5], [[0]]])
def test_take_refuses_what_are_no_rows(rows: list[object]) -> None:
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
        ({"item_ids": ["a", "a"]}, "item ids must be different and not empty, but 1 come more than once ('a')"),
        ({"item_ids": ["a", ""]}, "item ids must be different and not empty, but row 1 has none"),
        (
            {"classes": ["x", "x", "y"]},
            "class names must be different, non-empty and at least one, but 'x' stands there twice",
        ),
        ({"classes": ["x", "", "y"]}, "class names must be different, non-empty and at least one, but one is empty"),
    ],
)
def test_wrong_names(keywords: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError) as error:
        Votes.from_counts([[1, 0, 0], [0, 1, 1]], **keywords)
    assert str(error.value).startswith(message)


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
