"""The verdict: one class per item, with an explicit rule for ties."""

from __future__ import annotations

import numpy as np

from votewise._checks import IntArray, check_choice, first_few
from votewise._errors import InputError
from votewise._numerics import rankable
from votewise._random import item_keys, random_bits, stream_key, unit_interval
from votewise.votes import Votes, check_votes, tied

TIE_RULES = ("lowest", "frequent", "random", "error")


def majority_labels(votes: Votes, *, ties: str = "lowest", seed: int = 0) -> IntArray:
    """The class with the most votes, (N,) int64.

    Args:
        votes: counts or shares.
        ties: which of several classes with equally many votes wins: "lowest" (the first in class order),
            "frequent" (the one with the largest share over all items, then the lowest), "random" (drawn by
            the seed and the item's id), or "error".
        seed: root seed of the random rule.
    """
    check_choice("ties", ties, TIE_RULES)
    check_votes(votes)
    table = rankable(votes.probs) if votes.counts is None else votes.counts
    winners = table == table.max(axis=1, keepdims=True)
    if ties == "error" and (is_tied := tied(votes)).any():
        names = votes.item_ids[is_tied]
        raise InputError(
            "every item must have one class with the most votes",
            f"{len(names):,} are tied ({first_few(names[:5], len(names))})",
            f"Choose a tie rule: {', '.join(TIE_RULES[:-1])}",
        )
    if ties == "frequent":
        order = np.argsort(-votes.probs.sum(axis=0), kind="stable")
        return np.asarray(order[winners[:, order].argmax(axis=1)])
    if ties == "random":
        bits = random_bits(stream_key(seed, "ties"), item_keys(votes.item_ids))
        chosen = np.floor(unit_interval(bits) * winners.sum(axis=1)).astype(np.int64)
        return np.asarray((winners & (np.cumsum(winners, axis=1) == chosen[:, None] + 1)).argmax(axis=1))
    return np.asarray(winners.argmax(axis=1))
