"""Names with options: read, refused and written as they are on the command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from votewise import InputError
from votewise._options import chosen_options, join_label, split_label

DEFAULTS = {"many": 1, "share": 0.5, "plain": False, "name": "a"}


def test_options_are_read_as_the_kinds_of_their_defaults() -> None:
    name, written = split_label(" x : many=3, share=2 ,plain=true,name=b ")
    assert (name, chosen_options(name, DEFAULTS, written)) == (
        "x",
        {"many": 3, "name": "b", "plain": True, "share": 2.0},
    )
    assert chosen_options("x", DEFAULTS, {"many": 1, "share": "0.5", "plain": "false", "name": "a"}) == {}


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("x:many=1.5", "x:many must be a whole number, but got '1.5'. The default is 1."),
        ("x:many", "x:many must be a whole number, but got ''. The default is 1."),
        ("x:share=nan", "x:share must be a number, but got nan. The default is 0.5."),
        ("x:plain=1", "x:plain must be true or false, but got '1'. The default is False."),
        ("x:plain=no", "x:plain must be true or false, but got 'no'. The default is False."),
        ("x:mani=2", "an option of x must be one of many, share, plain, name, but got 'mani'. Did you mean 'many'?"),
    ],
)
def test_options_that_do_not_fit(label: str, message: str) -> None:
    name, written = split_label(label)
    with pytest.raises(InputError) as caught:
        chosen_options(name, DEFAULTS, written)
    assert str(caught.value) == message


def test_names_without_options() -> None:
    with pytest.raises(InputError, match=r"^x has no options, but got 'a'\. Leave them out\.$"):
        chosen_options("x", {}, {"a": "1"})
    with pytest.raises(InputError, match=r"^a name with options must be str, but got int\. "):
        split_label(5)  # type: ignore[arg-type]


@given(st.integers(-5, 5), st.floats(-2, 2), st.sampled_from(["a", "b"]))
def test_what_is_written_is_read(many: int, share: float, name: str) -> None:
    chosen = chosen_options("x", DEFAULTS, {"many": many, "share": share, "name": name})
    label = join_label("x", chosen)
    again, written = split_label(label)
    assert (again, chosen_options(again, DEFAULTS, written)) == ("x", chosen)
    assert ("many" in label) == (many != 1)
