"""What `inspect` says of votes."""

from __future__ import annotations

import numpy as np

from votewise import Votes, overview


def test_advice_follows_the_votes() -> None:
    rng = np.random.default_rng(0)
    advised = {
        votes: overview(Votes.from_counts(rng.multinomial(votes, rng.dirichlet(np.ones(3), size=200)))).advice.method
        for votes in (2, 5, 6, 10, 11, 40)
    }
    assert advised == {
        2: "soft-smoothed", 5: "soft-smoothed", 6: "multipass", 10: "multipass", 11: "soft", 40: "soft"
    }  # fmt: skip
    assert overview(Votes.from_counts([[3, 0], [0, 2]])).advice.method == "majority"
    assert overview(Votes.from_probabilities([[0.5, 0.5]])).advice.method == "soft"
    assert "collect more" in overview(Votes.from_counts([[1, 0], [0, 1]])).advice.reasons[0]


def test_probabilities_leave_gaps() -> None:
    seen = overview(Votes.from_probabilities([[0.5, 0.5], [1.0, 0.0]]))
    assert (seen.votes, seen.votes_per_item, seen.fleiss_kappa, seen.krippendorff_alpha, seen.reliability) == (
        None,
    ) * 5
    assert (seen.unanimous, seen.ties) == (0.5, 1)
