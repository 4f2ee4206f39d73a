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


def test_reasons_in_full() -> None:
    """Half of the items are split evenly, so disagreement is measured without error in either half of the votes."""
    few, some, many = (
        overview(Votes.from_counts(np.repeat([[votes, 0], [votes - 1, 1]], 50, axis=0))).advice.reasons
        for votes in (4, 8, 20)
    )
    assert few[:2] == (
        "50% of the items show disagreement, which a majority label would discard.",
        "A median of 4 votes per item is very few, so vote shares are noisy. Smoothed shares usually give the best "
        "likelihood and accuracy when the model learns the task well, at some cost in calibration. Choose multipass (one "
        "vote per epoch) if it mostly overfits, or if calibration and entropies matter.",
    )
    assert some[1] == (
        "A median of 8 votes per item is few, so vote shares are noisy. Multipass (one vote per epoch) usually gives "
        "better likelihoods than training on the shares themselves; where people disagree a lot, soft-smoothed may be "
        "better still."
    )
    assert many[1] == (
        "A median of 20 votes per item is many, so deliveries differ little and soft labels are the simplest. In long "
        "training, multipass and sls tend to end slightly ahead, and in flatter minima."
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
