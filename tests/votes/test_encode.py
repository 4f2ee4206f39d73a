"""The fast encoders against a dictionary."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from votewise.votes import encode
from votewise.votes.encode import encode_few, encode_many, text_array


def by_dictionary(values: list[object]) -> tuple[list[int], list[str]]:
    seen: dict[object, int] = {}
    codes = [seen.setdefault(value, len(seen)) for value in values]
    return codes, [str(value) for value in seen]


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)


@given(
    st.one_of(
        st.lists(TEXT, min_size=1),
        st.lists(st.integers(-5, 40), min_size=1),
        st.lists(st.integers(-(2**60), 2**60), min_size=1),
        st.lists(st.sampled_from(["1", "01", "1.0", "+1", "10", "-1", "١"]), min_size=1),
        st.lists(st.integers(0, 99).map(str), min_size=1),
        st.lists(st.sampled_from("ab"), min_size=1).map(sorted),
    )
)
def test_many(values: list[object]) -> None:
    codes, names = encode_many(pl.Series(values))
    expected = by_dictionary(values)
    assert (codes.tolist(), names.to_list()) == expected


@given(st.lists(st.one_of(st.none(), TEXT), min_size=1))
def test_few(values: list[str | None]) -> None:
    found = encode_few(pl.Series(values, dtype=pl.String))
    names = np.array([*found.names, ""], dtype=object)
    back = found.translate(np.arange(len(found.names)), np.int64)
    present = np.ones(len(values), dtype=bool) if found.present is None else found.present
    assert [str(names[code]) if there else None for code, there in zip(back, present, strict=True)] == values


@pytest.mark.parametrize("kept_bits", [1, 2, 4])
def test_colliding_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch, kept_bits: int) -> None:
    """Leading bits of the hash made to agree, as they do by chance in tables of millions."""
    rng = np.random.default_rng(0)
    values = [f"v{value}" for value in rng.integers(0, 40, size=500)]
    true_hash = pl.Series.hash

    def poor(self: pl.Series, seed: int = 0) -> pl.Series:
        full = true_hash(self, seed)
        return (
            pl.Series(full.to_numpy() >> np.uint64(64 - kept_bits) << np.uint64(64 - kept_bits)) if seed == 0 else full
        )

    monkeypatch.setattr(pl.Series, "hash", poor)
    codes, first = encode._encode_by_hash(pl.Series(values))
    assert (codes.tolist(), [values[row] for row in first]) == by_dictionary(values)  # type: ignore[arg-type]


@given(st.lists(st.text(st.characters(exclude_characters="\x00", exclude_categories=("Cs",)), max_size=6)))
def test_text_arrays(names: list[str]) -> None:
    found = text_array(pl.Series(names, dtype=pl.String))
    assert found.dtype.kind == "U"
    assert found.tolist() == names


@given(st.lists(st.from_regex(r"[ -~]{0,9}", fullmatch=True), min_size=1))
def test_plain_text_arrays(names: list[str]) -> None:
    found = text_array(pl.Series(names, dtype=pl.String))
    assert found.tolist() == names
    assert (found == np.array(names)).all()
