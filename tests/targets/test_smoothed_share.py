"""The vote share mixed with the uniform distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import votes
from votewise import InputError, Votes, smoothed_share


@given(table=votes(), epsilon=st.floats(0, 1))
def test_it_lies_between_the_share_and_the_uniform_distribution(table: Votes, epsilon: float) -> None:
    found = smoothed_share(table, epsilon=epsilon).probs
    expected = [[(1 - epsilon) * p + epsilon / table.n_classes for p in row] for row in table.probs.tolist()]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_it_says_what_it_is_and_refuses_other_shares() -> None:
    people = Votes.from_counts([[3, 1]])
    assert smoothed_share(people).provenance == "vote share, smoothed by 0.1"
    assert smoothed_share(people, epsilon=0).probs.tolist() == [[0.75, 0.25]]
    with pytest.raises(InputError) as error:
        smoothed_share(people, epsilon=1.5)
    assert str(error.value).startswith("epsilon must be a number from 0 to 1, but got 1.5")
