"""Votes for every trainer. No trainer may reach the network."""

from __future__ import annotations

import os

import numpy as np
import pytest

from votewise import SLS, Delivery, Multipass, Soft, Votes

os.environ["HF_HUB_OFFLINE"] = "1"

collect_ignore = ["keras_work.py"]  # Keras cannot be imported before its backend is named

DELIVERIES = {
    "multipass": lambda votes: Multipass(votes, seed=3),
    "sls": lambda votes: SLS(votes, seed=3),
    "soft": Soft,
    "multipass with a prior": lambda votes: Multipass(votes, seed=3, prior=[0.5, 1.0, 0.1]),
    "sls with priors": lambda votes: SLS(votes, seed=3, prior=np.random.default_rng(1).random((20, 3))),
}


@pytest.fixture
def votes() -> Votes:
    """20 items of 3 classes whose ids are not their rows; every item has two classes with votes or more."""
    counts = np.random.default_rng(0).multinomial(5, [0.5, 0.3, 0.2], size=20) + np.array([1, 1, 0])
    return Votes.from_counts(counts, item_ids=[f"item-{70 + row}" for row in range(20)])


@pytest.fixture(params=DELIVERIES)
def delivery(request: pytest.FixtureRequest, votes: Votes) -> Delivery:
    return DELIVERIES[request.param](votes)
