"""What `inspect` says of votes."""

from __future__ import annotations

import numpy as np

from votewise import Votes, overview
from votewise._overview import Advice


def test_advice_follows_what_is_known_of_the_votes() -> None:
    """Never the majority, also where all methods are the same: it is no method for probabilities."""
    rng = np.random.default_rng(0)
    for votes in (2, 5, 10, 40):
        drawn = Votes.from_counts(rng.multinomial(votes, rng.dirichlet(np.ones(3), size=200)))
        assert overview(drawn).advice.method == "multipass"
    assert overview(Votes.from_probabilities([[0.5, 0.5], [1.0, 0.0]])).advice.method == "sls"
    for unanimous in (Votes.from_counts([[3, 0], [0, 2]]), Votes.from_probabilities([[1.0, 0.0]])):
        assert overview(unanimous).advice == Advice(
            "soft", ("Soft labels, multipass, sls and majority are all the same here: nobody disagrees.",)
        )
    assert overview(Votes.from_counts([[1, 0], [0, 1]])).advice.reasons == (
        "Soft labels, multipass, sls and majority are all the same here: one vote per item says nothing about "
        "disagreement; collect more.",
    )


def test_reasons_in_full() -> None:
    counts = np.repeat([[4, 0], [3, 1]], 50, axis=0)
    last = (
        "If training is short or strongly regularised, take soft labels. To be sure, run votewise compare, which also "
        "tries smoothed shares."
    )
    assert overview(Votes.from_counts(counts)).advice.reasons[:3] == (
        "50% of the items show disagreement, which a majority label would discard.",
        "Multipass trains on the votes themselves, one per epoch; the median is 4 votes per item. In our runs it "
        "overfitted less than the vote shares, most clearly with few votes or long training.",
        last,
    )
    assert overview(Votes.from_probabilities(counts / 4)).advice.reasons == (
        "50% of the items show disagreement, which a majority label would discard.",
        "The votes are shares without counts, so multipass cannot use them. SLS draws a label from the shares in every "
        "epoch. In our runs it overfitted less than the shares themselves, most clearly in long training.",
        last,
    )


def test_the_reliability_bounds_what_a_model_can_reach() -> None:
    counts = np.random.default_rng(0).multinomial(8, np.random.default_rng(1).dirichlet(np.ones(3), size=300))
    seen = overview(Votes.from_counts(counts))
    assert seen.reliability is not None
    doubled = 2 * seen.reliability / (1 + seen.reliability)
    assert seen.advice.reasons[-1] == (
        f"Disagreement is measured with reliability {seen.reliability:.2f}, so even a perfect model would reach an "
        f"entropy correlation of only about {seen.reliability**0.5:.2f} (somewhat more if votes are few); doubling the "
        f"votes would raise that to {doubled**0.5:.2f}."
    )


def test_probabilities_leave_gaps() -> None:
    seen = overview(Votes.from_probabilities([[0.5, 0.5], [1.0, 0.0]]))
    assert (seen.votes, seen.votes_per_item, seen.fleiss_kappa, seen.krippendorff_alpha, seen.reliability) == (
        None,
    ) * 5
    assert (seen.unanimous, seen.ties) == (0.5, 1)
