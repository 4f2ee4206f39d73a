"""Texts stay what they are until a model encodes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from own_data import refusal, votes_on
from votewise import InputError, read_votes
from votewise._text import TextOrPair
from votewise.data import InputForm, join_inputs, open_texts, prepare
from votewise.data.texts import Texts
from votewise.models import find_model, hash_ngrams

NGRAM = find_model("ngram", "text")


def test_texts_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('id,text,body\nb,"two, <b>words</b>\nand lines",x\na,ünïcode,y\n', encoding="utf-8")
    dataset = join_inputs(votes_on("a", "b"), open_texts(path), name="d")
    assert dataset.source.texts == ("ünïcode", "two, <b>words</b>\nand lines")
    material = prepare(dataset, NGRAM)
    assert (material.kind, material.form) == ("text", InputForm(text_column="text"))
    np.testing.assert_array_equal(material.inputs, hash_ngrams(dataset.source.texts))
    other = join_inputs(votes_on("a", "b"), open_texts(path, column="body"), name="d")
    assert other.source.texts == ("y", "x")
    assert other.checksum != dataset.checksum


def test_texts_inside_the_votes_file(tmp_path: Path) -> None:
    """One row per vote, the text of an item in each of its rows; or LeWiDi's objects by item."""
    path = tmp_path / "votes.csv"
    path.write_text("item,worker,label,text\na,p,x,Hm.\na,q,y,Hm.\nb,p,x,Ha!\n", encoding="utf-8")
    texts = open_texts(path)
    assert texts.item_ids is not None
    assert (texts.item_ids.tolist(), texts.texts) == (["a", "b"], ("Hm.", "Ha!"))
    path.write_text("item,worker,label,text\na,p,x,Hm.\na,q,y,Oh.\n", encoding="utf-8")
    with pytest.raises(InputError, match="1 appear more than once"):
        open_texts(path)
    sample = Path(__file__).parents[1] / "votes" / "exports" / "samples" / "lewidi_2023.json"
    texts = open_texts(sample)
    assert texts.item_ids is not None
    assert texts.item_ids.tolist() == read_votes(sample).item_ids.tolist()
    assert texts.texts == ("Great, another delay.", "Fine.")


def test_tables_of_texts_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,text,body\na,x,y\n", encoding="utf-8")
    assert refusal(open_texts, path, column="tweet") == (
        "the text column 'tweet' must exist, but the columns are 'id', 'text', 'body'. Name it with --text-column."
    )
    path.write_text("id,text\na,x\nb,\n", encoding="utf-8")
    assert refusal(open_texts, path) == "every item needs a text, but items 'b' have none. Fill them in."
    np.save(tmp_path / "t.npy", np.zeros((2, 2)))
    assert "texts must be in a table" in refusal(open_texts, tmp_path / "t.npy")


def test_empty_texts_and_half_characters_are_texts(tmp_path: Path) -> None:
    pl.DataFrame({"id": ["a", "b"], "text": ["", " "]}).write_parquet(tmp_path / "t.parquet")
    votes = votes_on("a", "b")
    read = open_texts(tmp_path / "t.parquet")
    assert read.texts == ("", " ")
    odd = Texts(votes.item_ids, ("", "\ud800"))
    assert join_inputs(votes, odd, name="d").checksum != join_inputs(votes, read, name="d").checksum
    assert prepare(join_inputs(votes, odd, name="d"), NGRAM).inputs.shape == (2, 3)  # "<\ud800>" has three n-grams


@pytest.mark.parametrize(
    "others", [("ab", "c"), ("a", "bc", ""), ("a", "b", "c"), ("abc",), ("bc", "a"), ("a", "bc\n")]
)
def test_the_checksum_is_of_the_texts(others: tuple[str, ...]) -> None:
    assert checksum("a", "bc") == checksum("a", "bc")
    assert checksum(*others) != checksum("a", "bc")


PAIRS = 'id,premise,hypothesis\nb,A dog runs.,It barks.\na,Nobody\'s there.,"One, or two."\n'


def test_pairs_of_texts_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(PAIRS, encoding="utf-8")
    columns = ("premise", "hypothesis")
    dataset = join_inputs(votes_on("a", "b"), open_texts(path, column=columns), name="d")
    assert dataset.source.texts == (("Nobody's there.", "One, or two."), ("A dog runs.", "It barks."))
    assert dataset.take(np.array([1])).source.texts == (("A dog runs.", "It barks."),)
    material = prepare(dataset, NGRAM)
    assert (material.kind, material.form) == ("text", InputForm(text_column=columns))
    np.testing.assert_array_equal(material.inputs, hash_ngrams(dataset.source.texts))
    assert open_texts(path, column=["premise"]).texts == ("A dog runs.", "Nobody's there.")


def test_ngrams_know_where_the_first_text_of_a_pair_ends() -> None:
    rows = hash_ngrams([("ab", "c"), ("a", "bc"), ("c", "ab"), "abc", "ab><c"])
    assert len({tuple(row) for row in rows.tolist()}) == 4
    np.testing.assert_array_equal(rows[0], rows[4])


def test_pairs_of_texts_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(PAIRS + "c,,Alone.\nd,Alone.,\n", encoding="utf-8")
    assert refusal(open_texts, path, column=("premise", "hypothesis")) == (
        "every item needs both texts, but items 'c', 'd' lack one. Fill them in."
    )
    assert refusal(open_texts, path, column=("premise", "conclusion")) == (
        "the text column 'conclusion' must exist, but the columns are 'id', 'premise', 'hypothesis'. "
        "Name it with --text-column."
    )
    for columns, got in ((("a", "b", "c"), "'a', 'b', 'c'"), (("a", "a"), "'a', 'a'"), ((), "none")):
        assert refusal(open_texts, path, column=columns) == (
            f"texts must be in one column, and pairs of texts in two, but got {got}. Name one column, or two different ones."
        )
    for mixed in (("a", ("b", "c")), (("b", "c"), "a"), (("a", "b", "c"), ("d", "e", "f"))):
        assert refusal(Texts, None, mixed) == (
            "items must be all single texts or all pairs of texts, but got others. Separate them."
        )


TEXT = st.text("ab", max_size=2)
ITEMS = st.lists(TEXT, min_size=1, max_size=3) | st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3)


def checksum(*items: TextOrPair) -> str:
    return join_inputs(votes_on(*map(str, range(len(items)))), Texts(None, items), name="d").checksum


@given(ITEMS, ITEMS)
def test_the_checksum_tells_any_texts_and_pairs_apart(first: list[TextOrPair], second: list[TextOrPair]) -> None:
    assert (checksum(*first) == checksum(*second)) == (first == second)


def test_a_pair_is_neither_divided_otherwise_nor_joined() -> None:
    assert len({checksum(one) for one in (("ab", "c"), ("a", "bc"), ("c", "ab"), ("abc", ""), ("", "abc"), "abc")}) == 6
    # Single texts are named as ever: ids of stored runs depend on it.
    assert checksum("abc") == "2f483251391bc7fc8ad154de8d8048a51dcbf6b66069a5c242501924d0c0c00d"


def test_texts_need_a_model_that_takes_texts() -> None:
    dataset = join_inputs(votes_on("a"), Texts(None, ("x",)), name="d")
    for model in (None, find_model("mlp", "features")):
        assert refusal(prepare, dataset, model) == (
            "texts must be prepared for a model that takes texts, but got another or none. Name one."
        )


def test_progress_goes_over_every_text() -> None:
    seen: list[int] = []

    def track(rows: object) -> object:
        for row in rows:  # type: ignore[attr-defined]
            seen.append(row)
            yield row

    dataset = join_inputs(votes_on("a", "b", "c"), Texts(None, ("x", "y", "z")), name="d")
    prepare(dataset, NGRAM, track=track)  # type: ignore[arg-type]
    assert seen == [0, 1, 2]
